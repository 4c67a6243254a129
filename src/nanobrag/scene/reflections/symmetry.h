/*
 * symmetry.h - what crystal systems tie in a cell, and point groups among reflections.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_REFLECTIONS_SYMMETRY_H
#define NB_SCENE_REFLECTIONS_SYMMETRY_H

#include <nanobrag/context.h>
#include <nanobrag/scene.h>

/* Fill what the crystal system says about the cell, and name the point group by a text that
 * stays. NB_ERR_SCENE when a cell contradicts its system by more than 1e-6 of a number;
 * NB_ERR_ARGUMENT for an unknown point group. */
nb_status symmetry_resolve(nb_context *ctx, nb_crystal *crystal);

/* The member of a cell that member i equals in a system: i itself where it is free, -1
 * where the system fixes it. */
int symmetry_leader(int system, int i);

/* "tetragonal" */
const char *symmetry_system_name(int system);

/* The tied members of a cell, or of its change, from the free ones. */
void symmetry_tie_cell(int system, double cell[6]);

/* A point group as it acts on h, k, l: rows of integer matrices. */
struct symmetry {
    int n;
    int matrix[48][3][3];
};

/* NULL is "1". */
void symmetry_operators(const char *point_group, struct symmetry *out);

#endif
