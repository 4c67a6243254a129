/*
 * test_gpu_hot.c - kernels that NVRTC builds for images used often, on a CUDA device: they
 * are reached, and give the bits of the kernels of the build. Skipped without a device, and
 * where NVRTC is not installed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nanobrag/nanobrag.h>

#include "base/clock.h"
#include "base/context.h"
#include "compile/jit/nvrtc.h"
#include "support/compiled.h"
#include "support/scenes.h"
#include "support/tap.h"

enum { PIXELS = COMPILED_PIXELS };

static const double patience = 60; /* s; NVRTC takes 0.6 to 1.3 */

static int has_nvrtc(void)
{
    struct nvrtc nvrtc;
    char why[NVRTC_WHY];

    if (nvrtc_open(NULL, 0, &nvrtc, why) == NB_OK) return 1;
    return tap_skip("%s", why) == TAP_PASS;
}

static nb_status image_of(nb_simulator *sim, double *image)
{
    nb_array array = nb_array_f64(image, COMPILED_SLOW, COMPILED_FAST);

    return nb_forward(sim, NULL, &array);
}

static void check_scene(nb_context *ctx, const char *name, int precision)
{
    static double first[PIXELS], image[PIXELS];
    const struct timespec nap = {0, 20 * 1000 * 1000};
    const double start = clock_seconds(CLOCK_MONOTONIC);
    const nb_scene scene = scenes_named(SCENES_FEATURES, name);
    nb_simulator *sim;
    nb_compile_stats stats;
    nb_status status;
    int images = 0, differ = 0;

    sim = compiled_make(ctx, &scene, "", precision, NB_STRATEGY_AUTO);
    status = image_of(sim, first);
    do {
        if (status == NB_OK) status = image_of(sim, image);
        differ += memcmp(first, image, sizeof first) != 0;
        stats = compiled_stats(sim);
        images++;
        (void)nanosleep(&nap, NULL);
    } while (status == NB_OK && stats.promotions == 0 && stats.fallbacks == 0
             && clock_seconds(CLOCK_MONOTONIC) - start < patience);
    for (int i = 0; i < 3 && status == NB_OK; i++) { /* by that kernel */
        status = image_of(sim, image);
        differ += memcmp(first, image, sizeof first) != 0;
    }
    tap_check(status == NB_OK && stats.promotions > 0 && compiled_stats(sim).fallbacks == 0,
              "%s in %s: %d kernel in use after %d images, %d fallbacks: %s", name,
              precision == NB_PRECISION_SINGLE ? "float" : "double", (int)stats.promotions,
              images, (int)stats.fallbacks, nb_context_message(ctx));
    tap_check(differ == 0, "%d images of other bits", differ);
    nb_simulator_free(sim);
}

static int reached(void)
{
    static const char *const names[] = {"square_nearest", "gauss_nearest"};
    const nb_context_options options = {.device = NB_DEVICE_CUDA};
    nb_context *ctx;
    nb_simulator *sim;
    nb_description about;
    const nb_scene scene = scenes_base();
    int found;

    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    sim = compiled_make(ctx, &scene, "", NB_PRECISION_DOUBLE, NB_STRATEGY_AUTO);
    if (nb_simulator_describe(sim, NULL, &about) != NB_OK) abort();
    found = strcmp(about.device, "cpu") != 0;
    if (!found) (void)tap_skip("no device: %s", about.device_why);
    nb_simulator_free(sim);
    found = found && has_nvrtc();
    for (size_t i = 0; i < sizeof names / sizeof *names && found; i++)
        for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
             precision++)
            check_scene(ctx, names[i], precision);
    nb_context_free(ctx);
    return found ? TAP_PASS : TAP_SKIP;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"reached", reached}};

    compiled_device_environment();
    (void)setenv("NANOBRAG_HOT_THRESHOLD", "1", 1);
    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
