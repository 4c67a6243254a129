/*
 * lbfgs.c - fits more parameters than a matrix is kept for, by NLopt's L-BFGS within
 * bounds. The variables of the search are parameters in units of 1/sqrt of their diagonal
 * element of J^T W J at the start; without such units L-BFGS takes several times as many
 * passes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/context.h"
#include "nanobrag_fit/fit.h"
#include "nanobrag_fit/outliers/outliers.h"

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

/* the data of a search, which NLopt passes to objective() */
struct search {
    nb_fit *fit;
    nlopt_opt opt;
    const double *scale, *lower, *upper; /* unit and bounds of each variable */
    nb_status status; /* of the evaluation that stopped the search */
};

/* Returns a loss for an x that is refused: far above all others, but finite, because the
 * line search interpolates between losses. */
static double refused(const nb_fit *fit)
{
    return fit->track->loss + 1e3 * (fabs(fit->track->loss) + 1);
}

/* Evaluates the trial. With `first`, or if its loss is the lowest so far, it becomes the
 * best point. */
static nb_status evaluate(nb_fit *fit, int first, double *loss)
{
    NB_TRY(fit_evaluate_all(fit, &fit->trial, FIT_ALL, loss));
    if (!first && !(*loss < fit->track->loss)) return NB_OK;
    fit_copy_point(fit, fit->track, &fit->trial, &fit->best);
    fit->track->loss = *loss;
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

/* Returns parameter i from its variable u: exactly the bound if u is at or beyond it, and
 * the present value if the parameter is held. */
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
    fit->deadline = fit_deadline(fit);
    search->status = evaluate(fit, 0, &loss);
    fit->deadline = 0;
    if (fit->is_late) {
        nlopt_force_stop(search->opt);
        return refused(fit);
    }
    if (search->status == NB_OK) {
        for (unsigned i = 0; gradient && i < n; i++)
            gradient[i] = search->scale[i] * fit_gradient(fit, &fit->trial, i);
        search->status = note_pass(fit);
    } else if (search->status == NB_ERR_DOMAIN) {
        loss = refused(fit);
        search->status = note_pass(fit);
    }
    if (search->status != NB_OK) nlopt_force_stop(search->opt);
    return search->status == NB_OK ? loss : refused(fit);
}

/* Sets fit->end from what NLopt returned. */
static nb_status end_of(nb_fit *fit, nlopt_result result)
{
    switch (result) {
    case NLOPT_MAXEVAL_REACHED:
        fit->end = NB_FIT_PASSES;
        return NB_OK;
    case NLOPT_MAXTIME_REACHED:
        fit->end = NB_FIT_SECONDS;
        return NB_OK;
    case NLOPT_SUCCESS:
    case NLOPT_FTOL_REACHED:
        fit->end = NB_FIT_CONVERGED;
        return NB_OK;
    case NLOPT_OUT_OF_MEMORY:
        return fail_memory(fit->ctx, "L-BFGS");
    case NLOPT_INVALID_ARGS:
        return fail(fit->ctx, NB_ERR_UNSUPPORTED,
                    "NLopt refuses these parameters; use the method of Levenberg and "
                    "Marquardt");
    default: /* no lower loss along the line, or no more digits */
        fit->end = NB_FIT_STUCK;
        return NB_OK;
    }
}

/* Largest unit of a variable, over 1 + |x|; a start may be of any size and in any unit. */
static const double far_most = 1e3;

/* Returns the unit of a variable: the error of the parameter if all others were known, but
 * not more than a sensible move of the parameter. The first line search goes by about one
 * unit, and one parameter with a huge unit, which the data hardly determine, would spoil
 * it. */
static double unit_of(const nb_fit *fit, size_t i)
{
    const struct fit_layout *l = &fit->layout;
    const double diagonal = fit_diagonal(fit, &fit->best, i);
    const double far = i < l->ns && l->is_f[i] ? normal_f_size(fit, l->row[i])
                                               : far_most * (1 + fabs(fit->best.x[i]));

    return diagonal > 0 ? fmin(1 / sqrt(diagonal), far) : 1;
}

/* Sets the bounds of the variables. For a parameter without influence both bounds are its
 * value, which it keeps. */
static void set_bounds(const nb_fit *fit, const double *scale, double *u, double *lower,
                       double *upper)
{
    for (size_t i = 0; i < fit->layout.n; i++) {
        const int stays = normal_is_held(fit, i);

        u[i] = fit->best.x[i] / scale[i];
        lower[i] = stays ? u[i] : fit->lower[i] / scale[i];
        upper[i] = stays ? u[i] : fit->upper[i] / scale[i];
    }
}

static nb_status search_from(nb_fit *fit, double *memory)
{
    const size_t n = fit->layout.n;
    double *scale = memory, *u = scale + n, *lower = u + n, *upper = lower + n, least;
    struct search search = {.fit = fit, .scale = scale, .lower = lower, .upper = upper};
    const double spent = clock_seconds(CLOCK_MONOTONIC) - fit->restart;
    nlopt_result result;

    for (size_t i = 0; i < n; i++) scale[i] = unit_of(fit, i);
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
    result = nlopt_optimize(search.opt, u, &least);
    nlopt_destroy(search.opt);
    if (fit->is_late) {
        fit->is_late = 0;
        fit->end = NB_FIT_SECONDS;
        return NB_OK;
    }
    return search.status == NB_OK ? end_of(fit, result) : search.status;
}

static nb_status run(nb_fit *fit)
{
    double *memory, loss, there;
    nb_status status;

    fit->run_passes = 0;
    fit->restart = clock_seconds(CLOCK_MONOTONIC);
    fit->end = NB_FIT_NOT_RUN;
    memcpy(fit->trial.x, fit->best.x, fit->layout.n * sizeof *fit->best.x);
    there = fit->track->loss;
    choices_tell(fit);
    NB_TRY(evaluate(fit, 1, &loss));
    if (fit->reload) NB_TRY(fit_check_loss(fit, there, loss, ""));
    fit->reload = RELOAD_NOTHING;
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
