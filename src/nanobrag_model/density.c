/*
 * density.c - computes A(h) as the Fourier transform of the density of the listed atoms on
 * a grid, and its adjoint: the transform back, then sums at the atoms.
 *
 * The density is blurred so that a grid can sample it; the factor exp(blur s^2/4) removes
 * the blur from A. The atoms of one asymmetric unit suffice, because sphere.c sums over the
 * space group; so the grid need not have the symmetry of the group. Each plane is filled by
 * one thread in the order of the atoms, and each atom is gathered by one thread, so that
 * the bits do not depend on the number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_model/fourier.h"
#include "nanobrag_model/gaussians.h"

/* a grid with its transform, and the atoms on it */
struct density {
    struct request *request;
    struct sampling sampling;
    struct fourier fourier;
    struct density_atom *atom; /* (natom) */
    const struct density_kernels *kernels;
    /* the atoms that touch each plane of the first index; the elements of touch from
     * start[p] to start[p + 1] - 1 belong to plane p of the grid */
    size_t *start;
    struct touch {
        uint32_t atom;
        int plane; /* as counted from the atom, not yet wrapped into the grid */
    } * touch;
};

static void density_free(struct density *d)
{
    fourier_free(&d->fourier);
    free(d->atom);
    free(d->start);
    free(d->touch);
}

static nb_status density_create(struct request *request, struct density *d)
{
    const size_t natom = request->structure->model.natom;

    *d = (struct density){.request = request};
    NB_TRY(sampling_choose(request, &d->sampling));
    d->kernels = kernels_density(request->ctx->env.isa);
    d->atom = malloc(natom * sizeof *d->atom);
    d->start = malloc(((size_t)d->sampling.n[0] + 1) * sizeof *d->start);
    if (!d->atom || !d->start) return fail_memory(request->ctx, "the density of the atoms");
    return fourier_create(request->ctx, d->sampling.n, &d->fourier);
}

/* Sets the Gaussians of all atoms; with `dot`, the changes of the Gaussians. */
static void set_atoms(struct density *d, int imaginary,
                      const double (*dot)[NB_ATOM_NUMBERS])
{
    const struct request *request = d->request;
    const size_t natom = request->structure->model.natom;

#pragma omp parallel for num_threads(request->ctx->threads) schedule(static)
    for (size_t i = 0; i < natom; i++) {
        STANDARD_FLOATS;

        gaussians_set(request, &d->sampling, i, imaginary, d->atom + i);
        if (dot) gaussians_change(request, &d->sampling, i, imaginary, dot[i], d->atom + i);
    }
}

static int first_plane(const struct density_atom *atom)
{
    return (int)ceil(atom->middle[0] - atom->reach[0]);
}

static int last_plane(const struct density_atom *atom)
{
    return (int)floor(atom->middle[0] + atom->reach[0]);
}

static int wrap(int i, int n)
{
    const int rest = i % n;

    return rest < 0 ? rest + n : rest;
}

/* Lists for each plane the atoms that touch it. */
static nb_status list_touches(struct density *d)
{
    const size_t natom = d->request->structure->model.natom;
    const int planes = d->sampling.n[0];
    size_t sum = 0;

    assert(planes > 0);
    memset(d->start, 0, ((size_t)planes + 1) * sizeof *d->start);
    for (size_t i = 0; i < natom; i++)
        for (int p = first_plane(d->atom + i); p <= last_plane(d->atom + i); p++)
            d->start[wrap(p, planes)]++;
    for (int p = 0; p <= planes; p++) {
        const size_t count = d->start[p];

        d->start[p] = sum;
        if (p < planes) sum += count;
    }
    free(d->touch);
    d->touch = calloc(sum + 1, sizeof *d->touch);
    if (!d->touch) return fail_memory(d->request->ctx, "the density of the atoms");
    for (size_t i = 0; i < natom; i++)
        for (int p = first_plane(d->atom + i); p <= last_plane(d->atom + i); p++)
            d->touch[d->start[wrap(p, planes)]++] = (struct touch){(uint32_t)i, p};
    /* each start[p] has become the start of the next plane */
    memmove(d->start + 1, d->start, (size_t)planes * sizeof *d->start);
    d->start[0] = 0;
    return NB_OK;
}

/* Fills the grid with the density of the atoms. */
static nb_status fill(struct density *d)
{
    struct request *request = d->request;
    const struct density_grid *grid = &d->fourier.grid;
    const size_t plane = (size_t)grid->n[1] * grid->row;

    NB_TRY(list_touches(d));
#pragma omp parallel for num_threads(request->ctx->threads) schedule(dynamic)
    for (int p = 0; p < grid->n[0]; p++) {
        STANDARD_FLOATS;

        if (progress_stopped(&request->progress)) continue;
        memset(grid->value + (size_t)p * plane, 0, plane * sizeof *grid->value);
        for (size_t i = d->start[p]; i < d->start[p + 1]; i++)
            d->kernels->add(grid, d->atom + d->touch[i].atom, d->touch[i].plane);
        progress_step(&request->progress);
    }
    return progress_check(&request->progress);
}

/* Returns the factor that turns the sum over the grid into an integral and removes the
 * blur, at s2 = 1/d^2, 1/A^2. */
static double factor_at(const struct density *d, double s2)
{
    const double *volume = &d->sampling.volume;
    const int *n = d->sampling.n;

    return *volume / ((double)n[0] * n[1] * n[2]) * exp(d->sampling.blur * s2 / 4);
}

/* Adds the transform of the grid to A; with `imaginary`, for f'', adds i times the
 * transform. */
static void add_transform(struct density *d, int imaginary, complex_pair *a)
{
    const struct sphere *sphere = &d->request->sphere;

    fourier_forward(&d->fourier);
    for (size_t i = 0; i < sphere->n; i++) {
        const double by = factor_at(d, sphere->s2[i]);
        double f[2];

        fourier_get(&d->fourier, sphere->hkl[i], f);
        a[i][0] += by * (imaginary ? -f[1] : f[0]);
        a[i][1] += by * (imaginary ? f[0] : f[1]);
    }
}

nb_status density_sum(struct request *request, const double (*dot)[NB_ATOM_NUMBERS],
                      complex_pair *a)
{
    const int parts = 1 + request->anomalous;
    struct density d;
    nb_status status = density_create(request, &d);

    for (int part = 0; part < parts && status == NB_OK; part++) {
        progress_part(&request->progress, (double)part / parts, 1.0 / parts,
                      d.sampling.n[0]);
        set_atoms(&d, part, dot);
        status = fill(&d);
        if (status == NB_OK) add_transform(&d, part, a);
    }
    density_free(&d);
    return status;
}

/* The adjoint of add_transform(): fills the grid with dL/d(density), given bar_a = dL/dA,
 * where A is the sum over the listed atoms (structure.h). */
static void spread(struct density *d, int imaginary, const complex_pair *bar_a)
{
    const struct sphere *sphere = &d->request->sphere;

    fourier_clear(&d->fourier);
    for (size_t i = 0; i < sphere->n; i++) {
        const double by = factor_at(d, sphere->s2[i]);
        /* with `imaginary`, for f'': -i bar_a */
        const double bar[2] = {by * (imaginary ? bar_a[i][1] : bar_a[i][0]),
                               by * (imaginary ? -bar_a[i][0] : bar_a[i][1])};

        fourier_put_vjp(&d->fourier, sphere->hkl[i], bar);
    }
    fourier_backward(&d->fourier);
}

nb_status density_sum_vjp(struct request *request, const complex_pair *bar_a,
                          double (*bar_x)[NB_ATOM_NUMBERS])
{
    const size_t natom = request->structure->model.natom;
    const int parts = 1 + request->anomalous;
    struct density d;
    nb_status status = density_create(request, &d);

    for (int part = 0; part < parts && status == NB_OK; part++) {
        progress_part(&request->progress, (double)part / parts, 1.0 / parts, (int)natom);
        set_atoms(&d, part, NULL);
        spread(&d, part, bar_a);
#pragma omp parallel for num_threads(request->ctx->threads) schedule(dynamic, 16)
        for (size_t i = 0; i < natom; i++) {
            STANDARD_FLOATS;
            double moments[DENSITY_TERMS][DENSITY_MOMENTS];

            if (progress_stopped(&request->progress)) continue;
            d.kernels->gather(&d.fourier.grid, d.atom + i, moments);
            gaussians_vjp(request, &d.sampling, i, part,
                          (const double(*)[DENSITY_MOMENTS])moments, bar_x[i]);
            progress_step(&request->progress);
        }
        status = progress_check(&request->progress);
    }
    density_free(&d);
    return status;
}
