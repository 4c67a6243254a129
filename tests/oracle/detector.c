/*
 * detector.c - the position of the detector: docs/conventions.md.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "oracle/truth.h"

/* where the direct beam hits, from the outer corner, along fast and slow: as the
 * convention reads its two numbers */
static void direct_beam(const struct truth *t, struct dual at[2])
{
    const struct dual half = dual_times((quad)0.5, t->x.pixel);
    const struct dual *x = &t->x.origin[0], *y = &t->x.origin[1];

    switch (t->scene.detector.convention) {
    case NB_CONVENTION_MOSFLM:
        at[0] = dual_add(*y, half), at[1] = dual_add(*x, half);
        break;
    case NB_CONVENTION_DENZO:
        at[0] = *y, at[1] = *x;
        break;
    case NB_CONVENTION_ADXV:
        at[0] = *x;
        at[1] = dual_sub(dual_of(t->scene.detector.size[1]), *y);
        break;
    default:
        at[0] = *x, at[1] = *y;
    }
}

static struct dual_vec corner_of(const struct dual at[2], struct dual_vec fast,
                                 struct dual_vec slow, struct dual_vec from)
{
    return vec_sub(from, vec_add(vec_times(at[0], fast), vec_times(at[1], slow)));
}

/* x and y of v = x f + y s + something normal to both */
static void components(struct dual_vec v, struct dual_vec f, struct dual_vec s,
                       struct dual out[2])
{
    const struct dual fs = vec_dot(f, s), vf = vec_dot(v, f), vs = vec_dot(v, s);
    const struct dual span = dual_sub(dual_of(1), dual_square(fs));

    out[0] = dual_div(dual_sub(vf, dual_mul(fs, vs)), span);
    out[1] = dual_div(dual_sub(vs, dual_mul(fs, vf)), span);
}

/* The outer corner before the rotations: `close` along the normal, and where the direct
 * beam hits in `beam_at`, the two being one statement at a distance along the beam */
static struct dual_vec unrotated(const struct truth *t, const struct dual_vec axes[3],
                                 struct dual close, struct dual beam_at[2])
{
    const nb_detector *d = &t->scene.detector;
    const struct dual_vec beam = truth_vector(t, TRUTH_BEAM);
    const struct dual ratio = vec_dot(beam, axes[2]);
    const struct dual distance =
        d->close_distance != 0 ? dual_div(close, ratio) : t->x.distance;
    struct dual near[2];

    if (d->origin_kind == NB_ORIGIN_BEAM) {
        struct dual_vec corner;

        direct_beam(t, beam_at);
        corner = corner_of(beam_at, axes[0], axes[1], vec_times(distance, beam));
        for (int i = 0; i < 2; i++) near[i] = dual_times(-1, vec_dot(corner, axes[i]));
    } else {
        struct dual_vec corner;

        for (int i = 0; i < 2; i++)
            near[i] =
                d->origin_kind == NB_ORIGIN_NEAR
                    ? dual_mul(dual_sub(t->x.origin[i], dual_of((quad)0.5)), t->x.pixel)
                    : t->x.origin[i];
        corner = corner_of(near, axes[0], axes[1],
                           vec_times(dual_mul(distance, ratio), axes[2]));
        components(vec_sub(vec_times(distance, beam), corner), axes[0], axes[1], beam_at);
    }
    return corner_of(near, axes[0], axes[1], vec_times(close, axes[2]));
}

void truth_detector(struct truth *t)
{
    const nb_detector *d = &t->scene.detector;
    const struct dual_vec beam = truth_vector(t, TRUTH_BEAM);
    const struct dual_vec twotheta_axis = truth_vector(t, TRUTH_TWOTHETA);
    const struct dual twotheta = dual_radian(t->x.twotheta);
    struct truth_detector *out = &t->detector;
    struct dual_vec axes[3], turned[3], corner;
    struct dual at[2], close, tilt;

    for (int i = 0; i < 3; i++) {
        axes[i] = truth_vector(t, (enum truth_vector)(TRUTH_FAST + i));
        turned[i] = vec_turn_xyz(t->x.rotation, axes[i]);
    }
    tilt = vec_dot(beam, turned[2]); /* before two theta */
    close = d->close_distance != 0 ? t->x.close_distance
                                   : dual_abs(dual_mul(tilt, t->x.distance));
    for (int i = 0; i < 3; i++) turned[i] = vec_rotate(twotheta_axis, twotheta, turned[i]);
    corner = unrotated(t, axes, close, at);
    out->fast = turned[0], out->slow = turned[1], out->normal = turned[2];
    if (d->origin_kind == NB_ORIGIN_PIX0)
        for (int i = 0; i < 3; i++) out->corner.at[i] = t->x.origin[i];
    else if (t->counts.pivot == NB_PIVOT_BEAM)
        out->corner =
            corner_of(at, turned[0], turned[1], vec_times(dual_div(close, tilt), beam));
    else
        out->corner =
            vec_rotate(twotheta_axis, twotheta, vec_turn_xyz(t->x.rotation, corner));
    out->close = vec_dot(out->corner, out->normal);
    out->distance = dual_div(out->close, vec_dot(beam, out->normal));
}
