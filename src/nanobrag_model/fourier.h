/*
 * fourier.h - the Fourier transform of a real function on a grid of the cell, and its
 * adjoint, by FFTW. In a build without FFTW fourier_create() fails, and no other function
 * is called.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_STRUCTURE_FOURIER_H
#define NB_STRUCTURE_FOURIER_H

#include "kernels/density/density_rows.h"
#include "nanobrag_model/structure.h"

/* the values of a function on the grid, and in the same memory their transform */
struct fourier {
    struct density_grid grid;
    void *forward, *backward; /* plans of FFTW */
};

/* Makes a grid of n[0] x n[1] x n[2] points; release it with fourier_free(). */
nb_status fourier_create(nb_context *ctx, const int n[3], struct fourier *out);
void fourier_free(struct fourier *fourier);

/* Transforms the grid; fourier_get() then returns sum_p grid(p) exp(2 pi i h.p/n). */
void fourier_forward(struct fourier *fourier);
void fourier_get(const struct fourier *fourier, const int hkl[3], double out[2]);

/* The adjoint: after fourier_clear(), fourier_put_vjp() of every cotangent, and
 * fourier_backward(), the grid is Re sum_h bar(h) exp(-2 pi i h.p/n). */
void fourier_clear(struct fourier *fourier);
void fourier_put_vjp(struct fourier *fourier, const int hkl[3], const double bar[2]);
void fourier_backward(struct fourier *fourier);

#endif
