/*
 * eigen.h - eigenvalues of small symmetric matrices, by LAPACK.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_EIGEN_H
#define NB_FIT_EIGEN_H

#include <stddef.h>

/* Returns 0 in a build without LAPACK, where eigen_symmetric() may not be called. */
int eigen_is_available(void);

/*
 * Decompose a matrix: matrix = vectors^T diag(values) vectors.
 *
 *   matrix  [in,out]  symmetric; becomes an eigenvector in each row (n x n)
 *   values  [out]     in ascending order                            (n)
 *   work    [out]     workspace                                     (eigen_work(n))
 *
 * Returns 0 if a number of the matrix is not finite, or if LAPACK finds no eigenvalues.
 * Then matrix and values are set to 0.
 */
int eigen_symmetric(size_t n, double *matrix, double *values, double *work);

/* Returns the number of elements of `work` for n rows. */
size_t eigen_work(size_t n);

#endif
