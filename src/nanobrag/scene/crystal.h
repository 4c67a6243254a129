/*
 * crystal.h - computes the crystal axes from unit cell, orientation matrix and misset, and
 * the members of the frame that describe the shape of a spot (docs/theory.md, 5 and 8).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_CRYSTAL_H
#define NB_SCENE_CRYSTAL_H

#include <nanobrag/scene.h>

#include "physics/frame.h"
#include "scene/random.h"

/* Axes at phi = 0, without a mosaic rotation. */
struct crystal_axes {
    double real[3][3]; /* rows a, b, c; A */
    double star[3][3]; /* rows a*, b*, c*; 1/A */
    double volume; /* A^3 */
};

/* Returns the seed of the mosaic domains, with its default. */
int64_t crystal_mosaic_seed(const nb_scene *scene);

/* Fills the defaults of a cell, unless the cell is not given. */
void crystal_complete_cell(double cell[6]);

/* Fills the defaults of the crystal; replaces a random misset by one drawn
 * from `random`. */
void crystal_resolve(nb_scene *scene, struct random_stream *random);

/* Computes N from the sizes, at least 1. The size of the beam must be resolved. */
nb_status crystal_resolve_cells(nb_context *ctx, nb_scene *scene);

/* Computes the axes. Returns NB_ERR_UNIT_CELL if there is no cell or it is flat. */
nb_status crystal_derive(nb_context *ctx, const nb_scene *scene, struct crystal_axes *out);

/* Returns NB_ERR_SCENE if the matrix N is not positive definite, if it is not diagonal and
 * the crystal is square, or if the scene asks to normalise spots of infinite extent. */
nb_status crystal_check_cells(nb_context *ctx, const nb_scene *scene);

/* Computes the metric of rho^2 = |N d|^2, in the order hh kk ll hk hl kl. Returns det N. */
double crystal_cells_metric(const nb_crystal *crystal, double metric[6]);

/* Sets the members of the frame that belong to the lattice factor. */
void crystal_lattice(const nb_scene *scene, const struct crystal_axes *axes,
                     struct phys_frame *frame);

/* Returns the sum of F_latt^2 of a spot over all orientations (the integral over all dh, dk
 * and dl), divided by the same sum of square blocks of as many cells. It ignores
 * `normalise`.
 */
double crystal_spot_sum(const nb_scene *scene, const struct crystal_axes *axes);

/* Returns the largest edge N |a| of the crystal, A. */
double crystal_largest_edge(const nb_scene *scene, const struct crystal_axes *axes);

/* Computes the lengths (in the unit of the axes) and angles (degree) between three axes. */
void crystal_cell_of(const double axes[3][3], double cell[6]);

#endif
