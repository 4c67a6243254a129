/*
 * step.h - one sample: a scattering vector and an orientation to F^2, with slopes in h, k
 * and l. This is the line that runs 10^6 to 10^12 times per image.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_STEP_H
#define NB_PHYSICS_STEP_H

#include "lattice.h"
#include "physics/tile/anchor.h"
#include "structure_factor.h"

/* The lattice point that x belongs to. Which one a point halfway between two takes is
 * nanoBragg's choice where F is looked up there, and free where it is not. */
PHYS_FN struct phys_vec3 phys_lattice_point(struct phys_spec spec, struct phys_vec3 x)
{
    if (spec.lookup == PHYS_CONSTANT) return phys_vec3(rint(x.x), rint(x.y), rint(x.z));
    return phys_vec3(phys_nearest(x.x), phys_nearest(x.y), phys_nearest(x.z));
}

/* What F^2 of all samples have in common. Loops over samples leave it out, with 1 for F and
 * for the peak of the profile: an operation less, and float keeps its range. */
PHYS_FN double phys_constant_factor(struct phys_spec spec, const struct phys_frame *frame)
{
    const double latt = spec.shape == PHYS_SQUARE ? 1 : frame->peak;
    const double f = spec.lookup == PHYS_CONSTANT ? latt * frame->default_f : latt;

    return f * f;
}

/* where a sample lies: how far from its lattice point, and F of the unit cell there */
struct phys_site {
    struct phys_vec3 d; /* in h, k, l */
    struct phys_f cell;
};

/* a step away from the anchor, from whose whole part the box counts its indices */
PHYS_FN struct phys_site phys_site(struct phys_spec spec, const struct phys_box *box,
                                   const struct phys_anchor *anchor, struct phys_vec3 step)
{
    const struct phys_vec3 x = phys_anchor_indices(anchor, step);
    const struct phys_vec3 n = phys_lattice_point(spec, x);
    struct phys_site site;

    site.d = phys_axpy(-1, n, x);
    site.cell = phys_structure_factor(spec, box, x, n);
    return site;
}

PHYS_FN struct phys_sample phys_sample(struct phys_spec spec, const struct phys_crystal *c,
                                       struct phys_site site)
{
    const struct phys_lattice latt = phys_lattice(spec, c, site.d);
    const struct phys_f cell = site.cell;
    const real f = cell.f * latt.f;
    struct phys_sample s;

    s.f2 = f * f;
    s.dh = 2 * f * (cell.f * latt.dh + cell.dh * latt.f);
    s.dk = 2 * f * (cell.f * latt.dk + cell.dk * latt.f);
    s.dl = 2 * f * (cell.f * latt.dl + cell.dl * latt.f);
    return s;
}

PHYS_FN struct phys_sample phys_step(struct phys_spec spec, const struct phys_crystal *c,
                                     const struct phys_box *box,
                                     const struct phys_anchor *anchor,
                                     struct phys_vec3 step)
{
    return phys_sample(spec, c, phys_site(spec, box, anchor, step));
}

#endif
