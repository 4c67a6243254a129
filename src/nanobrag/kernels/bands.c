/*
 * bands.c - see bands.h. For each group of sources and orientations the candidates near the
 * Ewald sphere are listed once; then threads share the chunks of bands.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/bands.h"

#include <stdlib.h>
#include <string.h>

#include "base/threads.h"

/* rows of pixels in a band; orientations in a group, and the largest turn among them or
 * among its sources */
enum { BAND_ROWS = 64, GROUP = 256 };
static const double most_turn = 0.02;

/* reflections looked at and samples finished below which a thread is not worth waking */
static const double least_work = 2e4;

double bands_group(struct ewald *ewald, const struct phys_frame *frame)
{
    return ewald_sources(ewald, frame, 0, most_turn)
           * (double)ewald_orientations(ewald, frame, 0, GROUP, most_turn);
}

int bands_threads(const struct job *job, double work)
{
    const double worth = 1 + work / least_work;

    return worth < job->schedule.threads ? (int)worth : job->schedule.threads;
}

/* ---- memory ---- */

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
    const struct bands *bands;
    struct ewald ewald;
    int first, n; /* orientations */
    int first_source, nsource;
    int nsheets;
    size_t candidates;
    double (*stars)[9]; /* of each orientation */
};

/* the candidates that reach a band, in the thread's own arrays */
static struct reflections list_of(const struct group *g, const int rows[2], int thread)
{
    const struct spots_work *work = g->bands->work;
    const size_t each = work->each;
    float *h = work->lists + each * 3 * (size_t)thread, *k = h + each, *l = k + each;
    struct reflections list = {h, k, l, 0};
    size_t n = 0;

    for (int i = 0; i < g->nsheets; i++) {
        const struct sheet *sheet = work->sheets + i;
        const struct candidate *c = work->candidates + sheet->first;

        for (size_t j = 0; j < sheet->n; j++) {
            h[n] = c[j].h, k[n] = c[j].k, l[n] = c[j].l;
            n += c[j].high >= (float)rows[0] && c[j].low <= (float)rows[1];
        }
    }
    list.n = (int)n;
    return list;
}

static struct pairing pairing_of(const struct group *g, int source, int orientation)
{
    const struct phys_frame *frame = g->bands->job->frame;
    const struct phys_source *from = frame->source + g->first_source + source;
    const struct phys_orientation *at = frame->orientation + g->first + orientation;
    const double wave = g->ewald.wave + g->ewald.spread, q = g->ewald.qmax;
    const struct pairing pair = {
        from,
        at->axes,
        g->stars[orientation],
        g->ewald.radius,
        (float)(4e-7 * g->ewald.skew * q * (q + 2 * wave)),
        from->weight * at->weight,
        g->first_source + source,
        g->first + orientation,
    };

    return pair;
}

static void visit_band(const struct group *g, int band, int chunk, struct headway *headway)
{
    const struct bands *b = g->bands;
    const struct phys_frame *frame = b->job->frame;
    const int n = frame->oversample, thread = threads_own();
    const int end = (band + 1) * BAND_ROWS;
    int *hits = b->work->hits + b->work->each * (size_t)thread;
    struct reflections list;
    struct canvas canvas;

    canvas.frame = frame;
    canvas.bragg = b->bragg;
    canvas.roi = b->job->roi;
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
                const struct pairing pair = pairing_of(g, s, i);

                b->pair(b->user, chunk, &canvas, &pair, &list, hits);
            }
    }
}

/* ---- one group of sources and orientations ---- */

/* room for the candidates of the group, sheet after sheet of h */
static nb_status reserve_sheets(nb_context *ctx, struct group *g, int threads)
{
    const struct ewald *e = &g->ewald;
    struct sheet *sheet;
    size_t room = 0;

    if (ewald_rows(e) > bands_rows)
        return fail(ctx, NB_ERR_MEMORY,
                    "%.2g rows of reflections cross the Ewald sphere, too many to look "
                    "through; use the strategy lanes",
                    ewald_rows(e));
    g->nsheets = e->high[0] >= e->low[0] ? (int)(e->high[0] - e->low[0]) + 1 : 0;
    if (!grow_sheets(g->bands->work, g->nsheets))
        return fail_memory(ctx, "a list of reflections");
    sheet = g->bands->work->sheets;
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (int i = 0; i < g->nsheets; i++) sheet[i].n = ewald_room(e, e->low[0] + i);
    (void)threads; /* here and below: unused without OpenMP */
    for (int i = 0; i < g->nsheets; i++) {
        sheet[i].first = room;
        room += sheet[i].n;
    }
    if (room > BANDS_CANDIDATES)
        return fail(ctx, NB_ERR_MEMORY,
                    "%.2g reflections lie near the Ewald sphere, too many to list; use the "
                    "strategy lanes",
                    (double)room);
    if (!grow_candidates(g->bands->work, room))
        return fail_memory(ctx, "a list of reflections");
    return NB_OK;
}

static nb_status list_candidates(nb_context *ctx, struct group *g)
{
    const struct ewald *e = &g->ewald;
    const int threads = bands_threads(g->bands->job, ewald_rows(e));
    struct candidate *candidates;
    struct sheet *sheet;

    NB_TRY(reserve_sheets(ctx, g, threads));
    sheet = g->bands->work->sheets;
    candidates = g->bands->work->candidates;
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (int i = 0; i < g->nsheets; i++)
        sheet[i].n = ewald_sheet(e, e->low[0] + i, candidates + sheet[i].first);
    (void)threads;
    g->candidates = 0;
    for (int i = 0; i < g->nsheets; i++) g->candidates += sheet[i].n;
    if (!grow_lists(g->bands->work, g->candidates, ctx->threads))
        return fail_memory(ctx, "a list of reflections");
    return NB_OK;
}

/* of all pairs */
static double share_of(const struct group *g)
{
    const struct phys_frame *frame = g->bands->job->frame;

    return (double)g->n / frame->norientation * ((double)g->nsource / frame->nsource);
}

static nb_status visit_group(struct headway *headway, double begin, struct group *g)
{
    nb_context *ctx = headway->ctx;
    const struct phys_frame *frame = g->bands->job->frame;
    const int *roi = g->bands->job->roi;
    const int first = roi[2] / BAND_ROWS, end = (roi[3] + BAND_ROWS - 1) / BAND_ROWS;
    const int chunks = g->bands->chunks > 0 ? g->bands->chunks : end - first;
    int threads;

    for (int i = 0; i < g->n; i++)
        (void)ewald_stars(frame->orientation[g->first + i].axes, g->stars[i]);
    NB_TRY(list_candidates(ctx, g));
    threads = bands_threads(g->bands->job, (double)g->candidates * g->n * g->nsource);
    headway_part(headway, g->bands->begin + g->bands->share * begin,
                 g->bands->share * share_of(g), end - first);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int chunk = 0; chunk < chunks; chunk++)
        for (int band = first + chunk; band < end; band += chunks) {
            if (headway_stopped(headway)) continue;
            visit_band(g, band, chunk, headway);
            headway_step(headway);
        }
    (void)threads;
    return headway_check(headway);
}

nb_status bands_run(struct headway *headway, const struct bands *bands)
{
    const struct phys_frame *frame = bands->job->frame;
    const size_t pixels = (size_t)frame->nslow * (size_t)frame->nfast;
    double stars[GROUP][9], begin = 0;
    struct group g = {bands, ewald_of(frame, bands->radius), 0, 0, 0, 0, 0, 0, stars};

    if (bands->bragg) memset(bands->bragg, 0, sizeof *bands->bragg * pixels);
    for (; g.first_source < frame->nsource; g.first_source += g.nsource) {
        g.nsource = ewald_sources(&g.ewald, frame, g.first_source, most_turn);
        for (g.first = 0; g.first < frame->norientation; g.first += g.n) {
            g.n = ewald_orientations(&g.ewald, frame, g.first, GROUP, most_turn);
            NB_TRY(visit_group(headway, begin, &g));
            begin += share_of(&g);
        }
    }
    return NB_OK;
}
