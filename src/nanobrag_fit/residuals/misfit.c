/*
 * misfit.c - measures the misfit: the difference of images from their data, relative to its
 * expectation by the model. The misfit scales errors, and is the unit of the gain that ends
 * a fit.
 *
 * Pearson's (y - I)^2/I has an expectation of 1 at any I, but a variance of 2 + 1/I. If
 * most pixels expect a hundredth of a photon, the few that happen to count one photon
 * decide its sum. A deviance grows by a logarithm only, and its expectation is known as
 * well. With it a pixel counts by the information it holds: at 0.01 photons a tenth as much
 * as a bright pixel.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "nanobrag_fit/fit.h"

/* A misfit within this many standard deviations of 1 is noise. A sum of deviances is nearly
 * normal, with a longer tail above, so errors of about one right model in a million are
 * scaled. */
static const double deviations = 5;

/* A misfit below this is not applied. Errors would change by less than 5 %. */
static const double misfit_least = 1.1;

int misfit_is_known(const nb_fit *fit, const double *x)
{
    return fit->is_weighed
           && !memcmp(fit->weighed_x, x, fit->layout.n * sizeof *fit->weighed_x);
}

/* ---- the share of bright pixels that fitted values take ---- */

/* Returns the trace of C M, with C the covariance of fitted values and M the matrix of the
 * trial. Returns NAN if there are too many values for C. */
static double trace_of(nb_fit *fit)
{
    const struct fit_layout *l = &fit->layout;
    const size_t n = l->n - l->nf;
    struct fit_result_memory *r = result_make(fit);
    double *m = calloc(n * (n + l->nf) + 1, sizeof *m), *coupling = m + n * n, sum = NAN;
    const nb_normal out = {.matrix = m, .coupling = coupling};
    nb_fit_result unused = {0};

    if (r && m && r->covariance && covariance_joint(fit, r, &unused) == NB_OK) {
        fit_deliver_matrix(fit, &out);
        sum = 0;
        for (size_t i = 0; i < n; i++) {
            const double *row = r->covariance + l->n * normal_at_x(l, i);

            for (size_t j = 0; j < n; j++) sum += row[normal_at_x(l, j)] * m[i * n + j];
            for (size_t f = 0; f < l->nf; f++)
                sum += 2 * row[l->f[f]] * coupling[i * l->nf + f];
        }
        for (size_t f = 0; f < l->nf; f++)
            sum +=
                r->covariance[l->f[f] * (l->n + 1)] * fit->trial.sum[fit->at.diagonal + f];
    }
    free(m);
    result_free(r);
    return sum;
}

/* Returns the trace of C M as if the values did not correlate. */
static double sum_of_shares(const nb_fit *fit)
{
    double sum = 0;

    for (size_t i = 0; i < fit->layout.n; i++) {
        const double all = fit_diagonal(fit, &fit->best, i);

        if (all > 0 && !normal_is_held(fit, i) && covariance_bound(fit, i) == 0)
            sum += fit_diagonal(fit, &fit->trial, i) / all;
    }
    return sum;
}

/* Returns how much of the bright pixels' expectation the fitted values take. A fitted value
 * lowers each deviance by a part of its expectation, the leverage of the pixel. Weighed by
 * photons, the leverages add up to the trace of C M. */
static double share_of(nb_fit *fit)
{
    const size_t bytes = fit->layout.n * sizeof *fit->best.x;
    const int is_kept = memcmp(fit->best.x, fit->trial.x, bytes) != 0;
    double sum = NAN;

    if (fit->needs_variance) return 0;
    if (is_kept) fit_show_kept(fit, 0);
    if (fit->layout.has_matrix) sum = trace_of(fit);
    if (isnan(sum)) sum = sum_of_shares(fit);
    if (is_kept) fit_hide_kept(fit);
    return sum;
}

void misfit_take(nb_fit *fit)
{
    fit->is_weighed = 1;
    memcpy(&fit->weighed, fit->trial.sum + fit->at.weighed, sizeof fit->weighed);
    for (size_t shot = 0; shot < fit->layout.nshot; shot++)
        if (fit->trial.status[shot] != FIT_SKIPPED && fit->trial.status[shot] != NB_OK)
            fit->weighed.alike.expected = fit->weighed.bright.expected = NAN;
    memcpy(fit->weighed_x, fit->trial.x, fit->layout.n * sizeof *fit->weighed_x);
    fit->share = share_of(fit);
}

nb_status misfit_find(nb_fit *fit)
{
    const size_t nshot = fit->layout.nshot;

    if (misfit_is_known(fit, fit->best.x)) return NB_OK;
    memcpy(fit->trial.x, fit->best.x, fit->layout.n * sizeof *fit->best.x);
    sums_begin(&fit->sums, nshot, fit->at.end);
    NB_TRY(fit_evaluate_shots(fit, fit->trial.x, 0, nshot, FIT_WEIGH, &fit->sums,
                              &fit->trial));
    memcpy(fit->trial.sum, sums_total(&fit->sums), fit->at.end * sizeof *fit->trial.sum);
    misfit_take(fit);
    return NB_OK;
}

/* Counts the pixels of shots that are not left out, and the values fitted to them. */
static void count(const nb_fit *fit, double *pixels, double *fitted)
{
    *pixels = *fitted = 0;
    for (size_t shot = 0; shot < fit->layout.nshot; shot++)
        if (!fit->left_out[shot]) *pixels += (double)fit->pixels[shot];
    for (size_t i = 0; i < fit->layout.n; i++) {
        const int64_t shot = fit->value[i].shot;

        if (shot >= 0 && fit->left_out[shot]) continue;
        *fitted += !normal_is_held(fit, i) && covariance_bound(fit, i) == 0;
    }
}

/* Largest part of the bright pixels' expectation that fitted values may take. With as few
 * bright pixels as values, nothing would be left to judge by. */
static const double bright_most = 0.9;

/* Sets a misfit and its standard deviation, if the fitted values take `share` of the
 * expectation. Returns 1 if the misfit is more than noise. */
static int judge(const nb_fit *fit, const struct fit_sum_weighed *w, double share,
                 double *misfit, double *deviation)
{
    double pixels, fitted, expected = w->expected - share;

    count(fit, &pixels, &fitted);
    if (fit->needs_variance) expected = w->expected * (1 - fitted / pixels);
    *misfit = *deviation = NAN;
    if (!(expected > 0)) return 0;
    *misfit = w->observed / expected;
    *deviation = sqrt(w->variance) / expected;
    return *misfit > misfit_least && *misfit - 1 > deviations * *deviation;
}

struct fit_verdict misfit_judge(const nb_fit *fit)
{
    const struct fit_weighed *w = &fit->weighed;
    const double most = bright_most * w->bright.expected;
    struct fit_verdict v = {.factor = 1};
    double pixels, fitted;

    count(fit, &pixels, &fitted);
    if (judge(fit, &w->alike, fmin(fitted, w->alike.expected), &v.misfit, &v.deviation))
        v.factor = v.misfit;
    if (judge(fit, &w->bright, fmin(fit->share, most), &v.bright, &v.bright_deviation)
        && !fit->needs_variance)
        v.factor = fmax(v.factor, v.bright);
    return v;
}
