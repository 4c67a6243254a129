/* correlation.c - correlates the computed and the observed photons of boxes, without
 * planes. SPDX-License-Identifier: MIT */
#include "nanobrag_fit/residuals/correlation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first numbers of a pixel are those of a plane: 1, fast, slow. */
enum { PAIR_PLANE = 3 };

/* A square below this share of its sum is rounding. */
static const double least_square = 1e-12;

void pair_add(struct pair_sums *sums, const double at[2], double observed, double photons)
{
    const double is[4] = {at[0], at[1], observed, photons};
    double v[PAIR_SUMS] = {1};

    if (sums->m[0][0] == 0) memcpy(sums->first, is, sizeof is);
    for (int i = 0; i < 4; i++) v[i + 1] = is[i] - sums->first[i];
    for (int i = 0; i < PAIR_SUMS; i++)
        for (int k = 0; k < PAIR_SUMS; k++) sums->m[i][k] += v[i] * v[k];
}

double pair_correlation(const struct pair_sums *sums)
{
    double m[PAIR_SUMS][PAIR_SUMS];

    memcpy(m, sums->m, sizeof m);
    for (int i = 0; i < PAIR_PLANE; i++) {
        /* a box of one row or one column has a line in place of a plane */
        if (!(m[i][i] > least_square * sums->m[i][i])) continue;
        for (int k = i + 1; k < PAIR_SUMS; k++)
            for (int j = i + 1; j < PAIR_SUMS; j++) m[k][j] -= m[k][i] * m[i][j] / m[i][i];
    }
    if (!(m[PAIR_PLANE][PAIR_PLANE] > least_square * sums->m[PAIR_PLANE][PAIR_PLANE]))
        return NAN;
    if (!(m[PAIR_PLANE + 1][PAIR_PLANE + 1]
          > least_square * sums->m[PAIR_PLANE + 1][PAIR_PLANE + 1]))
        return 0;
    return m[PAIR_PLANE][PAIR_PLANE + 1]
           / sqrt(m[PAIR_PLANE][PAIR_PLANE] * m[PAIR_PLANE + 1][PAIR_PLANE + 1]);
}

static int by_value(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;

    return p < q ? -1 : p > q;
}

void pair_median(const struct pair_sums *sums, size_t n, double *value, nb_misfit *shot)
{
    size_t m = 0;

    for (size_t b = 0; b < n; b++) {
        const double correlation = pair_correlation(sums + b);

        if (isnan(correlation)) continue;
        value[m++] = correlation;
        shot->alike += correlation >= NB_FIT_ALIKE;
    }
    shot->boxes = (int64_t)m;
    qsort(value, m, sizeof *value, by_value);
    if (m > 0) shot->correlation = (value[(m - 1) / 2] + value[m / 2]) / 2;
}
