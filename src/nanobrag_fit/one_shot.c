/*
 * one_shot.c - evaluates one shot of a fit: loads it, simulates it, and sorts its loss and
 * derivatives into the sum over shots and the shot's own part.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "base/array.h"
#include "base/context.h"
#include "nanobrag_fit/fit.h"
#include "nanobrag_fit/outliers/outliers.h"
#include "scene/mosaic.h"

/* Least number of mosaic domains in a broadened scene. */
enum { DOMAINS_BROAD = 60 };

/* Returns the scene with a mosaic spread of at least `broad`, degree. */
static nb_scene broadened(const nb_fit *fit, const nb_scene *scene, double broad)
{
    nb_scene s = *scene;
    const int axes = s.crystal.mosaic[1] > 0 || s.crystal.mosaic[2] > 0 ? 3 : 1;

    for (int i = 0; i < axes; i++) s.crystal.mosaic[i] = fmax(s.crystal.mosaic[i], broad);
    if (s.crystal.ndomains < DOMAINS_BROAD && !s.crystal.domain_weight && fit->has_domains
        && s.crystal.mosaic_model != NB_MOSAIC_GAUSS)
        s.crystal.ndomains = DOMAINS_BROAD;
    return s;
}

/* Copies the results of nb_loss() to their places in the sum over shots. */
static void sort_sum(const nb_fit *fit, struct fit_worker *w, double loss)
{
    const struct fit_layout *l = &fit->layout;
    const struct fit_offsets *at = &fit->at;
    double *sum = w->sum;

    sum[0] = loss;
    memcpy(sum + at->weighed, &w->weighed, sizeof w->weighed);
    memcpy(sum + at->gradient, w->gradient, l->ns * sizeof *sum);
    if (!l->has_matrix) {
        memcpy(sum + at->diagonal, w->diagonal, l->ns * sizeof *sum);
        return;
    }
    for (size_t i = 0; i < l->nd; i++)
        memcpy(sum + at->matrix + i * l->nd, w->matrix + i * l->md, l->nd * sizeof *sum);
    for (size_t i = 0; i < l->nf; i++) sum[at->diagonal + i] = w->diagonal[l->f[i]];
    memcpy(sum + at->coupling, w->coupling, l->nd * l->nf * sizeof *sum);
}

/* Copies loss and derivatives to their places in the shot's own part. */
static void sort_own(const nb_fit *fit, struct fit_worker *w, double loss)
{
    const struct fit_layout *l = &fit->layout;
    const struct fit_offsets *at = &fit->at;
    double *own = w->own;

    own[0] = loss;
    memcpy(own + at->own_gradient, w->gradient + l->ns, l->no * sizeof *own);
    if (!l->has_matrix) {
        memcpy(own + at->own_matrix, w->diagonal + l->ns, l->no * sizeof *own);
        return;
    }
    for (size_t i = 0; i < l->no; i++) {
        const double *row = w->matrix + (l->nd + i) * l->md;

        memcpy(own + at->own_matrix + i * l->no, row + l->nd, l->no * sizeof *own);
        memcpy(own + at->own_shared + i * l->nd, row, l->nd * sizeof *own);
        memcpy(own + at->own_f + i * l->nf, w->coupling + (l->nd + i) * l->nf,
               l->nf * sizeof *own);
    }
}

/* Raises each mosaic spread among the parameters x to at least `broad`, degree. */
static void broaden_x(const nb_fit *fit, double *x, double broad)
{
    for (size_t i = 0; i < fit->layout.m; i++) {
        const char *const group = fit->value[i].param.group;

        if (!strcmp(group, "mosaic") || !strcmp(group, "mosaic_axes"))
            x[i] = fmax(x[i], broad);
    }
}

/* Computes the loss with the image at x in place of the observed one. Its matrix is the
 * information that an observation is expected to hold. */
static nb_status compare_with_itself(struct fit_worker *w, nb_simulator *sim,
                                     nb_target target, nb_normal *out, double *loss)
{
    nb_description d;
    nb_status status = nb_simulator_describe(sim, w->x, &d);
    nb_array image;
    double *photons;

    if (status != NB_OK) return status;
    photons = malloc((size_t)d.nslow * (size_t)d.nfast * sizeof *photons);
    if (!photons) return fail_memory(w->ctx, "an expected image");
    image = nb_array_f64(photons, d.nslow, d.nfast);
    target.observed = &image;
    status = nb_forward(sim, w->x, &image);
    if (status == NB_OK) status = nb_loss(sim, w->x, &target, loss, out);
    free(photons);
    return status;
}

/* Refuses an x with a mosaic spread that is negative about some axis, so that no step leads
 * there. Any other fault of x is reported when the image is rendered. */
static nb_status check_spread(struct fit_worker *w, const nb_simulator *sim)
{
    nb_scene scene;

    if (nb_simulator_resolved(sim, w->x, &scene) != NB_OK) return NB_OK;
    return mosaic_check(w->ctx, &scene.crystal, NB_ERR_DOMAIN);
}

static nb_status evaluate(nb_fit *fit, struct fit_worker *w, size_t number,
                          const nb_shot *shot, double broad, int wants, nb_normal *out,
                          double *loss)
{
    const nb_scene other = wants == FIT_DRAW ? draws_scene(shot->scene, fit->draws.now)
                                             : broadened(fit, shot->scene, broad);
    nb_simulator *sim = NULL;
    nb_status status =
        nb_simulator_create(w->ctx, broad > 0 || wants == FIT_DRAW ? &other : shot->scene,
                            fit->names, shot->options, &sim);

    if (broad > 0) broaden_x(fit, w->x, broad);
    if (status == NB_OK) status = check_spread(w, sim);
    if (status == NB_OK && (wants == FIT_BREAD || wants == FIT_MEAT))
        status = errors_normal(w, sim, &shot->target, wants, out);
    else if (status == NB_OK && wants == FIT_WEIGH)
        status = compare_weigh(w, sim, shot, fit->needs_variance ? NULL : out, &w->weighed);
    else if (status == NB_OK && wants == FIT_JUDGE)
        status = compare_outliers(w, sim, shot, fit->outliers + number);
    else if (status == NB_OK && fit->is_expected)
        status = compare_with_itself(w, sim, shot->target, out, loss);
    else if (status == NB_OK)
        status = nb_loss(sim, w->x, &shot->target, loss, out);
    nb_simulator_free(sim);
    return status;
}

/* If a parameter that moves by a typical change (nb_param.scale) changes the likelihood by
 * less than this, the likelihood does not depend on it. For example, a spot that misses its
 * box by many widths leaves 1e-40 photons there, and an error from these would be 1e20
 * degree. */
static const double least_told = 1e-9;

/* Sets to 0 the derivatives by parameters on which a shot does not depend. */
static void drop_untold(const nb_fit *fit, struct fit_worker *w, size_t shot,
                        const nb_normal *out)
{
    const struct fit_layout *l = &fit->layout;
    size_t dense = 0;

    for (size_t i = 0; i < l->m; i++) {
        const double size =
            fmax(fit->value[fit_index(l, shot, i)].param.scale, fabs(w->x[i]));

        if (i < l->ns && l->is_f[i]) continue;
        if (fabs(w->gradient[i]) * size < least_told
            && w->diagonal[i] * size * size < least_told) {
            w->gradient[i] = w->diagonal[i] = 0;
            for (size_t k = 0; out->matrix && k < l->md; k++)
                w->matrix[dense * l->md + k] = w->matrix[k * l->md + dense] = 0;
            for (size_t k = 0; out->coupling && k < l->nf; k++)
                w->coupling[dense * l->nf + k] = 0;
        }
        dense++;
    }
}

nb_status fit_evaluate_shot(nb_fit *fit, struct fit_worker *w, size_t shot, double broad,
                            int wants)
{
    const struct fit_layout *l = &fit->layout;
    const int has_matrix =
        wants != FIT_VALUE && wants != FIT_JUDGE && wants != FIT_DRAW && l->has_matrix;
    nb_normal out = {.gradient = w->gradient,
                     .diagonal = wants == FIT_DRAW ? NULL : w->diagonal,
                     .matrix = has_matrix ? w->matrix : NULL,
                     .coupling = has_matrix && l->nf > 0 ? w->coupling : NULL};
    nb_shot loaded;
    nb_status status;
    double loss = 0;
    int is_likelihood;

    memset(w->gradient, 0, l->m * sizeof *w->gradient);
    memset(w->diagonal, 0, l->m * sizeof *w->diagonal);
    memset(&w->weighed, 0, sizeof w->weighed);
    if (l->has_matrix) {
        memset(w->matrix, 0, l->md * l->md * sizeof *w->matrix);
        memset(w->coupling, 0, l->md * l->nf * sizeof *w->coupling);
    }
    NB_TRY(fit_load(fit, w->ctx, shot, &loaded));
    status = evaluate(fit, w, shot, &loaded, broad, wants, wants == FIT_VALUE ? NULL : &out,
                      &loss);
    is_likelihood = !errors_need_variance(&loaded.target);
    fit_unload(fit, shot, &loaded);
    if (status != NB_OK) return status;
    if (is_likelihood && wants != FIT_VALUE) drop_untold(fit, w, shot, &out);
    sort_sum(fit, w, loss);
    sort_own(fit, w, loss);
    return NB_OK;
}
