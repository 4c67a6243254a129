/*
 * cone.c - moves a matrix T of mosaic spreads and keeps it positive semi-definite. The
 * spots have the covariance T^2, and an image is closer to linear in T^2 than in T, so a
 * step D leads to the root of T^2 + T D + D T. A negative eigenvalue of this sum is
 * replaced by its size, but by at most a hundredth of v^T T^2 v for its eigenvector v. So a
 * fit can touch the edge of the cone of such matrices and leave it again, or reach the edge
 * in a few steps.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_fit/chart/cone.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nanobrag_fit/eigen.h"
#include "nanobrag_fit/fit.h"

enum { ELEMENTS = 6, WORK = 34 * 3 + 1 }; /* eigen_work(3) */

static const char *const names[ELEMENTS] = {"mosaic_a",  "mosaic_b",  "mosaic_c",
                                            "mosaic_ab", "mosaic_ac", "mosaic_bc"};

/* Row and column of each element of `names` in the matrix. */
static const int row[ELEMENTS] = {0, 1, 2, 0, 0, 1}, column[ELEMENTS] = {0, 1, 2, 1, 2, 2};

/* Least spread in a fit, degree: small, but the normal equations still depend on it. */
static const double least = 1e-5;

/* Finds the six elements of the matrix that contains parameter i. Returns 0 if one of them
 * is not free. */
static int find(const nb_fit *fit, size_t first, size_t n, size_t i, size_t at[ELEMENTS])
{
    int found = 0;

    for (size_t j = first; j < first + n; j++)
        for (int k = 0; k < ELEMENTS; k++) {
            if (fit->value[j].shot != fit->value[i].shot
                || strcmp(fit->value[j].param.name, names[k]) != 0)
                continue;
            at[k] = j;
            found++;
        }
    return found == ELEMENTS;
}

/* Writes the symmetric matrix of six elements as 3 x 3 numbers. */
static void widen(const double *x, const size_t at[ELEMENTS], double out[9])
{
    for (int k = 0; k < ELEMENTS; k++)
        out[3 * row[k] + column[k]] = out[3 * column[k] + row[k]] = x[at[k]];
}

/* Returns a^T m b. */
static double between(const double *a, const double m[9], const double *b)
{
    double sum = 0;

    for (int i = 0; i < 9; i++) sum += a[i / 3] * m[i] * b[i % 3];
    return sum;
}

static void move(nb_fit *fit, const size_t at[ELEMENTS])
{
    double now[9], step[9], was[9] = {0}, square[9] = {0}, values[3], work[WORK];
    int moves = 0;

    for (int k = 0; k < ELEMENTS; k++) moves |= fit->step[at[k]] != 0;
    if (!moves) return;
    widen(fit->best.x, at, now);
    widen(fit->step, at, step);
    for (int i = 0; i < 9; i++)
        for (int a = i - i % 3, b = i % 3; b < 9; a++, b += 3) {
            was[i] += now[a] * now[b];
            square[i] += now[a] * (now[b] + step[b]) + step[a] * now[b];
        }
    if (!eigen_symmetric(3, square, values, work)) return;
    for (int i = 0; i < 3; i++) {
        const double *v = square + (size_t)3 * (size_t)i;

        if (values[i] < 0) values[i] = fmin(-values[i], between(v, was, v) / 100);
        values[i] = fmax(sqrt(values[i]), least);
    }
    for (int k = 0; k < ELEMENTS; k++) {
        double sum = 0;

        for (int i = 0; i < 3; i++)
            sum += values[i] * square[3 * i + row[k]] * square[3 * i + column[k]];
        fit->trial.x[at[k]] = fmin(fmax(sum, fit->lower[at[k]]), fit->upper[at[k]]);
    }
}

void cone_move(nb_fit *fit, size_t first, size_t n)
{
    size_t at[ELEMENTS] = {0};

    for (size_t i = first; i < first + n; i++)
        if (strcmp(fit->value[i].param.name, names[0]) == 0 && find(fit, first, n, i, at))
            move(fit, at);
}

/* For each eigenvector v of T whose eigenvalue is at its least value: if the step would
 * lower v^T T v, adds a large curvature along this direction to the matrix of the point, so
 * that the step leaves it. */
static void hold(const nb_fit *fit, struct fit_point *point, const size_t at[ELEMENTS])
{
    const struct fit_layout *l = &fit->layout;
    const size_t shot = at[0] < l->ns ? 0 : (at[0] - l->ns) / l->no;
    double *own = point->own + shot * fit->at.own_end + fit->at.own_matrix;
    double *matrix = at[0] < l->ns ? point->sum + fit->at.matrix : own;
    const size_t side = at[0] < l->ns ? l->nd : l->no;
    double vectors[9], values[3], work[WORK], stiff = 0;
    size_t place[ELEMENTS];

    widen(point->x, at, vectors);
    if (!eigen_symmetric(3, vectors, values, work)) return;
    for (int k = 0; k < ELEMENTS; k++) {
        place[k] = at[k] < l->ns ? l->row[at[k]] : (at[k] - l->ns) % l->no;
        stiff = fmax(stiff, fit_diagonal(fit, point, at[k]));
    }
    for (int i = 0; i < 3 && values[i] < 2 * least; i++) {
        const double *v = vectors + (size_t)3 * (size_t)i;
        double part[ELEMENTS], slope = 0;

        for (int k = 0; k < ELEMENTS; k++) {
            part[k] = v[row[k]] * v[column[k]];
            slope += part[k] * fit_gradient(fit, point, at[k]);
            if (row[k] != column[k]) part[k] *= 2;
        }
        for (int k = 0; k < ELEMENTS * ELEMENTS && slope > 0; k++)
            matrix[place[k / ELEMENTS] * side + place[k % ELEMENTS]] +=
                stiff * part[k / ELEMENTS] * part[k % ELEMENTS];
    }
}

void cone_hold(const nb_fit *fit, struct fit_point *point)
{
    const struct fit_layout *l = &fit->layout;
    size_t at[ELEMENTS] = {0};

    for (size_t i = 0; i < l->n && l->has_matrix; i++)
        if (strcmp(fit->value[i].param.name, names[0]) == 0 && find(fit, 0, l->n, i, at))
            hold(fit, point, at);
}

int cone_warn(const nb_fit *fit, char *text, size_t size)
{
    double v[9], values[3], work[WORK];
    size_t at[ELEMENTS] = {0};

    for (size_t i = 0; i < fit->layout.n; i++) {
        const int64_t shot = fit->value[i].shot;

        if (strcmp(fit->value[i].param.name, names[0]) != 0
            || !find(fit, 0, fit->layout.n, i, at))
            continue;
        widen(fit->best.x, at, v);
        if (!eigen_symmetric(3, v, values, work) || !(values[0] < 2 * least)) continue;
        (void)snprintf(text, size,
                       "the mosaic spread%s%s is 0 about %.2f of a, %.2f of c* x a and "
                       "%.2f of c*: the data ask for less than 0 there, and the errors "
                       "hold for this spread fixed at 0",
                       shot < 0 ? "" : " of ", shot < 0 ? "" : fit->name[shot], v[0], v[1],
                       v[2]);
        return 1;
    }
    return 0;
}
