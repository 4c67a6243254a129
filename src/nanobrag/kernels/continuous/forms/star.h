/*
 * star.h - the integral over the directions of a wide beam and the places of a large
 * crystal, at each node. They are normal variables y of covariance prior^-1, which are
 * fixed in the laboratory. About the mean that y has at a node, log I less y prior y/2 is
 * taken along n axes, one step to either side, and the gaussian through these 2 n + 1
 * points, the star, is integrated.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_STAR_H
#define NB_KERNELS_CONTINUOUS_STAR_H

#include "kernels/continuous/forms/nodes.h"

/* The length of the steps along an axis, in standard deviations of y. */
#define STAR_STEP 1.5

/* Writes the inverse of a symmetric positive matrix and returns log of its determinant. */
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

/* Writes y of node i at point m, given the middle. */
FORM_FN void star_point(const struct star *s, const double (*middle)[NODES], int m, int i,
                        double *y)
{
    const int axis = (m - 1) / 2;
    const double step = m == 0 ? 0 : m % 2 ? -STAR_STEP : STAR_STEP;

    for (int k = 0; k < s->n; k++)
        y[k] = middle[k][i] + (m > 0 ? step * s->axis[axis][k] : 0);
}

/* What the integral gives at a node: log I, and its slopes by log I at the points and by
 * the elements of the prior. */
struct star_sum {
    double log, slope[STAR_POINTS];
    star_matrix by_prior;
};

/* Writes prior y, and the prior between the axes. */
FORM_FN void star_prior(const struct star *s, const star_matrix prior, const double *y,
                        double *py, star_matrix between)
{
    for (int k = 0; k < s->n; k++) {
        py[k] = 0;
        for (int l = 0; l < s->n; l++) py[k] += prior[k][l] * y[l];
    }
    for (int a = 0; a < s->n; a++)
        for (int b = 0; b < s->n; b++) {
            between[a][b] = 0;
            for (int k = 0; k < s->n; k++)
                for (int l = 0; l < s->n; l++)
                    between[a][b] += s->axis[a][k] * prior[k][l] * s->axis[b][l];
        }
}

/* Integrates from log I at the points about y; the prior comes with its inverse and the
 * logarithm of its determinant. */
FORM_FN void star_integral(const struct star *s, const star_matrix prior,
                           const star_matrix inverse, double log_det, const double *y,
                           const double *log_i, struct star_sum *out)
{
    const double per = 1 / (2 * STAR_STEP), per2 = 1 / (STAR_STEP * STAR_STEP);
    const int n = s->n;
    double py[STAR_AXES] = {0}, g[STAR_AXES] = {0}, m[STAR_AXES] = {0}, at[STAR_AXES];
    star_matrix h = {{0}}, hi = {{0}};
    double sum = log_i[0] + s->height + 0.5 * log_det;

    star_prior(s, prior, y, py, h);
    for (int a = 0; a < n; a++) {
        const double low = log_i[2 * a + 1], high = log_i[2 * a + 2];

        g[a] = (high - low) * per;
        for (int k = 0; k < n; k++) {
            g[a] -= s->axis[a][k] * py[k];
            h[a][k] += s->cross[a][k];
        }
        h[a][a] -= (high - 2 * log_i[0] + low) * per2;
    }
    sum -= 0.5 * star_inverse(n, (const double(*)[STAR_AXES])h, hi);
    out->slope[0] = 1;
    for (int a = 0; a < n; a++) {
        double bend;

        for (int b = 0; b < n; b++) m[a] += hi[a][b] * g[b];
        bend = 0.5 * (m[a] * m[a] + hi[a][a]) * per2;
        sum += 0.5 * g[a] * m[a] - 0.5 * y[a] * py[a];
        out->slope[0] -= 2 * bend;
        out->slope[2 * a + 1] = bend - m[a] * per;
        out->slope[2 * a + 2] = bend + m[a] * per;
    }
    for (int k = 0; k < n; k++) {
        at[k] = y[k];
        for (int a = 0; a < n; a++) at[k] += s->axis[a][k] * m[a];
    }
    for (int k = 0; k < n; k++)
        for (int l = 0; l < n; l++) {
            double spread = at[k] * at[l] - inverse[k][l];

            for (int a = 0; a < n; a++)
                for (int b = 0; b < n; b++)
                    spread += s->axis[a][k] * hi[a][b] * s->axis[b][l];
            out->by_prior[k][l] = -0.5 * spread;
        }
    out->log = sum;
}

#endif
