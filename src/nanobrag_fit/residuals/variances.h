/*
 * variances.h - weights of a loss as variances, and the moments of the slopes of a loss.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_RESIDUALS_VARIANCES_H
#define NB_FIT_RESIDUALS_VARIANCES_H

#include <nanobrag/fit.h>

struct phys_loss_model; /* declared in physics/loss.h */

enum { ERRORS_POINTS = 60 }; /* number of points of a density */

/* Returns 1 if an image lies on the host and its pixels can be read; 0 for NULL. */
int errors_can_read(const nb_array *image);

/* Refuses weights that are negative or no numbers, and weights that leave no pixel. */
nb_status errors_check_weights(nb_context *ctx, const nb_target *target);

/* Returns 1 if the weights of a target are 1/variance, and not only 0 or 1 as in a mask. */
int errors_has_variances(const nb_target *target);

/* Returns 1 if the loss is no likelihood, so that errors need the variance of the data. */
int errors_need_variance(const nb_target *target);

/* Returns the variance of a pixel's data if `photons` are expected, for a loss that does
 * not define a variance. */
double errors_variance(const nb_target *target, int has_variances, double photons,
                       double weight);

/* <L'^2>, <L''> and <L'^4> of a pixel of weight 1, as averages over a normal distribution
 * of this variance; errors_density() sets the density */
struct fit_moments {
    double square, second, fourth;
};
void errors_density(double density[ERRORS_POINTS]);
struct fit_moments errors_moments(const struct phys_loss_model *model, double photons,
                                  double variance, const double density[ERRORS_POINTS]);

/* Returns dL/d(photons) of a pixel of weight 1, for losses that are no likelihood; off =
 * photons - observed. */
double errors_slope(const struct phys_loss_model *model, double off);

/* Replaces the photons I of each pixel by w^2 <L'^2> (FIT_MEAT), by w <L''> (FIT_BREAD), or
 * by w <L''> I (FIT_WEIGH), with w the weight of the pixel. */
void errors_weigh(const nb_target *target, int wants, const nb_array *image);

#endif
