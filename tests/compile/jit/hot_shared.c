/*
 * hot_shared.c - batches of images and losses use the kernels built at run time, as single
 * images do.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <stdlib.h>
#include <string.h>

#include "compile/jit/hot_cases.h"
#include "device/devices.h"
#include "device/watched.h"
#include "gpu/gpu.h"
#include "gpu/text/frame_flags.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

enum { SOME = 4 };

/* images of a batch along b_factor and fluence: the first two know that there is none */
static void batch(nb_simulator *sim, double out[SOME][PIXELS])
{
    const nb_scene scene = scenes_base();
    nb_array image[SOME];
    double x[SOME][2];

    for (int k = 0; k < SOME; k++) {
        x[k][0] = k < 2 ? 0 : 3;
        x[k][1] = 1e28 * (1 + k);
        image[k] = nb_array_f64(out[k], scene.detector.nslow, scene.detector.nfast);
    }
    if (nb_forward_batch(sim, SOME, x[0], image) != NB_OK) abort();
}

/* both kinds of frames get kernels of their own, and no image one that knows too much */
int batches(void)
{
    static double first[SOME][PIXELS], out[SOME][PIXELS];
    const nb_scene scene = scenes_base();
    nb_context *in;
    nb_simulator *sim;
    nb_compile_stats stats = {0};
    int same = 0, tries = 0;

    begin_anew();
    sim = devices_open(&scene, "b_factor fluence", NB_PRECISION_DOUBLE, &in);
    batch(sim, first);
    devices_free(in, sim);
    in = context(2);
    sim = devices_make(in, &scene, "b_factor fluence", NB_PRECISION_DOUBLE);
    for (; tries < 2000 && stats.promotions < 2; tries++) {
        batch(sim, out);
        same += bits_same(first[0], out[0], sizeof first / sizeof first[0][0]);
        stats = compiled_stats(sim);
        wait_for_build(in);
    }
    tap_check(stats.promotions == 2 && stats.fallbacks == 0 && same == tries,
              "%d promoted (2), %d of %d batches of the same bits", (int)stats.promotions,
              same, tries);
    watched.own_launches = 0;
    batch(sim, out);
    tap_check(watched.own_launches == 2
                  && bits_same(first[0], out[0], sizeof first / sizeof first[0][0])
                  && !(watched.known & FLAG_SAME_SOURCES),
              "%d launches of them (2), the same bits", (int)watched.own_launches);
    devices_free(in, sim);
    tap_check(devices_balanced() && watched.modules_held == 0, "all was given back");
    return TAP_PASS;
}

int losses(void)
{
    static double observed[PIXELS];
    const nb_scene scene = scenes_base();
    const nb_array array =
        nb_array_f64(observed, scene.detector.nslow, scene.detector.nfast);
    const nb_target target = {.kind = NB_LOSS_GAUSS, .observed = &array};
    nb_compile_stats stats = {0};
    nb_context *in;
    nb_simulator *sim;
    double first = 0, value;
    int same = 0, tries = 0;

    begin_anew();
    in = context(2);
    sim = devices_make(in, &scene, "", NB_PRECISION_DOUBLE);
    for (; tries < 2000 && stats.promotions == 0; tries++) {
        if (nb_loss(sim, NULL, &target, &value, NULL) != NB_OK) abort();
        if (tries == 0) first = value;
        same += value == first;
        stats = compiled_stats(sim);
        wait_for_build(in);
    }
    tap_check(stats.promotions == 1 && watched.own_launches > 1 && same == tries,
              "%d promoted (1), %d of %d values of the same bits", (int)stats.promotions,
              same, tries);
    devices_free(in, sim);
    tap_check(devices_balanced() && watched.modules_held == 0, "all was given back");
    return TAP_PASS;
}
