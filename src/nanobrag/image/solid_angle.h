/*
 * solid_angle.h - the solid angle of a plain detector without a sum over its pixels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_SOLID_ANGLE_H
#define NB_IMAGE_SOLID_ANGLE_H

#include "image/window.h"
#include "physics/frame.h"

/* Steradian, the sum of the pixels' own solid angles but for rounding. Returns 0 (out
 * untouched) where the detector is curved or near, the window narrow or masked, or the
 * pixels are weighted sample by sample. */
int solid_angle_of_rows(const struct window *window, const struct phys_frame *frame,
                        double *out);

#endif
