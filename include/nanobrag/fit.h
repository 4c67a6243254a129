/*
 * fit.h - fits of a scene's parameters to one observed image, or to several together.
 *
 * A fit minimises the sum of the losses of its shots (nb_loss()) by the method of Levenberg
 * and Marquardt: the matrix is J^T W J, scaled by its diagonal, a step ends at the bounds
 * of nb_param, and the damping follows the ratio of the loss gained to the loss predicted.
 * A step to where the loss is infinite or the scene impossible is refused, and shortened.
 *
 *   nb_fit_create()  ->  nb_fit_run()  ->  nb_fit_result_get()  ->  nb_fit_free()
 *
 * The parameters x are the shared ones, then the own ones of shot 0, of shot 1, ...; those
 * of a shot have the order of nb_simulator_create(). Results have the same bits for any
 * number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_FIT_H
#define NANOBRAG_FIT_H

#include <stddef.h>
#include <stdint.h>

#include <nanobrag/context.h>
#include <nanobrag/scene.h>
#include <nanobrag/simulator.h>
#include <nanobrag/status.h>

NB_BEGIN_DECLS

typedef struct nb_fit nb_fit;

/* One observed image and the scene it is compared with. The values of the scene are the
 * start. What the members point to stays as it is until nb_fit_free(). */
typedef struct nb_shot {
    const nb_scene *scene;
    nb_target target;
    const nb_options *options; /* NULL: all defaults */
} nb_shot;

/* What a fit reports after each pass; a pass evaluates the loss of all shots once, with
 * gradient and matrix. */
typedef struct nb_fit_state {
    int passes; /* so far */
    double loss; /* the lowest so far */
    double gain; /* loss that the undamped step from there is predicted to gain */
} nb_fit_state;

typedef struct nb_fit_options {
    const char *shared; /* free names (params.h), one value for all shots; NULL: none */
    const char *own; /* free names, one value for each shot; NULL: none */
    int passes; /* a run ends after so many; 0: 50 */
    double seconds; /* a run begins no pass after so many seconds; 0: no limit */
    double enough; /* predicted gain of loss that ends the fit; 0: 1e-3 */
    /* Called after each pass; a non-zero result cancels the run. NULL: none */
    int (*progress)(void *user, const nb_fit_state *state);
    void *user; /* passed to progress */
} nb_fit_options;

/*
 * Why a run ended.
 *
 *   NB_FIT_NOT_RUN    no pass was completed
 *   NB_FIT_CONVERGED  the undamped step, with what is at a bound held, gains less than
 *                     nb_fit_options.enough
 *   NB_FIT_STUCK      it would gain more, but even the shortest steps were refused
 *   NB_FIT_PASSES, NB_FIT_SECONDS  a limit of nb_fit_options
 *   NB_FIT_CANCELLED  by nb_fit_cancel() or a progress handler
 *   NB_FIT_FAILED     by an error, which nb_fit_run() returned
 */
enum nb_fit_end {
    NB_FIT_NOT_RUN,
    NB_FIT_CONVERGED,
    NB_FIT_STUCK,
    NB_FIT_PASSES,
    NB_FIT_SECONDS,
    NB_FIT_CANCELLED,
    NB_FIT_FAILED
};

typedef struct nb_fit_value {
    nb_param param; /* name, unit, bounds, and its value at the start */
    int64_t shot; /* whose own it is; -1: shared */
    double value; /* in the unit of the parameter, as is its error */
    /* Standard deviation if the loss is a negative log-likelihood, as NB_GAUSSIAN is with
     * weights 1/variance; INFINITY: the data leave it free. Bounds do not narrow it. */
    double error;
    int bound; /* -1: at its lower bound, 1: at its upper one, else 0 */
} nb_fit_value;

/* The fit owns the arrays; they are valid until the next call with it. */
typedef struct nb_fit_result {
    int end; /* enum nb_fit_end */
    int passes; /* of all runs */
    double loss; /* at the values */
    double gain; /* as in nb_fit_state */
    size_t nvalue;
    const nb_fit_value *value; /*                                            (nvalue) */
    /* (J^T W J)^-1, without the directions that the data leave free   (nvalue x nvalue) */
    const double *covariance;
    size_t nfree; /* number of these directions */
    double condition; /* of the matrix scaled by its diagonal, without them */
} nb_fit_result;

/*
 * Make a fit.
 *
 *   ctx      [in]   used by every call with the fit
 *   nshot    [in]   number of shots, 1 or more
 *   shot     [in]   the shots; the array is copied                  (nshot)
 *   options  [in]   copied; shared or own names a parameter
 *   out      [out]  free with nb_fit_free(), before the context
 *
 * Errors: those of nb_simulator_create(), where a name in shared and own counts as named
 * twice; NB_ERR_ARGUMENT also for no parameter at all, a negative limit, or shots whose
 * parameters differ in name; NB_ERR_UNSUPPORTED also for structure factors among the
 * parameters, or more than 200 parameters in all.
 */
NB_API nb_status nb_fit_create(nb_context *ctx, int64_t nshot, const nb_shot *shot,
                               const nb_fit_options *options, nb_fit **out);

/*
 * Minimise, from the start or from where the last run ended, with all limits anew.
 *
 * A run that was cancelled, or that failed, keeps the best values found so far, and another
 * run goes on from them. Each pass makes the simulator of one shot after the other and
 * frees it: memory does not grow with the number of shots.
 *
 * Errors: NB_ERR_ARGUMENT (fit is NULL), NB_ERR_CANCELLED, and those of nb_loss() and
 * nb_simulator_create(), except for a refused step.
 */
NB_API nb_status nb_fit_run(nb_fit *fit);

/*
 * The loss at x, with its gradient and matrix over the parameters of the fit.
 *
 *   x      [in]      parameters; NULL: the values found so far      (nvalue)
 *   value  [out]     the loss
 *   out    [in,out]  NULL, or members to be added to as by nb_loss(); coupling is not
 *                    written, as all parameters are dense
 *
 * Errors: those of nb_fit_run(), and of nb_loss() at an x where it has no finite value.
 * After an error nothing has been added.
 */
NB_API nb_status nb_fit_evaluate(nb_fit *fit, const double *x, double *value,
                                 nb_normal *out);

/*
 * Read values, errors and how the fit ended.
 *
 * Errors: NB_ERR_ARGUMENT (fit or out is NULL, or no pass was completed).
 */
NB_API nb_status nb_fit_result_get(nb_fit *fit, nb_fit_result *out);

/* Make the run in progress, or else the next one, return NB_ERR_CANCELLED as soon as the
 * library next asks (context.h, progress). From any thread or signal handler; NULL is
 * allowed. */
NB_API void nb_fit_cancel(nb_fit *fit);

/* Free a fit; NULL is allowed. */
NB_API void nb_fit_free(nb_fit *fit);

NB_END_DECLS

#endif
