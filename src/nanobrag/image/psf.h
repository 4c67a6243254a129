/*
 * psf.h - the point spread of the detector: a convolution, by FFTW, with a kernel whose sum
 * is 1. The image is padded with zeros, so that light does not wrap around its edges.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_PSF_H
#define NB_IMAGE_PSF_H

#include <nanobrag/context.h>
#include <nanobrag/scene.h>

struct psf; /* transforms and buffers for images of one size */

/* The pixels among which light spreads: a panel, or a whole image. */
struct psf_panel {
    int nslow, nfast; /* at most the sizes given to psf_create() */
    /* index in the image of the first pixel; pixels from row to row */
    size_t first, stride;
    double pixel; /* edge of a pixel, mm */
    int common; /* 1: `pixel` is nb_detector.pixel; 0: it is the panel's own */
};

/* Returns the pixels among which light spreads: panel i of a resolved detector, or the
 * whole image if the detector is one rectangle. */
struct psf_panel psf_panel_of(const nb_detector *detector, int i);

/* Returns the default radius of a kernel of this kind (NB_PSF_...), in pixels. */
int psf_default_radius(int kind, double fwhm_pixels);

/* Makes a point spread for panels of up to nslow x nfast pixels; psf->radius must not be 0.
 * FFTW chooses its plans by estimate, which is the same in every run, so that images have
 * the same bits. FFTW wisdom of the calling program is neither used nor changed. Errors:
 * NB_ERR_UNSUPPORTED in a build without FFTW, NB_ERR_MEMORY. */
nb_status psf_create(nb_context *ctx, const nb_psf *psf, int nslow, int nfast,
                     struct psf **out);

/* Convolves a panel of an image with the kernel. The kernel is computed from fwhm_pixels,
 * so that fwhm can be a parameter, and is kept for the next call with the same value. If
 * panel is NULL, `image` has the nslow x nfast pixels of psf_create(). The operation is
 * linear and its own adjoint. This function and the next two do not allocate memory. */
void psf_apply(struct psf *psf, const struct psf_panel *panel, double fwhm_pixels,
               double *image);

/* Adds to `image` factor times the convolution of `photons` with d kernel/d fwhm_pixels,
 * taken at a fixed radius. This convolution, too, is linear and its own adjoint. */
void psf_add_slope(struct psf *psf, const struct psf_panel *panel, double fwhm_pixels,
                   double factor, const double *photons, double *image);

/* Returns the inner product of `weight` with the convolution of `photons` with d kernel/d
 * fwhm_pixels. */
double psf_slope_dot(struct psf *psf, const struct psf_panel *panel, double fwhm_pixels,
                     const double *photons, const double *weight);

/* Returns the bytes of the buffers; 0 for NULL. */
size_t psf_bytes(const struct psf *psf);

/* Frees a point spread; NULL is allowed. */
void psf_free(struct psf *psf);

#endif
