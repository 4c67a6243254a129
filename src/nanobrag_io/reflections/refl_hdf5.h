/*
 * refl_hdf5.h - reads tables of reflections that DIALS wrote as HDF5.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_REFLECTIONS_REFL_HDF5_H
#define NB_IO_REFLECTIONS_REFL_HDF5_H

#include <nanobrag/reflections.h>

/* Reads a file of n bytes. Errors: NB_ERR_FORMAT, NB_ERR_UNSUPPORTED (HDF5 is missing),
 * NB_ERR_MEMORY. */
nb_status refl_hdf5_read(nb_context *ctx, const char *path, size_t n, nb_reflections **out);

#endif
