/*
 * nxmx_sources.h - the files whose pixels a master of NXmx shows as its own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_IMAGES_NXMX_SOURCES_H
#define NB_IO_IMAGES_NXMX_SOURCES_H

#include <stddef.h>

#include <nanobrag/formats.h>

#include "nanobrag_io/images/hdf5/hdf5_tree.h"

struct nxmx_source {
    char *path; /* as the master names it */
    size_t frames; /* number of all its frames */
};

struct nxmx_sources {
    struct nxmx_source *at; /* (n) in room for `room` */
    size_t n, room;
};

/* The pixels of a file: frames x slow x fast, of a type of HDF5. */
struct nxmx_pixels {
    hsize_t size[3];
    hid_t type; /* in the file; one of HDF5's own */
};

/* Count the frames of a file, and tell whether its array is virtual. Errors: NB_ERR_FILE,
 * NB_ERR_FORMAT, NB_ERR_UNSUPPORTED. */
nb_status nxmx_count(nb_context *ctx, const char *path, int64_t *frames, int *master);

/* Add a file to the list after a check that its pixels have the given type and size; the
 * size includes the number of frames. A path without a slash at its start begins in the
 * folder of `master`. Errors: NB_ERR_FILE, NB_ERR_SHAPE, NB_ERR_MEMORY. */
nb_status nxmx_sources_add(nb_context *ctx, struct nxmx_sources *sources,
                           const char *master, const char *path,
                           const struct nxmx_pixels *pixels);
void nxmx_sources_free(struct nxmx_sources *sources);

/* Create the array of the pixels of all files, which is virtual. */
void nxmx_sources_write(struct hdf5_tree *tree, const struct nxmx_sources *sources,
                        const struct nxmx_pixels *pixels);

#endif
