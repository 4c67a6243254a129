/* pattern.c - the places of the nodes in a spot, and the fit of polynomials to numbers at
 * the nodes. SPDX-License-Identifier: MIT */
#include "kernels/continuous/pattern.h"

#include <math.h>
#include <string.h>

enum { RINGS = 4, MOST = 15 };

/* The polynomial of each output: the index of its first coefficient, and its degree. */
static const struct {
    int first, degree;
} outputs_of[NODE_OUTPUTS] = {{SPOT_L, 4},
                              {SPOT_M, 4},
                              {SPOT_H, 2},
                              {SPOT_L3, 1},
                              {SPOT_L4, 1}};

static int count_of(int degree)
{
    return (degree + 1) * (degree + 2) / 2;
}

/* Writes the monomials of a and b up to a degree, in the order that samples.h defines. */
static void monomials(int degree, double a, double b, double *out)
{
    for (int d = 0; d <= degree; d++)
        for (int j = 0; j <= d; j++) {
            double term = 1;

            for (int i = 0; i < d - j; i++) term *= a;
            for (int i = 0; i < j; i++) term *= b;
            *out++ = term;
        }
}

/* Replaces r by the solution x of m x = r, by Cholesky's factors of the n x n matrix m. */
static void solve(int n, double (*m)[MOST], double *r)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = m[i][j];

            for (int k = 0; k < j; k++) sum -= m[i][k] * m[j][k];
            m[i][j] = i == j ? sqrt(sum) : sum / m[j][j];
        }
        for (int k = 0; k < i; k++) r[i] -= m[i][k] * r[k];
        r[i] /= m[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) r[i] -= m[k][i] * r[k];
        r[i] /= m[i][i];
    }
}

/* Computes the rows of (X^T W X)^-1 X^T W for one degree; X holds the monomials of the
 * nodes. */
static void fit_degree(int degree, const struct pattern *p, const double *weight,
                       double (*out)[NODES])
{
    const int n = count_of(degree);
    double normal[MOST][MOST] = {{0}}, at[NODES][MOST] = {{0}};

    for (int i = 0; i < NODES; i++) {
        monomials(degree, p->a[i], p->b[i], at[i]);
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++) normal[j][k] += weight[i] * at[i][j] * at[i][k];
    }
    for (int i = 0; i < NODES; i++) {
        double m[MOST][MOST], column[MOST];

        memcpy(m, normal, sizeof m);
        for (int j = 0; j < n; j++) column[j] = weight[i] * at[i][j];
        solve(n, m, column);
        for (int j = 0; j < n; j++) out[j][i] = column[j];
    }
}

void pattern_make(struct pattern *out)
{
    static const double radius[RINGS] = {0, 0.36, 0.68, 0.95},
                        share[RINGS] = {1, 1, 0.5, 0.12};
    static const int count[RINGS] = {1, 5, 8, 10};
    double weight[NODES];
    int n = 0;

    for (int ring = 0; ring < RINGS; ring++)
        for (int j = 0; j < count[ring]; j++, n++) {
            const double t = 2 * 3.14159265358979323846 * (j + 0.3 * ring) / count[ring];

            out->a[n] = radius[ring] * cos(t);
            out->b[n] = radius[ring] * sin(t);
            weight[n] = share[ring];
        }
    for (int o = 0; o < NODE_OUTPUTS; o++)
        fit_degree(outputs_of[o].degree, out, weight, out->fit + outputs_of[o].first);
}

void pattern_fit(const struct pattern *pattern, int outputs, double (*output)[NODES],
                 double coefficient[SPOT_COEFFICIENTS])
{
    memset(coefficient, 0, SPOT_COEFFICIENTS * sizeof *coefficient);
    for (int o = 0; o < outputs; o++)
        for (int k = 0; k < count_of(outputs_of[o].degree); k++) {
            const double *fit = pattern->fit[outputs_of[o].first + k];
            double sum = 0;

#pragma omp simd reduction(+ : sum)
            for (int i = 0; i < NODES; i++) sum += fit[i] * output[o][i];
            coefficient[outputs_of[o].first + k] = sum;
        }
}

void pattern_fit_adjoint(const struct pattern *pattern, int outputs,
                         const double bar[SPOT_COEFFICIENTS], double (*output)[NODES])
{
    for (int o = 0; o < outputs; o++) {
        memset(output[o], 0, sizeof output[o]);
        for (int k = 0; k < count_of(outputs_of[o].degree); k++)
            for (int i = 0; i < NODES; i++)
                output[o][i] +=
                    bar[outputs_of[o].first + k] * pattern->fit[outputs_of[o].first + k][i];
    }
}
