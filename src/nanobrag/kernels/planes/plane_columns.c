/*
 * plane_columns.c - the normal matrix after the planes are eliminated: the Schur complement
 *
 *   J^T W J - sum over boxes of (J^T W P) (P^T W P)^-1 (P^T W J).
 *
 * Tiles come in any order, and a box may lie in several tiles. So P^T W J is summed for
 * each piece, the pixels that a tile and a box share. The pieces of a box are added after
 * the last tile. A tile depends on few structure factors, so their sums are kept as lists.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/derivatives/normal.h"
#include "kernels/grid.h"
#include "kernels/planes/planes.h"

/* ---- pieces ---- */

/* Calls `found` for each piece, that is each pair of a tile and a box that share pixels,
 * tile by tile. Returns the number of pieces. */
typedef void pair_found(struct planes *planes, int tile, int piece, int box);

static size_t each_pair(const struct planes *planes, pair_found *found,
                        struct planes *receiver)
{
    const struct window *image = planes->window;
    int boxes[TILE_PIXELS];
    size_t total = 0;

    for (int t = 0; t < image->ntile; t++) {
        const struct tile *tile = image->tile + t;
        const struct window *w = window_panel(image, tile->panel);
        const struct tile_span *span = tile_span_of(w, tile->slow, tile->fast);
        int n = 0;

        for (int i = 0; i < TILE_PIXELS; i++) {
            const int s = tile->slow + i / TILE_FAST, f = tile->fast + i % TILE_FAST;
            const int box = planes->owner[window_place(span, s, f)];
            int k = n - 1;

            if (box < 0) continue;
            while (k >= 0 && boxes[k] != box) k--;
            if (k < 0) boxes[n++] = box;
        }
        for (int i = 0; found && i < n; i++) found(receiver, t, (int)total + i, boxes[i]);
        total += (size_t)n;
    }
    return total;
}

size_t planes_pieces(const struct planes *planes)
{
    return each_pair(planes, NULL, NULL);
}

void planes_columns_take(struct arena *arena, size_t pieces, struct planes *planes)
{
    struct plane_columns *c = &planes->columns;
    const size_t d = c->tangents;

    c->first = arena_take(arena, (size_t)planes->window->ntile + 1, sizeof *c->first);
    c->piece = arena_take(arena, pieces, sizeof *c->piece);
    c->sums = arena_take(arena, pieces * PLANE_TERMS * d, sizeof *c->sums);
    c->entries = arena_take(arena, (size_t)c->chunks, sizeof *c->entries);
    c->box = arena_take(arena, PLANE_TERMS * d, sizeof *c->box);
    c->solved = arena_take(arena, PLANE_TERMS * d, sizeof *c->solved);
    c->f_box = arena_take(arena, c->f * PLANE_TERMS, sizeof *c->f_box);
    c->before = arena_take(arena, d + c->f, sizeof *c->before);
    c->f_used = arena_take(arena, c->f, sizeof *c->f_used);
    c->f_at = arena_take(arena, c->f, sizeof *c->f_at);
    for (size_t i = 0; c->f_at && i < c->f; i++) c->f_at[i] = -1;
}

static void add_piece(struct planes *planes, int tile, int piece, int box)
{
    const struct plane_piece made = {box, tile % planes->columns.chunks, -1, -1, -1};

    planes->columns.piece[piece] = made; /* tile t belongs to chunk t % chunks */
    planes->columns.first[tile + 1] = piece + 1;
}

void planes_cut(struct planes *planes)
{
    struct plane_columns *c = &planes->columns;
    const int n = (int)each_pair(planes, add_piece, planes);

    for (size_t i = 0; i < planes->nbox; i++) planes->plane[i].first = -1;
    for (int i = n - 1; i >= 0; i--) {
        struct plane *plane = planes->plane + c->piece[i].box;

        c->piece[i].next = plane->first;
        plane->first = i;
    }
}

void planes_columns_free(struct plane_columns *columns)
{
    for (int i = 0; columns->entries && i < columns->chunks; i++)
        free(columns->entries[i].entry);
    memset(columns, 0, sizeof *columns);
}

size_t planes_entries_bytes(const struct plane_columns *columns)
{
    size_t bytes = 0;

    for (int i = 0; columns->entries && i < columns->chunks; i++)
        bytes += (size_t)columns->entries[i].room * sizeof *columns->entries[i].entry;
    return bytes;
}

/* ---- the sums of a tile ---- */

void planes_clear(const struct planes *planes, int chunk)
{
    const struct plane_columns *c = &planes->columns;

    c->entries[chunk].n = 0;
    c->entries[chunk].failed = 0;
    for (int t = chunk; t < planes->window->ntile; t += c->chunks)
        for (int i = c->first[t]; i < c->first[t + 1]; i++) {
            c->piece[i].head = c->piece[i].tail = -1;
            memset(c->sums + (size_t)i * PLANE_TERMS * c->tangents, 0,
                   PLANE_TERMS * c->tangents * sizeof *c->sums);
        }
}

/* W P at the pixels of a part of a tile; 0 at pixels that do not belong to one box. */
struct weighted_plane {
    double term[PLANE_TERMS][TILE_PIXELS];
};

/* Computes W P of box `number` in a part of a tile. Returns how many of its pixels belong
 * to the box. */
static int weigh_plane(const struct planes *planes, const struct tile *tile, int number,
                       struct weighted_plane *out)
{
    const struct window *w = window_panel(planes->window, tile->panel);
    const int *box = planes->box[number];
    const struct tile_span *span = tile_span_of(w, tile->slow, tile->fast);
    int at = 0, found = 0;

    for (int r = 0; r < tile->height; r++) {
        const int s = tile->slow + r;
        const size_t place = window_place(span, s, tile->fast);
        const double v = plane_across(box[2], box[3], w->slow0 + s);

        for (int i = 0; i < tile->width; i++) {
            const int is_inside = planes->owner[place + (size_t)i] == number;
            const double u = plane_across(box[0], box[1], w->fast0 + tile->fast + i);
            const int moves = is_inside && plane_moves(planes->plane + number, u, v);
            const double weight = moves ? planes->weight[place + (size_t)i] : 0;

            if (!(tile->shown[r] >> i & 1)) continue;
            out->term[0][at] = weight;
            out->term[1][at] = weight * u;
            out->term[2][at] = weight * v;
            found += is_inside;
            at++;
        }
    }
    return found;
}

/* Appends the sums by one structure factor to a piece. */
static void append(struct plane_entries *list, struct plane_piece *piece,
                   const struct plane_entry *entry)
{
    if (list->n == list->room) {
        const int room = list->room > 0 ? 2 * list->room : 64;
        void *larger = realloc(list->entry, (size_t)room * sizeof *list->entry);

        if (!larger) {
            list->failed = 1;
            return;
        }
        list->entry = larger;
        list->room = room;
    }
    list->entry[list->n] = *entry;
    if (piece->tail >= 0)
        list->entry[piece->tail].next = list->n;
    else
        piece->head = list->n;
    piece->tail = list->n++;
}

static void add_factors(const struct planes *planes, int chunk, struct plane_piece *piece,
                        const struct adjoint_kernels *adjoint_kernels,
                        const struct jacobian_tile *jacobian,
                        const struct weighted_plane *weighted)
{
    const struct columns *columns = jacobian->columns;
    const int n = grid_rendered(&jacobian->tile);
    const size_t lanes = (size_t)grid_lanes(&jacobian->tile);

    for (int c = 0; c < columns->n; c++) {
        const double *column = columns->slope + (size_t)c * lanes;
        struct plane_entry entry = {columns->used[c], -1, {0}};

        if ((size_t)entry.f >= planes->columns.f) continue; /* the column of default_f */
        for (int k = 0; k < PLANE_TERMS; k++)
            entry.sum[k] = adjoint_kernels->product(n, weighted->term[k], column);
        append(planes->columns.entries + chunk, piece, &entry);
    }
}

void planes_add_tile(const struct planes *planes, int chunk,
                     const struct adjoint_kernels *adjoint_kernels,
                     const struct jacobian_tile *jacobian)
{
    const struct plane_columns *c = &planes->columns;
    const struct tile *tile = &jacobian->tile;
    const int n = grid_rendered(tile);
    struct weighted_plane weighted;

    for (int i = c->first[tile->number]; i < c->first[tile->number + 1]; i++) {
        double *sums = c->sums + (size_t)i * PLANE_TERMS * c->tangents;

        if (!weigh_plane(planes, tile, c->piece[i].box, &weighted)) continue;
        for (int k = 0; k < PLANE_TERMS; k++)
            for (size_t d = 0; d < jacobian->of->n; d++)
                sums[(size_t)k * c->tangents + jacobian_which(jacobian->of, d)] +=
                    adjoint_kernels->product(n, weighted.term[k],
                                             jacobian->change + d * TILE_PIXELS);
        if (jacobian->columns)
            add_factors(planes, chunk, c->piece + i, adjoint_kernels, jacobian, &weighted);
    }
}

/* ---- elimination ---- */

/* Adds the pieces of a box: their sums to c->box, and the sums by its n structure factors
 * to c->f_box. Returns n. */
static int add_pieces(const struct planes *planes, const struct plane *plane)
{
    const struct plane_columns *c = &planes->columns;
    const size_t size = PLANE_TERMS * c->tangents;
    int n = 0;

    memset(c->box, 0, size * sizeof *c->box);
    for (int i = plane->first; i >= 0; i = c->piece[i].next) {
        const double *sums = c->sums + (size_t)i * size;
        const struct plane_entry *entry = c->entries[c->piece[i].chunk].entry;

        for (size_t k = 0; k < size; k++) c->box[k] += sums[k];
        for (int e = c->piece[i].head; e >= 0; e = entry[e].next) {
            const int f = entry[e].f;

            if (c->f_at[f] < 0) {
                c->f_at[f] = n;
                c->f_used[n] = f;
                memset(c->f_box + (size_t)PLANE_TERMS * (size_t)n, 0,
                       PLANE_TERMS * sizeof *c->f_box);
                n++;
            }
            for (int k = 0; k < PLANE_TERMS; k++)
                c->f_box[(size_t)PLANE_TERMS * (size_t)c->f_at[f] + (size_t)k] +=
                    entry[e].sum[k];
        }
    }
    for (int k = 0; k < n; k++) c->f_at[c->f_used[k]] = -1;
    return n;
}

/* Sets c->solved to (P^T W P)^-1 P^T W J of a box. */
static void solve_columns(const struct plane_columns *c, const struct plane *plane)
{
    for (int k = 0; k < PLANE_TERMS; k++)
        for (size_t d = 0; d < c->tangents; d++) {
            double sum = 0;

            for (int m = 0; m < PLANE_TERMS; m++)
                sum += plane->inverse[k][m] * c->box[(size_t)m * c->tangents + d];
            c->solved[(size_t)k * c->tangents + d] = sum;
        }
}

/* Returns the scalar product of column i of P^T W J and column k of c->solved. */
static double explained(const struct plane_columns *c, size_t i, size_t k)
{
    double sum = 0;

    for (size_t m = 0; m < PLANE_TERMS; m++)
        sum += c->box[m * c->tangents + i] * c->solved[m * c->tangents + k];
    return sum;
}

static void subtract_dense(const struct plane_columns *c, double *matrix)
{
    for (size_t i = 0; i < c->tangents; i++)
        for (size_t k = 0; k <= i; k++) matrix[i * c->tangents + k] -= explained(c, i, k);
}

/* Subtracts the part that the plane of a box explains from the diagonal and the coupling of
 * the n structure factors of the box. */
static void subtract_factors(const struct plane_columns *c, const struct plane *plane,
                             int n, int coupling, struct normal_sums *sums)
{
    for (int i = 0; i < n; i++) {
        const double *column = c->f_box + (size_t)PLANE_TERMS * (size_t)i;
        const size_t f = (size_t)c->f_used[i];

        for (int k = 0; k < PLANE_TERMS; k++)
            for (int m = 0; m < PLANE_TERMS; m++)
                sums->f_diagonal[f] -= column[k] * plane->inverse[k][m] * column[m];
        for (size_t d = 0; coupling && d < c->tangents; d++)
            for (size_t k = 0; k < PLANE_TERMS; k++)
                sums->coupling[d * c->f + f] -= c->solved[k * c->tangents + d] * column[k];
    }
}

/* A diagonal element below this fraction of its value before elimination is rounding. If a
 * parameter only adds planes, n eps is left of it, for n up to some thousand pixels. */
static const double least_left = 1e-12;

/* Sets those elements of a diagonal to 0 that are only rounding. */
static void remove_rounding(size_t n, size_t stride, const double *before, double *diagonal)
{
    for (size_t i = 0; i < n; i++)
        if (!(diagonal[i * stride] > least_left * before[i])) diagonal[i * stride] = 0;
}

int planes_eliminate(const struct planes *planes, int coupling, struct normal_sums *sums)
{
    const struct plane_columns *c = &planes->columns;

    for (int i = 0; i < c->chunks; i++)
        if (c->entries[i].failed) return 0;
    for (size_t i = 0; i < c->tangents; i++)
        c->before[i] = sums->matrix[i * (c->tangents + 1)];
    if (c->f > 0)
        memcpy(c->before + c->tangents, sums->f_diagonal, c->f * sizeof *c->before);
    for (size_t b = 0; b < planes->nbox; b++) {
        const struct plane *plane = planes->plane + b;
        const int n = add_pieces(planes, plane);

        solve_columns(c, plane);
        subtract_dense(c, sums->matrix);
        subtract_factors(c, plane, n, coupling, sums);
    }
    remove_rounding(c->tangents, c->tangents + 1, c->before, sums->matrix);
    remove_rounding(c->f, 1, c->before + c->tangents, sums->f_diagonal);
    return 1;
}

/* ---- a whole column ---- */

/* If `solved` is NULL, adds P^T times the pixels of a box to `sum`. Otherwise subtracts W P
 * times `solved` from the pixels. `pixels` is a rectangle, row after row. */
static void pass_over(const struct planes *planes, int number, const int rectangle[4],
                      const double *solved, double *pixels, double *sum)
{
    const int *box = planes->box[number];
    const size_t width = (size_t)(rectangle[1] - rectangle[0]);
    struct pixel_span t;

    for (int s = box[2]; s < box[3]; s++)
        for (int f = box[0]; window_next_span(planes->window, s, f, box[1], &t); f = t.end)
            for (int i = t.fast; i < t.end; i++) {
                const size_t place = t.place + (size_t)(i - t.fast);
                const size_t at =
                    (size_t)(s - rectangle[2]) * width + (size_t)(i - rectangle[0]);
                const double p[] = {1, plane_across(box[0], box[1], i),
                                    plane_across(box[2], box[3], s)};

                if (planes->owner[place] != number
                    || !plane_moves(planes->plane + number, p[1], p[2]))
                    continue;
                for (int k = 0; k < PLANE_TERMS; k++)
                    if (solved)
                        pixels[at] -= planes->weight[place] * p[k] * solved[k];
                    else
                        sum[k] += p[k] * pixels[at];
            }
}

void planes_project(const struct planes *planes, const int rectangle[4], double *weighted)
{
    for (int b = 0; b < (int)planes->nbox; b++) {
        double sum[PLANE_TERMS] = {0}, solved[PLANE_TERMS] = {0};

        pass_over(planes, b, rectangle, NULL, weighted, sum);
        for (int k = 0; k < PLANE_TERMS; k++)
            for (int m = 0; m < PLANE_TERMS; m++)
                solved[k] += planes->plane[b].inverse[k][m] * sum[m];
        pass_over(planes, b, rectangle, solved, weighted, NULL);
    }
}
