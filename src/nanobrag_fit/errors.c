/*
 * errors.c - makes the matrices for the errors of a loss that is no likelihood.
 *
 * The inverse of J^T W J is the covariance of fitted values only if the loss is a negative
 * log-likelihood. Squares of photons without their variances are no likelihood, nor are
 * losses that spare outliers. For any loss the covariance is
 *
 *   B^-1 M B^-1,   B = J^T diag(<L''>) J,   M = J^T diag(<L'^2>) J
 *
 * a sandwich of the bread B and the meat M (Huber, Proc. 5th Berkeley Symp. 1, 1967, 221).
 * L' and L'' are derivatives of the loss L of a pixel by its photons. <> is the expectation
 * over possible observations of the pixel, which are taken as normally distributed with the
 * variance of counting. The L'^2 of the observed photons would need no variance. But the
 * brightest pixels decide on a fit of squares, which leaves them with small residuals:
 * errors from observed L'^2 were too small by a fifth.
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
    /* for a likelihood, FIT_BREAD and FIT_MEAT are the same matrix */
    if (target->background) return nb_loss(sim, w->x, target, &value, &matrices);
    photons = malloc((size_t)d.nslow * (size_t)d.nfast * sizeof *photons);
    if (!photons) return fail_memory(w->ctx, "the weights of errors");
    image = nb_array_f64(photons, d.nslow, d.nfast);
    status = nb_forward(sim, w->x, &image);
    if (status == NB_OK) errors_weigh(target, wants, &image);
    if (status == NB_OK) status = nb_jtj(sim, w->x, &image, NULL, &matrices);
    free(photons);
    return status;
}
