/*
 * tile_spots.c - lists the spots of a job, tile by tile. Spots are found strip by strip, as
 * for an image. A strip holds whole rows of tiles, so one thread at a time appends to the
 * list of a row. The order does not depend on the number of threads, nor on the number of
 * strips in a batch.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/spots/rows/tile_spots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "kernels/spots/row_strips.h"
#include "physics/pixel.h"

/* Batches are planned for USUAL_SPOTS. A batch of more than MANY_SPOTS, 18 MiB, is divided
 * unless it has only one strip for each thread. Such a batch has at most MOST_SPOTS, 288
 * MiB. */
enum { USUAL_SPOTS = 1 << 18, MANY_SPOTS = 1 << 19, MOST_SPOTS = 1 << 23 };

/* A spot of an image ends where F^2 falls below some value. For slopes it ends at this
 * share of that value, because slopes fall more slowly than F^2 towards the edge of a
 * spot. */
static const double slope_share = 0.01;

int tile_spots_suit(const struct job *job)
{
    const struct phys_frame *f = job->frame;

    return job->spec.shape != PHYS_SQUARE && job->spec.lookup != PHYS_TRICUBIC
           && !phys_differs_by_source(f) && !f->each_omega && f->layer_mu == 0
           && f->nlayers == 1 && !f->amorphous_in_samples && f->oversample <= 1000
           && f->nfast <= 1 << 20;
}

/* ---- the lists ---- */

/* The argument of list_pair(). */
struct spot_search {
    const struct splat_kernels *splat_kernels;
    struct spots_work *work;
    size_t limit, *count; /* largest number of spots; number found, listed or not */
    int *failed; /* becomes 1 if there is no memory */
};

static int grow_row(struct spot_row *row)
{
    const size_t most = row->most + row->most / 2 + 256;
    struct tile_spot *spot = realloc(row->spot, most * sizeof *spot);

    if (!spot) return 0;
    row->spot = spot;
    row->most = most;
    return 1;
}

static void append(const struct spot_search *l, int at, const struct tile_spot *spot)
{
    struct spot_row *row = l->work->rows + at;
    size_t count;

#pragma omp atomic capture
    count = ++*l->count;
    if (count > l->limit) return;
    if (row->n == row->most && !grow_row(row)) {
#pragma omp atomic write
        *l->failed = 1;
        return;
    }
    row->spot[row->n++] = *spot;
}

/* Returns the number of the first tile in a row of tiles, of a panel or of the image. */
static int first_of_row(const struct window *window, int row)
{
    const int run = window->row[row];

    return run < window->row[window->nrow] ? window->span[run].first
                                           : window->first_tile + window->ntile;
}

/* Adds a spot, given by a rectangle of samples, to the list of every tile of the panel that
 * it overlaps. */
static void list_outline(const struct spot_search *l, const struct splat_layer *splat_layer,
                         const struct outline *at, struct tile_spot spot)
{
    const struct window *window = splat_layer->window;
    const int n = splat_layer->frame->oversample;
    const int fast = n * TILE_FAST, slow = n * TILE_SLOW; /* samples of a tile */

    for (int s = at->slow[0] / slow; s * slow < at->slow[1]; s++)
        for (int f = at->fast[0] / fast; f * fast < at->fast[1]; f++) {
            const struct tile *tile = window_tile_at(window, s * TILE_SLOW, f * TILE_FAST);
            const int f0 = max_int(at->fast[0], f * fast);
            const int s0 = max_int(at->slow[0], s * slow);
            const int row = s - window->first_row;

            if (!tile) continue;
            spot.tile = (unsigned short)(tile->number - first_of_row(window, row));
            spot.fast = (unsigned short)(f0 - f * fast);
            spot.slow = (unsigned short)(s0 - s * slow);
            spot.width = (unsigned short)(min_int(at->fast[1], (f + 1) * fast) - f0);
            spot.height = (unsigned short)(min_int(at->slow[1], (s + 1) * slow) - s0);
            append(l, window->row0 + row - l->work->first_row, &spot);
        }
}

/* Lists the spots of one pair in a strip. */
static void list_pair(const void *user, int chunk, const struct splat_layer *splat_layer,
                      const struct pair *pair, const struct reflections *list, int *hits)
{
    const struct spot_search *l = user;
    struct tile_spot spot = {.source = pair->index, .orientation = pair->orientation};
    struct outline at[SPLAT_PAD];
    size_t count;
    int n;

    (void)chunk;
#pragma omp atomic read
    count = *l->count;
    if (count > l->limit) return;
    n = l->splat_kernels->scan(pair, list, hits);
    for (int first = 0; first < n; first += SPLAT_PAD) {
        const int found =
            l->splat_kernels->outline(splat_layer, pair, list, hits + first, n - first, at);

        for (int i = 0; i < found; i++) {
            const int hit = hits[first + at[i].hit];

            spot.hkl[0] = (int)list->h[hit];
            spot.hkl[1] = (int)list->k[hit];
            spot.hkl[2] = (int)list->l[hit];
            list_outline(l, splat_layer, at + i, spot);
        }
    }
}

/* ---- the order of the tiles ---- */

static int grow_order(struct spot_row *row, size_t tiles)
{
    if (row->most > row->ordered) {
        free(row->order);
        row->order = malloc(row->most * sizeof *row->order);
        row->ordered = row->order ? row->most : 0;
    }
    if (tiles >= row->tiles) {
        free(row->first);
        row->first = malloc((tiles + 1) * sizeof *row->first);
        row->tiles = row->first ? tiles + 1 : 0;
    }
    return row->ordered == row->most && row->tiles > tiles;
}

/* Sorts the spots of a row by their tiles; spots of one tile keep their order. Returns 0 if
 * there is no memory. */
static int sort_row(struct spot_row *row, size_t tiles)
{
    unsigned *first;

    if (!grow_order(row, tiles)) return 0;
    first = row->first;
    memset(first, 0, (tiles + 1) * sizeof *first);
    for (size_t i = 0; i < row->n; i++) first[row->spot[i].tile + 1]++;
    for (size_t t = 0; t < tiles; t++) first[t + 1] += first[t];
    for (size_t i = 0; i < row->n; i++)
        row->order[first[row->spot[i].tile]++] = (unsigned)i;
    memmove(first + 1, first, tiles * sizeof *first);
    first[0] = 0;
    return 1;
}

static int sort_rows(const struct job *job, struct spots_work *work, int rows)
{
    const struct window *window = job->window;
    int sorted = 1;

#pragma omp parallel for schedule(dynamic) num_threads(job->schedule.threads) \
    reduction(& : sorted)
    for (int i = 0; i < rows; i++) {
        const int r = work->first_row + i;

        sorted &= sort_row(work->rows + i,
                           (size_t)(first_of_row(window, r + 1) - first_of_row(window, r)));
    }
    return sorted;
}

static int grow_rows(struct spots_work *work, size_t n)
{
    if (n > work->nrows) {
        struct spot_row *rows = realloc(work->rows, n * sizeof *rows);

        if (!rows) return 0;
        memset(rows + work->nrows, 0, (n - work->nrows) * sizeof *rows);
        work->rows = rows;
        work->nrows = n;
    }
    for (size_t r = 0; r < work->nrows; r++) work->rows[r].n = 0;
    return 1;
}

/* ---- batches ---- */

/* Returns the number of pixels of all panels. */
static double pixels_of(const struct job *job)
{
    double pixels = 0;

    for (int i = 0; i < window_panels(job->window); i++)
        pixels += (double)job->frame[i].nfast * job->frame[i].nslow;
    return pixels;
}

/* Estimates how many spots the tiles of a job list: the spots of each pair, times the tiles
 * that a spot overlaps. The width of a spot is its width on a sphere around the crystal. */
static double estimate_spots(const struct job *job, double radius)
{
    const struct phys_frame *frame = job->frame;
    const int panels = window_panels(job->window);
    const double part = job->window->ntile * (double)TILE_PIXELS / pixels_of(job);
    const double pairs = (double)frame->nsource * frame->norientation;
    struct ewald e = ewald_of(frame, panels, job->spec, radius);
    double width;

    (void)strips_group(&e, frame);
    width = 2 * radius / e.wave * frame->close_distance / frame->pixel;
    return part * pairs * ewald_hits(&e, radius) * (1 + width / TILE_FAST)
           * (1 + width / TILE_SLOW);
}

struct spot_batch tile_spots_start(const struct attempts *attempts)
{
    const double spots = estimate_spots(&attempts->job, attempts->spot.radius);
    struct spot_batch batch = {0};
    double strips;
    int end;

    strips_of_window(attempts->job.window, &batch.end_strip, &end);
    strips = (end - batch.end_strip) * (USUAL_SPOTS / (spots + 1));
    batch.strips = strips < end ? (int)strips : end;
    return batch;
}

/* Lists the spots of strips first .. end - 1. *count becomes their number; if it exceeds
 * `limit`, the list is not complete. */
static nb_status list_strips(struct progress *progress, const struct attempts *attempts,
                             int first, int end, size_t limit, size_t *count)
{
    const struct window *window = attempts->job.window;
    struct spots_work *work = attempts->work;
    const int row = strips_row(window, first), rows = strips_row(window, end) - row;
    const double begin = first_of_row(window, row);
    const double behind = first_of_row(window, row + rows);
    int failed = 0;
    const struct spot_search search = {attempts->kernels.splat_precise, work, limit, count,
                                       &failed};
    const struct strips strips = {
        .job = &attempts->job,
        .radius = attempts->spot.radius,
        .first = first,
        .end = end,
        .begin = begin / window->ntile,
        .share = attempts->begin * (behind - begin) / window->ntile,
        .visit = list_pair,
        .user = &search,
        .work = work,
    };

    *count = 0;
    if (!grow_rows(work, (size_t)rows))
        return fail_memory(progress->ctx, "a list of spots");
    work->first_row = row;
    NB_TRY(strips_run(progress, &strips));
    if (*count <= limit && (failed || !sort_rows(&attempts->job, work, rows)))
        return fail_memory(progress->ctx, "a list of spots");
    return NB_OK;
}

nb_status tile_spots_find(struct progress *progress, const struct attempts *attempts,
                          struct spot_batch *batch, int *listed)
{
    const struct window *window = attempts->job.window;
    const int threads = attempts->job.schedule.threads;
    const int first = batch->end_strip;
    int end, last, strips = max_int(batch->strips, threads);
    size_t count, limit;

    strips_of_window(window, &end, &last);
    strips = min_int(strips, last - first);
    for (;;) {
        end = first + strips;
        limit = strips > threads ? MANY_SPOTS : MOST_SPOTS;
        NB_TRY(list_strips(progress, attempts, first, end, limit, &count));
        if (count <= limit || strips == 1) break;
        strips = (strips + 1) / 2;
    }
    *listed = count <= limit;
    batch->end_strip = end;
    batch->tile = batch->end;
    batch->end = first_of_row(window, strips_row(window, end));
    /* at most doubled, because spots may lie more densely in the next batch */
    batch->strips = (int)(strips * fmin(2, USUAL_SPOTS / ((double)count + 1)));
    return NB_OK;
}

struct spot_list tile_spots_of(const struct spots_work *work, const struct job *job,
                               const struct tile *tile)
{
    const int at = tile->slow / TILE_SLOW - job->window->first_row;
    const struct spot_row *row = work->rows + job->window->row0 + at - work->first_row;
    const unsigned *first = row->first + tile->number - first_of_row(job->window, at);
    const struct spot_list list = {row->spot, row->order + first[0], first[1] - first[0]};

    return list;
}

void tile_spots_free(struct spots_work *work)
{
    for (size_t r = 0; r < work->nrows; r++) {
        free(work->rows[r].spot);
        free(work->rows[r].order);
        free(work->rows[r].first);
    }
    free(work->rows);
}

size_t tile_spots_bytes(const struct spots_work *work)
{
    size_t bytes = work->nrows * sizeof *work->rows;

    for (size_t r = 0; r < work->nrows; r++)
        bytes += work->rows[r].most * sizeof *work->rows[r].spot
                 + work->rows[r].ordered * sizeof *work->rows[r].order
                 + work->rows[r].tiles * sizeof *work->rows[r].first;
    return bytes;
}

/* ---- numbers that all tiles share ---- */

static void cross_product(const double *a, const double *b, double *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static void find_turn(const struct phys_orientation *at, struct row_turn *out)
{
    double stars[9];

    (void)ewald_stars(at->axes, stars);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            cross_product(at->axes + (size_t)3 * (size_t)i, stars + (size_t)3 * (size_t)j,
                          out->turn[3 * i + j]);
}

static int any_source(const struct phys_frame *frame, const struct phys_frame_tangent *dot)
{
    for (int i = 0; i < frame->nsource; i++)
        if (phys_source_inner(dot->source + i, dot->source + i) != 0) return 1;
    return 0;
}

/* Appends tangent d to the last block, or to a new one. */
static void add_to_block(const struct tangents *along, int d, int shines,
                         struct row_tangents *out)
{
    const struct phys_frame_tangent *dot = along->dot + d;
    struct row_block *b = out->block + out->nblocks - 1;
    int t;

    if (out->nblocks == 0 || b->n == ROW_BLOCK) {
        b = out->block + out->nblocks++;
        memset(b, 0, sizeof *b);
    }
    t = b->n++;
    b->which[t] = d;
    b->turns |= along->rotates[d];
    b->shines |= shines;
    for (int k = 0; k < 9; k++) b->strain[k][t] = dot->strain[k];
    for (int k = 0; k < 6; k++) b->metric[k][t] = dot->metric[k];
    b->fudge[t] = dot->fudge;
    b->b_factor[t] = dot->b_factor;
}

static int any_weight(const struct phys_frame *frame, const struct phys_frame_tangent *dot)
{
    for (int k = 0; k < frame->norientation; k++)
        if (dot->rotation[k].weight != 0) return 1;
    return 0;
}

/* Appends tangent d to the list of tangents that move samples. */
static void add_place(const struct phys_frame *frame, int d,
                      const struct phys_frame_tangent *dot, struct row_tangents *out)
{
    struct row_place *p = out->place + out->nplaces++;
    const double over = frame->oversample, sub = frame->pixel / over;

    p->which = d;
    for (int k = 0; k < 3; k++) {
        /* the factors of a pixel are evaluated on the first layer */
        p->place[k] = dot->pix0[k] + frame->layer_offset * dot->normal[k]
                      + dot->layer_offset * frame->normal[k];
        p->fast[k] = sub * dot->fast[k] + frame->fast[k] * dot->pixel / over;
        p->slow[k] = sub * dot->slow[k] + frame->slow[k] * dot->pixel / over;
        out->moments |= p->fast[k] != 0 || p->slow[k] != 0;
    }
}

/* Returns the derivative of phys_amorphous_level() along a tangent. */
static double amorphous_change(const struct phys_frame *frame,
                               const struct phys_frame_tangent *dot)
{
    double light = 0, change = 0;

    for (int i = 0; i < frame->nsource && frame->amorphous_scale != 0; i++) {
        light += frame->source[i].weight;
        change += dot->source[i].weight;
    }
    return (dot->amorphous_scale * light + frame->amorphous_scale * change)
           * frame->amorphous_f * frame->amorphous_f;
}

/* Appends tangent d to the list of tangents that change the factors of a pixel. */
static void add_factor(const struct job *job, int d, const struct phys_frame_tangent *dot,
                       struct row_tangents *out)
{
    const struct phys_frame *frame = job->frame;
    const int curved = frame->surface == PHYS_CURVED,
              constant = frame->default_f != 0 && job->spec.lookup == PHYS_CONSTANT;
    struct row_factor *f = out->factor + out->nfactors;
    double relative = 2 * dot->peak / frame->peak, omega = 0;

    if (constant) relative += 2 * dot->default_f / frame->default_f;
    if (!frame->point_pixel) omega += 2 * dot->pixel / frame->pixel;
    if (!frame->point_pixel && !curved)
        omega += dot->close_distance / frame->close_distance;
    if (curved) omega -= 2 * dot->distance / frame->distance;
    f->which = d;
    f->relative = relative + omega;
    f->amorphous = amorphous_change(frame, dot) + omega * phys_amorphous_level(frame);
    f->more = dot->bragg_scale * phys_constant_factor(job->spec, frame);
    f->kahn = dot->kahn;
    f->source = dot->source[0];
    f->polar = frame->polarised
               && (dot->kahn != 0 || phys_source_inner(dot->source, dot->source) != 0);
    out->nfactors += f->relative != 0 || f->more != 0 || f->amorphous != 0 || f->polar != 0;
}

void tile_spots_tangents(const struct job *job, const struct tangents *along, double least,
                         struct row_tangents *out)
{
    const struct phys_frame *frame = job->frame;

    out->along = along;
    out->least = slope_share * least;
    out->scale = frame->bragg_scale * phys_constant_factor(job->spec, frame);
    out->nblocks = out->nplaces = out->nfactors = out->moments = 0;
    for (int d = 0; d < along->n; d++) {
        const struct phys_frame_tangent *dot = along->dot + d;
        const int shines = dot->fudge != 0 || dot->b_factor != 0 || any_source(frame, dot)
                           || any_weight(frame, dot);

        if (shines || along->rotates[d] || phys_changes(dot, PHYS_STRAIN | PHYS_WIDTH))
            add_to_block(along, d, shines, out);
        if (phys_changes(dot, PHYS_PLACE) || dot->pixel != 0
            || (frame->layer_offset != 0 && phys_changes(dot, PHYS_FACTOR)))
            add_place(frame, d, dot, out);
        add_factor(job, d, dot, out);
    }
    if (frame->oversample == 1) out->moments = 0;
    for (int k = 0; k < frame->norientation; k++)
        find_turn(frame->orientation + k, out->turn + k);
}
