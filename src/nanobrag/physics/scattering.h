/* scattering.h - from direction and source to scattering vector and Miller indices
 * (docs/theory.md, 4). SPDX-License-Identifier: MIT */
#ifndef NB_PHYSICS_SCATTERING_H
#define NB_PHYSICS_SCATTERING_H

#include "vec3.h"

/* Returns q = (d - i)/lambda, 1/A, for light of direction i scattered into direction d. So
 * |q| = 2 sin(theta)/lambda. */
PHYS_FN struct phys_vec3 phys_scattering(struct phys_vec3 d, struct phys_vec3 incident,
                                         real inverse_wavelength)
{
    return phys_scale(inverse_wavelength, phys_axpy(-1, incident, d));
}

/* The real-space axes a, b, c of one orientation of the crystal, A. */
struct phys_axes {
    struct phys_vec3 a, b, c;
};

PHYS_FN struct phys_axes phys_axes(const double *rows)
{
    struct phys_axes axes;

    axes.a = phys_load(rows);
    axes.b = phys_load(rows + 3);
    axes.c = phys_load(rows + 6);
    return axes;
}

/* Returns h = a.q, k = b.q, l = c.q. */
PHYS_FN struct phys_vec3 phys_miller(struct phys_axes axes, struct phys_vec3 q)
{
    return phys_vec3(phys_dot(axes.a, q), phys_dot(axes.b, q), phys_dot(axes.c, q));
}

#endif
