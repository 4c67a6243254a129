/*
 * reflections.h - finds the reflections that share a free structure factor; private to
 * grad/.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GRAD_REFLECTIONS_H
#define NB_GRAD_REFLECTIONS_H

#include "grad/grad.h"
#include "scene/reflections/symmetry.h"

/* Finds the listed reflections that are equivalent to a listed one, itself included. Writes
 * their places in the box, in ascending order, and returns their number. */
int reflections_equivalent(const nb_hkl *hkl, const struct symmetry *symmetry, size_t place,
                           size_t out[48]);

/* Fills params->f. On entry the index of a structure factor in params->at is the place of
 * one of its reflections in the box; on return it is its number in params->f. */
nb_status reflections_collect(nb_context *ctx, const nb_scene *scene,
                              const struct symmetry *symmetry, struct params *params);

#endif
