/*
 * gram.c - multiplies the rows of a tile's Jacobian (struct gram). It is compiled once per
 * instruction set, in double. The compiler may choose the order of its sums, as in
 * lane_moments.c.
 *
 * Two rows at a time are multiplied by four, so that each number loaded is used several
 * times.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/derivatives/gram.h"

enum { HIGH = 2, WIDE = 4 };

/* Returns 1 if some element of a row is not 0. */
static int any(int n, const double *row)
{
    double sum = 0;

    for (int i = 0; i < n; i++) sum += row[i] != 0;
    return sum != 0;
}

/* Writes the inner products of rows a and b with the four rows of `with`. */
static void products(int n, const double *restrict a, const double *restrict b,
                     const double *const *with, double (*out)[WIDE])
{
    const double *restrict c = with[0], *restrict d = with[1];
    const double *restrict e = with[2], *restrict f = with[3];
    double ac = 0, ad = 0, ae = 0, af = 0, bc = 0, bd = 0, be = 0, bf = 0;

    for (int i = 0; i < n; i++) {
        ac += a[i] * c[i], ad += a[i] * d[i], ae += a[i] * e[i], af += a[i] * f[i];
        bc += b[i] * c[i], bd += b[i] * d[i], be += b[i] * e[i], bf += b[i] * f[i];
    }
    out[0][0] = ac, out[0][1] = ad, out[0][2] = ae, out[0][3] = af;
    out[1][0] = bc, out[1][1] = bd, out[1][2] = be, out[1][3] = bf;
}

/* Returns the index in the sums of row m, counted among the rows that are not 0. */
static size_t place_of(const struct gram *g, int m)
{
    return (size_t)(g->to ? g->to[g->moving[m]] : g->moving[m]);
}

static const double *row_of(const struct gram *g, int m)
{
    return g->change + (size_t)g->moving[m] * TILE_PIXELS;
}

/* Adds the products of rows r and r + 1 with rows 0 .. r + 1, all counted among the m rows
 * that are not 0. */
static void add_rows(const struct gram *g, int m, int r)
{
    const int high = r + 1 < m ? HIGH : 1, wide = r + high;
    double weighted[HIGH][TILE_PIXELS], sums[HIGH][WIDE];

    for (int h = 0; h < high; h++) {
        const double *restrict row = row_of(g, r + h);

        for (int i = 0; i < g->lanes; i++) weighted[h][i] = g->weight[i] * row[i];
    }
    for (int first = 0; first < wide; first += WIDE) {
        const double *with[WIDE];

        for (int w = 0; w < WIDE; w++)
            with[w] = row_of(g, first + w < wide ? first + w : r);
        products(g->lanes, weighted[0], weighted[high - 1], with, sums);
        for (int h = 0; h < high; h++)
            for (int w = 0; w < WIDE && first + w <= r + h; w++)
                g->matrix[place_of(g, r + h) * g->stride + place_of(g, first + w)] +=
                    sums[h][w];
    }
}

void TILE_GRAM(const struct gram *g)
{
    int m = 0;

    for (int r = 0; r < g->rows; r++) {
        const double *change = g->change + (size_t)r * TILE_PIXELS;
        double sum = 0;

        if (!any(g->lanes, change)) continue;
        g->moving[m] = r;
        for (int i = 0; i < g->lanes; i++) sum += g->bar[i] * change[i];
        g->gradient[place_of(g, m++)] += sum;
    }
    for (int r = 0; r < m; r += HIGH) add_rows(g, m, r);
}
