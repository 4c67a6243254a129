/*
 * starts.c - fits of one still from starts that are off: how many find the optimum, and in
 * how many passes; and fits from the truth: are the errors right?
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fits.h"

#define PROTEIN                                                                            \
    {                                                                                      \
        8, 18, 18                                                                          \
    }
#define LARGE                                                                              \
    {                                                                                      \
        24, 54, 54                                                                         \
    }

/* Wanted: so many of 20, passes on average and at most; 0: no limit. */
static const struct kind {
    const char *name, *what;
    struct still still;
    double factor, angle;
    int good, mean, most;
} kinds[] = {
    {"gauss",
     "gaussian spots",
     {NB_SHAPE_GAUSS, 40, 1024, PROTEIN, 1e27, 0.12},
     1,
     1,
     20,
     13,
     22},
    {"square",
     "square crystal",
     {NB_SHAPE_SQUARE, 40, 1024, PROTEIN, 1e27, 0.12},
     1,
     1,
     20,
     13,
     22},
    {"far",
     "misset 0.5 degree off",
     {NB_SHAPE_GAUSS, 100, 1024, PROTEIN, 1e27, 0.12},
     10. / 3,
     3.5,
     20,
     25,
     0},
    {"large",
     "three times the cells",
     {NB_SHAPE_GAUSS, 100, 1024, LARGE, 1e26, 0.25},
     1,
     1,
     18,
     50,
     0},
};

static const struct kind *kind_named(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].name, name)) return kinds + i;
    return kinds;
}

/* Fits from `start`; returns the loss found, with the errors of the values. */
static double run_fit(struct campaign *c, const nb_scene *scene, const nb_target *target,
                      int *passes, double *values, double *errors)
{
    const nb_shot shot = {.scene = scene, .target = *target};
    const nb_fit_options options = {.shared = still_names,
                                    .passes = 60,
                                    .scaling = NB_FIT_SCALING_MISFIT};
    nb_fit_result r;
    nb_fit *fit;
    double loss;

    must(c->ctx, nb_fit_create(c->ctx, 1, &shot, &options, &fit));
    must(c->ctx, nb_fit_run(fit));
    must(c->ctx, nb_fit_result_get(fit, &r));
    loss = r.loss;
    if (passes) *passes = r.passes;
    for (size_t i = 0; i < r.nvalue; i++) {
        if (values) values[i] = r.value[i].value;
        if (errors) errors[i] = r.value[i].error;
    }
    nb_fit_free(fit);
    return loss;
}

void campaign_starts(struct campaign *c, const char *name)
{
    const struct kind *kind = kind_named(name);
    const int side = kind->still.side, runs = c->runs > 0 ? c->runs : 20;
    double *photons = malloc((size_t)side * (size_t)side * sizeof *photons);
    const nb_array observed = nb_array_f64(photons, side, side);
    const nb_target target = {.kind = NB_LOSS_POISSON,
                              .observed = &observed,
                              .saturation = STILL_OVERLOAD};
    int good = 0, sum = 0, most = 0;
    struct truth truth;

    if (!photons) exit(1);
    still_open(c, &kind->still, &truth);
    for (int k = 0; k < runs; k++) {
        nb_scene scene = still_at(c, &truth, NULL);
        double start[STILL_PARAMETERS], best, found;
        int passes;

        still_observe(c->ctx, &scene, 100 + k, photons);
        best = run_fit(c, &scene, &target, NULL, NULL, NULL);
        memcpy(start, truth.values, sizeof start);
        still_start(k, kind->factor, kind->angle, start);
        scene = still_at(c, &truth, start);
        found = run_fit(c, &scene, &target, &passes, NULL, NULL);
        good += found < best + 0.5;
        sum += passes;
        if (passes > most) most = passes;
        if (c->verbose)
            (void)printf("  %2d: loss %.3f, %+.3f of that from the truth, %d passes\n", k,
                         found, found - best, passes);
        (void)fflush(stdout);
    }
    (void)printf("%-24s %d of %d within 0.5 of the optimum (wanted %d of 20), %.1f passes "
                 "(%d), %d at most (%d)\n",
                 kind->what, good, runs, kind->good, (double)sum / runs, kind->mean, most,
                 kind->most);
    nb_simulator_free(truth.sim);
    free(photons);
}

/* ---- errors ---- */

/* What is done to an observed image besides noise. */
enum spoil { CLEAN, SATURATED, HOT };

static int ascending(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;

    return (p > q) - (p < q);
}

/* Cuts the brightest ten-thousandth of the pixels at the least of them; returns it. */
static double saturate(double *photons, size_t n)
{
    double *sorted = malloc(n * sizeof *sorted), limit;

    if (!sorted) exit(1);
    memcpy(sorted, photons, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, ascending);
    limit = sorted[n - 1 - n / 10000];
    free(sorted);
    for (size_t i = 0; i < n; i++) photons[i] = fmin(photons[i], limit);
    return limit;
}

/* Makes a ten-thousandth of the pixels hot. */
static void heat(double *photons, size_t n, int seed)
{
    uint64_t state = 123456789 + (uint64_t)seed;

    for (size_t i = 0; i < n / 10000; i++)
        photons[(size_t)(draw(&state) * (double)n)] = 1e4 * draw(&state) + 1e3;
}

static void compare_with_fisher(struct campaign *c, const nb_scene *scene,
                                const nb_fit_result *r)
{
    const nb_shot shot = {.scene = scene, .target = {.kind = NB_LOSS_POISSON}};
    const nb_fit_options options = {.shared = still_names,
                                    .scaling = NB_FIT_SCALING_MISFIT};
    nb_fit_result expected;
    nb_fit *fit;
    double most = 0;

    must(c->ctx, nb_fit_create_expected(c->ctx, 1, &shot, &options, &fit));
    must(c->ctx, nb_fit_result_get(fit, &expected));
    for (size_t i = 0; i < STILL_PARAMETERS; i++)
        most = fmax(most, fabs(expected.value[i].error / r->value[i].error - 1));
    (void)printf("  errors by nb_fit_create_expected() differ from the first fit's by %.2g "
                 "%% at most "
                 "(wanted 5)\n",
                 100 * most);
    nb_fit_free(fit);
}

static void run_pulls(struct campaign *c, const struct still *still, int spoil, int runs,
                      struct pulls *p)
{
    const size_t n = (size_t)still->side * (size_t)still->side;
    double *photons = malloc(n * sizeof *photons), *weights = malloc(n * sizeof *weights);
    const nb_array observed = nb_array_f64(photons, still->side, still->side);
    nb_array weight = nb_array_f64(weights, still->side, still->side);
    struct truth truth;

    if (!photons || !weights) exit(1);
    still_open(c, still, &truth);
    must(c->ctx, nb_forward(truth.sim, NULL, &weight));
    for (size_t i = 0; i < n; i++) weights[i] = 1 / weights[i];
    for (int k = 0; k < runs; k++) {
        const nb_scene scene = still_at(c, &truth, NULL);
        nb_shot shot = {.scene = &scene,
                        .target = {.kind = NB_LOSS_POISSON,
                                   .observed = &observed,
                                   .saturation = STILL_OVERLOAD}};
        const nb_fit_options options = {.shared = still_names,
                                        .scaling = NB_FIT_SCALING_MISFIT};
        nb_fit_result r;
        nb_fit *fit;

        still_observe(c->ctx, &scene, 1000 + k, photons);
        if (spoil == SATURATED) shot.target.saturation = saturate(photons, n);
        if (spoil == HOT) {
            heat(photons, n, k);
            shot.target.kind = NB_LOSS_CAUCHY;
            shot.target.weight = &weight;
            shot.target.delta = 100;
        }
        must(c->ctx, nb_fit_create(c->ctx, 1, &shot, &options, &fit));
        must(c->ctx, nb_fit_run(fit));
        must(c->ctx, nb_fit_result_get(fit, &r));
        pulls_add(p, truth.values, &r);
        if (k == 0 && spoil == CLEAN) compare_with_fisher(c, &scene, &r);
        nb_fit_free(fit);
    }
    nb_simulator_free(truth.sim);
    free(photons);
    free(weights);
}

void campaign_pulls(struct campaign *c, const char *name)
{
    const int is_square = strstr(name, "square") != NULL;
    const int spoil = strstr(name, "saturated") ? SATURATED
                      : strstr(name, "hot")     ? HOT
                                                : CLEAN;
    const struct still *still = &kind_named(is_square ? "square" : "gauss")->still;
    const int runs = c->runs > 0 ? c->runs : 100;
    struct pulls p = {0};

    run_pulls(c, still, spoil, runs, &p);
    pulls_print(&p, name, 1.7, 0.8);
}
