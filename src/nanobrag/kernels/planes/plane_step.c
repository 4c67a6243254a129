/* plane_step.c - Newton's step for the plane of a box. SPDX-License-Identifier: MIT */
#include "kernels/planes/plane_step.h"

#include <math.h>
#include <string.h>

/* A face of the cone: all planes that are linear combinations of its n directions. */
struct face {
    int n;
    double direction[PLANE_TERMS][PLANE_TERMS];
};

enum { INSIDE, FACES = 10 };

static const struct face faces[FACES] = {
    {3, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {2, {{-1, 1, 0}, {-1, 0, 1}}},
    {2, {{-1, 1, 0}, {1, 0, 1}}},
    {2, {{1, 1, 0}, {-1, 0, 1}}},
    {2, {{1, 1, 0}, {1, 0, 1}}},
    {1, {{1, 1, 0}}},
    {1, {{1, -1, 0}}},
    {1, {{1, 0, 1}}},
    {1, {{1, 0, -1}}},
    {0, {{0}}},
};

/* A pivot below this fraction of its diagonal element is rounding: the direction depends on
 * the directions before it. */
static const double least_pivot = 1e-13;

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void times(const double m[PLANE_TERMS][PLANE_TERMS], const double *a, double *out)
{
    for (int i = 0; i < PLANE_TERMS; i++) out[i] = dot(m[i], a);
}

/* Returns 1 if a direction leaves the terms at 0 that are not kept. */
static int is_free(const struct plane_model *model, const double *direction)
{
    for (int i = 0; i < PLANE_TERMS; i++)
        if (direction[i] != 0 && !model->kept[i]) return 0;
    return 1;
}

/* Solves m z = right by Cholesky's factors, for a positive semidefinite matrix m. Elements
 * of z that m does not determine become 0. Returns their number. */
static int solve(int n, double m[PLANE_TERMS][PLANE_TERMS], const double *right, double *z)
{
    double l[PLANE_TERMS][PLANE_TERMS] = {{0}}, y[PLANE_TERMS] = {0};
    int has[PLANE_TERMS] = {0}, open = 0;

    for (int j = 0; j < n; j++) {
        double pivot = m[j][j];

        for (int k = 0; k < j; k++) pivot -= l[j][k] * l[j][k];
        has[j] = pivot > least_pivot * m[j][j];
        open += !has[j];
        if (!has[j]) continue;
        l[j][j] = sqrt(pivot);
        for (int i = j + 1; i < n; i++) {
            double sum = m[i][j];

            for (int k = 0; k < j; k++) sum -= l[i][k] * l[j][k];
            l[i][j] = sum / l[j][j];
        }
        y[j] = right[j];
        for (int k = 0; k < j; k++) y[j] -= l[j][k] * y[k];
        y[j] /= l[j][j];
    }
    for (int j = n - 1; j >= 0; j--) {
        z[j] = y[j];
        for (int i = j + 1; i < n; i++) z[j] -= l[i][j] * z[i];
        z[j] = has[j] ? z[j] / l[j][j] : 0;
    }
    return open;
}

/* Sets `to` to the combination of a face's free directions whose product with the curvature
 * equals `right` along each of them. Returns how many directions have no curvature. */
static int solve_on(const struct plane_model *model, const struct face *face,
                    const double *right, double *to)
{
    double m[PLANE_TERMS][PLANE_TERMS], r[PLANE_TERMS], z[PLANE_TERMS];
    const double *direction[PLANE_TERMS];
    int n = 0, open;

    for (int i = 0; i < face->n; i++)
        if (is_free(model, face->direction[i])) direction[n++] = face->direction[i];
    for (int i = 0; i < n; i++) {
        double bent[PLANE_TERMS];

        times(model->curvature, direction[i], bent);
        r[i] = dot(direction[i], right);
        for (int k = 0; k < n; k++) m[i][k] = dot(direction[k], bent);
    }
    open = solve(n, m, r, z);
    memset(to, 0, PLANE_TERMS * sizeof *to);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < PLANE_TERMS; k++) to[k] += z[i] * direction[i][k];
    return open;
}

/* Returns 1 if a plane is nowhere negative in its box, apart from rounding. */
static int is_positive(const double *plane)
{
    const double across = fabs(plane[1]) + fabs(plane[2]);

    return plane[0] - across >= -1e-15 * across;
}

int plane_step(const struct plane_model *model, const double from[PLANE_TERMS],
               double to[PLANE_TERMS])
{
    const int n = model->positive ? FACES : 1;
    double right[PLANE_TERMS], least = INFINITY;
    int best = INSIDE;

    memcpy(to, from, PLANE_TERMS * sizeof *to);
    times(model->curvature, from, right);
    for (int i = 0; i < PLANE_TERMS; i++) right[i] -= model->slope[i];
    for (int i = 0; i < n; i++) {
        double plane[PLANE_TERMS], step[PLANE_TERMS], bent[PLANE_TERMS], value;

        const int open = solve_on(model, faces + i, right, plane);

        if (model->positive && !is_positive(plane)) continue;
        for (int k = 0; k < PLANE_TERMS; k++) step[k] = plane[k] - from[k];
        times(model->curvature, step, bent);
        value = dot(model->slope, step) + dot(step, bent) / 2;
        if (!(value < least)) continue;
        least = value;
        best = i;
        memcpy(to, plane, sizeof plane);
        if (i == INSIDE && open == 0) break; /* the minimum over all planes */
    }
    return best;
}

void plane_inverse(const struct plane_model *model, int face,
                   double inverse[PLANE_TERMS][PLANE_TERMS])
{
    double column[PLANE_TERMS][PLANE_TERMS];

    for (int i = 0; i < PLANE_TERMS; i++) {
        double unit[PLANE_TERMS] = {0};

        unit[i] = 1;
        (void)solve_on(model, faces + face, unit, column[i]);
    }
    for (int i = 0; i < PLANE_TERMS; i++)
        for (int k = 0; k < PLANE_TERMS; k++)
            inverse[i][k] = (column[i][k] + column[k][i]) / 2;
}
