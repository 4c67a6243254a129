/*
 * star.h - the integral over the directions of a wide beam and the places in a large
 * crystal, at each node. Both are normal variables y, fixed in the laboratory; the matrix
 * `prior` is the inverse of their covariance.
 *
 * A star is the mean of y at a node and 2 n points about it, one step to either side along
 * n axes. log I less y prior y/2 is evaluated at these points, and the gaussian through
 * them is integrated. Each node has axes of its own. A point may lie beside its axis, as
 * long as the map from the axes to the points keeps volumes (star_make.c).
 */
#ifndef NB_KERNELS_CONTINUOUS_STAR_H
#define NB_KERNELS_CONTINUOUS_STAR_H

#include <stddef.h>

#include "kernels/continuous/forms/nodes.h"

/* STAR_STEP is the length of the steps along an axis, in standard deviations of y;
 * STAR_LEAST is the least curvature along an axis that is used. The curvature is 1 if log I
 * is quadratic. */
#define STAR_STEP  1.5
#define STAR_LEAST 0.1

/* Writes the inverse of a symmetric positive definite matrix and returns the logarithm of
 * its determinant. */
FORM_FN double star_inverse(int n, const star_matrix m, star_matrix out)
{
    double a[STAR_AXES][2 * STAR_AXES] = {{0}}, det = 1;

    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) a[i][j] = m[i][j];
        a[i][n + i] = 1;
    }
    for (int i = 0; i < n; i++) {
        const double per = 1 / a[i][i];

        det *= a[i][i];
        for (int j = 0; j < 2 * n; j++) a[i][j] *= per;
        for (int k = 0; k < n; k++) {
            const double by = a[k][i];

            for (int j = 0; j < 2 * n && k != i; j++) a[k][j] -= by * a[i][j];
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) out[i][j] = a[i][n + j];
    return log(det);
}

/* Returns how many numbers a star has at each node in a step: y at all points, and the
 * height. */
FORM_FN int star_numbers(const struct star *s)
{
    return (2 * s->n + 1) * s->n + 1;
}

/* Returns the numbers of the star in step j. */
FORM_FN const double (*star_step(const struct spot_nodes *n, int j))[NODES]
{
    return n->star_at + (size_t)j * (size_t)star_numbers(n->star);
}

/* Writes y of node i at point m; `at` is from star_step(). */
FORM_FN void star_point(const struct star *s, const double (*at)[NODES], int m, int i,
                        double *y)
{
    for (int k = 0; k < s->n; k++) y[k] = at[m * s->n + k][i];
}

/* Returns the height at node i, the logarithm of the volume that the axes span. */
FORM_FN double star_height(const struct star *s, const double (*at)[NODES], int i)
{
    return at[star_numbers(s) - 1][i];
}

/* The result of the integral at a node: log I, its slopes by log I at the points, and its
 * slopes by the elements of `prior`. */
struct star_sum {
    double log, slope[STAR_POINTS];
    star_matrix by_prior;
};

/* Returns y prior y. */
FORM_FN double star_square(const struct star *s, const star_matrix prior, const double *y)
{
    double sum = 0;

    for (int k = 0; k < s->n; k++)
        for (int l = 0; l < s->n; l++) sum += y[k] * prior[k][l] * y[l];
    return sum;
}

/* Integrates the star of node i in a step, given log_i[m], log I at its points. `inverse`
 * and log_det are the inverse and the logarithm of the determinant of `prior`. */
FORM_FN void star_integral(const struct star *s, const star_matrix prior,
                           const star_matrix inverse, double log_det,
                           const double (*at)[NODES], int i, const double *log_i,
                           struct star_sum *out)
{
    const double per = 1 / (2 * STAR_STEP), per2 = 1 / (STAR_STEP * STAR_STEP);
    const int n = s->n, points = 2 * n + 1;
    double y[STAR_POINTS][STAR_AXES] = {{0}}, l[STAR_POINTS] = {0};

    for (int m = 0; m < points; m++) {
        star_point(s, at, m, i, y[m]);
        l[m] = log_i[m] - 0.5 * star_square(s, prior, y[m]);
    }
    out->log = l[0] + star_height(s, at, i) + 0.5 * log_det;
    out->slope[0] = 1;
    for (int a = 0; a < n; a++) {
        const double low = l[2 * a + 1], high = l[2 * a + 2], g = (high - low) * per;
        const double bent = -(high - 2 * l[0] + low) * per2;
        const double h = fmax(bent, STAR_LEAST), mean = g / h;
        const double bend = bent > STAR_LEAST ? 0.5 * (mean * mean + 1 / h) * per2 : 0;

        out->log += 0.5 * g * mean - 0.5 * log(h);
        out->slope[0] -= 2 * bend;
        out->slope[2 * a + 1] = bend - mean * per;
        out->slope[2 * a + 2] = bend + mean * per;
    }
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) {
            double spread = -inverse[k][j];

            for (int m = 0; m < points; m++) spread += out->slope[m] * y[m][k] * y[m][j];
            out->by_prior[k][j] = -0.5 * spread;
        }
}

#endif
