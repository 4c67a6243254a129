/*
 * draws.c - finds the error of sampling from other draws. SPDX-License-Identifier: MIT
 */
#include "nanobrag_fit/draws/draws.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "nanobrag_fit/fit.h"

/* ---- evaluation of draws ---- */

/* Returns why errors do not contain the error of sampling; NULL if they may contain it. */
static const char *why_not(const nb_fit *fit)
{
    if (fit->is_expected) return "only a fit has this error";
    if (fit->options.scaling == NB_FIT_SCALING_BOXES)
        return "errors from boxes do not need this error";
    if (fit->options.scaling != NB_FIT_SCALING_AUTO) return "as asked for";
    if (!fit->layout.has_matrix) return "L-BFGS keeps no matrix for it";
    if (fit->end != NB_FIT_CONVERGED) return "the fit has not converged";
    if (fit->draws.failed)
        return "another draw has no finite loss, for example where photons were observed "
               "but none are expected";
    if (fit->draws.done < DRAWS && fit->options.seconds > 0
        && fit->seconds > fit->options.seconds)
        return "the limit of seconds is reached";
    return NULL;
}

int draws_next(nb_fit *fit)
{
    struct fit_draws *d = &fit->draws;
    const size_t bytes = fit->layout.n * sizeof *d->x;

    if (memcmp(d->x, fit->best.x, bytes) != 0) {
        memcpy(d->x, fit->best.x, bytes);
        d->done = d->failed = 0;
    }
    if (d->ndomains == 0 || fit_knows_own_only(fit) || why_not(fit)) return 0;
    d->now = d->done < DRAWS ? d->done + 1 : 0;
    return d->now;
}

void draws_take(nb_fit *fit)
{
    struct fit_draws *d = &fit->draws;

    for (size_t shot = 0; shot < fit->layout.nshot; shot++)
        d->failed |=
            fit->trial.status[shot] != FIT_SKIPPED && fit->trial.status[shot] != NB_OK;
    if (!d->failed)
        normal_step(fit, &fit->trial, d->step + (size_t)d->done * fit->layout.n);
    d->done++;
}

nb_status draws_find(nb_fit *fit)
{
    while (draws_next(fit)) {
        double loss;
        nb_status status;

        memcpy(fit->trial.x, fit->best.x, fit->layout.n * sizeof *fit->best.x);
        status = fit_evaluate_all(fit, &fit->trial, FIT_DRAW, &loss);
        if (status == NB_ERR_CANCELLED || status == NB_ERR_MEMORY) return status;
        draws_take(fit);
    }
    return NB_OK;
}

/* ---- the error of sampling ---- */

/* Returns the positions of DRAWS draws and, in the last row, of the fit itself. Each is
 * less the mean and divided by the root of the degrees of freedom, so that the product of
 * two columns is an element of S (draws.h). The caller frees them; NULL: no memory
 * ((DRAWS + 1) x n). */
static double *rows_of(const nb_fit *fit)
{
    const size_t n = fit->layout.n;
    double *row = calloc((DRAWS + 1) * n + 1, sizeof *row);

    if (!row) return NULL;
    memcpy(row, fit->draws.step, DRAWS * n * sizeof *row);
    for (size_t i = 0; i < n; i++) {
        double mean = 0;

        for (size_t k = 0; k < DRAWS; k++) mean += row[k * n + i] / (DRAWS + 1);
        for (size_t k = 0; k <= DRAWS; k++)
            row[k * n + i] = (row[k * n + i] - mean) / sqrt(DRAWS);
    }
    return row;
}

/* Returns element (i, j) of S from rows_of(). */
static double product(const double *row, size_t n, size_t i, size_t j)
{
    double sum = 0;

    for (size_t k = 0; k <= DRAWS; k++) sum += row[k * n + i] * row[k * n + j];
    return sum;
}

static void explain(struct fit_result_memory *r, nb_fit_result *out, const char *why)
{
    char before[sizeof r->errors_why];

    (void)snprintf(before, sizeof before, "%s", out->errors_why);
    if (why)
        (void)snprintf(r->errors_why, sizeof r->errors_why,
                       "%.300s; without the error of sampling the mosaic domains: %s",
                       before, why);
    else
        (void)snprintf(r->errors_why, sizeof r->errors_why,
                       "%.300s; with the error of sampling the mosaic domains, by %d other "
                       "draws",
                       before, DRAWS);
    out->errors_why = r->errors_why;
}

nb_status draws_add(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out)
{
    const size_t n = fit->layout.n;
    const char *why = why_not(fit);
    double *row;

    if (!why && fit->draws.done < DRAWS) why = "its computation was cancelled";

    for (size_t i = 0; i < n; i++) r->sampling[i] = fit->draws.ndomains > 0 ? NAN : 0;
    if (fit->draws.ndomains == 0 || fit->end == NB_FIT_NOT_RUN || fit_knows_own_only(fit)
        || out->errors == NB_FIT_ERRORS_NONE)
        return NB_OK;
    explain(r, out, why);
    if (why) return NB_OK;
    row = rows_of(fit);
    if (!row) return fail_memory(fit->ctx, "the errors of a fit");
    out->draws = DRAWS;
    for (size_t i = 0; i < n; i++) {
        const double variance = product(row, n, i, i);

        if (!isfinite(r->error[i]) || covariance_bound(fit, i)) continue;
        r->sampling[i] = sqrt(variance);
        r->error[i] = sqrt(r->error[i] * r->error[i] + variance);
    }
    for (size_t i = 0; out->covariance && i < n * n; i++)
        r->covariance[i] += product(row, n, i / n, i % n);
    free(row);
    return NB_OK;
}

int draws_warn(const nb_fit *fit, const nb_fit_result *out, char *text, size_t size)
{
    const struct fit_result_memory *r = fit->result;
    size_t known = 0, larger = 0, worst = 0;
    double most = 1;

    for (size_t i = 0; out->draws > 0 && i < out->nvalue; i++) {
        const double square = r->sampling[i] * r->sampling[i];
        const double ratio = sqrt(square / (r->error[i] * r->error[i] - square));

        known += isfinite(ratio);
        larger += ratio > 1;
        if (!(ratio > most)) continue;
        most = ratio;
        worst = i;
    }
    if (larger == 0) return 0;
    (void)snprintf(text, size,
                   "the error of sampling by %d mosaic domains is larger than the error of "
                   "counting in %zu of %zu values, %.3g times for %s; errors contain both; "
                   "give more -mosaic_domains",
                   fit->draws.ndomains, larger, known, most, out->value[worst].param.name);
    return 1;
}
