/*
 * row_strips.c - the loop over spots, strip by strip. The candidates near the Ewald sphere
 * are listed once for each group of sources and orientations; then threads share the chunks
 * of strips.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/spots/row_strips.h"

#include <stdlib.h>
#include <string.h>

#include "base/floats.h"
#include "base/threads.h"
#include "kernels/grid.h"
#include "physics/tile/patch.h"

/* The largest number of orientations in a group, and the largest angle (radian) between its
 * first orientation or source and another one. */
enum { GROUP = 256 };
static const double most_rotation = 0.02;

/* Another thread is used for each `least_work` units of work. A unit is a reflection to
 * scan or a sample to finish. */
static const double least_work = 2e4;

double strips_group(struct ewald *ewald, const struct phys_frame *frame)
{
    return ewald_sources(ewald, frame, 0, most_rotation)
           * (double)ewald_orientations(ewald, frame, 0, GROUP, most_rotation);
}

int strips_threads(const struct job *job, double work)
{
    const double useful = 1 + work / least_work;

    return useful < job->schedule.threads ? (int)useful : job->schedule.threads;
}

/* ---- memory ---- */

static size_t padded(size_t n)
{
    return (n + SPLAT_PAD - 1) / SPLAT_PAD * SPLAT_PAD + SPLAT_PAD;
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

/* Allocates the lists of candidates of a strip for each of `threads` threads. */
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
    return work->each > 0; /* after a failure spots_free() frees the rest */
}

static int grow_h_layers(struct spots_work *work, int n)
{
    if (n <= work->nh_layers) return 1;
    free(work->h_layers);
    work->nh_layers = 0;
    work->h_layers = malloc(((size_t)n + 1) * sizeof *work->h_layers);
    if (work->h_layers) work->nh_layers = n;
    return work->h_layers != NULL;
}

/* ---- panels ---- */

/* Sets *first and *end to the range of strips of a panel that hold a tile, end excluded. */
static void strips_of_panel(const struct window *panel, int *first, int *end)
{
    *first = panel->first_row / STRIP_TILES;
    *end = (panel->first_row + panel->nrow + STRIP_TILES - 1) / STRIP_TILES;
}

void strips_of_window(const struct window *image, int *first, int *end)
{
    strips_of_panel(image, first, end);
    if (image->npanel == 0) return;
    *first = *end = 0;
    for (int i = 0; i < image->npanel; i++) {
        int low, high;

        strips_of_panel(image->panel + i, &low, &high);
        *end += high - low;
    }
}

/* Returns the first row of tiles in a strip of a panel. */
static int row_of_strip(const struct window *panel, int strip)
{
    const int row = strip * STRIP_TILES - panel->first_row;

    return row < 0 ? 0 : row < panel->nrow ? row : panel->nrow;
}

int strips_row(const struct window *image, int strip)
{
    for (int i = 0; i < image->npanel; i++) {
        const struct window *panel = image->panel + i;
        int low, high;

        strips_of_panel(panel, &low, &high);
        if (strip < high - low) return panel->row0 + row_of_strip(panel, low + strip);
        strip -= high - low;
    }
    return image->npanel > 0 ? image->nrow : row_of_strip(image, strip);
}

/* Allocates memory for the panels of an image, and numbers their strips. */
static int grow_panels(struct spots_work *work, const struct window *image)
{
    const int n = image->npanel;
    int at = 0;

    if (n > work->npanels) {
        free(work->of_panel);
        free(work->first_strip);
        work->npanels = 0;
        work->of_panel = calloc((size_t)n, sizeof *work->of_panel);
        work->first_strip = calloc((size_t)n + 1, sizeof *work->first_strip);
        if (!work->of_panel || !work->first_strip) return 0;
        work->npanels = n;
    }
    for (int i = 0; i < n; i++) {
        int low, high;

        strips_of_panel(image->panel + i, &low, &high);
        work->first_strip[i] = at;
        at += high - low;
    }
    if (n > 0) work->first_strip[n] = at;
    return 1;
}

/* Returns the panel of a strip of the image. *number becomes the number of the strip within
 * the panel. */
static int panel_of_strip(const struct strips *strips, int strip, int *number)
{
    const struct window *image = strips->job->window;
    const int *first = strips->work->first_strip;
    int low = 0, high = image->npanel - 1, end;

    *number = strip;
    if (image->npanel == 0) return 0;
    while (low < high) { /* search the last panel whose first strip is not after `strip` */
        const int mid = (low + high + 1) / 2;

        if (first[mid] <= strip)
            low = mid;
        else
            high = mid - 1;
    }
    strips_of_panel(image->panel + low, number, &end);
    *number += strip - first[low];
    return low;
}

/* ---- one strip ---- */

/* A group of sources and orientations, with the numbers that all strips share. */
struct group {
    const struct strips *strips;
    struct ewald ewald;
    int first, n; /* first orientation and number of orientations */
    int first_source, nsource;
    int nh_layers;
    size_t candidates;
    double (*stars)[9]; /* a*, b*, c* of each orientation, 1/A */
};

/* Appends each of n candidates that may reach the rows of a strip to a list. */
static void append_reaching(const struct candidate *c, size_t n, const int rows[2],
                            float *h, float *k, float *l, size_t *listed)
{
    size_t at = *listed;

    for (size_t j = 0; j < n; j++) {
        h[at] = c[j].h, k[at] = c[j].k, l[at] = c[j].l;
        at += c[j].high >= (float)rows[0] && c[j].low <= (float)rows[1];
    }
    *listed = at;
}

/* Returns the candidates that may reach a strip, in the arrays of thread `thread`. */
static struct reflections list_of_strip(const struct group *g, int panel, const int rows[2],
                                        int thread)
{
    const struct spots_work *work = g->strips->work;
    const size_t each = work->each;
    float *h = work->lists + each * 3 * (size_t)thread, *k = h + each, *l = k + each;
    struct reflections list = {h, k, l, 0};
    size_t n = 0;

    if (g->ewald.panels > 1)
        append_reaching(work->located + work->of_panel[panel].first,
                        work->of_panel[panel].n, rows, h, k, l, &n);
    for (int i = 0; g->ewald.panels == 1 && i < g->nh_layers; i++)
        append_reaching(work->candidates + work->h_layers[i].first, work->h_layers[i].n,
                        rows, h, k, l, &n);
    list.n = (int)n;
    return list;
}

static struct pair pair_of(const struct group *g, int source, int orientation)
{
    const struct phys_frame *frame = g->strips->job->frame;
    const struct phys_source *from = frame->source + g->first_source + source;
    const struct phys_orientation *at = frame->orientation + g->first + orientation;
    const double wave = g->ewald.wave + g->ewald.spread, q = g->ewald.qmax;
    const struct pair pair = {
        from,
        at->axes,
        g->stars[orientation],
        g->ewald.radius,
        g->ewald.rho2,
        (float)(4e-7 * g->ewald.skew * q * (q + 2 * wave)),
        from->weight * at->weight,
        g->first_source + source,
        g->first + orientation,
    };

    return pair;
}

/* Returns 1 if a strip of a panel holds a tile of the window. */
static int holds_tile(const struct window *w, int strip)
{
    const int first = strip * STRIP_TILES - w->first_row;

    for (int row = first > 0 ? first : 0; row < first + STRIP_TILES && row < w->nrow; row++)
        if (w->row[row + 1] > w->row[row]) return 1;
    return 0;
}

/* Visits one strip of a panel for all layers of the sensor and all pairs of a group. */
static void visit_strip(const struct group *g, int panel, int strip, int chunk,
                        struct progress *progress)
{
    const struct strips *b = g->strips;
    const struct phys_frame *frame = b->job->frame + panel;
    const struct window *window = window_panel(b->job->window, panel);
    const int n = frame->oversample, thread = threads_index();
    const int end = (strip + 1) * STRIP_ROWS;
    int *hits = b->work->hits + b->work->each * (size_t)thread;
    struct reflections list;
    struct splat_layer splat_layer;

    if (!holds_tile(window, strip)) return;
    splat_layer.frame = frame;
    splat_layer.bragg = b->bragg;
    splat_layer.window = window;
    splat_layer.packed = b->job->packed;
    splat_layer.fast[0] = 0;
    splat_layer.fast[1] = frame->nfast * n;
    splat_layer.slow[0] = strip * STRIP_ROWS * n;
    splat_layer.slow[1] = (end < frame->nslow ? end : frame->nslow) * n;
    list = list_of_strip(g, panel, splat_layer.slow, thread);
    for (int layer = 0; layer < frame->nlayers && list.n > 0; layer++) {
        splat_layer.layer = layer;
        splat_layer.depth = phys_layer_depth(frame, layer);
        splat_layer.plane = phys_detector_plane(frame, splat_layer.depth);
        for (int i = 0; i < g->n && !progress_asked(progress); i++)
            for (int s = 0; s < g->nsource; s++) {
                const struct pair pair = pair_of(g, s, i);

                b->visit(b->user, chunk, &splat_layer, &pair, &list, hits);
            }
    }
}

/* ---- one group of sources and orientations ---- */

/* Allocates memory for the candidates of the group, one index h after another. */
static nb_status reserve_h_layers(nb_context *ctx, struct group *g, int threads)
{
    const struct ewald *e = &g->ewald;
    struct h_layer *h_layer;
    size_t listed = 0;

    if (ewald_rows(e) > strips_rows)
        return fail(ctx, NB_ERR_MEMORY,
                    "%.2g rows of reflections cross the Ewald sphere, too many to look "
                    "through; use the strategy lanes",
                    ewald_rows(e));
    g->nh_layers = e->high[0] >= e->low[0] ? (int)(e->high[0] - e->low[0]) + 1 : 0;
    if (!grow_h_layers(g->strips->work, g->nh_layers))
        return fail_memory(ctx, "a list of reflections");
    h_layer = g->strips->work->h_layers;
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (int i = 0; i < g->nh_layers; i++) {
        STANDARD_FLOATS;
        h_layer[i].n = ewald_most_in_layer(e, e->low[0] + i);
    }
    (void)threads; /* unused without OpenMP, also in the functions below */
    for (int i = 0; i < g->nh_layers; i++) {
        h_layer[i].first = listed;
        listed += h_layer[i].n;
    }
    if (listed > STRIPS_CANDIDATES)
        return fail(ctx, NB_ERR_MEMORY,
                    "%.2g reflections lie near the Ewald sphere, too many to list; use the "
                    "strategy lanes",
                    (double)listed);
    if (!grow_candidates(g->strips->work, listed))
        return fail_memory(ctx, "a list of reflections");
    return NB_OK;
}

/* Finds the rays (struct ewald_ray) of all candidates. */
static nb_status find_rays(nb_context *ctx, struct group *g, int threads)
{
    struct spots_work *work = g->strips->work;

    if (work->capacity > work->nray) {
        free(work->ray);
        work->nray = 0;
        work->ray = malloc(work->capacity * sizeof *work->ray);
        if (!work->ray) return fail_memory(ctx, "a list of reflections");
        work->nray = work->capacity;
    }
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (int i = 0; i < g->nh_layers; i++) {
        const size_t first = work->h_layers[i].first;
        STANDARD_FLOATS;

        for (size_t j = first; j < first + work->h_layers[i].n; j++)
            work->ray[j] = ewald_ray_of(&g->ewald, work->candidates + j);
    }
    (void)threads;
    return NB_OK;
}

/* Writes the candidates that reach a panel to `out`, with their rows there, and returns
 * their number. If `out` is NULL, it returns an upper bound: the number of candidates in
 * the cone of the panel, which is cheaper to find. */
static size_t locate_on_panel(const struct group *g, int panel, struct candidate *out)
{
    const struct spots_work *work = g->strips->work;
    const struct ewald e = ewald_of_panel(&g->ewald, g->strips->job->frame + panel);
    size_t n = 0;

    for (int i = 0; i < g->nh_layers; i++) {
        const size_t first = work->h_layers[i].first;

        for (size_t j = first; j < first + work->h_layers[i].n; j++) {
            struct candidate c;

            if (!ewald_is_towards(&e, work->ray + j)) continue;
            if (out) {
                c = work->candidates[j];
                if (!ewald_reaches(&e, work->ray + j, &c)) continue;
                out[n] = c;
            }
            n++;
        }
    }
    return n;
}

/* Lists the candidates of each panel; a reflection may reach several panels. */
static nb_status locate_candidates(nb_context *ctx, struct group *g)
{
    struct spots_work *work = g->strips->work;
    const struct window *image = g->strips->job->window;
    const int panels = image->npanel;
    const int threads = strips_threads(g->strips->job, (double)g->candidates * panels);
    struct h_layer *of = work->of_panel;
    size_t n = 0;

    NB_TRY(find_rays(ctx, g, threads));
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int p = 0; p < panels; p++) {
        STANDARD_FLOATS;
        of[p].n = image->panel[p].ntile > 0 ? locate_on_panel(g, p, NULL) : 0;
    }
    (void)threads;
    for (int p = 0; p < panels; p++) {
        of[p].first = n;
        n += of[p].n;
    }
    if (n > work->nlocated) {
        free(work->located);
        work->nlocated = 0;
        work->located = malloc((n + n / 4) * sizeof *work->located);
        if (!work->located) return fail_memory(ctx, "a list of reflections");
        work->nlocated = n + n / 4;
    }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int p = 0; p < panels; p++) {
        STANDARD_FLOATS;
        if (of[p].n > 0) of[p].n = locate_on_panel(g, p, work->located + of[p].first);
    }
    return NB_OK;
}

static nb_status list_candidates(nb_context *ctx, struct group *g)
{
    const struct ewald *e = &g->ewald;
    const int threads = strips_threads(g->strips->job, ewald_rows(e));
    struct candidate *candidates;
    struct h_layer *h_layer;

    NB_TRY(reserve_h_layers(ctx, g, threads));
    h_layer = g->strips->work->h_layers;
    candidates = g->strips->work->candidates;
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (int i = 0; i < g->nh_layers; i++) {
        STANDARD_FLOATS;
        h_layer[i].n = ewald_list_layer(e, e->low[0] + i, candidates + h_layer[i].first);
    }
    (void)threads;
    g->candidates = 0;
    for (int i = 0; i < g->nh_layers; i++) g->candidates += h_layer[i].n;
    if (e->panels > 1) NB_TRY(locate_candidates(ctx, g));
    if (!grow_lists(g->strips->work, g->candidates, ctx->threads))
        return fail_memory(ctx, "a list of reflections");
    return NB_OK;
}

/* Returns the share of all pairs that the group has. */
static double share_of_pairs(const struct group *g)
{
    const struct phys_frame *frame = g->strips->job->frame;

    return (double)g->n / frame->norientation * ((double)g->nsource / frame->nsource);
}

/* Visits the strips of a chunk. */
static void visit_chunk(const struct group *g, int chunk, int chunks,
                        struct progress *progress)
{
    const struct strips *b = g->strips;
    int at = 0; /* panel of the previous strip */

    for (int strip = b->first + chunk; strip < b->end; strip += chunks) {
        int number;
        const int panel = panel_of_strip(b, strip, &number);

        if (progress_stopped(progress)) continue;
        if (b->leave && panel != at) b->leave(b->user, chunk, at);
        at = panel;
        visit_strip(g, panel, number, chunk, progress);
        progress_step(progress);
    }
    if (b->leave) b->leave(b->user, chunk, at);
}

static nb_status visit_group(struct progress *progress, double begin, struct group *g)
{
    nb_context *ctx = progress->ctx;
    const struct phys_frame *frame = g->strips->job->frame;
    const int first = g->strips->first, end = g->strips->end;
    const int chunks = g->strips->chunks > 0 ? g->strips->chunks : end - first;
    int threads;

    for (int i = 0; i < g->n; i++)
        (void)ewald_stars(frame->orientation[g->first + i].axes, g->stars[i]);
    NB_TRY(list_candidates(ctx, g));
    threads = strips_threads(g->strips->job, (double)g->candidates * g->n * g->nsource);
    progress_part(progress, g->strips->begin + g->strips->share * begin,
                  g->strips->share * share_of_pairs(g), end - first);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int chunk = 0; chunk < chunks; chunk++) {
        STANDARD_FLOATS;
        visit_chunk(g, chunk, chunks, progress);
    }
    (void)threads;
    return progress_check(progress);
}

nb_status strips_run(struct progress *progress, const struct strips *strips)
{
    const struct phys_frame *frame = strips->job->frame;
    double stars[GROUP][9], begin = 0;
    struct strips all = *strips;
    struct group g = {&all,
                      ewald_of(frame, window_panels(strips->job->window), strips->job->spec,
                               strips->radius),
                      0,
                      0,
                      0,
                      0,
                      0,
                      0,
                      stars};

    if (!grow_panels(strips->work, strips->job->window))
        return fail_memory(progress->ctx, "a list of panels");
    if (strips->end == 0) strips_of_window(strips->job->window, &all.first, &all.end);
    if (strips->bragg) {
        struct job sums = *strips->job;

        sums.photons = strips->bragg;
        grid_zero(&sums);
    }
    for (; g.first_source < frame->nsource; g.first_source += g.nsource) {
        g.nsource = ewald_sources(&g.ewald, frame, g.first_source, most_rotation);
        for (g.first = 0; g.first < frame->norientation; g.first += g.n) {
            g.n = ewald_orientations(&g.ewald, frame, g.first, GROUP, most_rotation);
            NB_TRY(visit_group(progress, begin, &g));
            begin += share_of_pairs(&g);
        }
    }
    return NB_OK;
}
