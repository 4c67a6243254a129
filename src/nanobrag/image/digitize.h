/*
 * digitize.h - photons to 16-bit counts.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_DIGITIZE_H
#define NB_IMAGE_DIGITIZE_H

#include <nanobrag/array.h>
#include <nanobrag/image.h>

#include "image/window.h"
#include "physics/counts.h"
#include "scene/random.h"

/* counts = digitised image; both already checked. `quirk`: the generator of nanoBragg as
 * the scene left it, for its noise; NULL: ours. Threads share the rows of our noise, any
 * number of them giving the same counts. Counts may lie in the memory of the image, both
 * dense and at the same address. */
void digitize(const struct window *window, const nb_digitizer *how, const nb_array *image,
              const struct random_stream *quirk, int threads, nb_array *counts);

/* The photons of a tally: rounded once above 2^53, infinite where a pixel has 2^63. */
double digitize_photons(const struct phys_tally *tally);

#endif
