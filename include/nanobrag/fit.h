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
 * A shot is one observed image with its scene. A fit minimises the sum of the losses of all
 * shots (nb_loss()) and of the restraints, from the values of the scenes.
 *
 * A *shared* parameter has one value for all shots, an *own* parameter one for each shot.
 * The parameters x are the shared ones, then the own ones of shot 0, of shot 1, ...; within
 * a shot they have the order of nb_simulator_create().
 *
 *   state      who decides               meaning                    in the result
 *   fixed      you: not in `shared`      keeps the scene's number   absent from `value`
 *              or `own`
 *   fitted     you: named there          a step may move it         value and error
 *   at bound   the fit, by the bounds    steps ended at a bound     `bound` -1 or 1
 *   held       the fit: the loss does    no step moves it           is_held 1, error
 *              not depend on it                                     INFINITY, `remark`
 *   free       the fit: a sum of values  values of equal loss       error INFINITY, `free`
 *              leaves the loss alone                                lists the sums
 *   left out   the fit: a shot failed,   the shot does not count    its `left_out`; errors
 *              or its loss stands out                               of its values NAN
 *   held out   you: `holdout`            no step sees the shot      its is_held_out 1
 *
 * Two more are held: widths until the rest has nearly settled (below); and the mean of F,
 * where scale and all structure factors are free and no scale is restrained. There the
 * first scale counts as known, with error 0, and all further errors hold for that.
 *
 * Stages of a fit:
 *
 *   0. A free scale that starts too low by more than a factor of 2, or too high by more
 *      than 5, is moved to its least loss while all else is held (at most 16 passes): steps
 *      of other parameters would be as wrong as the scale.
 *   1. If there are several shots and own parameters: each shot alone, with its own
 *      parameters free and the shared ones held. A shot that fails is left out from then
 *      on. So is a shot whose loss per pixel stands out by more than 5 standard deviations
 *      of its logarithm; they are estimated from the median of the absolute deviations and
 *      are at least 0.1.
 *   2. All shots together.
 *
 * In 1 and 2, numbers that make spots broader (cells of a mosaic block, mosaic spread,
 * divergence, dispersion) are held until the rest has nearly settled: from a start that is
 * off they would rather broaden the spots than move them. nb_fit_options.coarse puts passes
 * with broadened spots before that.
 *
 * Method. Levenberg-Marquardt (NB_FIT_LM; Nocedal & Wright, Numerical Optimization, 10.3)
 * works with the matrix J^T W J, scaled by its diagonal. Own parameters are eliminated shot
 * by shot (Schur complement), so that time and memory grow linearly with the number of
 * shots. Structure factors, whose block is taken as diagonal, are eliminated likewise. A
 * step ends at the bounds, and the damping follows the ratio of the loss gained to the loss
 * predicted. A step to an infinite loss or an impossible scene is refused, and shortened.
 * L-BFGS (NB_FIT_LBFGS) keeps no matrix and takes some ten times as many passes.
 *
 * A step moves parameters along curves that make the image nearly straight: widths (mosaic
 * spread, strain, size of the crystal, divergence, dispersion) by their squares, cells of a
 * block by 1/N^2, and a scale so that the photons of spots, scale N_a N_b N_c, move
 * straight. Values, bounds and errors stay in the units of the parameters. An image of a
 * continuous crystal has no slope in a width of 0: a width that starts there starts at a
 * quarter of its natural size; one that ends there may lie anywhere within its error.
 *
 * Memory and threads. A shot has its simulator only while it is evaluated, in a context of
 * the evaluating thread: memory follows the number of threads, not of shots. The threads of
 * the context share out several shots. Sums follow one binary tree by the number of the
 * shot, so results have the same bits for any number of threads and processes (mpi.h).
 *
 * Misfit. A model is never quite right, and the more photons there are, the more it shows.
 * The misfit compares images and data, and is 1 if only counting noise remains:
 *
 *   sum of D / (sum of <D> - fitted values)
 *
 * D is the deviance of a pixel, and <D> its expectation for a right model. NB_LOSS_POISSON:
 * D is twice the loss, 2 w (I - y + y ln(y/I)); <D> = 2 w (sum over y of P(y) y ln y -
 * I ln I), P(y) = e^-I I^y/y!, is about 1 above a few photons and falls as -2 w I ln I to
 * 0. The sum is taken up to 30 photons, from there on 1 + 1/(6 I) + 1/(6 I^2) + 1/(3 I^3),
 * to 1e-6. NB_LOSS_READOUT, with its variance v, and NB_LOSS_GAUSS with weights 1/v: D is
 * w (y - I)^2/v and <D> is w. Other losses: squared slopes L'^2 over <L'^2> (enum
 * nb_fit_errors), less the share of the fitted values.
 *
 * The misfit of bright pixels has each term times I: a fit learns from these pixels, while
 * most pixels hold background. There fitted values take tr((J^T W J)^-1 J^T W I J) of its
 * expectation, at most 0.9; by L-BFGS, and for more than 200 values, the sum of the ratios
 * of the diagonals. nb_fit_options.scaling says how the misfit changes errors.
 *
 * Sampling. Mosaic domains drawn at random are a sample of the crystal's domains, and a fit
 * with another sample ends elsewhere. A converged fit by NB_FIT_LM finds how far: for each
 * of 8 other draws, of other seeds and all else equal, it computes loss and gradient at the
 * values, and the step d = -(J^T W J)^-1 g. To first order the position of the fit, d = 0,
 * and these 8 are of one distribution. Its unbiased covariance, sum over all 9 of
 * (d - mean)(d - mean)^T / 8, is added to the covariance by counting. A standard deviation
 * from it has eight degrees of freedom and is known to a quarter of itself. It costs as
 * much time as some six passes, and memory for 8 numbers for each value.
 *
 * Errors. Every call returns NB_ERR_ARGUMENT for a NULL that is not allowed. A call that
 * evaluates shots also returns, called *common* below: NB_ERR_CANCELLED (nb_fit_cancel() or
 * a progress handler), and any error of nb_simulator_create(), nb_loss() or
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

/* One observed image and the scene it is compared with. The values of the scene are the
 * start. The memory that the members point to stays as it is until nb_fit_free(). */
typedef struct nb_shot {
    const nb_scene *scene;
    nb_target target;
    const nb_options *options; /* NULL: all defaults */
    const char *name; /* in messages and results, such as a file name; NULL: "shot N" */
    const char *failure; /* [out] of nb_fit_options.load: why it failed, one line with what
                            it is about; NULL: the text of its status */
} nb_shot;

/* A prior on one parameter. On an own parameter it holds for each shot. */
typedef struct nb_restraint {
    const char *name; /* of one parameter, such as "cell_a"; no structure factor */
    /* sigma > 0 adds (value - centre)^2/(2 sigma^2) to the loss; in the unit of the
     * parameter, as are the bounds */
    double centre, sigma;
    /* bounds; both 0: none. They add to nb_param.lower and upper, and to the bounds of any
     * fit: half and twice the start for an edge of the cell, 30 degree off it for its
     * angles, 180 for misset and rotation, 20 degree of mosaic spread or twice the start,
     * and 30 times the start for cells of a block */
    double lower, upper;
} nb_restraint;

enum nb_fit_method { NB_FIT_AUTO, NB_FIT_LM, NB_FIT_LBFGS };

/*
 * Passes with a mosaic spread of 1, 1/3 and 1/9 degree in place of a narrower one: they
 * make computed and observed spots overlap from farther away. A scene without mosaic
 * domains has 60 in these passes.
 *
 *   NB_COARSE_AUTO  where a fit without them has failed: for a shot that would be left out
 *                   because its loss stands out; for all shots, if none were fitted alone,
 *                   where the fit ends with a loss of more than 3/4 for each pixel (chi^2
 *                   more than 3/2), with NB_LOSS_POISSON and NB_LOSS_READOUT. The fit
 *                   begins anew from the start, and the lower loss of the two is kept.
 *   NB_COARSE_OFF   never.
 *   NB_COARSE_ON    always, before the first stage where shots have free parameters.
 */
enum nb_coarse { NB_COARSE_AUTO, NB_COARSE_OFF, NB_COARSE_ON };

enum nb_fit_stage {
    NB_FIT_COARSE, /* with broadened spots */
    NB_FIT_WIDTHS_HELD, /* also while a scale far off is moved alone */
    NB_FIT_ALL_FREE
};

/* A report after each pass. A pass evaluates the loss of the shots once, with gradient and
 * matrix. */
typedef struct nb_fit_state {
    int passes; /* so far */
    int stage; /* enum nb_fit_stage; of shots fitted alone, the earliest stage */
    int64_t alone; /* shots that are being fitted alone; 0: all together */
    double loss; /* the lowest so far, with spots as they are in this stage */
    double gain; /* loss that the undamped step from there is predicted to gain */
} nb_fit_state;

/* How the misfit and the sample of mosaic domains change errors. */
enum nb_fit_scaling {
    /* errors are multiplied by the square root of the misfit, and the covariance by the
     * misfit, where it is above 1.1 and by more than 5 standard deviations above 1: a right
     * model has less, but for one fit in a million or so. A likelihood takes the misfit of
     * bright pixels where this is larger. An error that comes from a restraint is not
     * multiplied. The error of sampling is added */
    NB_FIT_SCALING_AUTO,
    NB_FIT_SCALING_COUNTING, /* never: errors come from counting noise alone */
    /* multiplied as by AUTO, without the error of sampling: for images that were simulated
     * with the same mosaic domains */
    NB_FIT_SCALING_MISFIT,
    /* errors of the jackknife by boxes of the detector,
     * C = (G - 1)/G sum over b of d d^T + H^-1 R H^-1, d = (H - H_b)^-1 g_b.
     * g_b and H_b are gradient and matrix of the pixels of one of G boxes in all shots, H
     * is the matrix of the fit, R the matrix of its restraints. Right where the model errs
     * for a box as a whole, as where a spot lies a tenth of a pixel off. A pixel belongs to
     * the first box that holds it. The error of sampling is not added. This needs a
     * likelihood, observed images, NB_FIT_LM, equally many boxes in each shot, and more of
     * them than fitted values (at most 200, no structure factor). Without these, or if
     * nb_fit_cancel() or the limit of seconds ends it, errors are as by MISFIT, and
     * errors_why says so */
    NB_FIT_SCALING_BOXES
};

typedef struct nb_fit_options {
    const char *shared; /* free names (params.h), one value for all shots; NULL: none */
    const char *own; /* free names, one value for each shot; NULL: none */
    int method; /* enum nb_fit_method; NB_FIT_AUTO: NB_FIT_LM up to 200 shared and 200 own
                   parameters, or 200 in all with structure factors; else NB_FIT_LBFGS */
    int coarse; /* enum nb_coarse */
    /* a run ends after so many passes of all shots together; 0: 50, and 500 for
     * NB_FIT_LBFGS. Shots alone have at most 20 in each stage, and 6 for each broadened
     * width */
    int passes;
    double seconds; /* nb_fit_run() ends after so many, within a pass but the first; 0: no
                       limit */
    double enough; /* predicted gain of loss that ends the fit; 0: 1e-3, plus 1e-3
                      for each structure factor that the data tell of, both times the
                      misfit that scales the errors: a step of 0.05 errors */
    int scaling; /* enum nb_fit_scaling */
    /* every so manyth shot, from shot holdout - 1 on, is held out: no step sees it, and
     * nb_fit_misfit_get() compares it as one that was not fitted. Its planes of background
     * are fitted to its own image. 0: none; not with own parameters */
    int holdout;
    const nb_restraint *restraint; /* copied                        (nrestraint) */
    size_t nrestraint;
    /* Brings a shot into memory; `out` is all 0. The memory that it points to stays as it
     * is until unload() is called with it. Called from any thread of the library, one call
     * at a time; name and failure may be set, and are read before the next call. An error
     * other than NB_ERR_MEMORY and NB_ERR_CANCELLED leaves the shot out, if other shots
     * remain: in nb_fit_create(), while shots are fitted alone, and in the first pass of
     * all together. Later, by L-BFGS and without data it ends the run. NULL: the shots are
     * in the array */
    nb_status (*load)(void *user, int64_t shot, nb_shot *out);
    void (*unload)(void *user, int64_t shot, nb_shot *loaded); /* NULL: nothing to do */
    /* Called after each pass, from the thread that called the library; a non-zero result
     * cancels the run. It may call nb_fit_write() and nb_fit_result_get(). NULL: none */
    int (*progress)(void *user, const nb_fit_state *state);
    void *user; /* passed to load, unload and progress */
} nb_fit_options;

/* Why a run ended. */
enum nb_fit_end {
    NB_FIT_NOT_RUN, /* no pass was completed, or the run goes on */
    NB_FIT_CONVERGED, /* the undamped step, with values at a bound held, gains less than
                         nb_fit_options.enough */
    NB_FIT_STUCK, /* it would gain more, but even the shortest steps were refused */
    NB_FIT_PASSES, /* a limit of nb_fit_options */
    NB_FIT_SECONDS, /* a limit of nb_fit_options */
    NB_FIT_CANCELLED, /* by nb_fit_cancel() or a progress handler */
    NB_FIT_FAILED /* by an error, which nb_fit_run() returned */
};

/* Where errors come from. */
enum nb_fit_errors {
    NB_FIT_ERRORS_CURVATURE, /* (J^T W J)^-1: the loss is a negative log-likelihood */
    /* B^-1 M B^-1, B = J^T diag(<L''>) J, M = J^T diag(<L'^2>) J: the loss is no likelihood
     * (Huber, Proc. 5th Berkeley Symp. 1, 1967, 221), that is NB_LOSS_HUBER,
     * NB_LOSS_CAUCHY, or NB_LOSS_GAUSS without weights but 0 and 1. The loss L of a pixel
     * is expected over a normal distribution of variance 1/weight; where all weights are 0
     * or 1, of the variance of counting, I + sigma_readout^2, I with the planes. Columns of
     * J lose the part that planes of background take over, as they do for likelihoods */
    NB_FIT_ERRORS_VARIANCE,
    /* no likelihood while a run goes on, with structure factors, with more than 200 values,
     * or with weights on a device. Errors are NAN, or INFINITY for values that the data
     * leave free */
    NB_FIT_ERRORS_NONE,
    NB_FIT_ERRORS_BOXES /* by the jackknife of NB_FIT_SCALING_BOXES */
};

typedef struct nb_fit_value {
    nb_param param; /* name, unit, bounds of a fit, and its value at the start */
    int64_t shot; /* number of the shot that owns it; -1: shared */
    double value; /* in the unit of the parameter, as is its error */
    /* Standard deviation (enum nb_fit_errors, enum nb_fit_scaling); INFINITY: the data
     * leave it free. A value at a bound has the error that it would have without the bound,
     * INFINITY if that is wider than from one bound to the other; the errors of other
     * values are computed with it held there. NAN: unknown, as for a shared value if the
     * run ended while shots were fitted alone, or a value of a shot that is left out. The
     * error of a structure factor holds while the rest of them are known; with
     * NB_FIT_LBFGS, each error holds while all other parameters are known */
    double error;
    /* The part of the error that comes from sampling the mosaic domains; 0: none are drawn.
     * NAN: it is not known, and not in the error (nb_fit_result.draws), or at a bound */
    double sampling;
    int bound; /* -1: at its lower bound, 1: at its upper one, else 0 */
    /* 1: no step moves it, because the loss does not depend on it, or hardly on a structure
     * factor: F^2 would have an error of more than twice itself. Where the mean of F is
     * held, such a factor still has the factor that all F have in common */
    int is_held;
    const char *remark; /* on its state or its error, a clause; "": nothing to say */
} nb_fit_value;

typedef struct nb_fit_correlation {
    size_t i, j; /* of values; i < j */
    double value; /* -1 to 1 */
} nb_fit_correlation;

/* How one shot fares. */
typedef struct nb_fit_shot {
    const char *name;
    const char *left_out; /* why it is left out; NULL: it is not */
    int is_held_out; /* 1: by nb_fit_options.holdout */
    double loss; /* without restraints; NAN before its first pass */
    int64_t pixels; /* that count in its image and loss: rendered, of weight above 0 */
} nb_fit_shot;

/* The fit owns the arrays; they are valid until the next call with it. */
typedef struct nb_fit_result {
    int method; /* NB_FIT_LM or NB_FIT_LBFGS */
    int end; /* enum nb_fit_end */
    const char *why; /* how the last run ended, one sentence */
    int passes; /* of all runs */
    int joint; /* of these, how many evaluated all shots together */
    /* loss at `value`, restraints included. If only passes with broadened spots have run,
     * their loss */
    double loss;
    /* pixels less values that are neither held nor at a bound: 2 loss/freedom is about 1
     * for a good model and NB_LOSS_POISSON, with some photons in each pixel,
     * NB_LOSS_READOUT and NB_LOSS_GAUSS with weights 1/variance */
    int64_t freedom;
    double gain; /* as in nb_fit_state */
    const double *history; /* lowest loss after each pass of all shots together (joint) */
    size_t nshared, nown; /* parameters of all shots, and of each shot */
    size_t nvalue;
    const nb_fit_value *value; /*                                            (nvalue) */
    int errors; /* enum nb_fit_errors: where errors and covariance come from */
    const char *errors_why; /* the same as a clause, with the reason */
    /* of the images, as defined above; 1 is expected. NAN: not known, as while a run goes
     * on, of nb_fit_create_expected() and with images on a device */
    double misfit;
    double misfit_deviation; /* standard deviation that the misfit of a right model has */
    double bright_misfit, bright_deviation; /* the same for bright pixels */
    double error_factor; /* errors were multiplied by it; 1: they were not */
    /* other draws of the mosaic domains from which errors and covariance have the error of
     * sampling; 0: they have none, and errors_why says why, if domains are drawn */
    int draws;
    double rms; /* of z (enum nb_fit_image_kind) of all pixels; NAN: not known, as misfit */
    /* reasons to doubt the values: the model does not describe the data, the error of
     * sampling is the larger one, the run has not converged; a sentence each, in this
     * order */
    size_t nwarning;
    const char *const *warning; /*                                          (nwarning) */
    /* without the directions that the data leave free; 0 for values that are held or at a
     * bound; NULL: there are more than 200 values, or no errors    (nvalue x nvalue) */
    const double *covariance;
    /* pairs of parameters whose correlation is over 0.95 in size, the largest first */
    size_t ncorrelated;
    const nb_fit_correlation *correlated;
    /* Directions that the data leave free: sums of parameters, each in units of 1/sqrt of
     * its diagonal element of J^T W J, such as "0.71 scale - 0.71 fluence"; the first 50. A
     * direction that mixes structure factors with other parameters lists only the latter */
    size_t nfree;
    const char *const *free; /*                                               (nfree) */
    /* Largest over smallest eigenvalue without them, each parameter in units of 1/sqrt of
     * its diagonal element. Blocks: the own parameters of each shot; the shared parameters
     * (or all but structure factors) after elimination of the rest. NAN: there is none */
    double condition;
    int64_t nshot;
    const nb_fit_shot *shot; /*                                               (nshot) */
} nb_fit_result;

/*
 * Make a fit.
 *
 *   ctx      [in]   used by every call with the fit
 *   nshot    [in]   number of shots, 1 or more
 *   shot     [in]   the shots; the array is copied; not read with load  (nshot)
 *   options  [in]   copied; shared or own names a parameter
 *   out      [out]  free with nb_fit_free(), before the context
 *
 * Each shot is loaded once, for its start and its names; twice, where it fails before the
 * first that can be loaded.
 *
 * Errors of nb_simulator_create(); of load for a single shot or for all shots; and
 *   NB_ERR_ARGUMENT     no parameter at all, or a name in both shared and own; an unknown
 *                       method or coarse; a negative limit; shots whose parameters differ
 *                       in name; weights that are negative or no numbers or all 0.
 *                       A restraint that names no free parameter, has a negative sigma, or
 *                       bounds that exclude each other or the start.
 *   NB_ERR_UNSUPPORTED  structure factors among the own parameters; NB_FIT_LM with more
 *                       parameters than NB_FIT_AUTO allows it; a build without LAPACK, or
 *                       without NLopt for NB_FIT_LBFGS.
 */
NB_API nb_status nb_fit_create(nb_context *ctx, int64_t nshot, const nb_shot *shot,
                               const nb_fit_options *options, nb_fit **out);

/*
 * Minimise, from the start or from where the last run ended, with all limits anew. A run
 * that was cancelled, or that failed, keeps the best values found so far, and another run
 * goes on from them.
 *
 * Errors: the common ones.
 */
NB_API nb_status nb_fit_run(nb_fit *fit);

/*
 * The same by several processes, each with a fit made from the same shots and options
 * (handlers, memory and threads may differ): each evaluates a contiguous range of the
 * shots, of about the same length, and all take the same steps. Each then has the result of
 * nb_fit_run(), to the last bit. Not for NB_FIT_LBFGS.
 *
 *   fit       [in]  NULL: it could not be made here, and no process runs
 *   rank      [in]  number of this process, from 0 on
 *   ranks     [in]  number of processes; each of them makes this call
 *   exchange  [in]  replaces each of n numbers by the sum of those that all processes hand
 *                   in, in any order, since all but one are -0; all call it as often, with
 *                   the same n. Not 0: it failed, and the run has ended here
 *   user      [in]  passed to exchange
 *
 * nb_fit_options.load is called for the shots of the range alone; nb_fit_options.seconds is
 * the time of rank 0, and ends no pass that has begun. A shot that fails, and is left out
 * or ends the run, does so in all processes, with the message of the one that evaluated it.
 * Any other error in one process, such as a cancel by nb_fit_cancel() or by a progress
 * handler, ends the run of all with its status as soon as each has evaluated its range. Its
 * message comes after "rank N: ", with N the first process that had it.
 *
 * Errors: as nb_fit_run(), the same in all processes; NB_ERR_ARGUMENT also for fits that
 * differ, a NULL in one of them, or a rank that is none; NB_ERR_UNSUPPORTED also for
 * NB_FIT_LBFGS; NB_ERR_DEVICE for an exchange that failed.
 */
NB_API nb_status nb_fit_run_among(nb_fit *fit, int rank, int ranks,
                                  int (*exchange)(void *user, double *numbers, size_t n),
                                  void *user);

/* The context that a fit was made with; NULL for fit = NULL. */
NB_API nb_context *nb_fit_context(const nb_fit *fit);

/*
 * The loss at x of all shots that are not left out, and of the restraints, with gradient
 * and matrix over the parameters of the fit: for minimisers of the caller.
 *
 *   x      [in]      parameters; NULL: the values found so far      (nvalue)
 *   value  [out]     the loss
 *   out    [in,out]  NULL, or members to be added to as by nb_loss(): the dense parameters
 *                    are all except structure factors
 *
 * Errors, besides the common ones: NB_ERR_DOMAIN with *value = INFINITY at an x where the
 * loss has no finite value; NB_ERR_UNSUPPORTED (matrix or coupling of more than 200 dense
 * parameters). After an error nothing has been added.
 */
NB_API nb_status nb_fit_evaluate(nb_fit *fit, const double *x, double *value,
                                 nb_normal *out);

/*
 * Read values, errors and how the fit ended. The first call after nb_fit_read() evaluates
 * all shots.
 *
 * Errors: NB_ERR_ARGUMENT (fit or out is NULL, or no pass was completed), NB_ERR_MEMORY;
 * after nb_fit_read() also the common ones.
 */
NB_API nb_status nb_fit_result_get(nb_fit *fit, nb_fit_result *out);

/*
 * Compute an image of one shot at the values found so far.
 *
 *   NB_FIT_MODEL     I, photons; with planes of background (nb_target)
 *   NB_FIT_RESIDUAL  y - I, photons
 *   NB_FIT_Z         (y - I) sqrt(curvature of the loss at I), which has variance 1 for
 *                    likelihoods of the right variance. NB_LOSS_GAUSS, NB_LOSS_HUBER and
 *                    NB_LOSS_CAUCHY: (y - I)/sqrt(v) with v = 1/weight, or the variance of
 *                    counting v = I + sigma_readout^2 where all weights are 0 or 1
 *
 *   what  [in]   enum nb_fit_image_kind
 *   out   [out]  float32 or float64; 0 where nothing is rendered; residual and z are 0 also
 *                where the weight is 0 or the observation saturated  (nslow x nfast)
 *
 * Errors: NB_ERR_ARGUMENT (a NULL, no such shot or kind); errors of nb_forward() and load.
 */
enum nb_fit_image_kind { NB_FIT_MODEL, NB_FIT_RESIDUAL, NB_FIT_Z };
NB_API nb_status nb_fit_image(nb_fit *fit, int64_t shot, int what, nb_array *out);

/* How far observations and model differ in some pixels. rms counts dark pixels mostly,
 * since there are many, and they are described well whatever spots are like: look at
 * deviances over their expectation, of all pixels and of bright ones. */
typedef struct nb_misfit {
    double dmin, dmax; /* resolution of its pixels                              A */
    int64_t pixels; /* with a z */
    double mean, rms; /* of z; 0 and 1 are expected */
    double loss;
    double deviance, expected; /* sum of D, and of <D> (misfit, above) */
    int64_t bright; /* pixels where the model has more than NB_FIT_BRIGHT photons */
    double bright_deviance, bright_expected; /* the same sums over these */
    double observed, photons, variance; /* sums of y, of I, and of the variance of y */
} nb_misfit;

enum { NB_FIT_SHELLS = 10, NB_FIT_BRIGHT = 3 };

typedef struct nb_fit_misfit {
    nb_misfit all;
    nb_misfit shell[NB_FIT_SHELLS]; /* of equal volume in reciprocal space, dmax first */
    size_t nbox;
    const nb_misfit *box; /* of each box of the detector; owned by the fit (nbox) */
    /* R of boxes: sum over boxes |observed - photons| / sum over boxes of observed; each is
     * a sum over the pixels of a box, of all these shots, with their background. NAN: there
     * are no boxes, or shots differ in their number. r_expected: R by noise alone */
    double r, r_expected;
    int64_t nshot;
    /* `all` of each shot; 0 pixels: it is not among these. Owned by the fit    (nshot) */
    const nb_misfit *shot;
} nb_fit_misfit;

/*
 * Compare the image of a shot with its observation, by resolution and by box.
 *
 *   shot  [in]   its number; NB_FIT_FITTED: all that are fitted; NB_FIT_HELD_OUT: all that
 *                are held out (nb_fit_options.holdout). Both omit a shot whose image cannot
 *                be computed
 *   out   [out]  valid until the next call with the fit
 *
 * Errors: as nb_fit_image(); NB_ERR_MEMORY.
 */
enum { NB_FIT_FITTED = -1, NB_FIT_HELD_OUT = -2 };
NB_API nb_status nb_fit_misfit_get(nb_fit *fit, int64_t shot, nb_fit_misfit *out);

/*
 * Write where a fit stands, as JSON: for the reader values with errors, correlations, free
 * directions and, once a run has ended, covariance and residuals of each shot by
 * resolution; and all that another run needs to go on as if this one had not stopped. The
 * file is replaced by rename.
 *
 * Errors: as nb_fit_result_get(); NB_ERR_FILE; NB_ERR_UNSUPPORTED (a build without cJSON).
 */
NB_API nb_status nb_fit_write(nb_fit *fit, const char *path);

/*
 * Continue from a file of nb_fit_write(): the next run of NB_FIT_LM gives the bits of a run
 * that was not stopped; L-BFGS begins anew from the values. The fit was made from the same
 * shots and options; limits may differ. The next run, or nb_fit_result_get(), computes the
 * loss at the values anew and refuses a file that says another one (NB_ERR_FORMAT). A fit
 * that has not converged there goes on, whatever the file says.
 *
 * Errors: NB_ERR_ARGUMENT (a NULL), NB_ERR_FILE, NB_ERR_MEMORY, NB_ERR_UNSUPPORTED, and
 *   NB_ERR_FORMAT  not such a file, or values outside their bounds.
 *   NB_ERR_SCENE   the file has other parameters, shots or starts, in any member of scene,
 *                  target or accuracy, compared to ten digits, or the other method. The
 *                  message names the first difference. A shot that could not be loaded,
 *                  then or now, is not compared.
 * After an error the fit is unchanged.
 */
NB_API nb_status nb_fit_read(nb_fit *fit, const char *path);

/*
 * The result that a fit of perfect data would have: values of the scenes, and errors from
 * the Fisher information of the images that they give. Observed images are not read and may
 * be NULL; of a target only kind, weight and the numbers count.
 *
 *   out  [out]  to be read by nb_fit_result_get(), and freed
 *
 * Errors: as nb_fit_create(), and the common ones.
 */
NB_API nb_status nb_fit_create_expected(nb_context *ctx, int64_t nshot, const nb_shot *shot,
                                        const nb_fit_options *options, nb_fit **out);

/* Make the run in progress, or else the next one, return NB_ERR_CANCELLED as soon as the
 * library next asks (context.h, progress), or nb_fit_result_get() do without errors by
 * boxes. From any thread or signal handler; NULL is allowed. */
NB_API void nb_fit_cancel(nb_fit *fit);

/* Free a fit; NULL is allowed. */
NB_API void nb_fit_free(nb_fit *fit);

NB_END_DECLS

#endif
