/*
 * box_fit.c - a linear fit to the pixels of one box by reweighted least squares. The
 * variances of the pixels follow from the model, and a few rounds find both. This solves
 * the equations of the greatest likelihood of Poisson counts: sum of (y - m)/m dm/dt = 0.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_integrate/box_fit.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 8 };

/* Replaces the upper left n x n of a symmetric matrix by its inverse, by Cholesky's
 * factors. Returns 0 if it is singular. */
static int invert(int n, double (*m)[BOX_TERMS])
{
    double lower[BOX_TERMS][BOX_TERMS] = {{0}};

    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = m[i][j];

            for (int k = 0; k < j; k++) sum -= lower[i][k] * lower[j][k];
            if (i == j && !(sum > 1e-12 * m[i][i])) return 0;
            lower[i][j] = i == j ? sqrt(sum) : sum / lower[j][j];
        }
    }
    for (int c = 0; c < n; c++) {
        double column[BOX_TERMS] = {0};

        column[c] = 1;
        for (int i = c; i < n; i++) {
            for (int k = c; k < i; k++) column[i] -= lower[i][k] * column[k];
            column[i] /= lower[i][i];
        }
        for (int i = n - 1; i >= 0; i--) {
            for (int k = i + 1; k < n; k++) column[i] -= lower[k][i] * column[k];
            column[i] /= lower[i][i];
        }
        for (int i = 0; i < n; i++) m[i][c] = column[i];
    }
    return 1;
}

/* Computes the variances of the pixels from the fitted model and `more` photons of the
 * first term. The model may be 0 or less: one photon in the whole box is then taken. */
static void find_variances(struct box_fit *fit, double more)
{
    const double least = 1 / (double)fit->n;

    for (size_t p = 0; p < fit->n; p++) {
        double model = fit->known[p] + more * fit->term[p];

        for (int t = 0; t < fit->terms; t++)
            model += fit->value[t] * fit->term[(size_t)t * fit->n + p];
        fit->variance[p] =
            (fmax(model, 0) + least) / fit->gain + fit->readout * fit->readout;
    }
}

/* Does one round of weighted least squares. */
static int solve_once(struct box_fit *fit)
{
    double right[BOX_TERMS] = {0};

    memset(fit->covariance, 0, sizeof fit->covariance);
    for (size_t p = 0; p < fit->n; p++) {
        const double weight = 1 / fit->variance[p];

        for (int i = 0; i < fit->terms; i++) {
            const double some = weight * fit->term[(size_t)i * fit->n + p];

            right[i] += some * fit->observed[p];
            for (int j = 0; j <= i; j++)
                fit->covariance[i][j] += some * fit->term[(size_t)j * fit->n + p];
        }
    }
    for (int i = 0; i < fit->terms; i++)
        for (int j = 0; j < i; j++) fit->covariance[j][i] = fit->covariance[i][j];
    if (!invert(fit->terms, fit->covariance)) return 0;
    for (int i = 0; i < fit->terms; i++) {
        fit->value[i] = 0;
        for (int j = 0; j < fit->terms; j++)
            fit->value[i] += fit->covariance[i][j] * right[j];
    }
    return 1;
}

/* Finds the covariance with one photon more. A spot without photons would else have hardly
 * an error, although there may be a photon the next time. */
static int find_covariance(struct box_fit *fit)
{
    double value[BOX_TERMS];

    memcpy(value, fit->value, sizeof value);
    find_variances(fit, 1);
    if (!solve_once(fit)) return 0;
    memcpy(fit->value, value, sizeof value);
    return 1;
}

int box_fit_solve(struct box_fit *fit)
{
    double mean = 0;

    if (fit->n <= (size_t)fit->terms) return 0;
    for (size_t p = 0; p < fit->n; p++) mean += fit->observed[p] + fit->known[p];
    mean = fmax(mean, 1) / (double)fit->n;
    for (size_t p = 0; p < fit->n; p++)
        fit->variance[p] = mean / fit->gain + fit->readout * fit->readout;
    for (int round = 0; round < ROUNDS; round++) {
        const double before = fit->value[0];

        if (!solve_once(fit)) return 0;
        find_variances(fit, 0);
        if (round > 1 && fabs(fit->value[0] - before) <= 1e-9 * fabs(before)) break;
    }
    return find_covariance(fit);
}
