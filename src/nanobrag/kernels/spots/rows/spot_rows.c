/*
 * spot_rows.c - the rows of a tile's Jacobian from the samples of its spots. It is compiled
 * once per instruction set, only in double; the lanes in float use it, too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/spots/rows/row_factors.h"

/* ---- a spot ---- */

/* Finds the samples of a spot that lie in the part of a tile; returns 0 if there are
 * none. */
static int cut_to_part(const struct tile_part *a, const struct tile_spot *from,
                       struct spot *spot)
{
    const int over = a->job->frame->oversample;
    const int fast = from->fast - over * (a->part.fast % TILE_FAST);
    const int slow = from->slow - over * (a->part.slow % TILE_SLOW);

    spot->fast = max_int(fast, 0), spot->slow = max_int(slow, 0);
    spot->width = min_int(fast + from->width, over * a->part.width) - spot->fast;
    spot->height = min_int(slow + from->height, over * a->part.height) - spot->slow;
    return spot->width > 0 && spot->height > 0;
}

/* Computes the numbers that all samples of a spot share. Returns 0 if its F is 0. */
static int start_spot(const struct tile_part *a, const struct tile_spot *from, int *place,
                      struct spot *spot)
{
    const struct phys_frame *frame = a->job->frame;
    const struct phys_orientation *at = frame->orientation + from->orientation;
    const struct phys_source *source = frame->source + from->source;
    const double *m = frame->metric, *axes = at->axes;
    const double metric[3][3] = {{2 * m[0], m[3], m[4]},
                                 {m[3], 2 * m[1], m[5]},
                                 {m[4], m[5], 2 * m[2]}};
    const struct phys_vec3 whole =
        phys_vec3((real)from->hkl[0], (real)from->hkl[1], (real)from->hkl[2]);
    const double per_place = source->inverse_wavelength / a->patch.distance;
    double rows[9] = {0};

    spot->source = source;
    spot->square = 1;
    if (a->job->spec.lookup == PHYS_NEAREST) {
        *place = phys_f_place(0, &a->box, whole);
        spot->square = a->box.f[*place] * a->box.f[*place];
    }
    if (spot->square == 0) return 0;
    spot->weight = spot->square * source->weight * at->weight;
    spot->anchor = phys_patch_anchor(&a->patch, source, axes);
    spot->anchor.fraction =
        phys_axpy(1, phys_axpy(-1, whole, spot->anchor.whole), spot->anchor.fraction);
    spot->anchor.whole = whole;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                rows[3 * i + k] += metric[i][j] * axes[3 * j + k] * per_place;
    spot->axes = phys_axes(rows);
    return 1;
}

/* Adds the derivatives of the pixels by the F of a spot: dF^2/dF = 2 F^2/F. */
static void add_f(const struct tile_part *a, const struct spot *spot, int place,
                  const struct samples *in, struct columns *columns)
{
    double *column = columns_take(columns, place, a->lanes);
    const double scale = 2 * spot->weight / a->box.f[place];

    for (int j = 0; column && j < in->n; j++)
        column[a->place[in->pixel[j]]] += scale * in->f2[in->kept[j]];
}

PHYS_FN void spot_to_rows(int shape, struct tile_part *a, const struct tile_spot *from,
                          struct columns *columns)
{
    _Alignas(64) double coefficient[TERMS][ROW_BLOCK];
    struct samples samples;
    struct spot spot;
    int place = 0, n;

    if (!cut_to_part(a, from, &spot) || !start_spot(a, from, &place, &spot)) return;
    for (int first = 0; first < spot.width * spot.height; first += SAMPLES) {
        n = min_int(SAMPLES, spot.width * spot.height - first);
        if (a->small)
            find_terms(shape, 1, a, &spot, first, n, &samples);
        else
            find_terms(shape, 0, a, &spot, first, n, &samples);
        keep_samples(a, &spot, first, n, &samples);
        if (samples.n == 0) continue;
        add_own(a, &spot, first, &samples);
        if (columns) add_f(a, &spot, place, &samples, columns);
        for (int b = 0; b < a->of->nblocks; b++) {
            const struct row_block *block = a->of->block + b;
            double *rows = a->rows + (size_t)b * TILE_PIXELS * ROW_BLOCK;

            find_coefficients(a, block, from, coefficient);
            if (block->shines)
                add_terms(TERMS, &samples, coefficient, rows);
            else
                add_terms(FORM, &samples, coefficient, rows);
        }
    }
}

static void of_shape(int shape, struct tile_part *a, const struct tile_spot *from,
                     struct columns *columns)
{
    if (shape == PHYS_GAUSS)
        spot_to_rows(PHYS_GAUSS, a, from, columns);
    else if (shape == PHYS_ROUND)
        spot_to_rows(PHYS_ROUND, a, from, columns);
    else
        spot_to_rows(PHYS_TOPHAT, a, from, columns);
}

/* ---- a tile ---- */

/* Computes the derivatives of the slots along the tangents that move samples. */
static void close_places(const struct tile_part *a)
{
    const int over = a->job->frame->oversample, width = a->part.width;

    for (int j = 0; j < a->nslots && a->own > ROW_OWN; j++) {
        const double *v = a->sums + (size_t)j * (size_t)a->own + ROW_OWN;
        const int row = a->pixel[j] / width, column = a->pixel[j] - row * width;
        const double fast = over * (a->part.fast + column + 0.5);
        const double slow = over * (a->part.slow + row + 0.5);

        for (int p = 0; p < a->of->nplaces; p++) {
            const struct row_place *place = a->of->place + p;
            double sum = 0;

            for (int k = 0; k < 3; k++) {
                const double f = a->of->moments ? v[3 + k] : fast * v[k];
                const double s = a->of->moments ? v[6 + k] : slow * v[k];

                sum += place->place[k] * v[k] + place->fast[k] * f + place->slow[k] * s;
            }
            a->moved[p * TILE_PIXELS + j] = sum;
        }
    }
}

static void take_area(const struct job *job, const struct tile *part,
                      const struct row_tangents *of, void *workspace, struct tile_part *a)
{
    struct shown_pixels shown;

    grid_list(part, &shown);
    a->job = job;
    a->of = of;
    a->part = *part;
    a->crystal = phys_crystal(job->frame);
    a->box = phys_box(job->frame);
    a->own = ROW_OWN + (of->nplaces ? ROW_PLACE : 0);
    if (of->moments) a->own = ROW_OWN + ROW_MOMENTS;
    a->sums = workspace;
    a->rows = a->sums + (size_t)TILE_PIXELS * (ROW_OWN + ROW_MOMENTS);
    a->moved = a->rows + (size_t)of->nblocks * TILE_PIXELS * ROW_BLOCK;
    a->nslots = 0;
    a->lanes = shown.lanes;
    for (int i = 0; i < shown.n; i++) a->place[shown.pixel[i]] = i;
    for (int i = 0; i < TILE_PIXELS; i++) a->slot[i] = -1;
}

void SPOT_ROWS(const struct job *job, const struct tile *part,
               const struct row_tangents *of, const struct spot_list *spots,
               void *workspace, struct columns *columns, double *photons, double *change)
{
    struct factored factored = {.frame = job->frame, .part = *part};
    struct tile_part a;

    memset(photons, 0, (size_t)grid_lanes(part) * sizeof *photons);
    memset(change, 0, (size_t)of->along->n * TILE_PIXELS * sizeof *change);
    if (spots->n == 0) return;
    take_area(job, part, of, workspace, &a);
    place_factors(&factored);
    a.patch = factored.patch;
    a.small = factored.small;
    for (size_t i = 0; i < spots->n; i++) {
        of_shape(job->spec.shape, &a, spots->spot + spots->which[i], columns);
        if (columns && columns->full) return;
    }
    close_places(&a);
    close_slots(&a, columns, photons, change);
}
