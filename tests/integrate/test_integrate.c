/*
 * test_integrate.c - nb_integrate() against the structure factors from which images were
 * drawn: errors over their standard deviations, with Poisson noise drawn here, a sloping
 * background, overlapping lattices, masked and full pixels.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

enum { SIDE = 600 };
static double image[SIDE * SIDE], weights[SIDE * SIDE];
static uint64_t state;

static void require(nb_context *ctx, nb_status status)
{
    if (status == NB_OK) return;
    tap_check(0, "%s", nb_context_message(ctx));
    exit(1);
}

/* ---- draws of this file (xorshift64*), not the library's ---- */

static double uniform(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return ((double)(state * 2685821657736338717ULL >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* A Poisson number: by waiting times, in steps of at most 500. */
static double poisson(double mean)
{
    double n = 0;

    for (; mean > 500; mean -= 500) {
        double left = 500;

        while ((left += log(uniform())) > 0) n++;
    }
    for (double left = mean; (left += log(uniform())) > 0;) n++;
    return n;
}

/* The true F of a reflection, from 20 to 180 electrons. */
static double true_f(int h, int k, int l)
{
    const uint32_t mixed =
        (uint32_t)(h * 73856093) ^ (uint32_t)(k * 19349663) ^ (uint32_t)(l * 83492791);

    return 20 + 160 * ((mixed * 2654435761u >> 8) & 0xffff) / 65536.0;
}

static nb_hkl *true_list(nb_context *ctx)
{
    enum { M = 24 };
    static int hkl[(2 * M + 1) * (2 * M + 1) * (2 * M + 1)][3];
    static double f[(2 * M + 1) * (2 * M + 1) * (2 * M + 1)];
    nb_hkl *list;
    size_t n = 0;

    for (int h = -M; h <= M; h++)
        for (int k = -M; k <= M; k++)
            for (int l = -M; l <= M; l++, n++) {
                memcpy(hkl[n], (const int[]){h, k, l}, sizeof hkl[n]);
                f[n] = h || k || l ? true_f(h, k, l) : 0;
            }
    require(ctx, nb_hkl_create(ctx, n, hkl[0], f, &list));
    return list;
}

static nb_scene still(void)
{
    static const double cell[3] = {50, 60, 70}, misset[3] = {10, 20, 30};
    nb_scene s = {0};

    memcpy(s.crystal.cell, cell, sizeof cell);
    memcpy(s.crystal.misset, misset, sizeof misset);
    for (int i = 0; i < 3; i++) s.crystal.ncells[i] = 25;
    s.crystal.shape = NB_SHAPE_GAUSS;
    s.crystal.mosaic[0] = 0.4;
    s.crystal.interpolate = NB_LOOKUP_NEAREST;
    s.detector.nfast = s.detector.nslow = SIDE;
    s.detector.distance = 100;
    s.detector.pixel = 0.1;
    return s;
}

static nb_lattice lattice = {.misset = {12, 18, 33}, .scale = 0.7};

static const struct {
    const char *name;
    int kind, lattices, hidden, water;
    double sigma, fluence, least;
} cases[] = {{"poisson", NB_LOSS_POISSON, 0, 0, 0, 0, 3e26, 20},
             {"readout", NB_LOSS_READOUT, 0, 0, 0, 2, 3e26, 20},
             {"lattices", NB_LOSS_POISSON, 1, 0, 0, 0, 3e26, 20},
             {"hidden", NB_LOSS_POISSON, 0, 1, 0, 0, 3e26, 20},
             {"water", NB_LOSS_POISSON, 0, 0, 1, 0, 3e26, 20},
             {"strong", NB_LOSS_POISSON, 0, 0, 0, 0, 3e28, 200},
             /* few photons, and background almost nowhere */
             {"faint", NB_LOSS_POISSON, 0, 0, 1, 0, 1e25, 1}};
enum { CASES = sizeof cases / sizeof cases[0] };

/* Draws photons around the image of the truth and a background of 1 to 3 photons. */
static void draw(nb_context *ctx, const nb_scene *s, int which)
{
    nb_array array = nb_array_f64(image, SIDE, SIDE);
    nb_simulator *sim;

    require(ctx, nb_simulator_create(ctx, s, NULL, NULL, &sim));
    require(ctx, nb_forward(sim, NULL, &array));
    nb_simulator_free(sim);
    for (int p = 0; p < SIDE * SIDE; p++) {
        const double plane = cases[which].water ? 0 : 1 + 2.0 * (p % SIDE) / SIDE;

        image[p] = poisson(image[p] + plane);
        if (cases[which].sigma > 0) image[p] += cases[which].sigma * normal();
        weights[p] = !(cases[which].hidden && p % 7 == 3);
        if (!weights[p]) image[p] = 1e6; /* a hot pixel that is masked */
    }
}

static int to_truth(int which)
{
    nb_context *ctx = renders_context(2);
    nb_scene s = still();
    nb_hkl *list = true_list(ctx);
    nb_simulator *sim;
    nb_reflections *table;
    const nb_array observed = nb_array_f64(image, SIDE, SIDE);
    const nb_array weight = nb_array_f64(weights, SIDE, SIDE);
    const nb_target target = {.kind = cases[which].kind,
                              .observed = &observed,
                              .weight = cases[which].hidden ? &weight : NULL,
                              .sigma_readout = cases[which].sigma,
                              .saturation = 1e5,
                              .background = cases[which].water ? 0 : NB_BACKGROUND_PLANES};
    const nb_prediction predict = {.least = cases[which].least};
    double counted = 0, pull = 0, sums = 0, mean = 0, xy = 0, xx = 0, yy = 0;
    size_t n = 0, summed = 0;

    state = 88172645463325252ULL + (uint64_t)which;
    s.beam.fluence = cases[which].fluence;
    s.crystal.hkl = list;
    s.background.water = cases[which].water ? 3e-6 : 0;
    s.crystal.nlattice = cases[which].lattices;
    s.crystal.lattice = &lattice;
    draw(ctx, &s, which);
    s.crystal.hkl = NULL; /* the model does not know F */
    s.crystal.default_f = 100;
    require(ctx, nb_simulator_create(ctx, &s, NULL, NULL, &sim));
    require(ctx, nb_predict(sim, NULL, &predict, &table));
    require(ctx, nb_integrate(sim, NULL, &target, NULL, table));
    const int32_t *const hkl = nb_reflections_find(table, "miller_index", NB_COLUMN_MILLER);
    const double *const j =
        nb_reflections_find(table, "intensity.prf.value", NB_COLUMN_DOUBLE);
    const double *const v =
        nb_reflections_find(table, "intensity.prf.variance", NB_COLUMN_DOUBLE);
    const double *const sum =
        nb_reflections_find(table, "intensity.sum.value", NB_COLUMN_DOUBLE);
    const double *const sv =
        nb_reflections_find(table, "intensity.sum.variance", NB_COLUMN_DOUBLE);
    const double *const photons =
        nb_reflections_find(table, "nanobrag.photons", NB_COLUMN_DOUBLE);
    for (size_t i = 0; i < nb_reflections_rows(table); i++) {
        const double truth = pow(true_f(hkl[3 * i], hkl[3 * i + 1], hkl[3 * i + 2]), 2);
        const double off = (j[i] - truth) / sqrt(v[i]);

        if (!(v[i] > 0)) continue;
        n++;
        counted += truth * photons[i];
        pull += off * off;
        mean += off;
        xy += j[i] * truth, xx += j[i] * j[i], yy += truth * truth;
        if (!(sv[i] > 0)) continue;
        summed++;
        sums += pow(sum[i] - truth * photons[i], 2) / sv[i];
    }
    tap_note("%zu reflections, %zu integrated, %zu summed, of %.3g photons on average",
             nb_reflections_rows(table), n, summed, counted / (double)n);
    tap_check(n > 100 && n * 10 >= nb_reflections_rows(table) * 9, "enough reflections");
    tap_close("pull, rms", sqrt(pull / (double)n), 1, 0.12);
    tap_close("pull, mean", mean / (double)n, 0, 0.2);
    /* J of few photons has errors as large as itself */
    tap_close("cosine of J and F^2", xy / sqrt(xx * yy), 1,
              cases[which].least > 1 ? 0.03 : 0.4);
    if (summed > 100) tap_close("pull of sums, rms", sqrt(sums / (double)summed), 1, 0.2);
    nb_reflections_free(table);
    nb_simulator_free(sim);
    nb_hkl_free(list);
    nb_context_free(ctx);
    return TAP_PASS;
}

static int run(void)
{
    for (int i = 0; i < CASES; i++)
        if (strcmp(cases[i].name, tap_running()) == 0) return to_truth(i);
    return 1;
}

int main(int argc, char **argv)
{
    struct tap_case list[CASES];

    for (int i = 0; i < CASES; i++) list[i] = (struct tap_case){cases[i].name, run};
    return tap_main(argc, argv, list, CASES);
}
