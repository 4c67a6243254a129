/*
 * symmetry.h - the numbers of a cell that a crystal system ties together, and the operators
 * of point groups.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_REFLECTIONS_SYMMETRY_H
#define NB_SCENE_REFLECTIONS_SYMMETRY_H

#include <nanobrag/context.h>
#include <nanobrag/scene.h>

/* Fills the cell's numbers that the crystal system fixes or ties to others. Replaces the
 * name of the point group by a static string. Returns NB_ERR_SCENE if a number contradicts
 * the system by more than 1e-6 of itself, NB_ERR_ARGUMENT for an unknown point group. */
nb_status symmetry_resolve(nb_context *ctx, nb_crystal *crystal);

/* Returns 1 if no number of the cell contradicts the system by more than 1e-6 of itself. */
int symmetry_agrees(int system, const double cell[6]);

/* Number i of a cell equals another number in some systems. Returns the index of that
 * number; returns i itself if number i is free, -1 if the system fixes it. */
int symmetry_leader(int system, int i);

/* Returns the name of a system, such as "tetragonal". */
const char *symmetry_system_name(int system);

/* Sets the numbers of a cell that are tied to others, from the free ones. The function also
 * converts a tangent of a cell. */
void symmetry_tie_cell(int system, double cell[6]);

/* The operators of a point group, as integer matrices (rows) that act on h, k, l. */
struct symmetry {
    int n;
    int matrix[48][3][3];
};

/* Computes all operators of a point group; NULL stands for the group "1". */
void symmetry_operators(const char *point_group, struct symmetry *out);

#endif
