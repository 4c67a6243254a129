/*
 * test_strategy_choice.c - the choice of a strategy that was left open, and its reason.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum { PIXELS = SPOTS_NFAST * SPOTS_NSLOW };

static const struct renders_way reference = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0,
                                             1, NULL};

static void check_choice(const char *name, const nb_scene *scene,
                         const struct renders_way *way, int expected, const char *why)
{
    const nb_description about = renders_describe(scene, way);

    tap_check(about.strategy == expected && about.strategy_why
                  && strstr(about.strategy_why, why),
              "%s: strategy %d expected %d, '%s' expected '%s'", name, about.strategy,
              expected, about.strategy_why ? about.strategy_why : "(none)", why);
}

static int chosen_by_itself(void)
{
    static const struct {
        const char *name;
        int shape;
        double count, tolerance;
        int expected;
        const char *why;
    } cases[] = {
        {"gauss", NB_SHAPE_GAUSS, 20, 0, NB_STRATEGY_SPOTS,
         "few and fill less than a third"},
        {"gauss_star", NB_SHAPE_GAUSS_STAR, 20, 0, NB_STRATEGY_SPOTS,
         "few and fill less than a third"},
        {"tophat", NB_SHAPE_TOPHAT, 20, 0, NB_STRATEGY_SPOTS,
         "few and fill less than a third"},
        {"gauss of 1 cell", NB_SHAPE_GAUSS, 1, 0, NB_STRATEGY_LANES, "more than a third"},
        {"gauss_star of 1 cell", NB_SHAPE_GAUSS_STAR, 1, 0, NB_STRATEGY_LANES,
         "more than a third"},
        {"tophat of 1 cell", NB_SHAPE_TOPHAT, 1, 0, NB_STRATEGY_LANES, "more than a third"},
        {"gauss of 7 cells to 1e-2", NB_SHAPE_GAUSS, 7, 1e-2, NB_STRATEGY_SPOTS,
         "few and fill less than a third"},
        {"gauss of 7 cells to 1e-12", NB_SHAPE_GAUSS, 7, 1e-12, NB_STRATEGY_LANES,
         "more than a third"},
        {"square", NB_SHAPE_SQUARE, 1000, 0, NB_STRATEGY_LANES, "shape"},
        {"round", NB_SHAPE_ROUND, 1000, 0, NB_STRATEGY_LANES, "shape"},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
             precision++) {
            const struct renders_way way = {precision, NB_STRATEGY_AUTO, cases[i].tolerance,
                                            1, NULL};
            nb_scene scene = scenes_base_of(SCENES_SPOTS);

            scene.crystal.shape = cases[i].shape;
            scene.detector.nfast = scene.detector.nslow = 1000;
            scene.detector.distance = 300;
            scene.detector.pixel = 0.2;
            for (int k = 0; k < 3; k++) {
                scene.crystal.ncells[k] = cases[i].count;
                scene.crystal.cell[3 + k] = 90;
            }
            check_choice(cases[i].name, &scene, &way, cases[i].expected, cases[i].why);
        }
    return TAP_PASS;
}

/* nanoBragg's curved detector is bent in a way that spots cannot follow */
static int lanes_instead(void)
{
    static double truth[PIXELS], image[PIXELS];
    nb_scene scene = scenes_base_of(SCENES_SPOTS);

    scene.detector.curved = 1;
    scene.quirks = NB_QUIRK_CURVED;
    for (int strategy = NB_STRATEGY_AUTO; strategy <= NB_STRATEGY_SPOTS;
         strategy += NB_STRATEGY_SPOTS) {
        const struct renders_way way = {NB_PRECISION_DOUBLE, strategy, 0, 1, NULL};

        check_choice("quirk of curvature", &scene, &way, NB_STRATEGY_LANES,
                     strategy == NB_STRATEGY_SPOTS ? "flat" : "");
        if (renders_image(&scene, &reference, truth, NULL)
            && renders_image(&scene, &way, image, NULL))
            tap_close("worst pixel over peak", renders_compare(image, truth, PIXELS).worst,
                      0, 1e-12);
    }
    return TAP_PASS;
}

static int always_a_reason(void)
{
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++)
        for (int strategy = NB_STRATEGY_AUTO; strategy <= NB_STRATEGY_SPOTS; strategy++)
            for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
                 precision++) {
                const struct renders_way way = {precision, strategy, 0, 1, NULL};
                nb_description about;

                if (strategy == NB_STRATEGY_REFERENCE && precision == NB_PRECISION_SINGLE)
                    continue;
                about = renders_describe(&named.scene, &way);
                tap_check(about.strategy_why && *about.strategy_why
                              && about.strategy != NB_STRATEGY_AUTO
                              && about.precision <= precision && about.tolerance > 0
                              && about.rounding > 0 && about.rounding < 1e-4,
                          "%s, asked for %d: %d, '%s', rounding %.2g", named.name, strategy,
                          about.strategy, about.strategy_why, about.rounding);
            }
    return TAP_PASS;
}

/* more reflections between the spheres of the shortest and the longest wave than anybody
 * wants to list: what is chosen without being asked for must run */
static int chosen_and_runs(void)
{
    static double truth[PIXELS], image[PIXELS];
    const struct renders_way way = {NB_PRECISION_DOUBLE, NB_STRATEGY_AUTO, 0, 2, NULL};
    nb_scene scene = scenes_base_of(SCENES_SPOTS);
    nb_description about;

    for (int i = 0; i < 3; i++) {
        scene.crystal.cell[i] = 500;
        scene.crystal.cell[3 + i] = 90;
        scene.crystal.ncells[i] = 20;
    }
    scene.crystal.ndomains = 1;
    scene.crystal.mosaic[0] = 0;
    scene.beam.dispersion = 0.5;
    scene.beam.ndispersion = 10;
    scene.detector.distance = 20;
    if (renders_image(&scene, &reference, truth, NULL)
        && renders_image(&scene, &way, image, &about)) {
        tap_note("strategy %d: %s", about.strategy, about.strategy_why);
        tap_promised("worst pixel over peak", renders_compare(image, truth, PIXELS).worst,
                     0, about.tolerance + renders_allowed(&scene));
    }
    return TAP_PASS;
}

/* An x may lead to where the reflections are too many to list: what was chosen without
 * being asked for still gives its image. */
static int chosen_and_left(void)
{
    static double image[PIXELS];
    const double cell[] = {30000, 30000, 30000};
    nb_scene scene = scenes_base_of(SCENES_SPOTS);
    nb_array array = nb_array_f64(image, SPOTS_NSLOW, SPOTS_NFAST);
    nb_context *ctx;

    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) abort();
    scene.crystal.ndomains = 1;
    scene.oversample = 10;
    for (int strategy = NB_STRATEGY_AUTO; strategy <= NB_STRATEGY_SPOTS;
         strategy += NB_STRATEGY_SPOTS) {
        const nb_options options = {NB_PRECISION_DOUBLE, strategy, 0};
        const nb_status expected = strategy == NB_STRATEGY_SPOTS ? NB_ERR_MEMORY : NB_OK;
        nb_description about;
        nb_simulator *sim;

        if (nb_simulator_create(ctx, &scene, "cell_a cell_b cell_c", &options, &sim)
                != NB_OK
            || nb_simulator_describe(sim, NULL, &about) != NB_OK)
            abort();
        tap_check(about.strategy == NB_STRATEGY_SPOTS, "asked for %d: %s", strategy,
                  about.strategy_why);
        tap_check(nb_forward(sim, cell, &array) == expected, "at a cell of 30000 A: %s",
                  expected == NB_OK ? "an image" : nb_context_message(ctx));
        nb_simulator_free(sim);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"by_itself", chosen_by_itself}, {"lanes_instead", lanes_instead},
        {"reason", always_a_reason},     {"runs", chosen_and_runs},
        {"left", chosen_and_left},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
