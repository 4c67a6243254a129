/*
 * density_rows.h - the two inner loops of the density of a model of atoms on a periodic
 * grid: adding the Gaussians of an atom to a plane of the grid, and its adjoint, gathering
 * their moments from the grid. Lengths are in steps of the grid.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_DENSITY_DENSITY_ROWS_H
#define NB_KERNELS_DENSITY_DENSITY_ROWS_H

#include <stddef.h>

/* The order of the six elements of a symmetric matrix: 00 11 22 01 02 12. */
enum { DENSITY_TERMS = 5, DENSITY_SYMMETRIC = 6, DENSITY_MOMENTS = 10 };

/* Values on a grid of n[0] x n[1] x n[2] points, the last index fastest. */
struct density_grid {
    int n[3];
    size_t row; /* numbers from one row of the last index to the next */
    double *value;
};

/* (scale + linear.d + d.square d) exp(-d.form d), d from the centre of the atom. With
 * `linear` and `square` it is the change of a Gaussian. */
struct density_term {
    double form[DENSITY_SYMMETRIC], scale, linear[3], square[DENSITY_SYMMETRIC];
};

/* The terms of an atom, cut off at a sphere: the points with |p - middle| <= radius in the
 * metric. */
struct density_atom {
    double centre[3], middle[3], metric[DENSITY_SYMMETRIC], radius2;
    double reach[3]; /* half the edges of the box around the sphere */
    int changes; /* 1: `linear` and `square` of the terms are used */
    int nterm;
    struct density_term term[DENSITY_TERMS];
};

struct density_kernels {
    /* Adds an atom to the points with first index i, which may lie outside of the grid: the
     * grid is periodic. */
    void (*add)(const struct density_grid *grid, const struct density_atom *atom, int i);
    /* Sums exp(-d.form d) times the grid over the sphere, for each term: times 1, d0, d1,
     * d2, d0d0, d1d1, d2d2, d0d1, d0d2, d1d2. */
    void (*gather)(const struct density_grid *grid, const struct density_atom *atom,
                   double moments[DENSITY_TERMS][DENSITY_MOMENTS]);
};

/* Returns the kernels of the fastest instruction set that this machine has, or of the one
 * that `isa` names unless it is ""; NULL if there is none. */
const struct density_kernels *kernels_density(const char *isa);

#endif
