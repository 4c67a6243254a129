/*
 * nanobrag_fit/errors.c - errors of losses that are no likelihood.
 *
 * The inverse of J^T W J is the covariance of values that minimise a negative
 * log-likelihood. Squares of photons without their variances, and losses that spare
 * outliers, are none. Whatever the loss, the covariance is
 *
 *   B^-1 M B^-1,   B = J^T diag(<L''>) J,   M = J^T diag(<L'^2>) J
 *
 * with the derivatives of the loss L of each pixel by its photons, and <> the expectation
 * over what may be observed there (Huber, Proc. 5th Berkeley Symp. 1, 1967, 221): a
 * sandwich of the bread B and the meat M. The expectations are taken over a normal
 * distribution of the variance of counting. The L'^2 that were observed would need no
 * variance, but the brightest pixels decide on a fit of squares and are left with small
 * residuals by it: such errors were too small by a fifth.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "base/array.h"
#include "base/context.h"
#include "nanobrag_fit/fit.h"
#include "nanobrag_fit/planes/plane_errors.h"

nb_status errors_normal(struct fit_worker *w, nb_simulator *sim, const nb_target *target,
                        int wants, nb_normal *out)
{
    nb_normal matrices = *out;
    nb_description d;
    nb_array image;
    nb_status status;
    double *photons, value;

    NB_TRY(nb_simulator_describe(sim, w->x, &d));
    if (target->weight)
        NB_TRY(array_check(w->ctx, target->weight, "weight", d.nslow, d.nfast,
                           NB_TYPE_FLOAT, 32, 64));
    matrices.gradient = NULL;
    if (target->background && errors_need_variance(target))
        return plane_errors_normal(w, sim, target, wants, &matrices);
    if (target->background) /* of a likelihood B and M are one matrix */
        return nb_loss(sim, w->x, target, &value, &matrices);
    photons = malloc((size_t)d.nslow * (size_t)d.nfast * sizeof *photons);
    if (!photons) return fail_memory(w->ctx, "the weights of errors");
    image = nb_array_f64(photons, d.nslow, d.nfast);
    status = nb_forward(sim, w->x, &image);
    if (status == NB_OK) errors_weigh(target, wants, &image);
    if (status == NB_OK) status = nb_jtj(sim, w->x, &image, NULL, &matrices);
    free(photons);
    return status;
}
