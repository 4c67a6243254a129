/*
 * vectors.h - products of vectors of three numbers.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_INTEGRATE_VECTORS_H
#define NB_INTEGRATE_VECTORS_H

#include <math.h>
#include <stddef.h>

static inline double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void cross(const double *a, const double *b, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static inline void unit(double *v)
{
    const double n = sqrt(dot(v, v));

    for (int i = 0; i < 3; i++) v[i] /= n;
}

/* Writes the reciprocal of three axes, given as rows. */
static inline void vectors_reciprocal(const double real[9], double star[3][3])
{
    for (size_t i = 0; i < 3; i++) {
        cross(real + 3 * ((i + 1) % 3), real + 3 * ((i + 2) % 3), star[i]);
        const double volume = dot(real + 3 * i, star[i]);

        for (int k = 0; k < 3; k++) star[i][k] /= volume;
    }
}

#endif
