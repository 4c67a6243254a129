/*
 * nanobrag_fit/draws/draws.h - the error of sampling: values err because the model's mosaic
 * domains are a random sample of the domains of a crystal.
 *
 * With other domains, drawn in the same way, a fit would end elsewhere: near the end of the
 * undamped step that their loss asks for at the solution. The position of the fit itself is
 * 0, and the position of each of n other draws is its step d. All n + 1 come from one
 * distribution, so that
 *
 *   S = sum over all n + 1 of (d - mean)(d - mean)^T / n
 *
 * is an unbiased estimate of its covariance, with n degrees of freedom. To first order in
 * the steps nothing sets the first draw apart.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_DRAWS_DRAWS_H
#define NB_FIT_DRAWS_DRAWS_H

#include <stddef.h>

#include <nanobrag/fit.h>

/* Pulls by an error of eight degrees of freedom are 1.15 rms, by four 1.41. */
enum { DRAWS = 8 };

struct fit_draws {
    int ndomains; /* that are drawn, of the shot that has the fewest; 0: none are */
    int now; /* the draw that a request is for, from 1 on */
    int done; /* draws evaluated at x */
    int failed; /* 1: one of these has no loss there */
    double *x; /*                                                              (n) */
    double *step; /*                                                   (DRAWS x n) */
};

/* Notes the domains of a shot. */
void draws_note(struct fit_draws *draws, nb_simulator *sim);

/* Returns the scene with the domains of another draw. Shots of one seed keep one. */
nb_scene draws_scene(const nb_scene *scene, int draw);

/* Returns the draw to be evaluated next at the best point; 0: none. */
int draws_next(nb_fit *fit);

/* Takes the loss of a draw at the trial's x, which is the best. */
void draws_take(nb_fit *fit);

/* Evaluates the draws that are missing. */
nb_status draws_find(nb_fit *fit);

/* Adds the error of sampling to variances and covariance of `out`, and says so. */
struct fit_result_memory;
nb_status draws_add(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out);

/* Sets the warning that the error of sampling is the larger one; 0: it is not. */
int draws_warn(const nb_fit *fit, const nb_fit_result *out, char *text, size_t size);

#endif
