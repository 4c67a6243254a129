/*
 * pixel_view.h - the scattering vector of a pixel and the place of the direct beam,
 * computed by the program for warnings and the picture, not for rendering.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OUTPUT_PIXEL_VIEW_H
#define NB_CLI_OUTPUT_PIXEL_VIEW_H

#include <nanobrag/nanobrag.h>

struct view {
    const nb_description *description;
    double wavelength; /* A */
};

/* The scattering vector at (fast, slow) in pixels from the outer corner, 1/A. */
void view_q(const struct view *view, double fast, double slow, double q[3]);

/* The length of the scattering vector at (fast, slow), 1/A. */
double view_q_length(const struct view *view, double fast, double slow);

/* The place where the direct beam meets the detector, pixels; returns 0 when it does not.
 */
int view_beam(const struct view *view, double at[2]);

#endif
