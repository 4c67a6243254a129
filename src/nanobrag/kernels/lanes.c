/*
 * lanes.c - the same sum as physics/pixel.h with the loops turned inside out: the pixels
 * of a tile are the lanes of the innermost loop, which then has no branch, no call and no
 * memory but its own arrays. Compiled once per instruction set, without intrinsics.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/variants.h"
#include "physics/pixel.h"

#define CAT_(a, b) a##b
#define CAT(a, b)  CAT_(a, b)
#define STR_(a)    #a
#define STR(a)     STR_(a)

/* one number for each pixel of a tile */
typedef real lane[TILE_PIXELS];

/* what a tile needs: all of it stays in the innermost cache */
struct lanes {
    _Alignas(64) lane dx, dy, dz, r; /* direction and distance of the sample */
    _Alignas(64) lane weight; /* of the sub-pixel: flagged factors */
    _Alignas(64) lane qx, qy, qz, share; /* per source; share: weight of its samples */
    _Alignas(64) lane sum; /* of F^2 over orientations */
    _Alignas(64) lane bragg, amorphous, centre;
    _Alignas(64) lane omega, polarization, capture; /* factors that wait until the end */
    _Alignas(64) lane lit; /* 1 once a sample fixed the polarization */
};

static void fill(real *restrict a, real value)
{
#pragma omp simd
    for (int i = 0; i < TILE_PIXELS; i++) a[i] = value;
}

/* directions of sub-pixel `sub` of each pixel, or (-1) of its centre, at a depth;
 * `surface` is a literal */
PHYS_FN void points_on(int surface, const struct phys_view *view,
                       const struct phys_frame *frame, const struct tile *tile, int sub,
                       real depth, struct lanes *l)
{
    const int n = frame->oversample;
    const int sub_row = sub / n, sub_column = sub - n * sub_row;
    const real half = (real)0.5;
    const real in_slow = sub < 0 ? half * (real)n : (real)sub_row + half;
    const real in_fast = sub < 0 ? half * (real)n : (real)sub_column + half;
    struct phys_detector det = view->detector;

    det.surface = surface;
    for (int row = 0; row < TILE_SLOW; row++) {
        const real slow = (real)(tile->slow + row) * (real)n + in_slow;
        const real fast = (real)tile->fast * (real)n + in_fast;
        const int at = row * TILE_FAST;

#pragma omp simd
        for (int i = 0; i < TILE_FAST; i++) {
            const struct phys_point p =
                phys_point(&det, fast + (real)i * (real)n, slow, depth);

            l->dx[at + i] = p.d.x;
            l->dy[at + i] = p.d.y;
            l->dz[at + i] = p.d.z;
            l->r[at + i] = p.r;
        }
    }
}

static void points(const struct phys_view *view, const struct phys_frame *frame,
                   const struct tile *tile, int sub, real depth, struct lanes *l)
{
    switch (view->detector.surface) {
    case PHYS_CURVED:
        points_on(PHYS_CURVED, view, frame, tile, sub, depth, l);
        break;
    case PHYS_CURVED_QUIRK:
        points_on(PHYS_CURVED_QUIRK, view, frame, tile, sub, depth, l);
        break;
    default:
        points_on(PHYS_FLAT, view, frame, tile, sub, depth, l);
    }
}

PHYS_FN struct phys_point point_of(const struct lanes *l, int i)
{
    struct phys_point p;

    p.d = phys_vec3(l->dx[i], l->dy[i], l->dz[i]);
    p.r = l->r[i];
    return p;
}

/* factor[i] *= solid angle of the sample */
static void times_omega(const struct phys_view *view, const struct lanes *l,
                        real *restrict factor)
{
    const struct phys_detector det = view->detector;

#pragma omp simd
    for (int i = 0; i < TILE_PIXELS; i++)
        factor[i] *= phys_solid_angle(&det, point_of(l, i));
}

/* factor[i] = captured fraction of the sample in a layer */
static void captures(const struct phys_view *view, const struct lanes *l, int layer,
                     real *restrict factor)
{
    const struct phys_detector det = view->detector;

#pragma omp simd
    for (int i = 0; i < TILE_PIXELS; i++)
        factor[i] = phys_capture(&det, point_of(l, i), (real)layer);
}

static void multiply(real *restrict a, const real *restrict b)
{
#pragma omp simd
    for (int i = 0; i < TILE_PIXELS; i++) a[i] *= b[i];
}

/* q of each lane, its share of the sum, and the polarization where a sample fixes it */
static void scatter(const struct phys_frame *frame, const struct phys_source *source,
                    struct lanes *l)
{
    const struct phys_vec3 incident = phys_load(source->direction);
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const real inverse = (real)source->inverse_wavelength, weight = (real)source->weight;
    const real dmin = (real)frame->dmin, kahn = (real)frame->kahn;
    const real each = frame->each_polar ? 1 : 0, polarised = frame->polarised ? 1 : 0;

#pragma omp simd
    for (int i = 0; i < TILE_PIXELS; i++) {
        const struct phys_vec3 d = phys_vec3(l->dx[i], l->dy[i], l->dz[i]);
        const struct phys_vec3 q = phys_scattering(d, incident, inverse);
        const real passes = phys_passes_dmin(dmin, phys_dot(q, q)) ? 1 : 0;
        const real kahns = phys_polarization(kahn, incident, e, b, d);
        const real polar = polarised != 0 ? kahns : 1;
        const real first = passes * (1 - l->lit[i]) * (1 - each);

        l->qx[i] = q.x;
        l->qy[i] = q.y;
        l->qz[i] = q.z;
        l->polarization[i] = first != 0 ? polar : l->polarization[i];
        l->lit[i] = first != 0 ? 1 : l->lit[i];
        l->share[i] = l->weight[i] * weight * (each != 0 ? polar : 1);
        l->sum[i] = 0;
    }
}

static void add_amorphous(const struct phys_frame *frame, struct lanes *l)
{
    if (frame->nstol == 0) {
        const real f2 = (real)(frame->amorphous_f * frame->amorphous_f);

#pragma omp simd
        for (int i = 0; i < TILE_PIXELS; i++) l->amorphous[i] += l->share[i] * f2;
        return;
    }
    /* a table look-up with a search in it: one lane at a time */
    for (int i = 0; i < TILE_PIXELS; i++) {
        const struct phys_vec3 q = phys_vec3(l->qx[i], l->qy[i], l->qz[i]);
        const real f = phys_amorphous(frame, sqrt(phys_dot(q, q)) / 2);

        l->amorphous[i] += l->share[i] * f * f;
    }
}

/* sum[i] += F^2 of every lane in one orientation. Restrict parameters: clang proves the
 * look-ups in `f` apart from the sums by nothing else */
PHYS_FN void add_orientation(struct phys_spec spec, const struct phys_view *view,
                             const double *rows, const double *restrict f,
                             const real *restrict qx, const real *restrict qy,
                             const real *restrict qz, real *restrict sum)
{
    const struct phys_axes axes = phys_axes(rows);
    const struct phys_crystal crystal = view->crystal;
    struct phys_box box = view->box;

    box.f = f;
#pragma omp simd
    for (int i = 0; i < TILE_PIXELS; i++)
        sum[i] += phys_step(spec, &crystal, &box, axes, phys_vec3(qx[i], qy[i], qz[i])).f2;
}

/* bragg[i] += the sum of a source, unless dmin keeps it out */
static void add_bragg(const struct phys_frame *frame, struct lanes *l)
{
    const real dmin = (real)frame->dmin, b_factor = (real)frame->b_factor;

#pragma omp simd
    for (int i = 0; i < TILE_PIXELS; i++) {
        const struct phys_vec3 q = phys_vec3(l->qx[i], l->qy[i], l->qz[i]);
        const real q2 = phys_dot(q, q);
        const real added = l->share[i] * phys_displacement(b_factor, q2) * l->sum[i];

        l->bragg[i] += phys_passes_dmin(dmin, q2) ? added : 0;
    }
}

/* polarization of the first source, which a pixel keeps unless each sample has its own */
static void first_polarization(const struct phys_frame *frame, struct lanes *l)
{
    for (int i = 0; i < TILE_PIXELS; i++)
        l->polarization[i] =
            frame->each_polar
                ? 1
                : phys_source_polarization(frame, 0,
                                           phys_vec3(l->dx[i], l->dy[i], l->dz[i]));
}

/* centre[i] = photons of the amorphous material, at the centres of the pixels; leaves its
 * traces in `l`, so it comes first */
static void amorphous_at_centre(const struct phys_view *view,
                                const struct phys_frame *frame, const struct tile *tile,
                                struct lanes *l)
{
    _Alignas(64) lane capture;

    fill(l->amorphous, 0);
    fill(l->omega, 1);
    fill(l->lit, 1);
    for (int layer = 0; layer < frame->nlayers; layer++) {
        points(view, frame, tile, -1,
               view->detector.layer_offset + (real)layer * view->detector.layer_step, l);
        if (layer == 0) {
            first_polarization(frame, l);
            if (!frame->each_omega) times_omega(view, l, l->omega);
        }
        fill(l->weight, 1);
        if (frame->each_omega) times_omega(view, l, l->weight);
        captures(view, l, layer, capture);
        multiply(l->weight, capture);
        for (int i = 0; i < frame->nsource; i++) {
            scatter(frame, frame->source + i, l);
            add_amorphous(frame, l);
        }
    }
#pragma omp simd
    for (int i = 0; i < TILE_PIXELS; i++)
        l->centre[i] = (real)frame->amorphous_scale * l->amorphous[i] * l->omega[i]
                       * l->polarization[i];
}

/* weights of a sub-pixel, and the factors that are taken at the first one */
static void weigh(const struct phys_view *view, const struct phys_frame *frame, int layer,
                  int sub, struct lanes *l, real *restrict capture)
{
    if (layer == 0 && sub == 0) {
        first_polarization(frame, l);
        if (frame->dark_polar && !frame->each_polar) fill(l->polarization, 0);
        if (!frame->each_omega) times_omega(view, l, l->omega);
    }
    fill(l->weight, 1);
    if (frame->each_omega) times_omega(view, l, l->weight);
    if (frame->layer_mu == 0) return;
    if (sub == 0 || frame->each_capture) captures(view, l, layer, capture);
    if (!frame->last_capture)
        multiply(l->weight, capture);
    else
        memcpy(l->capture, capture, sizeof l->capture);
}

PHYS_FN void run(struct phys_spec spec, const struct phys_frame *frame,
                 const struct tile *tile, double *restrict photons)
{
    const struct phys_view view = phys_view(frame);
    struct lanes l;
    _Alignas(64) lane capture;

    fill(l.centre, 0);
    if (frame->amorphous_scale != 0 && !frame->amorphous_in_samples)
        amorphous_at_centre(&view, frame, tile, &l);
    fill(l.bragg, 0);
    fill(l.amorphous, 0);
    fill(l.omega, 1);
    fill(l.capture, 1);
    fill(l.lit, 0);
    for (int layer = 0; layer < frame->nlayers; layer++) {
        const real depth =
            view.detector.layer_offset + (real)layer * view.detector.layer_step;

        for (int sub = 0; sub < frame->oversample * frame->oversample; sub++) {
            points(&view, frame, tile, sub, depth, &l);
            weigh(&view, frame, layer, sub, &l, capture);
            for (int i = 0; i < frame->nsource; i++) {
                scatter(frame, frame->source + i, &l);
                if (frame->amorphous_in_samples) add_amorphous(frame, &l);
                for (int k = 0; k < frame->norientation; k++)
                    add_orientation(spec, &view, frame->orientation[k].axes, frame->f, l.qx,
                                    l.qy, l.qz, l.sum);
                add_bragg(frame, &l);
            }
        }
    }
    for (int i = 0; i < TILE_PIXELS; i++) {
        struct phys_sums s;

        s.bragg = l.bragg[i];
        s.amorphous = l.amorphous[i];
        s.centre = l.centre[i];
        s.omega = l.omega[i];
        s.polarization = l.polarization[i];
        s.capture = l.capture[i];
        s.lit = 1;
        photons[i] = phys_finish(frame, s);
    }
}

#define VARIANT VARIANT_FUNCTION
#include "kernels/variants.def"
#undef VARIANT

extern const struct kernels CAT(kernels_, KERNEL_ISA);
const struct kernels CAT(kernels_, KERNEL_ISA) = {
    STR(KERNEL_ISA),
    {
#define VARIANT(shape, lookup) [PHYS_##shape][PHYS_##lookup] = shape##_##lookup,
#include "kernels/variants.def"
#undef VARIANT
    },
};
