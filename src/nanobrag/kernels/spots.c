/*
 * spots.c - see spots.h. The detector is cut into bands of rows. For each group of sources
 * and orientations the candidates near the Ewald sphere are listed once; then threads share
 * the bands, and each paints its own, pair by pair in the same order whatever their number.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/spots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ewald.h"
#include "kernels/grid.h"
#include "kernels/progress.h"
#include "kernels/rounding.h"
#include "physics/step.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* rows of pixels in a band; orientations in a group, and the largest turn among them or
 * among its sources; times that the radius is enlarged when the image turns out to be weak
 */
enum { BAND_ROWS = 64, GROUP = 256, MOST_TRIES = 12 };
static const double MOST_TURN = 0.02;

/* reflections looked at and samples finished below which a thread is not worth waking */
static const double LEAST_WORK = 2e4;

/* a list that takes a gigabyte */
static const size_t MOST_CANDIDATES = (size_t)1 << 25;

/* a cut at this share of a peak is none: the image holds no such numbers */
static const double LEAST_SHARE = 1e-300;

/* The first guess of what may be dropped from a spot when `tolerance` may be dropped from
 * the image: spots are spread over pairs and pixels, so its peak lies below theirs. */
static double first_share(double tolerance)
{
    return 1e-4 * tolerance;
}

double spots_share(const struct phys_frame *frame, struct phys_spec spec, double tolerance)
{
    const double radius = ewald_radius(frame, spec, first_share(tolerance));
    double stars[9];
    const double volume = ewald_stars(frame->orientation[0].axes, stars);

    return 4 * 3.14159265358979323846 / 3 * radius * radius * radius * volume;
}

int spots_fit(const struct phys_frame *frame, struct phys_spec spec, double tolerance)
{
    struct ewald e = ewald_of(frame, ewald_radius(frame, spec, first_share(tolerance)));
    size_t room = 0;

    (void)ewald_sources(&e, frame, 0, MOST_TURN);
    (void)ewald_orientations(&e, frame, 0, GROUP, MOST_TURN);
    for (double h = e.low[0]; h <= e.high[0] && room <= MOST_CANDIDATES; h++)
        room += ewald_room(&e, h);
    return room <= MOST_CANDIDATES;
}

double spots_rounding(const struct phys_frame *frame, struct phys_spec spec,
                      double tolerance)
{
    const struct rounding r = rounding_of(frame, spec);

    return rounding_spot(&r, ewald_radius(frame, spec, first_share(tolerance)));
}

double spots_rounding_double(const struct phys_frame *frame, struct phys_spec spec)
{
    const struct rounding r = rounding_of(frame, spec);

    return rounding_double(&r);
}

/* ---- memory ---- */

void spots_free(struct spots_work *work)
{
    free(work->candidates);
    free(work->lists);
    free(work->hits);
    free(work->layers);
    memset(work, 0, sizeof *work);
}

static size_t padded(size_t n)
{
    return (n + PAINT_PAD - 1) / PAINT_PAD * PAINT_PAD + PAINT_PAD;
}

/* room for so many candidates on each of so many threads */
static int grow(struct spots_work *work, size_t candidates, int threads)
{
    const size_t capacity = candidates + candidates / 4 + 1024;
    const size_t each = padded(capacity);

    if (candidates <= work->capacity && threads <= work->threads) return 1;
    free(work->candidates);
    free(work->lists);
    free(work->hits);
    work->candidates = malloc(capacity * sizeof *work->candidates);
    work->lists = calloc(each * 3 * (size_t)threads, sizeof *work->lists);
    work->hits = malloc(each * (size_t)threads * sizeof *work->hits);
    work->capacity = capacity;
    work->threads = threads;
    if (work->candidates && work->lists && work->hits) return 1;
    work->capacity = 0; /* what there is will be freed */
    return 0;
}

static int grow_layers(struct spots_work *work, int layers)
{
    if (layers <= work->nlayers) return 1;
    free(work->layers);
    work->nlayers = 0;
    work->layers = malloc((size_t)layers * sizeof *work->layers);
    if (work->layers) work->nlayers = layers;
    return work->layers != NULL;
}

/* ---- one band ---- */

/* what all bands of a group share */
struct group {
    const struct job *job;
    const struct painter *painter;
    struct spots_work *work;
    struct ewald ewald;
    int first, n; /* orientations */
    int first_source, nsource;
    int nlayers;
    size_t room; /* most candidates */
    double (*stars)[9]; /* of each orientation */
};

static int thread_number(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

/* the candidates that reach a band, in the thread's own arrays */
static struct reflections list_of(const struct group *g, const int rows[2], int thread)
{
    const size_t each = padded(g->work->capacity);
    float *h = g->work->lists + each * 3 * (size_t)thread, *k = h + each, *l = k + each;
    struct reflections list = {h, k, l, 0};
    size_t n = 0;

    for (int i = 0; i < g->nlayers; i++) {
        const struct layer *layer = g->work->layers + i;
        const struct candidate *c = g->work->candidates + layer->first;

        for (size_t j = 0; j < layer->n; j++) {
            h[n] = c[j].h, k[n] = c[j].k, l[n] = c[j].l;
            n += c[j].high >= (float)rows[0] && c[j].low <= (float)rows[1];
        }
    }
    list.n = (int)n;
    return list;
}

static void paint_pair(const struct group *g, const struct canvas *canvas,
                       const struct pairing *pair, const struct reflections *list,
                       int *hits)
{
    const struct phys_spec spec = g->job->spec;
    const int n = g->painter->scan(pair, list, hits);

    g->painter->spots[spec.shape][spec.lookup](canvas, pair, list, hits, n);
}

static void paint_band(const struct group *g, int band)
{
    const struct phys_frame *frame = g->job->frame;
    const int *roi = g->job->roi, n = frame->oversample, thread = thread_number();
    const int end = (band + 1) * BAND_ROWS;
    int *hits = g->work->hits + padded(g->work->capacity) * (size_t)thread;
    const double wave = g->ewald.wave + g->ewald.spread, q = g->ewald.qmax;
    struct reflections list;
    struct canvas canvas;

    canvas.frame = frame;
    canvas.bragg = g->job->photons;
    canvas.roi = roi;
    canvas.fast[0] = 0;
    canvas.fast[1] = frame->nfast * n;
    canvas.slow[0] = band * BAND_ROWS * n;
    canvas.slow[1] = (end < frame->nslow ? end : frame->nslow) * n;
    list = list_of(g, canvas.slow, thread);
    for (int layer = 0; layer < frame->nlayers && list.n > 0; layer++) {
        canvas.layer = layer;
        canvas.depth = frame->layer_offset + layer * frame->layer_step;
        canvas.screen = phys_screen(frame, canvas.depth);
        for (int i = 0; i < g->n; i++)
            for (int s = 0; s < g->nsource; s++) {
                const struct pairing pair = {frame->source + g->first_source + s,
                                             frame->orientation[g->first + i].axes,
                                             g->stars[i], g->ewald.radius,
                                             (float)(4e-7 * g->ewald.skew * q
                                                     * (q + 2 * wave))};

                paint_pair(g, &canvas, &pair, &list, hits);
            }
    }
}

/* ---- one group of sources and orientations ---- */

/* how many of the threads allowed some work is worth */
static int threads_for(const nb_context *ctx, double work)
{
    const double worth = 1 + work / LEAST_WORK;

    return worth < ctx->threads ? (int)worth : ctx->threads;
}

/* candidates of the group, layer after layer of h, each in the room made for it */
static nb_status list_candidates(nb_context *ctx, struct group *g)
{
    const struct ewald *e = &g->ewald;
    const int layers = e->high[0] >= e->low[0] ? (int)(e->high[0] - e->low[0]) + 1 : 0;
    const double rows = layers * fmax(0, e->high[1] - e->low[1] + 1);
    const int threads = threads_for(ctx, rows);
    struct spots_work *work = g->work;
    struct layer *layer;

    g->room = 0;
    g->nlayers = layers;
    if (!grow_layers(work, layers)) return fail_memory(ctx, "a list of reflections");
    layer = work->layers;
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (int i = 0; i < layers; i++) layer[i].n = ewald_room(e, e->low[0] + i);
    for (int i = 0; i < layers; i++) {
        layer[i].first = g->room;
        g->room += layer[i].n;
    }
    if (g->room > MOST_CANDIDATES)
        return fail(ctx, NB_ERR_MEMORY,
                    "%.2g reflections lie near the Ewald sphere, too many to list; use "
                    "NB_LANES (-strategy lanes)",
                    (double)g->room);
    if (!grow(work, g->room, ctx->threads))
        return fail_memory(ctx, "a list of reflections");
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (int i = 0; i < layers; i++)
        layer[i].n = ewald_layer(e, e->low[0] + i, work->candidates + layer[i].first);
    (void)threads; /* here and below: unused without OpenMP */
    return NB_OK;
}

/* of all pairs */
static double share_of(const struct group *g)
{
    const struct phys_frame *frame = g->job->frame;

    return (double)g->n / frame->norientation * ((double)g->nsource / frame->nsource);
}

static nb_status paint_group(struct progress *progress, double begin, struct group *g)
{
    nb_context *ctx = progress->ctx;
    const struct phys_frame *frame = g->job->frame;
    const int *roi = g->job->roi;
    const int first = roi[2] / BAND_ROWS, end = (roi[3] + BAND_ROWS - 1) / BAND_ROWS;
    int threads;

    for (int i = 0; i < g->n; i++)
        (void)ewald_stars(frame->orientation[g->first + i].axes, g->stars[i]);
    NB_TRY(list_candidates(ctx, g));
    threads = threads_for(ctx, (double)g->room * g->n * g->nsource);
    progress_part(progress, begin, share_of(g), end - first);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int band = first; band < end; band++) {
        if (progress_stopped(progress)) continue;
        paint_band(g, band);
        progress_step(progress);
    }
    (void)threads;
    return progress_check(progress);
}

/* ---- the image ---- */

/* the Bragg sums of all samples within the radius */
static nb_status paint(struct progress *progress, const struct painter *painter,
                       const struct job *job, double radius, struct spots_work *work)
{
    const struct phys_frame *frame = job->frame;
    double stars[GROUP][9], begin = 0;
    struct group g = {job, painter, work, ewald_of(frame, radius), 0, 0, 0, 0, 0, 0, stars};

    memset(job->photons, 0,
           sizeof *job->photons * (size_t)frame->nslow * (size_t)frame->nfast);
    for (; g.first_source < frame->nsource; g.first_source += g.nsource) {
        g.nsource = ewald_sources(&g.ewald, frame, g.first_source, MOST_TURN);
        for (g.first = 0; g.first < frame->norientation; g.first += g.n) {
            g.n = ewald_orientations(&g.ewald, frame, g.first, GROUP, MOST_TURN);
            NB_TRY(paint_group(progress, begin, &g));
            begin += share_of(&g);
        }
    }
    return NB_OK;
}

static int is_dark(const struct tile *tile, const double *sums)
{
    for (int i = 0; i < tile->width * tile->height; i++)
        if (sums[i] != 0) return 0;
    return 1;
}

/* sums to photons, and the brightest pixel */
static double finish(nb_context *ctx, const struct kernels *kernels, const struct job *job)
{
    const double factor = phys_constant_factor(job->spec, job->frame);
    const int count = grid_count(job);
    const int threads = threads_for(ctx, (double)count * TILE_PIXELS);
    double peak = 0;

#pragma omp parallel for schedule(dynamic, 16) num_threads(threads) reduction(max : peak)
    for (int t = 0; t < count; t++) {
        const struct tile tile = grid_tile(job, t);
        double photons[TILE_PIXELS];

        grid_collect(job, &tile, photons);
        if (job->frame->amorphous_scale == 0 && is_dark(&tile, photons) && !job->mask)
            continue;
        kernels->finish(job->frame, &tile, factor, photons);
        peak = fmax(peak, grid_deliver(job, &tile, photons));
    }
    (void)threads;
    return peak;
}

/* the most that a cut at a share of their peaks can take from any pixel, photons */
static double most_dropped(const struct job *job, double share)
{
    return job->spec.shape == PHYS_TOPHAT ? 0 : share * rounding_brightest(job);
}

nb_status spots_forward(nb_context *ctx, const struct kernel_set *kernels,
                        const struct job *job, struct spots_work *work)
{
    struct progress progress;
    int single = kernels->single != NULL;
    double share = first_share(job->tolerance);

    progress_start(&progress, ctx);
    for (int attempt = 0; attempt < MOST_TRIES; attempt++) {
        const double radius = ewald_radius(job->frame, job->spec, share);
        double peak, dropped;

        NB_TRY(paint(&progress, single ? kernels->paint_single : kernels->paint_precise,
                     job, radius, work));
        peak = finish(ctx, kernels->precise, job);
        dropped = most_dropped(job, share);
        if (single && rounding_is_lost(job, peak)) {
            single = 0;
            continue;
        }
        if (dropped <= job->tolerance * peak || share <= LEAST_SHARE) break;
        if (radius >= ewald_radius(job->frame, job->spec, 0)) break;
        /* weaker than guessed: as far as the bound asks, or much farther into the dark */
        share = peak > 0 ? 0.25 * share * job->tolerance * peak / dropped : share * share;
        share = fmax(share, LEAST_SHARE);
    }
    return progress_end(&progress);
}
