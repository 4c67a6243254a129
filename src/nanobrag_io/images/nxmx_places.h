/*
 * nxmx_places.h - where the panels of an NXmx file lie in its array of pixels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_IMAGES_NXMX_PLACES_H
#define NB_IO_IMAGES_NXMX_PLACES_H

#include <stdint.h>

#include <nanobrag/context.h>

/* A module: the path of its group, which the caller sets, and its rectangle (slow, fast).
 */
struct nxmx_place {
    const char *path;
    int64_t origin[2], size[2];
};

/* Reads the rectangles of n modules; whole[] becomes the size of the array (slow, fast),
 * 0 0 where the file has none at the usual place. Errors: NB_ERR_FILE, NB_ERR_UNSUPPORTED
 * (a build without HDF5). */
nb_status nxmx_read_places(nb_context *ctx, const char *path, struct nxmx_place *place,
                           int n, int64_t whole[2]);

#endif
