/* adjoint.c - the adjoint of a whole image, as a sum over the tiles.
 * SPDX-License-Identifier: MIT */
#include "kernels/derivatives/adjoint.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/floats.h"
#include "base/progress.h"
#include "base/threads.h"
#include "kernels/grid.h"
#include "kernels/rounding.h"
#include "kernels/spots/attempts.h"

/* Limits of the number of chunks. MOST_CHUNKS are enough for the threads of a large
 * machine. If there are more than LEAST_CHUNKS, all together take at most CHUNK_MEMORY
 * bytes, and clearing and adding their sums is a small part of the work: for one structure
 * factor it costs as much as PAIRS_PER_NUMBER pairs of a sample and an orientation. */
enum { MOST_CHUNKS = 64, LEAST_CHUNKS = 4, CHUNK_MEMORY = 1 << 28, PAIRS_PER_NUMBER = 4 };

/* The slopes of a tile's samples are saved if they fit into MOST_WORKSPACE bytes, about one
 * core's share of the last-level cache. Otherwise the samples are computed twice. */
enum { MOST_WORKSPACE = 1 << 24 };

static int chunks_of(const struct adjoint_sizes *n)
{
    const double bytes = (double)n->sources * sizeof(struct phys_source)
                         + (double)n->orientations * sizeof(struct phys_rotation)
                         + (double)n->panels * PHYS_PANEL_NUMBERS * sizeof(double)
                         + (double)n->box * sizeof(double);
    const double pairs = (double)n->pixels * (double)n->samples * (double)n->orientations;
    const double by_memory = CHUNK_MEMORY / (bytes + 1);
    const double by_work = pairs / PAIRS_PER_NUMBER / ((double)n->box + 1);
    const double fit = by_memory < by_work ? by_memory : by_work;

    return fit > MOST_CHUNKS ? MOST_CHUNKS : fit < LEAST_CHUNKS ? LEAST_CHUNKS : (int)fit;
}

/* Returns the bytes that the slopes of a tile's samples take, at `size` bytes a number. */
static double workspace_bytes(const struct adjoint_sizes *n, size_t size)
{
    const int of_pair = KEPT_OF_PAIR + (n->box > 0);

    return (double)size * TILE_PIXELS * (double)n->samples
           * (KEPT_OF_SOURCE + of_pair * (double)n->orientations);
}

/* Returns the bytes that a thread's workspace needs in double; 0 if that is too much. */
static size_t workspace_reserved(const struct adjoint_sizes *n)
{
    const double bytes = workspace_bytes(n, sizeof(double));

    return bytes <= MOST_WORKSPACE ? (size_t)bytes : 0;
}

void adjoint_take(struct arena *arena, const struct adjoint_sizes *n,
                  struct adjoint_work *out)
{
    out->sizes = *n;
    out->chunks = chunks_of(n);
    out->bar = arena_take(arena, (size_t)out->chunks, sizeof *out->bar);
    out->panel = arena_take(arena, (size_t)out->chunks * n->panels, sizeof *out->panel);
    out->value = arena_take(arena, (size_t)out->chunks, sizeof *out->value);
    out->peak = arena_take(arena, (size_t)out->chunks, sizeof *out->peak);
    out->most = arena_take(arena, (size_t)out->chunks, sizeof *out->most);
    out->workspace_size = workspace_reserved(n);
    out->workspace = arena_take(arena, n->threads, out->workspace_size);
    out->scratch = arena_take(arena, n->threads, TILE_SCRATCH);
    for (int i = 0; i < out->chunks; i++) {
        struct phys_frame_tangent none, *bar = out->bar ? out->bar + i : &none;

        bar->source = arena_take(arena, n->sources, sizeof *bar->source);
        bar->rotation = arena_take(arena, n->orientations, sizeof *bar->rotation);
        bar->f = arena_take(arena, n->box, sizeof *bar->f);
        if (n->box == 0) bar->f = NULL;
    }
}

void *adjoint_scratch(const struct adjoint_work *work)
{
    return work->scratch + (size_t)threads_index() * TILE_SCRATCH;
}

static void clear_tangent(const struct adjoint_sizes *n, struct phys_frame_tangent *bar)
{
    struct phys_frame_tangent none = {0};

    none.source = bar->source;
    none.rotation = bar->rotation;
    none.f = bar->f;
    *bar = none;
    memset(bar->source, 0, n->sources * sizeof *bar->source);
    memset(bar->rotation, 0, n->orientations * sizeof *bar->rotation);
    if (bar->f) memset(bar->f, 0, n->box * sizeof *bar->f);
}

static void add(size_t n, const void *from, void *to)
{
    const double *restrict f = from;
    double *restrict t = to;

    for (size_t i = 0; i < n; i++) t[i] += f[i];
}

/* Adds the structure factors' cotangents of all chunks to the first chunk's, in order. One
 * thread adds all cotangents of a structure factor, so the bits are fixed. */
static void add_boxes(const struct adjoint_work *work, int threads)
{
    double *to = work->bar->f;
    const size_t n = work->sizes.box, part = (n + (size_t)threads - 1) / (size_t)threads;

#pragma omp parallel for num_threads(threads)
    for (int thread = 0; thread < threads; thread++) {
        STANDARD_FLOATS;
        const size_t first = part * (size_t)thread;
        const size_t end = first + part < n ? first + part : n;

        for (int chunk = 1; chunk < work->chunks && first < end; chunk++)
            add(end - first, work->bar[chunk].f + first, to + first);
    }
}

static void add_tangent(const struct adjoint_sizes *n,
                        const struct phys_frame_tangent *from,
                        struct phys_frame_tangent *to)
{
    add(PHYS_NUMBERS, from, to);
    add(PHYS_BROAD_NUMBERS, &from->broad, &to->broad);
    add(n->sources * (sizeof *to->source / sizeof(double)), from->source, to->source);
    add(n->orientations * (sizeof *to->rotation / sizeof(double)), from->rotation,
        to->rotation);
}

void adjoint_clear(const struct adjoint_work *work, int chunk)
{
    const size_t panels = work->sizes.panels;

    clear_tangent(&work->sizes, work->bar + chunk);
    if (panels > 0)
        memset(work->panel + (size_t)chunk * panels, 0, panels * sizeof *work->panel);
    work->value[chunk] = work->peak[chunk] = work->most[chunk] = 0;
}

void adjoint_leave(const struct adjoint_work *work, int chunk, int panel)
{
    double *from = phys_numbers(work->bar + chunk);

    if (work->sizes.panels == 0) return;
    add(PHYS_PANEL_NUMBERS, from,
        work->panel[(size_t)chunk * work->sizes.panels + (size_t)panel]);
    memset(from, 0, PHYS_PANEL_NUMBERS * sizeof *from);
}

void adjoint_sum_chunks(const struct adjoint_work *work)
{
    const size_t panels = work->sizes.panels;

    if (work->bar->f) add_boxes(work, (int)work->sizes.threads);
    for (int chunk = 1; chunk < work->chunks; chunk++) {
        add_tangent(&work->sizes, work->bar + chunk, work->bar);
        if (panels > 0)
            add(panels * PHYS_PANEL_NUMBERS, work->panel + (size_t)chunk * panels,
                work->panel);
        work->value[0] += work->value[chunk];
        work->peak[0] = fmax(work->peak[0], work->peak[chunk]);
    }
}

/* The arguments of one run over all tiles. */
struct run {
    struct progress *progress;
    const struct job *job; /* the job of the image */
    const struct objective *objective;
    const struct kernel_set *kernels;
    struct rounding rounding;
    struct adjoint_work *work;
};

int adjoint_is_plain(const struct phys_frame *frame)
{
    return !frame->amorphous_in_samples && !frame->last_capture
           && frame->surface != PHYS_CURVED_QUIRK;
}

/* Computes the adjoint of a tile or of a part, in float if `single` is 1. If the slopes of
 * the samples do not fit into the workspace, the photons and their cotangents are computed
 * first; with these given, the objective is linear. Returns the contribution to the
 * value. */
static double part_vjp(const struct run *run, int single, const struct tile *tile,
                       void *workspace, struct phys_frame_tangent *bar, double *photons)
{
    struct job panel = job_of_panel(run->job, tile->panel);
    const struct job *job = &panel;
    const struct kernel_set *k = run->kernels;
    const struct adjoint_kernels *lanes = single ? k->adjoint_single : k->adjoint_precise;
    const struct adjoint_kernels *adjoint_kernels =
        adjoint_is_plain(job->frame) ? lanes : &adjoint_kernels_reference;
    tile_vjp *vjp = adjoint_kernels->vjp[job->spec.shape][job->spec.lookup];
    const double needed = workspace_bytes(&run->work->sizes, adjoint_kernels->real_size);
    double photons_bar[TILE_PIXELS], value;
    struct objective objective = {.linear = 1, .given = photons_bar};

    panel.scratch = adjoint_scratch(run->work);
    if (run->objective->linear || needed <= (double)run->work->workspace_size)
        return vjp(job, tile, run->objective, workspace, bar, photons);
    (single ? k->single : k->precise)
        ->forward[job->spec.shape][job->spec.lookup](run->progress, job->frame, tile,
                                                     photons);
    value = objective_tile(run->objective, job, tile, photons, photons_bar, NULL);
    (void)vjp(job, tile, &objective, NULL, bar, photons);
    return value;
}

/* Computes the adjoint of a tile, divided into parts as its rounding error demands. */
static double divided_vjp(const struct run *run, const struct tile *tile, void *workspace,
                          struct phys_frame_tangent *bar, double *peak)
{
    const struct job job = job_of_panel(run->job, tile->panel);
    double photons[TILE_PIXELS], value = 0, left;
    const int n = tiles_divisions(run->kernels, &job, &run->rounding, tile, &left);
    const int parts = n == TILE_IN_DOUBLE ? 1 : 1 << n;

    for (int i = 0; i < parts * parts; i++) {
        const struct tile part = grid_part(tile, parts, i);

        if (grid_rendered(&part) == 0) continue;
        value += part_vjp(run, n != TILE_IN_DOUBLE, &part, workspace, bar, photons);
        *peak = fmax(*peak, grid_peak(&job, &part, photons));
    }
    return value;
}

/* Computes the adjoint of a tile. If job->reach lists the pairs of source and orientation
 * that reach each cell of the tile, each cell is computed by itself, with its pairs
 * alone. */
static double tile_by_cells_vjp(const struct run *run, const struct tile *tile,
                                void *workspace, struct phys_frame_tangent *bar,
                                double *peak)
{
    double value = 0;

    if (!run->job->reach) return divided_vjp(run, tile, workspace, bar, peak);
    for (int i = 0; i < CELLS;) {
        const struct tile part = reach_next(run->job->reach, tile, &i);

        value += divided_vjp(run, &part, workspace, bar, peak);
    }
    return value;
}

/* Computes the adjoint of all tiles and sums the chunks. */
static nb_status all_tiles_vjp(struct progress *progress, const struct run *run,
                               double begin)
{
    struct adjoint_work *work = run->work;
    const struct schedule *schedule = &run->job->schedule;
    const int count = grid_count(run->job);
    const int most = (int)work->sizes.threads; /* threads that have a workspace */
    const int asked = schedule->threads < most ? schedule->threads : most;
    const int threads = asked < work->chunks ? asked : work->chunks;
    const int block = schedule->block;

    progress_part(progress, begin, 1 - begin, count);
#pragma omp parallel for schedule(dynamic, block) num_threads(threads)
    for (int chunk = 0; chunk < work->chunks; chunk++) {
        STANDARD_FLOATS;
        void *workspace = work->workspace + (size_t)threads_index() * work->workspace_size;

        int at = 0; /* panel of the previous tile */

        adjoint_clear(work, chunk);
        for (int t = chunk; t < count; t += work->chunks) {
            const struct tile tile = grid_tile(run->job, t);

            if (progress_stopped(progress)) continue;
            if (tile.panel != at) adjoint_leave(work, chunk, at);
            at = tile.panel;
            work->value[chunk] += tile_by_cells_vjp(run, &tile, workspace,
                                                    work->bar + chunk, work->peak + chunk);
            progress_step(progress);
        }
        adjoint_leave(work, chunk, at);
    }
    (void)threads, (void)block; /* unused without OpenMP */
    adjoint_sum_chunks(work);
    return progress_check(progress);
}

nb_status adjoint_run(struct progress *progress, const struct kernel_set *kernels,
                      const struct job *job, const struct objective *objective,
                      struct adjoint_work *work, struct spots_work *spots)
{
    struct attempts attempts = attempts_first(kernels, job, spots);
    const struct run run = {progress,
                            &attempts.job,
                            objective,
                            &attempts.kernels,
                            rounding_of(job->frame, job->spec),
                            work};

    progress_start(progress, job->planned);
    do {
        NB_TRY(attempts_find_pairs(progress, &attempts));
        NB_TRY(all_tiles_vjp(progress, &run, attempts.begin));
    } while (attempts_again(&attempts, work->peak[0]));
    return progress_end(progress);
}
