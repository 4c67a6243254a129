/*
 * gaussians.h - the density of an atom on a grid as Gaussians: four and a constant of the
 * form factor, spread by the displacement and by a blur; and how they change with the
 * atom's numbers.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_STRUCTURE_GAUSSIANS_H
#define NB_STRUCTURE_GAUSSIANS_H

#include "kernels/density/density_rows.h"
#include "nanobrag_model/structure.h"

/* A grid for the density, and the numbers that decide its accuracy. */
struct sampling {
    int n[3]; /* points along a, b, c */
    double blur; /* B that is added to every atom, A^2 */
    double tail; /* charge beyond the radius of an atom, as a fraction of its own */
    double step[3][3]; /* Cartesian vectors of the grid's steps, A */
    double star[3][3]; /* rows of the matrix from Cartesian to grid coordinates, 1/A */
    double shift[3]; /* its shift */
    double metric[DENSITY_SYMMETRIC]; /* of grid steps, A^2 */
    double volume; /* of the cell, A^3 */
};

/* Chooses the grid and the blur. Returns NB_ERR_MEMORY if the grid is too large. */
nb_status sampling_choose(const struct request *request, struct sampling *out);

/* Sets the Gaussians of atom i: of its normal density, or, with `imaginary`, of f''. */
void gaussians_set(const struct request *request, const struct sampling *sampling, size_t i,
                   int imaginary, struct density_atom *out);

/* Replaces the Gaussians of atom i by their change with its numbers. */
void gaussians_change(const struct request *request, const struct sampling *sampling,
                      size_t i, int imaginary, const double dot[NB_ATOM_NUMBERS],
                      struct density_atom *out);

/* Adds the gradient with respect to the numbers of atom i, from the moments that
 * density_kernels.gather() gives. */
void gaussians_vjp(const struct request *request, const struct sampling *sampling, size_t i,
                   int imaginary, const double moments[DENSITY_TERMS][DENSITY_MOMENTS],
                   double bar[NB_ATOM_NUMBERS]);

#endif
