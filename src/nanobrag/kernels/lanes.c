/*
 * lanes.c - the same sum as physics/pixel.h with the loops turned inside out: the pixels
 * of a tile are the lanes of the innermost loop, which then has no branch, no call and no
 * memory but its own arrays. Compiled for each instruction set in double and in float,
 * without intrinsics.
 *
 * Directions and Miller indices are counted from those of the tile's middle, which are
 * found in double (physics/patch.h, anchor.h): so float rounds only what changes across a
 * tile. Sums over more than a few orientations are in double either way.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/lane_places.h"
#include "kernels/variants.h"

/* orientations whose sum is in `real` before it joins a sum in double */
enum { CHUNK = 64 };

/* where the lanes lie in one orientation: phys_site in pieces */
struct sites {
    _Alignas(64) lane h, k, l, cell;
    _Alignas(64) int place[TILE_PIXELS]; /* of F, where it is looked up */
    int any_halfway; /* 1 when a lane lies nearly halfway between two reflections */
};

/* 1 where it tells in the image which of two reflections a sample halfway between belongs
 * to, so that float must not take the wrong one */
PHYS_FN int has_jumps(struct phys_spec spec)
{
#ifdef PHYS_SINGLE
    return spec.lookup == PHYS_NEAREST || spec.shape == PHYS_GAUSS;
#else
    (void)spec;
    return 0;
#endif
}

/* share[i] = weight of the samples of a source, without what depends on the source */
static void weigh_source(const struct phys_source *source, struct lanes *l)
{
    const real weight = (real)source->weight;

#pragma omp simd
    for (int i = 0; i < l->n; i++) l->share[i] = weight * l->weight[i];
}

/* share[i] *= polarization of the source, displacement, dmin; and the polarization of the
 * pixel where a sample fixes it */
static void weigh_samples(const struct phys_frame *frame, const struct phys_source *source,
                          struct lanes *l)
{
    const struct phys_vec3 incident = phys_load(source->direction);
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const struct phys_vec3 d = l->patch.d;
    const struct phys_square square = phys_patch_square(&l->patch, source, frame->dmin);
    const real kahn = (real)frame->kahn, b_factor = (real)frame->b_factor;
    const real each = frame->each_polar ? 1 : 0, polarised = frame->polarised ? 1 : 0;
    const real cut = frame->dmin > 0 ? 1 : 0;

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const real change = phys_square_change(&square, step_of(l, i));
        const real passes = cut * (square.beyond + change) > 0 ? 0 : 1;
        const real kahns =
            phys_polarization(kahn, incident, e, b, phys_axpy(1, d, step_of(l, i)));
        const real polar = polarised != 0 ? kahns : 1;
        const real first = passes * (1 - l->lit[i]) * (1 - each);

        /* sums of one and nothing: a choice would become a masked store, and a slow loop */
        l->polarization[i] = first * polar + (1 - first) * l->polarization[i];
        l->lit[i] += first;
        l->share[i] *= passes * phys_displacement(b_factor, square.at_middle + change)
                       * (each != 0 ? polar : 1);
    }
}

/* the amorphous part of a source, which neither dmin nor displacement touches */
static void add_amorphous(const struct launch *a, const struct phys_source *source,
                          struct lanes *l)
{
    const struct phys_frame *frame = a->frame;
    const real weight = (real)source->weight, unit = (real)source->inverse_wavelength;
    const int each = frame->each_polar && frame->polarised;

    for (int i = 0; i < l->n; i++) {
        /* spelt out: a compiler that reports why it left this loop alone names this line */
        const struct phys_vec3 step = phys_vec3(l->x[i], l->y[i], l->z[i]);
        const struct phys_vec3 d = phys_axpy(1, l->patch.d, step);
        const struct phys_vec3 q = phys_scattering(d, phys_load(source->direction), unit);
        const real f = phys_amorphous(frame, sqrt(phys_dot(q, q)) / 2);
        const real polar =
            each ? phys_polarization((real)frame->kahn, phys_load(source->direction),
                                     phys_load(source->e), phys_load(source->b), d)
                 : 1;

        l->amorphous[i] += (double)(weight * l->weight[i] * polar * f * f);
    }
}

/* how far the indices of the lanes lie from those of the anchor, at most, and with a margin
 * of four more: alike in all orientations, which turn the same cell */
static struct phys_vec3 reach_of(const struct phys_frame *frame, double unit,
                                 const struct lanes *l)
{
    const struct phys_axes axes = phys_axes(frame->orientation[0].axes);
    const real most = l->radius * (real)unit;

    return phys_vec3(4 + most * sqrt(phys_dot(axes.a, axes.a)),
                     4 + most * sqrt(phys_dot(axes.b, axes.b)),
                     4 + most * sqrt(phys_dot(axes.c, axes.c)));
}

/* 1 when no lane of the tile looks up F outside the box: neither its nearest reflection
 * nor the nodes of the interpolation */
static int stays_inside(const struct phys_box *box, struct phys_vec3 at,
                        struct phys_vec3 reach)
{
    const real most = 8388608; /* whole numbers of a float are exact up to twice this */
    const real farthest =
        reach.x * (real)box->stride_h + reach.y * (real)box->stride_k + reach.z;

    return at.x - reach.x >= box->first.x && at.x + reach.x <= box->last.x
           && at.y - reach.y >= box->first.y && at.y + reach.y <= box->last.y
           && at.z - reach.z >= box->first.z && at.z + reach.z <= box->last.z
           && farthest < most;
}

/* where every lane lies in one orientation, and F there or (nearest) the place where it is
 * kept: loads of places just computed would hold up the loop. Restrict parameters: clang
 * proves the look-ups in `f` apart from the results by nothing else */
PHYS_FN void find_sites(struct phys_spec spec, const struct phys_view *view,
                        const struct phys_anchor *at, const real *restrict f, real halfway,
                        const struct lanes *restrict l, struct sites *restrict out)
{
    const struct phys_anchor anchor = *at;
    struct phys_box box = phys_box_from(spec.inside, view->box, anchor.whole);
    int any = 0;

    box.f = f;
#pragma omp simd reduction(| : any)
    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 x = phys_anchor_indices(&anchor, step_of(l, i));
        const struct phys_vec3 n = phys_lattice_point(spec, x);
        const struct phys_vec3 d = phys_axpy(-1, n, x);
        const real h = fabs(d.x), k = fabs(d.y), m = fabs(d.z);
        const real hk = h > k ? h : k, off = hk > m ? hk : m;

        any |= has_jumps(spec) && off > halfway ? 1 : 0;
        out->h[i] = d.x;
        out->k[i] = d.y;
        out->l[i] = d.z;
        if (spec.lookup == PHYS_NEAREST)
            out->place[i] = phys_f_place(spec.inside, &box, n);
        else if (spec.lookup != PHYS_CONSTANT)
            out->cell[i] = phys_structure_factor(spec, &box, x, n).f;
    }
    out->any_halfway = any;
    if (spec.lookup == PHYS_NEAREST)
        for (int i = 0; i < l->n; i++) out->cell[i] = f[out->place[i]];
}

#ifdef PHYS_SINGLE
/* Lanes halfway between two reflections, within what float can tell, are placed again in
 * double. They are few. */
static void place_again(struct phys_spec spec, const struct launch *a,
                        const struct phys_source *source, const double *rows,
                        const struct phys_anchor *anchor, const struct lanes *l, real limit,
                        struct sites *out)
{
    const struct tile *tile = a->tile;
    const struct phys_box box = phys_box_from(0, a->view.box, anchor->whole);
    const double n = a->frame->oversample;

    for (int i = 0; i < l->n; i++) {
        struct phys_patch at;
        struct phys_anchor exact;
        double q[3];

        if (fabs(out->h[i]) < limit && fabs(out->k[i]) < limit && fabs(out->l[i]) < limit)
            continue;
        at = phys_patch_at(a->frame,
                           n * (tile->fast + 0.5 * tile->width) + l->fast[i] + l->sub_fast,
                           n * (tile->slow + 0.5 * tile->height) + l->slow[i] + l->sub_slow,
                           l->depth);
        phys_patch_scattering(&at, source, q);
        exact = phys_anchor_at(rows, q, source->inverse_wavelength);
        out->h[i] = exact.fraction.x;
        out->k[i] = exact.fraction.y;
        out->l[i] = exact.fraction.z;
        if (spec.lookup == PHYS_NEAREST)
            out->cell[i] =
                box.f[phys_f_place(0, &box, phys_axpy(-1, anchor->whole, exact.whole))];
    }
}
#endif

/* sum[i] += weight F^2. A loop of its own: the two together are a chain of operations so
 * long that too few of them are under way at once */
PHYS_FN void add_samples(struct phys_spec spec, const struct phys_view *view, int n,
                         real weight, const struct sites *restrict in, real *restrict sum)
{
    struct phys_crystal crystal = view->crystal;

    crystal.peak = 1; /* see phys_constant_factor() */
#pragma omp simd
    for (int i = 0; i < n; i++) {
        struct phys_site site;
        real f;

        site.d = phys_vec3(in->h[i], in->k[i], in->l[i]);
        site.cell.f = spec.lookup == PHYS_CONSTANT ? 1 : in->cell[i];
        f = site.cell.f * phys_lattice(spec, &crystal, site.d).f;
        sum[i] += weight * f * f; /* a weight of 1 moves no bit of a fused sum */
    }
}

/* bragg[i] += share[i] sum[i] */
static void join(int n, const real *restrict share, const real *restrict sum,
                 double *restrict bragg)
{
#pragma omp simd
    for (int i = 0; i < n; i++) bragg[i] += (double)(share[i] * sum[i]);
}

/* all orientations under one source */
PHYS_FN void add_bragg(struct phys_spec spec, const struct launch *a,
                       const struct phys_source *source, struct lanes *l)
{
    const struct phys_frame *frame = a->frame;
    const double unit = source->inverse_wavelength;
    const struct phys_vec3 reach = reach_of(frame, unit, l);
    /* in float: indices reach so far from the anchor's, and are rounded several times */
    const real halfway = (real)0.5 - (real)2.5e-7 * (reach.x + reach.y + reach.z);
    struct sites sites;
    double q[3];

    phys_patch_scattering(&l->patch, source, q);
    for (int first = 0; first < frame->norientation; first += CHUNK) {
        const int left = frame->norientation - first, n = left < CHUNK ? left : CHUNK;

        fill(l->n, l->sum, 0);
        for (int k = first; k < first + n; k++) {
            const struct phys_anchor anchor =
                phys_anchor_at(frame->orientation[k].axes, q, unit);
            struct phys_spec inside = spec;

            inside.inside = 1;
            if (spec.lookup != PHYS_CONSTANT
                && stays_inside(&a->view.box, anchor.whole, reach))
                find_sites(inside, &a->view, &anchor, a->view.box.f, halfway, l, &sites);
            else
                find_sites(spec, &a->view, &anchor, a->view.box.f, halfway, l, &sites);
#ifdef PHYS_SINGLE
            if (sites.any_halfway)
                place_again(spec, a, source, frame->orientation[k].axes, &anchor, l,
                            halfway, &sites);
#endif
            add_samples(spec, &a->view, l->n, (real)frame->orientation[k].weight, &sites,
                        l->sum);
        }
        join(l->n, l->share, l->sum, l->bragg);
    }
}

/* polarization of the first source, which a pixel keeps unless each sample has its own */
static void first_polarization(const struct phys_frame *frame, struct lanes *l)
{
    const struct phys_source *source = frame->source;
    const struct phys_vec3 incident = phys_load(source->direction), d = l->patch.d;
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const real kahn = (real)frame->kahn;

    fill(l->n, l->polarization, 1);
    if (frame->each_polar || !frame->polarised) return;
#pragma omp simd
    for (int i = 0; i < l->n; i++)
        l->polarization[i] =
            phys_polarization(kahn, incident, e, b, phys_axpy(1, d, step_of(l, i)));
}

/* centre[i] = photons of the amorphous material, at the centres of the pixels; leaves its
 * traces in `l`, so it comes first */
static void amorphous_at_centre(const struct launch *a, struct lanes *l)
{
    const struct phys_frame *frame = a->frame;
    _Alignas(64) lane capture;

    fill_wide(l->n, l->amorphous, 0);
    fill(l->n, l->omega, 1);
    for (int layer = 0; layer < frame->nlayers; layer++) {
        place_patch(a, depth_of(a, layer), l);
        places(a, -1, depth_of(a, layer), l);
        if (layer == 0) {
            first_polarization(frame, l);
            if (!frame->each_omega) times_omega(a, l, l->omega);
        }
        fill(l->n, l->weight, 1);
        if (frame->each_omega) times_omega(a, l, l->weight);
        captures(a, l, layer, capture);
        multiply(l->n, l->weight, capture);
        for (int i = 0; i < frame->nsource; i++) add_amorphous(a, frame->source + i, l);
    }
#pragma omp simd
    for (int i = 0; i < l->n; i++)
        l->centre[i] = (real)(frame->amorphous_scale * l->amorphous[i]) * l->omega[i]
                       * l->polarization[i];
}

/* weights of a sub-pixel, and the factors that are taken at the first one */
static void weigh(const struct launch *a, int layer, int sub, struct lanes *l,
                  real *restrict capture)
{
    const struct phys_frame *frame = a->frame;

    if (layer == 0 && sub == 0) {
        first_polarization(frame, l);
        if (frame->dmin > 0 && frame->dark_polar && !frame->each_polar)
            fill(l->n, l->polarization, 0);
        if (!frame->each_omega) times_omega(a, l, l->omega);
        fill(l->n, l->weight, 1);
    }
    if (a->weighted) fill(l->n, l->weight, 1);
    if (frame->each_omega) times_omega(a, l, l->weight);
    if (frame->layer_mu == 0) return;
    if (sub == 0 || frame->each_capture) captures(a, l, layer, capture);
    if (!frame->last_capture)
        multiply(l->n, l->weight, capture);
    else
        memcpy(l->capture, capture, sizeof l->capture);
}

static void start(const struct launch *a, struct lanes *l)
{
    take_tile(a, l);
    fill(l->n, l->centre, 0);
    if (a->frame->amorphous_scale != 0 && !a->frame->amorphous_in_samples)
        amorphous_at_centre(a, l);
    fill_wide(l->n, l->bragg, 0);
    fill_wide(l->n, l->amorphous, 0);
    fill(l->n, l->omega, 1);
    fill(l->n, l->capture, 1);
    fill(l->n, l->lit, 0);
}

/* `factor`: of the Bragg part */
static void finish(const struct launch *a, double factor, const struct lanes *l,
                   double *restrict photons)
{
    const double bragg = factor * a->frame->bragg_scale;
    const double amorphous = a->frame->amorphous_scale;

#pragma omp simd
    for (int i = 0; i < l->n; i++)
        photons[i] = (bragg * l->bragg[i] + amorphous * l->amorphous[i])
                         * (double)l->omega[i] * (double)l->polarization[i]
                         * (double)l->capture[i]
                     + (double)l->centre[i];
}

PHYS_FN void run(struct phys_spec spec, const struct phys_frame *frame,
                 const struct tile *tile, double *photons)
{
    const struct launch a = launch_of(frame, tile);
    struct lanes l;
    _Alignas(64) lane capture;

    start(&a, &l);
    for (int layer = 0; layer < frame->nlayers; layer++) {
        place_patch(&a, depth_of(&a, layer), &l);
        for (int sub = 0; sub < frame->oversample * frame->oversample; sub++) {
            places(&a, sub, depth_of(&a, layer), &l);
            weigh(&a, layer, sub, &l, capture);
            for (int i = 0; i < frame->nsource; i++) {
                const struct phys_source *source = frame->source + i;

                weigh_source(source, &l);
                if (a.per_source) weigh_samples(frame, source, &l);
                if (frame->amorphous_in_samples) add_amorphous(&a, source, &l);
                add_bragg(spec, &a, source, &l);
            }
        }
    }
    finish(&a, phys_constant_factor(spec, frame), &l, photons);
}

/* Is there anything besides the first sample that the factors of a pixel depend on? */
static int needs_all_samples(const struct phys_frame *frame)
{
    return frame->amorphous_in_samples || frame->dmin > 0
           || (frame->last_capture && frame->layer_mu != 0);
}

/* The pixels of a tile that have a sum, when nothing but their first sample and the sum
 * counts. The list is filled up to a multiple of every vector's length, so that a pixel is
 * computed by the same instructions whatever stands beside it. */
static void finish_lit(const struct phys_frame *frame, const struct tile *tile,
                       double factor, double *photons)
{
    enum { STRIDE = 16 };
    const struct launch a = launch_of(frame, tile);
    int listed[TILE_PIXELS] = {0}, n = 0, lit;
    double sums[TILE_PIXELS];
    struct lanes l;
    _Alignas(64) lane capture;

    for (int i = 0; i < tile->width * tile->height; i++) {
        listed[n] = i;
        n += photons[i] != 0;
    }
    lit = n;
    while (n % STRIDE) listed[n++] = listed[0];
    take_listed(&a, n, listed, &l);
    fill(n, l.centre, 0);
    fill_wide(n, l.amorphous, 0);
    fill(n, l.omega, 1);
    fill(n, l.capture, 1);
    for (int i = 0; i < n; i++) l.bragg[i] = photons[listed[i]];
    place_patch(&a, depth_of(&a, 0), &l);
    places(&a, 0, 0, &l);
    weigh(&a, 0, 0, &l, capture);
    finish(&a, factor, &l, sums);
    for (int i = 0; i < lit; i++) photons[listed[i]] = sums[i];
}

static void finish_tile(const struct phys_frame *frame, const struct tile *tile,
                        double factor, double *photons)
{
    const struct launch a = launch_of(frame, tile);
    const int all = needs_all_samples(frame);
    struct lanes l;
    _Alignas(64) lane capture;

    if (!all && frame->amorphous_scale == 0 && frame->surface != PHYS_CURVED_QUIRK) {
        finish_lit(frame, tile, factor, photons);
        return;
    }
    start(&a, &l);
    memcpy(l.bragg, photons, sizeof *photons * (size_t)l.n);
    for (int layer = 0; layer < (all ? frame->nlayers : 1); layer++) {
        place_patch(&a, depth_of(&a, layer), &l);
        for (int sub = 0; sub < (all ? frame->oversample * frame->oversample : 1); sub++) {
            places(&a, sub, depth_of(&a, layer), &l);
            weigh(&a, layer, sub, &l, capture);
            for (int i = 0; all && i < frame->nsource; i++) {
                const struct phys_source *source = frame->source + i;

                weigh_source(source, &l);
                if (a.per_source) weigh_samples(frame, source, &l);
                if (frame->amorphous_in_samples) add_amorphous(&a, source, &l);
            }
        }
    }
    finish(&a, factor, &l, photons);
}

static void omega_of(const struct phys_frame *frame, const struct tile *tile, double *omega)
{
    const struct launch a = launch_of(frame, tile);
    const int all = frame->each_omega;
    const int layers = all ? frame->nlayers : 1;
    const int subs = all ? frame->oversample * frame->oversample : 1;
    struct lanes l;

    take_tile(&a, &l);
    fill_wide(l.n, omega, 0);
    for (int layer = 0; layer < layers; layer++) {
        place_patch(&a, depth_of(&a, layer), &l);
        for (int sub = 0; sub < subs; sub++) {
            places(&a, sub, depth_of(&a, layer), &l);
            fill(l.n, l.omega, (real)1 / (real)(layers * subs));
            times_omega(&a, &l, l.omega);
            for (int i = 0; i < l.n; i++) omega[i] += (double)l.omega[i];
        }
    }
}

#define VARIANT VARIANT_FUNCTION
#include "kernels/variants.def"
#undef VARIANT

extern const struct kernels KERNELS;
const struct kernels KERNELS = {
    KERNEL_ISA,
    omega_of,
    finish_tile,
    {
#define VARIANT(shape, lookup) [PHYS_##shape][PHYS_##lookup] = shape##_##lookup,
#include "kernels/variants.def"
#undef VARIANT
    },
    {{NULL}},
};
