/*
 * fit/minimise.c - the loop of Levenberg and Marquardt. A trial step is evaluated with its
 * gradient and matrix at once, as most are accepted.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/floats.h"
#include "fit/fit.h"

/* Of the diagonal. Of 20 starts of gaussian spots, turned by up to 0.15 degree, a first
 * step with 1e-3 led 3 into minima far above the best, with 1 none; the last makes a step
 * 1e-10 of an error long. */
static const double damping_first = 1, damping_least = 1e-9, damping_most = 1e10;

/* Keep the trial: its values, gradient and matrix. */
static void accept(nb_fit *fit, double loss)
{
    const size_t n = fit->n;

    for (size_t i = 0; i < n; i++) fit->value[i].value = fit->trial[i];
    memcpy(fit->gradient, fit->trial_gradient, n * sizeof *fit->gradient);
    memcpy(fit->matrix, fit->trial_matrix, n * n * sizeof *fit->matrix);
    fit->loss = loss;
    fit->gain = fit_step(fit, 0, 0);
}

static nb_status report(nb_fit *fit)
{
    const nb_fit_state state = {fit->passes, fit->loss, fit->gain};

    if (!fit->options.progress || !fit->options.progress(fit->options.user, &state))
        return NB_OK;
    return fail(fit->ctx, NB_ERR_CANCELLED, "the progress handler stopped the fit");
}

static nb_status begin(nb_fit *fit)
{
    double loss;
    int is_refused;

    for (size_t i = 0; i < fit->n; i++) fit->trial[i] = fit->value[i].value;
    NB_TRY(fit_pass(fit, fit->trial, &loss, &is_refused));
    fit->damping = damping_first;
    fit->passes++;
    accept(fit, loss);
    return report(fit);
}

/* Follow the ratio of the loss gained to the one predicted. */
static void judge(nb_fit *fit, double loss, double predicted)
{
    const double ratio = (fit->loss - loss) / predicted;

    if (!(ratio > 0.25)) fit->damping *= 4;
    if (ratio > 0.75) fit->damping = fmax(fit->damping / 10, damping_least);
    if (loss < fit->loss) accept(fit, loss);
}

static nb_status try_step(nb_fit *fit)
{
    const double predicted = fit_step(fit, fit->damping, 1);
    double loss;
    int is_refused;
    nb_status status;

    /* stopped at a bound, a step may lead uphill; a shorter one does not */
    if (!(predicted > 0)) {
        fit->damping *= 10;
        return NB_OK;
    }
    for (size_t i = 0; i < fit->n; i++) {
        const nb_param *param = &fit->value[i].param;
        const double to = fit->value[i].value + fit->step[i];

        fit->trial[i] = fmin(fmax(to, param->lower), param->upper);
    }
    status = fit_pass(fit, fit->trial, &loss, &is_refused);
    if (status != NB_OK && !is_refused) return status;
    fit->passes++;
    if (is_refused)
        fit->damping *= 10;
    else
        judge(fit, loss, predicted);
    return report(fit);
}

static nb_status minimise(nb_fit *fit)
{
    const double begun = clock_seconds(CLOCK_MONOTONIC);
    const int first = fit->passes;

    fit->end = NB_FIT_NOT_RUN;
    if (fit->passes == 0) NB_TRY(begin(fit));
    fit->damping = fmin(fit->damping, 1);
    while (fit->end == NB_FIT_NOT_RUN) {
        const double seconds = clock_seconds(CLOCK_MONOTONIC) - begun;

        if (fit->gain < fit->options.enough)
            fit->end = NB_FIT_CONVERGED;
        else if (fit->damping > damping_most)
            fit->end = NB_FIT_STUCK;
        else if (fit->passes - first >= fit->options.passes)
            fit->end = NB_FIT_PASSES;
        else if (fit->options.seconds > 0 && seconds > fit->options.seconds)
            fit->end = NB_FIT_SECONDS;
        else
            NB_TRY(try_step(fit));
    }
    return NB_OK;
}

nb_status nb_fit_run(nb_fit *fit)
{
    STANDARD_FLOATS;
    nb_status status;

    if (!fit) return NB_ERR_ARGUMENT;
    status = minimise(fit);
    if (status != NB_OK)
        fit->end = status == NB_ERR_CANCELLED ? NB_FIT_CANCELLED : NB_FIT_FAILED;
    return status;
}

void nb_fit_cancel(nb_fit *fit)
{
    if (fit) atomic_store(&fit->cancelled, 1);
}

nb_status nb_fit_result_get(nb_fit *fit, nb_fit_result *out)
{
    STANDARD_FLOATS;
    if (!fit) return NB_ERR_ARGUMENT;
    if (!out) return fail(fit->ctx, NB_ERR_ARGUMENT, "a result needs a place to go");
    if (fit->passes == 0)
        return fail(fit->ctx, NB_ERR_ARGUMENT, "the fit has completed no pass");
    *out = (nb_fit_result){.end = fit->end,
                           .passes = fit->passes,
                           .loss = fit->loss,
                           .gain = fit->gain,
                           .nvalue = fit->n,
                           .value = fit->value,
                           .covariance = fit->covariance};
    fit_errors(fit, &out->nfree, &out->condition);
    for (size_t i = 0; i < fit->n; i++) {
        nb_fit_value *v = fit->value + i;

        v->bound = (v->value == v->param.upper) - (v->value == v->param.lower);
    }
    return NB_OK;
}
