/*
 * fit/make.c - makes a fit: which parameters it has, where they start, and its memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "fit/fit.h"

static nb_status check(nb_context *ctx, int64_t nshot, const nb_shot *shot,
                       const nb_fit_options *options)
{
    if (nshot < 1 || !shot) return fail(ctx, NB_ERR_ARGUMENT, "a fit needs shots");
    if (!options || (!options->shared && !options->own))
        return fail(ctx, NB_ERR_ARGUMENT, "a fit needs free parameters");
    if (options->passes < 0 || !(options->seconds >= 0) || !(options->enough >= 0))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "passes, seconds and enough of a fit are at least 0");
    return NB_OK;
}

/* Takes the numbers of parameters from the first shot. */
static nb_status count(nb_fit *fit, const nb_fit_options *options)
{
    const nb_shot *first = fit->shot;
    nb_simulator *sim = NULL;
    size_t m, ndense;

    NB_TRY(
        nb_simulator_create(fit->ctx, first->scene, options->shared, first->options, &sim));
    fit->nshared = nb_nparam(sim);
    nb_simulator_free(sim);
    sim = NULL;
    NB_TRY(nb_simulator_create(fit->ctx, first->scene, fit->names, first->options, &sim));
    m = nb_nparam(sim);
    ndense = nb_ndense(sim);
    nb_simulator_free(sim);
    fit->nown = m - fit->nshared;
    if (m == 0) return fail(fit->ctx, NB_ERR_ARGUMENT, "a fit needs free parameters");
    if (ndense < m)
        return fail(fit->ctx, NB_ERR_UNSUPPORTED,
                    "structure factors cannot be fitted in this version");
    if (m > FIT_PARAMETERS_MOST || fit->nown > FIT_PARAMETERS_MOST / fit->nshot
        || fit->nshared + fit->nshot * fit->nown > FIT_PARAMETERS_MOST)
        return fail(fit->ctx, NB_ERR_UNSUPPORTED,
                    "%zu shared and %zu own parameters of %zu shots are more than %d",
                    fit->nshared, fit->nown, fit->nshot, FIT_PARAMETERS_MOST);
    fit->n = fit->nshared + fit->nshot * fit->nown;
    return NB_OK;
}

/* Returns zeros for one array after the other, or only adds up their size for NULL. */
static double *take(double *memory, size_t *used, size_t n)
{
    double *at = memory ? memory + *used : NULL;

    *used += n;
    return at;
}

static size_t divide(nb_fit *fit, double *memory)
{
    const size_t n = fit->n, m = fit->nshared + fit->nown;
    struct fit_workspace *w = &fit->work;
    size_t used = 0;

    fit->gradient = take(memory, &used, n);
    fit->matrix = take(memory, &used, n * n);
    fit->trial_gradient = take(memory, &used, n);
    fit->trial_matrix = take(memory, &used, n * n);
    fit->shot_gradient = take(memory, &used, m);
    fit->shot_matrix = take(memory, &used, m * m);
    fit->trial = take(memory, &used, n);
    fit->shot_x = take(memory, &used, m);
    fit->step = take(memory, &used, n);
    fit->covariance = take(memory, &used, n * n);
    w->scale = take(memory, &used, n);
    w->reduced = take(memory, &used, n * n);
    w->vectors = take(memory, &used, n * n);
    w->values = take(memory, &used, n);
    w->right = take(memory, &used, n);
    return used;
}

static nb_status allocate(nb_fit *fit)
{
    fit->memory = calloc(divide(fit, NULL), sizeof *fit->memory);
    fit->value = calloc(fit->n, sizeof *fit->value);
    fit->work.at = calloc(fit->n, sizeof *fit->work.at);
    fit->work.is_held = calloc(fit->n, 1);
    if (!fit->memory || !fit->value || !fit->work.at || !fit->work.is_held)
        return fail_memory(fit->ctx, "a fit");
    (void)divide(fit, fit->memory);
    return NB_OK;
}

/* Takes the start of one shot's parameters from its scene. */
static nb_status start(nb_fit *fit, size_t shot, const nb_simulator *sim)
{
    const size_t m = fit->nshared + fit->nown;

    for (size_t i = 0; i < m; i++) {
        nb_fit_value *v = fit->value + fit_index(fit, shot, i);
        const char *expected = fit->value[i].param.name;
        nb_param param;

        if (nb_nparam(sim) != m || nb_param_at(sim, i, &param) != NB_OK
            || (shot > 0 && strcmp(param.name, expected) != 0))
            return fail(fit->ctx, NB_ERR_ARGUMENT,
                        "shot %zu has other parameters than shot 0, which has %s", shot,
                        expected);
        if (shot > 0 && i < fit->nshared) continue;
        v->param = param;
        v->value = param.value;
        v->shot = i < fit->nshared ? -1 : (int64_t)shot;
    }
    return NB_OK;
}

static nb_status start_all(nb_fit *fit)
{
    for (size_t shot = 0; shot < fit->nshot; shot++) {
        const nb_shot *at = fit->shot + shot;
        nb_simulator *sim = NULL;
        nb_status status;

        NB_TRY(nb_simulator_create(fit->ctx, at->scene, fit->names, at->options, &sim));
        status = start(fit, shot, sim);
        nb_simulator_free(sim);
        NB_TRY(status);
    }
    return NB_OK;
}

static nb_status fill(nb_fit *fit, const nb_shot *shot, const nb_fit_options *options)
{
    const char *shared = options->shared ? options->shared : "";
    const char *own = options->own ? options->own : "";
    const size_t size = strlen(shared) + strlen(own) + 2;

    fit->shot = calloc(fit->nshot, sizeof *fit->shot);
    fit->names = malloc(size);
    if (!fit->shot || !fit->names) return fail_memory(fit->ctx, "a fit");
    memcpy(fit->shot, shot, fit->nshot * sizeof *fit->shot);
    (void)snprintf(fit->names, size, "%s %s", shared, own);
    fit->options = *options;
    fit->options.shared = fit->options.own = NULL;
    if (fit->options.passes == 0) fit->options.passes = 50;
    if (fit->options.enough == 0) fit->options.enough = 1e-3;
    NB_TRY(count(fit, options));
    NB_TRY(allocate(fit));
    return start_all(fit);
}

nb_status nb_fit_create(nb_context *ctx, int64_t nshot, const nb_shot *shot,
                        const nb_fit_options *options, nb_fit **out)
{
    STANDARD_FLOATS;
    nb_fit *fit;
    nb_status status;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!out) return fail(ctx, NB_ERR_ARGUMENT, "a fit needs a place to go");
    *out = NULL;
    NB_TRY(check(ctx, nshot, shot, options));
    fit = calloc(1, sizeof *fit);
    if (!fit) return fail_memory(ctx, "a fit");
    fit->ctx = ctx;
    fit->nshot = (size_t)nshot;
    atomic_init(&fit->cancelled, 0);
    status = fill(fit, shot, options);
    if (status == NB_OK)
        *out = fit;
    else
        nb_fit_free(fit);
    return status;
}

void nb_fit_free(nb_fit *fit)
{
    if (!fit) return;
    free(fit->shot);
    free(fit->names);
    free(fit->memory);
    free(fit->value);
    free(fit->work.at);
    free(fit->work.is_held);
    free(fit);
}
