/* eigen.c - calls LAPACK for eigenvalues. SPDX-License-Identifier: MIT */
#include "nanobrag_fit/eigen.h"

#include <math.h>
#include <string.h>

size_t eigen_work(size_t n)
{
    return 34 * n + 1; /* dsyev needs 3 n - 1, and is fastest with (block size + 2) n */
}

#ifdef NANOBRAG_LAPACK
#include <lapacke.h>

int eigen_is_available(void)
{
    return 1;
}

int eigen_symmetric(size_t n, double *matrix, double *values, double *work)
{
    int is_finite = 1;

    for (size_t i = 0; i < n * n; i++) is_finite &= isfinite(matrix[i]) != 0;
    if (n == 0) return 1;
    /* LAPACK stores matrices by columns: its eigenvectors become rows here */
    if (is_finite
        && LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', (lapack_int)n, matrix,
                              (lapack_int)n, values, work, (lapack_int)eigen_work(n))
               == 0)
        return 1;
    memset(matrix, 0, n * n * sizeof *matrix);
    memset(values, 0, n * sizeof *values);
    return 0;
}

#else

int eigen_is_available(void)
{
    return 0;
}

int eigen_symmetric(size_t n, double *matrix, double *values, double *work)
{
    (void)n, (void)matrix, (void)values, (void)work;
    return 0;
}

#endif
