/*
 * fit/chart/cone.c - see cone.h. Spots have the covariance T^2, which is smooth where a
 * spread passes through 0. So a step may lead to a matrix with a negative spread, and goes
 * on from that with the same square and no negative one: with its eigenvalues' sizes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fit/chart/cone.h"

#include <math.h>
#include <string.h>

#include "fit/eigen.h"
#include "fit/fit.h"

enum { ELEMENTS = 6, WORK = 34 * 3 + 1 }; /* eigen_work(3) */

static const char *const names[ELEMENTS] = {"mosaic_a",  "mosaic_b",  "mosaic_c",
                                            "mosaic_ab", "mosaic_ac", "mosaic_bc"};

/* Rows and columns of an element. */
static const int row[ELEMENTS] = {0, 1, 2, 0, 0, 1}, column[ELEMENTS] = {0, 1, 2, 1, 2, 2};

/* Finds the six elements of the shot of parameter i. Returns 0 if one is not free. */
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

/* Replaces the matrix at these places by the root of its square, if it differs. */
static void reflect(nb_fit *fit, const size_t at[ELEMENTS])
{
    double vectors[9], values[3], work[WORK];

    for (int k = 0; k < ELEMENTS; k++)
        vectors[3 * row[k] + column[k]] = vectors[3 * column[k] + row[k]] =
            fit->trial.x[at[k]];
    if (!eigen_symmetric(3, vectors, values, work)) return;
    if (values[0] >= 0 && values[1] >= 0 && values[2] >= 0) return;
    for (int k = 0; k < ELEMENTS; k++) {
        double sum = 0;

        for (int i = 0; i < 3; i++)
            sum += fabs(values[i]) * vectors[3 * i + row[k]] * vectors[3 * i + column[k]];
        fit->trial.x[at[k]] = fmin(fmax(sum, fit->lower[at[k]]), fit->upper[at[k]]);
    }
}

void cone_reflect(nb_fit *fit, size_t first, size_t n)
{
    size_t at[ELEMENTS];

    for (size_t i = first; i < first + n; i++)
        if (strcmp(fit->value[i].param.name, names[0]) == 0 && find(fit, first, n, i, at))
            reflect(fit, at);
}
