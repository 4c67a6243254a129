/*
 * eigen.h - eigenvalues and eigenvectors of a small symmetric matrix.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_EIGEN_H
#define NB_FIT_EIGEN_H

#include <stddef.h>

/*
 * matrix = vectors^T diag(values) vectors, by Jacobi's rotations.
 *
 *   matrix   [in,out]  symmetric; overwritten                       (n x n)
 *   values   [out]     in no order                                  (n)
 *   vectors  [out]     an eigenvector in each row                   (n x n)
 */
void eigen_symmetric(size_t n, double *matrix, double *values, double *vectors);

#endif
