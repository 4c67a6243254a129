/*
 * statistics.h - maximum, mean, rms and rmsd of an image, as nanoBragg defines them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_STATISTICS_H
#define NB_IMAGE_STATISTICS_H

#include <nanobrag/array.h>
#include <nanobrag/image.h>

#include "base/window.h"

/* Computes count, max, sum, mean, rms, rmsd and nonfinite of the rendered pixels. max_at is
 * the pixel (slow, fast) of the maximum, or -1 -1 if no pixel is above 0. With quirk_rmsd,
 * masked pixels of the ROI count as 0 in rmsd, as in nanoBragg. */
void statistics_of(const struct window *window, const nb_array *image, int quirk_rmsd,
                   nb_statistics *out, int max_at[2]);

enum { STATISTICS_PIECE = 1024 }; /* largest n of statistics_pixels() */

/* Reads pixels f .. f + n - 1 of row s as floats. Pixels that are not rendered are 0. */
void statistics_pixels(const struct window *window, const nb_array *image, int s, int f,
                       int n, float *out);

#endif
