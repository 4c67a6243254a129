/*
 * digitize.h - converts photons to counts of 16 or 32 bits.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_DIGITIZE_H
#define NB_IMAGE_DIGITIZE_H

#include <nanobrag/array.h>
#include <nanobrag/image.h>

#include "base/window.h"
#include "physics/noise/counts.h"
#include "scene/random.h"

/* Converts an image to counts. The caller has checked both arrays. `quirk` is the random
 * stream of the scene if noise is drawn as nanoBragg draws it, else NULL. The counts do not
 * depend on the number of threads. Counts may lie in the memory of the image, if both
 * arrays are dense and begin at the same address. */
void digitize(const struct window *window, const nb_digitizer *how, const nb_array *image,
              const struct random_stream *quirk, int threads, nb_array *counts);

/* Returns the number of photons in a tally: exact up to 2^53, rounded once above, infinite
 * if a pixel has 2^63 or more. */
double digitize_photons(const struct phys_tally *tally);

#endif
