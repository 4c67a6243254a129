/*
 * simulator.h - images of a scene at any value of its parameters.
 *
 * A simulator is a scene made ready to run: every default is filled in and every count
 * decided by nb_simulator_create(), then frozen. The calls after it evaluate the image at
 * parameters x; none remembers another. None allocates but for what is kept from the first
 * call of a kind on: its plan (compile.h), a double image for one of another type, what
 * tangents, a normal matrix or a gradient by NB_SPOTS work in; the lists of NB_SPOTS, which
 * grow to what a frame needs; normal matrices behind a point spread; and an image to
 * measure on with NB_COMPILE_TUNE. So any call may fail with NB_ERR_MEMORY. Inputs are
 * never written to. Results do not depend on the number of threads, to the bit.
 *
 * Thread rule: that of context.h.
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

/* Of the arithmetic in the pixel loops; everything before them is in double. NB_SINGLE
 * counts Miller indices from the middle of a tile, so that what is rounded is their change
 * across it. */
enum nb_precision { NB_DOUBLE, NB_SINGLE };

/*
 * How the sum is carried out.
 *
 *   NB_REFERENCE  one pixel after the other, in double: what the others are tested against
 *   NB_LANES      every sample, many pixels at a time
 *   NB_SPOTS      only samples near enough to a reflection to matter
 *   NB_STRATEGY_AUTO  NB_SPOTS for gauss, gauss_star and tophat crystals whose spots fill
 *                 less than a third of reciprocal space, where to find them costs less
 *                 than to sum every sample of the ROI; else NB_LANES, also for an x whose
 *                 reflections are too many to list
 */
enum nb_strategy { NB_STRATEGY_AUTO, NB_REFERENCE, NB_LANES, NB_SPOTS };

/* Precision, strategy, tolerance, the instruction set and the device decide the bits of an
 * image; the number of threads does not. The ROI and the mask decide which pixel is the
 * peak that the tolerance is a part of, and what NB_STRATEGY_AUTO takes. Below 1e-300 of
 * what the crystal can scatter NB_SPOTS gives 0. */
typedef struct nb_options {
    int precision; /* enum nb_precision */
    int strategy; /* enum nb_strategy */
    double tolerance; /* of the image's peak; 0: 1e-10, with NB_SINGLE 1e-5. NB_SPOTS drops
                         no more than this from any pixel; where NB_SINGLE would round by
                         more, a tile is made smaller, then computed in double */
} nb_options;

/*
 * Make a scene ready to run.
 *
 *   scene       [in]   read during this call only
 *   free_names  [in]   parameters and groups, separated by blanks, order kept; NULL: none
 *   options     [in]   NULL: all defaults
 *   out         [out]  free with nb_simulator_free(), before the context
 *
 * Errors: NB_ERR_ARGUMENT (a number out of range, an unknown name), NB_ERR_SCENE
 * (members that contradict each other), NB_ERR_UNIT_CELL, NB_ERR_UNSUPPORTED,
 * NB_ERR_MEMORY.
 */
NB_API nb_status nb_simulator_create(nb_context *ctx, const nb_scene *scene,
                                     const char *free_names, const nb_options *options,
                                     nb_simulator **out);

/* Accepts NULL. */
NB_API void nb_simulator_free(nb_simulator *sim);

/*
 * Order a simulator's work on its device in a stream of the caller's. What was queued there
 * before a call is done before the call touches an array, and what is queued there after it
 * sees what it wrote. Calls still return only when their results are there.
 *
 *   cuda_stream  [in]  CUstream (cudaStream_t) of the primary context of the device, as all
 *                      of CUDA's runtime are; CU_STREAM_LEGACY (1) and
 *                      CU_STREAM_PER_THREAD (2) name the default streams. NULL: a stream
 *                      of our own, which waits for no other, as at first
 *
 * The stream has to live, and may not be capturing, while the simulator uses it. A
 * simulator on the host accepts any and does nothing with it, so that a program runs on
 * both.
 *
 * Errors: NB_ERR_ARGUMENT (sim is NULL, or the stream is of another context), after which
 * the one before stays; NB_ERR_DEVICE.
 */
NB_API nb_status nb_simulator_set_stream(nb_simulator *sim, void *cuda_stream);

/* How many parameters are free, and each of them (0 <= i < nparam). */
NB_API size_t nb_nparam(const nb_simulator *sim);
NB_API nb_status nb_param_at(const nb_simulator *sim, size_t i, nb_param *out);

/*
 * The resolved scene at x: every default filled in, every count decided. Without quirks,
 * a simulator made from it gives the same image.
 *
 *   x    [in]   parameters; NULL: the values of the scene          (nparam)
 *   out  [out]  its pointers are the simulator's, the lists of sources and reflections
 *               those of the last such call
 */
NB_API nb_status nb_resolved(const nb_simulator *sim, const double *x, nb_scene *out);

/*
 * image = I(x).
 *
 *   x      [in]   parameters; NULL: the values of the scene        (nparam)
 *   image  [out]  photons per pixel, float32 or float64            (nslow x nfast)
 *
 * The image may lie on the device that computes it (NB_CUDA; nb_description.device), unless
 * there is a point spread; it is complete when the call returns, and whatever was queued on
 * its memory has to be done before, or be in the stream of nb_simulator_set_stream().
 *
 * Pixels outside the ROI and masked ones are 0; a point spread still carries their light
 * into their neighbours. float32 is the rounded float64: the first image that is not dense
 * float64 allocates one that is.
 *
 * Errors: NB_ERR_ARGUMENT (a parameter outside its bounds), NB_ERR_SHAPE (also an image on
 * a device that makes none of this simulator's images), NB_ERR_UNIT_CELL,
 * NB_ERR_UNSUPPORTED (an image on a device, and a point spread), NB_ERR_DEVICE (an image
 * there, and the device failed; without one the host computes instead),
 * NB_ERR_CANCELLED (image is then incomplete), NB_ERR_MEMORY (NB_SPOTS asked for, and too
 * many reflections to list).
 */
NB_API nb_status nb_forward(nb_simulator *sim, const double *x, nb_array *image);

/*
 * image[k] = I(x[k]) for n rows of x, each bit for bit what nb_forward() gives. On a
 * device, images of small detectors are computed together: one copy there, one launch and
 * one copy back for as many as its memory for sums holds, instead of a few of each for
 * every image. They are computed one after the other on the host, behind a point spread,
 * while structure factors are free (F[...], default_f), and where one image alone fills
 * what a launch may take.
 *
 *   n      [in]   1 or more
 *   x      [in]   parameters; NULL: the values of the scene, for all   (n x nparam)
 *   image  [out]  an array for each, as of nb_forward(): any types, strides and places
 *                 beside each other                                (n x nslow x nfast)
 *
 * Besides the memory of nb_forward(), a call takes for its time that of the frames and
 * photons of images that are computed together.
 *
 * Errors: those of nb_forward(). After a mistake in an array nothing was written; else,
 * where an image fails, those before it are complete and those behind it untouched, but for
 * NB_ERR_DEVICE and NB_ERR_CANCELLED: of the images computed together with it, those on the
 * device may be incomplete, the others are untouched.
 */
NB_API nb_status nb_forward_batch(nb_simulator *sim, int n, const double *x,
                                  nb_array *image);

/*
 * dimage = J dx: what the image changes by along directions of the parameters.
 *
 *   x       [in]   parameters; NULL: the values of the scene       (nparam)
 *   dx      [in]   directions                                      (ndir x nparam)
 *   dimage  [out]  an array for each, photons                      (ndir x nslow x nfast)
 *
 * One pass over the samples for every sixteen directions (with a point spread, for each,
 * unless the images are dense float64). By the lanes in their precision, but for
 * NB_REFERENCE; with NB_SPOTS only where a spot reaches, to its tolerance. Where a sample
 * changes its nearest reflection the derivative is that of the side it lies on. The first
 * call allocates what all later ones work in.
 *
 * On a CUDA device (nb_description.derivatives) derivatives are those of all samples there,
 * in its precision. Their kernels are built by NVRTC when they are first needed, which
 * takes seconds, and kept on disk. The call that first needs one waits for it; the progress
 * handler may stop it. The host computes with compiled mode off, behind a point spread,
 * with nanoBragg's own amorphous material or capture, without NVRTC, after
 * NANOBRAG_RECOMPILE_LIMIT builds (8) or NANOBRAG_COMPILE_TIMEOUT seconds (120) for one,
 * and tangents along structure factors; nb_describe() says why. `dimage` is in host memory.
 *
 * Errors: those of nb_forward(), and NB_ERR_MEMORY also of that first call;
 * NB_ERR_UNSUPPORTED with nanoBragg's curved detector.
 */
NB_API nb_status nb_jvp(nb_simulator *sim, const double *x, int ndir, const double *dx,
                        nb_array *dimage);

/*
 * bar_x += J^T bar_image: the gradient of sum(bar_image * image), for several such sums.
 *
 *   x          [in]      parameters; NULL: the values of the scene (nparam)
 *   bar_image  [in]      cotangents, float32 or float64            (ncot x nslow x nfast)
 *   bar_x      [in,out]  gradients are added to it                 (ncot x nparam)
 *
 * One pass over the samples for each cotangent, whatever the number of parameters; by the
 * lanes in their precision, but for NB_REFERENCE, and with NB_SPOTS spot by spot, to its
 * tolerance (by lanes where a spot reaches, if samples are weighed one by one or F is
 * interpolated); on a device as in nb_jvp(), where cotangents may lie too, dense. What lies
 * under the mask or outside the ROI has no say. Errors: those of nb_forward(),
 * NB_ERR_UNSUPPORTED as in nb_jvp(), and for a cotangent on a device where the host
 * computes. After an error the gradients of the cotangents before it were added.
 */
NB_API nb_status nb_vjp(nb_simulator *sim, const double *x, int ncot,
                        const nb_array *bar_image, double *bar_x);

/* How many of the free parameters are not structure factors: rows of nb_normal.matrix. */
NB_API size_t nb_ndense(const nb_simulator *sim);

/* Results of nb_jtj() and nb_loss(): what is not NULL is added to. Dense are the parameters
 * but the structure factors F[h,k,l], in the order of x. */
typedef struct nb_normal {
    double *matrix; /* J^T W J over the dense parameters            (ndense x ndense) */
    double *diagonal; /* its diagonal over all                                (nparam) */
    double *coupling; /* its block dense x F                            (ndense x nF) */
    double *gradient; /* J^T W r                                              (nparam) */
} nb_normal;

/*
 * The normal matrix of a weighted least-squares fit, added up tile by tile: no Jacobian is
 * stored, but for a point spread, behind which it keeps an image of the ROI for each dense
 * parameter. Strategy and precision as in nb_jvp(); on a device, where weights and
 * residuals may lie too (dense), for up to 32 dense parameters. Of them 4 (8 in float) may
 * turn domains or phi steps apart: phi0, osc, spindle, mosaic spread and domain weights;
 * with an anisotropic spread also cell and misset. No structure factor may be free, nor
 * default_f where reflections are listed; else the host computes.
 *
 *   x         [in]      parameters; NULL: the values of the scene  (nparam)
 *   weight    [in]      W, one weight per pixel; NULL: 1           (nslow x nfast)
 *   residual  [in]      r, image less data; NULL: no gradient      (nslow x nfast)
 *   out       [in,out]  what is asked for
 *
 * Errors: those of nb_jvp(), after which nothing was added; NB_ERR_ARGUMENT for a gradient
 * without a residual.
 */
NB_API nb_status nb_jtj(nb_simulator *sim, const double *x, const nb_array *weight,
                        const nb_array *residual, nb_normal *out);

/* L of a pixel, I what is computed and y what was observed, w its weight:
 *
 *   NB_GAUSSIAN         w (I - y)^2/2
 *   NB_POISSON          w (I - y log(I))               curvature w/I
 *   NB_POISSON_READOUT  w ((I - y)^2/v + log(v))/2, v = I/gain + sigma_readout^2
 *                                                      curvature w/v
 *   NB_HUBER            w times (I - y)^2/2 for |I - y| < delta, else
 *                       delta |I - y| - delta^2/2      curvature w or 0
 */
enum nb_loss_kind { NB_GAUSSIAN, NB_POISSON, NB_POISSON_READOUT, NB_HUBER };

typedef struct nb_target {
    int kind; /* enum nb_loss_kind */
    const nb_array *observed; /* photons, float32 or float64         (nslow x nfast) */
    const nb_array *weight; /* NULL: 1                               (nslow x nfast) */
    double sigma_readout; /* photons */
    double gain; /* 0: 1 */
    double delta; /* photons; 0: 1 */
} nb_target;

/*
 * value = sum of L over the pixels, and its gradient: tile by tile in one pass, with the
 * strategy spots in one of the image and one of its adjoint. On a device as nb_vjp() and
 * nb_jtj(), the value alone as an image, which stays there; what is compared with may lie
 * there too, dense.
 *
 *   x       [in]      parameters; NULL: the values of the scene    (nparam)
 *   value   [out]     the loss
 *   out     [in,out]  NULL: the value alone. W is then the curvature of L at I (Gauss and
 *                     Newton's, never negative) and gradient that of the loss
 *
 * Errors: those of nb_jtj(); NB_ERR_ARGUMENT for NB_POISSON where a pixel that expects no
 * photon observed one.
 */
NB_API nb_status nb_loss(nb_simulator *sim, const double *x, const nb_target *target,
                         double *value, nb_normal *out);

/* What a scene comes to: its geometry in every convention, its counts. */
typedef struct nb_description {
    /* crystal, after misset, at phi = 0 and in the first domain */
    double cell[6], cell_star[6]; /* a b c al be ga, and reciprocal     A, 1/A, degree */
    double volume; /*                                                           A^3    */
    double real_axes[3][3]; /* a, b, c                                          A      */
    double star_axes[3][3]; /* a*, b*, c*                                       1/A    */
    double misset[3]; /*                                                        degree */
    double ncells[3];
    double star_sines[3], star_cosines[3]; /* of the reciprocal angles, before clipping */
    /* detector, in place */
    int nslow, nfast, convention, pivot; /* pivot: NB_PIVOT_BEAM or NB_PIVOT_SAMPLE */
    double pixel, size[2]; /* size: fast, slow                                  mm     */
    double fast[3], slow[3], normal[3], twotheta_axis[3]; /* unit vectors */
    double origin[3]; /* outer corner of the first pixel (pix0)                 mm     */
    double distance, close_distance; /*                                         mm     */
    double beam_fast, beam_slow; /* direct beam, from the outer corner          mm     */
    double close_fast, close_slow; /* nearest point, from the outer corner      mm     */
    double xbeam, ybeam; /* in the convention, as given or defaulted            mm     */
    double adxv[2], mosflm[2], denzo[2], dials_origin[3]; /* beam centre, x y   mm     */
    double xds_org[2]; /*                                                       pixel  */
    double thickness, mu; /* mu < 0: not given, 0: no sensor model         um, 1/m     */
    double layer_step; /*                                                       um     */
    /* beam */
    double beam[3], polarization_axis[3], vertical[3], spindle[3]; /* unit vectors */
    double fluence; /*                                                   photons/m^2   */
    double dispersion, dispersion_step; /* fraction */
    double divergence[2], divergence_step[2]; /* horizontal, vertical           radian */
    /* counts */
    int nsource, ngrid, ndispersion, nphi, ndomains, nlayers; /* ngrid: directions, 0
                                                           when sources were given */
    int oversample, oversample_wanted; /* wanted: what the rule asks for */
    int interpolate; /* NB_NEAREST or NB_TRICUBIC; without a list of reflections no effect
                      */
    int interpolate_auto; /* 1: chosen by rule */
    /* what runs; strategy and kernel: on the host, a device sums every sample */
    int strategy; /* enum nb_strategy, never NB_STRATEGY_AUTO */
    const char *strategy_why; /* one clause: why this one */
    const char *kernel; /* its instruction set: "scalar", "v2", "v3", "v4" or "base";
                           or "reference" */
    const char *device; /* of images: "cpu", or "cuda:0" and its name */
    const char *device_why; /* one clause: why this one */
    const char
        *derivatives; /* the same of derivatives, as far as is known before the next */
    const char *derivatives_why;
    int precision; /* enum nb_precision: NB_SINGLE when any of it is in float */
    double tolerance; /* of the image's peak */
    double rounding; /* estimated rounding error of the image at this precision, of its peak
                      */
    int tiles, tiles_small, tiles_double; /* tiles of NB_LANES; those divided, and those
                                             done in double, to keep the tolerance */
    double phi_step; /*                                                         degree */
    double sample_max, pixel_reciprocal; /* largest N |a|; lambda D/pixel       A      */
    double qmax; /* largest |q| on the detector                                 1/A    */
    int64_t pixels; /* rendered: in the ROI and not masked */
    double evaluations; /* pixels x sub-pixels x layers x sources x phi x domains */
    double background_intensity; /* nanoBragg's I_bg under NB_QUIRK_WATER, else 0 */
} nb_description;

/*
 *   x    [in]   parameters; NULL: the values of the scene          (nparam)
 *   out  [out]  filled
 */
NB_API nb_status nb_describe(nb_simulator *sim, const double *x, nb_description *out);

/*
 * Source i of the beam at x.
 *
 *   out        [out]  unit direction; weight as given, or 1/n for a generated one
 *   deviation  [out]  horizontal, vertical angle, 0 when sources were given; may be
 *                     NULL                                          radian   (2)
 */
NB_API nb_status nb_source_at(nb_simulator *sim, const double *x, int i, nb_source *out,
                              double *deviation);

/* Orientation of phi step i and domain j: rows a, b, c.             A      (3 x 3) */
NB_API nb_status nb_orientation_at(nb_simulator *sim, const double *x, int i, int j,
                                   double out[9]);

/* The last sample of one pixel, and what the pixel adds up to. */
typedef struct nb_pixel_trace {
    double stol; /* sin(theta)/lambda                                           1/A    */
    double position[3]; /* of the sample                                        m      */
    double h[3]; /* Miller indices of the sample */
    int hkl[3]; /* the nearest integers */
    double f_cell; /*                                                         electron */
    double f_latt;
    double sum; /* of F^2 over all samples of the pixel */
    double steps; /* sources x domains x phi steps x sub-pixels */
    double polarization, omega, capture; /* factors; omega in steradian */
    double intensity; /* of the pixel, before the point spread             photons     */
    double axes[3][3]; /* real-space axes of the sample: a, b, c                A      */
} nb_pixel_trace;

/* Evaluate pixel (slow, fast) of a panel (0) by the reference kernel. Errors:
 * NB_ERR_ARGUMENT. */
NB_API nb_status nb_trace_pixel(nb_simulator *sim, const double *x, int panel, int slow,
                                int fast, nb_pixel_trace *out);

NB_END_DECLS

#endif
