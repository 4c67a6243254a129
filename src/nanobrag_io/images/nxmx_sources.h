/*
 * nxmx_sources.h - the files whose frames an NXmx master shows as one array.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_IMAGES_NXMX_SOURCES_H
#define NB_IO_IMAGES_NXMX_SOURCES_H

#include <stddef.h>

#include <nanobrag/formats.h>

#include "nanobrag_io/images/hdf5/hdf5_tree.h"

struct nxmx_source {
    char *path; /* as written in the master file */
    size_t frames; /* number of frames */
};

struct nxmx_sources {
    struct nxmx_source *at; /* (n), with memory for `room` */
    size_t n, room;
};

/* the array of pixels in a file */
struct nxmx_pixels {
    /* frames, slow, fast */
    hsize_t size[3];
    hid_t type; /* type of HDF5 in the file */
};

/* Counts the frames of a file, and tells whether it is a master. Errors: NB_ERR_FILE,
 * NB_ERR_FORMAT, NB_ERR_UNSUPPORTED. */
nb_status nxmx_count(nb_context *ctx, const char *path, int64_t *frames, int *master);

/* Adds a file to the list, after checking that its pixels have the given type and size
 * (including the number of frames). A path that does not begin with a slash is relative to
 * the folder of `master`. Errors: NB_ERR_FILE, NB_ERR_SHAPE, NB_ERR_MEMORY. */
nb_status nxmx_sources_add(nb_context *ctx, struct nxmx_sources *sources,
                           const char *master, const char *path,
                           const struct nxmx_pixels *pixels);
void nxmx_sources_free(struct nxmx_sources *sources);

/* Creates the virtual array that shows the pixels of all files. */
void nxmx_sources_write(struct hdf5_tree *tree, const struct nxmx_sources *sources,
                        const struct nxmx_pixels *pixels);

#endif
