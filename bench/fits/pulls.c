/* pulls.c - see fits.h. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "fits.h"

/* d^T C^-1 d, by Gaussian elimination on C. */
static double distance(const double *truth, const nb_fit_result *r)
{
    enum { N = STILL_PARAMETERS };
    double c[N][N], d[N], sum = 0;

    for (int i = 0; i < N; i++) {
        d[i] = (r->value[i].value - truth[i]) / r->value[i].error;
        for (int j = 0; j < N; j++)
            c[i][j] = r->covariance[i * N + j] / (r->value[i].error * r->value[j].error);
    }
    for (int k = 0; k < N; k++) {
        sum += d[k] * d[k] / c[k][k];
        for (int i = k + 1; i < N; i++) {
            const double factor = c[i][k] / c[k][k];

            d[i] -= factor * d[k];
            for (int j = k; j < N; j++) c[i][j] -= factor * c[k][j];
        }
    }
    return sum;
}

void pulls_add(struct pulls *p, const double *truth, const nb_fit_result *r)
{
    for (size_t i = 0; i < STILL_PARAMETERS; i++) {
        const double pull = (r->value[i].value - truth[i]) / r->value[i].error;

        p->squares[i] += pull * pull;
        p->sums[i] += pull;
        p->largest = fmax(p->largest, fabs(pull));
    }
    p->chi2 += distance(truth, r);
    p->runs++;
}

void pulls_print(const struct pulls *p, const char *name, double margin, double least)
{
    double low = INFINITY, high = 0;

    for (size_t i = 0; i < STILL_PARAMETERS; i++) {
        const double rms = sqrt(p->squares[i] / p->runs);

        low = fmin(low, rms);
        high = fmax(high, rms);
    }
    (void)printf("%-24s %d draws: d^T C^-1 d %.2f on average (15 +- %g), pulls %.2f to "
                 "%.2f rms (%g to 1.2), %.1f at most\n",
                 name, p->runs, p->chi2 / p->runs, margin, low, high, least, p->largest);
}
