/*
 * draws.h - the error of sampling: values err because the model's mosaic domains are a
 * random sample of the domains of a crystal.
 *
 * A fit with another draw of domains would end elsewhere. To first order its end is one
 * undamped step d away from the solution, from gradient and matrix of that draw's loss at
 * the solution. The fit itself has the position 0, and each of n other draws its step d.
 * All n + 1 positions come from one distribution, so that
 *
 *   S = sum over all n + 1 of (d - mean)(d - mean)^T / n
 *
 * is an unbiased estimate of the covariance of this distribution, with n degrees of
 * freedom. To first order in the steps nothing sets the draw of the fit apart from the
 * other draws.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_DRAWS_DRAWS_H
#define NB_FIT_DRAWS_DRAWS_H

#include <stddef.h>

#include <nanobrag/fit.h>

/* Number of other draws. A true error divided by an error estimated from eight degrees of
 * freedom has an rms of 1.15; from four degrees, of 1.41. */
enum { DRAWS = 8 };

/* the other draws of a fit, and their steps */
struct fit_draws {
    int ndomains; /* domains of the shot that draws the fewest; 0: no shot draws any */
    int now; /* number of the draw that is being evaluated, from 1 on */
    int done; /* number of draws that were evaluated at x */
    int failed; /* 1: a draw has no finite loss at x */
    double *x; /* point at which draws were evaluated                          (n) */
    double *step; /* of each draw, from x                              (DRAWS x n) */
};

/* Notes the number of mosaic domains that a shot draws. */
void draws_note(struct fit_draws *draws, nb_simulator *sim);

/* Returns the scene with the domains of another draw. Shots whose seeds are equal get equal
 * seeds again. */
nb_scene draws_scene(const nb_scene *scene, int draw);

/* Returns the number of the draw that is evaluated next at the best point; 0 if none is. */
int draws_next(nb_fit *fit);

/* Sets the step of a draw from its evaluation at the trial's x, which is the best point. */
void draws_take(nb_fit *fit);

/* Evaluates the draws that are missing. */
nb_status draws_find(nb_fit *fit);

/* Adds the error of sampling to errors and covariance of `out`, and says so in
 * errors_why. */
struct fit_result_memory;
nb_status draws_add(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out);

/* Writes the warning that the error of sampling exceeds the error of counting. Returns 0 if
 * it does not. */
int draws_warn(const nb_fit *fit, const nb_fit_result *out, char *text, size_t size);

#endif
