/*
 * solid_angle.h - the solid angle of a flat detector, without a sum over its pixels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_SOLID_ANGLE_H
#define NB_IMAGE_SOLID_ANGLE_H

#include "base/window.h"
#include "physics/frame.h"

/* Computes the sum of the solid angles of the pixels, steradian, to rounding. Returns 0,
 * with `out` unchanged, if the method does not apply: the detector is curved or near, its
 * pixels are points, the window is narrow, masked or has boxes, or omega is evaluated for
 * every sample. */
int solid_angle_of_rows(const struct window *window, const struct phys_frame *frame,
                        double *out);

#endif
