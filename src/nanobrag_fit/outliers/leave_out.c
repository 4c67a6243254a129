/*
 * leave_out.c - leaves out shots that fail or stand out, and warns of parameters without
 * influence.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "nanobrag_fit/fit.h"
#include "nanobrag_fit/outliers/outliers.h"

/* Distance of a shot that stands out, in standard deviations of log(loss per pixel). */
static const double outlier = 5;
/* spread_least: least standard deviation of log(loss per pixel), as shots differ not by
 * noise alone. loss_least: an outlier has at least this much more loss than the median
 * shot, which is seven standard deviations of a log-likelihood. */
static const double spread_least = 0.1, loss_least = 25;

nb_status fit_leave_out(nb_fit *fit, size_t shot, const char *why)
{
    char *copy = strdup(why);

    if (!copy) return fail_memory(fit->ctx, "the reason why a shot is left out");
    free(fit->left_out[shot]);
    fit->left_out[shot] = copy;
    log_line(fit->ctx, NB_LOG_WARNING, "fit", "%s is left out: %s", fit->name[shot], why);
    return NB_OK;
}

static int ascending(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;

    return (p > q) - (p < q);
}

double outliers_median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, ascending);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static double loss_of_pixel(const nb_fit *fit, size_t shot)
{
    return fit->best.own[shot * fit->at.own_end] / fmax((double)fit->pixels[shot], 1);
}

/* Sets median and spread of the logarithm of the loss per pixel, over the shots that are
 * not left out. The logarithm is taken because brighter shots have larger losses while
 * shared parameters are still wrong. */
static nb_status measure(nb_fit *fit, double *middle, double *spread)
{
    const size_t nshot = fit->layout.nshot;
    double *values = malloc(nshot * sizeof *values), largest = 0;
    size_t n = 0;

    if (!values) return fail_memory(fit->ctx, "the losses of shots");
    for (size_t shot = 0; shot < nshot; shot++)
        if (!fit->left_out[shot]) largest = fmax(largest, loss_of_pixel(fit, shot));
    for (size_t shot = 0; shot < nshot; shot++)
        if (!fit->left_out[shot])
            values[n++] = log(fmax(loss_of_pixel(fit, shot), 1e-6 * largest));
    *middle = outliers_median(values, n);
    for (size_t i = 0; i < n; i++) values[i] = fabs(values[i] - *middle);
    *spread = fmax(outliers_deviation * outliers_median(values, n), spread_least);
    free(values);
    return NB_OK;
}

nb_status fit_judge_outliers(nb_fit *fit, size_t *again)
{
    double middle = 0, spread = 0;

    *again = 0;
    NB_TRY(measure(fit, &middle, &spread));
    for (size_t shot = 0; shot < fit->layout.nshot; shot++) {
        const double loss = fit->left_out[shot] ? 0 : loss_of_pixel(fit, shot);
        const double off = (log(loss) - middle) / spread;
        char why[200];

        if (!(off > outlier)
            || !((loss - exp(middle)) * (double)fit->pixels[shot] > loss_least))
            continue;
        if (fit->alone && track_again(fit, fit->track + shot)) {
            ++*again;
            continue;
        }
        (void)snprintf(why, sizeof why,
                       "the loss of %.3g per pixel is %.1f standard deviations above the "
                       "median of %.3g",
                       loss, off, exp(middle));
        NB_TRY(fit_leave_out(fit, shot, why));
        *again += !fit->alone;
    }
    return NB_OK;
}

void fit_warn_of_held(nb_fit *fit)
{
    for (size_t i = 0; i < fit->layout.n; i++) {
        const int64_t shot = fit->value[i].shot;

        if (shot >= 0 && fit->left_out[shot]) continue;
        if (fit_diagonal(fit, &fit->best, i) > 0) continue;
        if (i < fit->layout.ns && fit->layout.is_f[i]) continue;
        log_line(fit->ctx, NB_LOG_WARNING, "fit",
                 "the loss does not depend on %s%s%s, which keeps its value %g",
                 fit->value[i].param.name, shot < 0 ? "" : " of ",
                 shot < 0 ? "" : fit->name[shot], fit->best.x[i]);
    }
}
