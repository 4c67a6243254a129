/*
 * fcalc_derivatives.c - computes tangent and adjoint of the list of |F|, by the numbers of
 * the atoms.
 *
 * d|F| = Re(conj(F) dF)/|F| needs phases, which nb_structure_fcalc() has kept in the list.
 *
 * SPDX-License-Identifier: MIT
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_model/structure.h"
#include "scene/reflections/hkl_table.h"

/* Returns NB_ERR_ARGUMENT unless nb_structure_fcalc() made the list for such a request. */
static nb_status check_list(const struct request *request, const nb_hkl *hkl)
{
    const struct sphere *sphere = &request->sphere;
    int same = hkl->factor && hkl->nfactor == sphere->n && hkl->count == sphere->n;

    for (int i = 0; i < 3; i++)
        same &= hkl->min[i] == -sphere->max[i] && hkl->size[i] == 2 * sphere->max[i] + 1;
    if (same) return NB_OK;
    return fail(request->ctx, NB_ERR_ARGUMENT,
                "derivatives of structure factors: the list is not the one that "
                "nb_structure_fcalc() makes of this model to %g A",
                request->how->dmin);
}

/* Sets out to F/|F|, or to 0 if F is 0. */
static void unit_of(const double f[2], double out[2])
{
    const double modulus = hypot(f[0], f[1]);

    out[0] = modulus > 0 ? f[0] / modulus : 0;
    out[1] = modulus > 0 ? f[1] / modulus : 0;
}

static nb_status check_finite(nb_context *ctx, const char *what, size_t n, const double *at)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(at[i]))
            return fail(ctx, NB_ERR_ARGUMENT,
                        "derivatives of structure factors: %s[%zu] is %g, expected a "
                        "finite number",
                        what, i, at[i]);
    return NB_OK;
}

/* The arguments that tangent and adjoint share. */
struct derivative {
    const nb_hkl *hkl;
    struct request request;
    nb_fcalc how;
    complex_pair *a, *f; /* workspaces (n) */
};

static nb_status start(nb_context *ctx, const nb_structure *structure, const nb_fcalc *how,
                       const double *x, struct derivative *d)
{
    nb_status status;

    d->how = *how;
    NB_TRY(request_start(ctx, structure, &d->how, x, &d->request));
    status = check_list(&d->request, d->hkl);
    d->a = calloc(d->request.sphere.n, sizeof *d->a);
    d->f = calloc(d->request.sphere.n, sizeof *d->f);
    if (status == NB_OK && (!d->a || !d->f))
        status = fail_memory(ctx, "derivatives of structure factors");
    return status;
}

static void finish(struct derivative *d)
{
    free(d->a);
    free(d->f);
    request_free(&d->request);
}

static nb_status add_vjp(struct derivative *d, const double *bar_f,
                         double (*bar_x)[NB_ATOM_NUMBERS])
{
    struct request *request = &d->request;
    const size_t n = request->sphere.n, natom = request->structure->model.natom;
    double(*sum)[NB_ATOM_NUMBERS];
    nb_status status;

    assert(d->hkl->factor); /* as check_list() found */
    NB_TRY(check_finite(request->ctx, "bar_f", n, bar_f));
    sum = calloc(natom, sizeof *sum);
    if (!sum) return fail_memory(request->ctx, "a gradient of the atoms");
    for (size_t i = 0; i < n; i++) {
        unit_of(d->hkl->factor[i], d->f[i]);
        d->f[i][0] *= bar_f[i];
        d->f[i][1] *= bar_f[i];
    }
    sphere_symmetrise_vjp(&request->sphere, &request->structure->model.crystal,
                          request->ctx->threads, (const complex_pair *)d->f, d->a);
    status = request->direct ? direct_sum_vjp(request, (const complex_pair *)d->a, sum)
                             : density_sum_vjp(request, (const complex_pair *)d->a, sum);
    for (size_t i = 0; i < natom && status == NB_OK; i++)
        for (int k = 0; k < NB_ATOM_NUMBERS; k++) bar_x[i][k] += sum[i][k];
    free(sum);
    return status;
}

static nb_status check_arguments(nb_context *ctx, const char *call, const void *const *at,
                                 const char *const *name, int n)
{
    if (!ctx) return NB_ERR_ARGUMENT;
    for (int i = 0; i < n; i++)
        if (!at[i]) return fail(ctx, NB_ERR_ARGUMENT, "%s: %s is NULL", call, name[i]);
    return NB_OK;
}

nb_status nb_structure_vjp(nb_context *ctx, const nb_structure *structure,
                           const nb_fcalc *how, const double *x, const nb_hkl *hkl,
                           const double *bar_f, double *bar_x)
{
    STANDARD_FLOATS;
    static const char *const names[] = {"structure", "how", "hkl", "bar_f", "bar_x"};
    const void *const arguments[] = {structure, how, hkl, bar_f, bar_x};
    struct derivative d = {.hkl = hkl};
    nb_status status;

    NB_TRY(check_arguments(ctx, "nb_structure_vjp", arguments, names, 5));
    status = start(ctx, structure, how, x, &d);
    if (status == NB_OK) status = add_vjp(&d, bar_f, (double(*)[NB_ATOM_NUMBERS])bar_x);
    finish(&d);
    return status;
}

static nb_status make_jvp(struct derivative *d, const double *dot_x, double *dot_f)
{
    struct request *request = &d->request;
    const size_t n = request->sphere.n, natom = request->structure->model.natom;
    const double(*dot)[NB_ATOM_NUMBERS] = (const double(*)[NB_ATOM_NUMBERS])dot_x;

    assert(d->hkl->factor); /* as check_list() found */
    NB_TRY(check_finite(request->ctx, "dot_x", natom * NB_ATOM_NUMBERS, dot_x));
    if (request->direct)
        NB_TRY(direct_sum(request, dot, d->a));
    else
        NB_TRY(density_sum(request, dot, d->a));
    sphere_symmetrise(&request->sphere, &request->structure->model.crystal,
                      request->ctx->threads, (const complex_pair *)d->a, d->f);
    for (size_t i = 0; i < n; i++) {
        double unit[2];

        unit_of(d->hkl->factor[i], unit);
        dot_f[i] = unit[0] * d->f[i][0] + unit[1] * d->f[i][1];
    }
    return NB_OK;
}

nb_status nb_structure_jvp(nb_context *ctx, const nb_structure *structure,
                           const nb_fcalc *how, const double *x, const nb_hkl *hkl,
                           const double *dot_x, double *dot_f)
{
    STANDARD_FLOATS;
    static const char *const names[] = {"structure", "how", "hkl", "dot_x", "dot_f"};
    const void *const arguments[] = {structure, how, hkl, dot_x, dot_f};
    struct derivative d = {.hkl = hkl};
    nb_status status;

    NB_TRY(check_arguments(ctx, "nb_structure_jvp", arguments, names, 5));
    status = start(ctx, structure, how, x, &d);
    if (status == NB_OK) status = make_jvp(&d, dot_x, dot_f);
    finish(&d);
    return status;
}
