/*
 * variances.h - weights of a loss as variances, and the moments of its slopes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_RESIDUALS_VARIANCES_H
#define NB_FIT_RESIDUALS_VARIANCES_H

#include <nanobrag/fit.h>

struct phys_loss_model; /* physics/loss.h */

enum { ERRORS_POINTS = 60 }; /* of a density */

/* Returns 1 if an image lies on the host and its pixels can be read; NULL cannot. */
int errors_can_read(const nb_array *image);

/* Refuses weights that are no numbers or negative, and those that leave no pixel. */
nb_status errors_check_weights(nb_context *ctx, const nb_target *target);

/* Returns 1 if the weights of a target are 1/variance, and not only 0 or 1 as in a mask. */
int errors_has_variances(const nb_target *target);

/* Returns 1 if the loss is no likelihood, so that errors need the variance of the data. */
int errors_need_variance(const nb_target *target);

/* Returns the variance of the data of a pixel with `photons` expected, for a loss that does
 * not define it. */
double errors_variance(const nb_target *target, int has_variances, double photons,
                       double weight);

/* <L'^2>, <L''> and <L'^4> of a pixel of weight 1, averaged over a normal distribution of
 * this variance. errors_density() sets the density. */
struct fit_moments {
    double square, second, fourth;
};
void errors_density(double density[ERRORS_POINTS]);
struct fit_moments errors_moments(const struct phys_loss_model *model, double photons,
                                  double variance, const double density[ERRORS_POINTS]);

/* Returns L' of a loss that is no likelihood, for weight 1. */
double errors_slope(const struct phys_loss_model *model, double off);

/* Turns the photons of each pixel into its <L'^2> (FIT_MEAT), its <L''> (FIT_BREAD), or
 * that times its photons (FIT_WEIGH). */
void errors_weigh(const nb_target *target, int wants, const nb_array *image);

#endif
