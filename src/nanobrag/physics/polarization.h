/*
 * polarization.h - the polarization factor of Kahn et al., J. Appl. Cryst. 15, 1982,
 * 330-337 (docs/theory.md, 10).
 *
 * Let i be the direction of the light, d the direction of a pixel, c = i.d, e and b unit
 * vectors across i, and psi the azimuth of d about i. The factor is (1 + c^2 - K cos(2 psi)
 * sin^2(2 theta))/2. Because cos(2 psi) sin^2(2 theta) = (d.e)^2 - (d.b)^2, it is computed
 * without any angle, and 2 theta = 0 is no special case.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_POLARIZATION_H
#define NB_PHYSICS_POLARIZATION_H

#include "vec3.h"

PHYS_FN real phys_polarization(real kahn, struct phys_vec3 incident, struct phys_vec3 e,
                               struct phys_vec3 b, struct phys_vec3 d)
{
    const real c = phys_dot(incident, d), de = phys_dot(e, d), db = phys_dot(b, d);

    return (1 + c * c - kahn * (de * de - db * db)) / 2;
}

/* The derivatives of the polarization factor by each vector and by K. */
struct phys_polarization_slopes {
    struct phys_vec3 dincident, de, db, dd;
    real dkahn;
};

PHYS_FN struct phys_polarization_slopes phys_polarization_slopes(real kahn,
                                                                 struct phys_vec3 incident,
                                                                 struct phys_vec3 e,
                                                                 struct phys_vec3 b,
                                                                 struct phys_vec3 d)
{
    const real c = phys_dot(incident, d), along = phys_dot(e, d), across = phys_dot(b, d);
    struct phys_polarization_slopes s;

    s.dincident = phys_scale(c, d);
    s.de = phys_scale(-kahn * along, d);
    s.db = phys_scale(kahn * across, d);
    s.dd =
        phys_axpy(c, incident, phys_axpy(-kahn * along, e, phys_scale(kahn * across, b)));
    s.dkahn = (across * across - along * along) / 2;
    return s;
}

#endif
