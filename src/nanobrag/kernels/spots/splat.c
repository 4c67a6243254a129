/*
 * splat.c - finds and splats the reflections of a pair. Like lanes.c, it is compiled for
 * each instruction set in double and in float, with the same physics. Each spot is computed
 * as a patch of the detector (physics/tile/patch.h), with indices counted from its
 * reflection.
 * SPDX-License-Identifier: MIT
 */
#include "kernels/spots/splat_pieces.h"

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
    /* an upper bound of |q + k|^2 - |k|^2 within the radius of the sphere */
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

/* Flags for the factors that must be evaluated at every sample of a spot. */
struct sample_factors {
    int omega, polar, capture, dmin, displacement;
    struct phys_detector detector; /* set only if a flag is set */
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

/* Returns the product of the factors of the sample at `place`. `front` is the place of the
 * first sub-pixel of the same pixel; capture is evaluated there unless every sample has its
 * own. */
PHYS_FN real sample_factor(const struct splat_layer *splat_layer,
                           const struct phys_source *source, const struct spot *s,
                           const struct sample_factors *w, struct phys_place place,
                           struct phys_place front)
{
    const struct phys_frame *frame = splat_layer->frame;
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
                         (real)splat_layer->layer);
    }
    if (w->dmin) weight *= w->square.beyond + change > 0 ? 0 : 1;
    if (w->displacement)
        weight *=
            phys_displacement(phys_displacement_b(frame), w->square.at_middle + change);
    return weight;
}

/* Interpolates F at the samples of a list. Each sample takes 64 loads, so a loop over
 * vector lanes would not be faster. */
static void interpolate(struct phys_spec spec, const struct phys_box *box,
                        const struct spot *s, const struct piece_samples *at, real *cell)
{
    const int n = at->padded / BLOCK * BLOCK;

    for (int i = 0; i < n; i++) {
        const struct phys_place place =
            phys_patch_place(0, &s->patch, at->fast[i], at->slow[i]);
        const struct phys_vec3 x = phys_anchor_indices(&s->anchor, place.step);

        cell[i] = phys_structure_factor(spec, box, x, phys_vec3(0, 0, 0)).f;
    }
}

/* Computes F^2 of the samples of a list from their indices; cell[i] is their F if F is
 * interpolated. F^2 is 0 at samples that belong to other reflections. */
PHYS_FN void lattice_intensities(struct phys_spec spec, const struct phys_crystal *c,
                                 const struct spot *spot, const struct piece_samples *at,
                                 const real *restrict cell, real *restrict f2)
{
    const struct spot s = *spot;
    const int n = at->padded / BLOCK * BLOCK;

#pragma omp simd
    for (int i = 0; i < n; i++) {
        const struct phys_place place =
            phys_patch_place(0, &s.patch, at->fast[i], at->slow[i]);
        const struct phys_vec3 x = phys_anchor_indices(&s.anchor, place.step);
        struct phys_site site;

        site.d = x;
        site.cell.f = spec.lookup == PHYS_TRICUBIC ? cell[i] : 1;
        site.cell.dh = site.cell.dk = site.cell.dl = 0;
        f2[i] = is_nearest(x) * phys_sample(spec, c, site).f2;
    }
}

/* Computes F^2 of the samples of a narrow piece from w (struct form); `small` is the member
 * of struct pieces. */
PHYS_FN void narrow_intensities(int small, int shape, real fudge,
                                const struct piece_w *piece, const struct piece_samples *at,
                                real *restrict f2)
{
    const struct piece_w of = *piece;
    const int n = at->padded / BLOCK * BLOCK;

#pragma omp simd
    for (int i = 0; i < n; i++) {
        const struct phys_vec3 w = w_of(small, &of, at->fast[i], at->slow[i]);
        const real profile = phys_profile(shape, fudge * phys_dot(w, w)).f;

        f2[i] = profile * profile;
    }
}

/* Multiplies F^2 of the samples of a list by the factors of each sample. */
static void apply_factors(const struct splat_layer *splat_layer,
                          const struct phys_source *source, const struct spot *s,
                          const struct sample_factors *w, const struct piece_samples *at,
                          real *f2)
{
    const int over = splat_layer->frame->oversample;

    for (int i = 0; i < at->n; i++) {
        const real fast = at->fast[i], slow = at->slow[i];
        const int f = s->r.fast + (int)(fast + s->middle_fast);
        const int l = s->r.slow + (int)(slow + s->middle_slow);
        const struct phys_place place = phys_patch_place(0, &s->patch, fast, slow);
        const struct phys_place front =
            phys_patch_place(0, &s->patch, fast - (real)(f % over),
                             slow - (real)(l % over));

        f2[i] *= sample_factor(splat_layer, source, s, w, place, front);
    }
}

/* Adds n numbers, times a weight, to a row of sums. Whole blocks are added as long as
 * `room`, the rest of the row, allows. */
static inline void add_row(double weight, const real *restrict f2, int n, int room,
                           double *restrict sums)
{
    int done = 0;

    for (; done < n && done + BLOCK <= room; done += BLOCK)
        for (int i = 0; i < BLOCK; i++)
            sums[done + i] += done + i < n ? weight * (double)f2[done + i] : 0;
    for (; done < n; done++) sums[done] += weight * (double)f2[done];
}

/* Looks at n samples from sample `first` on, and adds each that lies in the span t to the
 * sum of its pixel. */
static inline void add_samples(double weight, const real *restrict f2, int over, int first,
                               int n, const struct painted_span *t, double *restrict sums)
{
    const int begin = t->first * over - first, end = min_int(n, t->end * over - first);

    for (int i = begin > 0 ? begin : 0; i < end; i++)
        sums[(first + i) / over - t->first] += weight * (double)f2[i];
}

/* Adds the F^2 of n samples of row s, from sample `first` on, to the sums of their
 * pixels. */
static void add_to_row(const struct splat_layer *splat_layer, int s, int first, int n,
                       double weight, const real *restrict f2, struct painted_span *t)
{
    const int over = splat_layer->frame->oversample;
    const int end = pixel_of(over, first + n - 1) + 1;

    for (int f = pixel_of(over, first); next_span(splat_layer, s, f, end, t); f = t->end) {
        double *sums = splat_layer->bragg + t->place;

        if (over == 1)
            add_row(weight, f2 + (t->first - first), t->end - t->first, t->room, sums);
        else
            add_samples(weight, f2, over, first, n, t, sums);
    }
}

/* Adds the F^2 of the samples of a list to the Bragg sums of their pixels. */
static void add_to_pixels(const struct splat_layer *splat_layer, const struct rectangle *r,
                          const struct row_spans *spans, const struct piece_samples *at,
                          double weight, const real *restrict f2)
{
    const int over = splat_layer->frame->oversample, nfast = splat_layer->frame->nfast;
    const int plain =
        over == 1 && !splat_layer->packed && !window_hides(splat_layer->window);
    struct painted_span t = {.span = NULL};

    for (int row = at->begin; row < at->end; row++) {
        const int n = spans->n[row], first = r->fast + spans->first[row];

        if (n == 0) continue;
        if (plain)
            add_row(weight, f2, n, nfast - first,
                    splat_layer->bragg
                        + window_pixel(splat_layer->window, r->slow + row, first));
        else
            add_to_row(splat_layer, pixel_of(over, r->slow + row), first, n, weight, f2,
                       &t);
        f2 += n;
    }
}

/* A list of samples of piece i, and their F^2. */
struct listed {
    int i;
    struct piece_samples at;
    _Alignas(64) real f2[PLACES + BLOCK];
};

/* Computes F^2 of the samples of a list. */
struct painter;
typedef void intensities(const struct painter *painter, const struct pieces *pieces,
                         struct listed *list);

/* The numbers that all pieces of a pair share. */
struct painter {
    const struct splat_layer *splat_layer;
    const struct pair *pair;
    struct form form;
    struct phys_crystal crystal;
    struct sample_factors factors;
    int weighed; /* 1: samples have factors of their own */
    intensities *f2;
};

static struct painter painter_of(struct phys_spec spec,
                                 const struct splat_layer *splat_layer,
                                 const struct pair *pair, intensities *f2)
{
    const struct phys_frame *frame = splat_layer->frame;
    struct painter p;

    p.splat_layer = splat_layer;
    p.pair = pair;
    p.form = form_of(splat_layer, pair);
    /* F^2 of a gaussian spot is proportional to exp(-2 fudge rho^2 / 0.63) */
    if (spec.shape == PHYS_GAUSS && p.form.narrow)
        p.form.per_halving = 0.315 * M_LN2 / frame->fudge;
    p.crystal = phys_crystal(frame);
    p.crystal.peak = 1; /* phys_constant_factor() contains the peak */
    p.factors = sample_factors_of(frame);
    p.weighed = phys_differs_by_source(frame) || phys_differs_by_sample(frame);
    if (p.weighed) p.factors.detector = phys_detector(frame);
    p.f2 = f2;
    return p;
}

/* Computes F^2 of the samples of a list from w (struct form). */
PHYS_FN void intensities_from_w(int shape, const struct painter *painter,
                                const struct pieces *pieces, struct listed *list)
{
    const struct piece_w w = piece_w_of(&painter->form, pieces, list->i);
    const real fudge = painter->crystal.fudge;

    if (pieces->small[list->i] != 0)
        narrow_intensities(1, shape, fudge, &w, &list->at, list->f2);
    else
        narrow_intensities(0, shape, fudge, &w, &list->at, list->f2);
}

/* Computes F^2 of the samples of a list from their indices. */
PHYS_FN void intensities_from_indices(struct phys_spec spec, const struct painter *painter,
                                      const struct pieces *pieces, struct listed *list)
{
    const int i = list->i;
    const struct spot s = spot_of(painter->splat_layer, painter->pair, pieces, i);
    real cell[PLACES + BLOCK];

    if (spec.lookup == PHYS_TRICUBIC) {
        const struct phys_vec3 whole =
            phys_vec3((real)pieces->h[i], (real)pieces->k[i], (real)pieces->l[i]);
        const struct phys_box box =
            phys_box_from(0, phys_box(painter->splat_layer->frame), whole);

        interpolate(spec, &box, &s, &list->at, cell);
    }
    lattice_intensities(spec, &painter->crystal, &s, &list->at, cell, list->f2);
}

PHYS_FN void intensities_of(struct phys_spec spec, const struct painter *painter,
                            const struct pieces *pieces, struct listed *list)
{
    if (spec.shape != PHYS_SQUARE && spec.lookup != PHYS_TRICUBIC && painter->form.narrow)
        intensities_from_w(spec.shape, painter, pieces, list);
    else
        intensities_from_indices(spec, painter, pieces, list);
}

/* Defines the only loop over samples that depends on the variant. */
#define VARIANT(shape, lookup)                                                             \
    static void shape##_##lookup##_intensities(const struct painter *painter,              \
                                               const struct pieces *pieces,                \
                                               struct listed *list)                        \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
                                                                                           \
        intensities_of(spec, painter, pieces, list);                                       \
    }
#include "kernels/variants.def"
#undef VARIANT

/* Multiplies F^2 of the samples of a list by the factors of each sample. */
static void weigh_samples(const struct painter *painter, const struct pieces *pieces,
                          struct listed *list)
{
    const struct pair *pair = painter->pair;
    const struct spot s = spot_of(painter->splat_layer, pair, pieces, list->i);
    struct sample_factors factors = painter->factors;

    factors.square =
        phys_patch_square(&s.patch, pair->source, painter->splat_layer->frame->dmin);
    apply_factors(painter->splat_layer, pair->source, &s, &factors, &list->at, list->f2);
}

/* Computes the samples of n lists and adds them to their pixels. Each step runs over all
 * lists before the next step begins, so that its loads need not wait for the stores of the
 * previous step. */
static void paint(const struct painter *painter, const struct pieces *pieces,
                  const struct row_spans *spans, int n, struct listed *lists)
{
    for (int j = 0; j < n; j++) painter->f2(painter, pieces, lists + j);
    for (int j = 0; painter->weighed && j < n; j++)
        weigh_samples(painter, pieces, lists + j);
    for (int j = 0; j < n; j++) {
        const int i = lists[j].i;
        const struct rectangle r = rectangle_of(pieces, i);
        const double f = pieces->f[i];

        add_to_pixels(painter->splat_layer, &r, spans + i, &lists[j].at,
                      painter->pair->weight * f * f, lists[j].f2);
    }
}

/* Adds the contribution of all pieces to the Bragg sums. */
static void splat_pieces(const struct painter *painter, const struct pieces *pieces)
{
    enum { LISTS = 8 };
    struct row_spans spans[BATCH];
    struct listed lists[LISTS];
    int n = 0;

    for (int i = 0; i < pieces->n; i++)
        find_row_spans(painter->splat_layer, pieces, i, spans + i);
    for (int i = 0; i < pieces->n; i++)
        for (int row = 0; row < spans[i].rows;) {
            struct listed *list = lists + n;

            list->i = i;
            row = list_places(pieces, i, row, spans + i, &list->at);
            n += list->at.n > 0;
            if (n < LISTS) continue;
            paint(painter, pieces, spans, n, lists);
            n = 0;
        }
    paint(painter, pieces, spans, n, lists);
}

static void splat_list(struct phys_spec spec, intensities *f2,
                       const struct splat_layer *splat_layer, const struct pair *pair,
                       const struct reflections *list, const int *hits, int n)
{
    const struct painter painter = painter_of(spec, splat_layer, pair, f2);
    struct walk walk;
    struct pieces pieces;

    start_walk(splat_layer, pair, list, hits, n, spec.lookup, &walk);
    while (collect_pieces(&walk, &pieces)) {
        place_pieces(&painter.form, &pieces);
        splat_pieces(&painter, &pieces);
    }
}

static int outline(const struct splat_layer *splat_layer, const struct pair *pair,
                   const struct reflections *list, const int *hits, int n,
                   struct outline out[SPLAT_PAD])
{
    struct located at;
    const int count = locate_batch(splat_layer, pair, list, hits, n, &at);
    int found = 0;

    for (int i = 0; i < count; i++)
        if (at.seen[i] != 0) found += find_outline(splat_layer, &at, i, out + found);
    return found;
}

/* Defines the kernels of splat_kernels.spots. */
#define VARIANT(shape, lookup)                                                             \
    static void shape##_##lookup(const struct splat_layer *splat_layer,                    \
                                 const struct pair *pair, const struct reflections *list,  \
                                 const int *hits, int n)                                   \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
                                                                                           \
        splat_list(spec, shape##_##lookup##_intensities, splat_layer, pair, list, hits,    \
                   n);                                                                     \
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
