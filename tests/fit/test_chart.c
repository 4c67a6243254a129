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

#include "nanobrag_fit/fit.h"
#include "scene/mosaic.h"
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
                    .shape = NB_SHAPE_GAUSS,
                    .crystal_size = size,
                    .default_f = 100,
                    .scale = 30 / (cells * cells * cells)},
        .beam = {.fluence = 1e28},
        .background = {.water = 0.02},
        .detector = {.nslow = SIDE, .nfast = SIDE, .pixel = 0.15},
        .oversample = 2,
    };
}

static void observe(nb_context *ctx, const nb_scene *scene, int seed)
{
    static uint16_t counts[SIDE * SIDE];
    const nb_digitizer how = {.scale = 1, .noise = 1, .seed = seed};
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
                          .target = {.kind = NB_LOSS_POISSON, .observed = &image}};
    const nb_fit_options options = {.shared = names, .coarse = NB_COARSE_OFF};
    const double allowed = 3; /* errors */
    nb_fit_result r;
    nb_fit *fit;

    observe(ctx, &truth, 5);
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

/* ---- a matrix of spreads ---- */

static const char elements[] = "mosaic_tensor scale";
enum { ELEMENTS = 6 };

/* A still with the matrix aa bb cc ab ac bc. */
static nb_scene spread_still(const double t[ELEMENTS])
{
    nb_scene s = still_of(16, 0);

    memcpy(s.crystal.mosaic, t, 3 * sizeof *t);
    memcpy(s.crystal.mosaic_off, t + 3, 3 * sizeof *t);
    s.given |= NB_GIVEN_MOSAIC_AXES;
    s.detector.pixel = 1.2; /* many spots */
    return s;
}

/* Spreads of 0.5, 0.3 and 0 degree about axes that are none of the crystal's. */
static const double flat[ELEMENTS] = {0.3, 0.3, 0.2, -0.2, -0.1, -0.1};

/* A matrix that no crystal has is refused, and one with a spread of 0 is not. */
static int spread_refused(void)
{
    static const double below[ELEMENTS] = {0.3, 0.3, 0.2, -0.2, -0.1, -0.1001};
    static const double wide[ELEMENTS] = {0.1, 0.1, 0.1, 0.5, 0, 0};
    nb_context *ctx = renders_context(1);
    const nb_scene refused[] = {spread_still(below), spread_still(wide)};
    const nb_scene edge = spread_still(flat);
    nb_simulator *sim;

    for (int i = 0; i < 2; i++) {
        const nb_status status = nb_simulator_create(ctx, refused + i, NULL, NULL, &sim);

        tap_check(status == NB_ERR_SCENE
                      && strstr(nb_context_message(ctx), "not positive semi-definite"),
                  "status %d: %s", (int)status, nb_context_message(ctx));
    }
    renders_require(ctx, nb_simulator_create(ctx, &edge, NULL, NULL, &sim));
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Matrices of one square have one image, so that a step may go on from either. */
static int spread_square(void)
{
    static const double at[] = {0.3, 0.3, 0.1, -0.4, 0, 0}, /* 0.7, -0.1, 0.1 */
        other[] = {0.4, 0.4, 0.1, -0.3, 0, 0}; /* 0.7, 0.1, 0.1 */
    static double image[2][SIDE * SIDE];
    nb_context *ctx = renders_context(1);
    const nb_scene scene = spread_still(other);
    struct worst same = {0};
    nb_simulator *sim;

    renders_require(ctx, nb_simulator_create(ctx, &scene, "mosaic_tensor", NULL, &sim));
    for (int i = 0; i < 2; i++) {
        nb_array to = nb_array_f64(image[i], SIDE, SIDE);

        renders_require(ctx, nb_forward(sim, i ? other : at, &to));
    }
    worst_add_all(&same, image[0], image[1], (size_t)SIDE * SIDE,
                  worst_largest(image[1], (size_t)SIDE * SIDE));
    worst_check(&same, 1e-12, "the image of a matrix with a negative spread, of the peak");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* The loss of the data at the truth. */
static double true_loss(nb_context *ctx, const nb_scene *truth, const nb_target *target)
{
    nb_simulator *sim;
    double loss;

    renders_require(ctx, nb_simulator_create(ctx, truth, NULL, NULL, &sim));
    renders_require(ctx, nb_loss(sim, NULL, target, &loss, NULL));
    nb_simulator_free(sim);
    return loss;
}

/* A crystal that has no spread about one axis: steps lead past 0 there, and the fit ends at
 * a matrix that a crystal has, below the loss of the truth. */
static int spread_of_none(void)
{
    static const double starts[][ELEMENTS] = {{0.3, 0.3, 0.3, 0, 0, 0},
                                              {0.2, 0.4, 0.2, 0.1, 0, 0.1},
                                              {0.4, 0.4, 0.4, -0.3, 0.2, -0.2}};
    const nb_scene truth = spread_still(flat);
    const nb_array image = nb_array_f64(photons, SIDE, SIDE);
    const nb_target target = {.kind = NB_LOSS_POISSON, .observed = &image};
    nb_context *ctx = renders_context(1);
    int said = 0;

    for (int k = 0; k < 6; k++) {
        const nb_scene start = spread_still(starts[k % 3]);
        const nb_shot shot = {.scene = &start, .target = target};
        const nb_fit_options options = {.shared = elements, .coarse = NB_COARSE_OFF};
        nb_crystal found = {.scale = 1};
        nb_fit_result r;
        nb_fit *fit;
        double loss;

        observe(ctx, &truth, 20 + k);
        loss = true_loss(ctx, &truth, &target);
        renders_require(ctx, nb_fit_create(ctx, 1, &shot, &options, &fit));
        renders_require(ctx, nb_fit_run(fit));
        renders_require(ctx, nb_fit_result_get(fit, &r));
        for (int i = 0; i < 3; i++) found.mosaic[i] = r.value[i].value;
        for (int i = 0; i < 3; i++) found.mosaic_off[i] = r.value[3 + i].value;
        tap_check(r.end == NB_FIT_CONVERGED && r.passes <= 10, "%d passes: %s", r.passes,
                  r.why);
        tap_check(mosaic_is_definite(&found), "%.4g %.4g %.4g %.4g %.4g %.4g",
                  r.value[0].value, r.value[1].value, r.value[2].value, r.value[3].value,
                  r.value[4].value, r.value[5].value);
        tap_check(r.loss < loss, "loss %.6g, of the truth %.6g", r.loss, loss);
        /* with this noise the first, fourth and sixth end at the edge */
        for (size_t i = 0; i < r.nwarning; i++)
            said += strstr(r.warning[i], "mosaic spread is 0 about") != NULL;
        nb_fit_free(fit);
    }
    tap_check(said == 3, "%d of 6 say that a spread is 0, 3 expected", said);
    nb_context_free(ctx);
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
                          .target = {.kind = NB_LOSS_POISSON, .observed = &image}};
    static const char *const names[] = {"scale crystal_size strain", "scale mosaic"};

    observe(quiet, &start, 5);
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
                                        {"spread_refused", spread_refused},
                                        {"spread_square", spread_square},
                                        {"spread_of_none", spread_of_none},
                                        {"said_once", said_once}};

int main(int argc, char **argv)
{
    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
