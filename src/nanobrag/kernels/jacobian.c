/* jacobian.c - see jacobian.h. SPDX-License-Identifier: MIT */
#include "kernels/jacobian.h"

#include <math.h>

#include "base/threads.h"
#include "kernels/adjoint.h"
#include "kernels/grid.h"
#include "kernels/headway.h"
#include "kernels/rounding.h"
#include "kernels/trials.h"

/* a tile that meets more structure factors than this is halved */
enum { MOST_COLUMNS = 512 };

/* structure factors, and default_f */
static size_t owners_of(const struct jacobian_sizes *n)
{
    return n->box > 0 ? n->f + 1 : 0;
}

/* numbers of the columns: all of a pixel fit */
static size_t columns_room(const struct jacobian_sizes *n)
{
    const size_t owners = owners_of(n);
    const size_t tile = (owners < MOST_COLUMNS ? owners : MOST_COLUMNS) * TILE_PIXELS;

    return owners < tile ? tile : owners;
}

static size_t lists_room(const struct jacobian_sizes *n)
{
    return rows_room(n->tangents, n->sources, n->orientations);
}

int jacobian_reserve(struct arena *arena, const struct jacobian_sizes *n)
{
    int fits = arena_reserve(arena, n->tangents, sizeof(struct phys_slope))
               && arena_reserve(arena, n->tangents, 1)
               && arena_reserve(arena, n->box, sizeof(int))
               && arena_reserve(arena, n->threads, sizeof(struct jacobian_room));

    for (size_t i = 0; i < n->tangents; i++)
        fits = fits && arena_reserve(arena, n->sources, sizeof(struct phys_source))
               && arena_reserve(arena, n->orientations, sizeof(struct phys_turn));
    for (size_t i = 0; i < n->threads; i++)
        fits = fits && arena_reserve(arena, lists_room(n), 1)
               && arena_reserve(arena, n->tangents * TILE_PIXELS, sizeof(double))
               && arena_reserve(arena, owners_of(n), sizeof(int))
               && arena_reserve(arena, owners_of(n), sizeof(int))
               && arena_reserve(arena, columns_room(n), sizeof(double))
               && arena_reserve(arena, n->by_pixel, sizeof(double))
               && arena_reserve(arena, n->by_pixel, sizeof(int))
               && arena_reserve(arena, n->by_pixel, 1);
    return fits;
}

static void take_room(struct arena *arena, const struct jacobian_sizes *n,
                      const struct jacobian_work *work, struct jacobian_room *out)
{
    struct columns *c = &out->columns;

    out->lists = arena_take(arena, lists_room(n), 1);
    out->change = arena_take(arena, n->tangents * TILE_PIXELS, sizeof *out->change);
    c->owner = work->owner;
    c->at = arena_take(arena, owners_of(n), sizeof *c->at);
    c->used = arena_take(arena, owners_of(n), sizeof *c->used);
    c->room = columns_room(n);
    c->slope = arena_take(arena, c->room, sizeof *c->slope);
    c->box = arena_take(arena, n->by_pixel, sizeof *c->box);
    c->touched.place = arena_take(arena, n->by_pixel, sizeof *c->touched.place);
    c->touched.mark = arena_take(arena, n->by_pixel, 1);
    for (size_t i = 0; i < owners_of(n); i++) c->at[i] = -1;
}

void jacobian_take(struct arena *arena, const struct jacobian_sizes *n,
                   struct jacobian_work *out)
{
    out->sizes = *n;
    out->dot = arena_take(arena, n->tangents, sizeof *out->dot);
    out->turns = arena_take(arena, n->tangents, 1);
    out->owner = arena_take(arena, n->box, sizeof *out->owner);
    out->room = arena_take(arena, n->threads, sizeof *out->room);
    for (size_t i = 0; i < n->tangents; i++) {
        out->dot[i].source = arena_take(arena, n->sources, sizeof *out->dot->source);
        out->dot[i].turn = arena_take(arena, n->orientations, sizeof *out->dot->turn);
    }
    for (size_t i = 0; i < n->threads; i++) take_room(arena, n, out, out->room + i);
}

struct run {
    const struct job *job;
    const struct kernel_set *kernels;
    const struct jacobian_work *work;
    const struct jacobian_reader *reader;
    struct tangents along;
    struct rounding rounding;
};

/* what the places of default_f add to tangents along which it changes */
static void add_default(const struct run *run, int pixels, const struct columns *c,
                        double *change)
{
    const int at = c->at[run->work->sizes.f];

    for (int d = 0; at >= 0 && d < run->along.n; d++)
        for (int i = 0; i < pixels; i++)
            change[d * TILE_PIXELS + i] +=
                run->along.dot[d].default_f
                * c->slope[(size_t)at * (size_t)pixels + (size_t)i];
}

/* a tile, in halves where it meets more structure factors than there is room for. Returns
 * its brightest pixel */
static double tile_rows_of(const struct run *run, const struct puller *puller,
                           struct tile tile, int chunk, struct jacobian_room *room)
{
    const struct job *job = run->job;
    struct columns *columns = run->work->sizes.box > 0 ? &room->columns : NULL;
    double photons[TILE_PIXELS];
    const struct jacobian_rows rows = {tile, photons, room->change, columns};
    double peak;

    if (grid_rendered(job, &tile) == 0) return 0;
    puller->rows[job->spec.shape][job->spec.lookup](job, &tile, &run->along, room->lists,
                                                    columns, photons, room->change);
    if (columns && columns->full) {
        struct tile other = tile;

        columns_clear(columns);
        if (tile.width > tile.height) {
            tile.width /= 2;
            other.fast += tile.width, other.width -= tile.width;
        } else {
            tile.height /= 2;
            other.slow += tile.height, other.height -= tile.height;
        }
        peak = tile_rows_of(run, puller, tile, chunk, room);
        return fmax(peak, tile_rows_of(run, puller, other, chunk, room));
    }
    if (columns) add_default(run, tile.width * tile.height, columns, room->change);
    run->reader->tile(run->reader->user, chunk, job, puller, &rows);
    if (columns) columns_clear(columns);
    return grid_largest(job, &tile, photons);
}

static double divided(const struct run *run, const struct tile *tile, int chunk,
                      struct jacobian_room *room)
{
    const struct kernel_set *k = run->kernels;
    double left, peak = 0;
    const int n = tiles_divisions(k, run->job, &run->rounding, tile, &left);
    const int parts = n == TILE_IN_DOUBLE ? 1 : 1 << n;
    const struct puller *lanes = n == TILE_IN_DOUBLE ? k->pull_precise : k->pull_single;
    const struct puller *use =
        adjoint_is_plain(run->job->frame) ? lanes : &pullers_reference;

    for (int i = 0; i < parts * parts; i++)
        peak = fmax(peak, tile_rows_of(run, use, grid_part(tile, parts, i), chunk, room));
    return peak;
}

static double by_cells(const struct run *run, const struct tile *tile, int chunk,
                       struct jacobian_room *room)
{
    double peak = 0;

    if (!run->job->live) return divided(run, tile, chunk, room);
    for (int i = 0; i < CELLS; i++) {
        const struct tile cell = live_part(tile, i);

        peak = fmax(peak, divided(run, &cell, chunk, room));
    }
    return peak;
}

static nb_status all_rows(struct headway *headway, const struct run *run, double begin,
                          double *brightest)
{
    const struct jacobian_reader *reader = run->reader;
    const struct schedule *schedule = &run->job->schedule;
    const int count = grid_count(run->job);
    const int chunks = reader->chunks > 0 ? reader->chunks : count;
    const int most = (int)run->work->sizes.threads; /* there is room for */
    const int asked = schedule->threads < most ? schedule->threads : most;
    const int threads = asked < chunks ? asked : chunks > 0 ? chunks : 1;
    const int block = schedule->block;
    double peak = 0;

    headway_part(headway, begin, 1 - begin, count);
#pragma omp parallel for schedule(dynamic, block) num_threads(threads) reduction(max : peak)
    for (int chunk = 0; chunk < chunks; chunk++) {
        struct jacobian_room *room = run->work->room + threads_own();

        reader->start(reader->user, chunk);
        for (int t = chunk; t < count; t += chunks) {
            const struct tile tile = grid_tile(run->job, t);

            if (headway_stopped(headway)) continue;
            peak = fmax(peak, by_cells(run, &tile, chunk, room));
            headway_step(headway);
        }
    }
    (void)threads, (void)block; /* unused without OpenMP */
    *brightest = peak;
    return headway_check(headway);
}

static int any_turns(const struct phys_slope *dot, size_t orientations)
{
    for (size_t k = 0; k < orientations; k++) {
        const struct phys_turn *t = dot->turn + k;

        if (t->by[0] != 0 || t->by[1] != 0 || t->by[2] != 0 || t->weight != 0) return 1;
    }
    return 0;
}

nb_status jacobian_run(nb_context *ctx, const struct kernel_set *kernels,
                       const struct job *job, int n, const struct jacobian_work *work,
                       const struct jacobian_reader *reader, struct spots_work *spots)
{
    struct run run = {job,
                      kernels,
                      work,
                      reader,
                      {n, work->dot, work->turns},
                      rounding_of(job->frame, job->spec)};
    struct trials trials = trials_first(kernels, job, spots);
    struct headway headway;
    double peak;

    for (int d = 0; d < n; d++)
        work->turns[d] = (unsigned char)any_turns(work->dot + d, work->sizes.orientations);
    run.job = &trials.job;
    run.kernels = &trials.kernels;
    headway_start(&headway, ctx, job);
    do {
        NB_TRY(trials_pairs(&headway, &trials));
        NB_TRY(all_rows(&headway, &run, trials.begin, &peak));
    } while (trials_again(&trials, peak));
    return headway_end(&headway);
}
