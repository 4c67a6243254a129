/*
 * geometry.h - a detector of panels as a file states it. Panels are kept in two frames:
 * readers fill in the frame with the beam along +z, and geometry_finish() the frame with
 * the beam along +x.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_GEOMETRY_GEOMETRY_H
#define NB_IO_GEOMETRY_GEOMETRY_H

#include <nanobrag/geometry.h>

/* the frames: for conventions with the beam along +z, and along +x */
enum { ALONG_Z, ALONG_X, FRAMES };

struct nb_geometry {
    nb_geometry_info info;
    nb_panel *panel[FRAMES];
    nb_panel_group *group[FRAMES];
    uint8_t *mask;
    double shift[2]; /* of the whole detector along x and y, mm */
    int is_placed; /* 1: the origins include the distance; a scene must not state one */
    /* places of distance and wavelength in data files; NULL: the numbers are known */
    char *distance_from, *wavelength_from;
};

/* Allocates panels and groups, all 0, and sets their numbers. `name` is the file's, for
 * messages. The caller calls nb_geometry_free(), also after a failure. */
nb_status geometry_reserve(nb_context *ctx, const char *name, int npanel, int ngroup,
                           nb_geometry *out);

/* Fills in the frame with the beam along +x from the other frame. Only panels and groups
 * without a parent are turned, because others are relative to their parent. */
void geometry_finish(nb_geometry *geometry);

#endif
