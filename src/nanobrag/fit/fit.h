/*
 * fit.h - the members of a fit, and what its files share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_FIT_H
#define NB_FIT_FIT_H

#include <stdatomic.h>
#include <stddef.h>

#include <nanobrag/fit.h>

enum { FIT_PARAMETERS_MOST = 200 };

struct nb_fit {
    nb_context *ctx;
    nb_shot *shot;
    nb_fit_value *value; /* parameters; their values are the best so far */
    char *names; /* shared and own names */
    size_t nshot, nshared, nown, n; /* n: of all parameters */
    nb_fit_options options; /* its names are not used */
    int passes, end;
    double loss, gain, damping;
    /* At the best values so far: gradient and matrix. Then workspace: those of a trial,
     * those of one shot, a trial's values, the values of a shot, and a step. */
    double *memory, *gradient, *matrix, *trial_gradient, *trial_matrix, *shot_gradient,
        *shot_matrix, *trial, *shot_x, *step, *covariance;
    struct fit_workspace {
        double *scale, *reduced, *vectors, *values, *right;
        size_t *at;
        char *is_held;
    } work;
    atomic_int cancelled;
};

/* The index of parameter i of a shot's simulator among those of the fit. */
static inline size_t fit_index(const nb_fit *fit, size_t shot, size_t i)
{
    return i < fit->nshared ? i : i + shot * fit->nown;
}

/* Sets value, gradient and matrix at x. `is_refused` is set to 1 if the loss has no finite
 * value there; the status is then an error too. */
nb_status fit_pass(nb_fit *fit, const double *x, double *value, int *is_refused);

/*
 * Sets fit->step, in the units of the parameters, and returns the loss that it is predicted
 * to gain. What is at a bound and would leave it is held. With `stops` a step ends at the
 * bounds.
 */
double fit_step(nb_fit *fit, double damping, int stops);

/* Sets the covariance and the errors. */
void fit_errors(nb_fit *fit, size_t *nfree, double *condition);

#endif
