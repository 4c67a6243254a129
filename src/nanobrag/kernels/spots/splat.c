/*
 * splat.c - see splat.h. This file is compiled for each instruction set in double and in
 * float, like lanes.c, and uses the same physics: a spot is a patch of the detector whose
 * anchor is the reflection itself. SPDX-License-Identifier: MIT
 */
#include "kernels/spots/splat_places.h"

/* number of samples of a spot that are computed together, as a block */
enum { SAMPLES = 8 };

static int scan(const struct pair *pair, const struct reflections *list, int *hits)
{
    const double *s = pair->stars;
    const double unit = pair->source->inverse_wavelength;
    const float a0 = (float)s[0], a1 = (float)s[1], a2 = (float)s[2];
    const float b0 = (float)s[3], b1 = (float)s[4], b2 = (float)s[5];
    const float c0 = (float)s[6], c1 = (float)s[7], c2 = (float)s[8];
    const float k0 = (float)(2 * unit * pair->source->direction[0]);
    const float k1 = (float)(2 * unit * pair->source->direction[1]);
    const float k2 = (float)(2 * unit * pair->source->direction[2]);
    /* bound of |q + k|^2 - |k|^2 within the radius */
    const float limit = (float)(pair->radius * (2 * unit + pair->radius)) + pair->margin;
    int n = 0;

    for (int first = 0; first < list->n; first += BATCH) {
        const float *restrict h = list->h + first;
        const float *restrict k = list->k + first;
        const float *restrict l = list->l + first;
        int near[BATCH], any = 0;

#pragma omp simd reduction(| : any)
        for (int i = 0; i < BATCH; i++) {
            const float x = h[i] * a0 + k[i] * b0 + l[i] * c0;
            const float y = h[i] * a1 + k[i] * b1 + l[i] * c1;
            const float z = h[i] * a2 + k[i] * b2 + l[i] * c2;
            const float off = x * (x + k0) + y * (y + k1) + z * (z + k2);

            near[i] = fabsf(off) <= limit ? 1 : 0;
            any |= near[i];
        }
        if (!any) continue;
        for (int i = 0; i < BATCH && first + i < list->n; i++) {
            hits[n] = first + i;
            n += near[i];
        }
    }
    return n;
}

/* The factors that must be evaluated for every sample of a spot. */
struct sample_factors {
    int omega, polar, capture, dmin, displacement;
    struct phys_detector detector; /* set only where one of the flags is */
    struct phys_square square;
};

static struct sample_factors sample_factors_of(const struct phys_frame *frame)
{
    struct sample_factors w;

    w.omega = frame->each_omega;
    w.polar = frame->each_polar && frame->polarised;
    w.capture = frame->layer_mu != 0 && !frame->last_capture;
    w.dmin = frame->dmin > 0;
    w.displacement = phys_is_displaced(frame);
    return w;
}

/* Returns the factor of the sample at `place`. `front` is the place of the first sub-pixel
 * of the same pixel, where the capture is evaluated unless every sample has its own. */
PHYS_FN real sample_factor(const struct splat_area *splat_area,
                           const struct phys_source *source, const struct spot *s,
                           const struct sample_factors *w, struct phys_place place,
                           struct phys_place front)
{
    const struct phys_frame *frame = splat_area->frame;
    const struct phys_detector *det = &w->detector;
    const struct phys_point point =
        phys_patch_point(&s->patch, det, place.step, place.ratio);
    const real change = phys_square_change(&w->square, place.step);
    real weight = 1;

    if (w->omega) weight *= phys_solid_angle(det, point);
    if (w->polar)
        weight *= phys_polarization((real)frame->kahn, phys_load(source->direction),
                                    phys_load(source->e), phys_load(source->b), point.d);
    if (w->capture) {
        if (!frame->each_capture) place = front;
        weight *=
            phys_capture(det, phys_patch_point(&s->patch, det, place.step, place.ratio),
                         (real)splat_area->layer);
    }
    if (w->dmin) weight *= w->square.beyond + change > 0 ? 0 : 1;
    if (w->displacement)
        weight *=
            phys_displacement(phys_displacement_b(frame), w->square.at_middle + change);
    return weight;
}

/* Interpolates F at samples first .. first + SAMPLES - 1. Each takes 64 loads, so a loop
 * over vector lanes would not be faster. */
static void interpolate(struct phys_spec spec, const struct phys_box *box,
                        const struct spot *s, int first, real *cell)
{
    for (int i = 0; i < SAMPLES; i++) {
        real fast, slow;
        const struct phys_place place = place_of(0, s, (real)(first + i), &fast, &slow);
        const struct phys_vec3 x = phys_anchor_indices(&s->anchor, place.step);

        cell[i] = phys_structure_factor(spec, box, x, phys_vec3(0, 0, 0)).f;
    }
}

/* Computes F^2 of samples first .. first + SAMPLES - 1, times cell[i]^2 where F is
 * interpolated. It is 0 at samples that belong to other reflections. */
PHYS_FN void lattice_intensities(struct phys_spec spec, const struct phys_crystal *c,
                                 const struct spot *spot, int first,
                                 const real *restrict cell, real *restrict f2)
{
    const struct spot s = *spot;

#pragma omp simd
    for (int i = 0; i < SAMPLES; i++) {
        real fast, slow;
        const struct phys_place place = place_of(0, &s, (real)(first + i), &fast, &slow);
        const struct phys_vec3 x = phys_anchor_indices(&s.anchor, place.step);
        struct phys_site site;

        site.d = x;
        site.cell.f = spec.lookup == PHYS_TRICUBIC ? cell[i] : 1;
        site.cell.dh = site.cell.dk = site.cell.dl = 0;
        f2[i] = is_nearest(x) * phys_sample(spec, c, site).f2;
    }
}

/* Multiplies the F^2 of n samples by the factors of the samples. */
static void apply_factors(const struct splat_area *splat_area,
                          const struct phys_source *source, const struct spot *s,
                          const struct sample_factors *w, int first, int n, real *f2)
{
    const int over = splat_area->frame->oversample;

    for (int i = 0; i < n; i++) {
        real fast, slow;
        const struct phys_place place = place_of(0, s, (real)(first + i), &fast, &slow);
        const int f = s->r.fast + (int)fast, l = s->r.slow + (int)slow;
        const struct phys_place front =
            phys_patch_place(0, &s->patch, fast - (real)(f % over) - s->middle_fast,
                             slow - (real)(l % over) - s->middle_slow);

        f2[i] *= sample_factor(splat_area, source, s, w, place, front);
    }
}

/* Adds the F^2 of n samples to the Bragg sums of their pixels. */
static void add_to_pixels(const struct splat_area *splat_area, const struct rectangle *r,
                          int first, int n, double weight, const real *f2)
{
    const int over = splat_area->frame->oversample;
    const int *roi = splat_area->roi;
    const size_t nfast = (size_t)splat_area->frame->nfast;
    int row = first / r->width, column = first - row * r->width;

    for (int i = 0; i < n; i++) {
        const int s = (r->slow + row) / over, f = (r->fast + column) / over;

        if (f >= roi[0] && f < roi[1] && s >= roi[2] && s < roi[3])
            splat_area->bragg[(size_t)s * nfast + (size_t)f] += weight * (double)f2[i];
        if (++column == r->width) {
            column = 0;
            row++;
        }
    }
}

/* Adds the contribution of reflection i of a batch to the samples of a rectangle. */
PHYS_FN void splat_piece(struct phys_spec spec, const struct splat_area *splat_area,
                         const struct pair *pair, const struct located *at, int i,
                         struct rectangle r, double weight)
{
    const struct phys_frame *frame = splat_area->frame;
    const double v[3] = {at->x[i], at->y[i], at->z[i]};
    const struct phys_vec3 whole =
        phys_vec3((real)at->h[i], (real)at->k[i], (real)at->l[i]);
    struct phys_crystal crystal = phys_crystal(frame);
    struct phys_box box = phys_box(frame);
    const struct spot s = spot_of(splat_area, pair, v, &r, whole);
    struct sample_factors w = sample_factors_of(frame);
    const int weighed = phys_differs_by_source(frame) || phys_differs_by_sample(frame);
    real f2[SAMPLES], cell[SAMPLES];

    if (weighed) {
        w.detector = phys_detector(frame);
        w.square = phys_patch_square(&s.patch, pair->source, frame->dmin);
    }
    crystal.peak = 1; /* see phys_constant_factor() */
    if (spec.lookup == PHYS_TRICUBIC) box = phys_box_from(0, box, whole);
    for (int first = 0; first < r.width * r.height; first += SAMPLES) {
        const int left = r.width * r.height - first, n = left < SAMPLES ? left : SAMPLES;

        if (spec.lookup == PHYS_TRICUBIC) interpolate(spec, &box, &s, first, cell);
        lattice_intensities(spec, &crystal, &s, first, cell, f2);
        if (weighed) apply_factors(splat_area, pair->source, &s, &w, first, n, f2);
        add_to_pixels(splat_area, &r, first, n, weight, f2);
    }
}

/* Splats reflection i of a batch, in pieces of at most PIECE x PIECE samples. */
PHYS_FN void splat_reflection(struct phys_spec spec, const struct splat_area *splat_area,
                              const struct pair *pair, const struct located *at, int i)
{
    const int fast = (int)at->first_fast[i], slow = (int)at->first_slow[i];
    const int end_fast = (int)at->last_fast[i] + 1, end_slow = (int)at->last_slow[i] + 1;
    double weight = pair->weight;

    if (spec.lookup == PHYS_NEAREST) {
        const struct phys_box box = phys_box(splat_area->frame);
        const struct phys_vec3 whole =
            phys_vec3((real)at->h[i], (real)at->k[i], (real)at->l[i]);
        const double f = (double)box.f[phys_f_place(0, &box, whole)];

        weight *= f * f;
        if (weight == 0) return;
    }
    for (int s = slow; s < end_slow; s += PIECE)
        for (int f = fast; f < end_fast; f += PIECE) {
            const struct rectangle r = {f, s, min_int(PIECE, end_fast - f),
                                        min_int(PIECE, end_slow - s)};

            splat_piece(spec, splat_area, pair, at, i, r, weight);
        }
}

PHYS_FN void splat_list(struct phys_spec spec, const struct splat_area *splat_area,
                        const struct pair *pair, const struct reflections *list,
                        const int *hits, int n)
{
    struct located at;

    for (int first = 0; first < n; first += BATCH) {
        const int count =
            locate_batch(splat_area, pair, list, hits + first, n - first, &at);

        for (int i = 0; i < count; i++)
            if (at.seen[i] != 0 && overlaps_roi(splat_area, &at, i))
                splat_reflection(spec, splat_area, pair, &at, i);
    }
}

static int outline(const struct splat_area *splat_area, const struct pair *pair,
                   const struct reflections *list, const int *hits, int n,
                   struct outline out[SPLAT_PAD])
{
    struct located at;
    const int count = locate_batch(splat_area, pair, list, hits, n, &at);
    int found = 0;

    for (int i = 0; i < count; i++) {
        const struct outline o = {{(int)at.first_fast[i], (int)at.last_fast[i] + 1},
                                  {(int)at.first_slow[i], (int)at.last_slow[i] + 1},
                                  i};

        if (at.seen[i] != 0 && overlaps_roi(splat_area, &at, i)) out[found++] = o;
    }
    return found;
}

#define VARIANT(shape, lookup)                                                             \
    static void shape##_##lookup(const struct splat_area *splat_area,                      \
                                 const struct pair *pair, const struct reflections *list,  \
                                 const int *hits, int n)                                   \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
                                                                                           \
        splat_list(spec, splat_area, pair, list, hits, n);                                 \
    }
#include "kernels/variants.def"
#undef VARIANT

extern const struct splat_kernels KERNELS;
const struct splat_kernels KERNELS = {
    scan,
    outline,
    {
#define VARIANT(shape, lookup) [PHYS_##shape][PHYS_##lookup] = shape##_##lookup,
#include "kernels/variants.def"
#undef VARIANT
    },
};
