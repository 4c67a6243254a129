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

/* The axes of the crystal at phi = 0, without the rotation of a mosaic domain. */
struct crystal_axes {
    double real[3][3]; /* rows a, b, c; A */
    double star[3][3]; /* rows a*, b*, c*; 1/A */
    double volume; /* A^3 */
};

/* Returns the seed of the mosaic domains, or its default. */
int64_t crystal_mosaic_seed(const nb_scene *scene);

/* Fills the defaults of a cell. A cell with a = 0 is not given and stays as it is. */
void crystal_complete_cell(double cell[6]);

/* Fills the defaults of the crystal. If the scene asks for a random misset, it is drawn
 * from `random`. */
void crystal_resolve(nb_scene *scene, struct random_stream *random);

/* Computes N, at least 1, from the sizes of the crystal. The size of the beam must be
 * resolved. */
nb_status crystal_resolve_cells(nb_context *ctx, nb_scene *scene);

/* Computes the axes. Returns NB_ERR_UNIT_CELL if neither cell nor matrix is given, or if
 * the axes lie in a plane. */
nb_status crystal_derive(nb_context *ctx, const nb_scene *scene, struct crystal_axes *out);

/* Returns NB_ERR_SCENE in three cases: the matrix N is not positive definite; N is not
 * diagonal and the crystal is square; the scene asks to normalise spots of infinite extent
 * (fudge 0). */
nb_status crystal_check_cells(nb_context *ctx, const nb_scene *scene);

/* Computes the coefficients hh kk ll hk hl kl of rho^2 = |N d|^2, where d is the distance
 * (dh, dk, dl) from a lattice point. Returns det N. */
double crystal_cells_metric(const nb_crystal *crystal, double metric[6]);

/* Sets the members of the frame that belong to the lattice factor. */
void crystal_lattice(const nb_scene *scene, const struct crystal_axes *axes,
                     struct phys_frame *frame);

/* Returns the integral of F_latt^2 over all dh, dk and dl, divided by the integral for a
 * square crystal of as many cells (docs/theory.md, 5). Ignores `normalise`. */
double crystal_spot_sum(const nb_scene *scene, const struct crystal_axes *axes);

/* Returns the largest of N_a |a|, N_b |b| and N_c |c|, A. */
double crystal_largest_edge(const nb_scene *scene, const struct crystal_axes *axes);

/* Computes the lengths (in the unit of the axes) and angles (degree) between three axes. */
void crystal_cell_of(const double axes[3][3], double cell[6]);

#endif
