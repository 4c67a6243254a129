/*
 * eigen.h - eigenvalues of small symmetric matrices, by LAPACK.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_EIGEN_H
#define NB_FIT_EIGEN_H

#include <stddef.h>

/* Returns 0 in a build without LAPACK, where the function below may not be called. */
int eigen_is_available(void);

/*
 * matrix = vectors^T diag(values) vectors.
 *
 *   matrix  [in,out]  symmetric; becomes an eigenvector in each row (n x n)
 *   values  [out]     in ascending order                            (n)
 *   work    [out]     workspace                                     (eigen_work(n))
 *
 * Returns 0 for a matrix with a number that is not finite, or for which LAPACK finds no
 * eigenvalues; all that was to be set is 0 then.
 */
int eigen_symmetric(size_t n, double *matrix, double *values, double *work);

size_t eigen_work(size_t n);

#endif
