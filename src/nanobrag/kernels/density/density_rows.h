/*
 * density_rows.h - the two inner loops of the density of a model of atoms on a periodic
 * grid. One adds the Gaussians of an atom to a plane of the grid. Its adjoint gathers the
 * moments of grid times Gaussian. Lengths are in steps of the grid.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_DENSITY_DENSITY_ROWS_H
#define NB_KERNELS_DENSITY_DENSITY_ROWS_H

#include <stddef.h>

/* An atom has up to DENSITY_TERMS Gaussians. The elements of a symmetric matrix are in the
 * order 00 11 22 01 02 12. */
enum { DENSITY_TERMS = 5, DENSITY_SYMMETRIC = 6, DENSITY_MOMENTS = 10 };

/* Values on a grid of n[0] x n[1] x n[2] points, the last index fastest. */
struct density_grid {
    int n[3];
    size_t row; /* numbers from one row of the last index to the next */
    double *value;
};

/* The function (scale + linear.d + d.square d) exp(-d.form d) of d, counted from the centre
 * of the atom. With `linear` and `square` it is the derivative of a Gaussian. */
struct density_term {
    double form[DENSITY_SYMMETRIC], scale, linear[3], square[DENSITY_SYMMETRIC];
};

/* The terms of an atom, cut off at a sphere: at the points p with (p - middle).metric (p -
 * middle) <= radius2. */
struct density_atom {
    double centre[3], middle[3], metric[DENSITY_SYMMETRIC], radius2;
    double reach[3]; /* half the edges of the box around the sphere */
    int changes; /* 1: derivatives of Gaussians, with `linear` and `square` */
    int nterm;
    struct density_term term[DENSITY_TERMS];
};

struct density_kernels {
    /* Adds an atom to the points whose first index is i. i may lie outside of the grid,
     * which is periodic. */
    void (*add)(const struct density_grid *grid, const struct density_atom *atom, int i);
    /* For each term, sums grid times exp(-d.form d) over the sphere, times each of 1, d0,
     * d1, d2, d0d0, d1d1, d2d2, d0d1, d0d2, d1d2. */
    void (*gather)(const struct density_grid *grid, const struct density_atom *atom,
                   double moments[DENSITY_TERMS][DENSITY_MOMENTS]);
};

/* Returns the kernels of the instruction set that `isa` names; if `isa` is "", of the
 * fastest one that this machine has. NULL if there is none. */
const struct density_kernels *kernels_density(const char *isa);

#endif
