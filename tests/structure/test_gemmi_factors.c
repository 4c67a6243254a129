/*
 * test_gemmi_factors.c - structure factors against gemmi's direct summation, and the bulk
 * solvent against the transform of its mask.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene/reflections/hkl_table.h"
#include "structure/gemmi_oracle.h"
#include "structure/models.h"
#include "support/files.h"
#include "support/plant.h"

enum { SOME = 120 };

/* Takes some reflections of a list, spread over it, with their factors; absences and what
 * is nearly 0 are among them. */
static void sample(const nb_hkl *list, int hkl[SOME][3], double f[SOME][2])
{
    const size_t n = nb_hkl_reflections(list, NULL, NULL);
    int *all = malloc(n * 3 * sizeof *all);

    if (!all) abort();
    (void)nb_hkl_reflections(list, all, NULL);
    for (size_t i = 0; i < SOME; i++) {
        const size_t at = (2 * i + 1) * n / (2 * SOME);

        memcpy(hkl[i], all + 3 * at, sizeof hkl[i]);
        memcpy(f[i], model_factors(list)[at], sizeof f[i]);
    }
    free(all);
    plant_numbers("factors", f[0], 2 * (size_t)SOME);
}

static void compare(const struct model *model, double wavelength, int method,
                    const char *how_named)
{
    const nb_fcalc how = {.dmin = model->dmin, .wavelength = wavelength, .method = method};
    nb_structure *structure = model_read(ctx, model);
    nb_hkl *list = model_list(ctx, structure, &how, NULL);
    static double f[SOME][2], truth[SOME][2];
    static int hkl[SOME][3];
    struct model_gap gap = {NAN, NAN};

    sample(list, hkl, f);
    if (oracle_factors(model->path, model->columns, wavelength, SOME, (const int(*)[3])hkl,
                       truth))
        gap = model_compare((const double(*)[2])f, (const double(*)[2])truth, SOME);
    tap_note("%s to %g A, wavelength %g, %s: %zu atoms, R %.2e, rms %.2e", model->name,
             model->dmin, wavelength, how_named, nb_structure_natom(structure), gap.r,
             gap.rms);
    /* the sum in another order; gemmi takes b of the file as float, as we do */
    if (method == NB_FCALC_DIRECT) {
        tap_close("R of the direct sum", gap.r, 0, 2e-14);
        tap_close("rms of the direct sum", gap.rms, 0, 2e-14);
    } else {
        tap_promised("R", gap.r, 0, 1e-5);
        tap_promised("rms", gap.rms, 0, 1e-5);
    }
    nb_hkl_free(list);
    nb_structure_free(structure);
}

static int of_model(const char *name)
{
    const struct model *model = model_named(name);
    static const double wavelengths[] = {0, 1.3};

    if (!model_is_here(model))
        return tap_skip("no %s; install %s", model->path, model->package);
    for (size_t i = 0; i < COUNT(wavelengths); i++) {
        compare(model, wavelengths[i], NB_FCALC_AUTO, "auto");
        if (strcmp(name, "2erl")
            == 0) /* 1yjp is summed directly, the others take a minute */
            compare(model, wavelengths[i], NB_FCALC_DIRECT, "direct");
    }
    return TAP_PASS;
}

static int c2_2erl(void)
{
    return of_model("2erl");
}

static int p21_1yjp(void)
{
    return of_model("1yjp");
}

static int p212121_1cbs(void)
{
    return of_model("1cbs");
}

static int p61_1hpv(void)
{
    return of_model("1hpv");
}

static int p3121_1tii(void)
{
    return of_model("1tii");
}

/* The part of the solvent is the difference of F with and without it. */
static int solvent(void)
{
    static const double k_and_b[2] = {0.35, 46};
    static const char *const names[] = {"2erl", "1cbs"};
    static double with[SOME][2], without[SOME][2], truth[SOME][2];
    static int hkl[SOME][3];

#ifndef NANOBRAG_FFTW
    return tap_skip("this build has no FFTW, which the solvent needs");
#endif
    for (size_t m = 0; m < COUNT(names); m++) {
        const struct model *model = model_named(names[m]);
        const nb_fcalc dry = {.dmin = 2.5};
        const nb_fcalc wet = {.dmin = 2.5, .k_sol = k_and_b[0], .b_sol = k_and_b[1]};
        nb_structure *structure = model_read(ctx, model);
        nb_hkl *list[2] = {model_list(ctx, structure, &dry, NULL),
                           model_list(ctx, structure, &wet, NULL)};
        double change = 0, size = 0;

        sample(list[0], hkl, without);
        sample(list[1], hkl, with);
        if (!oracle_solvent(model->path, 2.5, k_and_b, SOME, (const int(*)[3])hkl, truth))
            abort();
        for (int i = 0; i < SOME; i++)
            for (int part = 0; part < 2; part++) {
                const double found = with[i][part] - without[i][part];

                change += (found - truth[i][part]) * (found - truth[i][part]);
                size += truth[i][part] * truth[i][part];
            }
        tap_note("%s: the solvent has |F| %.3g (rms)", model->name, sqrt(size / SOME));
        /* a difference of F to 1e-15, and 1e5 points in another order */
        tap_close("solvent's part of F", sqrt(change / size), 0, 5e-13);
        nb_hkl_free(list[0]);
        nb_hkl_free(list[1]);
        nb_structure_free(structure);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"c2_2erl", c2_2erl},   {"p21_1yjp", p21_1yjp},     {"p212121_1cbs", p212121_1cbs},
        {"p61_1hpv", p61_1hpv}, {"p3121_1tii", p3121_1tii}, {"solvent", solvent},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
