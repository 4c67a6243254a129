/*
 * stills.h - small images of one crystal form in several orientations, computed here, and
 * fits of them whose truth is known: cell_a and mosaic are shared; misset and scale are
 * each still's own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_FIT_STILLS_H
#define NB_TESTS_FIT_STILLS_H

#include <nanobrag/nanobrag.h>

enum { STILLS_MOST = 5, STILLS_SIDE = 64, STILLS_PIXELS = STILLS_SIDE * STILLS_SIDE };
enum { STILLS_SHARED = 2, STILLS_OWN = 4 };
enum { STILLS_VALUES = STILLS_SHARED + STILLS_OWN * STILLS_MOST };

extern const nb_fit_options stills_options; /* these free names, all defaults */

struct stills {
    int n;
    nb_scene scene[STILLS_MOST]; /* at the start */
    nb_shot shot[STILLS_MOST];
    nb_array observed[STILLS_MOST];
    double photons[STILLS_MOST][STILLS_PIXELS];
};

/* Returns the true value i of a fit, and the scene of a still at values x. */
double stills_truth(size_t i);
nb_scene stills_scene(const double *x, int still);

/* Sets n stills with images of the truth, with noise or without, and a start that is off
 * by `off` times what is easily found; ends the program if that fails. */
void stills_make(struct stills *s, nb_context *ctx, int n, int noise, double off);

/* Makes a fit of them, with errors without that of sampling, since images and models have
 * the same mosaic domains; ends the program if that fails. */
nb_fit *stills_fit(const struct stills *s, nb_context *ctx, const nb_fit_options *options);

/* Runs a fit, and checks its status and that it has a result, which is returned. */
nb_fit_result stills_run(nb_fit *fit, nb_status expected);

/* Returns the largest |value - truth| over its error, of values that are not left out. */
double stills_pull(const nb_fit_result *r);

/* Returns the loss that the undamped step from the values of a fit would gain, by a dense
 * solution of what nb_fit_evaluate() gives; infinite if the matrix is not positive. */
double stills_gain(nb_fit *fit, const nb_fit_result *r);

/* Sets the expectation of the deviance of counts, and its variance, by the sum over all. */
void stills_deviance(double photons, double *mean, double *variance);

#endif
