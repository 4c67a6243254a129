/*
 * measured.h - an image that a reader of one format fills.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_MEASURED_MEASURED_H
#define NB_IO_MEASURED_MEASURED_H

#include <nanobrag/io.h>

#include "nanobrag_io/file.h"
#include "nanobrag_io/text.h"

/* Most pixels of a frame. */
static const uint64_t measured_most = INT32_MAX;

/* Makes an image with one frame and one panel, and allocates its pixels. The numbers of its
 * header are unknown (NAN), and its gain is 1. Returns NB_ERR_FORMAT if it has no pixels or
 * too many, NB_ERR_MEMORY. */
nb_status measured_new(nb_context *ctx, const char *name, uint64_t nfast, uint64_t nslow,
                       nb_measured **out);

/* The pixels of the image, to be filled. */
double *measured_pixels(nb_measured *image);

/* Marks pixels below `least` as bad, and with `equal` 1 only those equal to it. */
nb_status measured_mask(nb_context *ctx, const char *name, nb_measured *image, double least,
                        int equal);

/* The mask of the image, made with all pixels trusted if there is none; NULL: no memory. */
uint8_t *measured_mask_of(nb_measured *image);

/* Returns NB_ERR_ARGUMENT if a file has no such frame. */
nb_status measured_check_frame(nb_context *ctx, const char *name, int64_t frame,
                               int64_t frames);

/* The largest number of a type of array.h; INFINITY for reals. */
double measured_largest(int type, int bits);

/* Parses a file in memory, of any kind but HDF5, and expands it first; `to` is
 * nb_measured **. */
file_parser measured_parse;

/* Parses a CBF; reads what the text before its pixels states. */
file_parser cbf_parse;
nb_status cbf_header(nb_context *ctx, const char *name, struct span text,
                     nb_measured *image);

#endif
