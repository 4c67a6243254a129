/*
 * samples.c - the loops over the samples of spots. Like lanes.c, it is compiled for each
 * instruction set in double and in float. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "kernels/continuous/samples/samples_range.h"
#include "kernels/continuous/samples/samples_table.h"

/* ---- forms ---- */
static void range_form(const struct profile *p, struct form *f)
{
    const double h0 = p->c[SPOT_H], r0 = sqrt(h0), m0 = p->c[SPOT_M] * r0;

    f->unit[PART_M] = r0;
    f->unit[PART_H] = 1 / h0;
    f->unit[PART_L3] = 1 / (6 * r0 * h0);
    f->unit[PART_L4] = 1 / (24 * h0 * h0);
    f->unit[PART_HALF] = r0;
    f->per_half = 1 / p->half;
    f->below = (real)(-p->half * r0 - m0);
    f->above = (real)(p->half * r0 - m0);
    f->factor *= 0.5 * f->per_half / r0;
}

static void table_form(const struct profile *p, struct form *f)
{
    const struct spectrum_row *row = p->row;
    const double h0 = p->c[SPOT_H], place = (p->c[SPOT_M] - row->low) / row->step;
    const double inside = place > 0 ? place : 0;

    f->unit[PART_M] = 1 / row->step;
    f->unit[PART_H] = 1 / h0;
    f->unit[PART_L3] = 1 / (2 * h0 * h0 * row->step);
    f->n = row->n;
    f->base = inside < row->n - 2 ? (int)inside : row->n - 2;
    f->number = row->number;
    f->start = (real)(place - f->base);
    f->lowest = (real)-f->base;
    f->highest = (real)(row->n - 1 - f->base);
    f->variance = (real)(row->variance * h0);
    f->heat = (real)(0.5 / (h0 * row->step * row->step));
    f->factor *= sqrt(2 * M_PI / h0);
}

/* Returns the polynomial (PART_L, ...) that has coefficient k. */
static int part_of(int k)
{
    return k < SPOT_M    ? PART_L
           : k < SPOT_H  ? PART_M
           : k < SPOT_L3 ? PART_H
           : k < SPOT_L4 ? PART_L3
                         : PART_L4;
}

/* Returns how many coefficients the kind of a profile uses. */
static int coefficients_of(const struct profile *p)
{
    return p->kind == PROFILE_STILL ? SPOT_M : SPOT_COEFFICIENTS;
}

/* Fills in the form of a profile. Returns 0 if the intensity is 0 everywhere, because the
 * row of the spectrum is empty or the profile has no curvature. */
static int make_form(const struct profile *p, struct form *f)
{
    memset(f, 0, sizeof *f);
    f->unit[PART_L] = 1;
    f->factor = exp(p->c[SPOT_L]);
    if (p->kind == PROFILE_TABLE && p->row->n < 2) return 0;
    if (p->kind != PROFILE_STILL && !(p->c[SPOT_H] > 0)) return 0;
    if (p->kind == PROFILE_TABLE) table_form(p, f);
    if (p->kind == PROFILE_RANGE) range_form(p, f);
    for (int k = 0; k < coefficients_of(p); k++)
        f->c[k] = (real)(p->c[k] * f->unit[part_of(k)]);
    f->c[SPOT_L] = f->c[SPOT_M] = 0;
    return 1;
}

/* ---- values ---- */
static void still_values(const struct form *form, const struct batch *batch, int j,
                         real *restrict sum)
{
    const struct form f = *form;
    const real plane = (real)j;

#pragma omp simd
    for (int i = 0; i < batch->padded; i++)
        sum[i] += phys_exp(
            quartic(f.c + SPOT_L, batch->a[i] + plane * batch->step[i], batch->b[i]));
}

static void range_values(const struct form *form, const struct batch *batch, int j,
                         real *restrict sum)
{
    struct ranges at;

    find_ranges(form, batch, j, &at);
#pragma omp simd
    for (int i = 0; i < batch->padded; i++)
        sum[i] += at.bright[i] * at.ir[i] * integrals_of(&at, i).value;
}

static void table_values(const struct form *form, const struct batch *batch, int j,
                         real *restrict sum)
{
    struct cells at;

    find_cells(form, batch, j, &at);
#pragma omp simd
    for (int i = 0; i < batch->padded; i++) {
        const struct quintic q = quintic_of(&at, i);

        sum[i] += at.bright[i]
                  * (quintic_value(q, at.f[i]) + at.heat[i] * quintic_second(q, at.f[i]));
    }
}

typedef void values(const struct form *form, const struct batch *batch, int j, real *sum);
static values *const values_of[] = {still_values, range_values, table_values};

static void draw(const struct profile *profile, int over, int nrows,
                 const struct sample_row *rows, double scale, double *pixel)
{
    struct form form;
    struct batch batch;
    struct cursor at = {0, 0};
    _Alignas(64) real sum[SLOTS];

    if (!make_form(profile, &form)) return;
    while (fill_batch(&batch, SLOTS, over, nrows, rows, &at)) {
        memset(sum, 0, sizeof *sum * (size_t)batch.padded);
        for (int j = 0; j < over; j++) values_of[profile->kind](&form, &batch, j, sum);
        add_to_batch(&batch, scale * form.factor, sum, pixel);
    }
}

/* ---- derivatives ---- */
/* The samples of a plane of a batch: their coordinate a, and weight times their slopes. */
struct plane {
    _Alignas(64) real a[SLOTS];
    _Alignas(64) real slope[PARTS][SLOTS];
};

static void still_plane(const struct form *form, const struct batch *batch, int j,
                        const real *restrict weight, struct plane *to, struct cells *cells)
{
    const struct form f = *form;
    const real plane = (real)j;

    (void)cells;
#pragma omp simd
    for (int i = 0; i < batch->padded; i++) {
        const real a = batch->a[i] + plane * batch->step[i];

        to->a[i] = a;
        to->slope[PART_L][i] = weight[i] * phys_exp(quartic(f.c + SPOT_L, a, batch->b[i]));
    }
}

static void range_plane(const struct form *form, const struct batch *batch, int j,
                        const real *restrict weight, struct plane *to, struct cells *cells)
{
    const real plane = (real)j;
    struct ranges at;

    (void)cells;
    find_ranges(form, batch, j, &at);
#pragma omp simd
    for (int i = 0; i < batch->padded; i++) to->a[i] = batch->a[i] + plane * batch->step[i];
    range_slopes(batch->padded, &at, weight, to->slope);
}

static void table_plane(const struct form *form, const struct batch *batch, int j,
                        const real *restrict weight, struct plane *to, struct cells *cells)
{
    const struct form f = *form;
    const struct cells *restrict at = cells;
    const real plane = (real)j;

    find_cells(form, batch, j, cells);
#pragma omp simd
    for (int i = 0; i < batch->padded; i++) {
        const real a = batch->a[i] + plane * batch->step[i];
        const struct quintic q = quintic_of(at, i);
        const real x = at->f[i], heat = at->heat[i], ih = at->ih[i];
        const real bright = weight[i] * at->bright[i];
        const real second = quintic_second(q, x);
        const real value = bright * (quintic_value(q, x) + heat * second);
        const real by_place =
            bright * at->inside[i] * (quintic_slope(q, x) + heat * quintic_third(q, x));
        const real shift = linear(f.c + SPOT_L3, a, batch->b[i]) * ih * ih;

        to->a[i] = a;
        to->slope[PART_L][i] = value;
        to->slope[PART_M][i] = by_place;
        to->slope[PART_H][i] =
            -ih
            * ((real)0.5 * value + 2 * shift * by_place + bright * f.heat * ih * second);
        to->slope[PART_L3][i] = by_place * ih * ih;
        to->slope[PART_L4][i] = 0;
        to->slope[PART_HALF][i] = 0;
    }
}

typedef void slopes_of_plane(const struct form *form, const struct batch *batch, int j,
                             const real *weight, struct plane *to, struct cells *cells);
static slopes_of_plane *const planes_of[] = {still_plane, range_plane, table_plane};

/* Adds the sums of slope times the monomials of degree 0 to 4 to `to`. */
static void add_quartic(int n, const real *restrict x, const real *restrict y,
                        const real *restrict slope, double *to)
{
    real s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0, s8 = 0, s9 = 0;
    real s10 = 0, s11 = 0, s12 = 0, s13 = 0, s14 = 0;

#pragma omp simd reduction(+ : s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, \
                               s14)
    for (int i = 0; i < n; i++) {
        const real a = x[i], b = y[i], g = slope[i], ga = g * a, gb = g * b;
        const real a2 = a * a, ab = a * b, b2 = b * b;
        const real gaa = ga * a, gab = ga * b, gbb = gb * b;

        s0 += g;
        s1 += ga;
        s2 += gb;
        s3 += gaa;
        s4 += gab;
        s5 += gbb;
        s6 += gaa * a;
        s7 += gaa * b;
        s8 += gbb * a;
        s9 += gbb * b;
        s10 += gaa * a2;
        s11 += gaa * ab;
        s12 += gaa * b2;
        s13 += gab * b2;
        s14 += gbb * b2;
    }
    const real s[15] = {s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14};

    for (int k = 0; k < 15; k++) to[k] += (double)s[k];
}

/* Adds the sums of the slopes by h, l3 and l4 times their monomials to `to`, and the sum of
 * the slope by half to *half. */
static void add_others(int n, const struct plane *plane, const real *restrict y, double *to,
                       double *half)
{
    const real *restrict x = plane->a, *restrict by_h = plane->slope[PART_H];
    const real *restrict by_3 = plane->slope[PART_L3];
    const real *restrict by_4 = plane->slope[PART_L4];
    const real *restrict by_half = plane->slope[PART_HALF];
    real s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0, s8 = 0, s9 = 0;
    real s10 = 0, s11 = 0, s12 = 0;

#pragma omp simd reduction(+ : s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12)
    for (int i = 0; i < n; i++) {
        const real a = x[i], b = y[i], ha = by_h[i] * a, hb = by_h[i] * b;

        s0 += by_h[i];
        s1 += ha;
        s2 += hb;
        s3 += ha * a;
        s4 += ha * b;
        s5 += hb * b;
        s6 += by_3[i];
        s7 += by_3[i] * a;
        s8 += by_3[i] * b;
        s9 += by_4[i];
        s10 += by_4[i] * a;
        s11 += by_4[i] * b;
        s12 += by_half[i];
    }
    const real s[12] = {s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11};

    for (int k = 0; k < 12; k++) to[k] += (double)s[k];
    *half += (double)s12;
}

/* Returns the largest modulus of the weights of all rows. Weights over this number fit into
 * floats. */
static double largest_weight(int over, int nrows, const struct sample_row *rows,
                             const double *weight)
{
    double most = 0;

    for (int i = 0; i < nrows; i++)
        for (int j = 0; j < rows[i].n / over; j++) {
            const double w = fabs(weight[rows[i].pixel + (size_t)j]);

            most = w > most ? w : most;
        }
    return most;
}

static void load_weights(const struct batch *batch, double per, const double *weight,
                         real *restrict to)
{
    int n = 0;

    for (int i = 0; i < batch->pieces; i++) {
        const struct piece *piece = batch->piece + i;
        const double *restrict from = weight + piece->pixel;

        for (int j = 0; j < piece->n; j++) to[n + j] = (real)(from[j] * per);
        n += piece->n;
    }
    for (int i = n; i < batch->padded; i++) to[i] = 0;
}

/* Adds scale times at->number, the cotangents of the numbers of n cells, to grid. */
static void add_numbers(const struct form *f, int n, const struct cells *at, double scale,
                        double *grid)
{
    for (int i = 0; i < n; i++) {
        double *to = grid + f->base + at->cell[i];

        for (int k = 0; k < CELL; k++)
            to[(k >> 1) * f->n + (k & 1)] += scale * (double)at->number[k][i];
    }
}

/* Adds sums, converted from the units of the form, to the cotangents of the profile. */
static void add_moments(const struct form *f, int n, double scale, const double *sums,
                        double half, struct spot_moments *out)
{
    out->sum += scale * sums[0];
    for (int k = 0; k < n; k++) out->c[k] += scale * f->unit[part_of(k)] * sums[k];
    out->half += scale * (f->unit[PART_HALF] * half - f->per_half * sums[0]);
}

static void moments(const struct profile *profile, int over, int nrows,
                    const struct sample_row *rows, const double *weight,
                    struct spot_moments *out, double *grid)
{
    const double most =
        sizeof(real) == sizeof(double) ? 1 : largest_weight(over, nrows, rows, weight);
    struct form form;
    struct batch batch;
    struct cursor at = {0, 0};
    struct plane plane;
    struct cells cells;
    _Alignas(64) real w[SLOTS];
    double sums[SPOT_COEFFICIENTS] = {0}, half = 0;

    if (!make_form(profile, &form) || most == 0) return;
    while (fill_batch(&batch, SLOTS, over, nrows, rows, &at)) {
        const int n = batch.padded;

        load_weights(&batch, 1 / most, weight, w);
        for (int j = 0; j < over; j++) {
            planes_of[profile->kind](&form, &batch, j, w, &plane, &cells);
            add_quartic(n, plane.a, batch.b, plane.slope[PART_L], sums);
            if (profile->kind == PROFILE_STILL) continue;
            add_quartic(n, plane.a, batch.b, plane.slope[PART_M], sums + SPOT_M);
            add_others(n, &plane, batch.b, sums + SPOT_H, &half);
            if (profile->kind != PROFILE_TABLE || !grid) continue;
            weigh_numbers(n, w, &cells);
            add_numbers(&form, n, &cells, most * form.factor, grid);
        }
    }
    add_moments(&form, coefficients_of(profile), most * form.factor, sums, half, out);
}

/* ---- changes along directions ---- */
/* Products of slopes and monomials, summed over the samples of a pixel: one for each
 * coefficient, then the slope by half, then zeros up to a multiple of 4. DIRECTIONS changes
 * are processed together. */
enum { PRODUCTS = SPOT_COEFFICIENTS + 2, DIRECTIONS = 32 };
_Static_assert(PRODUCTS % 4 == 0, "combine() takes 4 at a time");

struct products {
    int n;
    int rows; /* 1 if the numbers of the row change along some direction */
    _Alignas(64) real p[PRODUCTS][FEW_SLOTS];
    _Alignas(64) real grid[DIRECTIONS + 1][FEW_SLOTS]; /* changes of pixels by the row */
    int directions, which[DIRECTIONS]; /* number of directions; their indices */
    real dot[DIRECTIONS + 1][PRODUCTS]; /* changes in the form's units, then zeros */
    const double *number[DIRECTIONS]; /* changes of the row's numbers, or NULL */
};

/* Chooses the next directions, from index `first` on, and skips those without a change.
 * Returns the index at which the next call begins. */
static int choose_directions(const struct spot_changes *from, int first,
                             struct products *to)
{
    to->directions = 0;
    for (; first < from->n && to->directions < DIRECTIONS; first++)
        if (!from->dot[first].none) to->which[to->directions++] = first;
    return first;
}

static void load_directions(const struct profile *profile, const struct form *f,
                            const struct profile_change *changes, struct products *to)
{
    const int used = coefficients_of(profile), n = to->directions;
    double unit[SPOT_COEFFICIENTS];

    to->n = (used + 4) / 4 * 4;
    to->rows = 0;
    for (int k = 0; k < used; k++) unit[k] = f->unit[part_of(k)];
    memset(to->dot, 0, sizeof *to->dot * (size_t)(n + 1));
    memset(to->p + used, 0, sizeof *to->p * (size_t)(to->n - used));
    for (int d = 0; d < n; d++) {
        const struct profile_change *dot = changes + to->which[d];

        for (int k = 0; k < used; k++) to->dot[d][k] = (real)(dot->c[k] * unit[k]);
        if (profile->kind == PROFILE_RANGE) {
            to->dot[d][0] = (real)(dot->c[0] - dot->half * f->per_half);
            to->dot[d][SPOT_COEFFICIENTS] = (real)(dot->half * f->unit[PART_HALF]);
        }
        to->number[d] = profile->kind == PROFILE_TABLE ? dot->grid : NULL;
        to->rows |= to->number[d] != NULL;
    }
}

/* ADD() adds x to product k of pixel i; if `first` is 1, it sets the product. */
#define ADD(k, x) p[k][i] = (first ? 0 : p[k][i]) + (x)

/* Adds the products of slope and the monomials of degree 0 to 4. */
PHYS_FN void multiply_quartic(int first, int n, const real *restrict x,
                              const real *restrict y, const real *restrict slope,
                              real (*restrict p)[FEW_SLOTS])
{
#pragma omp simd
    for (int i = 0; i < n; i++) {
        const real a = x[i], b = y[i], g = slope[i], ga = g * a, gb = g * b;
        const real a2 = a * a, ab = a * b, b2 = b * b;
        const real gaa = ga * a, gab = ga * b, gbb = gb * b;

        ADD(0, g);
        ADD(1, ga);
        ADD(2, gb);
        ADD(3, gaa);
        ADD(4, gab);
        ADD(5, gbb);
        ADD(6, gaa * a);
        ADD(7, gaa * b);
        ADD(8, gbb * a);
        ADD(9, gbb * b);
        ADD(10, gaa * a2);
        ADD(11, gaa * ab);
        ADD(12, gaa * b2);
        ADD(13, gab * b2);
        ADD(14, gbb * b2);
    }
}

/* Adds the products of the slopes by h, l3, l4 and half. */
PHYS_FN void multiply_others(int first, int n, const struct plane *plane,
                             const real *restrict y, real (*restrict p)[FEW_SLOTS])
{
    const real *restrict x = plane->a, *restrict by_h = plane->slope[PART_H];
    const real *restrict by_3 = plane->slope[PART_L3];
    const real *restrict by_4 = plane->slope[PART_L4];
    const real *restrict by_half = plane->slope[PART_HALF];

#pragma omp simd
    for (int i = 0; i < n; i++) {
        const real a = x[i], b = y[i], ha = by_h[i] * a, hb = by_h[i] * b;

        ADD(0, by_h[i]);
        ADD(1, ha);
        ADD(2, hb);
        ADD(3, ha * a);
        ADD(4, ha * b);
        ADD(5, hb * b);
        ADD(6, by_3[i]);
        ADD(7, by_3[i] * a);
        ADD(8, by_3[i] * b);
        ADD(9, by_4[i]);
        ADD(10, by_4[i] * a);
        ADD(11, by_4[i] * b);
        ADD(12, by_half[i]);
    }
}
#undef ADD

/* Adds the changes of the pixels that the changes of the row's numbers cause. */
static void multiply_numbers(const struct form *f, int n, const struct cells *at,
                             struct products *to)
{
    for (int d = 0; d < to->directions; d++) {
        if (!to->number[d]) continue;
        for (int i = 0; i < n; i++) {
            const double *number = to->number[d] + f->base + at->cell[i];
            real change = 0;

            for (int k = 0; k < CELL; k++)
                change += at->number[k][i] * (real)number[(k >> 1) * f->n + (k & 1)];
            to->grid[d][i] += change;
        }
    }
}

/* Adds products k .. k + 3 to the changes along d and d + 1; sets these if `first` is 1. */
PHYS_FN void combine_four(int first, int n, const struct products *products, int d, int k,
                          real (*restrict to)[FEW_SLOTS])
{
    const real(*restrict p)[FEW_SLOTS] = products->p + k;
    const real *c = products->dot[d] + k, *e = products->dot[d + 1] + k;
    const real c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3];
    const real e0 = e[0], e1 = e[1], e2 = e[2], e3 = e[3];

#pragma omp simd
    for (int i = 0; i < n; i++) {
        const real p0 = p[0][i], p1 = p[1][i], p2 = p[2][i], p3 = p[3][i];

        to[0][i] = (first ? 0 : to[0][i]) + (p0 * c0 + p1 * c1 + p2 * c2 + p3 * c3);
        to[1][i] = (first ? 0 : to[1][i]) + (p0 * e0 + p1 * e1 + p2 * e2 + p3 * e3);
    }
}

static void combine(int n, const struct products *products, int d,
                    real (*restrict to)[FEW_SLOTS])
{
    combine_four(1, n, products, d, 0, to);
    for (int k = 4; k < products->n; k += 4) combine_four(0, n, products, d, k, to);
    for (int j = 0; j < 2 && products->rows; j++)
        for (int i = 0; i < n; i++) to[j][i] += products->grid[d + j][i];
}

/* Adds the products of one plane of a batch. */
PHYS_FN void multiply_plane(int first, int kind, const struct batch *batch,
                            const struct plane *plane, struct products *to)
{
    const int n = batch->padded;

    multiply_quartic(first, n, plane->a, batch->b, plane->slope[PART_L], to->p);
    if (kind == PROFILE_STILL) return;
    multiply_quartic(first, n, plane->a, batch->b, plane->slope[PART_M], to->p + SPOT_M);
    multiply_others(first, n, plane, batch->b, to->p + SPOT_H);
}

/* Computes the products of a batch, summed over its planes. */
static void multiply_batch(const struct profile *profile, const struct form *form,
                           const struct batch *batch, int over, struct products *to)
{
    const int n = batch->padded;
    struct plane plane;
    struct cells cells;
    real one[FEW_SLOTS];

    for (int i = 0; i < n; i++) one[i] = 1;
    for (int d = 0; d <= to->directions && to->rows; d++)
        memset(to->grid[d], 0, sizeof **to->grid * (size_t)n);
    for (int j = 0; j < over; j++) {
        planes_of[profile->kind](form, batch, j, one, &plane, &cells);
        if (j == 0)
            multiply_plane(1, profile->kind, batch, &plane, to);
        else
            multiply_plane(0, profile->kind, batch, &plane, to);
        if (!to->rows) continue;
        weigh_numbers(n, one, &cells);
        multiply_numbers(form, n, &cells, to);
    }
}

/* Adds the changes of the pixels of a batch along the directions. */
static void add_changes(const struct products *products, const struct batch *batch,
                        double scale, const struct spot_changes *to)
{
    _Alignas(64) real sum[2][FEW_SLOTS];

    for (int d = 0; d < products->directions; d += 2) {
        combine(batch->padded, products, d, sum);
        for (int j = 0; j < 2 && d + j < products->directions; j++)
            add_to_batch(batch, scale, sum[j],
                         to->change + (size_t)products->which[d + j] * to->stride);
    }
}

static void changes(const struct profile *profile, int over, int nrows,
                    const struct sample_row *rows, double scale,
                    const struct spot_changes *to)
{
    struct form form;
    struct batch batch;
    struct products products;
    int first = 0;

    if (!make_form(profile, &form)) return;
    scale *= form.factor;
    do {
        struct cursor at = {0, 0};
        const int own = first == 0;

        first = choose_directions(to, first, &products);
        load_directions(profile, &form, to->dot, &products);
        while (fill_batch(&batch, FEW_SLOTS, over, nrows, rows, &at)) {
            multiply_batch(profile, &form, &batch, over, &products);
            if (own) add_to_batch(&batch, scale, products.p[0], to->pixel);
            add_changes(&products, &batch, scale, to);
        }
    } while (first < to->n);
}

extern const struct continuous_kernels KERNELS;
const struct continuous_kernels KERNELS = {draw, moments, changes};
