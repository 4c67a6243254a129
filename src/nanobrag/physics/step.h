/*
 * step.h - one sample: a scattering vector and an orientation to F^2, with slopes in h, k
 * and l. This is the line that runs 10^6 to 10^12 times per image.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_STEP_H
#define NB_PHYSICS_STEP_H

#include "lattice.h"
#include "scattering.h"
#include "structure_factor.h"

struct phys_sample {
    real f2; /* (F_cell F_latt)^2, electron^2 */
    real dh, dk, dl;
};

PHYS_FN struct phys_sample phys_step(struct phys_spec spec, const struct phys_crystal *c,
                                     const struct phys_box *box, struct phys_axes axes,
                                     struct phys_vec3 q)
{
    const struct phys_vec3 x = phys_miller(axes, q);
    const struct phys_vec3 n =
        phys_vec3(phys_nearest(x.x), phys_nearest(x.y), phys_nearest(x.z));
    const struct phys_vec3 d = phys_axpy(-1, n, x);
    const struct phys_lattice latt = phys_lattice(spec, c, d);
    const struct phys_f cell = phys_structure_factor(spec, box, x, n);
    const real f = cell.f * latt.f;
    struct phys_sample s;

    s.f2 = f * f;
    s.dh = 2 * f * (cell.f * latt.dh + cell.dh * latt.f);
    s.dk = 2 * f * (cell.f * latt.dk + cell.dk * latt.f);
    s.dl = 2 * f * (cell.f * latt.dl + cell.dl * latt.f);
    return s;
}

#endif
