/*
 * lanes_vjp.c - the adjoint of lanes.c: the same loops over the lanes of a tile, which
 * propagate the cotangent of each lane's photons (photons_bar) back to the frame.
 * For each pair of source and orientation, every lane has the derivatives of its F^2 by h,
 * k, l. Summed over orientations and multiplied by the axes, they are the cotangent of the
 * lane's direction. Summed over lanes and multiplied by the scattering vector, they are the
 * cotangent of the orientation's axes. Only such sums are passed from one sample to the
 * next if photons_bar is known. If it depends on the photons, the derivatives of all pairs
 * are saved until the photons are known.
 *
 * SPDX-License-Identifier: MIT
 */
#include <assert.h>

#include "kernels/derivatives/gram.h"
#include "kernels/kernels.h"
#include "kernels/lanes/lane_amorphous.h"
#include "kernels/lanes/lane_loss.h"
#include "kernels/lanes/lane_pair.h"
#include "kernels/lanes/lane_pixels.h"
#include "kernels/spots/reach.h"

/* The saved derivatives of one sub-pixel under one source. Either all its pairs are saved,
 * or none: then `slope` is NULL, and only the current pair's derivatives exist. */
struct kept {
    /* sum of F^2 over the orientations, and its derivatives by the crystal's numbers */
    real *source; /* (KEPT_OF_SOURCE x TILE_PIXELS) */
    /* F^2 of each pair, its derivatives by h, k, l and, if of_pair is larger, F^2/F */
    real *slope; /* (norientation x of_pair x TILE_PIXELS); NULL: not saved */
    int of_pair; /* numbers saved for a pair in one lane */
};

static struct kept kept_of(const struct phys_frame *frame, int with_f, void *workspace,
                           int place)
{
    struct kept k = {NULL, NULL, KEPT_OF_PAIR + (with_f != 0)};

    if (!workspace) return k;
    k.source = (real *)workspace
               + (size_t)place * (size_t)(KEPT_OF_SOURCE + k.of_pair * frame->norientation)
                     * TILE_PIXELS;
    k.slope = k.source + (size_t)KEPT_OF_SOURCE * TILE_PIXELS;
    return k;
}

/* The state of a tile, in the thread's scratch memory, because a stack may be small. */
struct scratch {
    struct lanes l;
    struct cotangent p;
    struct rows r; /* used by a Jacobian */
    struct cells cells;
    struct cell_sums cell_sums;
};
_Static_assert(sizeof(struct scratch) <= TILE_SCRATCH_BRAGG, "scratch memory of a tile");

/* The two functions that are compiled per crystal shape; nothing else in the adjoint is.
 * pair_sites computes the sites of the lanes in orientation k. pair_slopes computes the
 * derivatives of the pair and adds F^2 to l->sum. */
typedef struct phys_anchor pair_sites(const struct launch *a, const struct aim *aim, int k,
                                      const struct lanes *l, struct sites *sites);
typedef void pair_slopes(const struct launch *a, int k, const struct sites *sites,
                         struct lanes *l, struct cotangent *p);

/* A variant of the kernel and its specialised functions. */
struct special {
    struct phys_spec spec;
    pair_sites *sites;
    pair_slopes *slopes;
};

/* Selects the arrays for the derivatives by the crystal's numbers: saved or local ones. */
static void use_source(const struct kept *kept, struct cotangent *p)
{
    for (int k = 0; k < FRAME_CRYSTAL; k++)
        p->crystal[k] = kept->source ? kept->source + (size_t)(1 + k) * TILE_PIXELS
                                     : (real *)p->own_crystal[k];
}

/* Selects the arrays of orientation k: saved or local ones. */
static void use_pair(const struct kept *kept, int k, struct cotangent *p)
{
    real *pair = kept->slope ? kept->slope + (size_t)k * (size_t)kept->of_pair * TILE_PIXELS
                             : (real *)p->pair;

    p->f2 = pair;
    p->gh = pair + TILE_PIXELS;
    p->gk = pair + (size_t)2 * TILE_PIXELS;
    p->gl = pair + (size_t)3 * TILE_PIXELS;
    p->per_f = kept->of_pair > KEPT_OF_PAIR ? pair + (size_t)4 * TILE_PIXELS : p->pair[4];
}

/* Does the forward pass under one source: computes sums of F^2 and saves derivatives. */
static void slopes_of_source(const struct special *special, const struct launch *a,
                             int index, const struct kept *kept, struct lanes *l,
                             struct cotangent *p)
{
    const struct phys_frame *frame = a->frame;
    const struct aim aim = aim_of(frame, frame->source + index, l);
    struct sites sites;

    use_source(kept, p);
    lane_fill(l->n, l->sum, 0);
    blank_crystal(special->spec, l->n, p);
    for (int k = 0; k < frame->norientation; k++) {
        if (!reach_reaches(a->reach, a->tile, index, k)) continue;
        use_pair(kept, k, p);
        (void)special->sites(a, &aim, k, l, &sites);
        special->slopes(a, k, &sites, l, p);
    }
    memcpy(kept->source, l->sum, sizeof(lane));
    lane_add_weighted(l->n, l->share, l->sum, l->bragg);
}

/* Propagates the cotangents under one source. Unless the slopes were saved, it also adds
 * the F^2 of the source to the Bragg sums. */
PHYS_FN void pairs_of_source(const struct special *special, const struct launch *a,
                             int index, const struct kept *kept, struct lanes *l,
                             struct cotangent *p, const struct accumulator *to)
{
    const struct phys_frame *frame = a->frame;
    const struct aim aim = aim_of(frame, frame->source + index, l);
    const int with_f = lane_counts_f(to);
    struct sites sites;

    use_source(kept, p);
    lane_multiply_to(l->n, p->objective, l->share, p->w);
    start_pairs(to, l, p);
    if (!kept->slope) {
        lane_fill(l->n, l->sum, 0);
        blank_crystal(special->spec, l->n, p);
    }
    for (int k = 0; k < frame->norientation; k++) {
        struct phys_anchor anchor;

        if (!reach_reaches(a->reach, a->tile, index, k)) continue;
        use_pair(kept, k, p);
        if (kept->slope && !(with_f && special->spec.lookup == PHYS_NEAREST)) {
            anchor = phys_anchor_at(frame->orientation[k].axes, aim.q,
                                    aim.source->inverse_wavelength);
            if (with_f) cells_of(special->spec, a, &aim, &anchor, l, &sites);
        } else
            anchor = special->sites(a, &aim, k, l, &sites);
        if (!kept->slope) special->slopes(a, k, &sites, l, p);
        if (with_f) lane_add_f(special->spec, a, k, &anchor, &sites, l, p, to);
        pair_back(frame, &aim, k, &anchor, l, p, to);
    }
    if (kept->slope)
        memcpy(l->sum, kept->source, sizeof(lane));
    else
        lane_add_weighted(l->n, l->share, l->sum, l->bragg);
    close_pairs(to, l, p);
    close_source(special->spec, a, index, l, p, to);
}

/* Computes the sums and factors of all lanes and saves the derivatives. */
static void forward_keeping(const struct special *special, const struct launch *a,
                            int with_f, void *workspace, struct lanes *l,
                            struct cotangent *p)
{
    const struct phys_frame *frame = a->frame;
    const int subs = frame->oversample * frame->oversample;
    _Alignas(64) lane capture = {0};
    int place = 0;

    assert(workspace);
    lane_clear_sums(a, l);
    for (int layer = 0; layer < frame->nlayers; layer++) {
        place_patch(a, phys_layer_depth(a->frame, layer), l);
        for (int sub = 0; sub < subs; sub++) {
            lane_place_samples(a, sub, phys_layer_depth(a->frame, layer), l);
            lane_sample_factors(a, layer, sub, l, capture);
            for (int i = 0; i < frame->nsource; i++, place++) {
                const struct kept kept = kept_of(frame, with_f, workspace, place);

                lane_source_share(a, frame->source + i, l);
                slopes_of_source(special, a, i, &kept, l, p);
            }
        }
    }
}

/* Runs the loops of lanes.c again, and after each step propagates the cotangents back
 * through this step. For rows of the Jacobian this is the first pass: every pixel has
 * photons_bar = 1, so no forward pass is needed, and the factors of the samples are
 * computed here. The function returns early if the columns of structure factors are
 * full. */
PHYS_FN void backward(const struct special *special, const struct launch *a,
                      void *workspace, struct lanes *l, struct cotangent *p,
                      const struct accumulator *to)
{
    const struct phys_frame *frame = a->frame;
    const int subs = frame->oversample * frame->oversample, with_f = lane_counts_f(to);
    _Alignas(64) lane capture = {0};
    int place = 0;

    for (int layer = 0; layer < frame->nlayers; layer++) {
        place_patch(a, phys_layer_depth(a->frame, layer), l);
        lane_fill(l->n, p->capture_bar, 0);
        start_places(to);
        for (int sub = 0; sub < subs; sub++) {
            lane_place_samples(a, sub, phys_layer_depth(a->frame, layer), l);
            if (to->rows)
                lane_sample_factors(a, layer, sub, l, capture);
            else
                lane_sample_weights(a, layer, sub, l, capture);
            start_sample(l->n, p);
            for (int i = 0; i < frame->nsource; i++, place++) {
                const struct kept kept = kept_of(frame, with_f, workspace, place);

                if (to->rows) lane_source_share(a, frame->source + i, l);
                lane_source_weights(a, i, l, p);
                pairs_of_source(special, a, i, &kept, l, p, to);
                if (to->rows && to->rows->columns && to->rows->columns->full) return;
            }
            close_sample(a, layer, l, p, to);
        }
        close_layer(a, layer, l, p, to);
    }
}

/* Computes the factors of each pixel, without the Bragg sums. */
static void factors_alone(const struct launch *a, struct lanes *l)
{
    const struct phys_frame *frame = a->frame;
    const int all = needs_all_samples(frame);
    const int subs = all ? frame->oversample * frame->oversample : 1;
    _Alignas(64) lane capture = {0};

    lane_clear_sums(a, l);
    for (int layer = 0; layer < (all ? frame->nlayers : 1); layer++) {
        place_patch(a, phys_layer_depth(a->frame, layer), l);
        for (int sub = 0; sub < subs; sub++) {
            lane_place_samples(a, sub, phys_layer_depth(a->frame, layer), l);
            lane_sample_factors(a, layer, sub, l, capture);
            for (int i = 0; all && i < frame->nsource; i++)
                lane_source_share(a, frame->source + i, l);
        }
    }
}

/* Adds the numbers of a tile's cotangent to the numbers of a chunk's cotangent. */
static void add_numbers(struct phys_frame_tangent *from, struct phys_frame_tangent *to)
{
    const double *term = phys_numbers(from);
    double *sum = phys_numbers(to);

    for (int i = 0; i < PHYS_NUMBERS; i++) sum[i] += term[i];
}

/* Returns a launch that skips the pairs of source and orientation that do not reach the
 * tile. */
static struct launch launch_in_reach(const struct job *job, const struct tile *tile,
                                     struct cells *cells)
{
    struct launch a = launch_of(job->frame, tile);

    cell_table_clear(&cells->table);
    a.cells = cells;
    a.reach = job->reach;
    return a;
}

/* Adds the photons of the amorphous material to the photons of a tile. */
static void amorphous_photons(const struct job *job, const struct tile *tile,
                              double *photons)
{
    const struct launch a = launch_of(job->frame, tile);
    struct lanes l;

    if (job->frame->amorphous_scale == 0) return;
    take_tile(&a, &l);
    lane_fill(l.n, l.centre, 0);
    amorphous_at_centre(&a, &l);
    for (int i = 0; i < l.n; i++) photons[i] += (double)l.centre[i];
}

/* Returns 1 if no pair of source and orientation reaches the tile. Then all photons come
 * from the amorphous material, and this function computes them. */
static int is_amorphous(const struct job *job, const struct tile *tile, double *photons)
{
    if (!reach_is_empty(job->reach, tile)) return 0;
    memset(photons, 0, (size_t)tile->width * (size_t)tile->height * sizeof *photons);
    amorphous_photons(job, tile, photons);
    return 1;
}

static double objective_back(const struct special *special, const struct job *job,
                             const struct tile *tile, const struct objective *objective,
                             void *workspace, struct phys_frame_tangent *bar,
                             double *photons)
{
    const struct phys_spec spec = special->spec;
    struct scratch *const scratch = job->scratch;
    const struct launch a = launch_in_reach(job, tile, &scratch->cells);
    const double factor = phys_constant_factor(spec, job->frame);
    struct phys_frame_tangent tile_bar = {0};
    const struct accumulator to = {&tile_bar, NULL};
    struct lanes *const l = &scratch->l;
    struct cotangent *const p = &scratch->p;
    double value;

    cell_sums_clear(&scratch->cell_sums);
    p->cell_sums = &scratch->cell_sums;
    tile_bar.source = bar->source;
    tile_bar.rotation = bar->rotation;
    tile_bar.f = bar->f;
    tile_bar.touched = bar->touched;
    if (is_amorphous(job, tile, photons)) {
        value = objective_tile(objective, job, tile, photons, p->photons_bar, NULL);
        AMORPHOUS.vjp(job, tile, p->photons_bar, &tile_bar);
        add_numbers(&tile_bar, bar);
        return objective->linear ? MOMENTS.product(a.shown.n, p->photons_bar, photons)
                                 : value;
    }
    if (objective->linear) {
        workspace = NULL;
        factors_alone(&a, l);
    } else {
        forward_keeping(special, &a, bar->f != NULL, workspace, l, p);
    }
    finish(&a, factor, l, photons);
    value = objective_tile(objective, job, tile, photons, p->photons_bar, NULL);
    if (lane_scale_cotangents(&a, factor, l, p) || objective->linear) {
        backward(special, &a, workspace, l, p, &to);
        cell_sums_give(&a.view.box, 2 * p->scale, &scratch->cell_sums, bar->f);
        if (objective->linear) finish(&a, factor, l, photons);
        factors_back(&a, factor, l, p, &to);
    }
    scales_back(spec, a.frame, factor, l, p, &to); /* needed even if all photons are 0 */
    AMORPHOUS.vjp(job, tile, p->photons_bar, &tile_bar);
    add_numbers(&tile_bar, bar);
    return objective->linear ? MOMENTS.product(l->n, p->photons_bar, photons) : value;
}

/* ---- rows of the Jacobian ---- */

static void find_jacobian(const struct special *special, const struct job *job,
                          const struct tile *tile, const struct tangents *along,
                          void *workspace, struct columns *columns, double *photons,
                          double *change)
{
    struct scratch *const scratch = job->scratch;
    const struct launch a = launch_in_reach(job, tile, &scratch->cells);
    const double factor = phys_constant_factor(special->spec, job->frame);
    struct lanes *const l = &scratch->l;
    struct cotangent *const p = &scratch->p;
    struct rows *const r = &scratch->r;
    const struct accumulator to = {NULL, r};

    start_jacobian(along, workspace, columns, change, r);
    if (is_amorphous(job, tile, photons)) {
        AMORPHOUS.jacobian(job, tile, along, change);
        return;
    }
    lane_clear_sums(&a, l);
    lane_fill(l->n, p->objective, 1);
    backward(special, &a, NULL, l, p, &to);
    if (columns && columns->full) return;
    finish(&a, factor, l, photons);
    factors_jacobian(&a, factor, l, p, &to);
    scales_back(special->spec, a.frame, factor, l, p, &to);
    close_jacobian(l, r);
    AMORPHOUS.jacobian(job, tile, along, change);
}

/* ---- tiles whose Bragg sums kernels/spots has computed ---- */

/* Writes the cotangents of the Bragg sums. */
static void find_weights(const struct launch *a, double factor, const struct lanes *l,
                         const double *photons_bar, double *weight)
{
#pragma omp simd
    for (int i = 0; i < l->n; i++) weight[i] = bragg_bar(a, factor, l, i, photons_bar[i]);
}

static void weigh_tile(const struct job *job, const struct tile *tile, double factor,
                       const struct objective *objective, double *weight)
{
    const struct launch a = launch_of(job->frame, tile);
    double bar[TILE_PIXELS];
    struct lanes l;

    factors_alone(&a, &l);
    (void)objective_tile(objective, job, tile, NULL, bar, NULL);
    find_weights(&a, factor, &l, bar, weight);
}

static double close_tile(const struct job *job, const struct tile *tile, double factor,
                         const struct objective *objective, const double *sums,
                         struct phys_frame_tangent *bar, double *weight, double *photons)
{
    const struct launch a = launch_of(job->frame, tile);
    const struct accumulator to = {bar, NULL};
    struct scratch *const scratch = job->scratch;
    struct lanes *const l = &scratch->l;
    struct cotangent *const p = &scratch->p;
    double value;

    if (phys_pixels_are_simple(job->frame))
        return CLOSE_PIXELS(job, tile, factor, objective, sums, bar, weight, photons);
    factors_alone(&a, l);
    memcpy(l->bragg, sums, sizeof *sums * (size_t)a.shown.n);
    finish(&a, factor, l, photons);
    value = objective_tile(objective, job, tile, photons, p->photons_bar, NULL);
    if (weight) find_weights(&a, factor, l, p->photons_bar, weight);
    if (lane_scale_cotangents(&a, factor, l, p)) factors_back(&a, factor, l, p, &to);
    scales_back(job->spec, a.frame, factor, l, p, &to);
    AMORPHOUS.vjp(job, tile, p->photons_bar, bar);
    return objective->linear ? MOMENTS.product(l->n, p->photons_bar, photons) : value;
}

static void amorphous_rows(const struct job *job, const struct tile *tile,
                           const struct tangents *along, double *photons, double *change)
{
    amorphous_photons(job, tile, photons);
    AMORPHOUS.jacobian(job, tile, along, change);
}

#define VARIANT(shape, lookup)                                                             \
    static struct phys_anchor shape##_##lookup##_sites(const struct launch *a,             \
                                                       const struct aim *aim, int k,       \
                                                       const struct lanes *l,              \
                                                       struct sites *sites)                \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
                                                                                           \
        return sites_of(spec, 1, a, aim, k, l, sites);                                     \
    }                                                                                      \
    static void shape##_##lookup##_slopes(const struct launch *a, int k,                   \
                                          const struct sites *sites, struct lanes *l,      \
                                          struct cotangent *p)                             \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
                                                                                           \
        slopes_of(spec, &a->view, l->n, (real)a->frame->orientation[k].weight, sites,      \
                  l->sum, p);                                                              \
    }                                                                                      \
    static double shape##_##lookup##_vjp(const struct job *job, const struct tile *tile,   \
                                         const struct objective *objective,                \
                                         void *workspace, struct phys_frame_tangent *bar,  \
                                         double *photons)                                  \
    {                                                                                      \
        const struct special special = {{PHYS_##shape, PHYS_##lookup, 0, 0},               \
                                        shape##_##lookup##_sites,                          \
                                        shape##_##lookup##_slopes};                        \
                                                                                           \
        return objective_back(&special, job, tile, objective, workspace, bar, photons);    \
    }                                                                                      \
    static void shape##_##lookup##_rows(const struct job *job, const struct tile *tile,    \
                                        const struct tangents *along, void *workspace,     \
                                        struct columns *columns, double *photons,          \
                                        double *change)                                    \
    {                                                                                      \
        const struct special special = {{PHYS_##shape, PHYS_##lookup, 0, 0},               \
                                        shape##_##lookup##_sites,                          \
                                        shape##_##lookup##_slopes};                        \
                                                                                           \
        find_jacobian(&special, job, tile, along, workspace, columns, photons, change);    \
    }
#include "kernels/variants.def"
#undef VARIANT

static double product(int n, const double *a, const double *b)
{
    return MOMENTS.product(n, a, b);
}

#ifndef PHYS_SINGLE
const struct amorphous_lanes AMORPHOUS = {amorphous_vjp, amorphous_jacobian};
#endif

extern const struct adjoint_kernels KERNELS;
const struct adjoint_kernels KERNELS = {
    sizeof(real),
    {
#define VARIANT(shape, lookup) [PHYS_##shape][PHYS_##lookup] = shape##_##lookup##_vjp,
#include "kernels/variants.def"
#undef VARIANT
    },
    weigh_tile,
    close_tile,
    {
#define VARIANT(shape, lookup) [PHYS_##shape][PHYS_##lookup] = shape##_##lookup##_rows,
#include "kernels/variants.def"
#undef VARIANT
    },
    SPOT_ROWS,
    CONTINUOUS_TILE,
    amorphous_rows,
    product,
    TILE_GRAM,
    LANE_LOSS,
};
