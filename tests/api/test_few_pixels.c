/*
 * test_few_pixels.c - detectors of few pixels with many samples each: their images, and
 * calls that report and end within their only tile.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"

/* The documented tolerances, as fractions of the peak. */
static const double double_allowed = 1e-10, single_allowed = 1e-5;

enum { MOST = 64 * 16 };

static nb_scene small(const char *name, int nfast, int nslow, int oversample)
{
    nb_scene scene = scenes_named(SCENES_FEATURES, name);

    memset(scene.detector.roi, 0, sizeof scene.detector.roi);
    scene.detector.mask = NULL;
    scene.detector.nfast = nfast;
    scene.detector.nslow = nslow;
    scene.oversample = oversample;
    return scene;
}

/* ---- images ---- */

static void check_image(const char *name, int nfast, int nslow, int oversample)
{
    static double image[MOST], truth[MOST];
    const nb_scene scene = small(name, nfast, nslow, oversample);
    const struct renders_way reference = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0, 1,
                                          NULL};
    const size_t n = (size_t)nfast * (size_t)nslow;

    if (!renders_image(&scene, &reference, truth, NULL)) return;
    for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
         precision++) {
        const double allowed =
            precision == NB_PRECISION_DOUBLE ? double_allowed : single_allowed;
        double first[MOST];

        for (int threads = 1; threads <= 3; threads++) {
            const struct renders_way way = {precision, NB_STRATEGY_LANES, 0, threads, NULL};
            struct renders_gap gap;

            if (!renders_image(&scene, &way, image, NULL)) return;
            gap = renders_compare(image, truth, n);
            if (threads == 1) memcpy(first, image, sizeof image);
            tap_check(gap.worst <= allowed && memcmp(first, image, n * sizeof *image) == 0,
                      "%s %d x %d, precision %d, %d threads: measured %.1e allowed %.1e, "
                      "the bits of one",
                      name, nfast, nslow, precision, threads, gap.worst, allowed);
        }
    }
}

static int images(void)
{
    static const int sizes[][3] = {{1, 1, 24},
                                   {2, 2, 24},
                                   {3, 5, 12},
                                   {33, 9, 3},
                                   {64, 16, 2}};
    static const char *const names[] = {"base", "layers", "gauss_constant",
                                        "square_tricubic"};

    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            check_image(names[k], sizes[i][0], sizes[i][1], sizes[i][2]);
    return TAP_PASS;
}

/* ---- progress ---- */

struct told {
    int calls, most; /* how often the handler was called; from which call on it says stop */
    double last;
    int falls; /* the fraction decreased, or was none */
};

static int tell(void *user, double fraction)
{
    struct told *told = user;

    told->falls += !(fraction >= told->last && fraction <= 1);
    told->last = fraction;
    return ++told->calls >= told->most;
}

/* Renders a single tile of 8 x 8 pixels and some 6e7 samples; returns what nb_forward()
 * does. */
static nb_status render(int strategy, int oversample, struct told *told)
{
    static double data[64];
    const nb_scene scene = small("base", 8, 8, oversample);
    const nb_options options = {NB_PRECISION_DOUBLE, strategy, 0};
    nb_context_options handler = {.threads = 2, .progress = tell, .user = told};
    nb_array image = nb_array_f64(data, 8, 8);
    nb_context *ctx;
    nb_simulator *sim;
    nb_status status;

    if (nb_context_create(NB_API_VERSION, &handler, &ctx) != NB_OK
        || nb_simulator_create(ctx, &scene, NULL, &options, &sim) != NB_OK)
        abort();
    status = nb_forward(sim, NULL, &image);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return status;
}

static int within_a_tile(void)
{
    static const struct {
        int strategy, oversample;
        const char *name;
    } ways[] = {{NB_STRATEGY_LANES, 300, "lanes"},
                {NB_STRATEGY_REFERENCE, 120, "reference"}};

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct told whole = {.most = 1 << 30}, stopped = {.most = 3};

        const nb_status end = render(ways[i].strategy, ways[i].oversample, &whole);
        const nb_status stop = render(ways[i].strategy, ways[i].oversample, &stopped);

        tap_check(end == NB_OK && whole.calls >= 5 && whole.falls == 0 && whole.last == 1,
                  "%s: %d reports of one tile, expected 5 or more, that rise to %g",
                  ways[i].name, whole.calls, whole.last);
        tap_check(stop == NB_ERR_CANCELLED && stopped.calls == 3,
                  "%s: stopped at report %d of the tile, expected 3", ways[i].name,
                  stopped.calls);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"images", images},
        {"within_a_tile", within_a_tile},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
