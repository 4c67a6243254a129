/*
 * laboratory.h - the geometry of a resolved scene in the frame of dxtbx, for the formats
 * that state it.
 *
 * A vector (x, y, z) in the frame of NeXus (McStas) and CrystFEL, where the beam travels
 * along +z, is (-x, y, -z) in the frame of dxtbx. A vector of our scene is (-x, y, -z),
 * too, under a convention whose beam is +z, and (z, y, -x) under one whose beam is +x. If
 * the beam has another direction in the scene, everything is turned, by the smallest angle,
 * until it travels along -z of dxtbx. So a written experiment may differ from the scene by
 * a rotation of the whole, on which no image depends.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_LABORATORY_H
#define NB_IO_LABORATORY_H

#include <nanobrag/context.h>
#include <nanobrag/scene.h>

#include "scene/detector/panels.h"

/* One flat panel. */
struct laboratory_panel {
    double fast[3], slow[3]; /* unit vectors along which the pixels are counted */
    double origin[3]; /* outer corner of the first pixel, mm */
    double pixel; /* edge of a pixel, mm */
    int nfast, nslow;
    int fast0, slow0; /* its first pixel in the image */
    const char *name; /* as in nb_panel, of the scene; NULL: none */
    int group; /* as in nb_panel */
};

/* The frame of a group of panels, mm. */
struct laboratory_group {
    struct panel_pose pose;
    const char *name; /* of the scene */
    int parent; /* as in nb_panel_group */
};

struct laboratory {
    double turn[3][3]; /* rows; a vector of the scene's frame times it is one of dxtbx's */
    double source[3]; /* unit vector from the crystal to the source: 0 0 1 */
    /* Unit vector at right angles to the beam and to its electric field, and the share of
     * the intensity whose field is at right angles to it: (1 + K)/2 of the Kahn factor. */
    double polarization_normal[3], polarization_fraction;
    double spindle[3]; /* unit vector; the crystal turns about it, right-handed, by phi */
    double real_axes[3][3]; /* rows a, b, c at phi = 0, without a mosaic rotation; A */
    int npanel, ngroup; /* of the detector; laboratory_panel() and _group() give them */
};

/* Computes the geometry of a resolved scene. Returns the errors of crystal_derive() and
 * detector_derive(). */
nb_status laboratory_of(nb_context *ctx, const nb_scene *scene, struct laboratory *out);

/* Computes panel i, 0 to npanel - 1, of the same scene, whose panels_middles() are
 * `middle`. */
nb_status laboratory_panel(nb_context *ctx, const nb_scene *scene,
                           const struct laboratory *laboratory,
                           const struct panel_middle *middle, int i,
                           struct laboratory_panel *out);

/* Computes group g, 0 to ngroup - 1, in the same way. */
void laboratory_group(const nb_scene *scene, const struct laboratory *laboratory,
                      const struct panel_middle *middle, int g,
                      struct laboratory_group *out);

/* Turns a vector from the scene's frame to dxtbx's. */
void laboratory_turn(const struct laboratory *laboratory, const double v[3], double out[3]);

/* Turns a vector from dxtbx's frame to NeXus's, or back. */
void laboratory_nexus(const double v[3], double out[3]);

#endif
