/*
 * cbf.h - writes miniCBF images.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_IMAGES_CBF_H
#define NB_IO_IMAGES_CBF_H

#include <nanobrag/array.h>

#include "nanobrag_io/images/exposure.h"

/* Refuses a geometry that the format cannot state: NB_ERR_UNSUPPORTED. In both functions
 * the exposure turns forwards. */
nb_status cbf_check(nb_context *ctx, const struct exposure *exposure);

/* Writes an image; `overload` is the largest valid count. Errors: as nb_cbf_write(). */
nb_status cbf_write(nb_context *ctx, const char *path, const struct exposure *exposure,
                    double overload, const nb_array *counts);

#endif
