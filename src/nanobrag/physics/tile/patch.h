/*
 * patch.h - a patch: a small piece of the detector whose places are counted from its
 * middle. The middle is held in double, so that steps away from it lose no digits in `real`
 * (docs/theory.md, 13).
 *
 * Let p be the middle, r its distance from the crystal, d = p/r, and s r a step along the
 * surface. The direction of p + s r is (d + s)/w, w = sqrt(1 + u), u = s.(s + 2 d). It
 * differs from d by s/w + d (1/w - 1), where 1/w - 1 = -u/(w (1 + w)) has no difference of
 * nearly equal numbers. If |u| <= 1/64 all over the patch, a few terms of the binomial
 * series replace the root and the quotient, which cost more than everything else.
 */
#ifndef NB_PHYSICS_TILE_PATCH_H
#define NB_PHYSICS_TILE_PATCH_H

#include "physics/pixel_position.h"
#include "physics/tile/anchor.h"

struct phys_patch {
    double direction[3], distance; /* middle of the patch: unit vector, and distance in m */
    struct phys_vec3 d; /* `direction` in `real` */
    struct phys_vec3 fast, slow; /* steps of one sub-pixel, divided by `distance` */
};

/* Returns 1 if phys_root_series() is accurate in all places of the patch up to `fast` and
 * `slow` sub-pixels from its middle along the two axes. */
PHYS_FN int phys_patch_is_small(const struct phys_patch *patch, real fast, real slow)
{
    const real along = fast * fabs(phys_dot(patch->d, patch->fast))
                       + slow * fabs(phys_dot(patch->d, patch->slow));
    const real step = fast * sqrt(phys_dot(patch->fast, patch->fast))
                      + slow * sqrt(phys_dot(patch->slow, patch->slow));

    return 2 * along + step * step <= (real)1 / 64;
}

/* Returns (1 + u)^(-1/2) - 1, |u| <= 1/64; the first omitted term is 1e-17 (float:
 * 3e-12). Pairs of terms are computed side by side, which halves the chain of dependent
 * operations. */
PHYS_FN real phys_root_series(real u)
{
    const real u2 = u * u;
    const real t12 = (real)-0.5 + (real)0.375 * u;
    const real t34 = (real)-0.3125 + (real)0.2734375 * u;
#ifdef PHYS_SINGLE
    const real tail = (real)(-63.0 / 256);
#else
    const real t78 = -429.0 / 2048 + 6435.0 / 32768 * u;
    const real tail = (-63.0 / 256 + 231.0 / 1024 * u) + u2 * t78;
#endif

    return u * (t12 + u2 * (t34 + u2 * tail));
}

/* Returns the depth of a layer below the front of the sensor, m. */
PHYS_FN double phys_layer_depth(const struct phys_frame *frame, int layer)
{
    return frame->layer_offset + layer * frame->layer_step;
}

/* Returns the patch around a place of the flat detector. `fast` and `slow` are offsets of
 * the place from the outer corner, in sub-pixels; `depth` is its depth below the front of
 * the sensor, m. */
PHYS_FN struct phys_patch phys_patch_at(const struct phys_frame *frame, double fast,
                                        double slow, double depth)
{
    const double sub = frame->pixel / frame->oversample;
    const double f = sub * fast, s = sub * slow;
    const double x =
        frame->pix0[0] + depth * frame->normal[0] + s * frame->slow[0] + f * frame->fast[0];
    const double y =
        frame->pix0[1] + depth * frame->normal[1] + s * frame->slow[1] + f * frame->fast[1];
    const double z =
        frame->pix0[2] + depth * frame->normal[2] + s * frame->slow[2] + f * frame->fast[2];
    const double r = sqrt(x * x + y * y + z * z), unit = sub / r;
    struct phys_patch p;

    p.direction[0] = x / r;
    p.direction[1] = y / r;
    p.direction[2] = z / r;
    p.distance = r;
    p.d = phys_load(p.direction);
    p.fast = phys_vec3((real)(unit * frame->fast[0]), (real)(unit * frame->fast[1]),
                       (real)(unit * frame->fast[2]));
    p.slow = phys_vec3((real)(unit * frame->slow[0]), (real)(unit * frame->slow[1]),
                       (real)(unit * frame->slow[2]));
    return p;
}

/* A place of a patch, relative to the middle. */
struct phys_place {
    struct phys_vec3 step; /* direction of the place minus direction of the middle */
    real ratio, per_ratio; /* distance of the place over the middle's; its inverse */
};

/* Returns the place at an offset from the middle of the patch, in sub-pixels; `small` is
 * the result of phys_patch_is_small(). */
PHYS_FN struct phys_place phys_patch_place(int small, const struct phys_patch *patch,
                                           real fast, real slow)
{
    const struct phys_vec3 d = patch->d;
    const struct phys_vec3 s = phys_axpy(fast, patch->fast, phys_scale(slow, patch->slow));
    const real u = phys_dot(s, phys_axpy(2, d, s));
    struct phys_place place;
    real less;

    if (small) {
        less = phys_root_series(u);
        place.ratio = (1 + u) * (1 + less);
    } else {
        const real w = sqrt(1 + u);

        less = -u / (w * (1 + w));
        place.ratio = w;
    }
    place.step = phys_axpy(1 + less, s, phys_scale(less, d));
    place.per_ratio = 1 + less;
    return place;
}

/* Returns the direction and distance of a place of the patch, on a flat or curved surface;
 * `step` and `ratio` are from phys_patch_place(). */
PHYS_FN struct phys_point phys_patch_point(const struct phys_patch *patch,
                                           const struct phys_detector *det,
                                           struct phys_vec3 step, real ratio)
{
    struct phys_point point;

    point.d = phys_axpy(1, patch->d, step);
    point.r = det->surface == PHYS_CURVED ? det->distance : (real)patch->distance * ratio;
    return point;
}

/* Computes the scattering vector q at the middle of the patch for a source, 1/A. */
PHYS_FN void phys_patch_scattering(const struct phys_patch *patch,
                                   const struct phys_source *source, double *q)
{
    for (int i = 0; i < 3; i++)
        q[i] = source->inverse_wavelength * (patch->direction[i] - source->direction[i]);
}

/* Returns the anchor of an orientation, with the axes `rows`, at the middle of the patch
 * for a source; its steps are changes of the direction. */
PHYS_FN struct phys_anchor phys_patch_anchor(const struct phys_patch *patch,
                                             const struct phys_source *source,
                                             const double *rows)
{
    double q[3];

    phys_patch_scattering(patch, source, q);
    return phys_anchor_at(rows, q, source->inverse_wavelength);
}

/* The squared length of the scattering vector around the middle of a patch, for a
 * source. */
struct phys_square {
    struct phys_vec3 middle; /* scattering vector at the middle, 1/A */
    real unit, at_middle; /* 1/wavelength, 1/A; square at the middle, 1/A^2 */
    real beyond; /* at_middle less 1/dmin^2, 1/A^2; 0 without dmin */
};

PHYS_FN struct phys_square phys_patch_square(const struct phys_patch *patch,
                                             const struct phys_source *source, double dmin)
{
    struct phys_square s;
    double q[3], q2;

    phys_patch_scattering(patch, source, q);
    q2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2];
    s.middle = phys_load(q);
    s.unit = (real)source->inverse_wavelength;
    s.at_middle = (real)q2;
    s.beyond = dmin > 0 ? (real)(q2 - 1 / (dmin * dmin)) : 0;
    return s;
}

/* Returns the change of the square from the middle to a place at the given step. */
PHYS_FN real phys_square_change(const struct phys_square *s, struct phys_vec3 step)
{
    const struct phys_vec3 dq = phys_scale(s->unit, step);

    return phys_dot(dq, phys_axpy(2, s->middle, dq));
}

#endif
