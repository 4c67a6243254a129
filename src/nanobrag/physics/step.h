/*
 * step.h - one sample: from a scattering vector and an orientation to F^2 and its
 * derivatives by h, k and l. These functions run 10^6 to 10^12 times per image.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_STEP_H
#define NB_PHYSICS_STEP_H

#include "lattice.h"
#include "physics/tile/anchor.h"
#include "structure_factor.h"

/* Returns the lattice point nearest to x = (h, k, l). Halfway between two points it rounds
 * down as nanoBragg does. If F is one constant, both points give the same sample, and
 * rint() is faster. */
PHYS_FN struct phys_vec3 phys_lattice_point(struct phys_spec spec, struct phys_vec3 x)
{
    if (spec.lookup == PHYS_CONSTANT) return phys_vec3(rint(x.x), rint(x.y), rint(x.z));
    return phys_vec3(phys_nearest(x.x), phys_nearest(x.y), phys_nearest(x.z));
}

/* Returns 1 if the value of a sample halfway between two reflections depends on which of
 * the two it belongs to. The rounding of float must not decide that. */
PHYS_FN int phys_jumps_halfway(struct phys_spec spec)
{
#ifdef PHYS_SINGLE
    return spec.lookup == PHYS_NEAREST || spec.shape == PHYS_GAUSS;
#else
    (void)spec;
    return 0;
#endif
}

/* Returns the factor that F^2 has in all samples: the square of the lattice factor's peak,
 * times F^2 if F is a constant. Loops over samples use 1 for both, which saves an operation
 * and keeps float within its range. */
PHYS_FN double phys_constant_factor(struct phys_spec spec, const struct phys_frame *frame)
{
    const double latt = spec.shape == PHYS_SQUARE ? 1 : frame->peak;
    const double f = spec.lookup == PHYS_CONSTANT ? latt * frame->default_f : latt;

    return f * f;
}

/* The site of a sample: its distance from the nearest lattice point, and F of the unit
 * cell. */
struct phys_site {
    struct phys_vec3 d; /* distance in h, k, l */
    struct phys_f cell;
};

/* Returns the site at `step` from the anchor. The indices of `box` are counted from the
 * whole part of the anchor, as phys_box_from() returns them. */
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
