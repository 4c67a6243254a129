/*
 * test_chart.c - the curves along which a fit moves parameters, and fits that need them:
 * widths that start or end at 0, and blocks that are far larger than at the start.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit/fit.h"
#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

enum { SIDE = 64 };

/* A step that should lead somewhere leads there, and has no length at 0. */
static int curves(void)
{
    static const double from[] = {1e-6, 0.3, 7, 400}, to[] = {1e-6, 0.02, 1, 90, 5000};
    struct worst there = {0}, slope = {0}, stays = {0};

    for (int chart = CHART_LINE; chart <= CHART_CELLS; chart++)
        for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
            const double x = from[i], small = 1e-5 * x;

            worst_add(&slope, (chart_move(chart, x, small) - x) / small, 1, 1);
            worst_add(&stays, chart_step_to(chart, x, x), 0, 0);
            for (size_t k = 0; k < sizeof to / sizeof *to; k++) {
                const double step = chart_step_to(chart, x, to[k]);

                if (chart == CHART_CELLS && to[k] > 1e3 * x) continue;
                worst_add(&there, chart_move(chart, x, step), to[k], fmax(to[k], x));
            }
        }
    worst_check(&there, 1e-8, "places");
    worst_check(&slope, 2e-5, "slopes at a step of 0");
    worst_check(&stays, 0, "a step to the same place");
    return TAP_PASS;
}

static double photons[SIDE * SIDE];

/* A still with sharp blocks and a wide crystal. */
static nb_scene still_of(double cells, double size)
{
    return (nb_scene){
        .crystal = {.cell = {50, 60, 70, 90, 90, 90},
                    .misset = {10, 20, 30},
                    .ncells = {cells, cells, cells},
                    .mosaic = {0.4},
                    .mosaic_model = NB_MOSAIC_GAUSS,
                    .shape = NB_GAUSS,
                    .crystal_size = size,
                    .default_f = 100,
                    .scale = 30 / (cells * cells * cells)},
        .beam = {.fluence = 1e28},
        .background = {.water = 0.02},
        .detector = {.nslow = SIDE, .nfast = SIDE, .pixel = 0.15},
        .oversample = 2,
    };
}

static void observe(nb_context *ctx, const nb_scene *scene)
{
    static uint16_t counts[SIDE * SIDE];
    const nb_digitizer how = {.scale = 1, .noise = 1, .seed = 5};
    nb_array image = nb_array_f64(photons, SIDE, SIDE);
    nb_array counted = nb_array_u16(counts, SIDE, SIDE);
    nb_simulator *sim;

    renders_require(ctx, nb_simulator_create(ctx, scene, NULL, NULL, &sim));
    renders_require(ctx, nb_forward(sim, NULL, &image));
    renders_require(ctx, nb_digitize(sim, &how, &image, &counted));
    nb_simulator_free(sim);
    for (int p = 0; p < SIDE * SIDE; p++) photons[p] = counts[p];
}

/* Fits an image of 16 cells from another number, with widths from 0. */
static void fit_widths(double size, double from, const char *names)
{
    nb_context *ctx = renders_context(1);
    const nb_scene truth = still_of(16, size), start = still_of(from, 0);
    const nb_array image = nb_array_f64(photons, SIDE, SIDE);
    const nb_shot shot = {.scene = &start,
                          .target = {.kind = NB_POISSON, .observed = &image}};
    const nb_fit_options options = {.shared = names, .coarse = NB_COARSE_OFF};
    const double allowed = 3; /* errors */
    nb_fit_result r;
    nb_fit *fit;

    observe(ctx, &truth);
    renders_require(ctx, nb_fit_create(ctx, 1, &shot, &options, &fit));
    renders_require(ctx, nb_fit_run(fit));
    renders_require(ctx, nb_fit_result_get(fit, &r));
    tap_check(r.end == NB_FIT_CONVERGED && r.passes <= 20,
              "size %g: %d passes, allowed 20: %s", size, r.passes, r.why);
    for (size_t i = 0; i < r.nvalue; i++) {
        const nb_fit_value *v = r.value + i;

        if (!strcmp(v->param.name, "crystal_size"))
            tap_check(fabs(v->value * v->value - size * size)
                          <= allowed * 2 * v->value * v->error,
                      "size %g found as %g +- %g, allowed %g errors of its square", size,
                      v->value, v->error, allowed);
        if (!strcmp(v->param.name, "strain"))
            tap_check(v->value <= allowed * v->error && (v->bound == 0 || v->value == 0),
                      "no strain found as %g +- %g, bound %d", v->value, v->error,
                      v->bound);
    }
    nb_fit_free(fit);
    nb_context_free(ctx);
}

static int size_found(void)
{
    fit_widths(0.06, 16, "misset scale mosaic crystal_size strain");
    return TAP_PASS;
}

/* The best width may be 0: its error there is what it may well be. */
static int size_of_nothing(void)
{
    fit_widths(0, 5, "misset scale mosaic ncells crystal_size strain");
    return TAP_PASS;
}

struct lines {
    int notes, others;
    char last[400];
};

static void hear(void *user, int level, const char *topic, const char *line)
{
    struct lines *lines = user;

    (void)topic;
    lines->others += level == NB_LOG_WARNING;
    if (level != NB_LOG_NOTE) return;
    lines->notes++;
    (void)snprintf(lines->last, sizeof lines->last, "%s", line);
}

/* That widths start elsewhere than at 0 is said in one line, and once. */
static int said_once(void)
{
    struct lines lines = {.notes = 0};
    const nb_context_options heard = {.threads = 1, .log = hear, .user = &lines};
    nb_context *quiet = renders_context(1), *ctx;
    const nb_scene start = still_of(16, 0);
    const nb_array image = nb_array_f64(photons, SIDE, SIDE);
    const nb_shot shot = {.scene = &start,
                          .target = {.kind = NB_POISSON, .observed = &image}};
    static const char *const names[] = {"scale crystal_size strain", "scale mosaic"};

    observe(quiet, &start);
    renders_require(quiet, nb_context_create(NB_API_VERSION, &heard, &ctx));
    for (int k = 0; k < 2; k++) {
        const nb_fit_options options = {.shared = names[k], .coarse = NB_COARSE_OFF};
        nb_fit *fit;

        lines = (struct lines){.notes = 0};
        renders_require(ctx, nb_fit_create(ctx, 1, &shot, &options, &fit));
        tap_check(lines.notes == 0, "nothing is said before the run");
        for (int run = 0; run < 2; run++) renders_require(ctx, nb_fit_run(fit));
        tap_check(lines.notes == (k == 0) && lines.others == 0,
                  "%s: %d notes, expected %d, and %d warnings: %s", names[k], lines.notes,
                  k == 0, lines.others, lines.last);
        tap_check(k == 1
                      || (strstr(lines.last, "crystal_size at ")
                          && strstr(lines.last, " mm, strain at ")),
                  "it names the widths: %s", lines.last);
        nb_fit_free(fit);
    }
    nb_context_free(ctx);
    nb_context_free(quiet);
    return TAP_PASS;
}

static const struct tap_case cases[] = {{"curves", curves},
                                        {"size_found", size_found},
                                        {"size_of_nothing", size_of_nothing},
                                        {"said_once", said_once}};

int main(int argc, char **argv)
{
    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
