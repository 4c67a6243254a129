/*
 * normal_spread.h - the normal matrix behind a point spread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_NORMAL_SPREAD_H
#define NB_NORMAL_SPREAD_H

#include "kernels/pull.h"
#include "simulator.h"

/* *value and what `out` asks for, as nb_loss(). Errors: those of nb_forward(). */
nb_status normal_spread(nb_simulator *sim, const nb_scene *scene,
                        const struct phys_frame *frame, const struct pull *pull,
                        double *value, const nb_normal *out);

#endif
