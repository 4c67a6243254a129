/*
 * solid_angle.h - the solid angle of a flat detector, by a formula for each row of pixels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_SOLID_ANGLE_H
#define NB_IMAGE_SOLID_ANGLE_H

#include "base/window.h"
#include "physics/frame.h"

/* Writes the sum of the solid angles of the window's pixels, in steradian, with an error of
 * rounding only. Returns 0 and leaves *out unchanged where the formula does not apply: the
 * detector is curved or near, its pixels are points, the window is narrow, masked or has
 * boxes, or omega is computed for every sample. */
int solid_angle_of_rows(const struct window *window, const struct phys_frame *frame,
                        double *out);

#endif
