/*
 * target.h - what an image is compared with: the check of an nb_target, and its defaults.
 * The losses themselves are physics/loss.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_TARGET_H
#define NB_IMAGE_TARGET_H

#include <nanobrag/context.h>
#include <nanobrag/simulator.h>

#include "physics/loss.h"

/* NB_OK when the target makes sense, whatever its images are. */
nb_status target_check(nb_context *ctx, const nb_target *target);

/* The loss of a target that passed target_check(). */
struct phys_loss_model target_model(const nb_target *target);

#endif
