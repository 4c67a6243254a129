/* psf.c - tangent and adjoint of the point spread of image/psf.c.
 * SPDX-License-Identifier: MIT */
#include "grad/psf.h"

#include "scene/detector/detector.h"

void psf_tangent(struct psf *psf, const nb_scene *scene, const nb_scene *dot,
                 const double *photons, double *change)
{
    for (int i = 0; i < detector_panels(&scene->detector); i++) {
        const struct psf_panel panel = psf_panel_of(&scene->detector, i);
        const double width = scene->psf.fwhm / panel.pixel;
        const double pixel_dot = panel.common ? dot->detector.pixel : 0;
        const double width_dot = (dot->psf.fwhm - width * pixel_dot) / panel.pixel;

        psf_apply(psf, &panel, width, change);
        if (width_dot != 0) psf_add_slope(psf, &panel, width, width_dot, photons, change);
    }
}

void psf_adjoint(struct psf *psf, const nb_scene *scene, const double *photons,
                 double *cotangent, nb_scene *bar)
{
    for (int i = 0; i < detector_panels(&scene->detector); i++) {
        const struct psf_panel panel = psf_panel_of(&scene->detector, i);
        const double width = scene->psf.fwhm / panel.pixel;

        if (photons) {
            const double width_bar = psf_slope_dot(psf, &panel, width, photons, cotangent);

            bar->psf.fwhm += width_bar / panel.pixel;
            if (panel.common) bar->detector.pixel -= width_bar * width / panel.pixel;
        }
        psf_apply(psf, &panel, width, cotangent);
    }
}
