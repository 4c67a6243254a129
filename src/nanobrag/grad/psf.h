/*
 * psf.h - tangent and adjoint of the point spread. Its width in pixels is
 * psf.fwhm/detector.pixel; the radius of its kernel is fixed. No function here allocates
 * memory.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GRAD_PSF_H
#define NB_GRAD_PSF_H

#include <nanobrag/scene.h>

#include "image/psf.h"

/*
 * Applies the tangent.
 *
 *   dot      [in]      tangent of the scene
 *   photons  [in]      image before the point spread
 *   change   [in,out]  tangent of the image before the point spread, then after it
 */
void psf_tangent(struct psf *psf, const nb_scene *scene, const nb_scene *dot,
                 const double *photons, double *change);

/*
 * Applies the adjoint.
 *
 *   photons    [in]      image before the point spread; NULL: the width is not a parameter
 *   cotangent  [in,out]  cotangent of the image after the point spread, then before it
 *   bar        [in,out]  cotangents of psf.fwhm and detector.pixel are added here
 */
void psf_adjoint(struct psf *psf, const nb_scene *scene, const double *photons,
                 double *cotangent, nb_scene *bar);

#endif
