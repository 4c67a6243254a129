/*
 * block_mean.c - see block_mean.h. With S = L L^T and t = L u the integrand is
 * exp(-E(u)), E = g K g/2 + u u/2, also for an S that has no inverse.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/continuous/block_mean.h"

#include <math.h>
#include <string.h>

typedef double matrix[3][3];

/* A place p, and what E follows from. */
struct place {
    matrix k, root;
    double q0[3], p[3];
};

static void widen(const double s[6], matrix m)
{
    m[0][0] = s[0], m[1][1] = s[1], m[2][2] = s[2];
    m[0][1] = m[1][0] = s[3];
    m[0][2] = m[2][0] = s[4];
    m[1][2] = m[2][1] = s[5];
}

/* Writes the lower triangle l with l l^T = m; a column whose pivot vanishes is 0. */
static void root_of(matrix m, matrix l)
{
    const double least = 1e-13 * (m[0][0] + m[1][1] + m[2][2]);

    memset(l, 0, sizeof(matrix));
    for (int j = 0; j < 3; j++) {
        double pivot = m[j][j];

        for (int k = 0; k < j; k++) pivot -= l[j][k] * l[j][k];
        if (pivot <= least) continue;
        l[j][j] = sqrt(pivot);
        for (int i = j + 1; i < 3; i++) {
            double sum = m[i][j];

            for (int k = 0; k < j; k++) sum -= l[i][k] * l[j][k];
            l[i][j] = sum / l[j][j];
        }
    }
}

static void cross(const double *a, const double *b, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static double exponent(const struct place *at, const double u[3])
{
    double t[3] = {0}, once[3], twice[3], g[3], sum = 0, angle2 = 0, s1 = 1, s2 = 0.5;

    for (int i = 0; i < 3; i++) {
        for (int j = 0; j <= i; j++) t[i] += at->root[i][j] * u[j];
        angle2 += t[i] * t[i];
    }
    if (angle2 > 0) {
        const double angle = sqrt(angle2), half = sin(angle / 2);

        s1 = sin(angle) / angle;
        s2 = 2 * half * half / angle2;
    }
    cross(t, at->p, once);
    cross(t, once, twice);
    for (int i = 0; i < 3; i++) g[i] = at->p[i] - s1 * once[i] + s2 * twice[i] - at->q0[i];
    for (int i = 0; i < 3; i++) {
        sum += u[i] * u[i];
        for (int j = 0; j < 3; j++) sum += g[i] * at->k[i][j] * g[j];
    }
    return sum / 2;
}

/* Writes the slope at 0 and the Hessian of E where g is linear in u. */
static void linearise(const struct place *at, double slope[3], matrix h)
{
    double xl[3][3]; /* columns of q0 x L, transposed */

    for (int j = 0; j < 3; j++) {
        const double column[3] = {at->root[0][j], at->root[1][j], at->root[2][j]};

        cross(at->q0, column, xl[j]);
    }
    for (int i = 0; i < 3; i++) {
        slope[i] = 0;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                slope[i] += xl[i][a] * at->k[a][b] * (at->p[b] - at->q0[b]);
        for (int j = 0; j < 3; j++) {
            h[i][j] = i == j;
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++) h[i][j] += xl[i][a] * at->k[a][b] * xl[j][b];
        }
    }
}

/* Writes the inverse of the transpose of a lower triangle, an upper triangle. */
static void invert(matrix l, matrix out)
{
    memset(out, 0, sizeof(matrix));
    for (int i = 0; i < 3; i++) {
        out[i][i] = 1 / l[i][i];
        for (int j = 0; j < i; j++) {
            double sum = 0;

            for (int k = j; k < i; k++) sum += l[i][k] * out[j][k];
            out[j][i] = -sum / l[i][i];
        }
    }
}

/* Writes the slope and the Hessian of E at u + w z by z, where z is 0. */
static void differentiate(const struct place *at, matrix w, const double u[3],
                          double slope[3], matrix h)
{
    const double e = 0.05;
    double f[3][3][3];

    for (int a = 0; a < 27; a++) {
        const int z[3] = {a / 9, a / 3 % 3, a % 3};
        double v[3];

        for (int i = 0; i < 3; i++) {
            v[i] = u[i];
            for (int j = 0; j < 3; j++) v[i] += e * (z[j] - 1) * w[i][j];
        }
        f[z[0]][z[1]][z[2]] = exponent(at, v);
    }
    slope[0] = (f[2][1][1] - f[0][1][1]) / (2 * e);
    slope[1] = (f[1][2][1] - f[1][0][1]) / (2 * e);
    slope[2] = (f[1][1][2] - f[1][1][0]) / (2 * e);
    h[0][0] = (f[2][1][1] + f[0][1][1] - 2 * f[1][1][1]) / (e * e);
    h[1][1] = (f[1][2][1] + f[1][0][1] - 2 * f[1][1][1]) / (e * e);
    h[2][2] = (f[1][1][2] + f[1][1][0] - 2 * f[1][1][1]) / (e * e);
    h[0][1] = h[1][0] = (f[2][2][1] + f[0][0][1] - f[2][0][1] - f[0][2][1]) / (4 * e * e);
    h[0][2] = h[2][0] = (f[2][1][2] + f[0][1][0] - f[2][1][0] - f[0][1][2]) / (4 * e * e);
    h[1][2] = h[2][1] = (f[1][2][2] + f[1][0][0] - f[1][2][0] - f[1][0][2]) / (4 * e * e);
}

/* Moves u to the least E by Newton's steps, each so short that E falls; w w^T becomes the
 * inverse of the Hessian there. */
static void find_least(const struct place *at, matrix w, double u[3])
{
    for (int step = 0; step < 200; step++) {
        const double before = exponent(at, u);
        double slope[3], z[3] = {0}, v[3], share = 2;
        matrix h, l, inner, next;

        differentiate(at, w, u, slope, h);
        root_of(h, l);
        for (int i = 0; i < 3; i++)
            if (l[i][i] == 0) l[i][i] = 1; /* E has no least there */
        invert(l, inner);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                z[i] -= inner[j][i] * slope[j];
                next[i][j] = 0;
                for (int k = 0; k < 3; k++) next[i][j] += w[i][k] * inner[k][j];
            }
        memcpy(w, next, sizeof next);
        if (fabs(slope[0]) + fabs(slope[1]) + fabs(slope[2]) < 1e-3 && step > 1) return;
        do {
            share /= 2;
            for (int i = 0; i < 3; i++)
                v[i] = u[i] + share * (w[i][0] * z[0] + w[i][1] * z[1] + w[i][2] * z[2]);
        } while (exponent(at, v) > before && share > 1e-6);
        memcpy(u, v, sizeof v);
    }
}

double block_mean(const struct form_of *of, const double d[3], double step)
{
    const double reach2 = 44;
    const int n = (int)ceil(sqrt(reach2) / step);
    struct place at;
    double u[3] = {0}, slope[3], sum = 0;
    matrix s, h, l, w;
    double k[6];

    (void)form_inverse(of->block, k);
    widen(k, at.k);
    widen(of->spread, s);
    root_of(s, at.root);
    for (int i = 0; i < 3; i++) {
        at.q0[i] = of->q0[i];
        at.p[i] = of->q0[i] + d[i];
    }
    linearise(&at, slope, h);
    root_of(h, l);
    invert(l, w);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int m = 0; m < 3; m++) u[i] -= w[i][m] * w[j][m] * slope[j];
    find_least(&at, w, u);
    for (int i = -n; i <= n; i++)
        for (int j = -n; j <= n; j++)
            for (int m = -n; m <= n; m++) {
                const double z[3] = {i * step, j * step, m * step};
                double v[3];

                if (z[0] * z[0] + z[1] * z[1] + z[2] * z[2] > reach2) continue;
                for (int c = 0; c < 3; c++)
                    v[c] = u[c] + w[c][0] * z[0] + w[c][1] * z[1] + w[c][2] * z[2];
                sum += exp(-exponent(&at, v));
            }
    return sum * step * step * step * w[0][0] * w[1][1] * w[2][2]
           / pow(2 * 3.14159265358979323846, 1.5);
}
