/*
 * reflections.h - structure factors that are one parameter, for the files of grad/.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GRAD_REFLECTIONS_H
#define NB_GRAD_REFLECTIONS_H

#include "grad/grad.h"
#include "scene/reflections/symmetry.h"

/* Places of the listed equivalents of a listed reflection, itself among them, ascending.
 * Returns how many. */
int reflections_equivalent(const nb_hkl *hkl, const struct symmetry *symmetry, size_t place,
                           size_t out[48]);

/* Fill params->f. On entry the index of a structure factor is the place of one of its
 * reflections, on return that of params_f. */
nb_status reflections_collect(nb_context *ctx, const nb_scene *scene,
                              const struct symmetry *symmetry, struct params *params);

#endif
