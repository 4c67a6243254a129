/*
 * grad.h - parameters: the vector x against the numbers of the resolved scene.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GRAD_GRAD_H
#define NB_GRAD_GRAD_H

#include <stddef.h>

#include <nanobrag/params.h>
#include <nanobrag/scene.h>

/* Rows of the registry chosen by `names` (blanks between, groups expanded), in `rows`
 * (NULL: only count). Each must exist, apply to the resolved scene and occur once. */
nb_status params_select(nb_context *ctx, const nb_scene *scene, const char *names,
                        size_t *nparam, int *rows);

/* The registry's row with its value in a scene. */
void params_describe(const nb_scene *scene, int row, nb_param *out);

/* NB_ERR_ARGUMENT unless every x is a number within the bounds of its row. */
nb_status params_check(nb_context *ctx, const int *rows, size_t nparam, const double *x);

/* scene := scene with x in the places of the rows. */
void params_unpack(const int *rows, size_t nparam, const double *x, nb_scene *scene);

/* The row of a parameter by name; -1 without one. */
int params_row(const char *name);

#endif
