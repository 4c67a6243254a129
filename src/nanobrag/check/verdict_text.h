/*
 * verdict_text.h - the hint that gradcheck gives at the cause of a wrong derivative.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CHECK_VERDICT_TEXT_H
#define NB_CHECK_VERDICT_TEXT_H

#include <nanobrag/gradcheck.h>
#include <nanobrag/scene.h>

/* Write to row->hint a likely cause, from the ratio of the derivative to the finite
 * difference: a factor that is easily forgotten, or the derivative of another parameter.
 * `gradient` is the gradient of the same loss (nparam). */
void gradcheck_hint(nb_gradcheck_row *row, const nb_scene *scene, const nb_param *param,
                    size_t nparam, const double *gradient);

#endif
