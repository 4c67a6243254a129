/*
 * result.c - writes the result of a fit: values, shots, and a sentence on how the fit
 * ended. covariance.c finds the errors.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_fit/chart/cone.h"
#include "nanobrag_fit/fit.h"
#include "nanobrag_fit/outliers/outliers.h"

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
        if (fit->run_passes == 0) /* an earlier run reached its limit */
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

/* ---- values ---- */

static const char *remark_on(const nb_fit_value *v, int errors)
{
    const int is_factor = strncmp(v->param.name, "F[", 2) == 0;

    if (isnan(v->error) && errors == NB_FIT_ERRORS_CURVATURE)
        return "not fitted: the fit ended too early";
    if (v->is_held && is_factor) return "held, the data hardly determine it";
    if (v->is_held && v->value == v->param.value)
        return "held, the image does not depend on it";
    if (v->error == 0) return "the errors of F contain its error";
    if (v->bound < 0) return "at its lower bound";
    if (v->bound > 0 && v->value == v->param.upper)
        return "at its upper bound, the default bound of a fit";
    if (v->bound > 0) return "at its upper bound";
    return isinf(v->error) ? "free: the data do not determine it" : "";
}

static void set_values(nb_fit *fit, const struct fit_result_memory *r, int errors)
{
    const struct fit_layout *l = &fit->layout;

    for (size_t i = 0; i < l->n; i++) {
        nb_fit_value *v = fit->value + i;
        const int is_known = !fit_knows_own_only(fit) || i >= l->ns;

        v->value = fit->best.x[i];
        if (fit->chart[i] == CHART_SQUARE
            && v->value == chart_least(CHART_SQUARE, &v->param))
            v->value = v->param.lower;
        v->error = r->error[i];
        v->sampling = r->sampling[i];
        v->bound = covariance_bound(fit, i);
        v->remark = "";
        if (v->shot >= 0 && fit->left_out[v->shot]) {
            v->error = v->sampling = NAN;
            v->is_held = 0;
            continue;
        }
        v->is_held = is_known && normal_is_held(fit, i);
        v->remark = remark_on(v, errors);
    }
}

static void set_shots(const nb_fit *fit, struct fit_result_memory *r)
{
    for (size_t shot = 0; shot < fit->layout.nshot; shot++) {
        const int is_known = !fit->left_out[shot] && fit->best.status[shot] == NB_OK;

        r->shot[shot] =
            (nb_fit_shot){.name = fit->name[shot],
                          .left_out = fit->left_out[shot],
                          .is_held_out = fit->is_held_out[shot],
                          .loss = is_known ? fit->best.own[shot * fit->at.own_end] : NAN,
                          .pixels = fit->pixels[shot],
                          .noutlier = fit->outliers[shot].n,
                          .outlier = fit->outliers[shot].at};
    }
}

/* Returns the loss of a fit; for shots that were fitted alone, the sum of their losses. */
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

/* Returns the number of pixels less the number of values fitted to them. */
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

/* A misfit between these needs no warning. */
static const double off_least = 0.45, off_most = 2.25;

static void set_warnings(const nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out)
{
    const double off = out->misfit;

    if (fit->is_expected || fit->end == NB_FIT_NOT_RUN) return;
    if (!fit->is_robust && (off <= off_least || off >= off_most))
        (void)snprintf(r->warning[out->nwarning++], sizeof r->warning[0],
                       "the misfit is %.3g, where 1 is expected: the %s%s", off,
                       off < 1
                           ? "data have less noise than counted photons, or another gain"
                           : "model does not describe the data",
                       out->errors == NB_FIT_ERRORS_BOXES ? ", and the errors include this"
                       : !(out->error_factor > 1) ? ", and the printed errors ignore this"
                       : off < 1 ? "; bright pixels do not fit, and the errors include this"
                                 : ", and the errors include this");
    if (draws_warn(fit, out, r->warning[out->nwarning], sizeof r->warning[0]))
        out->nwarning++;
    if (cone_warn(fit, r->warning[out->nwarning], sizeof r->warning[0])) out->nwarning++;
    if (fit->end != NB_FIT_CONVERGED)
        (void)snprintf(r->warning[out->nwarning++], sizeof r->warning[0],
                       "the fit has not converged (%s): the values do not give the least "
                       "loss",
                       r->why);
    for (size_t i = 0; i < out->nwarning; i++) r->warnings[i] = r->warning[i];
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
                           .misfit = NAN,
                           .misfit_deviation = NAN,
                           .bright_misfit = NAN,
                           .bright_deviation = NAN,
                           .error_factor = 1,
                           .rms = NAN,
                           .warning = r->warnings,
                           .condition = NAN,
                           .free = r->line,
                           .nshot = (int64_t)fit->layout.nshot,
                           .shot = r->shot};
    out->loss = loss_of(fit);
    out->gain = fit->alone || fit->method == NB_FIT_LBFGS ? NAN : fit->track->gain;
    explain(fit, r->why, sizeof r->why);
    NB_TRY(covariance_set(fit, r, out));
    set_values(fit, r, out->errors);
    set_warnings(fit, r, out);
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
    /* where a second attempt has not come below the first, the first counts */
    fit_show_kept(fit, 0);
    status = write_result(fit, out);
    fit_hide_kept(fit);
    return status;
}
