/*
 * restraints.c - applies prior knowledge of parameters: bounds of a fit, and restraints
 * with their loss and its derivatives.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "nanobrag_fit/fit.h"

/* ---- bounds ---- */

/* Returns 1 for a parameter that makes spots broader. Such a parameter waits until all
 * others have nearly settled. */
int bounds_makes_broad(const nb_param *param)
{
    static const char *const groups[] =
        {"ncells",      "ncells_off",        "mosaic", "mosaic_axes",  "mosaic_off",
         "mosaic_tail", "mosaic_tail_width", "strain", "crystal_size", "divergence",
         "dispersion"};

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (!strcmp(param->group, groups[i])) return 1;
    return 0;
}

/* Returns a parameter with narrower bounds than in params.h. Within the wider bounds an
 * image can be computed, but a fit that gets so far off is lost. */
nb_param bounds_of_fit(const nb_param *param)
{
    nb_param p = *param;
    double low = -INFINITY, high = INFINITY;

    if (!strcmp(p.group, "cell") && !strcmp(p.unit, "A"))
        low = p.value / 2, high = 2 * p.value;
    else if (!strcmp(p.group, "cell"))
        low = p.value - 30, high = p.value + 30;
    else if (!strcmp(p.group, "misset") || !strcmp(p.group, "rotation"))
        low = p.value - 180, high = p.value + 180;
    else if (!strcmp(p.group, "mosaic") || !strcmp(p.group, "mosaic_axes"))
        high = fmax(20, 2 * p.value);
    else if (!strcmp(p.group, "mosaic_off"))
        high = fmax(20, 2 * fabs(p.value)), low = -high;
    else if (!strcmp(p.group, "ncells"))
        high = 30 * p.value; /* larger blocks make spots no sharper */
    else if (!strcmp(p.group, "panel_shift") || !strcmp(p.group, "group_shift"))
        low = p.value - 10, high = p.value + 10; /* spots are then outside their boxes */
    else if (!strcmp(p.group, "mosaic_tail_width"))
        low = fmin(1, p.value), high = fmax(20, 2 * p.value); /* the tail is wider */
    p.lower = fmax(p.lower, low);
    p.upper = fmin(p.upper, high);
    return p;
}

/* ---- how restraints are set ---- */

static nb_status check_restraint(const nb_fit *fit, const nb_restraint *r)
{
    const int has_bounds = r->lower != 0 || r->upper != 0;

    if (!r->name) return fail(fit->ctx, NB_ERR_ARGUMENT, "a restraint needs a name");
    if (!(r->sigma >= 0) || isinf(r->sigma) || !isfinite(r->centre))
        return fail(fit->ctx, NB_ERR_ARGUMENT,
                    "the restraint of %s has centre %g and sigma %g, expected numbers and "
                    "a sigma of at least 0",
                    r->name, r->centre, r->sigma);
    if (has_bounds && !(r->lower <= r->upper))
        return fail(fit->ctx, NB_ERR_ARGUMENT,
                    "the bounds of %s are %g and %g, expected the lower one first", r->name,
                    r->lower, r->upper);
    return NB_OK;
}

static void set(nb_fit *fit, size_t i, const nb_restraint *r)
{
    const int has_bounds = r->lower != 0 || r->upper != 0;

    /* a restrained scale cannot be exchanged with a factor of all structure factors */
    if (fit->is_scale[i] && (r->sigma > 0 || has_bounds)) fit->has_gauge = 0;
    if (r->sigma > 0) {
        fit->centre[i] = r->centre;
        fit->weight[i] = 1 / (r->sigma * r->sigma);
    }
    if (!has_bounds) return;
    fit->lower[i] = fmax(fit->lower[i], r->lower);
    fit->upper[i] = fmin(fit->upper[i], r->upper);
}

nb_status fit_set_restraint(nb_fit *fit, const nb_restraint *r)
{
    const struct fit_layout *l = &fit->layout;
    int found = 0;

    NB_TRY(check_restraint(fit, r));
    for (size_t i = 0; i < l->n; i++) {
        if (strcmp(fit->value[i].param.name, r->name) != 0) continue;
        if (i < l->ns && l->is_f[i])
            return fail(fit->ctx, NB_ERR_ARGUMENT,
                        "%s cannot be restrained, as structure factors cannot", r->name);
        set(fit, i, r);
        found = 1;
    }
    if (found) return NB_OK;
    return fail(fit->ctx, NB_ERR_ARGUMENT,
                "%s is restrained, but it is no free parameter; a restraint names one, "
                "such as cell_a",
                r->name);
}

/* ---- the loss of restraints ---- */

static double restraint(const nb_fit *fit, const double *x, size_t i)
{
    const double off = x[i] - fit->centre[i];

    return fit->weight[i] > 0 ? fit->weight[i] * off * off / 2 : 0;
}

double fit_restraints(const nb_fit *fit, const double *x, size_t first, size_t n)
{
    double loss = 0;

    for (size_t i = first; i < first + n; i++) loss += restraint(fit, x, i);
    return loss;
}

/* Adds the derivatives of the restraints to the sum over shots and to the own parts. */
void fit_restrain(const nb_fit *fit, struct fit_point *point)
{
    const struct fit_layout *l = &fit->layout;
    const struct fit_offsets *at = &fit->at;
    const double *x = point->x;

    for (size_t d = 0; d < l->nd; d++) {
        const size_t i = l->dense[d];
        const size_t place =
            l->has_matrix ? at->matrix + d * (l->nd + 1) : at->diagonal + i;

        point->sum[at->gradient + i] += fit->weight[i] * (x[i] - fit->centre[i]);
        point->sum[place] += fit->weight[i];
    }
    for (size_t shot = 0; shot < l->nshot; shot++) {
        double *own = point->own + shot * at->own_end;

        if (point->status[shot] != NB_OK) continue;
        for (size_t i = 0; i < l->no; i++) {
            const size_t j = fit_index(l, shot, l->ns + i);
            const size_t place = l->has_matrix ? i * (l->no + 1) : i;

            own[at->own_gradient + i] += fit->weight[j] * (x[j] - fit->centre[j]);
            own[at->own_matrix + place] += fit->weight[j];
        }
    }
}
