/*
 * reflections.h - structure factors that share one parameter; private to grad/.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GRAD_REFLECTIONS_H
#define NB_GRAD_REFLECTIONS_H

#include "grad/grad.h"
#include "scene/reflections/symmetry.h"

/* Finds the places of the listed equivalents of a listed reflection, with its own, in
 * ascending order. Returns their number. */
int reflections_equivalent(const nb_hkl *hkl, const struct symmetry *symmetry, size_t place,
                           size_t out[48]);

/* Fills params->f. On entry the index of a structure factor is the place of one of its
 * reflections; on return it counts in params->f. */
nb_status reflections_collect(nb_context *ctx, const nb_scene *scene,
                              const struct symmetry *symmetry, struct params *params);

#endif
