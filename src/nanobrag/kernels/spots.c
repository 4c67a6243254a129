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
#include "kernels/headway.h"
#include "kernels/rounding.h"
#include "physics/step.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* rows of pixels in a band; orientations in a group, and the largest turn among them or
 * among its sources; times that the radius is enlarged when the image turns out to be weak
 */
enum { BAND_ROWS = 64, GROUP = 256, MOST_TRIES = 12 };
static const double most_turn = 0.02;

/* reflections looked at and samples finished below which a thread is not worth waking */
static const double least_work = 2e4;

/* a list that takes 0.8 GB, and the rows of indices that are looked through in a second */
static const size_t most_candidates = (size_t)1 << 25;
static const double most_rows = 1e8;

/* a cut at this share of a peak is none: the image holds no such numbers */
static const double least_share = 1e-300;

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

    return 4 * M_PI / 3 * radius * radius * radius * volume;
}

/* nanoseconds of a row, of a candidate, of looking at it from a pair, of placing a spot and
 * of computing a sample, plain or with a weight of its own: of one core of 2021, as the
 * lanes' in compile/policy.c */
static const double per_row = 40, per_candidate = 30, per_look = 0.7, per_place = 60,
                    per_sample = 10, per_weighed = 60;

double spots_cost(const struct phys_frame *frame, struct phys_spec spec, double tolerance,
                  double samples, double worth)
{
    const double radius = ewald_radius(frame, spec, first_share(tolerance));
    const double pairs = (double)frame->nsource * frame->norientation;
    struct ewald e = ewald_of(frame, radius);
    const double group = ewald_sources(&e, frame, 0, most_turn)
                         * (double)ewald_orientations(&e, frame, 0, GROUP, most_turn);
    double cost = pairs / group * ewald_rows(&e) * per_row, room = 0;
    const int each = frame->each_omega || frame->each_polar || frame->layer_mu != 0
                     || frame->dmin > 0 || frame->b_factor != 0;

    cost += pairs * frame->nlayers * ewald_hits(&e, radius) * per_place;
    cost += pairs * samples * spots_share(frame, spec, tolerance)
            * (each ? per_weighed : per_sample);
    if (ewald_rows(&e) > most_rows) return INFINITY;
    for (int i = 0; e.low[0] + i <= e.high[0] && cost <= worth; i++) {
        const double more = (double)ewald_room(&e, e.low[0] + i);

        room += more;
        cost += pairs * more * (per_candidate / group + frame->nlayers * per_look);
    }
    return room > (double)most_candidates ? INFINITY : cost;
}

double spots_rounding(const struct phys_frame *frame, struct phys_spec spec,
                      double tolerance)
{
    const struct rounding r = rounding_of(frame, spec);
    const double radius = ewald_radius(frame, spec, first_share(tolerance));

    /* halfway between two reflections float cannot tell whose a sample is */
    return ewald_widest(frame, radius) < 0.499 ? rounding_spot(&r, radius) : 1;
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
    free(work->sheets);
    memset(work, 0, sizeof *work);
}

static size_t padded(size_t n)
{
    return (n + PAINT_PAD - 1) / PAINT_PAD * PAINT_PAD + PAINT_PAD;
}

static int grow_candidates(struct spots_work *work, size_t n)
{
    if (n <= work->capacity) return 1;
    free(work->candidates);
    work->capacity = 0;
    work->candidates = malloc((n + n / 4 + 1024) * sizeof *work->candidates);
    if (work->candidates) work->capacity = n + n / 4 + 1024;
    return work->candidates != NULL;
}

/* room for the list of a band on each of so many threads */
static int grow_lists(struct spots_work *work, size_t candidates, int threads)
{
    const size_t each = padded(candidates + candidates / 4);

    if (padded(candidates) <= work->each && threads <= work->threads) return 1;
    free(work->lists);
    free(work->hits);
    work->each = 0;
    work->lists = calloc(each * 3 * (size_t)threads, sizeof *work->lists);
    work->hits = malloc(each * (size_t)threads * sizeof *work->hits);
    work->threads = threads;
    if (work->lists && work->hits) work->each = each;
    return work->each > 0; /* what there is will be freed */
}

static int grow_sheets(struct spots_work *work, int n)
{
    if (n <= work->nsheets) return 1;
    free(work->sheets);
    work->nsheets = 0;
    work->sheets = malloc(((size_t)n + 1) * sizeof *work->sheets);
    if (work->sheets) work->nsheets = n;
    return work->sheets != NULL;
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
    int nsheets;
    size_t candidates;
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
    const size_t each = g->work->each;
    float *h = g->work->lists + each * 3 * (size_t)thread, *k = h + each, *l = k + each;
    struct reflections list = {h, k, l, 0};
    size_t n = 0;

    for (int i = 0; i < g->nsheets; i++) {
        const struct sheet *sheet = g->work->sheets + i;
        const struct candidate *c = g->work->candidates + sheet->first;

        for (size_t j = 0; j < sheet->n; j++) {
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

static void paint_band(const struct group *g, int band, struct headway *headway)
{
    const struct phys_frame *frame = g->job->frame;
    const int *roi = g->job->roi, n = frame->oversample, thread = thread_number();
    const int end = (band + 1) * BAND_ROWS;
    int *hits = g->work->hits + g->work->each * (size_t)thread;
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
        for (int i = 0; i < g->n && !headway_asked(headway); i++)
            for (int s = 0; s < g->nsource; s++) {
                const struct phys_source *source = frame->source + g->first_source + s;
                const struct phys_orientation *at = frame->orientation + g->first + i;
                const struct pairing pair = {source,
                                             at->axes,
                                             g->stars[i],
                                             g->ewald.radius,
                                             (float)(4e-7 * g->ewald.skew * q
                                                     * (q + 2 * wave)),
                                             source->weight * at->weight};

                paint_pair(g, &canvas, &pair, &list, hits);
            }
    }
}

/* ---- one group of sources and orientations ---- */

/* how many of the threads allowed some work is worth */
static int threads_for(const nb_context *ctx, double work)
{
    const double worth = 1 + work / least_work;

    return worth < ctx->threads ? (int)worth : ctx->threads;
}

/* room for the candidates of the group, sheet after sheet of h */
static nb_status reserve_sheets(nb_context *ctx, struct group *g, int threads)
{
    const struct ewald *e = &g->ewald;
    struct sheet *sheet;
    size_t room = 0;

    if (ewald_rows(e) > most_rows)
        return fail(ctx, NB_ERR_MEMORY,
                    "%.2g rows of reflections cross the Ewald sphere, too many to look "
                    "through; use the strategy lanes",
                    ewald_rows(e));
    g->nsheets = e->high[0] >= e->low[0] ? (int)(e->high[0] - e->low[0]) + 1 : 0;
    if (!grow_sheets(g->work, g->nsheets)) return fail_memory(ctx, "a list of reflections");
    sheet = g->work->sheets;
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (int i = 0; i < g->nsheets; i++) sheet[i].n = ewald_room(e, e->low[0] + i);
    (void)threads; /* here and below: unused without OpenMP */
    for (int i = 0; i < g->nsheets; i++) {
        sheet[i].first = room;
        room += sheet[i].n;
    }
    if (room > most_candidates)
        return fail(ctx, NB_ERR_MEMORY,
                    "%.2g reflections lie near the Ewald sphere, too many to list; use the "
                    "strategy lanes",
                    (double)room);
    if (!grow_candidates(g->work, room)) return fail_memory(ctx, "a list of reflections");
    return NB_OK;
}

static nb_status list_candidates(nb_context *ctx, struct group *g)
{
    const struct ewald *e = &g->ewald;
    const int threads = threads_for(ctx, ewald_rows(e));
    struct candidate *candidates;
    struct sheet *sheet;

    NB_TRY(reserve_sheets(ctx, g, threads));
    sheet = g->work->sheets;
    candidates = g->work->candidates;
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (int i = 0; i < g->nsheets; i++)
        sheet[i].n = ewald_sheet(e, e->low[0] + i, candidates + sheet[i].first);
    (void)threads;
    g->candidates = 0;
    for (int i = 0; i < g->nsheets; i++) g->candidates += sheet[i].n;
    if (!grow_lists(g->work, g->candidates, ctx->threads))
        return fail_memory(ctx, "a list of reflections");
    return NB_OK;
}

/* of all pairs */
static double share_of(const struct group *g)
{
    const struct phys_frame *frame = g->job->frame;

    return (double)g->n / frame->norientation * ((double)g->nsource / frame->nsource);
}

static nb_status paint_group(struct headway *headway, double begin, struct group *g)
{
    nb_context *ctx = headway->ctx;
    const struct phys_frame *frame = g->job->frame;
    const int *roi = g->job->roi;
    const int first = roi[2] / BAND_ROWS, end = (roi[3] + BAND_ROWS - 1) / BAND_ROWS;
    int threads;

    for (int i = 0; i < g->n; i++)
        (void)ewald_stars(frame->orientation[g->first + i].axes, g->stars[i]);
    NB_TRY(list_candidates(ctx, g));
    threads = threads_for(ctx, (double)g->candidates * g->n * g->nsource);
    headway_part(headway, begin, share_of(g), end - first);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int band = first; band < end; band++) {
        if (headway_stopped(headway)) continue;
        paint_band(g, band, headway);
        headway_step(headway);
    }
    (void)threads;
    return headway_check(headway);
}

/* ---- the image ---- */

/* the Bragg sums of all samples within the radius */
static nb_status paint(struct headway *headway, const struct painter *painter,
                       const struct job *job, double radius, struct spots_work *work)
{
    const struct phys_frame *frame = job->frame;
    double stars[GROUP][9], begin = 0;
    struct group g = {job, painter, work, ewald_of(frame, radius), 0, 0, 0, 0, 0, 0, stars};

    memset(job->photons, 0,
           sizeof *job->photons * (size_t)frame->nslow * (size_t)frame->nfast);
    for (; g.first_source < frame->nsource; g.first_source += g.nsource) {
        g.nsource = ewald_sources(&g.ewald, frame, g.first_source, most_turn);
        for (g.first = 0; g.first < frame->norientation; g.first += g.n) {
            g.n = ewald_orientations(&g.ewald, frame, g.first, GROUP, most_turn);
            NB_TRY(paint_group(headway, begin, &g));
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

static int is_empty(const struct job *job)
{
    const int count = grid_count(job);

    for (int t = 0; t < count; t++) {
        const struct tile tile = grid_tile(job, t);

        if (grid_rendered(job, &tile) > 0) return 0;
    }
    return 1;
}

nb_status spots_forward(nb_context *ctx, const struct kernel_set *kernels,
                        const struct job *job, struct spots_work *work)
{
    struct headway headway;
    int single = kernels->single != NULL;
    double share = first_share(job->tolerance);

    headway_start(&headway, ctx);
    if (is_empty(job)) {
        grid_blank(job);
        return headway_end(&headway);
    }
    for (int attempt = 0; attempt < MOST_TRIES; attempt++) {
        const double radius = ewald_radius(job->frame, job->spec, share);
        double peak, dropped;

        NB_TRY(paint(&headway, single ? kernels->paint_single : kernels->paint_precise, job,
                     radius, work));
        peak = finish(ctx, kernels->precise, job);
        dropped = most_dropped(job, share);
        if (single && rounding_is_lost(job, peak)) {
            single = 0;
            continue;
        }
        if (dropped <= job->tolerance * peak || share <= least_share) break;
        if (radius >= ewald_radius(job->frame, job->spec, 0)) break;
        /* weaker than guessed: as far as the bound asks, or much farther into the dark */
        share = peak > 0 ? 0.25 * share * job->tolerance * peak / dropped : share * share;
        share = fmax(share, least_share);
    }
    return headway_end(&headway);
}
