/*
 * crystal.h - unit cell, orientation matrix and misset to crystal axes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_CRYSTAL_H
#define NB_SCENE_CRYSTAL_H

#include <nanobrag/scene.h>

#include "physics/frame.h"
#include "scene/random.h"

/* the crystal at phi = 0 in the undisturbed orientation */
struct crystal_axes {
    double real[3][3]; /* a, b, c, A */
    double star[3][3]; /* a*, b*, c*, 1/A */
    double volume; /* A^3 */
};

/* Defaults of the cell; draws a random misset from `random` into misset. */
void crystal_resolve(nb_scene *scene, struct random_stream *random);

/* N from sizes, at least 1. Needs the beam's size resolved. */
nb_status crystal_resolve_cells(nb_context *ctx, nb_scene *scene);

/* NB_ERR_UNIT_CELL when the cell is flat. */
nb_status crystal_derive(nb_context *ctx, const nb_scene *scene, struct crystal_axes *out);

/* NB_ERR_SCENE unless the matrix N is positive definite, and diagonal where the crystal is
 * square. */
nb_status crystal_check_cells(nb_context *ctx, const nb_scene *scene);

/* N N, as a metric in hh kk ll hk hl kl, and the determinant of N. */
double crystal_cells_metric(const nb_crystal *crystal, double metric[6]);

/* The members of the frame that belong to the lattice factor. */
void crystal_lattice(const nb_scene *scene, const struct crystal_axes *axes,
                     struct phys_frame *frame);

/* Largest edge N |a| of the crystal, A. */
double crystal_largest_edge(const nb_scene *scene, const struct crystal_axes *axes);

/* a b c alpha beta gamma of three axes, in the unit of the axes and degree. */
void crystal_cell_of(const double axes[3][3], double cell[6]);

#endif
