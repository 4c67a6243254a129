/*
 * image.h - what is done with a finished image: statistics, noise, counts.
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

/* Over rendered pixels (in the ROI and not masked), of the values rounded to float32. */
typedef struct nb_statistics {
    int64_t count;
    double max; /* 0 when no pixel is above 0                              photons     */
    double max_fast, max_slow; /* where: last sub-pixel of the first such pixel     mm */
    double sum, mean;
    double rms; /* sqrt(sum of squares/(count - 1)) */
    double rmsd; /* sample standard deviation; NB_QUIRK_STATISTICS: see there */
    double solid_angle; /* of the rendered pixels                            steradian */
    int64_t nonfinite; /* pixels that are NaN or infinite; the sums hold them */
    int max_panel; /* where the maximum lies: 0 in this version */
} nb_statistics;

/*
 *   x      [in]   parameters (for the solid angle); NULL: the scene's  (nparam)
 *   image  [in]   float32 or float64, on the host                      (nslow x nfast)
 *   out    [out]  the same for any number of threads
 */
NB_API nb_status nb_statistics_get(nb_simulator *sim, const double *x,
                                   const nb_array *image, nb_statistics *out);

/*
 * How photons become counts.
 *
 * noise 0: counts = floor(photons scale + offset + 1/2), from float32 photons.
 * noise 1: counts = floor(Poisson(photons) + offset). The draws are those of Philox4x32-10
 * (Salmon et al., SC 2011) with key = seed and counter = (pixel, draw, image), by
 * inversion below a mean of 30 and by PTRS (Hoermann, 1993) above, a rounded normal
 * above 1e9: they depend on seed, pixel, image and expected value alone, and have the same
 * bits on every machine, CUDA devices included.
 * Both are clamped to 0 ... 65535. Outside the ROI counts are 0.
 */
typedef struct nb_digitizer {
    double scale; /* of noise 0; 0: 55000/max */
    double offset; /* pedestal                                              counts     */
    int noise; /* 1: Poisson noise */
    int64_t seed;
    uint32_t image; /* number of the image in a series */
    /* [out] sum of the drawn photons, may be NULL: of whole numbers, as whole numbers, so
     * exact up to 2^53, rounded beyond, infinite with a pixel of 2^63 or more */
    double *photons;
    int64_t *overloads; /* [out] pixels clamped at 65535, may be NULL */
} nb_digitizer;

/*
 * counts = digitised image.
 *
 *   image   [in]   float32 or float64                                  (nslow x nfast)
 *   counts  [out]  NB_UINT 16                                          (nslow x nfast)
 *
 * Both lie on the host, or both on the device that computes the simulator's images
 * (NB_CUDA; nb_description.device): then counts are made there, complete when the call
 * returns, with the bits that the host gives. NB_QUIRK_NOISE draws on the host alone.
 *
 * An image that is given away (NB_DONATE) lends the counts its memory: where counts.data is
 * image.data, both dense, no second image is needed, and image.flags say NB_DONATED
 * afterwards. On a device an image that is given away is not used, and stays valid.
 *
 * Errors: NB_ERR_ARGUMENT where the two reach into each other otherwise, NB_ERR_DONATED for
 * an image that was given away before, NB_ERR_SHAPE (also one on a device and one not, or
 * where no image is made), NB_ERR_UNSUPPORTED (on a device: NB_QUIRK_NOISE, or counts in
 * the memory of their image), NB_ERR_DEVICE and NB_ERR_MEMORY (on a device that failed).
 */
NB_API nb_status nb_digitize(nb_simulator *sim, const nb_digitizer *how, nb_array *image,
                             nb_array *counts);

NB_END_DECLS

#endif
