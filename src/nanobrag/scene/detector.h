/*
 * detector.h - computes the position of the detector from conventions, beam centres, pivots
 * and rotations (docs/conventions.md).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_DETECTOR_H
#define NB_SCENE_DETECTOR_H

#include <nanobrag/scene.h>

#include "physics/frame.h"

/* Position of the detector after its rotations. Lengths are in metres, and all vectors but
 * pix0 have length 1. */
struct detector_place {
    double beam[3], fast[3], slow[3], normal[3], twotheta_axis[3];
    double pix0[3]; /* outer corner of the first pixel */
    double distance, close; /* to the detector along the beam, along its normal */
    double beam_fast, beam_slow; /* direct beam, from the outer corner */
    double close_fast, close_slow; /* point nearest to the crystal, from the outer corner */
    double xbeam, ybeam; /* beam centre of the convention */
    int pivot; /* enum nb_pivot */
};

/* Fills the defaults of sizes, vectors, origin, pivot and ROI, and checks them. */
nb_status detector_resolve(nb_context *ctx, nb_scene *scene);

/* Computes the position of the detector of a resolved scene. Returns NB_ERR_SCENE if the
 * crystal cannot illuminate it. */
nb_status detector_derive(nb_context *ctx, const nb_scene *scene,
                          struct detector_place *out);

/* Sets the members of the frame that belong to the detector; layer_step is in metres. */
void detector_frame(const nb_scene *scene, const struct detector_place *place,
                    double layer_step, struct phys_frame *frame);

/* Returns wavelength x distance/pixel, A, the inverse of the step of a pixel in reciprocal
 * space. The distance is that along the beam, but at most that of the farthest corner,
 * because a detector at a large two theta has no pixel where the beam meets its plane. */
double detector_reciprocal_pixel(const nb_scene *scene, const struct detector_place *place);

/* Returns the largest |q| on the detector, 1/A; `shortest` is the shortest
 * wavelength, A. */
double detector_qmax(const nb_scene *scene, const struct detector_place *place,
                     double shortest);

/* Converts the direct beam (fast, slow) to the beam centre x, y of a convention. All
 * lengths have the same unit. */
void detector_beam_centre(int convention, const double size[2], double pixel, double fast,
                          double slow, double xy[2]);

/* Converts the beam centre xy of a convention, mm, to the direct beam, metres from the
 * outer corner. It is linear in xy, size and pixel, so that it also converts their
 * tangents. */
void detector_beam_from_centre(int convention, const nb_detector *d, const double xy[2],
                               double *fast, double *slow);

#endif
