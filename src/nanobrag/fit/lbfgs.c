/*
 * fit/lbfgs.c - fits of more parameters than a matrix is kept for, by NLopt's L-BFGS within
 * bounds. Its variables are the parameters over 1/sqrt of their diagonal element of
 * J^T W J at the start: unscaled ones take several times as many passes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/context.h"
#include "fit/fit.h"

double lbfgs_enough(const nb_fit *fit)
{
    return fit->options.enough > 0 ? fit->options.enough : 1e-3;
}

#ifdef NANOBRAG_NLOPT
#include <nlopt.h>

int lbfgs_is_available(void)
{
    return 1;
}

/* What NLopt passes back. */
struct search {
    nb_fit *fit;
    nlopt_opt opt;
    const double *scale, *lower, *upper; /* of its variables */
    nb_status status; /* of the evaluation that stopped the search */
};

/* The loss of an impossible x: far above all others, and finite, as the line search
 * interpolates. */
static double refused(const nb_fit *fit)
{
    return fit->track->loss + 1e3 * (fabs(fit->track->loss) + 1);
}

static void gather_gradient(const nb_fit *fit, const struct fit_point *p,
                            const double *scale, double *gradient)
{
    const struct fit_layout *l = &fit->layout;

    for (size_t i = 0; i < l->n; i++) {
        const size_t j = i - l->ns;
        const double *own = i < l->ns ? NULL : p->own + j / l->no * fit->at.own_end;

        gradient[i] =
            scale[i]
            * (own ? own[fit->at.own_gradient + j % l->no] : p->sum[fit->at.gradient + i]);
    }
}

/* Evaluates the trial, and keeps it if it is the lowest so far. */
static nb_status evaluate(nb_fit *fit, double *loss)
{
    const struct fit_point best = fit->best;

    NB_TRY(fit_evaluate_all(fit, &fit->trial, FIT_ALL, loss));
    if (*loss < fit->track->loss) {
        fit->best = fit->trial;
        fit->trial = best;
        fit->track->loss = *loss;
    }
    return NB_OK;
}

static nb_status note_pass(nb_fit *fit)
{
    const nb_fit_state state = {.passes = ++fit->passes,
                                .stage = NB_FIT_ALL_FREE,
                                .loss = fit->track->loss,
                                .gain = INFINITY};

    fit->run_passes++;
    NB_TRY(fit_note_history(fit));
    if (!fit->options.progress || !fit->options.progress(fit->options.user, &state))
        return NB_OK;
    return fail(fit->ctx, NB_ERR_CANCELLED, "the progress handler stopped the fit");
}

/* A parameter from its variable; at a bound to the bit, and what is held as it was. */
static double x_of(const struct search *search, size_t i, double u)
{
    const nb_fit *fit = search->fit;

    if (search->lower[i] == search->upper[i]) return fit->best.x[i];
    if (u <= search->lower[i]) return fit->lower[i];
    if (u >= search->upper[i]) return fit->upper[i];
    return fmin(fmax(u * search->scale[i], fit->lower[i]), fit->upper[i]);
}

static double objective(unsigned n, const double *u, double *gradient, void *user)
{
    struct search *search = user;
    nb_fit *fit = search->fit;
    double loss;

    for (unsigned i = 0; i < n; i++) fit->trial.x[i] = x_of(search, i, u[i]);
    if (gradient) memset(gradient, 0, n * sizeof *gradient);
    search->status = evaluate(fit, &loss);
    if (search->status == NB_OK) {
        /* the point is the best now, or still the trial */
        if (gradient)
            gather_gradient(fit, loss == fit->track->loss ? &fit->best : &fit->trial,
                            search->scale, gradient);
        search->status = note_pass(fit);
    } else if (search->status == NB_ERR_DOMAIN) {
        loss = refused(fit);
        search->status = note_pass(fit);
    }
    if (search->status != NB_OK) nlopt_force_stop(search->opt);
    return search->status == NB_OK ? loss : refused(fit);
}

static int end_of(nlopt_result result)
{
    switch (result) {
    case NLOPT_MAXEVAL_REACHED:
        return NB_FIT_PASSES;
    case NLOPT_MAXTIME_REACHED:
        return NB_FIT_SECONDS;
    case NLOPT_SUCCESS:
    case NLOPT_FTOL_REACHED:
        return NB_FIT_CONVERGED;
    default:
        return NB_FIT_STUCK;
    }
}

/* A parameter without influence keeps its value: its bounds meet there. */
static void set_bounds(const nb_fit *fit, const double *scale, double *u, double *lower,
                       double *upper)
{
    for (size_t i = 0; i < fit->layout.n; i++) {
        const int is_held = fit->is_fixed[i] || !(fit_diagonal(fit, &fit->best, i) > 0);

        u[i] = fit->best.x[i] / scale[i];
        lower[i] = is_held ? u[i] : fit->lower[i] / scale[i];
        upper[i] = is_held ? u[i] : fit->upper[i] / scale[i];
    }
}

static nb_status search_from(nb_fit *fit, double *memory)
{
    const size_t n = fit->layout.n;
    double *scale = memory, *u = scale + n, *lower = u + n, *upper = lower + n, loss;
    struct search search = {.fit = fit, .scale = scale, .lower = lower, .upper = upper};
    const double spent = clock_seconds(CLOCK_MONOTONIC) - fit->restart;
    nlopt_result result;

    for (size_t i = 0; i < n; i++) {
        const double diagonal = fit_diagonal(fit, &fit->best, i);

        scale[i] = diagonal > 0 ? 1 / sqrt(diagonal) : 1;
    }
    set_bounds(fit, scale, u, lower, upper);
    search.opt = nlopt_create(NLOPT_LD_LBFGS, (unsigned)n);
    if (!search.opt) return fail_memory(fit->ctx, "L-BFGS");
    (void)nlopt_set_lower_bounds(search.opt, lower);
    (void)nlopt_set_upper_bounds(search.opt, upper);
    (void)nlopt_set_min_objective(search.opt, objective, &search);
    (void)nlopt_set_ftol_abs(search.opt, lbfgs_enough(fit));
    (void)nlopt_set_maxeval(search.opt, fit->options.passes - fit->run_passes);
    if (fit->options.seconds > 0)
        (void)nlopt_set_maxtime(search.opt, fmax(fit->options.seconds - spent, 1e-3));
    result = nlopt_optimize(search.opt, u, &loss);
    nlopt_destroy(search.opt);
    fit->end = end_of(result);
    return search.status;
}

static nb_status run(nb_fit *fit)
{
    double *memory, loss;
    nb_status status;

    fit->run_passes = 0;
    fit->restart = clock_seconds(CLOCK_MONOTONIC);
    fit->end = NB_FIT_NOT_RUN;
    memcpy(fit->trial.x, fit->best.x, fit->layout.n * sizeof *fit->best.x);
    fit->track->loss = INFINITY;
    NB_TRY(evaluate(fit, &loss));
    NB_TRY(note_pass(fit));
    fit_warn_of_held(fit);
    if (fit->run_passes >= fit->options.passes) {
        fit->end = NB_FIT_PASSES;
        return NB_OK;
    }
    memory = malloc(4 * fit->layout.n * sizeof *memory);
    if (!memory) return fail_memory(fit->ctx, "L-BFGS");
    status = search_from(fit, memory);
    free(memory);
    return status;
}

nb_status fit_run_lbfgs(nb_fit *fit)
{
    const nb_status status = run(fit);

    if (status != NB_OK)
        fit->end = status == NB_ERR_CANCELLED ? NB_FIT_CANCELLED : NB_FIT_FAILED;
    return status;
}

#else

int lbfgs_is_available(void)
{
    return 0;
}

nb_status fit_run_lbfgs(nb_fit *fit)
{
    return fail(fit->ctx, NB_ERR_UNSUPPORTED, "this build has no NLopt");
}

#endif
