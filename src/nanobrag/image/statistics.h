/*
 * statistics.h - max, mean, rms and rmsd as nanoBragg prints them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_STATISTICS_H
#define NB_IMAGE_STATISTICS_H

#include <nanobrag/array.h>
#include <nanobrag/image.h>

#include "image/window.h"

/* Fills count, max, sum, mean, rms, rmsd and the pixel (slow, fast) of the maximum (-1, -1
 * when no pixel is above 0). `quirk_rmsd`: over all ROI pixels, masked ones as 0. */
void statistics_of(const struct window *window, const nb_array *image, int quirk_rmsd,
                   nb_statistics *out, int max_at[2]);

/* Pixels f .. f + n - 1 of row s as floats, those that are not rendered as 0. */
void statistics_pixels(const struct window *window, const nb_array *image, int s, int f,
                       int n, float *out);

#endif
