/*
 * misfit.h - how far images are from their data, relative to the expectation of the model.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_RESIDUALS_MISFIT_H
#define NB_FIT_RESIDUALS_MISFIT_H

#include <nanobrag/fit.h>

#include "nanobrag_fit/residuals/variances.h"

/* Sums over the pixels of an image: their difference from the data (fit.h, misfit), and its
 * expectation and variance if the model is right. */
struct fit_sum_weighed {
    double observed, expected, variance;
};

/* Sums with all pixels alike, and with weights by their photons; the number of pixels that
 * have a z, and the sum of z^2. */
struct fit_weighed {
    struct fit_sum_weighed alike, bright;
    double pixels, square;
};

/* How a shot is compared with its data. */
struct fit_compared {
    const nb_target *target;
    const struct phys_loss_model *model;
    int has_variances;
    double density[ERRORS_POINTS];
};

/* The difference of a pixel from its data, and its expectation and variance. */
struct fit_pixel {
    double observed, expected, variance;
};
struct fit_pixel misfit_pixel(const struct fit_compared *compared, double photons,
                              double observed, double weight);

/* Adds a pixel of this weight. */
void misfit_add(const struct fit_compared *compared, double photons, double observed,
                double weight, struct fit_weighed *to);

/* Takes the results of a request for the misfit at the trial's x. */
void misfit_take(nb_fit *fit);

/* Whether the misfit at x is known. */
int misfit_is_known(const nb_fit *fit, const double *x);

/* Measures the misfit at the best point, unless it is known. */
nb_status misfit_find(nb_fit *fit);

/* Judges the misfit at weighed_x. */
struct fit_verdict {
    double misfit, deviation, bright, bright_deviation;
    double factor; /* the larger misfit that is not noise, else 1 */
};
struct fit_verdict misfit_judge(const nb_fit *fit);

#endif
