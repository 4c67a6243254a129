/*
 * nanobrag_fit/boxes/boxes.h - errors by the scatter among boxes.
 *
 * Where a model is wrong about a spot (it lies a tenth of a pixel off, or is grainy), it is
 * in all its pixels and images at once, which a misfit of pixels, as if each erred for
 * itself, does not see. A fit without box b would end a step d_b away, and the G boxes in
 * turn give the covariance of the jackknife (Efron & Stein, Ann. Statist. 9, 1981, 586),
 *
 *   C = (G - 1)/G sum over b of d_b d_b^T + H^-1 R H^-1,   d_b = (H - H_b)^-1 g_b
 *
 * H is the matrix of the fit and R the matrix of its restraints; g_b and H_b are gradient
 * and matrix of the pixels of box b, summed over all shots. A pixel belongs to the first
 * box that holds it. H^-1 g_b alone would be too short a step: a few strong spots determine
 * the values, which then describe these spots better than they should.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_BOXES_BOXES_H
#define NB_FIT_BOXES_BOXES_H

#include <nanobrag/fit.h>

/* Notes the boxes of a shot. */
void boxes_note(nb_fit *fit, const nb_scene *scene);

/* Returns why a fit has no errors by boxes; NULL: it has. They take more boxes than values
 * that are fitted. */
const char *boxes_why_not(const nb_fit *fit);

/* Sets errors and covariance of a result from the covariance of counting once a run has
 * ended; where there are none by boxes, as after nb_fit_cancel(), errors_why alone. */
struct fit_result_memory;
nb_status boxes_errors(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out);

#endif
