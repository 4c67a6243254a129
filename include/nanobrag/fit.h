/*
 * fit.h - fits of a scene's parameters to one observed image, or to thousands.
 *
 *   static double photons[512 * 512];
 *   nb_array seen = nb_array_f64(photons, 512, 512);
 *   nb_shot shot = {.scene = &scene,
 *                   .target = {.kind = NB_LOSS_POISSON, .observed = &seen}};
 *   nb_fit_options options = {.shared = "cell misset mosaic scale"};
 *   nb_fit_result r = {0};
 *   nb_fit *fit = NULL;
 *   if (nb_fit_create(ctx, 1, &shot, &options, &fit) == NB_OK && nb_fit_run(fit) == NB_OK
 *       && nb_fit_result_get(fit, &r) == NB_OK) puts(r.why);
 *   for (size_t i = 0; i < r.nvalue; i++)
 *       printf("%s %g +- %g\n", r.value[i].param.name, r.value[i].value, r.value[i].error);
 *   nb_fit_free(fit);
 *
 * A shot is one observed image with its scene. A fit minimises the loss: the sum of the
 * losses of all shots (nb_loss()) and of the restraints. It starts from the values of the
 * scenes.
 *
 * A *shared* parameter has one value for all shots. An *own* parameter has one value for
 * each shot. The parameters x are the shared parameters, then the own parameters of shot 0,
 * of shot 1, and so on. Within a shot they have the order of nb_simulator_create().
 *
 *   state      who decides               meaning                    in the result
 *   fixed      you: not in `shared`      keeps the scene's number   not in `value`
 *              or `own`
 *   fitted     you: in `shared` or       a step may move it         value and error
 *              `own`
 *   at bound   the fit                   the steps ended at a       `bound` is -1 or 1
 *                                        bound
 *   held       the fit: the loss does    no step moves it           is_held 1, error
 *              not depend on it                                     INFINITY, `remark`
 *   free       the fit: the loss does    many values have the       error INFINITY; `free`
 *              not depend on a sum of    same loss                  lists the sums
 *              values
 *   left out   the fit: a shot failed,   the shot does not count    `left_out`; errors of
 *              or its loss is too large                             its values are NAN
 *   held out   you: `holdout`            no step uses the shot      is_held_out 1
 *
 * The fit holds two more kinds. It holds widths until all other values have nearly settled
 * (see below). It holds the mean of F if the scale and all structure factors are free and
 * no scale has a restraint. The first scale then counts as known, with error 0, and all
 * other errors are valid for this scale.
 *
 * Stages of a fit:
 *
 *   0. If a free scale is more than 2 times too small or 5 times too large, the fit first
 *      finds the scale alone (at most 16 passes). Steps of other parameters would be as
 *      wrong as the scale.
 *   1. If there are several shots and own parameters, the fit holds the shared parameters,
 *      and fits the own parameters of each shot alone. A shot that fails is left out from
 *      then on. So is a shot whose loss per pixel is too large: its logarithm is more than
 *      5 robust standard deviations, of at least 0.1, above the median.
 *   2. The fit fits all shots together.
 *
 * Widths make spots broader: cells of a mosaic block, mosaic spread, divergence,
 * dispersion. In stages 1 and 2 the fit holds the widths until all other values have nearly
 * settled. Otherwise a fit from a wrong start would broaden the spots, and not move them.
 * nb_fit_options.coarse puts passes with broadened spots before these stages.
 *
 * Method. NB_FIT_LM is Levenberg-Marquardt (Nocedal & Wright, Numerical Optimization, 10.3)
 * with the matrix J^T W J, scaled by its diagonal. The fit eliminates own parameters shot
 * by shot (Schur complement). So time and memory grow linearly with the number of shots. It
 * eliminates structure factors in the same way, and takes their block as diagonal. A step
 * ends at the bounds. The damping follows the ratio of the real to the predicted decrease
 * of the loss. A step to an infinite loss or to an impossible scene is refused, and a
 * shorter step is taken. NB_FIT_LBFGS (L-BFGS) keeps no matrix, and takes about ten times
 * as many passes.
 *
 * Steps follow curves along which the image changes almost linearly. Widths (mosaic spread,
 * strain, size of the crystal, divergence, dispersion) move by their squares, cells of a
 * block by 1/N^2, and a scale such that scale N_a N_b N_c changes linearly. The image of a
 * continuous crystal has no slope in a width of 0, so such a width starts at a quarter of
 * its natural size. A width that ends at 0 may be anything within its error.
 *
 * Memory and threads. A shot has a simulator only while it is evaluated, in a context of
 * the evaluating thread. So memory grows with the number of threads, not of shots. Sums
 * follow one binary tree over the numbers of the shots. So results have the same bits for
 * any number of threads and processes (mpi.h).
 *
 * Misfit. No model is exactly right, and more photons show this more clearly. The misfit is
 * the ratio of the deviance to its expectation. It is 1 if only counting noise remains:
 *
 *   sum of D / (sum of <D> - fitted values)
 *
 * D is the deviance of a pixel, and <D> its expectation for a right model.
 *
 *   NB_LOSS_POISSON    D is twice the loss, 2 w (I - y + y ln(y/I)). <D> is 2 w (sum over y
 *                      of P(y) y ln y - I ln I), with P(y) = e^-I I^y/y!. It is about 1
 *                      above a few photons, and falls as -2 w I ln I to 0.
 *   NB_LOSS_READOUT    D is w (y - I)^2/v with the variance v of the loss, and <D> is w
 *   NB_LOSS_GAUSS      with weights 1/v: the same
 *   other losses       D is the squared slope L'^2, and <D> is <L'^2> (enum nb_fit_errors),
 *                      less the share of the fitted values
 *
 * A fit learns mostly from bright pixels, but most pixels hold background. So there is a
 * second misfit, of bright pixels, in which each term is multiplied by I. The share of the
 * fitted values in its expectation is tr((J^T W J)^-1 J^T W I J), at most 0.9. For L-BFGS,
 * and for more than 200 values, the share is the sum of the ratios of the diagonals.
 * nb_fit_options.scaling says how the misfit changes errors.
 *
 * Sampling. Random mosaic domains are a sample of the domains of the crystal. A converged
 * fit by NB_FIT_LM estimates from 8 other draws how far fits of other samples differ, and
 * adds this to the covariance of counting. The draws take as much time as about six passes.
 *
 * Outliers. With nb_fit_options.outliers, boxes, single pixels and shots that stand out
 * leave the fit by themselves (docs/fitting.md). Their pixels do not count in pixels and
 * misfits, and are 0 in nb_fit_image(). Not for NB_FIT_LBFGS.
 *
 * Errors. Every call returns NB_ERR_ARGUMENT for a NULL that is not allowed. Calls that
 * evaluate shots also have these *common* errors: NB_ERR_CANCELLED (by nb_fit_cancel() or a
 * progress handler), and any error of nb_simulator_create(), nb_loss() or
 * nb_fit_options.load for a shot, unless the shot is left out or the step is refused.
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

/* One observed image and the scene of this image. The fit starts from the values of the
 * scene. Keep the memory that the members point to unchanged until nb_fit_free(). */
typedef struct nb_shot {
    const nb_scene *scene;
    nb_target target;
    const nb_options *options; /* NULL: all defaults */
    const char *name; /* for messages and results, such as a file name; NULL: "shot N" */
    const char *failure; /* set by nb_fit_options.load: one line that says why loading
                            failed; NULL: the text of the status */
} nb_shot;

/* A prior on one parameter. For an own parameter the prior is valid for each shot. */
typedef struct nb_restraint {
    const char *name; /* of one parameter, such as "cell_a"; not of a structure factor */
    /* sigma > 0 adds (value - centre)^2/(2 sigma^2) to the loss. All four numbers have the
     * unit of the parameter */
    double centre, sigma;
    /* bounds; both 0: none. A fit also respects nb_param.lower and upper, and the bounds of
     * "Needs and limits" in docs/fitting.md */
    double lower, upper;
} nb_restraint;

enum nb_fit_method { NB_FIT_AUTO, NB_FIT_LM, NB_FIT_LBFGS };

/*
 * Coarse passes have a mosaic spread of 1, 1/3 and 1/9 degree in place of a narrower
 * spread. Computed and observed spots then overlap from farther away. A scene without
 * mosaic domains has 60 domains in these passes.
 *
 *   NB_COARSE_AUTO  after a fit without coarse passes has failed: for a shot that would be
 *                   left out because its loss is too large; or for all shots, if none was
 *                   fitted alone and the fit ends with a loss of more than 3/4 for each
 *                   pixel (chi^2 more than 3/2), with NB_LOSS_POISSON and NB_LOSS_READOUT.
 *                   The fit begins again from the start, and keeps the lower loss of the
 *                   two fits.
 *   NB_COARSE_OFF   never.
 *   NB_COARSE_ON    always, before the first stage in which shots have free parameters.
 */
enum nb_coarse { NB_COARSE_AUTO, NB_COARSE_OFF, NB_COARSE_ON };

enum nb_fit_stage {
    NB_FIT_COARSE, /* with broadened spots */
    NB_FIT_WIDTHS_HELD, /* also while the fit finds the scale alone */
    NB_FIT_ALL_FREE
};

/* A report after each pass. A pass evaluates the loss of the shots once, with gradient and
 * matrix. */
typedef struct nb_fit_state {
    int passes; /* so far */
    int stage; /* enum nb_fit_stage; of shots fitted alone, the earliest stage */
    int64_t alone; /* shots that are being fitted alone; 0: all shots together */
    double loss; /* lowest loss so far, for the spots of this stage */
    double gain; /* predicted decrease of this loss by the undamped step */
} nb_fit_state;

/* How the misfit and the sample of mosaic domains change errors. */
enum nb_fit_scaling {
    /* If the misfit is above 1.1, and above 1 by more than 5 standard deviations, errors
     * are multiplied by its square root, and the covariance by the misfit. For a right
     * model this happens in about one fit in a million. A likelihood takes the misfit of
     * bright pixels if it is the larger one. An error that comes from a restraint is not
     * multiplied. The error of sampling is added */
    NB_FIT_SCALING_AUTO,
    NB_FIT_SCALING_COUNTING, /* never: errors come from counting noise alone */
    /* as NB_FIT_SCALING_AUTO, but without the error of sampling: for images that were
     * simulated with the same mosaic domains */
    NB_FIT_SCALING_MISFIT,
    /* errors of the jackknife by boxes of the detector,
     * C = (G - 1)/G sum over b of d d^T + H^-1 R H^-1, d = (H - H_b)^-1 g_b.
     * g_b and H_b are gradient and matrix of the pixels of one of G boxes, H is the matrix
     * of the fit, R the matrix of its restraints. The same rectangle in several shots is
     * one box. Right if the model is wrong
     * for a box as a whole, for example if a spot lies a tenth of a pixel off. A pixel
     * belongs to the first box that holds it. The error of sampling is not added.
     * Conditions: a likelihood, observed images, NB_FIT_LM, more boxes than fitted values,
     * at most 200 values, no structure factor. If a
     * condition fails, or if nb_fit_cancel() or the limit of seconds ends the jackknife,
     * errors are as by NB_FIT_SCALING_MISFIT, and errors_why says so */
    NB_FIT_SCALING_BOXES
};

typedef struct nb_fit_options {
    const char *shared; /* free names (params.h), one value for all shots; NULL: none */
    const char *own; /* free names, one value for each shot; NULL: none */
    /* enum nb_fit_method. NB_FIT_AUTO: NB_FIT_LM for at most 200 shared and 200 own
     * parameters, or at most 200 in all with structure factors; otherwise NB_FIT_LBFGS */
    int method;
    int coarse; /* enum nb_coarse */
    /* largest number of passes of all shots together in a run; 0: 50, and 500 for
     * NB_FIT_LBFGS. Shots alone have at most 20 passes in each stage, and 6 for each coarse
     * mosaic spread */
    int passes;
    double seconds; /* nb_fit_run() ends after this time, even within a pass, but completes
                       the first pass; 0: no limit */
    double enough; /* the fit ends if the predicted decrease of the loss is smaller. 0:
                      1e-3, plus 1e-3 for each structure factor that the data determine,
                      both times the misfit that scales the errors: a step of 0.05 errors */
    int scaling; /* enum nb_fit_scaling */
    /* every holdout-th shot, from shot holdout - 1 on, is held out: no step uses it.
     * nb_fit_misfit_get() compares it with the model. Its planes of background are fitted
     * to its own image. 0: none; not allowed with own parameters */
    int holdout;
    int outliers; /* 1: what stands out leaves the fit by itself (above); 0: nothing */
    const nb_restraint *restraint; /* copied                        (nrestraint) */
    size_t nrestraint;
    /* Brings a shot into memory. `out` is all 0 before the call. Keep the memory that `out`
     * points to unchanged until unload() gets this shot. The library calls load from any of
     * its threads, one call at a time. You may set name and failure; the library reads them
     * before the next call. After an error other than NB_ERR_MEMORY and NB_ERR_CANCELLED
     * the shot is left out, if other shots remain: in nb_fit_create(), while shots are
     * fitted alone, and in the first pass of all shots together. Later, with L-BFGS, and
     * without data, the error ends the run. NULL: the shots are in the array */
    nb_status (*load)(void *user, int64_t shot, nb_shot *out);
    void (*unload)(void *user, int64_t shot, nb_shot *loaded); /* NULL: nothing to do */
    /* Called after each pass, by the thread that called the library. A non-zero result
     * cancels the run. progress() may call nb_fit_write() and nb_fit_result_get(). NULL:
     * not called */
    int (*progress)(void *user, const nb_fit_state *state);
    void *user; /* passed to load, unload and progress */
} nb_fit_options;

/* Why a run ended. */
enum nb_fit_end {
    NB_FIT_NOT_RUN, /* no pass was completed, or the run goes on */
    NB_FIT_CONVERGED, /* the undamped step, with values at a bound held, would lower the
                         loss by less than nb_fit_options.enough */
    NB_FIT_STUCK, /* the step would lower the loss by more, but even the shortest steps were
                     refused */
    NB_FIT_PASSES, /* a limit of nb_fit_options */
    NB_FIT_SECONDS, /* a limit of nb_fit_options */
    NB_FIT_CANCELLED, /* by nb_fit_cancel() or a progress handler */
    NB_FIT_FAILED /* nb_fit_run() returned an error */
};

/* Where errors come from. */
enum nb_fit_errors {
    NB_FIT_ERRORS_CURVATURE, /* (J^T W J)^-1: the loss is a negative log-likelihood */
    /* B^-1 M B^-1, B = J^T diag(<L''>) J, M = J^T diag(<L'^2>) J: the loss is no likelihood
     * (Huber, Proc. 5th Berkeley Symp. 1, 1967, 221). Such losses are NB_LOSS_HUBER,
     * NB_LOSS_CAUCHY, and NB_LOSS_GAUSS with no other weights than 0 and 1. <> is the mean
     * over a normal distribution of variance 1/weight. If all weights are 0 or 1, the
     * variance is the variance of counting, I + sigma_readout^2, where I includes planes.
     * The part of J that planes of background can replace is removed, as for likelihoods */
    NB_FIT_ERRORS_VARIANCE,
    /* the loss is no likelihood, and one of these holds: the run goes on, structure factors
     * are free, there are more than 200 values, weights lie on a device. Errors are NAN, or
     * INFINITY for values that the data do not determine */
    NB_FIT_ERRORS_NONE,
    NB_FIT_ERRORS_BOXES /* by the jackknife of NB_FIT_SCALING_BOXES */
};

typedef struct nb_fit_value {
    nb_param param; /* name, unit, bounds of a fit, and its value at the start */
    int64_t shot; /* number of the shot that owns the value; -1: shared */
    double value; /* value and error have the unit of the parameter */
    /* Standard deviation (enum nb_fit_errors, enum nb_fit_scaling). INFINITY: the data do
     * not determine the value. NAN: not known, for example for a shared value if the run
     * ended while shots were fitted alone, or for a value of a shot that is left out.
     * A value at a bound has the error that it would have without the bound; INFINITY if
     * this error is wider than the range between the bounds. The errors of other values
     * assume that the value stays at its bound.
     * The error of a structure factor assumes that the other structure factors are known.
     * With NB_FIT_LBFGS each error assumes that all other parameters are known */
    double error;
    /* Part of the error that comes from sampling the mosaic domains; 0: no random domains.
     * NAN: not known and not part of the error (nb_fit_result.draws), or at a bound */
    double sampling;
    int bound; /* -1: at its lower bound, 1: at its upper bound, else 0 */
    /* 1: no step moves the value, because the loss does not depend on it. A structure
     * factor is also held if the error of F^2 would be more than twice F^2. If the mean of
     * F is held too, such a structure factor still changes by the common factor of all F */
    int is_held;
    const char *remark; /* clause about its state or its error; "": none */
} nb_fit_value;

typedef struct nb_fit_correlation {
    size_t i, j; /* of values; i < j */
    double value; /* -1 to 1 */
} nb_fit_correlation;

/* A box or a pixel that left a fit by itself. */
typedef struct nb_fit_outlier {
    int box, fast, slow; /* number of the box, and its first pixel; -1: a single pixel */
    double z; /* standard deviations above the model, or of a box above other boxes */
} nb_fit_outlier;

/* The result of one shot. */
typedef struct nb_fit_shot {
    const char *name;
    const char *left_out; /* why the shot is left out; NULL: it is not left out */
    int is_held_out; /* 1: held out by nb_fit_options.holdout */
    double loss; /* without restraints; NAN before its first pass */
    int64_t pixels; /* pixels in its loss: rendered, of weight above 0 */
    size_t noutlier;
    const nb_fit_outlier *outlier; /* what left the shot: boxes, then pixels  (noutlier) */
} nb_fit_shot;

/* The fit owns the arrays. They are valid until the next call with the fit. */
typedef struct nb_fit_result {
    int method; /* NB_FIT_LM or NB_FIT_LBFGS */
    int end; /* enum nb_fit_end */
    const char *why; /* how the last run ended, one sentence */
    int passes; /* of all runs */
    int joint; /* number of these passes that evaluated all shots together */
    /* loss at `value`, with restraints. If only coarse passes have run: their loss */
    double loss;
    /* number of pixels minus number of values that are neither held nor at a bound. For a
     * good model 2 loss/freedom is about 1: with NB_LOSS_POISSON if each pixel has some
     * photons, with NB_LOSS_READOUT, and with NB_LOSS_GAUSS and weights 1/variance */
    int64_t freedom;
    double gain; /* as in nb_fit_state */
    const double *history; /* lowest loss after each pass of all shots together (joint) */
    size_t nshared, nown; /* parameters of all shots, and of each shot */
    size_t nvalue;
    const nb_fit_value *value; /*                                            (nvalue) */
    int errors; /* enum nb_fit_errors: where errors and covariance come from */
    const char *errors_why; /* the same as a clause, with the reason */
    /* misfit of the images (above); 1 is expected. NAN: not known, for example while a run
     * goes on, from nb_fit_create_expected(), and with images on a device */
    double misfit;
    double misfit_deviation; /* standard deviation that the misfit of a right model has */
    double bright_misfit, bright_deviation; /* the same for bright pixels */
    double error_factor; /* errors were multiplied by this factor; 1: they were not */
    /* number of other draws of the mosaic domains, for the error of sampling; 0: errors do
     * not include the error of sampling. If domains are random, errors_why says why */
    int draws;
    double rms; /* of z (enum nb_fit_image_kind) of all pixels; NAN: not known, as misfit */
    /* reasons to doubt the values, a sentence each, in this order: the model does not
     * describe the data; the error comes mostly from sampling; the run has not converged */
    size_t nwarning;
    const char *const *warning; /*                                          (nwarning) */
    /* without the directions that the data do not determine; 0 for values that are held or
     * at a bound; NULL: more than 200 values, or no errors         (nvalue x nvalue) */
    const double *covariance;
    /* pairs of parameters whose correlation is above 0.95 or below -0.95, the largest
     * first */
    size_t ncorrelated;
    const nb_fit_correlation *correlated;
    /* Directions that the data do not determine: sums of parameters, such as
     * "0.71 scale - 0.71 fluence"; the first 50. Each parameter has the unit 1/sqrt of its
     * diagonal element of J^T W J. A direction that mixes structure factors with other
     * parameters lists only the other parameters */
    size_t nfree;
    const char *const *free; /*                                               (nfree) */
    /* Largest eigenvalue over smallest eigenvalue, without these directions, for parameters
     * in the same units. Blocks: the own parameters of each shot; the shared parameters (or
     * all but structure factors) after elimination of the rest. NAN: there is none */
    double condition;
    int64_t nshot;
    const nb_fit_shot *shot; /*                                               (nshot) */
} nb_fit_result;

/*
 * Make a fit.
 *
 *   ctx      [in]   every call with the fit uses this context
 *   nshot    [in]   number of shots, 1 or more
 *   shot     [in]   the shots; the array is copied; not read with load  (nshot)
 *   options  [in]   copied; shared or own has to name a parameter
 *   out      [out]  free with nb_fit_free(), before you free the context
 *
 * The call loads each shot once, for its start and its names. It loads a shot twice if the
 * shot fails before any other shot was loaded.
 *
 * Errors of nb_simulator_create(); of load for a single shot or for all shots; and
 *   NB_ERR_ARGUMENT     no parameter is named; a name is in both shared and own; method or
 *                       coarse is unknown; a limit is negative; the shots have parameters
 *                       of different names; weights are negative or NaN, or all are 0.
 *                       A restraint names no free parameter, or has a negative sigma; or
 *                       its bounds exclude each other or the start.
 *   NB_ERR_UNSUPPORTED  structure factors are own parameters; NB_FIT_LM has more parameters
 *                       than NB_FIT_AUTO allows for it; the build lacks LAPACK, or NLopt
 *                       for NB_FIT_LBFGS.
 */
NB_API nb_status nb_fit_create(nb_context *ctx, int64_t nshot, const nb_shot *shot,
                               const nb_fit_options *options, nb_fit **out);

/*
 * Minimise the loss, from the start or from the end of the last run. All limits begin anew.
 * A run that was cancelled or failed keeps the best values so far, and another run
 * continues from these values.
 *
 * Errors: the common ones.
 */
NB_API nb_status nb_fit_run(nb_fit *fit);

/*
 * Run a fit in several processes. Each process makes a fit from the same shots and options;
 * handlers, memory and threads may differ. Each process evaluates a contiguous range of
 * about equally many shots, and all processes take the same steps. Then each process has
 * the result of nb_fit_run(), to the last bit. Not for NB_FIT_LBFGS.
 *
 *   fit       [in]  NULL: this process could not make the fit; then no process runs
 *   rank      [in]  number of this process, from 0 on
 *   ranks     [in]  number of processes; each process makes this call
 *   exchange  [in]  adds up numbers over the processes: replaces each of n numbers by its
 *                   sum over all processes, in any order, since all but one number are -0.
 *                   All processes call exchange equally often, with the same n. A result
 *                   other than 0 means that exchange failed; the run then ends here
 *   user      [in]  passed to exchange
 *
 * A process calls nb_fit_options.load only for the shots of its range.
 * nb_fit_options.seconds is the time of rank 0, and does not end a pass that has begun. If
 * a shot fails, it is left out or ends the run in all processes, with the message of the
 * process that evaluated it. Any other error in one process, such as a cancel, ends the run
 * of all processes with its status, as soon as each has evaluated its range. The message
 * then begins with "rank N: ", where N is the first process with the error.
 *
 * Errors: the errors of nb_fit_run(), the same in all processes; also NB_ERR_ARGUMENT if
 * the fits differ, a process has a NULL, or a rank is impossible; NB_ERR_UNSUPPORTED for
 * NB_FIT_LBFGS; NB_ERR_DEVICE if exchange failed.
 */
NB_API nb_status nb_fit_run_among(nb_fit *fit, int rank, int ranks,
                                  int (*exchange)(void *user, double *numbers, size_t n),
                                  void *user);

/* The context that a fit was made with; NULL for fit = NULL. */
NB_API nb_context *nb_fit_context(const nb_fit *fit);

/*
 * Compute the loss at x of all shots that are not left out, and of the restraints. Gradient
 * and matrix are over the parameters of the fit. This call is for your own minimiser.
 *
 *   x      [in]      parameters; NULL: the values found so far      (nvalue)
 *   value  [out]     the loss
 *   out    [in,out]  NULL: compute only the value. Otherwise as in nb_loss(); the dense
 *                    parameters are all parameters except structure factors
 *
 * Further errors: NB_ERR_DOMAIN with *value = INFINITY, if the loss at x is not finite;
 * NB_ERR_UNSUPPORTED (matrix or coupling of more than 200 dense parameters). After an error
 * the call has added nothing.
 */
NB_API nb_status nb_fit_evaluate(nb_fit *fit, const double *x, double *value,
                                 nb_normal *out);

/*
 * Read the values, their errors, and how the fit ended. The first call after nb_fit_read()
 * evaluates all shots.
 *
 * Errors: NB_ERR_ARGUMENT (fit or out is NULL, or no pass was completed), NB_ERR_MEMORY;
 * after nb_fit_read() also the common errors.
 */
NB_API nb_status nb_fit_result_get(nb_fit *fit, nb_fit_result *out);

/*
 * Compute an image of one shot at the values found so far.
 *
 *   NB_FIT_MODEL     I, photons, with planes of background (nb_target)
 *   NB_FIT_RESIDUAL  y - I, photons
 *   NB_FIT_Z         (y - I) sqrt(curvature of the loss at I). Its variance is 1 for a
 *                    likelihood of the right variance. For NB_LOSS_GAUSS, NB_LOSS_HUBER and
 *                    NB_LOSS_CAUCHY it is (y - I)/sqrt(v) with v = 1/weight. If all weights
 *                    are 0 or 1, v is the variance of counting, I + sigma_readout^2
 *
 *   what  [in]   enum nb_fit_image_kind
 *   out   [out]  float32 or float64; 0 where nothing is rendered. Residual and z are also 0
 *                where the weight is 0 or the observed pixel is full  (nslow x nfast)
 *
 * Errors: NB_ERR_ARGUMENT (a NULL, no such shot or kind); errors of nb_forward() and load.
 */
enum nb_fit_image_kind { NB_FIT_MODEL, NB_FIT_RESIDUAL, NB_FIT_Z };
NB_API nb_status nb_fit_image(nb_fit *fit, int64_t shot, int what, nb_array *out);

/* How far observations and model differ in a set of pixels. Most pixels are dark, and the
 * model describes dark pixels well even if its spots are wrong. So rms tells little about
 * spots. Look at the ratios of deviance to expectation, of all pixels and of bright
 * ones. */
typedef struct nb_misfit {
    double dmin, dmax; /* resolution of the pixels                              A */
    int64_t pixels; /* number of pixels that have a z */
    double mean, rms; /* of z; 0 and 1 are expected */
    double loss;
    double deviance, expected; /* sum of D, and of <D> (misfit, above) */
    int64_t bright; /* number of pixels where the model has more than NB_FIT_BRIGHT
                       photons */
    double bright_deviance, bright_expected; /* the same sums over these pixels */
    double observed, photons, variance; /* sums of y, of I, and of the variance of y */
    /* correlation of y and I after a plane of least squares is taken off each. Of a box:
     * over its pixels in the last shot that was compared. Of a shot: the median over its
     * boxes. 0: I is a plane. NAN: y is a plane, or these are other pixels */
    double correlation;
    int64_t boxes, alike; /* of one shot and of all shots: how many boxes have a
                             correlation, and how many have NB_FIT_ALIKE or more */
} nb_misfit;

enum { NB_FIT_SHELLS = 10, NB_FIT_BRIGHT = 3 };
#define NB_FIT_ALIKE 0.3

typedef struct nb_fit_misfit {
    nb_misfit all;
    nb_misfit shell[NB_FIT_SHELLS]; /* of equal volume in reciprocal space, dmax first */
    size_t nbox;
    const nb_misfit *box; /* of each box of the detector; owned by the fit (nbox) */
    /* R of boxes: sum over boxes of |observed - photons| / sum over boxes of observed. Both
     * are sums over the pixels of a box in all shots, with background. NAN: there are no
     * boxes, or the shots have different numbers of boxes. r_expected: R by noise alone */
    double r, r_expected;
    int64_t nshot;
    /* `all` of each shot; 0 pixels: the shot does not belong to this set. Owned by the fit
     * (nshot) */
    const nb_misfit *shot;
} nb_fit_misfit;

/*
 * Compare the image of a shot with its observation, by resolution and by box.
 *
 *   shot  [in]   number of the shot; NB_FIT_FITTED: all fitted shots; NB_FIT_HELD_OUT: all
 *                held-out shots (nb_fit_options.holdout). Both omit a shot whose image
 *                cannot be computed
 *   out   [out]  valid until the next call with the fit
 *
 * Errors: as nb_fit_image(); NB_ERR_MEMORY.
 */
enum { NB_FIT_FITTED = -1, NB_FIT_HELD_OUT = -2 };
NB_API nb_status nb_fit_misfit_get(nb_fit *fit, int64_t shot, nb_fit_misfit *out);

/*
 * Write the state of a fit as JSON. For a reader the file holds values with errors,
 * correlations and free directions. Once a run has ended it also holds the covariance, and
 * the residuals of each shot by resolution. And it holds all that another run needs to
 * continue as if this run had not stopped. The file is replaced by rename.
 *
 * Errors: as nb_fit_result_get(); NB_ERR_FILE; NB_ERR_UNSUPPORTED (a build without cJSON).
 */
NB_API nb_status nb_fit_write(nb_fit *fit, const char *path);

/*
 * Continue from a file of nb_fit_write(). The next run of NB_FIT_LM gives the bits of a run
 * that was not stopped. NB_FIT_LBFGS begins anew from the values. Make the fit from the
 * same shots and options; limits may differ. The next run, or nb_fit_result_get(), computes
 * the loss at the values of the file. It refuses a file with another loss (NB_ERR_FORMAT).
 * A fit that has not converged at these values continues, whatever the file says.
 *
 * Errors: NB_ERR_ARGUMENT (a NULL), NB_ERR_FILE, NB_ERR_MEMORY, NB_ERR_UNSUPPORTED, and
 *   NB_ERR_FORMAT  the file is not of this kind, or values are outside their bounds.
 *   NB_ERR_SCENE   the file has another method, or other parameters, shots or starts. All
 *                  members of scene, target and accuracy are compared, to ten digits. The
 *                  message names the first difference. A shot that could not be loaded,
 *                  then or now, is not compared.
 * After an error the fit is unchanged.
 */
NB_API nb_status nb_fit_read(nb_fit *fit, const char *path);

/*
 * Compute the errors that a fit would have, without data. The result has the values of the
 * scenes, and errors from the Fisher information of the images of the scenes. Observed
 * images are not read and may be NULL. In a target only kind, weight and the numbers count.
 *
 *   out  [out]  read it with nb_fit_result_get(), and free it with nb_fit_free()
 *
 * Errors: as nb_fit_create(), and the common ones.
 */
NB_API nb_status nb_fit_create_expected(nb_context *ctx, int64_t nshot, const nb_shot *shot,
                                        const nb_fit_options *options, nb_fit **out);

/* Stop a fit: the run in progress, or else the next run, returns NB_ERR_CANCELLED as soon
 * as the library next calls its progress handler (context.h). nb_fit_result_get() then
 * omits errors by boxes. You may call this function from any thread or signal handler. NULL
 * is allowed. */
NB_API void nb_fit_cancel(nb_fit *fit);

/* Free a fit; NULL is allowed. */
NB_API void nb_fit_free(nb_fit *fit);

NB_END_DECLS

#endif
