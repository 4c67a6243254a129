/*
 * cbf.h - writes miniCBF images.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_IMAGES_CBF_H
#define NB_IO_IMAGES_CBF_H

#include <nanobrag/array.h>

#include "nanobrag_io/images/exposure.h"

/* Returns NB_ERR_UNSUPPORTED for a geometry that miniCBF cannot state. Both functions need
 * an exposure after exposure_turn_forwards(). */
nb_status cbf_check(nb_context *ctx, const struct exposure *exposure);

/* Writes an image; `overload` is the largest valid count. Returns the
 * same errors as nb_cbf_write(). */
nb_status cbf_write(nb_context *ctx, const char *path, const struct exposure *exposure,
                    double overload, const nb_array *counts);

#endif
