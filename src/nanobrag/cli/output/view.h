/*
 * view.h - what a pixel of the described detector sees: the program's own look at the
 * geometry, for warnings and the picture, not for rendering.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OUTPUT_VIEW_H
#define NB_CLI_OUTPUT_VIEW_H

#include <nanobrag/nanobrag.h>

struct view {
    const nb_description *description;
    double wavelength; /* A */
};

/* Scattering vector at (fast, slow) in pixels from the outer corner.          1/A */
void view_q(const struct view *view, double fast, double slow, double q[3]);

/* Its length. */
double view_q_length(const struct view *view, double fast, double slow);

/* Where the direct beam meets the detector, pixels; returns 0 when it does not. */
int view_beam(const struct view *view, double at[2]);

#endif
