/*
 * laboratory.h - the geometry of a resolved scene in the frame of dxtbx, for file formats.
 *
 * The frame of NeXus (McStas) and CrystFEL has the beam along +z; its vector (x, y, z) is
 * (-x, y, -z) in the frame of dxtbx. A vector of the scene becomes (-x, y, -z) under a
 * convention with the beam along +z, and (z, y, -x) under a convention with the beam along
 * +x. If the beam of the scene has another direction, everything is also rotated by the
 * smallest angle that brings the beam to -z of dxtbx. So a written experiment may differ
 * from the scene by a rotation of everything, which does not change an image.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_LABORATORY_H
#define NB_IO_LABORATORY_H

#include <nanobrag/context.h>
#include <nanobrag/scene.h>

#include "scene/detector/panels.h"

/* one flat panel */
struct laboratory_panel {
    double fast[3], slow[3]; /* unit vectors along the rows and columns of pixels */
    double origin[3]; /* outer corner of the first pixel, mm */
    double pixel; /* edge of a pixel, mm */
    int nfast, nslow;
    int fast0, slow0; /* first pixel in the image */
    const char *name; /* in the scene; NULL: no name */
    int group; /* number of its group, as in nb_panel */
};

/* the frame of a group of panels, mm */
struct laboratory_group {
    struct panel_pose pose;
    const char *name; /* in the scene */
    int parent; /* number of its parent, as in nb_panel_group */
};

struct laboratory {
    double turn[3][3]; /* rotation (rows) from the scene's frame to dxtbx's */
    double source[3]; /* unit vector from the crystal to the source: 0 0 1 */
    /* A unit vector perpendicular to the beam and to its electric field, and the share of
     * the intensity whose field is perpendicular to that vector: (1 + K)/2 with Kahn's
     * factor K. */
    double polarization_normal[3], polarization_fraction;
    double spindle[3]; /* unit vector; the crystal turns about it by phi, right-handed */
    double real_axes[3][3]; /* a, b, c as rows, at phi = 0, without a mosaic rotation; A */
    int npanel, ngroup; /* numbers of panels and groups of the detector */
};

/* Computes the geometry of a resolved scene, except for panels and groups. Returns the
 * errors of crystal_derive() and detector_derive(). */
nb_status laboratory_of(nb_context *ctx, const nb_scene *scene, struct laboratory *out);

/* Computes panel i of the scene, 0 to npanel - 1. `middle` comes from panels_middles(). */
nb_status laboratory_panel(nb_context *ctx, const nb_scene *scene,
                           const struct laboratory *laboratory,
                           const struct panel_middle *middle, int i,
                           struct laboratory_panel *out);

/* Computes group g of the scene, 0 to ngroup - 1. `middle` comes from panels_middles(). */
void laboratory_group(const nb_scene *scene, const struct laboratory *laboratory,
                      const struct panel_middle *middle, int g,
                      struct laboratory_group *out);

/* Rotates a vector from the frame of the scene to the frame of dxtbx. */
void laboratory_turn(const struct laboratory *laboratory, const double v[3], double out[3]);

/* Converts a vector from the frame of dxtbx to the frame of NeXus, or back. */
void laboratory_nexus(const double v[3], double out[3]);

#endif
