/*
 * misfit.h - how far images are from their data, over what the model expects.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_RESIDUALS_MISFIT_H
#define NB_FIT_RESIDUALS_MISFIT_H

#include <nanobrag/fit.h>

#include "nanobrag_fit/residuals/variances.h"

/* Of the pixels of an image, summed: what they differ by from the data (fit.h, misfit), and
 * its expectation and variance if the model is right. */
struct fit_sum_weighed {
    double observed, expected, variance;
};

/* Of all pixels alike, and by their photons; how many have a z, and the sum of z^2. */
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

/* What a pixel differs by, and the expectation and variance of that. */
struct fit_pixel {
    double observed, expected, variance;
};
struct fit_pixel misfit_pixel(const struct fit_compared *compared, double photons,
                              double observed, double weight);

/* Adds a pixel of this weight. */
void misfit_add(const struct fit_compared *compared, double photons, double observed,
                double weight, struct fit_weighed *to);

/* Takes what a request for the misfit has found at the trial's x. */
void misfit_take(nb_fit *fit);

/* Whether the misfit at x is known. */
int misfit_is_known(const nb_fit *fit, const double *x);

/* Measures the misfit at the best point, unless it is known. */
nb_status misfit_find(nb_fit *fit);

/* Returns what the misfit at weighed_x is. */
struct fit_verdict {
    double misfit, deviation, bright, bright_deviation;
    double factor; /* the larger misfit that is not noise, else 1 */
};
struct fit_verdict misfit_judge(const nb_fit *fit);

#endif
