/*
 * fit/step.c - the step of Levenberg and Marquardt within bounds, and the errors: both from
 * eigenvalues of the matrix scaled to ones on its diagonal.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "fit/eigen.h"
#include "fit/fit.h"

/* Of the largest eigenvalue: below it a direction is free. A rank lost in exact arithmetic
 * leaves some n eps. */
static const double free_below = 1e-12;
/* A parameter with more than this of itself, squared, in a free direction is free. */
static const double free_share = 1e-6;

/* Sets the factors that give the matrix ones on its diagonal; 0 where a parameter has no
 * influence. */
static void set_scale(nb_fit *fit)
{
    for (size_t i = 0; i < fit->n; i++) {
        const double diagonal = fit->matrix[i * fit->n + i];

        fit->work.scale[i] = diagonal > 0 ? 1 / sqrt(diagonal) : 0;
    }
}

/* Takes eigenvalues and eigenvectors of the scaled matrix of what is not held. Returns its
 * size. */
static size_t decompose(nb_fit *fit)
{
    struct fit_workspace *w = &fit->work;
    size_t m = 0;

    for (size_t i = 0; i < fit->n; i++)
        if (!w->is_held[i]) w->at[m++] = i;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++)
            w->reduced[i * m + j] = w->scale[w->at[i]] * w->scale[w->at[j]]
                                    * fit->matrix[w->at[i] * fit->n + w->at[j]];
    eigen_symmetric(m, w->reduced, w->values, w->vectors);
    return m;
}

static double largest_of(const double *values, size_t m)
{
    double largest = 0;

    for (size_t i = 0; i < m; i++) largest = fmax(largest, values[i]);
    return largest;
}

/* Solves for the part of the step that is not held, given the part that is. */
static void solve(nb_fit *fit, double damping)
{
    struct fit_workspace *w = &fit->work;
    const size_t m = decompose(fit), n = fit->n;
    const double least = free_below * largest_of(w->values, m);

    for (size_t i = 0; i < m; i++) {
        const size_t row = w->at[i];

        w->right[i] = -fit->gradient[row];
        for (size_t j = 0; j < n; j++)
            if (w->is_held[j]) w->right[i] -= fit->matrix[row * n + j] * fit->step[j];
        w->right[i] *= w->scale[row];
    }
    for (size_t i = 0; i < m; i++) fit->step[w->at[i]] = 0;
    for (size_t k = 0; k < m; k++) {
        double along = 0;

        if (!(w->values[k] > least)) continue;
        for (size_t i = 0; i < m; i++) along += w->vectors[k * m + i] * w->right[i];
        along /= w->values[k] + damping;
        for (size_t i = 0; i < m; i++)
            fit->step[w->at[i]] += w->scale[w->at[i]] * along * w->vectors[k * m + i];
    }
}

/* Holds each parameter that the step would take out of its bounds, at the bound; without
 * `stops` only those that are there already. Returns 1 if there was one. */
static int hold(nb_fit *fit, int stops)
{
    int found = 0;

    for (size_t i = 0; i < fit->n; i++) {
        const nb_fit_value *v = fit->value + i;
        const double to = v->value + fit->step[i];
        const double bound = to < v->param.lower ? v->param.lower : v->param.upper;

        if (fit->work.is_held[i] || (to >= v->param.lower && to <= v->param.upper))
            continue;
        if (!stops && v->value != bound) continue;
        fit->step[i] = bound - v->value;
        fit->work.is_held[i] = 1;
        found = 1;
    }
    return found;
}

double fit_step(nb_fit *fit, double damping, int stops)
{
    const size_t n = fit->n;
    double gain = 0;

    set_scale(fit);
    memset(fit->step, 0, n * sizeof *fit->step);
    for (size_t i = 0; i < n; i++) fit->work.is_held[i] = fit->work.scale[i] == 0;
    do solve(fit, damping);
    while (hold(fit, stops));
    for (size_t i = 0; i < n; i++) {
        double force = fit->gradient[i];

        for (size_t j = 0; j < n; j++) force += fit->matrix[i * n + j] * fit->step[j] / 2;
        gain -= force * fit->step[i];
    }
    return gain;
}

void fit_errors(nb_fit *fit, size_t *nfree, double *condition)
{
    struct fit_workspace *w = &fit->work;
    const size_t n = fit->n;
    double largest, smallest = INFINITY;

    set_scale(fit);
    memset(w->is_held, 0, n);
    (void)decompose(fit);
    largest = largest_of(w->values, n);
    memset(fit->covariance, 0, n * n * sizeof *fit->covariance);
    *nfree = 0;
    for (size_t i = 0; i < n; i++) fit->value[i].error = 0;
    for (size_t k = 0; k < n; k++) {
        const double *vector = w->vectors + k * n;

        if (!(w->values[k] > free_below * largest)) {
            ++*nfree;
            for (size_t i = 0; i < n; i++)
                if (vector[i] * vector[i] > free_share) fit->value[i].error = INFINITY;
            continue;
        }
        smallest = fmin(smallest, w->values[k]);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                fit->covariance[i * n + j] +=
                    w->scale[i] * vector[i] * vector[j] * w->scale[j] / w->values[k];
    }
    *condition = largest / smallest;
    for (size_t i = 0; i < n; i++)
        if (fit->value[i].error == 0)
            fit->value[i].error = sqrt(fit->covariance[i * n + i]);
}
