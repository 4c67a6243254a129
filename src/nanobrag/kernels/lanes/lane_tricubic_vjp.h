/*
 * lane_tricubic_vjp.h - the adjoint of lane_tricubic.h: from cotangents of F at the lanes
 * to cotangents of the structure factors. The cotangents of the 64 terms of a cell's
 * polynomial are summed over lanes and orientations before they go to the cell's 64 nodes.
 * The file is compiled with lanes_vjp.c, once per instruction set and precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_TRICUBIC_VJP_H
#define NB_KERNELS_LANES_LANE_TRICUBIC_VJP_H

#include "kernels/lanes/lane_tricubic.h"

/* SUMS_KEPT is the number of cells with sums, SUMS_MOST the number of orientations that are
 * summed in `real` before the sums go to the nodes. */
enum { SUMS_KEPT = 24, SUMS_MOST = 64 };

/* dL/d(coefficients of polynomials), 64 for each cell that lanes of a tile have visited. A
 * cell is the cube between eight reflections (lane_tricubic.h). */
struct cell_sums {
    struct cell_table table;
    int added; /* orientations in the sums */
    int corner[SUMS_KEPT]; /* place in f of each cell's first node */
    /* term[cell][t][i] sums over the lanes at place i of a vector */
    _Alignas(64) real term[SUMS_KEPT][TERMS][VECTOR];
};

static void cell_sums_clear(struct cell_sums *sums)
{
    cell_table_clear(&sums->table);
    sums->added = 0;
}

/* The transpose of cubics_through(). */
PHYS_FN void cubics_through_vjp(const double *restrict out_bar, double *restrict in_bar)
{
    for (ptrdiff_t i = 0; i < 16; i++) {
        const double a = out_bar[4 * i] * (1. / 16), b = out_bar[4 * i + 1] * (1. / 24);
        const double c = out_bar[4 * i + 2] * (1. / 4), d = out_bar[4 * i + 3] * (1. / 6);
        const double even = c - a, odd = b - d;
        const double inner = 9 * a - c, step = 27 * b - 3 * d;

        in_bar[i] = even + odd;
        in_bar[16 + i] = inner - step;
        in_bar[32 + i] = inner + step;
        in_bar[48 + i] = even - odd;
    }
}

/* Adds `scale` times the cotangents of a cell's terms to the cotangents of its nodes. */
static void give_cell(const struct phys_box *box, int corner, double scale,
                      real (*restrict term)[VECTOR], double *restrict f)
{
    double a[TERMS], b[TERMS];

    for (int i = 0; i < TERMS; i++) {
        a[i] = 0;
        for (int j = 0; j < (int)VECTOR; j++) a[i] += (double)term[i][j];
        a[i] *= scale;
    }
    cubics_through_vjp(a, b);
    cubics_through_vjp(b, a);
    cubics_through_vjp(a, b);
    for (ptrdiff_t i = 0; i < 16; i++) {
        double *to = f + corner + i / 4 * box->stride_h + i % 4 * box->stride_k;

        for (int j = 0; j < 4; j++) to[j] += b[4 * i + j];
    }
}

/* Adds `scale` times all sums to the cotangents f of the structure factors, and clears the
 * sums. */
static __attribute__((noinline)) void cell_sums_give(const struct phys_box *box,
                                                     double scale, struct cell_sums *sums,
                                                     double *f)
{
    for (int i = 0; i < sums->table.n; i++)
        give_cell(box, sums->corner[i], scale, sums->term[i], f);
    cell_sums_clear(sums);
}

/* The first three powers of a number. The struct holds no array, because the compiler would
 * keep a copy of an array in memory for each lane. */
struct powers {
    real first, second, third;
};

PHYS_FN struct powers powers_of(real x)
{
    return (struct powers){x, x * x, x * (x * x)};
}

/* Adds `bar` times the powers 0 to 3 of l, for lane i of a vector. */
PHYS_FN void add_line(real (*restrict term)[VECTOR], int i, real bar, struct powers l)
{
    term[0][i] += bar;
    term[1][i] += bar * l.first;
    term[2][i] += bar * l.second;
    term[3][i] += bar * l.third;
}

PHYS_FN void add_plane_bar(real (*restrict term)[VECTOR], int i, real bar, struct powers k,
                           struct powers l)
{
    add_line(term, i, bar, l);
    add_line(term + 4, i, bar * k.first, l);
    add_line(term + 8, i, bar * k.second, l);
    add_line(term + 12, i, bar * k.third, l);
}

/* Adds the cotangents `bar` of F in VECTOR lanes, from lane `at` on, to a cell's sums. */
static __attribute__((noinline)) void add_terms(const struct in_cells *restrict in, int at,
                                                const real *restrict bar,
                                                real (*restrict term)[VECTOR])
{
    const real *of_h = in->h + at, *of_k = in->k + at, *of_l = in->l + at;

#pragma omp simd
    KEEP_LOOP
    for (int i = 0; i < (int)VECTOR; i++) {
        const struct powers h = powers_of(of_h[i]), k = powers_of(of_k[i]);
        const struct powers l = powers_of(of_l[i]);

        add_plane_bar(term, i, bar[i], k, l);
        add_plane_bar(term + 16, i, bar[i] * h.first, k, l);
        add_plane_bar(term + 32, i, bar[i] * h.second, k, l);
        add_plane_bar(term + 48, i, bar[i] * h.third, k, l);
    }
}

/* Adds f_bar[i], the cotangents of F in one orientation over `scale`, to the sums. When
 * SUMS_MOST orientations have been added, the sums go to the cotangents f. */
static void add_cells(const struct phys_box *box, int n, const struct in_cells *in,
                      const real *f_bar, double scale, struct cell_sums *sums, double *f)
{
    int start[TILE_PIXELS + 1];
    const int runs = find_runs(n, in->corner, start);

    if (sums->added++ == SUMS_MOST) cell_sums_give(box, scale, sums, f);
    for (int run = 0; run < runs; run++) {
        const int corner = in->corner[start[run]];
        unsigned slot = cell_slot(&sums->table, corner);
        struct cell_table *table = &sums->table;

        if (table->corner[slot] == NO_CELL) {
            if (table->n == SUMS_KEPT) {
                cell_sums_give(box, scale, sums, f);
                slot = cell_slot(table, corner);
            }
            memset(sums->term[table->n], 0, sizeof sums->term[0]);
            sums->corner[table->n] = corner;
            table->corner[slot] = corner;
            table->number[slot] = (uint8_t)table->n++;
        }
        for (int at = start[run]; at < start[run + 1]; at += VECTOR) {
            real bar[VECTOR];

            for (int i = 0; i < (int)VECTOR; i++)
                bar[i] = at + i < start[run + 1] ? f_bar[at + i] : 0;
            add_terms(in, at, bar, sums->term[table->number[slot]]);
        }
    }
}

#endif
