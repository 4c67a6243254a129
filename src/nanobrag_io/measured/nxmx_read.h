/*
 * nxmx_read.h - reads frames of NXmx, and of HDF5 as DECTRIS writes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_MEASURED_NXMX_READ_H
#define NB_IO_MEASURED_NXMX_READ_H

#include <nanobrag/io.h>

/* Reads a frame. Errors: NB_ERR_FORMAT, NB_ERR_ARGUMENT (no such frame), NB_ERR_UNSUPPORTED
 * (a filter is missing, or HDF5 itself), NB_ERR_MEMORY. */
nb_status nxmx_read(nb_context *ctx, const char *path, int64_t frame, nb_measured **out);

#endif
