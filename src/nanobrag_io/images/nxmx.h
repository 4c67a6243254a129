/*
 * nxmx.h - an NXmx file that is being written.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_IMAGES_NXMX_H
#define NB_IO_IMAGES_NXMX_H

#include <nanobrag/formats.h>

#include "nanobrag_io/images/exposure.h"

struct nxmx;

/* Begins a file; `options` are complete and checked. Errors: NB_ERR_UNSUPPORTED,
 * NB_ERR_FILE, NB_ERR_MEMORY. */
nb_status nxmx_begin(nb_context *ctx, const char *path, const nb_nxmx_options *options,
                     struct nxmx **out);

/* Compares the scene that a file states with n numbers and with the checksums of its
 * frames. Errors: NB_ERR_FILE, NB_ERR_UNSUPPORTED, NB_ERR_MEMORY, NB_ERR_FORMAT (the file
 * states no scene, or has another number of frames), NB_ERR_SCENE (it is another scene). */
nb_status nxmx_compare(nb_context *ctx, const char *path, const double *scene, size_t n,
                       const double *rows, size_t frames);

/* Appends a frame; it takes the contents of the exposure. In a master the image is NULL,
 * and nxmx_append_file() comes before the frames of each file. */
nb_status nxmx_append(struct nxmx *nxmx, struct exposure *exposure, const nb_array *image);

/* Adds a file of n frames to a master; `exposure` belongs to the file's first frame; the
 * caller keeps it. */
nb_status nxmx_append_file(struct nxmx *nxmx, const char *path, size_t n,
                           const struct exposure *exposure);

/* Makes all later calls fail: a file of a master has not all of its frames. */
void nxmx_spoil(struct nxmx *nxmx, nb_status status);

/* Counts the frames of a file; *master becomes 1 if the frames lie in other files. */
nb_status nxmx_frames(nb_context *ctx, const char *path, int64_t *n, int *master);

/* Completes the file, and frees it in any case. */
nb_status nxmx_end(struct nxmx *nxmx);

/* Removes the file, and frees `nxmx`; NULL is allowed. */
void nxmx_drop(struct nxmx *nxmx);

/* Returns 1 if a compression can be written here. */
int nxmx_can_compress(int compression);

#endif
