/*
 * misfit.h - how far images are from their data, relative to the expectation of the model.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_RESIDUALS_MISFIT_H
#define NB_FIT_RESIDUALS_MISFIT_H

#include <nanobrag/fit.h>

#include "nanobrag_fit/residuals/variances.h"

/* sums over the pixels of an image: the deviance D from the data (misfit in
 * nanobrag/fit.h), and the expectation and variance of D if the model is right */
struct fit_sum_weighed {
    double observed, expected, variance;
};

/* sums that count all pixels alike, and sums that count each by its photons; the number of
 * pixels that have a z, and the sum of z^2 */
struct fit_weighed {
    struct fit_sum_weighed alike, bright;
    double pixels, square;
};

/* the loss that compares a shot with its data */
struct fit_compared {
    const nb_target *target;
    const struct phys_loss_model *model;
    int has_variances;
    double density[ERRORS_POINTS];
};

/* the deviance D of a pixel from its data, and its expectation and variance */
struct fit_pixel {
    double observed, expected, variance;
};
struct fit_pixel misfit_pixel(const struct fit_compared *compared, double photons,
                              double observed, double weight);

/* Adds a pixel of this weight to the sums. */
void misfit_add(const struct fit_compared *compared, double photons, double observed,
                double weight, struct fit_weighed *to);

/* Copies the sums for the misfit that was just measured at fit->trial.x from the trial to
 * fit->weighed, and x to fit->weighed_x. If a shot failed, the expectations become NAN.
 * Also sets fit->share. */
void misfit_take(nb_fit *fit);

/* Returns 1 if the misfit at x is known. */
int misfit_is_known(const nb_fit *fit, const double *x);

/* Measures the misfit at the best point, unless it is known. */
nb_status misfit_find(nb_fit *fit);

/* the misfit at weighed_x, of all and of bright pixels, with standard deviations */
struct fit_verdict {
    double misfit, deviation, bright, bright_deviation;
    double factor; /* the largest misfit that is more than noise; 1: none is */
};
struct fit_verdict misfit_judge(const nb_fit *fit);

struct fit_worker; /* declared in fit.h */

/* Compares a shot with its data at the worker's x. Unless `matrices` is NULL, adds to it
 * the normal matrix of the same loss with each pixel times its photons. */
nb_status compare_weigh(struct fit_worker *worker, nb_simulator *sim, const nb_shot *shot,
                        const nb_normal *matrices, struct fit_weighed *out);

#endif
