/*
 * row_factors.h - the last step of a tile's rows: the factors that a pixel takes once, its
 * solid angle and polarization, with their own changes. Only pixels that have a slot take
 * part. It is compiled with spot_rows.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_ROWS_ROW_FACTORS_H
#define NB_KERNELS_SPOTS_ROWS_ROW_FACTORS_H

#include "kernels/spots/rows/row_terms.h"

typedef double of_slots[TILE_PIXELS];

/* One number for each slot. */
struct factors {
    of_slots fast, slow; /* the first sample, sub-pixels from the corner of the detector */
    of_slots sum, factor; /* of F^2; from that to photons */
    of_slots v[3]; /* cotangent of the first sample's place, by the factor */
    of_slots d[3], r, per_ratio; /* its direction and distance; see struct phys_place */
    of_slots omega; /* its solid angle */
    of_slots kahn; /* slope of the polarization in K */
    of_slots rest, plain; /* factor without the polarization; without scale */
};

/* Lists the first samples of the pixels, and their sums. */
static void list_slots(const struct area *a, struct factors *out)
{
    const int over = a->job->frame->oversample, width = a->part.width;

    for (int j = 0; j < a->nslots; j++) {
        const int row = a->pixel[j] / width, column = a->pixel[j] - row * width;

        out->fast[j] = over * (a->part.fast + column) + 0.5;
        out->slow[j] = over * (a->part.slow + row) + 0.5;
        out->sum[j] = a->sums[(size_t)j * (size_t)a->own];
    }
}

/* Computes the directions and distances of the first samples. */
static void find_points(const struct area *a, struct factors *restrict x)
{
    const struct phys_frame *frame = a->job->frame;
    const struct phys_detector det = phys_detector(frame);
    const struct phys_patch patch = a->patch;
    const double fast = frame->oversample * (a->part.fast + 0.5 * a->part.width);
    const double slow = frame->oversample * (a->part.slow + 0.5 * a->part.height);

#pragma omp simd
    for (int j = 0; j < a->nslots; j++) {
        const struct phys_place at =
            phys_patch_place(0, &patch, x->fast[j] - fast, x->slow[j] - slow);
        const struct phys_point point = phys_patch_point(&patch, &det, at.step, at.ratio);

        x->d[0][j] = point.d.x, x->d[1][j] = point.d.y, x->d[2][j] = point.d.z;
        x->r[j] = point.r;
        x->per_ratio[j] = at.per_ratio;
    }
}

/* Computes the solid angles (gcc vectorises them in a loop of their own only). */
static void find_omegas(const struct area *a, struct factors *restrict x)
{
    const struct phys_detector det = phys_detector(a->job->frame);

#pragma omp simd
    for (int j = 0; j < a->nslots; j++) {
        const struct phys_point point = {phys_vec3(0, 0, 0), x->r[j]};

        x->omega[j] = phys_solid_angle(&det, point);
    }
}

/* Computes the factors and their slopes. */
static void find_factors(const struct area *a, struct factors *restrict x)
{
    const struct phys_frame *frame = a->job->frame;
    const struct phys_source *source = frame->source;
    const struct phys_vec3 incident = phys_load(source->direction);
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const double scale = a->of->scale, kahn = frame->kahn, per_r = 1 / a->patch.distance;
    const double on = frame->polarised ? 1 : 0;
    const double power = frame->surface == PHYS_CURVED ? 0 : frame->point_pixel ? -2 : -3;

#pragma omp simd
    for (int j = 0; j < a->nslots; j++) {
        const struct phys_vec3 d = phys_vec3(x->d[0][j], x->d[1][j], x->d[2][j]);
        const struct phys_polarization_slopes s =
            phys_polarization_slopes(kahn, incident, e, b, d);
        const double polar = on * phys_polarization(kahn, incident, e, b, d) + (1 - on);
        const double rest = scale * x->omega[j];
        const struct phys_vec3 dd = phys_scale(on * rest * x->sum[j], s.dd);
        const double along = power * rest * polar * x->sum[j] - phys_dot(d, dd);
        const struct phys_vec3 v =
            phys_scale(per_r * x->per_ratio[j], phys_axpy(along, d, dd));

        x->rest[j] = rest;
        x->plain[j] = x->omega[j] * polar;
        x->factor[j] = rest * polar;
        x->kahn[j] = s.dkahn;
        x->v[0][j] = v.x, x->v[1][j] = v.y, x->v[2][j] = v.z;
    }
}

/* Returns the place of a slot's pixel in the tile's numbers. */
static int place_of(const struct area *a, int slot)
{
    return a->place[a->pixel[slot]];
}

/* Adds the changes along the tangents of a block. */
static void close_block(const struct area *a, const struct factors *x, int number,
                        double *change)
{
    const struct row_block *block = a->of->block + number;
    const double *row = a->rows + (size_t)number * TILE_PIXELS * ROW_BLOCK;

    for (int j = 0; j < a->nslots; j++, row += ROW_BLOCK)
        for (int t = 0; t < block->n; t++)
            change[block->which[t] * TILE_PIXELS + place_of(a, j)] += x->factor[j] * row[t];
}

/* Adds the changes along a tangent that moves samples. */
static void close_place(const struct area *a, const struct factors *x, int number,
                        double *change)
{
    const struct row_place *place = a->of->place + number;
    const double *moved = a->moved + (size_t)number * TILE_PIXELS;
    double *to = change + (size_t)place->which * TILE_PIXELS;

    for (int j = 0; j < a->nslots; j++) {
        double sum = x->factor[j] * moved[j];

        for (int k = 0; k < 3; k++)
            sum += x->v[k][j]
                   * (place->place[k] + x->fast[j] * place->fast[k]
                      + x->slow[j] * place->slow[k]);
        to[place_of(a, j)] += sum;
    }
}

/* Adds the changes along a tangent of the numbers that the factors depend on. */
static void close_factor(const struct area *a, const struct factors *x,
                         const struct row_factor *along, double *change)
{
    const struct phys_frame *frame = a->job->frame;
    const struct phys_source *source = frame->source;
    const struct phys_vec3 incident = phys_load(source->direction);
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const struct phys_vec3 di = phys_load(along->source.direction);
    const struct phys_vec3 de = phys_load(along->source.e);
    const struct phys_vec3 db = phys_load(along->source.b);
    double *to = change + (size_t)along->which * TILE_PIXELS;

    for (int j = 0; j < a->nslots; j++) {
        const struct phys_vec3 d = phys_vec3(x->d[0][j], x->d[1][j], x->d[2][j]);
        const double polar =
            along->kahn * x->kahn[j] + phys_dot(incident, d) * phys_dot(di, d)
            - frame->kahn
                  * (phys_dot(e, d) * phys_dot(de, d) - phys_dot(b, d) * phys_dot(db, d));

        to[place_of(a, j)] += x->sum[j]
                              * (along->relative * x->factor[j] + along->more * x->plain[j]
                                 + along->polar * x->rest[j] * polar);
    }
}

/* Adds the changes along tangent d that a->rows holds, TILE_PIXELS apart. */
static void close_tangent(const struct area *a, const struct factors *x, int d,
                          double *change)
{
    const double *row = a->rows + (size_t)d * TILE_PIXELS;

    for (int j = 0; j < a->nslots; j++)
        change[d * TILE_PIXELS + place_of(a, j)] += x->factor[j] * row[j];
}

/* Adds the rows of all slots to `change`, and their photons. The rows of a continuous
 * crystal are those of all tangents, one after another. */
static void close_slots(const struct area *a, int continuous, struct columns *columns,
                        double *photons, double *change)
{
    const size_t n = (size_t)a->lanes;
    const int blocks = continuous ? 0 : a->of->nblocks;
    _Alignas(64) struct factors x;

    list_slots(a, &x);
    find_points(a, &x);
    find_omegas(a, &x);
    find_factors(a, &x);
    for (int j = 0; j < a->nslots; j++) photons[place_of(a, j)] = x.sum[j] * x.factor[j];
    for (int b = 0; b < blocks; b++) close_block(a, &x, b, change);
    for (int d = 0; d < a->of->along->n && continuous; d++) close_tangent(a, &x, d, change);
    for (int p = 0; p < a->of->nplaces; p++) close_place(a, &x, p, change);
    for (int f = 0; f < a->of->nfactors; f++)
        close_factor(a, &x, a->of->factor + f, change);
    for (int c = 0; columns && c < columns->n; c++)
        for (int j = 0; j < a->nslots; j++)
            columns->slope[(size_t)c * n + (size_t)place_of(a, j)] *= x.factor[j];
}

#endif
