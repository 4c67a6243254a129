/*
 * fit/eigen.c - see eigen.h. Jacobi's method (Golub & Van Loan, Matrix Computations, 8.5)
 * finds small eigenvalues of a matrix with ones on its diagonal accurately, and one free
 * direction does not spoil the others.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fit/eigen.h"

#include <math.h>
#include <string.h>

/* Sweeps beyond which nothing more is gained; some eight are needed. */
enum { SWEEPS = 60 };

static void rotate(double *a, double *b, double c, double s)
{
    const double first = *a;

    *a = c * first - s * *b;
    *b = s * first + c * *b;
}

/* Make element p, q zero. */
static void annihilate(size_t n, double *matrix, double *vectors, size_t p, size_t q)
{
    const double theta = (matrix[q * n + q] - matrix[p * n + p]) / (2 * matrix[p * n + q]);
    const double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
    const double c = 1 / sqrt(t * t + 1), s = t * c;

    for (size_t i = 0; i < n; i++) rotate(matrix + i * n + p, matrix + i * n + q, c, s);
    for (size_t i = 0; i < n; i++) rotate(matrix + p * n + i, matrix + q * n + i, c, s);
    for (size_t i = 0; i < n; i++) rotate(vectors + p * n + i, vectors + q * n + i, c, s);
    matrix[p * n + q] = matrix[q * n + p] = 0;
}

void eigen_symmetric(size_t n, double *matrix, double *values, double *vectors)
{
    int rotated = 1;

    memset(vectors, 0, n * n * sizeof *vectors);
    for (size_t i = 0; i < n; i++) vectors[i * n + i] = 1;
    for (int sweep = 0; rotated && sweep < SWEEPS; sweep++) {
        rotated = 0;
        for (size_t p = 0; p + 1 < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                const double size = sqrt(fabs(matrix[p * n + p] * matrix[q * n + q]));

                if (fabs(matrix[p * n + q]) <= 1e-17 * size || matrix[p * n + q] == 0)
                    continue;
                annihilate(n, matrix, vectors, p, q);
                rotated = 1;
            }
    }
    for (size_t i = 0; i < n; i++) values[i] = matrix[i * n + i];
}
