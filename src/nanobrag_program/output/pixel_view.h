/*
 * pixel_view.h - computes the scattering vector of a pixel and the place of the direct beam
 * for warnings and pictures. Rendering does not use it.
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

/* Finds the scattering vector, 1/A, at a place that is given in pixels from the outer
 * corner of the first pixel. */
void view_q(const struct view *view, double fast, double slow, double q[3]);

/* Returns the length of the scattering vector at a place, 1/A. */
double view_q_length(const struct view *view, double fast, double slow);

/* Finds where the direct beam meets the detector, pixels. Returns 0 if it does not meet
 * it. */
int view_beam(const struct view *view, double at[2]);

#endif
