/*
 * fourier.c - transforms a grid in place, by FFTW. Plans are estimated, not measured, so
 * that the bits are the same in every run.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_model/fourier.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"

#ifdef NANOBRAG_FFTW

#include <fftw3.h>

#include "base/fftw/planner.h"

nb_status fourier_create(nb_context *ctx, const int n[3], struct fourier *out)
{
    struct density_grid *grid = &out->grid;
    const size_t row = 2 * ((size_t)n[2] / 2 + 1);
    const size_t numbers = (size_t)n[0] * (size_t)n[1] * row;
    char *wisdom;

    *out = (struct fourier){.grid = {{n[0], n[1], n[2]}, row, NULL}};
    grid->value = fftw_malloc(numbers * sizeof *grid->value);
    if (!grid->value) return fail_memory(ctx, "the grid of the density");
    wisdom = planner_begin();
    out->forward = fftw_plan_dft_r2c_3d(n[0], n[1], n[2], grid->value,
                                        (fftw_complex *)grid->value, FFTW_ESTIMATE);
    out->backward = fftw_plan_dft_c2r_3d(n[0], n[1], n[2], (fftw_complex *)grid->value,
                                         grid->value, FFTW_ESTIMATE);
    planner_end(wisdom);
    if (out->forward && out->backward) return NB_OK;
    fourier_free(out);
    return fail_memory(ctx, "a transform by FFTW");
}

void fourier_free(struct fourier *fourier)
{
    planner_lock();
    if (fourier->forward) fftw_destroy_plan(fourier->forward);
    if (fourier->backward) fftw_destroy_plan(fourier->backward);
    planner_unlock();
    fftw_free(fourier->grid.value);
    *fourier = (struct fourier){.forward = NULL};
}

void fourier_forward(struct fourier *fourier)
{
    fftw_execute(fourier->forward);
}

static size_t wrap(int i, int n)
{
    const int rest = i % n;

    return (size_t)(rest < 0 ? rest + n : rest);
}

/* Returns the place of an index in the half of the transform that is stored; NULL if the
 * index is in the other half. */
static double *place_of(const struct fourier *fourier, int h, int k, int l)
{
    const struct density_grid *grid = &fourier->grid;

    assert(2 * abs(h) < grid->n[0] && 2 * abs(k) < grid->n[1] && 2 * abs(l) < grid->n[2]);
    if (l < 0) return NULL;
    return grid->value
           + (wrap(h, grid->n[0]) * (size_t)grid->n[1] + wrap(k, grid->n[1])) * grid->row
           + 2 * (size_t)l;
}

/* FFTW's forward transform has exp(-2 pi i h.p/n). The function is real, so the transform
 * at -h equals the sum at h with exp(+2 pi i h.p/n). */
void fourier_get(const struct fourier *fourier, const int hkl[3], double out[2])
{
    const double *at = place_of(fourier, hkl[0], hkl[1], hkl[2]);
    const double *mate = place_of(fourier, -hkl[0], -hkl[1], -hkl[2]);

    out[0] = at ? at[0] : mate[0];
    out[1] = at ? -at[1] : mate[1];
}

void fourier_clear(struct fourier *fourier)
{
    const struct density_grid *grid = &fourier->grid;

    memset(grid->value, 0,
           (size_t)grid->n[0] * (size_t)grid->n[1] * grid->row * sizeof *grid->value);
}

/* FFTW's backward transform sums X(h) exp(2 pi i h.p/n), with X(-h) = conj X(h). A single
 * cotangent `bar` at h gives X(h) = conj(bar)/2 and X(-h) = bar/2. */
void fourier_put_vjp(struct fourier *fourier, const int hkl[3], const double bar[2])
{
    double *at = place_of(fourier, hkl[0], hkl[1], hkl[2]);
    double *mate = place_of(fourier, -hkl[0], -hkl[1], -hkl[2]);

    if (at) {
        at[0] += bar[0] / 2;
        at[1] -= bar[1] / 2;
    }
    if (mate) {
        mate[0] += bar[0] / 2;
        mate[1] += bar[1] / 2;
    }
}

void fourier_backward(struct fourier *fourier)
{
    fftw_execute(fourier->backward);
}

#else

nb_status fourier_create(nb_context *ctx, const int n[3], struct fourier *out)
{
    (void)n;
    *out = (struct fourier){.forward = NULL};
    return fail(ctx, NB_ERR_UNSUPPORTED,
                "structure factors by Fourier transform: this build has no FFTW; install "
                "it (libfftw3-dev) and build again");
}

/* A struct fourier is never made in this build; the functions below only satisfy the
 * linker. */
void fourier_free(struct fourier *fourier)
{
    (void)fourier;
}

void fourier_forward(struct fourier *fourier)
{
    (void)fourier;
}

void fourier_get(const struct fourier *fourier, const int hkl[3], double out[2])
{
    (void)fourier;
    (void)hkl;
    out[0] = out[1] = 0;
}

void fourier_clear(struct fourier *fourier)
{
    (void)fourier;
}

void fourier_put_vjp(struct fourier *fourier, const int hkl[3], const double bar[2])
{
    (void)fourier;
    (void)hkl;
    (void)bar;
}

void fourier_backward(struct fourier *fourier)
{
    (void)fourier;
}

#endif
