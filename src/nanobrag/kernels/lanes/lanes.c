/*
 * lanes.c - the sum of physics/pixel.h with its loops turned inside out. The pixels of a
 * tile are the lanes of the innermost loop. This loop has no branch and no call, and reads
 * and writes only a few arrays, so that compilers vectorise it without intrinsics. The file
 * is compiled for each instruction set, in double and in float.
 *
 * Directions and Miller indices are stored as differences from the tile's middle, which is
 * computed in double (physics/tile/patch.h, anchor.h). So float rounds only the changes
 * across a tile. Sums over more than CHUNK orientations are in double in both precisions.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/kernels.h"
#include "kernels/lanes/lane_simple.h"
#include "kernels/variants.h"

/* How many orientations are summed in `real`; the result is then added to a sum in
 * double. */
enum { CHUNK = 64 };

/* Adds weight F^2 to sum[i]. This loop is apart from the loop of find_sites(): in one loop
 * the chain of dependent operations would be so long that too few iterations overlap. */
PHYS_FN void add_samples(struct phys_spec spec, const struct phys_view *view, int n,
                         real weight, const struct sites *restrict in, real *restrict sum)
{
    struct phys_crystal crystal = view->crystal;

    crystal.peak = 1; /* the peak is in phys_constant_factor() */
#pragma omp simd
    for (int i = 0; i < n; i++) {
        struct phys_site site;
        real f;

        site.d = phys_vec3(in->h[i], in->k[i], in->l[i]);
        site.cell.f = spec.lookup == PHYS_CONSTANT ? 1 : in->cell.f[i];
        f = site.cell.f * phys_lattice(spec, &crystal, site.d).f;
        sum[i] += weight * f * f; /* a weight of 1 changes no bit of a fused sum */
    }
}

/* The two loops over the lanes in an orientation, specialised for a crystal shape and a
 * look-up. They are functions that are not inlined: how a compiler contracts products and
 * sums may depend on the code around them, and all kernels of a variant must produce the
 * same bits. */
struct loops {
    void (*sites)(const struct launch *a, const struct aim *aim, int k,
                  const struct lanes *l, struct sites *out);
    void (*samples)(const struct phys_view *view, int n, real weight,
                    const struct sites *in, real *sum);
};

#define VARIANT(shape, lookup)                                                             \
    static __attribute__((noinline)) void shape##_##lookup##_sites(const struct launch *a, \
                                                                   const struct aim *aim,  \
                                                                   int k,                  \
                                                                   const struct lanes *l,  \
                                                                   struct sites *out)      \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
                                                                                           \
        (void)sites_of(spec, 0, a, aim, k, l, out);                                        \
    }                                                                                      \
    static __attribute__((                                                                 \
        noinline)) void shape##_##lookup##_samples(const struct phys_view *view, int n,    \
                                                   real weight, const struct sites *in,    \
                                                   real *sum)                              \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
                                                                                           \
        add_samples(spec, view, n, weight, in, sum);                                       \
    }
#include "kernels/variants.def"
#undef VARIANT

/* Adds the Bragg sums of all orientations under one source. */
PHYS_FN void add_bragg(const struct loops *loops, const struct launch *a,
                       const struct phys_source *source, struct lanes *l)
{
    const struct phys_frame *frame = a->frame;
    const struct aim aim = aim_of(frame, source, l);
    struct sites sites;

    for (int first = 0; first < frame->norientation; first += CHUNK) {
        const int left = frame->norientation - first, n = left < CHUNK ? left : CHUNK;

        lane_fill(l->n, l->sum, 0);
        for (int k = first; k < first + n; k++) {
            loops->sites(a, &aim, k, l, &sites);
            loops->samples(&a->view, l->n, (real)frame->orientation[k].weight, &sites,
                           l->sum);
        }
        lane_add_weighted(l->n, l->share, l->sum, l->bragg);
    }
}

/* Adds everything that one source contributes to a sub-pixel. */
PHYS_FN void add_source(const struct loops *loops, const struct launch *a,
                        const struct phys_source *source, struct lanes *l)
{
    lane_source_share(a, source, l);
    if (a->frame->amorphous_in_samples) add_amorphous(a, source, l);
    add_bragg(loops, a, source, l);
}

/* Returns 1 when there is one orientation of weight 1 and no factor differs between
 * samples. */
static int is_single_orientation(const struct launch *a)
{
    return a->frame->norientation == 1 && a->frame->orientation[0].weight == 1
           && !a->weighted && !a->per_source && !a->frame->amorphous_in_samples;
}

/* Does the work of add_source() if all lanes have the weight of the source, so that
 * l->share is not needed. l->sum is 0 on entry and on return. */
PHYS_FN void add_single_orientation(const struct loops *loops, const struct launch *a,
                                    const struct phys_source *source, struct lanes *l)
{
    const struct aim aim = aim_of(a->frame, source, l);
    const real share = (real)source->weight;
    struct sites sites;

    loops->sites(a, &aim, 0, l, &sites);
    loops->samples(&a->view, l->n, 1, &sites, l->sum);
#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        l->bragg[i] += (double)(share * l->sum[i]);
        l->sum[i] = 0;
    }
}

/* Counts the samples of one source in one sub-pixel of every lane, and reports if there are
 * enough. Returns 1 if the tile shall be given up. */
static int count_source(struct progress *progress, const struct launch *a, double samples,
                        const struct lanes *l, double *since, double *sources)
{
    ++*sources;
    *since += (double)l->n * a->frame->norientation;
    if (*since < EVALUATIONS_PER_REPORT) return 0;
    *since = 0;
    return progress_within(progress, *sources / (samples * a->frame->nsource));
}

/* Computes the photons of a tile. */
PHYS_FN void run(struct phys_spec spec, const struct loops *loops,
                 struct progress *progress, const struct phys_frame *frame,
                 const struct tile *tile, double *photons)
{
    struct cells cells;
    struct launch a = launch_of(frame, tile);
    const int single_orientation = spec.single_orientation && is_single_orientation(&a);
    const int subs = frame->oversample * frame->oversample;
    struct lanes l;
    _Alignas(64) lane capture;
    const double samples = (double)subs * frame->nlayers;
    double since = 0, sources = 0;

    a.cells = &cells;
    if (spec.lookup == PHYS_TRICUBIC) cell_table_clear(&cells.table);
    lane_clear_sums(&a, &l);
    if (single_orientation) lane_fill(l.n, l.sum, 0);
    for (int layer = 0; layer < frame->nlayers; layer++) {
        place_patch(&a, phys_layer_depth(a.frame, layer), &l);
        for (int sub = 0; sub < subs; sub++) {
            lane_place_samples(&a, sub, phys_layer_depth(a.frame, layer), &l);
            lane_sample_factors(&a, layer, sub, &l, capture);
            for (int i = 0; i < frame->nsource; i++) {
                const struct phys_source *source = frame->source + i;

                if (single_orientation)
                    add_single_orientation(loops, &a, source, &l);
                else
                    add_source(loops, &a, source, &l);
                if (count_source(progress, &a, samples, &l, &since, &sources)) return;
            }
        }
    }
    finish(&a, phys_constant_factor(spec, frame), &l, photons);
}

/* Finishes the pixels of a tile whose sum is not 0. The photons must depend only on the sum
 * and the first sample. The pixels are listed as if no other pixel of the tile were
 * rendered. */
static void finish_lit(const struct phys_frame *frame, const struct tile *tile,
                       double factor, double *photons)
{
    const struct launch a = launch_of(frame, tile);
    struct shown_pixels lit = {0};
    int place[TILE_PIXELS] = {0}; /* place of each lit pixel among the rendered ones */
    double sums[TILE_PIXELS];
    struct lanes l;
    _Alignas(64) lane capture;

    for (int i = 0; i < a.shown.n; i++) {
        lit.pixel[lit.n] = a.shown.pixel[i];
        place[lit.n] = i;
        lit.n += photons[i] != 0;
    }
    for (lit.lanes = lit.n; lit.lanes % LISTING_STRIDE; lit.lanes++) {
        lit.pixel[lit.lanes] = lit.pixel[0];
        place[lit.lanes] = place[0];
    }
    take_listed(&a, &lit, &l);
    lane_fill(l.n, l.centre, 0);
    lane_fill_wide(l.n, l.amorphous, 0);
    lane_fill(l.n, l.omega, 1);
    lane_fill(l.n, l.capture, 1);
    for (int i = 0; i < l.n; i++) l.bragg[i] = photons[place[i]];
    place_patch(&a, phys_layer_depth(a.frame, 0), &l);
    lane_place_samples(&a, 0, 0, &l);
    lane_sample_factors(&a, 0, 0, &l, capture);
    finish(&a, factor, &l, sums);
    for (int i = 0; i < lit.n; i++) photons[place[i]] = sums[i];
}

/* Finishes the pixels of a tile if phys_pixels_are_simple(). */
static void finish_simple(const struct phys_frame *frame, const struct tile *tile,
                          double factor, double *restrict photons)
{
    const struct launch a = launch_of(frame, tile);
    const double bragg = factor * frame->bragg_scale;
    const double amorphous = frame->amorphous_scale * amorphous_of_sources(frame);
    struct lanes l;
    _Alignas(64) lane first, centre;

    take_tile(&a, &l);
    place_patch(&a, phys_layer_depth(frame, 0), &l);
    lane_products(&a, 0, &l, first);
    if (frame->oversample > 1)
        lane_products(&a, -1, &l, centre);
    else
        memcpy(centre, first, sizeof *centre * (size_t)l.n);
    for (int i = a.shown.n; i < l.n; i++) photons[i] = 0;
#pragma omp simd
    for (int i = 0; i < l.n; i++)
        photons[i] = bragg * photons[i] * (double)first[i] + amorphous * (double)centre[i];
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
    if (phys_pixels_are_simple(frame)) {
        finish_simple(frame, tile, factor, photons);
        return;
    }
    lane_clear_sums(&a, &l);
    memcpy(l.bragg, photons, sizeof *photons * (size_t)a.shown.n);
    for (int layer = 0; layer < (all ? frame->nlayers : 1); layer++) {
        place_patch(&a, phys_layer_depth(a.frame, layer), &l);
        for (int sub = 0; sub < (all ? frame->oversample * frame->oversample : 1); sub++) {
            lane_place_samples(&a, sub, phys_layer_depth(a.frame, layer), &l);
            lane_sample_factors(&a, layer, sub, &l, capture);
            for (int i = 0; all && i < frame->nsource; i++) {
                const struct phys_source *source = frame->source + i;

                lane_source_share(&a, source, &l);
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
    lane_fill_wide(l.n, omega, 0);
    for (int layer = 0; layer < layers; layer++) {
        place_patch(&a, phys_layer_depth(a.frame, layer), &l);
        for (int sub = 0; sub < subs; sub++) {
            lane_place_samples(&a, sub, phys_layer_depth(a.frame, layer), &l);
            lane_fill(l.n, l.omega, (real)1 / (real)(layers * subs));
            times_omega(&a, &l, l.omega);
            for (int i = 0; i < l.n; i++) omega[i] += (double)l.omega[i];
        }
    }
}

/* Defines the kernel of a variant; with single_orientation, the one for one orientation. */
#define KERNEL(name, shape, lookup, single_orientation)                                    \
    static void name(struct progress *progress, const struct phys_frame *frame,            \
                     const struct tile *tile, double *photons)                             \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0,                     \
                                       single_orientation};                                \
        const struct loops loops = {shape##_##lookup##_sites, shape##_##lookup##_samples}; \
                                                                                           \
        run(spec, &loops, progress, frame, tile, photons);                                 \
    }
#define VARIANT(shape, lookup)                                                             \
    KERNEL(shape##_##lookup, shape, lookup, 0)                                             \
    KERNEL(shape##_##lookup##_lone, shape, lookup, 1)
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
    {
#define VARIANT(shape, lookup) [PHYS_##shape][PHYS_##lookup] = shape##_##lookup##_lone,
#include "kernels/variants.def"
#undef VARIANT
    },
};
