/*
 * fit.c - what a pass of a fit costs: image, value of the loss, value and gradient, and
 * both with the normal matrix, of a still with gaussian spots and fifteen free parameters.
 * Times are given in units of one image of the still by lanes, without its water, so that
 * a faster image does not make a pass look slow.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "pass.h"

enum { SIDE = 1024, SIDE_QUICK = 96, MOST = 32, PASS = FIT_CALLS };

/* A detector of as many millimetres in more pixels, of which the boxes around the brightest
 * reflections are rendered. */
enum { BOXED_SIDE = 4096, BOXED_QUICK = 384, BOX = 12, MOST_BOXES = 200 };

#define DRY "cell misset ncells mosaic scale origin"
static const char dry_free[] = DRY, wet_free[] = DRY " water";

/* Each row with what the parts of a pass shall take at most, in the unit. */
static const struct fit_case {
    const char *what, *free_names;
    int shape, ndomains;
    int boxes; /* 0: the whole image; else so many boxes of a detector of BOXED_SIDE */
    double water; /* um */
    double wanted[PASS];
    double planes; /* photons per pixel in the data, for planes to fit; 0: no planes */
} cases[] = {
    {"water, 40 domains", wet_free, NB_GAUSS, 40, 0, 0.12, {0.18, 0.22, 0.5, 1}, 0},
    {"40 domains", dry_free, NB_GAUSS, 40, 0, 0, {0.08, 0.13, 0.32, 0.7}, 0},
    {"water, 1 domain", wet_free, NB_GAUSS, 1, 0, 0.12, {0, 0, 0, 0.6}, 0},
    {"1 domain", dry_free, NB_GAUSS, 1, 0, 0, {0, 0, 0, 0.35}, 0},
    {"water, 10 domains", wet_free, NB_GAUSS, 10, 0, 0.12, {0, 0, 0, 0.7}, 0},
    {"water, 400 domains", wet_free, NB_GAUSS, 400, 0, 0.12, {0, 0, 0, 4}, 0},
    {"water, misset alone", "misset", NB_GAUSS, 40, 0, 0.12, {0.18, 0.22, 0.4, 0.5}, 0},
    {"water, square", wet_free, NB_SQUARE, 40, 0, 0.12, {0, 0, 0, 0}, 0},
    {"water, 200 boxes", wet_free, NB_GAUSS, 40, 200, 0.12, {0, 0.063, 0.21, 0.37}, 0},
    {"200 boxes", dry_free, NB_GAUSS, 40, 200, 0, {0, 0, 0, 0}, 0},
    {"200 boxes, planes", dry_free, NB_GAUSS, 40, 200, 0, {0, 0, 0, 0}, 10},
};

static int strategy_of(const struct fit_case *c)
{
    if (c->boxes) return NB_STRATEGY_AUTO;
    return c->shape == NB_GAUSS ? NB_SPOTS : NB_LANES;
}

static nb_scene scene_of(const struct fit_case *c, const nb_hkl *hkl, int quick)
{
    static const double cell[6] = {53.91, 23.1, 23.1, 90, 110.4, 90};
    static const double ncells[3] = {8, 18, 18};
    const int finer = c->boxes ? BOXED_SIDE / SIDE : 1;
    const int side = finer * (quick ? SIDE_QUICK : SIDE);
    nb_scene scene = {0};

    memcpy(scene.crystal.cell, cell, sizeof cell);
    memcpy(scene.crystal.ncells, ncells, sizeof ncells);
    scene.crystal.shape = c->shape;
    scene.crystal.mosaic[0] = 0.1;
    scene.crystal.ndomains = c->ndomains;
    scene.crystal.hkl = hkl;
    scene.beam.wavelength = 1;
    scene.beam.fluence = 1e27;
    scene.background.water = c->water;
    scene.detector.distance = 100;
    scene.detector.nfast = scene.detector.nslow = side;
    scene.detector.pixel = 176. / SIDE / finer;
    scene.oversample = 1;
    return scene;
}

static int open_fit(nb_context *ctx, const nb_scene *scene, const struct fit_case *c,
                    int strategy, struct pass *b)
{
    const struct pass_scene of = {*scene,
                                  c->free_names,
                                  {NB_DOUBLE, strategy, 0},
                                  c->planes};

    return pass_open(ctx, &of, b);
}

/* Times the parts in turn with the unit; *fit becomes their medians. */
static int time_passes(struct pass *unit, struct pass *b, const struct options *options,
                       struct fit *fit)
{
    double (*const clock)(void) =
        options->threads == 1 ? timing_process_seconds : timing_seconds;
    const double budget = options->quick ? 0.1 : 4;
    double times[PASS + 1][MOST], spent = 0;
    int n = 0;

    for (int part = 0; part < PASS; part++) /* the first call does not count */
        if (pass_time(b, (enum pass_part)part, clock) == 0) return 0;
    while (n < MOST && (n < options->repeat || spent < budget / 4)
           && (n == 0 || spent < budget)) {
        times[PASS][n] = pass_time(unit, PASS_IMAGE, clock);
        for (int part = 0; part < PASS; part++)
            times[part][n] = pass_time(b, (enum pass_part)part, clock);
        for (int part = 0; part <= PASS; part++) {
            if (times[part][n] == 0) return 0;
            spent += times[part][n];
        }
        n++;
    }
    for (int part = 0; part < PASS; part++)
        fit->seconds[part] = timing_median(times[part], n);
    fit->unit = timing_median(times[PASS], n);
    return 1;
}

/* A part that is slower by more than this than what is wanted of it is reported. */
static const double slack = 1.25;

static int is_slow(const struct fit *fit, int part)
{
    return fit->wanted[part] > 0
           && fit->seconds[part] > slack * fit->wanted[part] * fit->unit;
}

static void print_fit(const struct fit *fit)
{
    char unit[16];
    int slow = 0;

    (void)printf("%-20s %9s", fit->what, seconds_text(fit->unit, unit, sizeof unit));
    for (int part = 0; part < PASS; part++) {
        (void)printf(" %8.3f", fit->seconds[part] / fit->unit);
        if (fit->wanted[part] > 0)
            (void)printf(" %-5.2g", fit->wanted[part]);
        else
            (void)printf(" -    ");
        slow |= is_slow(fit, part);
    }
    (void)printf(" %s\n", !slow ? "" : machine_is_busy() ? "busy" : "SLOW");
}

/* Prints what a simulator with boxes takes besides time for passes. */
static void print_boxes(const struct pass *b, size_t boxes)
{
    nb_compile_stats stats;
    char seconds[16];

    nb_simulator_stats(b->sim, &stats);
    (void)printf("  %zu boxes of %d x %d on %d x %d: made in %s, %.1f MB beyond the data "
                 "(wanted: 5 ms, 20 MB)\n",
                 boxes, BOX, BOX, (int)b->image.shape[1], (int)b->image.shape[0],
                 seconds_text(b->created, seconds, sizeof seconds),
                 (double)stats.bytes / 1e6);
}

static void run_one(struct report *report, nb_context *ctx, const nb_hkl *hkl,
                    const struct fit_case *c, struct pass *unit)
{
    nb_scene scene = scene_of(c, hkl, report->options->quick);
    struct fit *fit = &report->fits[report->nfits];
    int box[MOST_BOXES][4];
    struct pass b = {0};

    *fit = (struct fit){.what = c->what};
    memcpy(fit->wanted, c->wanted, sizeof fit->wanted);
    if ((!c->boxes || pass_boxes(ctx, BOX, c->boxes, &scene, box))
        && open_fit(ctx, &scene, c, strategy_of(c), &b)
        && time_passes(unit, &b, report->options, fit)) {
        print_fit(fit);
        if (c->boxes) print_boxes(&b, scene.detector.nbox);
        report->nfits++;
    } else
        (void)printf("%-20s not run: %.60s\n", c->what, nb_context_message(ctx));
    pass_close(&b);
}

/* Prints the memory that passes take on a detector of 6 million pixels. */
static void print_memory(struct report *report, nb_context *ctx, const nb_hkl *hkl)
{
    static const double wanted = 150e6; /* byte */
    const int fast = report->options->quick ? 96 : 2463;
    const int slow = report->options->quick ? 99 : 2527;
    const size_t pixels = (size_t)fast * (size_t)slow;
    nb_scene scene = scene_of(&cases[0], hkl, 1);
    const nb_options options = {NB_DOUBLE, NB_SPOTS, 0};
    double *observed = calloc(pixels, sizeof *observed);
    double matrix[32 * 32] = {0}, slopes[32] = {0}, value;
    const nb_array data = nb_array_f64(observed, slow, fast);
    const nb_target target = {.kind = NB_GAUSSIAN, .observed = &data};
    nb_normal gradient = {.gradient = slopes}, all = {.matrix = matrix, .gradient = slopes};
    nb_simulator *sim = NULL;
    nb_compile_stats stats = {0};

    scene.detector.nfast = fast, scene.detector.nslow = slow;
    scene.detector.pixel = 0.172 * 2463 / fast;
    if (observed && nb_simulator_create(ctx, &scene, wet_free, &options, &sim) == NB_OK
        && nb_loss(sim, NULL, &target, &value, NULL) == NB_OK
        && nb_loss(sim, NULL, &target, &value, &gradient) == NB_OK
        && nb_loss(sim, NULL, &target, &value, &all) == NB_OK) {
        nb_simulator_stats(sim, &stats);
        (void)printf("  %s, %d x %d: %.1f MB beyond the data (wanted: %.0f): %s\n",
                     cases[0].what, slow, fast, (double)stats.bytes / 1e6, wanted / 1e6,
                     (double)stats.bytes < wanted ? "reached" : "NOT REACHED");
    } else
        report_failure(report, "fits, memory", nb_context_message(ctx));
    nb_simulator_free(sim);
    free(observed);
}

void fits_run(struct report *report)
{
    static const struct fit_case still = {"", "", NB_GAUSS, 40, 0, 0, {0}, 0};
    const nb_context_options threads = {.threads = report->options->threads};
    nb_context *ctx = NULL;
    nb_hkl *hkl = NULL;
    struct pass unit = {0};
    nb_scene scene;

    (void)printf("\na pass of a fit: a still of gaussian spots, 15 parameters, Poisson; in "
                 "images of it by lanes\n"
                 "%-20s %9s %8s want  %8s want  %8s want  %8s want\n",
                 "", "by lanes", "image", "value", "gradient", "matrix");
    if (nb_context_create(NB_API_VERSION, &threads, &ctx) == NB_OK
        && nb_hkl_read(ctx, BENCH_LIST, &hkl) == NB_OK) {
        scene = scene_of(&still, hkl, report->options->quick);
        if (open_fit(ctx, &scene, &still, NB_LANES, &unit))
            for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                run_one(report, ctx, hkl, &cases[i], &unit);
        print_memory(report, ctx, hkl);
    }
    if (report->nfits == 0)
        report_failure(report, "fits", ctx ? nb_context_message(ctx) : "no context");
    pass_close(&unit);
    nb_hkl_free(hkl);
    nb_context_free(ctx);
}
