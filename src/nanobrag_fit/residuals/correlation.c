/* correlation.c - correlates the computed and the observed photons of boxes.
 * SPDX-License-Identifier: MIT */
#include "nanobrag_fit/residuals/correlation.h"

#include <math.h>
#include <stdlib.h>

void pair_add(struct pair_sums *sums, double observed, double photons)
{
    double y, i;

    if (sums->n == 0) {
        sums->first[0] = observed;
        sums->first[1] = photons;
    }
    y = observed - sums->first[0];
    i = photons - sums->first[1];
    sums->n++;
    sums->y += y;
    sums->i += i;
    sums->yy += y * y;
    sums->ii += i * i;
    sums->yi += y * i;
}

double pair_correlation(const struct pair_sums *sums)
{
    const double n = sums->n;
    const double yy = n * sums->yy - sums->y * sums->y,
                 ii = n * sums->ii - sums->i * sums->i;

    return yy > 0 && ii > 0 ? (n * sums->yi - sums->y * sums->i) / sqrt(yy * ii) : NAN;
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
