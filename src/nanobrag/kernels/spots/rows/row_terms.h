/*
 * row_terms.h - the samples of a spot. The derivative of their F^2 along a tangent is a
 * quadratic form in their indices; this file computes its terms and their coefficients. It
 * is compiled with spot_rows.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_ROWS_ROW_TERMS_H
#define NB_KERNELS_SPOTS_ROWS_ROW_TERMS_H

#include <string.h>

#include "kernels/grid.h"
#include "kernels/kernels.h"
#include "kernels/spots/rows/spot_rows.h"
#include "physics/pixel.h"
#include "physics/tile/patch.h"

/* SAMPLES are computed together. The first FORM terms of the quadratic form are the slopes
 * of F^2 in the indices x, y, z, and these times indices: squares, then products. Three
 * further terms are not needed for every tangent: the square of the profile, its slope in
 * `fudge`, and its slope in the B factor. */
enum { SAMPLES = 256, FORM = 9, OF_F2 = FORM, OF_FUDGE, OF_B, TERMS };

typedef double term[SAMPLES];

struct samples {
    int n; /* number of samples that count */
    /* for each sample that counts: its place in the arrays below, its pixel, and the
     * pixel's slot */
    int kept[SAMPLES], pixel[SAMPLES], slot[SAMPLES];
    _Alignas(64) term terms[TERMS];
    _Alignas(64) term f2; /* square of the profile */
    _Alignas(64) term v[ROW_PLACE]; /* cotangent of the place */
};

/* A part of a tile. Each pixel that holds a sample of a spot gets a slot; slots are
 * numbered in the order of finding them. */
struct tile_part {
    const struct job *job;
    const struct row_tangents *of;
    struct tile part;
    struct phys_patch patch;
    struct phys_crystal crystal;
    struct phys_box box;
    int small; /* the result of phys_patch_is_small() */
    int own; /* how many numbers a slot has in `sums` */
    double *sums; /* (TILE_PIXELS x own): sums of F^2, cotangents of the place, moments */
    double *rows; /* (nblocks x TILE_PIXELS x ROW_BLOCK) derivatives of the sums of F^2 */
    double *moved; /* (nplaces x TILE_PIXELS) derivatives by the places of samples */
    int nslots, pixel[TILE_PIXELS]; /* pixel of each slot */
    int place[TILE_PIXELS], lanes; /* place of each pixel among the rendered ones; length of
                                      a column (kernels/grid.h) */
    short slot[TILE_PIXELS]; /* slot of each pixel; -1: none */
};

/* The samples of a spot in a part, and the numbers from which they are computed. */
struct spot {
    int fast, slow, width, height; /* sub-pixels from the part's corner */
    struct phys_anchor anchor;
    struct phys_axes axes; /* metric times the axes, for slopes in the sample's place */
    const struct phys_source *source;
    double weight, square; /* factor of the square of the profile; F^2 of the unit cell */
};

/* ---- the samples of a spot ---- */

/* Finds F^2 of n samples, counted row after row from sample `first` on, and the terms of
 * its derivatives. */
PHYS_FN void find_terms(int shape, int small, const struct tile_part *a,
                        const struct spot *restrict of, int first, int n,
                        struct samples *restrict out)
{
    const struct spot spot = *of;
    const struct phys_patch patch = a->patch;
    const struct phys_crystal crystal = a->crystal;
    const int over = a->job->frame->oversample;
    const double fast0 = spot.fast + 0.5 - 0.5 * over * a->part.width;
    const double slow0 = spot.slow + 0.5 - 0.5 * over * a->part.height;
    const double per_row = 1. / spot.width, width = spot.width;
    const double unit2 = spot.source->inverse_wavelength * spot.source->inverse_wavelength;
    const struct phys_vec3 way = phys_axpy(-1, phys_load(spot.source->direction), patch.d);

#pragma omp simd
    for (int i = 0; i < n; i++) {
        const double at = first + i, row = floor((at + 0.5) * per_row);
        const struct phys_place place =
            phys_patch_place(small, &patch, fast0 + at - row * width, slow0 + row);
        const struct phys_vec3 x = phys_anchor_indices(&spot.anchor, place.step);
        const struct phys_bump g = phys_bump(shape, &crystal, x);
        const double off =
            fabs(phys_nearest(x.x)) + fabs(phys_nearest(x.y)) + fabs(phys_nearest(x.z));
        const double bend = spot.weight * g.bend;
        const struct phys_vec3 q = phys_axpy(1, way, place.step);
        const struct phys_vec3 s = phys_scale(bend, x);
        const struct phys_vec3 d = phys_axpy(1, patch.d, place.step);
        const struct phys_vec3 d_bar =
            phys_axpy(s.x, spot.axes.a,
                      phys_axpy(s.y, spot.axes.b, phys_scale(s.z, spot.axes.c)));
        const struct phys_vec3 v =
            phys_scale(place.per_ratio, phys_axpy(-phys_dot(d, d_bar), d, d_bar));

        out->f2[i] = off == 0 ? g.sample.f2 : 0;
        out->terms[0][i] = s.x, out->terms[1][i] = s.y, out->terms[2][i] = s.z;
        out->terms[3][i] = s.x * x.x, out->terms[4][i] = s.y * x.y;
        out->terms[5][i] = s.z * x.z, out->terms[6][i] = s.x * x.y;
        out->terms[7][i] = s.x * x.z, out->terms[8][i] = s.y * x.z;
        out->terms[OF_F2][i] = spot.square * g.sample.f2;
        out->terms[OF_B][i] =
            phys_displacement_vjp(spot.weight * g.sample.f2 * unit2 * phys_dot(q, q));
        out->terms[OF_FUDGE][i] = spot.weight * g.dfudge;
        out->v[0][i] = v.x, out->v[1][i] = v.y, out->v[2][i] = v.z;
    }
}

/* Gives a pixel a slot and returns its number. */
static int take_slot(struct tile_part *a, int pixel)
{
    const int slot = a->nslots++;

    a->slot[pixel] = (short)slot;
    a->pixel[slot] = pixel;
    memset(a->sums + (size_t)slot * (size_t)a->own, 0, (size_t)a->own * sizeof *a->sums);
    for (int b = 0; b < a->of->nblocks; b++)
        memset(a->rows + ((size_t)b * TILE_PIXELS + (size_t)slot) * ROW_BLOCK, 0,
               ROW_BLOCK * sizeof *a->rows);
    return slot;
}

/* Looks at n samples from sample `first` on, and lists each that counts, with its pixel. */
static void keep_samples(struct tile_part *a, const struct spot *spot, int first, int n,
                         struct samples *in)
{
    const int over = a->job->frame->oversample;
    int row = first / spot->width, column = first - row * spot->width, i = 0;

    in->n = 0;
    for (; i < n; row++, column = 0) {
        const int s = over == 1 ? spot->slow + row : (spot->slow + row) / over;
        const int end = n < i + spot->width - column ? n : i + spot->width - column;

        for (; i < end; i++, column++) {
            const int f = over == 1 ? spot->fast + column : (spot->fast + column) / over;

            in->kept[in->n] = i;
            in->pixel[in->n] = s * a->part.width + f;
            in->n += in->f2[i] > a->of->least && a->part.shown[s] >> f & 1;
        }
    }
    for (i = 0; i < in->n; i++) {
        const int slot = a->slot[in->pixel[i]];

        in->slot[i] = slot >= 0 ? slot : take_slot(a, in->pixel[i]);
    }
}

/* ---- the sums of a pixel ---- */

/* Adds the derivatives of the samples along the tangents of a block to `rows`;
 * coefficient[k] belongs to term k. */
PHYS_FN void add_terms(int terms, const struct samples *restrict in,
                       double (*restrict coefficient)[ROW_BLOCK], double *restrict rows)
{
    for (int j = 0; j < in->n; j++) {
        const int i = in->kept[j];
        double *restrict to = rows + (size_t)in->slot[j] * ROW_BLOCK;

        for (int t = 0; t < ROW_BLOCK; t++) {
            double one = to[t], two = 0;

            for (int k = 0; k + 1 < terms; k += 2) {
                one += in->terms[k][i] * coefficient[k][t];
                two += in->terms[k + 1][i] * coefficient[k + 1][t];
            }
            if (terms % 2) one += in->terms[terms - 1][i] * coefficient[terms - 1][t];
            to[t] = one + two;
        }
    }
}

/* Adds F^2 of the samples to the sums of their slots, and the cotangents of their places if
 * tangents move samples. */
static void add_own(const struct tile_part *a, const struct spot *spot, int first,
                    const struct samples *in)
{
    const int over = a->job->frame->oversample;

    for (int j = 0; j < in->n; j++) {
        const int i = in->kept[j];
        double *to = a->sums + (size_t)in->slot[j] * (size_t)a->own;

        to[0] += spot->weight * in->f2[i];
        for (int k = 0; a->own > ROW_OWN && k < ROW_PLACE; k++) to[1 + k] += in->v[k][i];
        if (a->own > ROW_OWN + ROW_PLACE) {
            const int row = (first + i) / spot->width;
            const int column = first + i - row * spot->width;
            const double fast = over * a->part.fast + spot->fast + column + 0.5;
            const double slow = over * a->part.slow + spot->slow + row + 0.5;

            for (int k = 0; k < ROW_PLACE; k++) {
                to[4 + k] += fast * in->v[k][i];
                to[7 + k] += slow * in->v[k][i];
            }
        }
    }
}

/* ---- the coefficients of a spot ---- */

/* Adds the rotations of the orientation to `index`, the matrix E of the change of the
 * indices (find_coefficients()). */
static void add_turns(const struct row_tangents *of, const struct row_block *b,
                      int orientation, double (*restrict index)[ROW_BLOCK])
{
    const struct row_turn *turn = of->turn + orientation;
    double by[3][ROW_BLOCK] = {{0}};

    for (int t = 0; t < b->n; t++) {
        const double *from = of->along->dot[b->which[t]].rotation[orientation].by;

        for (int c = 0; c < 3; c++) by[c][t] = from[c];
    }
    for (int k = 0; k < 9; k++) {
        const double x = turn->turn[k][0], y = turn->turn[k][1], z = turn->turn[k][2];

        for (int t = 0; t < ROW_BLOCK; t++)
            index[k][t] += x * by[0][t] + y * by[1][t] + z * by[2][t];
    }
}

/* Adds the changes of weights and of the source: to the matrix `index`, to the shift of the
 * indices and to the coefficient of F^2. */
static void add_source(const struct tile_part *a, const struct row_block *b,
                       const struct tile_spot *from, double (*restrict index)[ROW_BLOCK],
                       double (*restrict shift)[ROW_BLOCK], double *restrict of_f2)
{
    const struct phys_frame *frame = a->job->frame;
    const struct phys_orientation *at = frame->orientation + from->orientation;
    const struct phys_source *source = frame->source + from->source;
    const double unit = source->inverse_wavelength;

    for (int t = 0; t < b->n; t++) {
        const struct phys_frame_tangent *dot = a->of->along->dot + b->which[t];
        const struct phys_source *change = dot->source + from->source;
        const double *d = change->direction, more = change->inverse_wavelength / unit;

        of_f2[t] = source->weight * dot->rotation[from->orientation].weight
                   + at->weight * change->weight;
        for (int i = 0; i < 3; i++) {
            const double *axis = at->axes + (size_t)3 * (size_t)i;

            index[(size_t)4 * (size_t)i][t] += more;
            shift[i][t] -= unit * (axis[0] * d[0] + axis[1] * d[1] + axis[2] * d[2]);
        }
    }
}

/* Computes the coefficients of the terms. Along a tangent the indices x change by shift + E
 * (hkl + x), so that x^T G x changes by 2 x^T G times this, plus x^T dG x. */
static void find_coefficients(const struct tile_part *a, const struct row_block *b,
                              const struct tile_spot *from,
                              double (*restrict out)[ROW_BLOCK])
{
    const double *m =
        a->job->frame->metric; /* hh kk ll hk hl kl; the last three count twice */
    const double g0 = 2 * m[0], g1 = 2 * m[1], g2 = 2 * m[2], hk = m[3], hl = m[4],
                 kl = m[5];
    const double h = from->hkl[0], k = from->hkl[1], l = from->hkl[2];
    double e[9][ROW_BLOCK], shift[3][ROW_BLOCK] = {{0}};

    memcpy(e, b->strain, sizeof e);
    memset(out[OF_F2], 0, sizeof out[OF_F2]);
    if (b->turns) add_turns(a->of, b, from->orientation, e);
    if (b->shines) add_source(a, b, from, e, shift, out[OF_F2]);
#pragma omp simd
    for (int t = 0; t < ROW_BLOCK; t++) {
        const double x = shift[0][t] + h * e[0][t] + k * e[1][t] + l * e[2][t];
        const double y = shift[1][t] + h * e[3][t] + k * e[4][t] + l * e[5][t];
        const double z = shift[2][t] + h * e[6][t] + k * e[7][t] + l * e[8][t];

        out[0][t] = g0 * x + hk * y + hl * z;
        out[1][t] = hk * x + g1 * y + kl * z;
        out[2][t] = hl * x + kl * y + g2 * z;
        out[3][t] = g0 * e[0][t] + hk * e[3][t] + hl * e[6][t] + b->metric[0][t];
        out[4][t] = hk * e[1][t] + g1 * e[4][t] + kl * e[7][t] + b->metric[1][t];
        out[5][t] = hl * e[2][t] + kl * e[5][t] + g2 * e[8][t] + b->metric[2][t];
        out[6][t] = g0 * e[1][t] + hk * e[4][t] + hl * e[7][t] + hk * e[0][t] + g1 * e[3][t]
                    + kl * e[6][t] + b->metric[3][t];
        out[7][t] = g0 * e[2][t] + hk * e[5][t] + hl * e[8][t] + hl * e[0][t] + kl * e[3][t]
                    + g2 * e[6][t] + b->metric[4][t];
        out[8][t] = hk * e[2][t] + g1 * e[5][t] + kl * e[8][t] + hl * e[1][t] + kl * e[4][t]
                    + g2 * e[7][t] + b->metric[5][t];
        out[OF_FUDGE][t] = b->fudge[t];
        out[OF_B][t] = b->b_factor[t];
    }
}

#endif
