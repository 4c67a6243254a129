/*
 * symmetry.h - the numbers of a cell that a crystal system ties, and the equivalent
 * reflections of a point group.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_REFLECTIONS_SYMMETRY_H
#define NB_SCENE_REFLECTIONS_SYMMETRY_H

#include <nanobrag/context.h>
#include <nanobrag/scene.h>

/* Fills the tied numbers of the cell, and replaces the name of the point group by a static
 * string. Returns NB_ERR_SCENE if a number contradicts the system by more than 1e-6 of
 * itself, NB_ERR_ARGUMENT for an unknown point group. */
nb_status symmetry_resolve(nb_context *ctx, nb_crystal *crystal);

/* Returns 1 if no number of the cell contradicts the system by more than 1e-6 of itself. */
int symmetry_agrees(int system, const double cell[6]);

/* Returns the index of the number of the cell that number i equals: i itself if it is free,
 * -1 if the system fixes it. */
int symmetry_leader(int system, int i);

/* Returns the name of a system, such as "tetragonal". */
const char *symmetry_system_name(int system);

/* Sets the tied numbers of a cell, or of a tangent of it, from the free ones. */
void symmetry_tie_cell(int system, double cell[6]);

/* The operators of a point group, as integer matrices (rows) that act on h, k, l. */
struct symmetry {
    int n;
    int matrix[48][3][3];
};

/* Computes all operators of a point group; NULL is the group "1". */
void symmetry_operators(const char *point_group, struct symmetry *out);

#endif
