/*
 * fcalc.c - computes structure factors: checks a request, fills in its defaults, and makes
 * the list of |F|.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "kernels/density/density_rows.h"
#include "nanobrag_model/structure.h"
#include "scene/reflections/hkl_table.h"

/* ---- the request ---- */

static nb_status check_numbers(nb_context *ctx, const nb_fcalc *how)
{
    if (!(how->dmin > 0) || !isfinite(how->dmin))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "structure factors: dmin is %g A, expected more than 0", how->dmin);
    if (!(how->wavelength >= 0 && how->wavelength <= 100))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "structure factors: the wavelength is %g A, expected 0 to 100",
                    how->wavelength);
    if (!(fabs(how->k_sol) <= 10) || !(how->b_sol >= 0 && how->b_sol <= 10000))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "bulk solvent: k is %g electron/A^3 and B %g A^2, expected values such "
                    "as 0.35 and 46",
                    how->k_sol, how->b_sol);
    if (how->tolerance != 0 && !(how->tolerance >= 1e-10 && how->tolerance <= 0.01))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "structure factors: the tolerance is %g, expected 1e-10 to 0.01",
                    how->tolerance);
    if (how->method < NB_FCALC_AUTO || how->method > NB_FCALC_FFT)
        return fail(ctx, NB_ERR_ARGUMENT, "structure factors: there is no method %d",
                    how->method);
    if (how->nanomalous > 0 && (!how->anomalous || !(how->wavelength > 0)))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "structure factors: f' and f'' of elements need a wavelength");
    return NB_OK;
}

/* Chooses the method, and refuses a method that this build lacks. */
static nb_status choose_method(nb_context *ctx, const nb_structure *structure,
                               nb_fcalc *how)
{
    enum { FEW_ATOMS = 100 };
#ifdef NANOBRAG_FFTW
    const int has_fft = kernels_density(ctx->env.isa) != NULL;
#else
    const int has_fft = 0;
#endif

    if (how->method == NB_FCALC_AUTO)
        how->method =
            has_fft && structure->model.natom >= FEW_ATOMS ? NB_FCALC_FFT : NB_FCALC_DIRECT;
    if (how->method == NB_FCALC_FFT && !has_fft)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "structure factors by Fourier transform: this build has no FFTW, or "
                    "the instruction set asked for is not there; sum directly");
#ifndef NANOBRAG_FFTW
    if (how->k_sol != 0)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "bulk solvent: this build has no FFTW; install it (libfftw3-dev) and "
                    "build again, or leave the solvent out");
#endif
    return NB_OK;
}

static nb_status set_dispersion(struct request *request)
{
    const nb_structure *structure = request->structure;
    const nb_fcalc *how = request->how;

    request->dispersion = calloc(structure->nkind, sizeof *request->dispersion);
    if (!request->dispersion) return fail_memory(request->ctx, "f' and f''");
    for (size_t k = 0; k < structure->nkind && how->wavelength > 0; k++)
        if (gemmi_anomalous(structure->kind[k].element, how->wavelength,
                            request->dispersion[k])
            != NB_OK)
            return fail(request->ctx, NB_ERR_ARGUMENT,
                        "f' and f'' of %s at %g A are no finite numbers; change the "
                        "wavelength, or give them",
                        structure->kind[k].factor.name, how->wavelength);
    for (size_t i = 0; i < how->nanomalous; i++) {
        const nb_anomalous *given = how->anomalous + i;
        char symbol[sizeof given->element + 1] = {0};
        int element, used = 0;

        memcpy(symbol, given->element, sizeof given->element);
        element = gemmi_element(symbol);
        if (element == 0)
            return fail(request->ctx, NB_ERR_ARGUMENT,
                        "f' and f'': '%s' is no element with a form factor", symbol);
        if (!(fabs(given->f_prime) <= 1000) || !(fabs(given->f_double_prime) <= 1000))
            return fail(request->ctx, NB_ERR_ARGUMENT,
                        "f' and f'' of %s are %g and %g electrons, expected numbers up to "
                        "1000",
                        symbol, given->f_prime, given->f_double_prime);
        for (size_t k = 0; k < structure->nkind; k++) {
            if (structure->kind[k].element != element) continue;
            request->dispersion[k][0] = given->f_prime;
            request->dispersion[k][1] = given->f_double_prime;
            used = 1;
        }
        if (!used)
            return fail(request->ctx, NB_ERR_ARGUMENT,
                        "f' and f'' of %s: the model has no such atom", symbol);
    }
    for (size_t k = 0; k < structure->nkind; k++)
        request->anomalous |= request->dispersion[k][1] != 0;
    return NB_OK;
}

static nb_status check_atoms(nb_context *ctx, const nb_structure *structure,
                             const double (*x)[NB_ATOM_NUMBERS])
{
    for (size_t i = 0; i < structure->model.natom; i++) {
        const char *name = structure->model.atom[i].name;
        const double change = x[i][3] - structure->numbers[i][3];

        for (int k = 0; k < 3; k++)
            if (!(fabs(x[i][k]) < 1e6))
                return fail(ctx, NB_ERR_ARGUMENT,
                            "atom %zu (%s): a coordinate is %g A, expected a number below "
                            "1e6",
                            i, name, x[i][k]);
        if (!(structure->least_b[i] + change >= B_LEAST - 1e-9
              && structure->most_b[i] + change <= B_MOST + 1e-9))
            return fail(ctx, NB_ERR_ARGUMENT,
                        "atom %zu (%s): B is %g A^2, expected %d to %d in every direction",
                        i, name, x[i][3], (int)B_LEAST, (int)B_MOST);
        if (!(fabs(x[i][4]) <= 100))
            return fail(ctx, NB_ERR_ARGUMENT,
                        "atom %zu (%s): the occupancy is %g, expected 0 to 1", i, name,
                        x[i][4]);
    }
    return NB_OK;
}

nb_status request_start(nb_context *ctx, const nb_structure *structure, nb_fcalc *how,
                        const double *x, struct request *out)
{
    nb_status status;

    *out = (struct request){.ctx = ctx, .structure = structure, .how = how};
    NB_TRY(check_numbers(ctx, how));
    if (how->tolerance == 0) how->tolerance = 1e-5;
    NB_TRY(choose_method(ctx, structure, how));
    out->direct = how->method == NB_FCALC_DIRECT;
    out->x = x ? (const double(*)[NB_ATOM_NUMBERS])x
               : (const double(*)[NB_ATOM_NUMBERS])structure->numbers;
    NB_TRY(check_atoms(ctx, structure, out->x));
    status = set_dispersion(out);
    if (status == NB_OK) status = sphere_create(ctx, structure, how->dmin, &out->sphere);
    if (status != NB_OK) request_free(out);
    progress_begin(&out->progress, ctx);
    return status;
}

void request_free(struct request *request)
{
    sphere_free(&request->sphere);
    free(request->dispersion);
    request->dispersion = NULL;
}

/* ---- the list ---- */

/* Computes F of the whole sphere of reflections. */
static nb_status complex_factors(struct request *request, complex_pair *a, complex_pair *f)
{
    if (request->direct)
        NB_TRY(direct_sum(request, NULL, a));
    else
        NB_TRY(density_sum(request, NULL, a));
    sphere_symmetrise(&request->sphere, &request->structure->model.crystal,
                      request->ctx->threads, (const complex_pair *)a, f);
    if (request->how->k_sol != 0) NB_TRY(solvent_add(request, f));
    return progress_check(&request->progress);
}

/* Makes a list of |F|. The list keeps f, whose phases derivatives need. */
static nb_status make_list(const struct request *request, complex_pair *f, nb_hkl **out)
{
    const struct sphere *sphere = &request->sphere;
    const int *max = sphere->max, min[3] = {-max[0], -max[1], -max[2]};
    nb_hkl *made;

    NB_TRY(hkl_box_create(request->ctx, min, max, &made));
    for (size_t i = 0; i < sphere->n; i++) {
        const int *hkl = sphere->hkl[i];

        *hkl_box_at(made, hkl[0], hkl[1], hkl[2]) = hypot(f[i][0], f[i][1]);
    }
    made->count = made->nfactor = sphere->n;
    made->factor = f;
    *out = made;
    return NB_OK;
}

nb_status nb_structure_fcalc(nb_context *ctx, const nb_structure *structure,
                             const nb_fcalc *how, const double *x, nb_hkl **out)
{
    STANDARD_FLOATS;
    nb_fcalc resolved;
    struct request request;
    complex_pair *a, *f;
    nb_status status;

    if (out) *out = NULL;
    if (!ctx) return NB_ERR_ARGUMENT;
    if (!structure || !how || !out)
        return fail(ctx, NB_ERR_ARGUMENT, "structure factors: %s is NULL",
                    !structure ? "structure"
                    : !how     ? "how"
                               : "out");
    resolved = *how;
    NB_TRY(request_start(ctx, structure, &resolved, x, &request));
    a = calloc(request.sphere.n, sizeof *a);
    f = calloc(request.sphere.n, sizeof *f);
    status = a && f ? complex_factors(&request, a, f)
                    : fail_memory(ctx, "the structure factors");
    if (status == NB_OK) status = make_list(&request, f, out);
    if (status != NB_OK) free(f);
    free(a);
    request_free(&request);
    return status;
}
