/*
 * place.h - where a reflection of a continuous crystal (scene/continuous/continuous.h) lies
 * on the detector, and how far its spot extends.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_PLACE_H
#define NB_KERNELS_CONTINUOUS_PLACE_H

#include "kernels/continuous/list.h"

/* Adds the spots of a reflection to the table. Returns 0 if there is no memory. */
int place_reflection(const struct view *view, const struct list_settings *settings,
                     const struct spot_name *name, struct spot_table *out);

/* Returns the largest variance that the size of the crystal can give to a spot, 1/A^2; k is
 * the wave number, 1/A. */
double list_widest_size(const struct job *job, double k);

/* Makes room for more spots and for numbers on nodes; returns 0 if there is no memory. */
int list_grow(struct spot_table *table, size_t spots, size_t numbers);

#endif
