/*
 * direct.c - computes A(h) as a plain sum over the atoms, in double, without a grid.
 *
 * Tests compare density.c with this sum, which is also cheaper for few atoms. Tables of
 * each atom make exp(2 pi i h.r) a product of three numbers.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_model/structure.h"

/* the numbers of an atom for the sums: the tensor beta of T(h) = exp(-h.beta h), and tables
 * of exp(2 pi i h x), and likewise of k y and l z */
struct summed_atom {
    size_t index; /* in the structure */
    double beta[SYMMETRIC];
    double occupancy;
    double change[NB_ATOM_NUMBERS]; /* of 2 pi x, 2 pi y, 2 pi z, B/4, occupancy */
    complex_pair *wave[3]; /* the middle of each table: its index is h, k or l */
};

enum { BLOCK = 256 }; /* number of atoms whose tables exist at a time */

struct block {
    int n;
    struct summed_atom atom[BLOCK];
    complex_pair *tables;
};

/* Returns the rows a*, b*, c* of the matrix to fractional coordinates, 1/A. */
static const double (*stars_of(const struct request *request))[3]
{
    return (const double(*)[3])request->structure->model.fractional;
}

static void fill_table(double x, int max, complex_pair *middle)
{
    const double turn = 2 * acos(-1);

    for (int h = -max; h <= max; h++) {
        const double turns = h * x, angle = turn * (turns - rint(turns));

        middle[h][0] = cos(angle);
        middle[h][1] = sin(angle);
    }
}

static size_t table_size(const struct sphere *sphere)
{
    return 2 * (size_t)(sphere->max[0] + sphere->max[1] + sphere->max[2]) + 3;
}

static void set_atom(const struct request *request, size_t i, const double *dot,
                     struct summed_atom *out, complex_pair *table)
{
    const struct gemmi_model *model = &request->structure->model;
    const double(*stars)[3] = stars_of(request);
    const double *x = request->x[i];
    double tensor[SYMMETRIC];

    structure_tensor(request->structure, i, x, tensor);
    symmetric_in_basis(tensor, stars, out->beta);
    for (int k = 0; k < SYMMETRIC; k++) out->beta[k] /= 4;
    out->index = i;
    out->occupancy = x[4];
    for (int k = 0; k < 3; k++) {
        const int max = request->sphere.max[k];
        const double at = stars[k][0] * x[0] + stars[k][1] * x[1] + stars[k][2] * x[2]
                          + model->fractional[9 + k];

        out->wave[k] = table + max;
        table += 2 * max + 1;
        fill_table(at, max, out->wave[k]);
        out->change[k] =
            dot ? 2 * acos(-1)
                      * (stars[k][0] * dot[0] + stars[k][1] * dot[1] + stars[k][2] * dot[2])
                : 0;
    }
    out->change[3] = dot ? dot[3] / 4 : 0;
    out->change[4] = dot ? dot[4] : 0;
}

static double form_factor(const struct gemmi_form_factor *factor, double s2)
{
    double f = factor->c;

    for (int i = 0; i < 4; i++) f += factor->a[i] * exp(-factor->b[i] * s2 / 4);
    return f;
}

/* Sets out to T(h) exp(2 pi i h.r) of an atom. */
static void wave_at(const struct summed_atom *atom, const int hkl[3], double out[2])
{
    const double h = hkl[0], k = hkl[1], l = hkl[2], *b = atom->beta;
    const double t = exp(-(h * (h * b[0] + 2 * (k * b[3] + l * b[4]))
                           + k * (k * b[1] + 2 * l * b[5]) + l * l * b[2]));
    const double *x = atom->wave[0][hkl[0]], *y = atom->wave[1][hkl[1]],
                 *z = atom->wave[2][hkl[2]];
    const double re = x[0] * y[0] - x[1] * y[1], im = x[0] * y[1] + x[1] * y[0];

    out[0] = t * (re * z[0] - im * z[1]);
    out[1] = t * (re * z[1] + im * z[0]);
}

/* Adds the atoms of a block, all of one kind, to A; with `tangent`, adds their changes to
 * the change of A. */
static void add_block(struct request *request, const struct block *block, int kind,
                      int tangent, complex_pair *a)
{
    const struct sphere *sphere = &request->sphere;
    const struct gemmi_form_factor *factor = &request->structure->kind[kind].factor;
    const double *dispersion = request->dispersion[kind];

#pragma omp parallel for num_threads(request->ctx->threads) schedule(static)
    for (size_t i = 0; i < sphere->n; i++) {
        STANDARD_FLOATS;
        const int *hkl = sphere->hkl[i];
        const double f = form_factor(factor, sphere->s2[i]) + dispersion[0];
        double re = 0, im = 0;

        if (progress_stopped(&request->progress)) continue;
        for (int n = 0; n < block->n; n++) {
            const struct summed_atom *atom = block->atom + n;
            const double *c = atom->change;
            const double turn = hkl[0] * c[0] + hkl[1] * c[1] + hkl[2] * c[2];
            const double grow = c[4] - atom->occupancy * sphere->s2[i] * c[3];
            double wave[2];

            wave_at(atom, hkl, wave);
            if (tangent) {
                re += grow * wave[0] - atom->occupancy * turn * wave[1];
                im += grow * wave[1] + atom->occupancy * turn * wave[0];
            } else {
                re += atom->occupancy * wave[0];
                im += atom->occupancy * wave[1];
            }
        }
        a[i][0] += f * re - dispersion[1] * im;
        a[i][1] += f * im + dispersion[1] * re;
    }
}

static struct block *block_create(nb_context *ctx, const struct sphere *sphere)
{
    struct block *block = calloc(1, sizeof *block);

    if (block) block->tables = malloc(BLOCK * table_size(sphere) * sizeof *block->tables);
    if (block && block->tables) return block;
    free(block);
    (void)fail_memory(ctx, "direct summation");
    return NULL;
}

static void block_free(struct block *block)
{
    free(block->tables);
    free(block);
}

/* Fills a block with the next atoms of a kind, from atom *at on. Returns their number. */
static int fill_block(const struct request *request, int kind,
                      const double (*dot)[NB_ATOM_NUMBERS], size_t *at, struct block *block)
{
    const nb_structure *structure = request->structure;
    const size_t size = table_size(&request->sphere);

    block->n = 0;
    for (; *at < structure->model.natom && block->n < BLOCK; ++*at) {
        if (structure->kind_of[*at] != kind) continue;
        set_atom(request, *at, dot ? dot[*at] : NULL, &block->atom[block->n],
                 block->tables + (size_t)block->n * size);
        block->n++;
    }
    return block->n;
}

nb_status direct_sum(struct request *request, const double (*dot)[NB_ATOM_NUMBERS],
                     complex_pair *a)
{
    const nb_structure *structure = request->structure;
    struct block *block = block_create(request->ctx, &request->sphere);

    if (!block) return NB_ERR_MEMORY;
    progress_part(&request->progress, 0, 1,
                  (int)(structure->model.natom / BLOCK + structure->nkind));
    for (size_t kind = 0; kind < structure->nkind; kind++) {
        size_t at = 0;

        while (fill_block(request, (int)kind, dot, &at, block) > 0) {
            add_block(request, block, (int)kind, dot != NULL, a);
            progress_step(&request->progress);
        }
    }
    block_free(block);
    return progress_check(&request->progress);
}

/* Adds the gradient of one atom. `bar` is bar_a conj(f + i f''), with f and f'' of its
 * kind. */
static void add_gradient(const struct request *request, const struct summed_atom *atom,
                         const complex_pair *bar, double out[NB_ATOM_NUMBERS])
{
    const struct sphere *sphere = &request->sphere;
    const double(*stars)[3] = stars_of(request);
    double value = 0, spread = 0, turn[3] = {0, 0, 0};

    for (size_t i = 0; i < sphere->n; i++) {
        const int *hkl = sphere->hkl[i];
        double wave[2], re, im;

        wave_at(atom, hkl, wave);
        re = bar[i][0] * wave[0] + bar[i][1] * wave[1];
        im = bar[i][0] * wave[1] - bar[i][1] * wave[0];
        value += re;
        spread -= re * sphere->s2[i];
        for (int k = 0; k < 3; k++) turn[k] -= im * hkl[k];
    }
    for (int k = 0; k < 3; k++)
        out[k] += 2 * acos(-1) * atom->occupancy
                  * (turn[0] * stars[0][k] + turn[1] * stars[1][k] + turn[2] * stars[2][k]);
    out[3] += atom->occupancy * spread / 4;
    out[4] += value;
}

/* Sets out to bar_a conj(f + i f'') for the atoms of one kind. */
static void weigh(const struct request *request, int kind, const complex_pair *bar_a,
                  complex_pair *out)
{
    const struct gemmi_form_factor *factor = &request->structure->kind[kind].factor;
    const double *dispersion = request->dispersion[kind];

    for (size_t i = 0; i < request->sphere.n; i++) {
        const double f = form_factor(factor, request->sphere.s2[i]) + dispersion[0];

        out[i][0] = bar_a[i][0] * f + bar_a[i][1] * dispersion[1];
        out[i][1] = bar_a[i][1] * f - bar_a[i][0] * dispersion[1];
    }
}

/* Adds the gradients of the atoms of one kind. */
static void gradients_of_kind(struct request *request, int kind, struct block *block,
                              const complex_pair *bar, double (*bar_x)[NB_ATOM_NUMBERS])
{
    size_t at = 0;

    while (fill_block(request, kind, NULL, &at, block) > 0) {
#pragma omp parallel for num_threads(request->ctx->threads) schedule(dynamic)
        for (int i = 0; i < block->n; i++) {
            STANDARD_FLOATS;
            if (!progress_stopped(&request->progress))
                add_gradient(request, &block->atom[i], bar, bar_x[block->atom[i].index]);
        }
        progress_step(&request->progress);
    }
}

nb_status direct_sum_vjp(struct request *request, const complex_pair *bar_a,
                         double (*bar_x)[NB_ATOM_NUMBERS])
{
    const nb_structure *structure = request->structure;
    struct block *block = block_create(request->ctx, &request->sphere);
    complex_pair *bar;

    if (!block) return NB_ERR_MEMORY;
    bar = calloc(request->sphere.n, sizeof *bar);
    if (!bar) {
        block_free(block);
        return fail_memory(request->ctx, "direct summation");
    }
    progress_part(&request->progress, 0, 1,
                  (int)(structure->model.natom / BLOCK + structure->nkind));
    for (size_t kind = 0; kind < structure->nkind; kind++) {
        weigh(request, (int)kind, bar_a, bar);
        gradients_of_kind(request, (int)kind, block, (const complex_pair *)bar, bar_x);
    }
    free(bar);
    block_free(block);
    return progress_check(&request->progress);
}
