/*
 * nxmx.h - writes an NXmx file frame by frame.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_IMAGES_NXMX_H
#define NB_IO_IMAGES_NXMX_H

#include <nanobrag/formats.h>

#include "nanobrag_io/images/exposure.h"

struct nxmx;

/* Begins a file. `options` has no defaults left and is checked. Errors: NB_ERR_UNSUPPORTED,
 * NB_ERR_FILE, NB_ERR_MEMORY. */
nb_status nxmx_begin(nb_context *ctx, const char *path, const nb_nxmx_options *options,
                     struct nxmx **out);

/* Compares the scene stated in a file with n numbers in `scene`, and its frames' checksums
 * with `rows`. Errors: NB_ERR_FILE, NB_ERR_UNSUPPORTED, NB_ERR_MEMORY, NB_ERR_FORMAT (the
 * file states no scene, or another number of frames), NB_ERR_SCENE (something differs). */
nb_status nxmx_compare(nb_context *ctx, const char *path, const double *scene, size_t n,
                       const double *rows, size_t frames);

/* Appends a frame. For a master `image` is NULL, and nxmx_append_file() is called before
 * the frames of each file. The first frame takes over the memory of the exposure, which
 * becomes empty. */
nb_status nxmx_append(struct nxmx *nxmx, struct exposure *exposure, const nb_array *image);

/* Adds a file of n frames to a master. `exposure` is of the file's first frame; the caller
 * keeps it. */
nb_status nxmx_append_file(struct nxmx *nxmx, const char *path, size_t n,
                           const struct exposure *exposure);

/* Makes all later calls fail, because a master has got only some frames of a file. */
void nxmx_spoil(struct nxmx *nxmx, nb_status status);

/* Counts the frames of a file. *master becomes 1 if the frames lie in other files. */
nb_status nxmx_frames(nb_context *ctx, const char *path, int64_t *n, int *master);

/* Completes the file. Frees `nxmx`, also after a failure. */
nb_status nxmx_end(struct nxmx *nxmx);

/* Removes the unfinished file, and frees `nxmx`, which may be NULL. */
void nxmx_drop(struct nxmx *nxmx);

/* Returns 1 if this HDF5 can write a compression (NB_COMPRESSION_...). */
int nxmx_can_compress(int compression);

#endif
