/*
 * psf.h - point spread of the detector: a convolution by FFTW, zero padded so that edges
 * are linear, with a kernel of sum 1.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_PSF_H
#define NB_IMAGE_PSF_H

#include <nanobrag/context.h>
#include <nanobrag/scene.h>

struct psf; /* transforms and buffers for one image size */

/* The radius in pixels that a kernel of this kind gets when none is asked for. */
int psf_default_radius(int kind, double fwhm_pixels);

/* Transforms that are measured, not estimated: what FFTW knows from another process, NULL
 * for nothing, and how long it may try; then what it knows now, for free(), NULL for
 * nothing, and whether the time was too short or they were measured. The transforms of a
 * size are the same for all that ask for measured ones in a process. */
struct psf_tuning {
    const char *known;
    double seconds;
    char *found;
    int cut_short, measured;
};

/* `tuning`: NULL for estimated transforms, the same in every run, hence the same bits.
 * Wisdom that the program has given FFTW neither helps nor changes.
 * NB_ERR_UNSUPPORTED in a build without FFTW. `psf->radius` must be decided. */
nb_status psf_create(nb_context *ctx, const nb_psf *psf, int nslow, int nfast,
                     struct psf_tuning *tuning, struct psf **out);

/* image := kernel * image, dense nslow x nfast; allocates nothing. The kernel is made
 * anew from fwhm (in pixels), so that it may be a parameter. Linear and its own adjoint. */
void psf_apply(struct psf *psf, double fwhm_pixels, double *image);

/* image += factor (slope * photons), where the slope is what the kernel changes by per unit
 * of fwhm at its fixed radius; also linear and its own adjoint. */
void psf_add_slope(struct psf *psf, double fwhm_pixels, double factor,
                   const double *photons, double *image);

/* The sum over pixels of weight (slope * photons). */
double psf_slope_dot(struct psf *psf, double fwhm_pixels, const double *photons,
                     const double *weight);

/* Memory it holds; 0 for NULL. */
size_t psf_bytes(const struct psf *psf);

void psf_free(struct psf *psf);

#endif
