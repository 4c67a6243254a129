/*
 * psf.h - the point spread in a direction of the parameters, and back: its width is
 * psf.fwhm/detector.pixel, its radius is fixed. Neither allocates.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GRAD_PSF_H
#define NB_GRAD_PSF_H

#include <nanobrag/scene.h>

#include "image/psf.h"

/*
 *   photons  [in]      before the point spread
 *   change   [in,out]  of the photons before it, then of the image after it
 */
void psf_tangent(struct psf *psf, const nb_scene *scene, const nb_scene *dot,
                 const double *photons, double *change);

/*
 *   photons    [in]      before the point spread; NULL: nobody asks for its width
 *   cotangent  [in,out]  of the image after it, then of the photons before it
 *   bar        [in,out]  psf.fwhm and detector.pixel are added to
 */
void psf_adjoint(struct psf *psf, const nb_scene *scene, const double *photons,
                 double *cotangent, nb_scene *bar);

#endif
