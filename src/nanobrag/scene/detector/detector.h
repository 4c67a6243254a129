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
#include "scene/detector/panels.h"

struct layers; /* scene/detector/layers.h */

/* Position of the detector after its rotations. Lengths are in metres, and all vectors but
 * pix0 have length 1. */
struct detector_place {
    int nfast,
        nslow; /* pixels of the detector or, of one of several panels, of the panel */
    double pixel; /* edge of a pixel */
    double beam[3], fast[3], slow[3], normal[3], twotheta_axis[3];
    double pix0[3]; /* outer corner of the first pixel */
    double distance, close; /* to the detector along the beam, along its normal */
    double beam_fast, beam_slow; /* direct beam, from the outer corner */
    double close_fast, close_slow; /* point nearest to the crystal, from the outer corner */
    double xbeam, ybeam; /* beam centre of the convention */
    int pivot; /* enum nb_pivot */
};

/* Fills the defaults of sizes, vectors, origin, pivot and ROI, and checks them; `middle` is
 * as for panels_resolve(). */
nb_status detector_resolve(nb_context *ctx, nb_scene *scene, struct panel_middle *middle);

/* Changes how a resolved detector is stated: by its distance along the beam in place of the
 * distance along its normal. Applies to a detector that is placed by the point nearest to
 * the crystal and turns about this point, as a panel of an .expt does. The point stays, so
 * a change of the distance moves the detector along its normal. Any other detector is left
 * unchanged. */
void detector_measure_along_beam(nb_scene *scene);

/* Returns the number of rectangles of a detector: its panels, or 1. */
int detector_panels(const nb_detector *detector);

/* Computes the position of rectangle i of a resolved detector; `middle` holds the middles
 * of the groups of panels. Returns NB_ERR_SCENE if the crystal cannot illuminate it. */
nb_status detector_derive(nb_context *ctx, const nb_scene *scene,
                          const struct panel_middle *middle, int i,
                          struct detector_place *out);

/* The same for panel i of a detector of panels; *out has its size and pixel on entry. */
nb_status panels_derive(nb_context *ctx, const nb_scene *scene,
                        const struct panel_middle *middle, int i,
                        struct detector_place *out);

/* Completes a place from its axes, outer corner and beam; `ratio` is the cosine between the
 * beam and the normal. */
void detector_complete(double ratio, struct detector_place *out);

/* Computes corner 0 .. 3 of a rectangle, metres. */
void detector_corner(const struct detector_place *place, int corner, double p[3]);

/* The numbers that decide on steps, sub-pixels and layers. In reciprocal space one over the
 * step of a pixel is wavelength x distance/pixel. The distance is taken along the beam, but
 * no larger than the distance of the farthest corner: a detector at a large two theta has
 * no pixel where the beam meets its plane. */
struct detector_scale {
    double reciprocal_pixel; /* one over the step, the least of all panels, A */
    double qmax; /* the largest |q| on the detector, 1/A; of the shortest wavelength */
    int panel; /* the panel that the direct beam meets, or is nearest to */
    double downstream; /* position of the farthest corner along the beam, m */
    double steepest; /* the largest tangent of the angle between a ray and a normal */
    double finest; /* the least edge of a pixel, m */
};

nb_status detector_scale_of(nb_context *ctx, const nb_scene *scene,
                            const struct panel_middle *middle, double shortest,
                            struct detector_scale *out);

/* Sets the members of the frame that belong to the detector. */
void detector_frame(const nb_scene *scene, const struct detector_place *place,
                    const struct layers *layers, struct phys_frame *frame);

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
