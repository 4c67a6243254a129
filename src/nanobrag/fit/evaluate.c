/*
 * fit/evaluate.c - the loss of all shots, with gradient and matrix: a simulator is made for
 * one shot after the other, so that memory does not grow with their number.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "fit/fit.h"

/* The context's handlers while a pass runs: progress also asks whether the fit was
 * cancelled. */
struct asked {
    nb_fit *fit;
    nb_context_options before;
};

static int ask(void *user, double fraction)
{
    const struct asked *asked = user;

    if (atomic_load(&asked->fit->cancelled)) return 1;
    return asked->before.progress ? asked->before.progress(asked->before.user, fraction)
                                  : 0;
}

static void pass_line_on(void *user, int level, const char *topic, const char *line)
{
    const struct asked *asked = user;

    asked->before.log(asked->before.user, level, topic, line);
}

/* Evaluate one shot; its gradient and matrix are set. */
static nb_status evaluate_shot(nb_fit *fit, size_t shot, const double *x, double *value)
{
    const nb_shot *at = fit->shot + shot;
    const size_t m = fit->nshared + fit->nown;
    nb_normal out = {.matrix = fit->shot_matrix, .gradient = fit->shot_gradient};
    nb_simulator *sim = NULL;
    nb_status status;

    for (size_t i = 0; i < m; i++) fit->shot_x[i] = x[fit_index(fit, shot, i)];
    memset(fit->shot_matrix, 0, m * m * sizeof *fit->shot_matrix);
    memset(fit->shot_gradient, 0, m * sizeof *fit->shot_gradient);
    status = nb_simulator_create(fit->ctx, at->scene, fit->names, at->options, &sim);
    if (status == NB_OK) status = nb_loss(sim, fit->shot_x, &at->target, value, &out);
    nb_simulator_free(sim);
    return status;
}

static void add_shot(nb_fit *fit, size_t shot)
{
    const size_t m = fit->nshared + fit->nown;

    for (size_t i = 0; i < m; i++) {
        const size_t row = fit_index(fit, shot, i);

        fit->trial_gradient[row] += fit->shot_gradient[i];
        for (size_t j = 0; j < m; j++)
            fit->trial_matrix[row * fit->n + fit_index(fit, shot, j)] +=
                fit->shot_matrix[i * m + j];
    }
}

static nb_status evaluate_shots(nb_fit *fit, const double *x, double *value,
                                int *is_refused)
{
    memset(fit->trial_gradient, 0, fit->n * sizeof *fit->trial_gradient);
    memset(fit->trial_matrix, 0, fit->n * fit->n * sizeof *fit->trial_matrix);
    for (size_t shot = 0; shot < fit->nshot; shot++) {
        double part = 0;
        const nb_status status = evaluate_shot(fit, shot, x, &part);

        if (atomic_load(&fit->cancelled))
            return fail(fit->ctx, NB_ERR_CANCELLED, "the fit was cancelled");
        *is_refused = status == NB_ERR_DOMAIN;
        *value += part;
        if (status != NB_OK) return status;
        add_shot(fit, shot);
    }
    return NB_OK;
}

nb_status fit_pass(nb_fit *fit, const double *x, double *value, int *is_refused)
{
    nb_context_options *options = &fit->ctx->options;
    struct asked asked = {fit, *options};
    nb_status status;

    *value = 0;
    *is_refused = 0;
    options->progress = ask;
    if (options->log) options->log = pass_line_on;
    options->user = &asked;
    status = evaluate_shots(fit, x, value, is_refused);
    *options = asked.before;
    if (status == NB_ERR_CANCELLED) atomic_store(&fit->cancelled, 0);
    return status;
}

nb_status nb_fit_evaluate(nb_fit *fit, const double *x, double *value, nb_normal *out)
{
    STANDARD_FLOATS;
    int is_refused;
    size_t n;

    if (!fit) return NB_ERR_ARGUMENT;
    if (!value) return fail(fit->ctx, NB_ERR_ARGUMENT, "a loss needs a place to go");
    n = fit->n;
    for (size_t i = 0; i < n; i++) fit->trial[i] = x ? x[i] : fit->value[i].value;
    NB_TRY(fit_pass(fit, fit->trial, value, &is_refused));
    if (!out) return NB_OK;
    for (size_t i = 0; out->gradient && i < n; i++)
        out->gradient[i] += fit->trial_gradient[i];
    for (size_t i = 0; out->diagonal && i < n; i++)
        out->diagonal[i] += fit->trial_matrix[i * n + i];
    for (size_t i = 0; out->matrix && i < n * n; i++)
        out->matrix[i] += fit->trial_matrix[i];
    return NB_OK;
}
