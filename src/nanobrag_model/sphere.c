/*
 * sphere.c - lists the reflections up to a resolution, and sums over the space group.
 *
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_model/structure.h"

/* Applies a rotation of the space group, which acts on h, k, l from the right. */
static void turn(const int hkl[3], const int rotation[3][3], int out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] =
            hkl[0] * rotation[0][k] + hkl[1] * rotation[1][k] + hkl[2] * rotation[2][k];
}

/* Returns h.t in 24ths of a turn, from 0 to 23. */
static int phase_of(const int hkl[3], const int shift[3])
{
    const int turns =
        (hkl[0] * shift[0] + hkl[1] * shift[1] + hkl[2] * shift[2]) % GEMMI_SHIFT;

    return turns < 0 ? turns + GEMMI_SHIFT : turns;
}

/* Sets the metric of reciprocal space, 1/A^2, as the mean of its images under the group, so
 * that all equivalent reflections are listed, or none. */
static void mean_metric(const struct gemmi_model *model, double metric[3][3])
{
    const struct gemmi_crystal *crystal = &model->crystal;
    const double *f = model->fractional;

    for (int i = 0; i < 9; i++) metric[i / 3][i % 3] = 0;
    for (int n = 0; n < crystal->noperator; n++) {
        double row[3][3];

        /* the images of a*, b*, c* */
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) {
                const int *r = crystal->operator_of[n].rotation[i];

                row[i][k] = r[0] * f[k] + r[1] * f[3 + k] + r[2] * f[6 + k];
            }
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++)
                metric[i][k] +=
                    (row[i][0] * row[k][0] + row[i][1] * row[k][1] + row[i][2] * row[k][2])
                    / crystal->noperator;
    }
}

static double square_of(const double metric[3][3], int h, int k, int l)
{
    return h * (h * metric[0][0] + 2 * (k * metric[0][1] + l * metric[0][2]))
           + k * (k * metric[1][1] + 2 * l * metric[1][2]) + l * l * metric[2][2];
}

/* Sets the metric of reciprocal space, 1/A^2, from the cell alone. */
static void own_metric(const struct gemmi_model *model, double metric[3][3])
{
    const double *f = model->fractional;

    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++)
            metric[i][k] = f[3 * i] * f[3 * k] + f[3 * i + 1] * f[3 * k + 1]
                           + f[3 * i + 2] * f[3 * k + 2];
}

/* Counts the reflections up to 1/d^2 = limit, and lists them if memory was allocated. */
static size_t list(const struct sphere *sphere, const double mean[3][3],
                   const double metric[3][3], double limit)
{
    const int *max = sphere->max;
    size_t n = 0, place = 0;

    for (int h = -max[0]; h <= max[0]; h++)
        for (int k = -max[1]; k <= max[1]; k++)
            for (int l = -max[2]; l <= max[2]; l++, place++) {
                const int inside =
                    square_of(mean, h, k, l) <= limit && (h != 0 || k != 0 || l != 0);

                if (sphere->place) sphere->place[place] = inside ? (int)n : -1;
                if (!inside) continue;
                if (sphere->hkl) {
                    sphere->hkl[n][0] = h;
                    sphere->hkl[n][1] = k;
                    sphere->hkl[n][2] = l;
                    sphere->s2[n] = square_of(metric, h, k, l);
                }
                n++;
            }
    return n;
}

nb_status sphere_create(nb_context *ctx, const nb_structure *structure, double dmin,
                        struct sphere *out)
{
    enum { PLACES_MOST = 1 << 28 }; /* as many as a list of reflections may span */
    const struct gemmi_model *model = &structure->model;
    const double limit = (1 + 1e-9) / (dmin * dmin);
    double mean[3][3], metric[3][3], places = 1;

    *out = (struct sphere){.n = 0};
    mean_metric(model, mean);
    own_metric(model, metric);
    for (size_t i = 0; i < 3; i++) {
        /* the mean metric and the cell differ by at most 1 % */
        const double most = 1.02 * model->crystal.cell[i] / dmin;

        out->max[i] = most < 1e5 ? (int)most : (int)1e5;
        places *= 2.0 * out->max[i] + 1;
    }
    if (!(places <= PLACES_MOST))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "structure factors to %g A: more than %d reflections; raise dmin", dmin,
                    (int)PLACES_MOST);
    out->n = list(out, (const double(*)[3])mean, (const double(*)[3])metric, limit);
    if (out->n == 0)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "structure factors to %g A: the cell has no reflection there; "
                    "lower dmin",
                    dmin);
    out->hkl = malloc(out->n * sizeof *out->hkl);
    out->s2 = malloc(out->n * sizeof *out->s2);
    out->place = malloc((size_t)places * sizeof *out->place);
    if (!out->hkl || !out->s2 || !out->place) {
        sphere_free(out);
        return fail_memory(ctx, "the list of structure factors");
    }
    (void)list(out, (const double(*)[3])mean, (const double(*)[3])metric, limit);
    return NB_OK;
}

void sphere_free(struct sphere *sphere)
{
    free(sphere->hkl);
    free(sphere->s2);
    free(sphere->place);
    *sphere = (struct sphere){.n = 0};
}

int sphere_find(const struct sphere *sphere, const int hkl[3])
{
    const int *max = sphere->max;
    size_t place = 0;

    for (int i = 0; i < 3; i++) {
        if (abs(hkl[i]) > max[i]) return -1;
        place = place * (size_t)(2 * max[i] + 1) + (size_t)(hkl[i] + max[i]);
    }
    return sphere->place[place];
}

/* Sets cos and sin of n/24 of a turn, exact where they are 0, 1/2 or 1. */
static void fill_turns(complex_pair turns[GEMMI_SHIFT])
{
    const double root2 = sqrt(0.5), root3 = sqrt(0.75);
    const double sine[7] = {0,     sin(acos(-1) / 12), 0.5, root2,
                            root3, cos(acos(-1) / 12), 1};

    for (int n = 0; n < GEMMI_SHIFT; n++)
        for (int part = 0; part < 2; part++) {
            const int at = (n + (part ? 0 : 6)) % 24, half = at % 12;
            const double value = sine[half <= 6 ? half : 12 - half];

            turns[n][part] = at < 12 ? value : -value;
        }
}

static int is_absent(const struct gemmi_crystal *crystal, const int hkl[3])
{
    for (int n = 0; n < crystal->noperator; n++) {
        const struct gemmi_operator *op = crystal->operator_of + n;
        int to[3];

        turn(hkl, op->rotation, to);
        if (to[0] == hkl[0] && to[1] == hkl[1] && to[2] == hkl[2]
            && phase_of(hkl, op->shift) != 0)
            return 1;
    }
    return 0;
}

void sphere_symmetrise(const struct sphere *sphere, const struct gemmi_crystal *crystal,
                       int threads, const complex_pair *a, complex_pair *f)
{
    complex_pair turns[GEMMI_SHIFT];

    (void)threads;
    fill_turns(turns);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < sphere->n; i++) {
        STANDARD_FLOATS;
        const int *hkl = sphere->hkl[i];
        double re = 0, im = 0;

        for (int n = 0; n < crystal->noperator; n++) {
            const struct gemmi_operator *op = crystal->operator_of + n;
            const double *by = turns[phase_of(hkl, op->shift)];
            int to[3], at;

            turn(hkl, op->rotation, to);
            at = sphere_find(sphere, to);
            if (at < 0) continue;
            re += a[at][0] * by[0] - a[at][1] * by[1];
            im += a[at][0] * by[1] + a[at][1] * by[0];
        }
        if (is_absent(crystal, hkl)) re = im = 0;
        f[i][0] = re;
        f[i][1] = im;
    }
}

/* Inverts a rotation, which is a matrix of whole numbers with determinant +-1. */
static void invert(const int r[3][3], int out[3][3])
{
    int determinant = 0;

    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            const int a = (k + 1) % 3, b = (k + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;

            out[i][k] = r[a][c] * r[b][d] - r[a][d] * r[b][c];
        }
    for (int i = 0; i < 3; i++) determinant += r[0][i] * out[i][0];
    for (int i = 0; i < 9; i++) out[i / 3][i % 3] *= determinant;
}

void sphere_symmetrise_vjp(const struct sphere *sphere, const struct gemmi_crystal *crystal,
                           int threads, const complex_pair *bar_f, complex_pair *bar_a)
{
    complex_pair turns[GEMMI_SHIFT];
    int inverse[GEMMI_OPERATORS][3][3];

    (void)threads;
    fill_turns(turns);
    for (int n = 0; n < crystal->noperator; n++)
        invert(crystal->operator_of[n].rotation, inverse[n]);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < sphere->n; i++) {
        STANDARD_FLOATS;
        double re = 0, im = 0;

        for (int n = 0; n < crystal->noperator; n++) {
            const double *by;
            int from[3], at;

            turn(sphere->hkl[i], (const int(*)[3])inverse[n], from);
            at = sphere_find(sphere, from);
            if (at < 0 || is_absent(crystal, from)) continue;
            by = turns[phase_of(from, crystal->operator_of[n].shift)];
            re += bar_f[at][0] * by[0] + bar_f[at][1] * by[1];
            im += bar_f[at][1] * by[0] - bar_f[at][0] * by[1];
        }
        bar_a[i][0] = re;
        bar_a[i][1] = im;
    }
}
