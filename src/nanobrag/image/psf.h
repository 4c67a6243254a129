/*
 * psf.h - point spread of the detector: a convolution by FFTW with a kernel of sum 1. The
 * image is padded with zeros, so that light does not wrap around its edges.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_PSF_H
#define NB_IMAGE_PSF_H

#include <nanobrag/context.h>
#include <nanobrag/scene.h>

struct psf; /* transforms and buffers for images of one size */

/* The pixels that light spreads over: a panel, or a whole image. */
struct psf_panel {
    int nslow, nfast; /* at most the sizes of the transforms */
    size_t first, stride; /* its first pixel in the image, and from a row to the next */
    double pixel; /* edge of a pixel, mm */
    int common; /* 1: that edge is nb_detector.pixel */
};

/* Returns the pixels that light spreads over: panel i of a resolved detector, or its
 * rectangle.
 */
struct psf_panel psf_panel_of(const nb_detector *detector, int i);

/* Returns the default radius of a kernel, in pixels. */
int psf_default_radius(int kind, double fwhm_pixels);

/* Makes a point spread; psf->radius must be decided. The transforms are chosen by estimate:
 * the same in every run, so images have the same bits. FFTW wisdom of the calling program
 * is neither used nor changed. Returns NB_ERR_UNSUPPORTED in a build without FFTW,
 * NB_ERR_MEMORY. */
nb_status psf_create(nb_context *ctx, const nb_psf *psf, int nslow, int nfast,
                     struct psf **out);

/* Convolves a panel of an image with the kernel, which is computed from fwhm_pixels, so
 * that fwhm can be a parameter, unless the call before had the same. Panel NULL stands for
 * an image of the size of the transforms. The operation is linear and its own adjoint. No
 * function below allocates. */
void psf_apply(struct psf *psf, const struct psf_panel *panel, double fwhm_pixels,
               double *image);

/* Adds factor x (d kernel/d fwhm_pixels, at fixed radius, convolved with photons) to image.
 * This convolution is linear and its own adjoint, too. */
void psf_add_slope(struct psf *psf, const struct psf_panel *panel, double fwhm_pixels,
                   double factor, const double *photons, double *image);

/* Returns the sum over pixels of weight x (d kernel/d fwhm_pixels convolved
 * with photons). */
double psf_slope_dot(struct psf *psf, const struct psf_panel *panel, double fwhm_pixels,
                     const double *photons, const double *weight);

/* Returns the bytes of its buffers; 0 for NULL. */
size_t psf_bytes(const struct psf *psf);

/* Frees a point spread; NULL is allowed. */
void psf_free(struct psf *psf);

#endif
