/*
 * fit/result.c - what a fit has found: values, errors, correlations, free directions, and a
 * sentence on how it ended.
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

/* Free directions that are reported at most. */
enum { DIRECTIONS_MOST = 50, DIRECTION_TEXT = 400 };

struct fit_result_memory {
    double *error, *covariance, *directions;
    char *text; /* DIRECTION_TEXT for each direction */
    const char **line;
    nb_fit_correlation *correlated;
    size_t ncorrelated, room;
    nb_fit_shot *shot;
    char why[256];
};

void result_free(struct fit_result_memory *r)
{
    if (!r) return;
    free(r->error);
    free(r->covariance);
    free(r->directions);
    free(r->text);
    free(r->line);
    free(r->correlated);
    free(r->shot);
    free(r);
}

static struct fit_result_memory *result_make(const nb_fit *fit)
{
    const size_t n = fit->layout.n;
    const int is_small = n <= FIT_DENSE_MOST;
    const size_t most = n < DIRECTIONS_MOST ? n : DIRECTIONS_MOST;
    struct fit_result_memory *r = calloc(1, sizeof *r);

    if (!r) return NULL;
    r->error = calloc(n, sizeof *r->error);
    r->covariance = is_small ? calloc(n * n, sizeof *r->covariance) : NULL;
    r->directions = calloc(most * n, sizeof *r->directions);
    r->text = calloc(most, DIRECTION_TEXT);
    r->line = calloc(most, sizeof *r->line);
    r->shot = calloc(fit->layout.nshot, sizeof *r->shot);
    if (r->error && (r->covariance || !is_small) && r->directions && r->text && r->line
        && r->shot)
        return r;
    result_free(r);
    return NULL;
}

/* ---- how it ended ---- */

static void explain(const nb_fit *fit, char *why, size_t size)
{
    const struct fit_track *track = fit->track;

    switch (fit->end) {
    case NB_FIT_CONVERGED:
        if (fit->method == NB_FIT_LBFGS)
            (void)snprintf(why, size,
                           "converged: the last pass gained less than %g of the loss",
                           lbfgs_enough(fit));
        else
            (void)snprintf(why, size, "converged: another pass would gain %.2g of the loss",
                           track->gain);
        break;
    case NB_FIT_STUCK:
        if (fit->method == NB_FIT_LBFGS)
            (void)snprintf(why, size, "stuck: no step along the line lowers the loss");
        else if (isnan(track->gain))
            (void)snprintf(why, size, "stuck: the derivatives are not finite");
        else
            (void)snprintf(why, size,
                           "stuck: even the shortest steps raise the loss, though it "
                           "should fall by %.2g",
                           track->gain);
        break;
    case NB_FIT_PASSES:
        if (fit->run_passes == 0) /* of a file */
            (void)snprintf(why, size, "ended at the limit of passes");
        else
            (void)snprintf(why, size, "ended after %d pass%s%s, the limit", fit->run_passes,
                           fit->run_passes == 1 ? "" : "es",
                           fit->was_alone ? " of all shots together" : "");
        break;
    case NB_FIT_SECONDS:
        (void)snprintf(why, size, "ended after %g s, the limit", fit->options.seconds);
        break;
    case NB_FIT_CANCELLED:
        (void)snprintf(why, size, "cancelled");
        break;
    case NB_FIT_FAILED:
        (void)snprintf(why, size, "ended by an error");
        break;
    default:
        (void)snprintf(why, size, "not ended");
    }
    if (fit->has_gauge && strlen(why) + 80 < size)
        (void)snprintf(why + strlen(why), size - strlen(why),
                       "; the mean of F is held, since scale and F are both free");
}

/* ---- free directions ---- */

static const char *name_of(const nb_fit *fit, size_t i)
{
    return fit->value[i].param.name;
}

/* Writes a direction as a sum of parameters, the largest first and positive. Those of one
 * size but for rounding keep their order, so that the text is the same on every machine. */
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

/* Errors of parameters while all others are known, where there are no matrices. */
static void conditional_errors(nb_fit *fit, double *error)
{
    for (size_t i = 0; i < fit->layout.n; i++) {
        const double diagonal = fit_diagonal(fit, &fit->best, i);

        error[i] = diagonal > 0 ? 1 / sqrt(diagonal) : INFINITY;
    }
}

/* Those of shots that are still fitted alone; of shared parameters nothing is known yet. */
static nb_status errors_alone(nb_fit *fit, struct fit_result_memory *r)
{
    const struct fit_layout *l = &fit->layout;

    for (size_t i = 0; i < l->ns; i++) r->error[i] = NAN;
    memset(fit->fixed, 0, l->no);
    for (size_t shot = 0; shot < l->nshot; shot++) {
        const size_t first = l->ns + shot * l->no;
        const struct fit_system system = normal_alone(fit, shot);
        struct fit_errors errors = {.error = r->error + first,
                                    .correlated = add_correlated,
                                    .user = r};

        if (!solver_errors(fit->solver_alone, &system, fit->fixed, &errors))
            return fail_memory(fit->ctx, "the errors of a fit");
    }
    r->ncorrelated = 0; /* with what is shared they are other ones */
    return NB_OK;
}

/* From the order of a system with structure factors to that of x. */
static void spread(const nb_fit *fit, size_t n, const double *from, double *to)
{
    for (size_t i = 0; i < n; i++) to[normal_at_x(&fit->layout, i)] = from[i];
}

/* Fills in the rows of structure factor f, which the system leaves out. */
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

/* The system leaves out structure factors: its results are sorted into those of all. */
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

static nb_status errors_joint(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out)
{
    const struct fit_layout *l = &fit->layout;
    const struct fit_system system = normal_joint(fit, 0);
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
    for (size_t i = 0; i < n; i++)
        fit->fixed[i] = (unsigned char)normal_stays(fit, normal_at_x(l, i));
    if (!solver_errors(fit->solver, &system, fit->fixed, &errors)) {
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

/* Returns why there are none, or NULL. */
static const char *no_errors(const nb_fit *fit)
{
    const struct fit_layout *l = &fit->layout;

    if (fit->end == NB_FIT_NOT_RUN) return "no errors: they are computed when a run ends";
    if (fit_knows_own_only(fit)) return "no errors: the shots were not fitted together yet";
    if (l->nf > 0)
        return "no errors: with structure factors they need a loss that is a likelihood";
    if (fit->has_planes)
        return "no errors: with planes they need a loss that is a likelihood";
    if (fit->on_device)
        return "no errors: weights on a device need a loss that is a likelihood";
    if (l->has_matrix && l->n > FIT_DENSE_MOST)
        return "no errors: more than 200 values need a loss that is a likelihood";
    return NULL;
}

/* C = B^-1 M B^-1, given B^-1; M becomes a product in between. */
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

/* Writes errors and covariance, given M. What the data leave free stays so. */
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
    status = errors_joint(fit, bread, &unused);
    fit->best = best;
    if (status == NB_OK) {
        multiply(n, bread->covariance, meat, covariance);
        for (size_t i = 0; i < n; i++)
            error[i] = isfinite(bread->error[i]) ? sqrt(covariance[i * (n + 1)]) : INFINITY;
    }
    result_free(bread);
    return status;
}

static nb_status find_sandwich(nb_fit *fit, double *meat, double *error, double *covariance)
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
    NB_TRY(fit_evaluate_all(fit, &fit->trial, FIT_BREAD, &loss));
    if (covariance) return sandwich_joint(fit, meat, error, covariance);
    for (size_t i = 0; i < n; i++) {
        const double bread = fit_diagonal(fit, &fit->trial, i);

        error[i] = bread > 0 ? sqrt(meat[i]) / bread : INFINITY;
    }
    return NB_OK;
}

/* Finds them once for each result. */
static nb_status keep_sandwich(nb_fit *fit)
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
        status = find_sandwich(fit, meat, memory + n, square ? memory + 2 * n : NULL);
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

/* Lists the correlations of a covariance, but not those between shots. */
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

            if (!isfinite(r->error[i]) || !isfinite(r->error[j]) || (p >= 0 && p != q))
                continue;
            if (fabs(value) > FIT_CORRELATED && !add_correlated(r, i, j, value)) return 0;
        }
    return 1;
}

static nb_status set_sandwich(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out)
{
    const size_t n = fit->layout.n;
    const char *why = no_errors(fit);
    nb_status status = why ? NB_OK : keep_sandwich(fit);

    if (status == NB_ERR_CANCELLED) why = "no errors: their computation was cancelled";
    out->errors = why ? NB_FIT_ERRORS_NONE : NB_FIT_ERRORS_VARIANCE;
    out->errors_why = why ? why
                          : "errors by the variance of counting or of 1/weight, since the "
                            "loss is no likelihood";
    if (why) {
        for (size_t i = 0; i < n; i++)
            if (isfinite(r->error[i])) r->error[i] = NAN;
        r->ncorrelated = 0;
        out->covariance = NULL;
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

static nb_status set_errors(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out)
{
    out->errors_why = "errors from the curvature of the loss, which is a likelihood";
    if (fit->method == NB_FIT_LBFGS) {
        conditional_errors(fit, r->error);
        return NB_OK;
    }
    if (fit_knows_own_only(fit)) return errors_alone(fit, r);
    NB_TRY(errors_joint(fit, r, out));
    out->covariance = r->covariance;
    return NB_OK;
}

/* ---- values ---- */

static void set_values(nb_fit *fit, const struct fit_result_memory *r)
{
    const struct fit_layout *l = &fit->layout;

    for (size_t i = 0; i < l->n; i++) {
        nb_fit_value *v = fit->value + i;
        const int is_known = !fit_knows_own_only(fit) || i >= l->ns;

        v->value = fit->best.x[i];
        v->error = r->error[i];
        v->bound = (v->value == fit->upper[i]) - (v->value == fit->lower[i]);
        if (v->shot >= 0 && fit->left_out[v->shot]) {
            v->error = NAN;
            v->is_held = 0;
            continue;
        }
        v->is_held = is_known && normal_is_held(fit, i);
    }
}

static void set_shots(const nb_fit *fit, struct fit_result_memory *r)
{
    for (size_t shot = 0; shot < fit->layout.nshot; shot++) {
        const int is_known = !fit->left_out[shot] && fit->best.status[shot] == NB_OK;

        r->shot[shot] =
            (nb_fit_shot){.name = fit->name[shot],
                          .left_out = fit->left_out[shot],
                          .loss = is_known ? fit->best.own[shot * fit->at.own_end] : NAN,
                          .pixels = fit->pixels[shot]};
    }
}

/* Of shots that were fitted alone it is the sum of theirs. */
static double loss_of(const nb_fit *fit)
{
    const struct fit_layout *l = &fit->layout;
    double loss = 0;

    if (!fit_knows_own_only(fit)) return fit->track->loss;
    for (size_t i = 0; i < l->nshot; i++) {
        if (fit->left_out[i]) continue;
        loss += fit->alone
                    ? fit->track[i].loss
                    : fit->best.own[i * fit->at.own_end]
                          + fit_restraints(fit, fit->best.x, l->ns + i * l->no, l->no);
    }
    return loss;
}

/* Where a second attempt of a track has not come below the first, the first counts: the two
 * change places, and back. */
static void swap_kept(nb_fit *fit)
{
    const size_t n = fit->alone ? fit->layout.nshot : 1;

    for (size_t i = 0; i < n; i++) fit_swap_kept(fit, fit->track + i);
}

/* Pixels less values that were fitted to them. */
static int64_t freedom_of(const nb_fit *fit)
{
    int64_t freedom = 0;

    for (size_t shot = 0; shot < fit->layout.nshot; shot++)
        if (!fit->left_out[shot]) freedom += fit->pixels[shot];
    for (size_t i = 0; i < fit->layout.n; i++) {
        const nb_fit_value *v = fit->value + i;

        if (v->shot >= 0 && fit->left_out[v->shot]) continue;
        freedom -= !v->is_held && v->bound == 0;
    }
    return freedom;
}

static nb_status write_result(nb_fit *fit, nb_fit_result *out)
{
    struct fit_result_memory *r = result_make(fit);

    result_free(fit->result);
    fit->result = r;
    if (!r) return fail_memory(fit->ctx, "the result of a fit");
    *out = (nb_fit_result){.method = fit->method,
                           .end = fit->end,
                           .why = r->why,
                           .passes = fit->passes,
                           .joint = fit->joint,
                           .history = fit->history,
                           .nshared = fit->layout.ns,
                           .nown = fit->layout.no,
                           .nvalue = fit->layout.n,
                           .value = fit->value,
                           .condition = NAN,
                           .free = r->line,
                           .nshot = (int64_t)fit->layout.nshot,
                           .shot = r->shot};
    out->loss = loss_of(fit);
    out->gain = fit->alone || fit->method == NB_FIT_LBFGS ? NAN : fit->track->gain;
    explain(fit, r->why, sizeof r->why);
    NB_TRY(set_errors(fit, r, out));
    if (fit->needs_variance) NB_TRY(set_sandwich(fit, r, out));
    if (r->ncorrelated > 0)
        qsort(r->correlated, r->ncorrelated, sizeof *r->correlated, by_size);
    set_values(fit, r);
    set_shots(fit, r);
    out->freedom = freedom_of(fit);
    out->correlated = r->correlated;
    out->ncorrelated = r->ncorrelated;
    return NB_OK;
}

nb_status nb_fit_result_get(nb_fit *fit, nb_fit_result *out)
{
    STANDARD_FLOATS;
    nb_status status;

    if (!fit) return NB_ERR_ARGUMENT;
    if (!out) return fail(fit->ctx, NB_ERR_ARGUMENT, "a result needs a place to go");
    if (fit->passes == 0)
        return fail(fit->ctx, NB_ERR_ARGUMENT, "the fit has completed no pass");
    NB_TRY(fit_reload(fit));
    swap_kept(fit);
    status = write_result(fit, out);
    swap_kept(fit);
    return status;
}
