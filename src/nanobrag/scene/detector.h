/*
 * detector.h - conventions, beam centres, pivots and rotations to a detector in place.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_DETECTOR_H
#define NB_SCENE_DETECTOR_H

#include <nanobrag/scene.h>

#include "physics/frame.h"

/* the detector in place; lengths in metres, vectors of length 1 */
struct detector_place {
    double beam[3], fast[3], slow[3], normal[3], twotheta_axis[3];
    double pix0[3];
    double distance, close; /* along the beam, along the normal */
    double beam_fast, beam_slow; /* direct beam from the outer corner */
    double close_fast, close_slow; /* nearest point from the outer corner */
    double xbeam, ybeam; /* beam centre in the convention */
    int pivot;
};

/* Defaults: sizes, vectors, origin, pivot, ROI. */
nb_status detector_resolve(nb_context *ctx, nb_scene *scene);

/* Put the detector of a resolved scene in place. */
nb_status detector_derive(nb_context *ctx, const nb_scene *scene,
                          struct detector_place *out);

/* The members of the frame that belong to the detector; layer_step in metres. */
void detector_frame(const nb_scene *scene, const struct detector_place *place,
                    double layer_step, struct phys_frame *frame);

/* What a pixel spans in reciprocal space, as a length: wavelength x distance/pixel, A. The
 * distance along the beam, but never more than that of the farthest corner: a detector at
 * a large two theta has no pixel out there. */
double detector_reciprocal_pixel(const nb_scene *scene, const struct detector_place *place);

/* Largest |q| on the detector, 1/A, for wavelengths down to `shortest`. */
double detector_qmax(const nb_scene *scene, const struct detector_place *place,
                     double shortest);

/* Beam centre of a convention from the direct beam in metres: x, y in metres. */
void detector_beam_centre(int convention, const double size[2], double pixel, double fast,
                          double slow, double xy[2]);

/* The direct beam, metres from the outer corner, from Xbeam, Ybeam of a convention (mm),
 * size and pixel of the detector. Linear in all of them: of their changes it gives the
 * change. */
void detector_beam_from_centre(int convention, const nb_detector *d, const double xy[2],
                               double *fast, double *slow);

#endif
