/*
 * findings.c - writes the result of a fit into its file, for a human reader.
 *
 * SPDX-License-Identifier: MIT
 */
#include <nanobrag/fit.h>

#ifdef NANOBRAG_CJSON

#include <stdio.h>

#include "nanobrag_fit/file/findings.h"
#include "nanobrag_fit/file/identity.h"
#include "nanobrag_fit/outliers/outliers.h"

static void put_values(struct document *d, const nb_fit *fit, const nb_fit_result *r)
{
    cJSON *array = document_array(d, d->root, "values");

    for (size_t i = 0; i < r->nvalue; i++) {
        const nb_fit_value *v = r->value + i;
        cJSON *entry = document_object(d, array, NULL);

        document_text(d, entry, "name", v->param.name);
        if (v->shot >= 0) document_text(d, entry, "image", fit->name[v->shot]);
        document_real(d, entry, "value", v->value);
        document_real(d, entry, "error", v->error);
        document_real(d, entry, "sampling", v->sampling);
        document_text(d, entry, "unit", v->param.unit);
        document_real(d, entry, "start", fit->start[i]);
        document_real(d, entry, "bound", v->bound);
        document_flag(d, entry, "held", v->is_held);
    }
}

/* Writes the numbers that identify a shot; null if the shot could not be loaded. */
static void put_identity(struct document *d, cJSON *to, const nb_fit *fit, size_t shot)
{
    cJSON *array;

    if (!fit->is_loaded[shot]) {
        document_null(d, to, "identity");
        return;
    }
    array = document_array(d, to, "identity");
    for (size_t i = 0; i < identity_count(); i++)
        document_digits(d, array, NULL, fit->identity[shot * identity_count() + i], 12);
}

static void put_misfit(struct document *d, cJSON *to, const nb_misfit *m)
{
    document_real(d, to, "dmax", m->dmax);
    document_real(d, to, "dmin", m->dmin);
    document_real(d, to, "pixels", (double)m->pixels);
    document_real(d, to, "z_mean", m->mean);
    document_real(d, to, "z_rms", m->rms);
    document_real(d, to, "loss", m->loss);
    document_real(d, to, "deviance", m->deviance);
    document_real(d, to, "expected", m->expected);
    document_real(d, to, "bright", (double)m->bright);
    document_real(d, to, "bright_deviance", m->bright_deviance);
    document_real(d, to, "bright_expected", m->bright_expected);
    document_real(d, to, "observed", m->observed);
    document_real(d, to, "photons", m->photons);
    document_real(d, to, "variance", m->variance);
}

/* Writes the residuals of a shot, of all its pixels and by resolution; nothing if it has
 * none. */
static void put_residuals(struct document *d, cJSON *to, const nb_fit_misfit *misfit)
{
    cJSON *shells;

    if (!misfit || misfit->all.pixels == 0) return;
    put_misfit(d, document_object(d, to, "residuals"), &misfit->all);
    shells = document_array(d, to, "shells");
    for (int i = 0; i < NB_FIT_SHELLS; i++)
        if (misfit->shell[i].pixels > 0)
            put_misfit(d, document_object(d, shells, NULL), misfit->shell + i);
}

/* Writes what left a shot, and how many pixels that is. A row is the number of a box, or -1
 * for a pixel; fast; slow; z. */
static void put_outliers(struct document *d, cJSON *to, const struct outliers_shot *o)
{
    cJSON *rows = document_array(d, to, "outliers");

    document_real(d, to, "outlying_pixels", (double)o->lost);
    for (size_t i = 0; i < o->n; i++) {
        const nb_fit_outlier *at = o->at + i;
        const double row[] = {at->box, at->fast, at->slow, at->z};

        document_reals(d, rows, NULL, row, 4);
    }
}

static void put_shots(struct document *d, const nb_fit *fit, const nb_fit_result *r,
                      const nb_fit_misfit *misfit)
{
    cJSON *array = document_array(d, d->root, "images");

    for (size_t shot = 0; shot < fit->layout.nshot; shot++) {
        cJSON *entry = document_object(d, array, NULL);

        document_text(d, entry, "name", fit->name[shot]);
        document_text(d, entry, "left_out", fit->left_out[shot]);
        document_flag(d, entry, "held_out", fit->is_held_out[shot]);
        document_real(d, entry, "loss", r->shot[shot].loss);
        document_real(d, entry, "pixels", (double)r->shot[shot].pixels);
        put_outliers(d, entry, fit->outliers + shot);
        put_residuals(d, entry, misfit ? misfit + shot : NULL);
        put_identity(d, entry, fit, shot);
    }
}

static void put_name(struct document *d, cJSON *to, const char *key, const nb_fit *fit,
                     size_t i)
{
    const nb_fit_value *v = fit->value + i;
    char text[200];

    (void)snprintf(text, sizeof text, "%.60s%s%.120s", v->param.name,
                   v->shot < 0 ? "" : " of ", v->shot < 0 ? "" : fit->name[v->shot]);
    document_text(d, to, key, text);
}

static void put_correlations(struct document *d, const nb_fit *fit, const nb_fit_result *r)
{
    cJSON *pairs = document_array(d, d->root, "correlated");

    for (size_t i = 0; i < r->ncorrelated; i++) {
        cJSON *pair = document_object(d, pairs, NULL);

        put_name(d, pair, "first", fit, r->correlated[i].i);
        put_name(d, pair, "second", fit, r->correlated[i].j);
        document_real(d, pair, "value", r->correlated[i].value);
    }
}

static void put_free(struct document *d, const nb_fit_result *r)
{
    cJSON *free_ones = document_array(d, d->root, "free");

    for (size_t i = 0; i < r->nfree; i++) document_text(d, free_ones, NULL, r->free[i]);
}

static void put_covariance(struct document *d, const nb_fit_result *r)
{
    const size_t n = r->nvalue;
    cJSON *rows;

    if (!r->covariance || r->end == NB_FIT_NOT_RUN) {
        document_null(d, d->root, "covariance");
        return;
    }
    rows = document_array(d, d->root, "covariance");
    for (size_t i = 0; i < n; i++) document_reals(d, rows, NULL, r->covariance + i * n, n);
}

static void put_warnings(struct document *d, const nb_fit_result *r)
{
    cJSON *array = document_array(d, d->root, "warnings");

    for (size_t i = 0; i < r->nwarning; i++) document_text(d, array, NULL, r->warning[i]);
}

void findings_put(struct document *d, const nb_fit *fit, const nb_fit_result *r,
                  const nb_fit_misfit *misfit)
{
    document_text(d, d->root, "ended", r->why);
    document_text(d, d->root, "errors", r->errors_why);
    document_real(d, d->root, "rms", r->rms);
    put_warnings(d, r);
    document_real(d, d->root, "misfit", r->misfit);
    document_real(d, d->root, "misfit_deviation", r->misfit_deviation);
    document_real(d, d->root, "bright_misfit", r->bright_misfit);
    document_real(d, d->root, "bright_deviation", r->bright_deviation);
    document_real(d, d->root, "error_factor", r->error_factor);
    document_real(d, d->root, "draws", r->draws);
    document_real(d, d->root, "holdout", fit->options.holdout);
    document_real(d, d->root, "loss", r->loss);
    document_real(d, d->root, "condition", r->condition);
    put_values(d, fit, r);
    put_correlations(d, fit, r);
    put_free(d, r);
    put_covariance(d, r);
    put_shots(d, fit, r, misfit);
}

#endif
