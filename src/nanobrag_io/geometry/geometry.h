/*
 * geometry.h - a detector of panels as a file states it. Readers fill in the lists in the
 * frame whose beam is +z; geometry_finish() fills in the lists in the frame whose beam is
 * +x.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_GEOMETRY_GEOMETRY_H
#define NB_IO_GEOMETRY_GEOMETRY_H

#include <nanobrag/geometry.h>

/* The frames of panels: for conventions whose beam is +z, and +x. */
enum { ALONG_Z, ALONG_X, FRAMES };

struct nb_geometry {
    nb_geometry_info info;
    nb_panel *panel[FRAMES];
    nb_panel_group *group[FRAMES];
    uint8_t *mask;
    double shift[2]; /* along x and y, mm */
    int is_placed; /* 1: the origins include the distance, so the scene must not give one */
    char *distance_from, *wavelength_from;
};

/* Allocates the lists, which become 0, and sets their lengths; `name` is the file's, for
 * messages. nb_geometry_free() is right in any case. */
nb_status geometry_reserve(nb_context *ctx, const char *name, int npanel, int ngroup,
                           nb_geometry *out);

/* Copies the lists to the other frame; panels and groups that are in no group are
 * turned. */
void geometry_finish(nb_geometry *geometry);

#endif
