/*
 * target.h - checks the target of nb_loss() and fills in its defaults. The losses are
 * computed by physics/loss.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_TARGET_H
#define NB_IMAGE_TARGET_H

#include <nanobrag/context.h>
#include <nanobrag/simulator.h>

#include "physics/loss.h"

/* Checks the numbers of a target, but not its images. */
nb_status target_check(nb_context *ctx, const nb_target *target);

/* Returns the loss function of a target that passed target_check(), with its defaults. */
struct phys_loss_model target_model(const nb_target *target);

#endif
