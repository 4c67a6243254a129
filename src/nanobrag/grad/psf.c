/* psf.c - tangent and adjoint of the point spread of image/psf.c.
 * SPDX-License-Identifier: MIT */
#include "grad/psf.h"

void psf_tangent(struct psf *psf, const nb_scene *scene, const nb_scene *dot,
                 const double *photons, double *change)
{
    const double pixel = scene->detector.pixel, width = scene->psf.fwhm / pixel;
    const double width_dot = (dot->psf.fwhm - width * dot->detector.pixel) / pixel;

    psf_apply(psf, width, change);
    if (width_dot != 0) psf_add_slope(psf, width, width_dot, photons, change);
}

void psf_adjoint(struct psf *psf, const nb_scene *scene, const double *photons,
                 double *cotangent, nb_scene *bar)
{
    const double pixel = scene->detector.pixel, width = scene->psf.fwhm / pixel;

    if (photons) {
        const double width_bar = psf_slope_dot(psf, width, photons, cotangent);

        bar->psf.fwhm += width_bar / pixel;
        bar->detector.pixel -= width_bar * width / pixel;
    }
    psf_apply(psf, width, cotangent);
}
