/*
 * simulator.h - images of a scene at any value of its parameters, and their derivatives.
 *
 *   static double photons[512 * 512], weights[512 * 512];
 *   nb_array image = nb_array_f64(photons, 512, 512);
 *   nb_array bar_image = nb_array_f64(weights, 512, 512);
 *   nb_scene scene = {.crystal = {.cell = {70, 80, 90}, .default_f = 100},
 *                     .detector = {.nslow = 512, .nfast = 512}};
 *   double x[3], bar_x[3] = {0};
 *   nb_param param;
 *
 *   if (nb_simulator_create(ctx, &scene, "misset", NULL, &sim) != NB_OK) return;
 *   for (size_t i = 0; i < nb_simulator_nparam(sim); i++)
 *       if (nb_simulator_param(sim, i, &param) == NB_OK) x[i] = param.value;
 *   x[1] += 0.1;
 *   if (nb_forward(sim, x, &image) != NB_OK) puts(nb_context_message(ctx));
 *   if (nb_vjp(sim, x, 1, &bar_image, bar_x) != NB_OK) puts(nb_context_message(ctx));
 *   nb_simulator_free(sim);
 *
 * A simulator is a scene that is ready to run. nb_simulator_create() fills in every default
 * and decides every count, which then stay fixed. Each later call evaluates the image or
 * its derivatives at parameters x, independently of the calls before.
 *
 * Where x comes from. `free_names` of nb_simulator_create() names the free parameters
 * (params.h). x has one number for each, in the order of these names; a group such as
 * "misset" gives misset_x, misset_y, misset_z. nb_simulator_param() tells the name, unit
 * and bounds of x[i], and its value in the scene: start from this value. x = NULL stands
 * for the values of the scene.
 *
 * Derivatives are products with the Jacobian J = dI/dx, in the units of the parameters.
 *
 *   dx, ndir      a direction is a change of x; ndir of them lie one after the other in dx.
 *                 nb_jvp() returns for each the change of the image, J dx
 *   bar_x, ncot   for a number L, bar_x is dL/dx, and bar_image is dL/dimage: a cotangent,
 *                 with one number for each pixel. nb_vjp() takes ncot cotangents, and adds
 *                 for each the gradient J^T bar_image to a row of bar_x
 *
 * Shapes. nslow, nfast are the pixels of the image, nparam the free parameters, ndense the
 * parameters except structure factors F[h,k,l], nF these factors. An array is *dense* if
 * its elements follow each other in memory (nb_array.stride). It lies on the host, except
 * where a call says that it may lie on a device.
 *
 * Common errors of nb_forward(), nb_forward_batch(), nb_jvp(), nb_vjp(), nb_jtj(),
 * nb_loss() and nb_planes(). Each call lists only its further errors:
 *
 *   NB_ERR_ARGUMENT     a NULL that is not allowed; a parameter outside its bounds.
 *   NB_ERR_SHAPE        an array has another size or type; or it lies on a device that
 *                       does not compute this simulator's images; or it lies on this
 *                       device and is not dense, and the call needs a dense one there.
 *   NB_ERR_DONATED      an array was donated before.
 *   NB_ERR_SCENE        x gives an impossible geometry.
 *   NB_ERR_UNIT_CELL    x gives a flat cell.
 *   NB_ERR_UNSUPPORTED  compiled mode or the device cannot do this, and NANOBRAG_STRICT=1
 *                       forbids to fall back on the host or on uncompiled kernels.
 *   NB_ERR_DEVICE       the device failed, and an array lies on it. If all arrays lie on
 *                       the host, the host computes instead.
 *   NB_ERR_CANCELLED    the progress handler stopped the call.
 *   NB_ERR_MEMORY       out of memory; or NB_STRATEGY_SPOTS was asked for, and the
 *                       reflections are too many to list.
 *
 * Calls do not write to inputs. Results have the same bits for any number of threads, and
 * for any floating-point environment of the caller (rounding mode, flush-to-zero, traps):
 * calls compute in the standard one and restore the caller's. Threads: see context.h.
 *
 * Calls allocate only the memory in this table, so any of them may fail with NB_ERR_MEMORY:
 *
 *   memory                                       when                        then
 *   plans of calls (compile.h), and kernels      first call of a kind        kept by the
 *   built at run time                                                        context
 *   photons in double: the rendered tiles, or    first call that needs it    kept by the
 *   an image (with a point spread, and in                                    simulator
 *   nb_forward_add()); workspace of tangents,
 *   of gradients, of normal matrices and of
 *   planes of background
 *   lists of spots; sums of structure factors,   a call needs more           kept, grown
 *   for losses with planes; copies to and from
 *   a device; on it, the images of
 *   nb_forward_batch()
 *   the Jacobian of nb_jtj() with a point        each call                   freed
 *   spread; the reflections of
 *   nb_simulator_boxes(); for an image on a
 *   device, its copy on the host
 *   (nb_forward_add()); for continuous
 *   crystals, lists of crystals and lines
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_SIMULATOR_H
#define NANOBRAG_SIMULATOR_H

#include <stddef.h>

#include <nanobrag/array.h>
#include <nanobrag/context.h>
#include <nanobrag/params.h>
#include <nanobrag/scene.h>
#include <nanobrag/status.h>

NB_BEGIN_DECLS

typedef struct nb_simulator nb_simulator;

/* Precision of the arithmetic in the loops over pixels; everything before them is in
 * double. With NB_PRECISION_SINGLE a tile stores the Miller indices of its middle in
 * double, so that only their change across the tile is rounded (docs/theory.md, 13). */
enum nb_precision { NB_PRECISION_DOUBLE, NB_PRECISION_SINGLE };

/* How the sum over samples is evaluated (docs/theory.md, 13). */
enum nb_strategy {
    /* SPOTS if the crystal is gauss, gauss_star or tophat, its spots fill less than a third
     * of reciprocal space, and finding them is estimated to cost less than LANES. Otherwise
     * LANES, also for an x with more reflections than can be listed */
    NB_STRATEGY_AUTO,
    /* one pixel after the other, in double; tests compare LANES and SPOTS with it */
    NB_STRATEGY_REFERENCE,
    NB_STRATEGY_LANES, /* every sample, with SIMD lanes over pixels */
    /* only the samples near enough to a reflection to change the image by more than the
     * tolerance */
    NB_STRATEGY_SPOTS
};

/* The bits of an image depend on precision, strategy, tolerance, instruction set and
 * device, not on the number of threads. ROI and mask matter too: they decide which pixel is
 * the peak and which strategy NB_STRATEGY_AUTO chooses. NB_STRATEGY_SPOTS gives 0 for a
 * pixel below 1e-300 of the most that the crystal can scatter. */
typedef struct nb_options {
    int precision; /* enum nb_precision */
    int strategy; /* enum nb_strategy */
    /* Allowed error of a pixel, as a fraction of the brightest rendered pixel before a
     * point spread; 0: 1e-10, and 1e-5 in single precision. Pixels outside the ROI and
     * masked pixels may have larger errors. NB_STRATEGY_SPOTS drops at most this from a
     * pixel. In single precision a tile that would be rounded by more is divided. If this
     * is not enough, the tile is computed in double. */
    double tolerance;
} nb_options;

/*
 * Make a simulator: fill in every default of a scene, decide every count and allocate.
 *
 *   scene       [in]   read during this call only, with all that it points to
 *   free_names  [in]   names of the free parameters (params.h), separated by blanks; x has
 *                      their order. NULL: none
 *   options     [in]   NULL: all defaults
 *   out         [out]  free with nb_simulator_free(), before the context
 *
 * Errors:
 *   NB_ERR_ARGUMENT     a NULL, a number out of range, an unknown name, or a parameter that
 *                       the scene does not have.
 *   NB_ERR_SCENE        members contradict each other.
 *   NB_ERR_UNIT_CELL    no cell, or a flat one.
 *   NB_ERR_UNSUPPORTED  an instruction set, point spread or compiled mode that this build
 *                       or machine lacks; or compiled mode or the device cannot do this,
 *                       and NANOBRAG_STRICT=1 forbids to fall back on the host or on
 *                       uncompiled kernels.
 *   NB_ERR_MEMORY       out of memory.
 */
NB_API nb_status nb_simulator_create(nb_context *ctx, const nb_scene *scene,
                                     const char *free_names, const nb_options *options,
                                     nb_simulator **out);

/* Free a simulator; NULL is allowed. */
NB_API void nb_simulator_free(nb_simulator *sim);

/* The number of free parameters, called nparam; 0 for sim = NULL. */
NB_API size_t nb_simulator_nparam(const nb_simulator *sim);

/*
 * Describe x[i], the free parameter i, with its value in the scene.
 *
 *   i    [in]   its index in x, 0 to nparam - 1
 *   out  [out]  its name, unit, value, scale and bounds
 *
 * Errors: NB_ERR_ARGUMENT (sim or out is NULL, or there is no parameter i).
 */
NB_API nb_status nb_simulator_param(const nb_simulator *sim, size_t i, nb_param *out);

/*
 * Find the free parameters that names select (params.h), each once, in the order of the
 * names.
 *
 *   names  [in]   as for nb_simulator_create(); a name may be repeated
 *   room   [in]   entries of `index`
 *   index  [out]  (room): the index in x of each selected parameter. Entries after the
 *                 n-th are not changed. May be NULL if room is 0
 *   n      [out]  number of selected parameters, which may exceed room
 *
 * Errors: NB_ERR_ARGUMENT (a NULL, an unknown name, or a parameter that the scene does not
 * have or that is not free), NB_ERR_MEMORY.
 */
NB_API nb_status nb_simulator_select(const nb_simulator *sim, const char *names,
                                     size_t room, size_t *index, size_t *n);

/*
 * Read the resolved scene at x: every default filled in and every count decided. Without
 * quirks, a simulator made from it gives the same image.
 *
 *   x    [in]   parameters; NULL: the values of the scene          (nparam)
 *   out  [out]  the scene. The simulator owns what it points to; the next call of
 *               nb_simulator_resolved() overwrites the lists of sources, domain weights and
 *               reflections
 *
 * Errors: NB_ERR_ARGUMENT (sim or out is NULL, or a parameter is outside its bounds).
 */
NB_API nb_status nb_simulator_resolved(const nb_simulator *sim, const double *x,
                                       nb_scene *out);

/*
 * image = I(x).
 *
 *   x      [in]   parameters; NULL: the values of the scene        (nparam)
 *   image  [out]  photons per pixel, float32 or float64            (nslow x nfast)
 *
 * A pixel is 0 if it lies outside the ROI, if it lies outside all boxes, or if it is
 * masked. A point spread still carries the light of such a pixel into its neighbours. A
 * float32 image is the rounded float64 image. The first image that is not dense float64
 * allocates the rendered tiles as workspace.
 *
 * The image may lie on the CUDA device that computes it (nb_description.device), unless the
 * scene has a point spread. It is complete when the call returns. Earlier work on its
 * memory must have ended, or be queued in the stream of nb_simulator_set_stream().
 *
 * Errors, besides the common ones: NB_ERR_UNSUPPORTED (an image on a device and a point
 * spread). After NB_ERR_CANCELLED the image is incomplete.
 */
NB_API nb_status nb_forward(nb_simulator *sim, const double *x, nb_array *image);

/*
 * image[k] = I(x[k]) for n rows of x, with the bits of nb_forward().
 *
 *   n      [in]   number of images, 1 or more
 *   x      [in]   parameters, one row for each image; NULL: the values of the scene for all
 *                                                                  (n x nparam)
 *   image  [out]  one array for each, as in nb_forward(); types, strides and devices may
 *                 differ                                     (n arrays, nslow x nfast)
 *
 * On a CUDA device the images of a small detector are computed together, as many as fit in
 * the device's workspace, with one launch and one copy in each direction. For them the call
 * allocates memory and frees it at its end. Images are computed one by one
 *
 *   - if the host computes them;
 *   - with a point spread;
 *   - if structure factors are free (F[...], default_f);
 *   - if one image fills a launch.
 *
 * Errors, besides the common ones: NB_ERR_ARGUMENT (n < 1), NB_ERR_UNSUPPORTED (an image on
 * a device and a point spread). If an array is wrong nothing is written. If the computation
 * of an image fails, the images before it are complete and those after it are not changed.
 * After NB_ERR_DEVICE and NB_ERR_CANCELLED this also holds for the images that were
 * computed together with the one that failed, if they lie on the host. If they lie on the
 * device, they may be incomplete.
 */
NB_API nb_status nb_forward_batch(nb_simulator *sim, int n, const double *x,
                                  nb_array *image);

/*
 * dimage = J dx: Jacobian-vector products, the derivatives of the image along directions of
 * the parameters.
 *
 *   x       [in]   parameters; NULL: the values of the scene       (nparam)
 *   ndir    [in]   number of directions, 1 or more
 *   dx      [in]   directions, in the units of the parameters      (ndir x nparam)
 *   dimage  [out]  one array for each direction: photons, float32 or float64, on the host
 *                                                    (ndir arrays, nslow x nfast)
 *
 * Sixteen directions share a pass over the samples. With a point spread they do so only if
 * all images are dense float64. NB_STRATEGY_REFERENCE differentiates sample by sample in
 * double. The other strategies use SIMD lanes in their precision, and NB_STRATEGY_SPOTS
 * skips samples that no spot reaches, within its tolerance. The image jumps where a sample
 * changes its nearest reflection; the derivative there belongs to the side on which the
 * sample lies.
 *
 * On a CUDA device (nb_description.derivatives) the sum is over all samples, in the
 * precision of the device. NVRTC builds the kernels when a call first needs them; the call
 * waits some seconds, and the progress handler may stop it. The kernels are stored on disk.
 * The host computes derivatives instead, and nb_simulator_describe() says why,
 *
 *   - with compiled mode off, or without NVRTC;
 *   - with a point spread;
 *   - with NB_QUIRK_WATER or NB_QUIRK_LAST_CAPTURE;
 *   - after NANOBRAG_RECOMPILE_LIMIT builds (8), or if one takes longer than
 *     NANOBRAG_COMPILE_TIMEOUT seconds (120);
 *   - in nb_jvp(), if a direction changes structure factors.
 *
 * Errors, besides the common ones: NB_ERR_ARGUMENT (no parameter is free, ndir < 1, or a
 * number of dx is not finite), NB_ERR_UNSUPPORTED (NB_QUIRK_CURVED and a curved detector).
 */
NB_API nb_status nb_jvp(nb_simulator *sim, const double *x, int ndir, const double *dx,
                        nb_array *dimage);

/*
 * bar_x += J^T bar_image: vector-Jacobian products, the gradients dL/dx of the losses
 * L = sum over pixels of bar_image x image.
 *
 *   x          [in]      parameters; NULL: the values of the scene (nparam)
 *   ncot       [in]      number of cotangents, 1 or more
 *   bar_image  [in]      cotangents dL/dimage, float32 or float64. Masked pixels and pixels
 *                        outside the ROI do not count  (ncot arrays, nslow x nfast)
 *   bar_x      [in,out]  gradients; each is added to its row: begin with zeros
 *                                                                  (ncot x nparam)
 *
 * Each cotangent takes one pass over the samples, whatever the number of parameters.
 * Strategy, precision and device are as in nb_jvp(), with one exception: NB_STRATEGY_SPOTS
 * adds up the adjoint spot by spot. It does so unless F is interpolated or factors are
 * evaluated for every sample. If a device computes the gradients, bar_image may lie on it;
 * the arrays must then be dense.
 *
 * Errors, besides the common ones: NB_ERR_ARGUMENT (no parameter is free, or ncot < 1),
 * NB_ERR_UNSUPPORTED (NB_QUIRK_CURVED and a curved detector, or a cotangent on a device
 * while the host computes). After an error the gradients of earlier cotangents have been
 * added.
 */
NB_API nb_status nb_vjp(nb_simulator *sim, const double *x, int ncot,
                        const nb_array *bar_image, double *bar_x);

/* The number of free parameters that are not structure factors F[h,k,l], called ndense; 0
 * for sim = NULL. */
NB_API size_t nb_simulator_ndense(const nb_simulator *sim);

/* Results of nb_jtj() and nb_loss(), which add to each member that is not NULL: begin with
 * zeros. The dense parameters are all but the nF structure factors F[h,k,l], in the order
 * of x. An element
 * of J^T W J has the unit of the weighted squares, photons^2 for W = 1, over the units of
 * its two parameters. An element of a gradient has the unit of the weighted squares over
 * the unit of its parameter. */
typedef struct nb_normal {
    double *matrix; /* J^T W J of the dense parameters              (ndense x ndense) */
    double *diagonal; /* diagonal of J^T W J, all parameters                  (nparam) */
    double *coupling; /* J^T W J, dense parameters x structure factors  (ndense x nF) */
    double *gradient; /* J^T W r, or dL/dx of nb_loss()                       (nparam) */
} nb_normal;

/*
 * Add the normal matrix J^T W J of a weighted least-squares fit, and its gradient J^T W r.
 *
 *   x         [in]      parameters; NULL: the values of the scene  (nparam)
 *   weight    [in]      W, one weight for each pixel, float32 or float64; NULL: 1
 *                                                                  (nslow x nfast)
 *   residual  [in]      r = image - data in photons, float32 or float64; NULL: no gradient
 *                                                                  (nslow x nfast)
 *   out       [in,out]  the call adds to its members that are not NULL
 *
 * The matrix is summed tile by tile, so that no Jacobian is stored. With a point spread
 * each call allocates images in double and frees them at its end: ndense + 4 images of the
 * size of the ROI, and 4 of the size of the detector. Strategy, precision and device are as
 * in nb_jvp().
 *
 * A device computes a normal matrix under three conditions; else the host computes it.
 *
 *   - There are at most 32 free parameters, all of them dense.
 *   - default_f is not free, or no reflections are listed.
 *   - At most 4 of the free parameters (8 in float) rotate some orientations more than
 *     others, or change weights of orientations. These parameters are phi0, osc, spindle,
 *     mosaic spread and domain weights; with an anisotropic spread also cell and misset.
 *
 * weight and residual may lie on this device; they must then be dense.
 *
 * Errors, besides the common ones: NB_ERR_ARGUMENT (no parameter is free, or a gradient is
 * wanted without a residual), NB_ERR_UNSUPPORTED (NB_QUIRK_CURVED and a curved detector, or
 * an array on a device while the host computes). After an error nothing has been added.
 */
NB_API nb_status nb_jtj(nb_simulator *sim, const double *x, const nb_array *weight,
                        const nb_array *residual, nb_normal *out);

/*
 * The loss L of one pixel, and its curvature in the approximation of Gauss and Newton. I
 * are the computed photons, y the observed photons and w the weight of the pixel.
 *
 * In NB_LOSS_READOUT the variance is v = I/gain + sigma_readout^2, and v_y is v at I = y.
 * For negative y, v_y is v at I = 0 instead. If v_y comes out as 0, it is set to 1.
 *
 * NB_LOSS_POISSON and NB_LOSS_READOUT are negative log-likelihoods of the Poisson
 * distribution and of a normal distribution with variance v, less their values at I = y:
 * half a deviance (McCullagh & Nelder, Generalized Linear Models, 2.3). Both are 0 where
 * I = y. NB_LOSS_POISSON is never below 0 for y >= 0, with y log(y) = 0 at y = 0.
 * NB_LOSS_READOUT falls below 0 near I = y - 1/(2 gain), to about -1/(8 v gain^2), because
 * log(v) falls with I.
 *
 * NB_LOSS_HUBER is by Huber (Ann. Math. Statist. 35, 1964, 73), NB_LOSS_CAUCHY by Holland &
 * Welsch (Commun. Statist. A6, 1977, 813). With NB_LOSS_CAUCHY the pull of a pixel falls
 * again beyond delta, so that a hot pixel counts for nothing. The curvature of both is the
 * weight of reweighted least squares, |slope/(I - y)|: it is positive where the second
 * derivative is not.
 *
 * A pixel with y >= saturation held at least that many photons. Up to I = saturation it has
 * the loss for y = saturation; for larger I its loss is 0.
 */
enum nb_loss_kind {
    NB_LOSS_GAUSS, /* L = w (I - y)^2/2; curvature w */
    NB_LOSS_POISSON, /* L = w (I - y - y log(I/y)); curvature w/I, 0 for I < 1e-270 */
    NB_LOSS_READOUT, /* L = w ((I - y)^2/v + log(v/v_y))/2; curvature w/v */
    /* L = w (I - y)^2/2 for |I - y| < delta, with curvature w; beyond it
     * L = w (delta |I - y| - delta^2/2), with curvature w delta/|I - y| */
    NB_LOSS_HUBER,
    /* L = w delta^2/2 log(1 + t^2), t = (I - y)/delta; curvature w/(1 + t^2) */
    NB_LOSS_CAUCHY
};

/*
 * A background that nb_loss() fits at every x: it adds to the image the background with the
 * smallest loss. The background is no parameter, and the loss stays a function of x alone
 * (variable projection: Golub & Pereyra, SIAM J. Numer. Anal. 10, 1973, 413;
 * docs/theory.md, 15).
 *
 *   NB_BACKGROUND_PLANES  a plane in each box of nb_detector.box. It adds
 *              a + b (f - f0) + c (s - s0) photons to pixel (s, f), with (s0, f0) the
 *              middle of the box, (slow0 + slow1 - 1)/2 and (fast0 + fast1 - 1)/2. A pixel
 *              of several boxes belongs to the first of them
 *
 * NB_LOSS_POISSON and NB_LOSS_READOUT count photons, so their planes are nowhere negative
 * in their box. If the loss alone would make a plane negative in a part of the box, the
 * fitted plane is 0 in a corner, along an edge or everywhere. With every other loss a plane
 * may have any sign.
 *
 * For NB_LOSS_READOUT the search begins at a plane of least squares, goes downhill and
 * takes the first minimum. This is the only minimum if no pixel is saturated and all pixels
 * have 2 (y + gain sigma_readout^2)^2 > v, because the loss then is convex. NB_LOSS_CAUCHY
 * may have several minima. Two searches each find one, and the lower one counts. The first
 * search lowers delta step by step, from the spread of the data. The second begins at the
 * plane of NB_LOSS_HUBER.
 *
 * Masked pixels, pixels outside the ROI and pixels of weight 0 do not count. Terms that the
 * counting pixels do not determine are 0: all three if there is no such pixel; b and c for
 * a single pixel; b if the pixels lie in one column; c if they lie in one row or along
 * another line. Saturated pixels do not decide on the slopes. If all pixels are saturated,
 * a is as large as they demand, and the loss of the box is 0.
 */
enum nb_background_kind { NB_BACKGROUND_PLANES = 1 };

typedef struct nb_target {
    int kind; /* enum nb_loss_kind */
    const nb_array *observed; /* photons, float32 or float64         (nslow x nfast) */
    const nb_array *weight; /* w, float32 or float64; NULL: 1        (nslow x nfast) */
    double sigma_readout; /* standard deviation of readout noise, photons */
    double gain; /* factor of NB_LOSS_READOUT; 0: 1 */
    double delta; /* limit of NB_LOSS_HUBER, width of NB_LOSS_CAUCHY, photons; 0: 1 */
    double saturation; /* photons; 0: none */
    int background; /* 0: none; or NB_BACKGROUND_PLANES */
} nb_target;

/*
 * value = sum of L over the rendered pixels, with its gradient and normal matrix.
 *
 *   x       [in]      parameters; NULL: the values of the scene    (nparam)
 *   target  [in]      the observed photons and the loss
 *   value   [out]     the loss
 *   out     [in,out]  NULL: the value alone. Else the call adds to its members that are
 *                     not NULL: dL/dx to the gradient; J^T W J to matrix, diagonal and
 *                     coupling, with W = curvature of L, which is never negative
 *
 * Value and gradient take one pass over the samples; NB_STRATEGY_SPOTS takes one for the
 * image and one for its adjoint. A device computes gradients as in nb_vjp(), normal
 * matrices as in nb_jtj(), and the value alone wherever it computes images. observed and
 * weight may lie on this device; they must then be dense.
 *
 * With planes the loss is L(x) = min over P of the loss of I(x) + P. Its gradient is taken
 * at fixed planes. With J_P the derivatives by the planes, the matrix is
 * J^T W J - J^T W J_P (J_P^T W J_P)^-1 J_P^T W J. The inverse of this matrix gives the
 * errors of x if the planes are free too. Where a plane is 0, J_P keeps it 0.
 *
 * With planes the call first computes the image. So NB_STRATEGY_SPOTS makes one pass more
 * for a matrix. NB_STRATEGY_LANES makes one pass more for a gradient or a matrix.
 *
 * Errors, in place of the common ones where they differ:
 *   NB_ERR_ARGUMENT     target, observed or value is NULL; an unknown kind or background; a
 *                       negative sigma_readout, gain, delta or saturation; an observed
 *                       number or an x that is not a number; no free parameter while `out`
 *                       is given.
 *                       Planes without boxes; planes with a negative weight; planes of
 *                       NB_LOSS_READOUT without sigma_readout; planes of NB_LOSS_POISSON
 *                       with a negative observed number.
 *   NB_ERR_UNSUPPORTED  NB_QUIRK_CURVED and a curved detector while `out` is given; an
 *                       array on a device while the host computes.
 *   NB_ERR_DOMAIN       with *value = INFINITY, so that a line search can step back: x is
 *                       outside its bounds; x makes the cell flat or the scene impossible;
 *                       the loss is infinite (photons observed where NB_LOSS_POISSON
 *                       expects none, or a pixel without variance).
 * After an error nothing has been added.
 */
NB_API nb_status nb_loss(nb_simulator *sim, const double *x, const nb_target *target,
                         double *value, nb_normal *out);

/*
 * The planes of background at which nb_loss() has its value.
 *
 *   x       [in]   parameters; NULL: the values of the scene       (nparam)
 *   target  [in]   as for nb_loss(), with background NB_BACKGROUND_PLANES
 *   planes  [out]  a in photons, b and c in photons/pixel, for each box in the order of
 *                  nb_detector.box                                 (nbox x 3)
 *
 * Errors: as nb_loss(); NB_ERR_ARGUMENT also if planes is NULL or the target has no planes.
 * After an error planes is not changed.
 */
NB_API nb_status nb_planes(nb_simulator *sim, const double *x, const nb_target *target,
                           double *planes);

/*
 * Run a simulator's work on its CUDA device in a stream of the caller. Work queued in the
 * stream before a call ends before the call reads or writes an array, and work queued after
 * the call sees its results. A call still returns only when its results are complete.
 *
 *   cuda_stream  [in]  CUstream (cudaStream_t) of the device's primary context, the context
 *                      of CUDA's runtime; or NB_STREAM_LEGACY or NB_STREAM_PER_THREAD, its
 *                      default streams. NULL: a stream of the library, which is also used
 *                      before the first call. It does not wait for other streams
 *
 * Other libraries call the legacy default stream 0. In PyTorch
 * torch.cuda.current_stream().cuda_stream is 0 unless another stream was chosen. Here 0 is
 * NULL, the stream of the library, which does not wait for the work of PyTorch. So pass
 * NB_STREAM_LEGACY in place of 0. JAX gives a custom call its stream: pass it on unchanged.
 *
 * The caller keeps the stream alive while the simulator uses it. This call refuses a stream
 * that is being captured into a graph. Later calls refuse it too if a capture has begun
 * meanwhile, because they wait for their results. A simulator that computes on the host
 * accepts any stream and does not use it.
 *
 * Errors: NB_ERR_ARGUMENT (sim is NULL, or the stream belongs to another context or is
 * being captured; the previous stream then stays in use), NB_ERR_DEVICE.
 */
#define NB_STREAM_LEGACY     ((void *)0x1) /* CU_STREAM_LEGACY */
#define NB_STREAM_PER_THREAD ((void *)0x2) /* CU_STREAM_PER_THREAD */
NB_API nb_status nb_simulator_set_stream(nb_simulator *sim, void *cuda_stream);

NB_END_DECLS

#endif
