/*
 * image.h - adds images, computes statistics of an image, converts an image to noisy
 * detector counts, and measures the spots of an observed image.
 *
 *   static double photons[512 * 512];
 *   static uint16_t pixels[512 * 512];
 *   nb_array image = nb_array_f64(photons, 512, 512);
 *   nb_array counts = nb_array_u16(pixels, 512, 512);
 *   const nb_digitizer how = {.scale = 1, .offset = 10, .noise = 1, .seed = 7};
 *   nb_statistics s;
 *
 *   if (nb_forward_add(sim, NULL, 0.5, &image) != NB_OK
 *       || nb_statistics_get(sim, NULL, &image, &s) != NB_OK
 *       || nb_digitize(sim, &how, &image, &counts) != NB_OK)
 *       puts(nb_context_message(ctx));
 *
 * Start values of a fit, from the boxes of one image:
 *
 *   nb_spot_size spot[NBOX];
 *   nb_start start;
 *
 *   if (nb_spot_sizes_measure(ctx, &scene, &target, spot) != NB_OK
 *       || nb_spot_sizes_start(ctx, NBOX, spot, &start) != NB_OK)
 *       puts(nb_context_message(ctx));
 *   for (int i = 0; i < 3 && start.spots > 0; i++)
 *       scene.crystal.ncells[i] = fmax(start.block / scene.crystal.cell[i], 1);
 *   if (start.spots > 0) scene.crystal.mosaic[0] = start.mosaic;
 *
 * Common errors of all calls (nb_digitize() has no x; nb_spot_sizes_...() name theirs):
 *
 *   NB_ERR_ARGUMENT   a NULL that is not allowed; or a parameter in x outside its bounds.
 *   NB_ERR_SHAPE      an array has a wrong size or type, or lies on a device that does not
 *                     compute the images of sim.
 *   NB_ERR_DONATED    an earlier call has overwritten the image (NB_DONATE in array.h).
 *   NB_ERR_SCENE, NB_ERR_UNIT_CELL  x gives an impossible geometry, or a flat cell.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_IMAGE_H
#define NANOBRAG_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include <nanobrag/array.h>
#include <nanobrag/context.h>
#include <nanobrag/export.h>
#include <nanobrag/scene.h>
#include <nanobrag/simulator.h>
#include <nanobrag/status.h>

NB_BEGIN_DECLS

/*
 * image += factor I(x): add the image at x to an image. Use this for a crystal in two
 * states, for several lattices, or for energies that each have their own structure factors
 * (docs/xfel.md).
 *
 *   x       [in]      parameters; NULL: the values of the scene    (nparam)
 *   factor  [in]      multiplies the photons of I(x); may be negative
 *   image   [in,out]  photons per pixel, float32 or float64        (nslow x nfast)
 *
 * I(x) has the bits of nb_forward() in float64, also for a float32 image. The sum of a
 * float32 image is rounded once. Added to zeros with factor 1, I(x) gives the image of
 * nb_forward(). Masked pixels, and pixels outside the ROI or outside all boxes, keep their
 * values. The first call allocates workspace for the rendered tiles.
 *
 * Derivatives. Let L be a loss of the sum, and bar_image its cotangent dL/dimage. Then
 * dL/dfactor is the inner product of bar_image and I(x). For dL/dx, call nb_vjp() with
 * factor times bar_image.
 *
 * The image may lie on the CUDA device, as in nb_forward(), but it has to be dense. The
 * call then copies the image to the host and back.
 *
 * Further errors: NB_ERR_ARGUMENT (factor is not finite); NB_ERR_SHAPE (a view with strides
 * on a device); NB_ERR_UNSUPPORTED (an image on a device, and a point spread; or the device
 * or compiled mode cannot do this, and NANOBRAG_STRICT=1 forbids another way);
 * NB_ERR_DEVICE (the device failed, and the image lies on it); NB_ERR_CANCELLED;
 * NB_ERR_MEMORY. After an error the call has added nothing. There is one exception: after
 * NB_ERR_DEVICE some pixels of an image on a device may already be sums.
 */
NB_API nb_status nb_forward_add(nb_simulator *sim, const double *x, double factor,
                                nb_array *image);

/* Statistics over the rendered pixels. A pixel is rendered if it is inside the ROI and not
 * masked. If there are boxes, it also has to be in a box. Pixel values are first rounded to
 * float32, as in nanoBragg. */
typedef struct nb_statistics {
    int64_t count; /* rendered pixels */
    double max; /* largest value; 0 if no pixel is above 0               photons   */
    double max_fast, max_slow; /* centre of the last sub-pixel of the first pixel with
                                  that value, from the outer corner of
                                  max_panel                              mm        */
    double sum, mean; /*                                                 photons   */
    double rms; /* sqrt(sum of squares/(count - 1))                      photons   */
    double rmsd; /* sqrt(sum of squared deviations from the mean/(count - 1)); with
                    NB_QUIRK_STATISTICS, pixels of the ROI that are not
                    rendered count as 0                                  photons   */
    double solid_angle; /* sum over the rendered pixels                  steradian */
    int64_t nonfinite; /* NaN or infinite pixels; sum, mean, rms and rmsd include them */
    int max_panel; /* panel of the maximum; 0 if the detector is one rectangle */
} nb_statistics;

/*
 * Compute the statistics of an image. The result has the same bits for any number of
 * threads.
 *
 *   x      [in]   parameters, for the solid angle; NULL: the values of the scene
 *                                                                      (nparam)
 *   image  [in]   photons, float32 or float64, on the host             (nslow x nfast)
 *   out    [out]  the statistics
 *
 * Errors: the common ones.
 */
NB_API nb_status nb_statistics_get(nb_simulator *sim, const double *x,
                                   const nb_array *image, nb_statistics *out);

/*
 * How nb_digitize() converts photons to counts.
 *
 *   noise 0:  counts = floor(photons scale + offset + 1/2)
 *   noise 1:  counts = floor(Poisson(photons) + offset)
 *
 * Counts of 16 bits are clamped to 0 ... 65535, and counts of 32 bits to 0 ... 2147483647.
 * Counts are 0 outside the ROI. For counts of 16 bits without noise, photons and sum are
 * rounded to float32.
 *
 * Random numbers come from Philox4x32-10 (Salmon et al., SC 2011) with key = seed and
 * counter = (pixel, draw, image). Poisson numbers are drawn by inversion for a mean below
 * 30, by PTRS (Hoermann, Insurance: Math. Econ. 12, 1993) above 30, and as rounded normal
 * numbers above 1e9. So a count depends only on seed, pixel, image and mean. It has the
 * same bits on every machine and CUDA device.
 */
typedef struct nb_digitizer {
    double scale; /* for noise 0, counts/photon; 0: 55000/max of the image */
    double offset; /* added to every count (pedestal), counts */
    int noise; /* 1: Poisson noise */
    int64_t seed; /* of the random numbers; each seed gives other noise */
    uint32_t image; /* index of the image in a series; each index gives other noise */
    /* [out] sum of the drawn photons; may be NULL. The sum is exact up to 2^53 and rounded
     * above. It is infinite if a pixel has 2^63 photons or more. */
    double *photons;
    int64_t *overloads; /* [out] number of pixels clamped at the largest count; may be
                           NULL */
} nb_digitizer;

/*
 * counts = digitised image: convert photons to counts.
 *
 *   how     [in]   the conversion; the call writes results to its pointers
 *   image   [in]   photons, float32 or float64                         (nslow x nfast)
 *   counts  [out]  NB_TYPE_UINT 16 or NB_TYPE_INT 32                   (nslow x nfast)
 *
 * Both arrays lie on the host, or both on the CUDA device that computes the simulator's
 * images (nb_description.device). On the device the counts are complete when the call
 * returns. They have the same bits as on the host. With NB_QUIRK_NOISE only the host draws
 * noise.
 *
 * On the host the counts may overwrite the image. Three things are then necessary: both
 * arrays are dense, counts.data equals image.data, and NB_DONATE is set in image.flags. The
 * call then sets NB_DONATED in image.flags. On a device a donated image is not overwritten
 * and stays valid.
 *
 * Further errors:
 *   NB_ERR_ARGUMENT     scale or offset is out of range; or the arrays overlap in another
 *                       way.
 *   NB_ERR_SHAPE        one array lies on a device and one on the host.
 *   NB_ERR_UNSUPPORTED  on a device: NB_QUIRK_NOISE, or counts in the memory of the image;
 *                       or the device or compiled mode cannot do this, and
 *                       NANOBRAG_STRICT=1 forbids another way.
 *   NB_ERR_DEVICE, NB_ERR_MEMORY.
 */
NB_API nb_status nb_digitize(nb_simulator *sim, const nb_digitizer *how, nb_array *image,
                             nb_array *counts);

/* ---- spots of an observed image, and start values of a fit by their sizes ---- */

/* The brightest spot in a box. A number that the pixels do not determine is NaN. */
typedef struct nb_spot_size {
    double q; /* 1/d at the middle of the spot                               1/A       */
    double two_theta; /* angle between the ray and the beam                  degree    */
    double photons, error; /* in the box, above the background; standard deviation */
    /* plane of background around the spot: its mean, and the variance of a pixel, which is
     * half the mean square of differences two pixels apart  photons, photons^2 a pixel */
    double background, variance;
    int64_t pixels; /* number of pixels of the background */
    /* variances of the spot, without pixel, point spread and divergence: across the plane
     * of beam and ray, and in this plane                                      1/A^2   */
    double tangential, radial;
} nb_spot_size;

/*
 * Measure the spot in each box of an observed image.
 *
 *   scene   [in]   with its boxes (nb_detector.box)
 *   target  [in]   only observed, weight and saturation count. The host holds the arrays
 *   spot    [out]  one for each box                                          (nbox)
 *
 * Background. A plane of least squares goes through the pixels within 2 pixels of the edge
 * of the box, inside and outside, without pixels more than 4 standard deviations above it.
 *
 * Widths. The second moments of a spot are weighted by a gaussian that has the width of the
 * spot, at least 1.4 pixel, and is found in some steps (Bernstein & Jarvis, Astron. J. 123,
 * 2002, 583). So neighbours and noise far from the spot hardly count, and the moments of a
 * gaussian spot are exact. Widths of a spot with a full
 * pixel, or with a masked pixel nearby, are NaN.
 *
 * Errors: the errors of nb_simulator_create() for the scene; NB_ERR_ARGUMENT (a NULL),
 * NB_ERR_SHAPE and NB_ERR_DONATED (of the arrays).
 */
NB_API nb_status nb_spot_sizes_measure(nb_context *ctx, const nb_scene *scene,
                                       const nb_target *target, nb_spot_size *spot);

/* Start values by the sizes of spots. A number that the spots do not determine is NaN. */
typedef struct nb_start {
    int64_t spots; /* spots that decided block, mosaic and strain; 0: too few */
    double block, block_error; /* edge N |a| of a mosaic block                 A      */
    double mosaic, mosaic_error; /* mosaic spread, as nb_crystal.mosaic        degree */
    /* relative standard deviation of wavelength and spacings d together */
    double strain, strain_error;
    int64_t boxes; /* boxes that decided the gain; 0: too few */
    double gain, gain_error; /* variance over mean of the background: counts a photon if
                                the images hold counts */
} nb_start;

/*
 * Find start values by spots of one or more images.
 *
 * Sizes. A block of N cells of edge a widens all spots by the same variance in reciprocal
 * space, K/(N a)^2 with K = 0.63/4 for gaussian blocks (docs/theory.md, 5). A mosaic spread
 * of standard deviation e turns q, and so widens spots by (e q)^2, perpendicular to q. A
 * relative spread s of wavelength or spacing widens them by (s q)^2 along q (Williamson &
 * Hall, Acta Metall. 1, 1953, 22). The Ewald sphere cuts the spot. So to first order
 *
 *   tangential           = K/(N a)^2 + (e q)^2
 *   radial cos(theta)^2  = K/(N a)^2 + (s q)^2
 *
 * Least squares over both widths of all spots give the three numbers. Spots of less than 5
 * standard deviations do not count (10, if there are enough of them), and widths that are
 * more than 4 deviations off the line leave. A term that is 0 within its error starts at
 * its error.
 *
 * These are start values, and no results: the shape of the pixels, the divergence, the size
 * of the crystal, and a real distribution of orientations all change the widths. Expect a
 * factor of 2, or 3 for the mosaic spread.
 *
 *   n      [in]   number of spots, 0 or more
 *   spot   [in]   spots of nb_spot_sizes_measure()                                (n)
 *   start  [out]  the start values
 *
 * Errors: NB_ERR_ARGUMENT (a NULL), NB_ERR_MEMORY.
 */
NB_API nb_status nb_spot_sizes_start(nb_context *ctx, size_t n, const nb_spot_size *spot,
                                     nb_start *start);

NB_END_DECLS

#endif
