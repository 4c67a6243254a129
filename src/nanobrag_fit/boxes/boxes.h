/*
 * boxes.h - errors by the scatter among boxes.
 *
 * A model that is wrong about a spot, which for example lies a tenth of a pixel off, is
 * wrong in all pixels of the spot and in all images at once. A misfit of pixels does not
 * show this, because it takes the error of each pixel as independent. A fit without box b
 * would end a step d_b away, and the G boxes in turn give the covariance of the jackknife
 * (Efron & Stein, Ann. Statist. 9, 1981, 586),
 *
 *   C = (G - 1)/G sum over b of d_b d_b^T + H^-1 R H^-1,   d_b = (H - H_b)^-1 g_b
 *
 * H is the matrix of the fit and R the matrix of its restraints; g_b and H_b are gradient
 * and matrix of the pixels of box b, summed over all shots. The same rectangle in several
 * shots is one box: in a sweep it holds the same spot. A pixel belongs to the first box of
 * its shot that contains it. A step of H^-1 g_b would be too short: a few strong spots
 * determine the values, and fitted values describe these spots better than they should.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_BOXES_BOXES_H
#define NB_FIT_BOXES_BOXES_H

#include <stdint.h>

#include <nanobrag/fit.h>

/* the different boxes of all shots */
struct fit_boxes {
    int *at; /* fast and slow, from and to                                      (n x 4) */
    uint32_t *slot; /* finds them by their corners: number of a box + 1, or 0   (slots) */
    size_t n, slots;
};

/* Notes the boxes of a shot. Returns NB_ERR_MEMORY. */
nb_status boxes_note(nb_fit *fit, const nb_scene *scene);

/* Returns why a fit has no errors by boxes; NULL if it has them. Errors by boxes need more
 * boxes than fitted values. */
const char *boxes_why_not(const nb_fit *fit);

/* Replaces errors and covariance from counting by errors and covariance from boxes, once a
 * run has ended. If the fit cannot have errors by boxes, or nb_fit_cancel() stops them, it
 * only sets errors_why. */
struct fit_result_memory;
nb_status boxes_errors(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out);

#endif
