/*
 * nxmx_places.h - reads where the panels of an NXmx file lie in its array of pixels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_IMAGES_NXMX_PLACES_H
#define NB_IO_IMAGES_NXMX_PLACES_H

#include <stdint.h>

#include <nanobrag/context.h>

/* A panel (module of NXmx): the path of its group, which the caller sets, and its first
 * pixel and size in the array (slow, fast). */
struct nxmx_place {
    const char *path;
    int64_t origin[2], size[2];
};

/* Reads the paths of the n modules of the first detector in the order of their names, which
 * is the order of the panels in dxtbx. Returns NB_ERR_FORMAT if the file has another number
 * of them; and the errors of nxmx_read_places(). */
enum { NXMX_PATH = 512 };
nb_status nxmx_read_modules(nb_context *ctx, const char *path, int n,
                            char (*out)[NXMX_PATH]);

/* Reads the places of n panels. If the array has an axis of panels, they lie one below the
 * other. whole[] becomes the size of the array (slow, fast), or 0 0
 * if the file has no array at the usual path. Errors: NB_ERR_FILE, NB_ERR_UNSUPPORTED (a
 * build without HDF5). */
nb_status nxmx_read_places(nb_context *ctx, const char *path, struct nxmx_place *place,
                           int n, int64_t whole[2]);

#endif
