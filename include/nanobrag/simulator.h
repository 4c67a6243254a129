/*
 * simulator.h - images of a scene, and their derivatives with respect to its parameters.
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
 * The example frees the orientation of a crystal (misset), turns the crystal by 0.1 degree
 * about y, and computes the image and a gradient. bar_image holds a weight for each pixel.
 * The gradient is the derivative of the weighted sum of all pixels with respect to x.
 *
 * A scene describes a crystal, a beam and a detector (scene.h). A simulator is a scene that
 * is ready to run. nb_simulator_create() fills in all defaults and decides all counts, such
 * as the number of sub-pixels. Defaults and counts then stay the same. Each later call
 * computes an image, or its derivatives, for the values x of the free parameters. The
 * result does not depend on earlier calls.
 *
 * Parameters. nb_simulator_create() takes the names of the free parameters (params.h). x is
 * an array with one number for each free parameter, in the order of the names. A group name
 * stands for all its members: "misset" stands for misset_x, misset_y, misset_z.
 * nb_simulator_param() gives the name, unit and bounds of x[i], and the value of x[i] in
 * the scene. If you pass x = NULL, a call takes all values from the scene.
 *
 * Derivatives. J = dI/dx is the Jacobian: the derivatives of all pixels with respect to all
 * free parameters, in photons per unit of the parameter. The calls return products with J.
 *
 *   dx, ndir         A direction is a change of x. dx holds ndir directions, one after the
 *                    other. For each direction nb_jvp() returns J dx, the change of the
 *                    image
 *   bar_image, ncot  Let L be a number that depends on the image, such as a loss. The
 *                    cotangent of L holds dL/dI for each pixel. bar_image holds ncot
 *                    cotangents
 *   bar_x            bar_x has one row for each cotangent. nb_vjp() adds the gradient
 *                    dL/dx = J^T bar_image to the row
 *
 * Shapes. The text about an array ends with the shape of the array. Names in the shapes:
 *
 *   nslow, nfast  the number of pixels along the slow axis and the fast axis of the image
 *   nparam        the number of free parameters
 *   nF            the number of free structure factors F[h,k,l]
 *   ndense        the number of all other free parameters: nparam - nF
 *
 * A pixel is *rendered* if it lies in the ROI, lies in a box (if the scene has boxes) and
 * is not masked. A *tile* is a block of 32 x 8 pixels. An array is *dense* if its elements
 * follow each other in memory (nb_array.stride). Arrays lie in host memory, unless a call
 * says that they may lie on a device.
 *
 * Common errors. nb_forward(), nb_forward_batch(), nb_jvp(), nb_vjp(), nb_jtj(), nb_loss()
 * and nb_planes() have these errors in common. Each call lists only its further errors.
 *
 *   NB_ERR_ARGUMENT     a required argument is NULL; or a parameter is outside its bounds.
 *   NB_ERR_SHAPE        an array has a wrong size or type; or it lies on a device that does
 *                       not compute this simulator's images; or it lies on the right
 *                       device, but the call needs a dense array there.
 *   NB_ERR_DONATED      an earlier call has overwritten the array (NB_DONATE in array.h).
 *   NB_ERR_SCENE        x gives an impossible geometry.
 *   NB_ERR_UNIT_CELL    x gives a flat cell.
 *   NB_ERR_UNSUPPORTED  the device or compiled mode (compile.h) does not support the call,
 *                       and NANOBRAG_STRICT=1 is set. Without NANOBRAG_STRICT=1 the call
 *                       runs on the host, or in uncompiled mode.
 *   NB_ERR_DEVICE       the device failed, and an array lies on the device. If all arrays
 *                       lie on the host, the host computes instead.
 *   NB_ERR_CANCELLED    the progress handler stopped the call.
 *   NB_ERR_MEMORY       out of memory; or nb_options.strategy is NB_STRATEGY_SPOTS, and the
 *                       list of reflections would be too long.
 *
 * No call writes to its inputs, except to an array that you donate (NB_DONATE in array.h).
 * A result has the same bits for any number of threads. A result also has the same bits for
 * any floating-point settings of the caller (rounding mode, flush-to-zero, traps): a call
 * works with the standard settings, and restores your settings at its end. context.h says
 * from which threads you may call these functions.
 *
 * Memory. nb_simulator_create() allocates most memory. The other functions allocate only
 * the memory in these lists, and may then fail with NB_ERR_MEMORY.
 *
 * Allocated by the first call that needs it, and kept:
 *
 *   - plans (compile.h): which kernel computes a kind of call, and on how many threads; and
 *     kernels that are built at run time. Plans and kernels belong to the context;
 *   - an array of photons in double, for all tiles with rendered pixels. With a point
 *     spread, and in nb_forward_add() (image.h), the array is for the whole image;
 *   - workspace for derivatives, for normal matrices and for fits of the background.
 *
 * Kept, and made larger when a call needs more:
 *
 *   - lists of spots;
 *   - workspace for structure factors, in losses that fit the background;
 *   - buffers for copies to and from a device;
 *   - if a device computes, memory of nb_forward_batch() on the host and on the device.
 *
 * Allocated and freed by each call:
 *
 *   - the Jacobian of nb_jtj(), with a point spread;
 *   - the list of reflections in nb_simulator_boxes();
 *   - in nb_forward_add(), a copy on the host of an image on a device;
 *   - lists of orientations and of spectral lines, if the simulator integrates over the
 *     mosaic spread (docs/theory.md, 16).
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

/* The precision of the loops over pixels. All other arithmetic is in double. In single
 * precision each tile stores the Miller indices at its middle in double. Single precision
 * rounds only the change of the indices across the tile (docs/theory.md, 13). */
enum nb_precision { NB_PRECISION_DOUBLE, NB_PRECISION_SINGLE };

/* How a simulator adds up the samples of a pixel (docs/theory.md, 13). A sample is one
 * sub-pixel with one sensor layer, one source, one phi step and one mosaic domain. */
enum nb_strategy {
    /* chooses NB_STRATEGY_SPOTS under three conditions: the shape of the mosaic blocks is
     * gauss, gauss_star or tophat; the spots fill less than a third of reciprocal space;
     * and the estimated cost is lower than with NB_STRATEGY_LANES. Otherwise it chooses
     * NB_STRATEGY_LANES. A call also uses NB_STRATEGY_LANES if the list of reflections at
     * its x would be too long */
    NB_STRATEGY_AUTO,
    /* adds up all samples, one pixel after the other, in double. Tests compare the other
     * strategies with this strategy */
    NB_STRATEGY_REFERENCE,
    /* adds up all samples. SIMD instructions compute several pixels at once */
    NB_STRATEGY_LANES,
    /* adds up only samples near a reflection. All omitted samples together change a pixel
     * by less than the tolerance */
    NB_STRATEGY_SPOTS
};

/* The bits of an image depend on precision, strategy, tolerance, instruction set and
 * device, but not on the number of threads. ROI and mask also change the bits:
 * ROI and mask decide which pixel is the brightest rendered pixel, and the tolerance is
 * relative to this pixel. ROI and mask also decide which strategy NB_STRATEGY_AUTO chooses.
 *
 * Let M be the largest number of photons that the crystal can scatter into a pixel.
 * NB_STRATEGY_SPOTS gives 0 for each pixel with fewer than 1e-300 M photons. */
typedef struct nb_options {
    int precision; /* enum nb_precision */
    int strategy; /* enum nb_strategy */
    /* The allowed error of a pixel before the point spread, as a fraction of the brightest
     * rendered pixel before the point spread. 0 means 1e-10 in double, and 1e-5 in single
     * precision. NB_STRATEGY_SPOTS omits samples up to this error. In single precision, if
     * the error of a tile would be larger, the simulator divides the tile into parts. It
     * computes in double each part whose error would still be larger. A point spread also
     * takes light from pixels that are not rendered. This light may have a larger error. */
    double tolerance;
} nb_options;

/*
 * Make a simulator: fill in all defaults of a scene, decide all counts, allocate memory.
 *
 *   scene       [in]   only this call reads the scene and the memory that it points to
 *   free_names  [in]   names of the free parameters (params.h), separated by blanks; x has
 *                      the order of the names. NULL: no parameter is free
 *   options     [in]   NULL: all defaults
 *   out         [out]  the simulator; free it with nb_simulator_free(), before you free
 *                      the context
 *
 * Errors:
 *   NB_ERR_ARGUMENT     ctx, scene or out is NULL; a number is out of range; or a name is
 *                       unknown, or names a parameter that the scene does not have.
 *   NB_ERR_SCENE        members of the scene contradict each other.
 *   NB_ERR_UNIT_CELL    the cell is missing or flat.
 *   NB_ERR_UNSUPPORTED  a point spread without FFTW; NB_STRATEGY_REFERENCE in single
 *                       precision; NANOBRAG_ISA names an instruction set that the machine
 *                       lacks; compiled mode is required, but off; or device or compiled
 *                       mode does not support this scene, and NANOBRAG_STRICT=1 is set.
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
 * Describe the free parameter x[i].
 *
 *   i    [in]   index in x, 0 to nparam - 1
 *   out  [out]  name, unit, value in the scene, bounds, ... (nb_param in params.h)
 *
 * Errors: NB_ERR_ARGUMENT (sim or out is NULL, or there is no parameter i).
 */
NB_API nb_status nb_simulator_param(const nb_simulator *sim, size_t i, nb_param *out);

/*
 * Find where free parameters stand in x. The result lists each selected parameter once, in
 * the order of the names.
 *
 *   names  [in]   names and groups (params.h), as for nb_simulator_create(); a name may be
 *                 repeated
 *   room   [in]   the number of entries that `index` has room for
 *   index  [out]  the index in x of each selected parameter. The call does not change
 *                 entries after the n-th. May be NULL if room is 0       (room)
 *   n      [out]  the number of selected parameters; n may be larger than room
 *
 * Errors: NB_ERR_ARGUMENT (sim, names or n is NULL; or a name is unknown, or names a
 * parameter that the scene does not have or that is not free), NB_ERR_MEMORY.
 */
NB_API nb_status nb_simulator_select(const nb_simulator *sim, const char *names,
                                     size_t room, size_t *index, size_t *n);

/*
 * Read the resolved scene at x: the scene with all defaults filled in and all counts
 * decided. A simulator of the resolved scene gives the same image, unless the scene has
 * quirks (nb_scene.quirks).
 *
 *   x    [in]   parameters; NULL: the values of the scene          (nparam)
 *   out  [out]  the resolved scene. The simulator owns the memory that the scene points to.
 *               The next call of nb_simulator_resolved() overwrites the lists of sources,
 *               domain weights and reflections
 *
 * Errors: NB_ERR_ARGUMENT (sim or out is NULL, or a parameter is outside its bounds).
 */
NB_API nb_status nb_simulator_resolved(const nb_simulator *sim, const double *x,
                                       nb_scene *out);

/*
 * image = I(x): compute the image at x.
 *
 *   x      [in]   parameters; NULL: the values of the scene        (nparam)
 *   image  [out]  photons per pixel, float32 or float64            (nslow x nfast)
 *
 * The call writes 0 to pixels that are not rendered. With a point spread, light that falls
 * into such a pixel still reaches its neighbours. A float32 image is the rounded float64
 * image. The first call with an image that is not dense float64 allocates the array of
 * photons (Memory, above).
 *
 * The image may lie on the CUDA device that computes it (nb_description.device), unless the
 * scene has a point spread. The image is complete when the call returns. Before the call,
 * finish your own work on the memory of the image, or queue your work in the stream of
 * nb_simulator_set_stream().
 *
 * Further errors: NB_ERR_UNSUPPORTED (the image lies on a device, and the scene has a point
 * spread). After NB_ERR_CANCELLED the image is incomplete.
 */
NB_API nb_status nb_forward(nb_simulator *sim, const double *x, nb_array *image);

/*
 * image[k] = I(x[k]): compute n images, with the bits of nb_forward().
 *
 *   n      [in]   number of images, 1 or more
 *   x      [in]   parameters, one row for each image; NULL: the values of the scene, for
 *                 all images                                       (n x nparam)
 *   image  [out]  one array for each image, as in nb_forward(); types, strides and devices
 *                 may differ                                 (n arrays, nslow x nfast)
 *
 * On a CUDA device the call computes images of a small detector together. Images share one
 * launch, one copy to the device and one copy back, as long as they fit in the workspace on
 * the device. The simulator keeps the memory for this, on the host and on the device. In
 * these cases the call computes the images one by one:
 *
 *   - the host computes the images;
 *   - the scene has a point spread, or a detector of panels;
 *   - structure factors are free (F[...], default_f);
 *   - the workspace on the device does not hold two images.
 *
 * Further errors: NB_ERR_ARGUMENT (n < 1), NB_ERR_UNSUPPORTED (an image lies on a device,
 * and the scene has a point spread). If one of the arrays is wrong, the call does not
 * change any image. If image k fails, images 0 to k - 1 are complete, and the images after
 * k are not changed. There is one exception for images on the device: after NB_ERR_DEVICE
 * or NB_ERR_CANCELLED all images that share a launch with image k may be incomplete.
 */
NB_API nb_status nb_forward_batch(nb_simulator *sim, int n, const double *x,
                                  nb_array *image);

/*
 * dimage = J dx: compute the change of the image along directions of the parameters
 * (Jacobian-vector products).
 *
 *   x       [in]   parameters; NULL: the values of the scene       (nparam)
 *   ndir    [in]   number of directions, 1 or more
 *   dx      [in]   directions, in the units of the parameters      (ndir x nparam)
 *   dimage  [out]  one array for each direction: photons, float32 or float64, on the host
 *                                                    (ndir arrays, nslow x nfast)
 *
 * Time. One pass over the samples computes up to sixteen directions. If the scene has a
 * point spread, directions share a pass only if all images are dense float64.
 *
 * Strategies. NB_STRATEGY_REFERENCE differentiates one sample after the other, in double.
 * The other strategies differentiate several samples at once with SIMD instructions, in the
 * precision of the simulator. NB_STRATEGY_SPOTS omits samples that no spot reaches (within
 * the tolerance). Unless the simulator integrates over the mosaic spread (docs/theory.md,
 * 16), a sample gets photons only from its nearest reflection. The image jumps where the
 * nearest reflection changes. The derivative is the slope on the side of the jump where the
 * sample lies, without the jump.
 *
 * CUDA. A device omits no samples. In single precision it computes in float only if the
 * rounding errors allow float. NVRTC builds the kernels when a call first needs them. This
 * call takes some seconds longer, and the progress handler may stop the call. The kernels
 * are stored on disk. nb_description.derivatives says whether a device computes the
 * derivatives. In these cases the host does, and derivatives_why gives the reason:
 *
 *   - compiled mode is off, or the machine has no NVRTC;
 *   - the scene has a point spread;
 *   - the scene has NB_QUIRK_WATER or NB_QUIRK_LAST_CAPTURE;
 *   - NVRTC has built kernels NANOBRAG_RECOMPILE_LIMIT times (8 by default);
 *   - a build takes longer than NANOBRAG_COMPILE_TIMEOUT seconds (120 by default);
 *   - in nb_jvp(), a direction changes structure factors.
 *
 * Further errors: NB_ERR_ARGUMENT (no parameter is free, ndir < 1, or a number of dx is not
 * finite), NB_ERR_UNSUPPORTED (the scene has NB_QUIRK_CURVED and a curved detector).
 */
NB_API nb_status nb_jvp(nb_simulator *sim, const double *x, int ndir, const double *dx,
                        nb_array *dimage);

/*
 * bar_x += J^T bar_image: compute the gradients of weighted sums of all pixels
 * (vector-Jacobian products). The weighted sum is L = sum of bar_image * image. The call
 * adds dL/dx to a row of bar_x.
 *
 *   x          [in]      parameters; NULL: the values of the scene (nparam)
 *   ncot       [in]      number of cotangents, 1 or more
 *   bar_image  [in]      cotangents dL/dI, float32 or float64. The call uses only rendered
 *                        pixels                             (ncot arrays, nslow x nfast)
 *   bar_x      [in,out]  one gradient in each row. The call adds to bar_x: fill bar_x with
 *                        zeros before the first call               (ncot x nparam)
 *
 * Each cotangent takes one pass over the samples, for any number of parameters. Strategy,
 * precision and device are as in nb_jvp(). If a device computes the gradients, cotangents
 * may lie on this device. A cotangent on a device must be dense.
 *
 * Usually NB_STRATEGY_SPOTS adds up the gradient spot by spot. In two cases the strategy
 * works sample by sample, as in nb_jvp(): F is interpolated; or the scene asks for solid
 * angle, polarization or capture at every sample (nb_scene.oversample_omega,
 * oversample_polar, oversample_thick).
 *
 * Further errors: NB_ERR_ARGUMENT (no parameter is free, or ncot < 1), NB_ERR_UNSUPPORTED
 * (the scene has NB_QUIRK_CURVED and a curved detector, or a cotangent lies on a device
 * while the host computes). If cotangent k causes the error, bar_x already holds the
 * gradients of cotangents 0 to k - 1.
 */
NB_API nb_status nb_vjp(nb_simulator *sim, const double *x, int ncot,
                        const nb_array *bar_image, double *bar_x);

/* The number of free parameters except structure factors F[h,k,l], called ndense; 0 for
 * sim = NULL. */
NB_API size_t nb_simulator_ndense(const nb_simulator *sim);

/* The results of nb_jtj() and nb_loss(). The calls add to each member that is not NULL:
 * fill the members with zeros before the first call. The dense parameters are all free
 * parameters except structure factors F[h,k,l]. The dense parameters have the order of x.
 *
 * Units. W holds the weights of the pixels. r holds the computed minus the observed
 * photons. If W has no unit, W r^2 has the unit photons^2. The unit of a gradient is the
 * unit of W r^2, divided by the unit of the parameter. The unit of an element of J^T W J is
 * the unit of W r^2, divided by the units of the two parameters of the element. */
typedef struct nb_normal {
    double *matrix; /* J^T W J for the dense parameters             (ndense x ndense) */
    double *diagonal; /* the diagonal of J^T W J for all parameters           (nparam) */
    double *coupling; /* J^T W J, dense parameters x structure factors  (ndense x nF) */
    double *gradient; /* J^T W r in nb_jtj(), dL/dx in nb_loss()              (nparam) */
} nb_normal;

/*
 * Compute the normal matrix J^T W J and the gradient J^T W r of a weighted least-squares
 * fit.
 *
 *   x         [in]      parameters; NULL: the values of the scene  (nparam)
 *   weight    [in]      W, one weight for each pixel, float32 or float64; NULL: 1
 *                                                                  (nslow x nfast)
 *   residual  [in]      r = image - data in photons, float32 or float64; NULL: no gradient
 *                                                                  (nslow x nfast)
 *   out       [in,out]  the call adds to the members of out that are not NULL
 *
 * Without a point spread the call adds up the matrix tile by tile, and stores no Jacobian.
 * With a point spread the call stores the Jacobian. It allocates images in double, and
 * frees them at its end: ndense + 4 images of the size of the ROI, and 4 images of the size
 * of the detector. Strategy, precision and device are as in nb_jvp().
 *
 * A device computes the normal matrix if all these conditions hold, and the host if one
 * does not hold:
 *
 *   - At most 32 parameters are free, and all of them are dense.
 *   - default_f is not free, or the scene lists no reflections.
 *   - At most 4 free parameters (8 in single precision) are phi0, osc, spindle, mosaic
 *     spread or domain weights. These act on each mosaic domain or phi step in its own way.
 *     With an anisotropic mosaic spread, cell and misset count too.
 *
 * weight and residual may lie on the device that computes. An array on a device must be
 * dense.
 *
 * Further errors: NB_ERR_ARGUMENT (no parameter is free, or out->gradient is given without
 * residual), NB_ERR_UNSUPPORTED (the scene has NB_QUIRK_CURVED and a curved detector, or an
 * array lies on a device while the host computes). After an error the call has added
 * nothing.
 */
NB_API nb_status nb_jtj(nb_simulator *sim, const double *x, const nb_array *weight,
                        const nb_array *residual, nb_normal *out);

/*
 * The loss L of one pixel, and the curvature of L (in the approximation of Gauss and
 * Newton). I is the number of computed photons, y the number of observed photons, and w the
 * weight of the pixel.
 *
 * NB_LOSS_READOUT has the variance v = I/gain + sigma_readout^2. v_y is v at I = y. If y is
 * negative, v_y is v at I = 0 instead. If v_y would be 0, v_y is 1 instead.
 *
 * NB_LOSS_POISSON is the negative log-likelihood of a Poisson distribution, minus its value
 * at I = y. NB_LOSS_READOUT is the same for a normal distribution of variance v. Both are
 * half a deviance (McCullagh & Nelder, Generalized Linear Models, 2.3), and 0 at I = y.
 * NB_LOSS_POISSON is never negative for y >= 0; at y = 0 its term y log(I/y) is 0. The
 * minimum of NB_LOSS_READOUT is slightly below 0: about -1/(8 v gain^2), near
 * I = y - 1/(2 gain).
 *
 * NB_LOSS_HUBER is by Huber (Ann. Math. Statist. 35, 1964, 73), NB_LOSS_CAUCHY by Holland &
 * Welsch (Commun. Statist. A6, 1977, 813). With NB_LOSS_CAUCHY a pixel has hardly any slope
 * if |I - y| is much larger than delta, so a hot pixel has no effect. The curvature of both
 * losses is the weight of reweighted least squares, |slope/(I - y)|. This curvature is
 * positive, even where the second derivative is negative.
 *
 * A pixel with y >= saturation was full: it received at least `saturation` photons. If I is
 * larger than saturation, the loss of a full pixel is 0. Otherwise its loss is the loss for
 * y = saturation.
 */
enum nb_loss_kind {
    NB_LOSS_GAUSS, /* L = w (I - y)^2/2; curvature w */
    NB_LOSS_POISSON, /* L = w (I - y - y log(I/y)); curvature w/I, 0 for I < 1e-270 */
    NB_LOSS_READOUT, /* L = w ((I - y)^2/v + log(v/v_y))/2; curvature w/v */
    /* L = w (I - y)^2/2 if |I - y| < delta, with curvature w; otherwise
     * L = w (delta |I - y| - delta^2/2), with curvature w delta/|I - y| */
    NB_LOSS_HUBER,
    /* L = w delta^2/2 log(1 + t^2), t = (I - y)/delta; curvature w/(1 + t^2) */
    NB_LOSS_CAUCHY
};

/*
 * The kind of background that nb_loss() fits at every x. nb_loss() adds the background with
 * the smallest loss to the image. The background has no parameters in x, so the loss is a
 * function of x alone (variable projection: Golub & Pereyra, SIAM J. Numer. Anal. 10, 1973,
 * 413; docs/theory.md, 15).
 *
 *   NB_BACKGROUND_PLANES  a plane in each box of nb_detector.box. The plane adds
 *              a + b (f - f0) + c (s - s0) photons to pixel (s, f). (s0, f0) is the middle
 *              of the box: (slow0 + slow1 - 1)/2 and (fast0 + fast1 - 1)/2. If boxes
 *              overlap, a pixel belongs to the first box that holds it
 *
 * Sign. With NB_LOSS_POISSON and NB_LOSS_READOUT a plane is nowhere negative in its box,
 * because a number of photons is not negative. If a plane without this limit would be
 * negative in a part of the box, the fitted plane is 0 in a corner, along an edge or
 * everywhere. With all other losses a plane may have any sign.
 *
 * Minima. For NB_LOSS_READOUT the search begins at the plane of least squares, goes
 * downhill and takes the first minimum. If no pixel is full, and 2 (y + gain
 * sigma_readout^2)^2 > v in all pixels, the loss is convex and has no other minimum.
 * NB_LOSS_CAUCHY may have several minima. So nb_loss() searches twice, and takes the lower
 * of the two minima that it finds. The first search begins with delta at the rms residual
 * of the plane of least squares, and halves delta until it reaches nb_target.delta. The
 * second search begins at the plane of NB_LOSS_HUBER.
 *
 * Pixels. The fit of a plane uses only rendered pixels of weight above 0. Some sets of used
 * pixels do not determine all of a, b and c. nb_loss() then sets the undetermined terms to
 * 0:
 *
 *   used pixels             terms that are 0
 *   none                    a, b and c
 *   one                     b and c
 *   all in one column       b
 *   all in one row          c
 *   all on a slanted line   c
 *
 * Full pixels have no effect on b and c. If all pixels are full, a is so large that the
 * loss of the box is 0.
 */
enum nb_background_kind { NB_BACKGROUND_PLANES = 1 };

typedef struct nb_target {
    int kind; /* enum nb_loss_kind */
    const nb_array *observed; /* photons, float32 or float64         (nslow x nfast) */
    const nb_array *weight; /* w, float32 or float64; NULL: 1        (nslow x nfast) */
    double sigma_readout; /* the standard deviation of the read-out noise, photons */
    double gain; /* the gain in the variance of NB_LOSS_READOUT; 0 means 1 */
    double delta; /* photons, for NB_LOSS_HUBER and NB_LOSS_CAUCHY; 0 means 1 */
    double saturation; /* a pixel with at least so many photons is full; 0: none is full */
    int background; /* NB_BACKGROUND_PLANES; 0: no background */
} nb_target;

/*
 * value = sum of L over the rendered pixels: compute a loss, with its gradient and normal
 * matrix.
 *
 *   x       [in]      parameters; NULL: the values of the scene    (nparam)
 *   target  [in]      the observed photons and the loss
 *   value   [out]     the loss
 *   out     [in,out]  NULL: compute only the value. Otherwise the call adds dL/dx to
 *                     out->gradient, and J^T W J to matrix, diagonal and coupling, unless
 *                     the member is NULL. W is the curvature of L, which is never negative
 *
 * Value and gradient together take one pass over the samples. In three cases they take
 * two, one for the image and one for the gradient: NB_STRATEGY_SPOTS, a point spread,
 * several lattices. A device computes gradients as in nb_vjp(), normal matrices as in
 * nb_jtj(), and a value without gradient and matrix as in nb_forward(). observed and
 * weight may lie on the device that computes. An array on a device must be dense.
 *
 * Planes. With planes P of background, L(x) is the smallest loss of I(x) + P. The gradient
 * is taken at fixed planes. Let J_P be the derivatives of the pixels with respect to the
 * planes. The matrix is then
 *
 *   J^T W J - J^T W J_P (J_P^T W J_P)^-1 J_P^T W J
 *
 * The inverse of this matrix gives the errors of x if the planes are free too. A plane may
 * be 0 in a corner or along an edge of its box, because it must not be negative. J_P then
 * holds only those changes of the plane that keep it 0 there.
 *
 * With planes the call computes the image first. A call without planes does this too if it
 * is a gradient in two passes (above), or if there is a point spread. For all other calls,
 * planes cost one more pass.
 *
 * Errors that differ from the common errors:
 *   NB_ERR_ARGUMENT     target, observed or value is NULL; the kind or the background is
 *                       unknown; sigma_readout, gain, delta or saturation is negative; an
 *                       observed number of photons or an element of x is NaN; or `out` is
 *                       given and no parameter is free.
 *                       For planes: there are no boxes; a weight is negative;
 *                       NB_LOSS_READOUT has no sigma_readout; or an observed number is
 *                       negative with NB_LOSS_POISSON.
 *   NB_ERR_UNSUPPORTED  `out` is given, and the scene has NB_QUIRK_CURVED and a curved
 *                       detector; or an array lies on a device while the host computes.
 *   NB_ERR_DOMAIN       x is outside its bounds; x makes the cell flat or the scene
 *                       impossible; I is 0 in a pixel with y > 0 (NB_LOSS_POISSON); or a
 *                       pixel has the variance 0 (NB_LOSS_READOUT). *value is then
 *                       INFINITY, so that a line search can take a shorter step.
 * After an error the call has added nothing.
 */
NB_API nb_status nb_loss(nb_simulator *sim, const double *x, const nb_target *target,
                         double *value, nb_normal *out);

/*
 * Compute the planes of background that nb_loss() fits at x.
 *
 *   x       [in]   parameters; NULL: the values of the scene       (nparam)
 *   target  [in]   as for nb_loss(), with background NB_BACKGROUND_PLANES
 *   planes  [out]  a in photons, b and c in photons/pixel, for each of the nbox boxes in
 *                  nb_detector.box                                 (nbox x 3)
 *
 * Errors: the errors of nb_loss(); also NB_ERR_ARGUMENT if planes is NULL or the target has
 * no planes. After an error planes is not changed.
 */
NB_API nb_status nb_planes(nb_simulator *sim, const double *x, const nb_target *target,
                           double *planes);

/*
 * Let a simulator work on its CUDA device in your stream. Each call then waits for the work
 * that you queued in the stream before the call. Work that you queue after the call sees
 * the results of the call. A call still returns only when its results are complete.
 *
 *   cuda_stream  [in]  a CUstream (cudaStream_t) of the device's primary context, which is
 *                      the context of the CUDA runtime; or a default stream of this
 *                      context: NB_STREAM_LEGACY or NB_STREAM_PER_THREAD. NULL: a stream of
 *                      nanobrag, which does not wait for other streams. A simulator also
 *                      uses the stream of nanobrag if you never call this function
 *
 * PyTorch and other libraries write the legacy default stream as 0. For example,
 * torch.cuda.current_stream().cuda_stream is 0 unless you chose another stream. In this
 * function 0 is NULL: the stream of nanobrag, which does not wait for the work of PyTorch.
 * So pass NB_STREAM_LEGACY in place of 0.
 *
 * JAX gives a stream to each custom call. Pass this stream without a change.
 *
 * Keep the stream alive while the simulator uses it. The function refuses a stream that a
 * CUDA graph is capturing: each call waits for its results, and a CUDA graph cannot hold
 * such a wait. If the capture begins later, each later call refuses the stream. A simulator
 * that computes on the host accepts any stream, and does not use the stream.
 *
 * Errors: NB_ERR_ARGUMENT (sim is NULL, or the stream belongs to another context or is
 * being captured; the previous stream then stays in use), NB_ERR_DEVICE.
 */
#define NB_STREAM_LEGACY     ((void *)0x1) /* CU_STREAM_LEGACY */
#define NB_STREAM_PER_THREAD ((void *)0x2) /* CU_STREAM_PER_THREAD */
NB_API nb_status nb_simulator_set_stream(nb_simulator *sim, void *cuda_stream);

NB_END_DECLS

#endif
