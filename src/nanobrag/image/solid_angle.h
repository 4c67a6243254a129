/*
 * solid_angle.h - the solid angle that the rendered pixels see.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_SOLID_ANGLE_H
#define NB_IMAGE_SOLID_ANGLE_H

#include "image/window.h"
#include "physics/frame.h"

/* Steradian. `quirk`: nanoBragg's number, the sum over layers and sub-pixels divided by
 * its steps. `row` is work memory, one number per row of the image. */
double solid_angle_of(const struct window *window, const struct phys_frame *frame,
                      int quirk, int threads, double *row);

#endif
