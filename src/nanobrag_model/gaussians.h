/*
 * gaussians.h - the density of an atom on a grid: four Gaussians and a constant of the form
 * factor, broadened by the atom's displacement and by a blur; and how the density changes
 * with the atom's numbers.
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
    double tail; /* charge beyond the radius of an atom, as a fraction of its charge */
    double step[3][3]; /* Cartesian vectors of the grid's steps, A */
    double star[3][3]; /* rows of the matrix from Cartesian to grid coordinates, 1/A */
    double shift[3]; /* shift of the grid coordinates */
    double metric[DENSITY_SYMMETRIC]; /* scalar products of the grid's steps, A^2 */
    double volume; /* of the cell, A^3 */
};

/* Chooses the grid and the blur. Returns NB_ERR_ARGUMENT if the grid would be too large. */
nb_status sampling_choose(const struct request *request, struct sampling *out);

/* Sets the Gaussians of atom i: of f and f', or, with `imaginary`, of f''. */
void gaussians_set(const struct request *request, const struct sampling *sampling, size_t i,
                   int imaginary, struct density_atom *out);

/* Replaces the Gaussians of atom i by their change with changes `dot` of its numbers. */
void gaussians_change(const struct request *request, const struct sampling *sampling,
                      size_t i, int imaginary, const double dot[NB_ATOM_NUMBERS],
                      struct density_atom *out);

/* Adds the gradient with respect to the numbers of atom i, from the moments that
 * density_kernels.gather() gives. */
void gaussians_vjp(const struct request *request, const struct sampling *sampling, size_t i,
                   int imaginary, const double moments[DENSITY_TERMS][DENSITY_MOMENTS],
                   double bar[NB_ATOM_NUMBERS]);

#endif
