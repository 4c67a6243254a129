/*
 * covariance.c - finds errors, correlations and free directions at the end of a fit.
 *
 * A parameter at a bound is held there while the errors of all other parameters are found.
 * At a bound it may act like another parameter, as a mosaic spread of 0 moves all domains
 * like an orientation does. Its own error is found as if there were no bound.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "nanobrag_fit/boxes/boxes.h"
#include "nanobrag_fit/fit.h"

/* ---- free directions ---- */

static const char *name_of(const nb_fit *fit, size_t i)
{
    return fit->value[i].param.name;
}

/* Writes a direction as a sum of up to 8 parameters, the largest first and positive.
 * Parameters whose sizes differ only by rounding keep their order, so that the text is the
 * same on every machine. Sets the written elements of v to 0. */
static void write_direction(const nb_fit *fit, double *v, char *text)
{
    const size_t n = fit->layout.n;
    size_t used = 0;
    double sign = 1;

    for (int term = 0; term < 8; term++) {
        size_t largest = 0;
        const int is_own = fit->layout.nshot > 1;

        for (size_t i = 1; i < n; i++)
            if (fabs(v[i]) > (1 + 1e-6) * fabs(v[largest])) largest = i;
        if (!(fabs(v[largest]) > 0.05)) return;
        if (term == 0) sign = copysign(1, v[largest]);
        used += (size_t)snprintf(text + used, DIRECTION_TEXT - used, "%s%.2f %s",
                                 term == 0               ? ""
                                 : sign * v[largest] < 0 ? " - "
                                                         : " + ",
                                 fabs(v[largest]), name_of(fit, largest));
        if (is_own && fit->value[largest].shot >= 0 && used < DIRECTION_TEXT)
            used += (size_t)snprintf(text + used, DIRECTION_TEXT - used, " of %.24s",
                                     fit->name[fit->value[largest].shot]);
        if (used + 90 > DIRECTION_TEXT) return;
        v[largest] = 0;
    }
}

/* ---- errors ---- */

static int add_correlated(void *user, size_t i, size_t j, double value)
{
    struct fit_result_memory *r = user;

    if (r->ncorrelated == r->room) {
        const size_t room = 2 * r->room + 16;
        nb_fit_correlation *more = realloc(r->correlated, room * sizeof *more);

        if (!more) return 0;
        r->correlated = more;
        r->room = room;
    }
    r->correlated[r->ncorrelated++] = (nb_fit_correlation){i, j, value};
    return 1;
}

static int by_size(const void *a, const void *b)
{
    const double p = fabs(((const nb_fit_correlation *)a)->value);
    const double q = fabs(((const nb_fit_correlation *)b)->value);

    return (p < q) - (p > q);
}

/* Sets the error that each parameter has if all others are known; L-BFGS has no
 * matrices. */
static void conditional_errors(nb_fit *fit, double *error)
{
    for (size_t i = 0; i < fit->layout.n; i++) {
        const double diagonal = fit_diagonal(fit, &fit->best, i);

        error[i] = diagonal > 0 ? 1 / sqrt(diagonal) : INFINITY;
    }
}

static int is_at_bound(const nb_fit *fit, size_t i)
{
    return fit->best.x[i] == fit->upper[i] || fit->best.x[i] == fit->lower[i];
}

/* Returns 1 if an image depends on a width by its square alone. The mosaic spread about an
 * axis acts differently if off-diagonal elements are free as well. */
static int acts_by_square(const nb_fit *fit, size_t i)
{
    int alone = 1;

    for (size_t j = 0; j < fit->layout.n; j++)
        alone &= strcmp(fit->value[j].param.group, "mosaic_off") != 0;
    return fit->chart[i] == CHART_SQUARE
           && (alone || strcmp(fit->value[i].param.group, "mosaic_axes") != 0);
}

/* Returns the error to report for a parameter at a bound; INFINITY if it is wider than the
 * bounds. For a width at 0, `error` is the error of the square, whose root is returned. */
static double told(const nb_fit *fit, size_t i, double error)
{
    const double x = fit->best.x[i];

    if (acts_by_square(fit, i)) error = chart_move(CHART_SQUARE, x, error) - x;
    return error > fit->upper[i] - fit->lower[i] ? INFINITY : error;
}

static int ignore_correlated(void *user, size_t i, size_t j, double value)
{
    (void)user, (void)i, (void)j, (void)value;
    return 1;
}

/* the parameters of a system: the own parameters of a shot that is fitted alone, or all */
struct members {
    size_t n;
    int is_alone;
    size_t first; /* index in x of the shot's first parameter, if is_alone */
};

static size_t at_x(const nb_fit *fit, const struct members *of, size_t i)
{
    return of->is_alone ? of->first + i : normal_at_x(&fit->layout, i);
}

/* Sets the errors of a system: first of parameters at a bound, while none is held at its
 * bound; then of all other parameters, while the first are held. Returns 0 if there is no
 * memory. */
static int solve(nb_fit *fit, const struct members *of, const struct fit_system *system,
                 struct fit_errors *out)
{
    struct fit_solver *solver = of->is_alone ? fit->solver_alone : fit->solver;
    double *unbound = malloc((of->n + 1) * sizeof *unbound);
    struct fit_errors first = {.error = unbound, .correlated = ignore_correlated};
    int is_bound = 0, has_memory = unbound != NULL;

    for (size_t i = 0; i < of->n; i++) {
        const size_t j = at_x(fit, of, i);

        fit->fixed[i] = !of->is_alone && normal_stays(fit, j);
        is_bound |= is_at_bound(fit, j);
    }
    if (is_bound && has_memory) {
        has_memory = solver_errors(solver, system, fit->fixed, &first);
        for (size_t i = 0; i < of->n; i++)
            fit->fixed[i] |= is_at_bound(fit, at_x(fit, of, i));
    }
    has_memory = has_memory && solver_errors(solver, system, fit->fixed, out);
    for (size_t i = 0; is_bound && has_memory && i < of->n; i++) {
        const size_t j = at_x(fit, of, i);

        if (is_at_bound(fit, j)) out->error[i] = told(fit, j, unbound[i]);
    }
    free(unbound);
    return has_memory;
}

/* Sets the errors of shots that are still fitted alone. Shared parameters have NAN: their
 * errors are not known yet. */
static nb_status errors_alone(nb_fit *fit, struct fit_result_memory *r)
{
    const struct fit_layout *l = &fit->layout;

    for (size_t i = 0; i < l->ns; i++) r->error[i] = NAN;
    for (size_t shot = 0; shot < l->nshot; shot++) {
        const size_t first = l->ns + shot * l->no;
        const struct fit_system system = normal_alone(fit, shot);
        struct fit_errors errors = {.error = r->error + first,
                                    .correlated = add_correlated,
                                    .user = r};

        if (!solve(fit, &(struct members){l->no, 1, first}, &system, &errors))
            return fail_memory(fit->ctx, "the errors of a fit");
    }
    r->ncorrelated = 0; /* correlations change once shared parameters are fitted too */
    return NB_OK;
}

/* Copies n numbers from the order of a system that lacks structure factors to the order of
 * x. */
static void spread(const nb_fit *fit, size_t n, const double *from, double *to)
{
    for (size_t i = 0; i < n; i++) to[normal_at_x(&fit->layout, i)] = from[i];
}

/* Sets the covariances of structure factor f, which the system lacks, with all
 * parameters. */
static void set_covariance_f(nb_fit *fit, size_t n, const double *dense, size_t f,
                             double *covariance)
{
    const struct fit_layout *l = &fit->layout;
    const size_t i = l->f[f];

    for (size_t j = 0; j < n; j++) {
        const size_t k = normal_at_x(l, j);

        covariance[i * l->n + k] = covariance[k * l->n + i] =
            normal_f_dense(fit, f, dense, n, j);
    }
    for (size_t g = 0; g < l->nf; g++)
        covariance[i * l->n + l->f[g]] = normal_f_covariance(fit, f, g, dense, n);
}

/* Copies the results of a system that lacks structure factors into the result of all
 * parameters, and adds errors and covariances of the structure factors. */
static void sort_with_f(nb_fit *fit, size_t n, const struct fit_errors *errors,
                        struct fit_result_memory *r)
{
    const struct fit_layout *l = &fit->layout;

    for (size_t f = 0; f < l->nf; f++)
        r->error[l->f[f]] = normal_f_error(fit, f, errors->covariance, n);
    spread(fit, n, errors->error, r->error);
    for (size_t i = 0; r->covariance && i < n * n; i++)
        r->covariance[normal_at_x(l, i / n) * l->n + normal_at_x(l, i % n)] =
            errors->covariance[i];
    for (size_t f = 0; r->covariance && f < l->nf; f++)
        set_covariance_f(fit, n, errors->covariance, f, r->covariance);
    for (size_t i = 0; i < r->ncorrelated; i++) {
        r->correlated[i].i = normal_at_x(l, r->correlated[i].i);
        r->correlated[i].j = normal_at_x(l, r->correlated[i].j);
    }
}

nb_status covariance_joint(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out)
{
    const struct fit_layout *l = &fit->layout;
    const struct fit_system system = normal_joint(fit, &fit->best, 0);
    const size_t n = l->n - l->nf, most = n < DIRECTIONS_MOST ? n : DIRECTIONS_MOST;
    const int wants_covariance = r->covariance || l->nf > 0;
    double *memory =
        calloc(n * n * (size_t)wants_covariance + n + most * n + 1, sizeof *memory);
    struct fit_errors errors = {.error = memory,
                                .directions = memory + n,
                                .ndirection = most,
                                .covariance =
                                    wants_covariance ? memory + n + most * n : NULL,
                                .correlated = add_correlated,
                                .user = r};

    if (!memory) return fail_memory(fit->ctx, "the errors of a fit");
    if (!solve(fit, &(struct members){.n = n}, &system, &errors)) {
        free(memory);
        return fail_memory(fit->ctx, "the errors of a fit");
    }
    sort_with_f(fit, n, &errors, r);
    for (size_t k = 0; k < errors.nfree && k < most; k++) {
        double *v = r->directions + k * l->n;

        memset(v, 0, l->n * sizeof *v);
        spread(fit, n, errors.directions + k * n, v);
        r->line[k] = r->text + k * DIRECTION_TEXT;
        write_direction(fit, v, r->text + k * DIRECTION_TEXT);
    }
    free(memory);
    out->nfree = errors.nfree < most ? errors.nfree : most;
    out->condition = errors.condition;
    return NB_OK;
}

/* ---- errors of a loss that is no likelihood ---- */

/* Returns why the result has no errors; NULL if it has. */
static const char *no_errors(const nb_fit *fit)
{
    const struct fit_layout *l = &fit->layout;

    if (fit->end == NB_FIT_NOT_RUN) return "no errors: they are computed when a run ends";
    if (fit_knows_own_only(fit)) return "no errors: the shots were not fitted together yet";
    if (l->nf > 0)
        return "no errors: with structure factors they need a loss that is a likelihood";
    if (fit->on_device)
        return "no errors: weights on a device need a loss that is a likelihood";
    if (l->has_matrix && l->n > FIT_DENSE_MOST)
        return "no errors: more than 200 values need a loss that is a likelihood";
    return NULL;
}

/* Sets out to C = B^-1 M B^-1, given B^-1. M is overwritten. */
static void multiply(size_t n, const double *inverse, double *meat, double *out)
{
    for (int side = 0; side < 2; side++) {
        const double *a = side ? meat : inverse, *b = side ? inverse : meat;

        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double sum = 0;

                for (size_t k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
                out[i * n + j] = sum;
            }
        if (side == 0) memcpy(meat, out, n * n * sizeof *meat);
    }
}

/* Sets errors and covariance from M and from the matrix B of the trial. A parameter that
 * the data leave free stays free. The error of parameter i at a bound is its error by B
 * times sqrt(M_ii/B_ii). */
static nb_status sandwich_joint(nb_fit *fit, double *meat, double *error,
                                double *covariance)
{
    const size_t n = fit->layout.n;
    const struct fit_point best = fit->best;
    struct fit_result_memory *bread = result_make(fit);
    nb_fit_result unused = {0};
    nb_status status;

    if (!bread) return fail_memory(fit->ctx, "the errors of a fit");
    fit->best = fit->trial;
    status = covariance_joint(fit, bread, &unused);
    for (size_t i = 0; status == NB_OK && i < n; i++)
        if (is_at_bound(fit, i))
            error[i] =
                told(fit, i,
                     bread->error[i]
                         * sqrt(meat[i * (n + 1)] / fit_diagonal(fit, &fit->best, i)));
    fit->best = best;
    if (status == NB_OK) {
        multiply(n, bread->covariance, meat, covariance);
        for (size_t i = 0; i < n; i++)
            if (!is_at_bound(fit, i))
                error[i] =
                    isfinite(bread->error[i]) ? sqrt(covariance[i * (n + 1)]) : INFINITY;
    }
    result_free(bread);
    return status;
}

/* Multiplies the part of M that comes from pixels by the misfit; the part from restraints
 * stays. `row` is the distance of diagonal elements: n + 1, or 1 if M is the diagonal. */
static void scale_meat(const nb_fit *fit, double misfit, double *meat, size_t row)
{
    const size_t n = fit->layout.n;

    for (size_t i = 0; i < n * (row > 1 ? n : 1); i++) meat[i] *= misfit;
    for (size_t i = 0; i < n; i++) meat[i * row] -= (misfit - 1) * fit->weight[i];
}

static nb_status find_sandwich(nb_fit *fit, double misfit, double *meat, double *error,
                               double *covariance)
{
    const size_t n = fit->layout.n;
    const nb_normal out = {.matrix = meat};
    double loss;

    memcpy(fit->trial.x, fit->best.x, n * sizeof *fit->best.x);
    NB_TRY(fit_evaluate_all(fit, &fit->trial, FIT_MEAT, &loss));
    if (covariance)
        fit_deliver_matrix(fit, &out);
    else
        for (size_t i = 0; i < n; i++) meat[i] = fit_diagonal(fit, &fit->trial, i);
    if (misfit > 1) scale_meat(fit, misfit, meat, covariance ? n + 1 : 1);
    NB_TRY(fit_evaluate_all(fit, &fit->trial, FIT_BREAD, &loss));
    if (covariance) return sandwich_joint(fit, meat, error, covariance);
    for (size_t i = 0; i < n; i++) {
        const double bread = fit_diagonal(fit, &fit->trial, i);

        error[i] = bread > 0 ? sqrt(meat[i]) / bread : INFINITY;
    }
    return NB_OK;
}

/* Finds errors and covariance once for each best point, and keeps them in fit->sandwich. */
static nb_status keep_sandwich(nb_fit *fit, double misfit)
{
    const size_t n = fit->layout.n, square = fit->layout.has_matrix ? n * n : 0;
    double *memory, *meat;
    nb_status status;

    if (fit->sandwich && !memcmp(fit->sandwich, fit->best.x, n * sizeof *fit->sandwich))
        return NB_OK;
    memory = calloc(2 * n + square, sizeof *memory);
    meat = calloc(n + square, sizeof *meat);
    if (memory && meat) {
        memcpy(memory, fit->best.x, n * sizeof *memory);
        status =
            find_sandwich(fit, misfit, meat, memory + n, square ? memory + 2 * n : NULL);
    } else
        status = fail_memory(fit->ctx, "the errors of a fit");
    free(meat);
    if (status != NB_OK) {
        free(memory);
        return status;
    }
    free(fit->sandwich);
    fit->sandwich = memory;
    return NB_OK;
}

static int is_factor(const nb_fit *fit, size_t i)
{
    return i < fit->layout.ns && fit->layout.is_f[i];
}

/* Lists the strong correlations of a covariance, but not between parameters of different
 * shots, nor of structure factors. Returns 0 if there is no memory. */
static int list_correlated(const nb_fit *fit, const double *covariance,
                           struct fit_result_memory *r)
{
    const size_t n = fit->layout.n;

    r->ncorrelated = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            const double size = sqrt(covariance[i * (n + 1)] * covariance[j * (n + 1)]);
            const double value = covariance[i * n + j] / size;
            const int64_t p = fit->value[i].shot, q = fit->value[j].shot;

            if (!isfinite(r->error[i]) || !isfinite(r->error[j]) || (p >= 0 && p != q)
                || is_factor(fit, i) || is_factor(fit, j))
                continue;
            if (fabs(value) > FIT_CORRELATED && !add_correlated(r, i, j, value)) return 0;
        }
    return 1;
}

static nb_status set_sandwich(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out)
{
    const size_t n = fit->layout.n;
    const char *why = no_errors(fit);
    /* the misfit of all pixels: bright pixels have no say for such a loss */
    const double misfit = out->error_factor > 1 ? out->misfit : 1;
    nb_status status = why ? NB_OK : keep_sandwich(fit, misfit);

    if (status == NB_ERR_CANCELLED) why = "no errors: their computation was cancelled";
    out->errors = why ? NB_FIT_ERRORS_NONE : NB_FIT_ERRORS_VARIANCE;
    out->errors_why = why ? why
                          : "errors from the variance of counting or from 1/weight, since "
                            "the loss is not a likelihood";
    if (why) {
        for (size_t i = 0; i < n; i++)
            if (isfinite(r->error[i])) r->error[i] = NAN;
        r->ncorrelated = 0;
        out->covariance = NULL;
        out->error_factor = 1;
        return NB_OK;
    }
    NB_TRY(status);
    memcpy(r->error, fit->sandwich + n, n * sizeof *r->error);
    if (!r->covariance) return NB_OK;
    if (!fit->layout.has_matrix) return NB_OK;
    memcpy(r->covariance, fit->sandwich + 2 * n, n * n * sizeof *r->covariance);
    return list_correlated(fit, r->covariance, r)
               ? NB_OK
               : fail_memory(fit->ctx, "the errors of a fit");
}

static nb_status set_curvature(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out)
{
    out->errors_why = "errors from the curvature of the loss, which is a likelihood";
    if (fit->method == NB_FIT_LBFGS) {
        conditional_errors(fit, r->error);
        return NB_OK;
    }
    if (fit_knows_own_only(fit)) return errors_alone(fit, r);
    NB_TRY(covariance_joint(fit, r, out));
    out->covariance = r->covariance;
    return NB_OK;
}

/* ---- a model that misfits ---- */

/* Multiplies an error by the root of the misfit, except for its part from the parameter's
 * own restraint, where weight = 1/sigma^2. */
static double scaled_error(double error, double misfit, double weight)
{
    const double variance = error * error;

    if (!isfinite(error)) return error;
    return sqrt(variance * (misfit - (misfit - 1) * fmin(variance * weight, 1)));
}

/* Scales the covariance C = (H + R)^-1, with H from pixels and R from restraints. If the
 * model misfits, the gradient has the covariance misfit H + R, and C becomes misfit C -
 * (misfit - 1) C R C. Returns 0 if there is no memory. */
static int scale_covariance(const nb_fit *fit, double misfit, double *covariance)
{
    const size_t n = fit->layout.n;
    double *before = malloc(n * n * sizeof *before);

    if (!before) return 0;
    memcpy(before, covariance, n * n * sizeof *before);
    for (size_t i = 0; i < n * n; i++) covariance[i] *= misfit;
    for (size_t k = 0; k < n; k++) {
        if (!(fit->weight[k] > 0)) continue;
        for (size_t i = 0; i < n * n; i++)
            covariance[i] -= (misfit - 1) * fit->weight[k] * before[i / n * n + k]
                             * before[k * n + i % n];
    }
    free(before);
    return 1;
}

/* Scales the errors from the curvature, and the covariance if there is one, by the
 * misfit. */
static nb_status scale_errors(const nb_fit *fit, double misfit, struct fit_result_memory *r,
                              const nb_fit_result *out)
{
    const size_t n = fit->layout.n;

    if (out->covariance && !scale_covariance(fit, misfit, r->covariance))
        return fail_memory(fit->ctx, "the errors of a fit");
    for (size_t i = 0; i < n; i++) {
        const double variance = out->covariance ? r->covariance[i * (n + 1)] : 0;

        if (isfinite(r->error[i]) && variance > 0)
            r->error[i] = sqrt(variance);
        else
            r->error[i] = scaled_error(r->error[i], misfit, fit->weight[i]);
    }
    return NB_OK;
}

/* Sets errors by boxes if asked for and possible; otherwise scales errors by the misfit,
 * unless the misfit is noise. */
static nb_status set_scaled(nb_fit *fit, double misfit, struct fit_result_memory *r,
                            nb_fit_result *out)
{
    if (fit->options.scaling == NB_FIT_SCALING_BOXES && !fit_knows_own_only(fit))
        NB_TRY(boxes_errors(fit, r, out));
    if (out->errors != NB_FIT_ERRORS_BOXES)
        return out->error_factor > 1 ? scale_errors(fit, misfit, r, out) : NB_OK;
    return list_correlated(fit, r->covariance, r)
               ? NB_OK
               : fail_memory(fit->ctx, "the errors of a fit");
}

static void explain_factor(struct fit_result_memory *r, nb_fit_result *out)
{
    char before[sizeof r->errors_why];
    const double misfit = out->error_factor * out->error_factor;
    const int is_bright = !(fabs(misfit - out->misfit) <= 1e-9 * misfit);

    if (!(out->error_factor > 1)) return;
    (void)snprintf(before, sizeof before, "%s", out->errors_why);
    (void)snprintf(r->errors_why, sizeof r->errors_why,
                   "%.220s; times %.3g, since the misfit%s is %.3g times the misfit of a "
                   "right model",
                   before, out->error_factor, is_bright ? " of bright pixels" : "", misfit);
    out->errors_why = r->errors_why;
}

/* Evaluates other draws of the mosaic domains, and adds the error of sampling to errors. If
 * the draws are cancelled, errors do not contain it. */
static nb_status find_draws(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out)
{
    const nb_status status = draws_find(fit);

    if (status == NB_ERR_MEMORY) return status;
    NB_TRY(draws_add(fit, r, out));
    if (out->draws == 0 || !out->covariance) return NB_OK;
    return list_correlated(fit, r->covariance, r)
               ? NB_OK
               : fail_memory(fit->ctx, "the errors of a fit");
}

nb_status covariance_set(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out)
{
    struct fit_verdict verdict = {NAN, NAN, NAN, NAN, 1};
    const int is_over = fit->end != NB_FIT_NOT_RUN && !fit_knows_own_only(fit);

    if (is_over && !fit->is_expected) {
        const nb_status status = misfit_find(fit);

        if (status == NB_ERR_MEMORY) return status;
        if (status == NB_OK) {
            verdict = misfit_judge(fit);
            out->rms = sqrt(fit->weighed.square / fit->weighed.pixels);
        }
    }
    out->misfit = verdict.misfit;
    out->misfit_deviation = verdict.deviation;
    out->bright_misfit = verdict.bright;
    out->bright_deviation = verdict.bright_deviation;
    if (fit->options.scaling != NB_FIT_SCALING_COUNTING)
        out->error_factor = sqrt(verdict.factor);
    NB_TRY(set_curvature(fit, r, out));
    if (fit->needs_variance)
        NB_TRY(set_sandwich(fit, r, out));
    else
        NB_TRY(set_scaled(fit, verdict.factor, r, out));
    explain_factor(r, out);
    NB_TRY(find_draws(fit, r, out));
    if (r->ncorrelated > 0)
        qsort(r->correlated, r->ncorrelated, sizeof *r->correlated, by_size);
    return NB_OK;
}
