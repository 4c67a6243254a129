/*
 * image.h - sums of images, the statistics of a finished one, and its conversion to noisy
 * detector counts.
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
 * Common errors, which every call returns; nb_digitize() has no x:
 *
 *   NB_ERR_ARGUMENT   a NULL that is not allowed; a parameter of x outside its bounds.
 *   NB_ERR_SHAPE      an array of another size or type; an array on a device that does not
 *                     compute the images of sim.
 *   NB_ERR_DONATED    the image was donated before.
 *   NB_ERR_SCENE, NB_ERR_UNIT_CELL  x gives an impossible geometry, or a flat cell.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_IMAGE_H
#define NANOBRAG_IMAGE_H

#include <stdint.h>

#include <nanobrag/array.h>
#include <nanobrag/simulator.h>
#include <nanobrag/status.h>

NB_BEGIN_DECLS

/*
 * image += factor I(x): sums of images, such as two states, several lattices, or energies
 * with structure factors of their own (docs/xfel.md).
 *
 *   x       [in]      parameters; NULL: the values of the scene    (nparam)
 *   factor  [in]      of the photons, may be negative
 *   image   [in,out]  photons per pixel, float32 or float64        (nslow x nfast)
 *
 * I(x) has the bits of nb_forward() in float64, also for a float32 image, whose sum is
 * rounded once. Added to zeros with factor 1, it gives the image of nb_forward(). Pixels
 * outside the ROI or all boxes, and masked ones, keep their values. The first call
 * allocates the rendered tiles as workspace.
 *
 * Derivatives of a loss L(image), with the cotangent bar_image = dL/dimage: dL/dfactor is
 * the inner product of bar_image and I(x). For dL/dx call nb_vjp() with the cotangent
 * multiplied by the factor.
 *
 * The image may lie on the CUDA device, dense, as in nb_forward(). It is then copied to the
 * host and back.
 *
 * Errors: NB_ERR_ARGUMENT also for a factor that is not finite; NB_ERR_SHAPE also for a
 * view with strides on a device; NB_ERR_UNSUPPORTED (an image on a device and a point
 * spread; or compiled mode or the device cannot do this, and NANOBRAG_STRICT=1 forbids to
 * fall back); NB_ERR_DEVICE (the device failed, and the image lies on it);
 * NB_ERR_CANCELLED; NB_ERR_MEMORY. After an error nothing has been added, but some pixels
 * of an image on a device may be sums after NB_ERR_DEVICE.
 */
NB_API nb_status nb_forward_add(nb_simulator *sim, const double *x, double factor,
                                nb_array *image);

/* Statistics over the rendered pixels. A pixel is rendered if it is inside the ROI, not
 * masked and, where there are boxes, in a box. Pixel values are rounded to float32 first,
 * as nanoBragg does. */
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
    int max_panel; /* panel of the maximum; 0 where the detector is one rectangle */
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
 * Counts are clamped to 0 ... 65535, counts of 32 bits to 0 ... 2147483647. They are 0
 * outside the ROI. For counts of 16 bits without noise, photons and sum are rounded to
 * float32.
 *
 * Random numbers come from Philox4x32-10 (Salmon et al., SC 2011) with key = seed and
 * counter = (pixel, draw, image). A Poisson number is drawn by inversion for a mean below
 * 30, by PTRS (Hoermann, Insurance: Math. Econ. 12, 1993) above, and as a rounded normal
 * number above 1e9. So a count depends only on seed, pixel, image and mean, with the same
 * bits on every machine and CUDA device.
 */
typedef struct nb_digitizer {
    double scale; /* for noise 0, counts/photon; 0: 55000/max of the image */
    double offset; /* added to every count (pedestal), counts */
    int noise; /* 1: Poisson noise */
    int64_t seed; /* of the random numbers; each value gives other noise */
    uint32_t image; /* index of the image in a series, for independent noise */
    /* [out] sum of the drawn photons; may be NULL. Exact up to 2^53, rounded above, and
     * infinite if a pixel has 2^63 photons or more. */
    double *photons;
    int64_t *overloads; /* [out] number of pixels clamped at the largest count; may be
                           NULL */
} nb_digitizer;

/*
 * counts = digitised image.
 *
 *   how     [in]   the conversion; its pointers receive results
 *   image   [in]   photons, float32 or float64                         (nslow x nfast)
 *   counts  [out]  NB_TYPE_UINT 16 or NB_TYPE_INT 32                   (nslow x nfast)
 *
 * Both arrays lie on the host, or both on the CUDA device that computes the simulator's
 * images (nb_description.device). On the device the counts are complete when the call
 * returns and have the same bits as on the host. With NB_QUIRK_NOISE noise is drawn on the
 * host only.
 *
 * The counts may overwrite the image on the host: both arrays dense, counts.data equal to
 * image.data, and NB_DONATE set in image.flags. The call then sets NB_DONATED there. A
 * donated image on a device is not overwritten and stays valid.
 *
 * Errors, besides the common ones:
 *   NB_ERR_ARGUMENT     scale or offset out of range; arrays that overlap in another way.
 *   NB_ERR_SHAPE        one array on a device and one on the host.
 *   NB_ERR_UNSUPPORTED  on a device: NB_QUIRK_NOISE, or counts in the memory of the image;
 *                       or compiled mode or the device cannot do this, and
 *                       NANOBRAG_STRICT=1 forbids to fall back.
 *   NB_ERR_DEVICE, NB_ERR_MEMORY.
 */
NB_API nb_status nb_digitize(nb_simulator *sim, const nb_digitizer *how, nb_array *image,
                             nb_array *counts);

NB_END_DECLS

#endif
