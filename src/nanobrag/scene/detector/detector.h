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

/* The place of a detector or panel after all rotations. Lengths are in metres; all vectors
 * but pix0 have length 1. */
struct detector_place {
    int nfast, nslow; /* pixels of the detector or panel */
    double pixel; /* edge of a pixel */
    double beam[3], fast[3], slow[3], normal[3], twotheta_axis[3];
    double pix0[3]; /* outer corner of the first pixel */
    double distance, close; /* from the crystal: along the beam, and along the normal */
    double beam_fast, beam_slow; /* where the direct beam hits, from the outer corner */
    double close_fast, close_slow; /* point nearest to the crystal, from the outer corner */
    double xbeam, ybeam; /* beam centre as the convention states it */
    int pivot; /* enum nb_pivot */
};

/* Fills the defaults of sizes, vectors, origin, pivot and ROI, and checks them. If the
 * detector has panels, `middle` is filled by panels_resolve(). */
nb_status detector_resolve(nb_context *ctx, nb_scene *scene, struct panel_middle *middle);

/* States a resolved detector by its distance along the beam instead of the distance along
 * its normal. The function is for a detector that is placed by the point nearest to the
 * crystal and pivots about the crystal, as a panel of an .expt does. The nearest point
 * stays the same, so that a later change of the distance moves the detector along its
 * normal. Any other detector is left unchanged. */
void detector_measure_along_beam(nb_scene *scene);

/* Returns the number of rectangles of a detector: its panels, or 1. */
int detector_panels(const nb_detector *detector);

/* Computes the place of rectangle i of a resolved detector, which is panel i or the whole
 * detector. `middle` holds the middles of the groups of panels. Returns NB_ERR_SCENE if the
 * crystal cannot illuminate the rectangle. */
nb_status detector_derive(nb_context *ctx, const nb_scene *scene,
                          const struct panel_middle *middle, int i,
                          struct detector_place *out);

/* Computes the place of panel i as detector_derive() does; the caller has set nfast, nslow
 * and pixel of *out. */
nb_status panels_derive(nb_context *ctx, const nb_scene *scene,
                        const struct panel_middle *middle, int i,
                        struct detector_place *out);

/* Computes the remaining members of a place from its axes, pix0 and beam. `ratio` is the
 * cosine between the beam and the normal. */
void detector_complete(double ratio, struct detector_place *out);

/* Computes corner 0 .. 3 of a rectangle, m; bit 0 of `corner` is the end along fast, bit 1
 * along slow. */
void detector_corner(const struct detector_place *place, int corner, double p[3]);

/* The numbers of a detector that decide on steps, sub-pixels and layers. In reciprocal
 * space a pixel has the size pixel/(wavelength x distance). The distance is taken along the
 * beam, but no larger than the distance of the farthest corner: a detector at a large two
 * theta has no pixel where the beam meets its plane. */
struct detector_scale {
    /* one over the size of a pixel in reciprocal space, A; the least over all panels */
    double reciprocal_pixel;
    double qmax; /* the largest |q| on the detector at the shortest wavelength, 1/A */
    int panel; /* number of the panel that the direct beam meets, or is nearest to */
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

/* Converts the place (fast, slow) where the direct beam hits to the beam centre x, y of a
 * convention. All lengths have the same unit. */
void detector_beam_centre(int convention, const double size[2], double pixel, double fast,
                          double slow, double xy[2]);

/* Converts the beam centre xy of a convention, mm, to the place where the direct beam hits,
 * in metres from the outer corner. The result is linear in xy, size and pixel, so that the
 * function also converts tangents of them. */
void detector_beam_from_centre(int convention, const nb_detector *d, const double xy[2],
                               double *fast, double *slow);

#endif
