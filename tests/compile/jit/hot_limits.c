/* hot_limits.c - how many kernels are built, and when none is. SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "compile/jit/hot_cases.h"
#include "device/devices.h"
#include "device/watched.h"
#include "gpu/gpu.h"
#include "support/files.h"
#include "support/scenes.h"
#include "support/tap.h"

/* one more signature, oversample 3: one sample, whose solid angle is asked for; 1: its
 * kernel is taken into use */
static int use(nb_context *in, int shape, int oversample)
{
    static double image[PIXELS];
    nb_scene scene = scenes_base();
    nb_simulator *sim;
    const uint64_t fallbacks = in->fallbacks;
    const int warnings = devices_warnings;
    int promoted = 0;

    memcpy(scene.detector.roi, (int[4]){17, 33, 17, 25}, sizeof scene.detector.roi);
    scene.crystal.shape = shape;
    scene.oversample = oversample < 3 ? oversample : 1;
    scene.oversample_omega = oversample == 3;
    sim = devices_make(in, &scene, "", NB_PRECISION_DOUBLE);
    for (int i = 0; i < 100 && !promoted; i++) {
        if (devices_image(sim, NULL, image) != NB_OK) abort();
        promoted = compiled_stats(sim).promotions > 0;
        if (in->fallbacks > fallbacks || devices_warnings > warnings) break;
        wait_for_build(in);
    }
    nb_simulator_free(sim);
    return promoted;
}

/* the limit is met by this shape, and told */
static void check_limit(nb_context *in, int shape)
{
    static const char expected[] = "hit recompile_limit (8) of image kernels, last reason: "
                                   "shape: TOPHAT -> SQUARE";
    const int promoted = use(in, shape, 3);

    tap_check(!promoted && devices_warnings == 1 && strcmp(devices_warning, expected) == 0,
              "%d warning: %s", devices_warnings, devices_warning);
}

int limit(void)
{
    static const int shapes[] = {NB_SHAPE_SQUARE, NB_SHAPE_ROUND, NB_SHAPE_GAUSS,
                                 NB_SHAPE_TOPHAT};
    nb_context *in;
    uint64_t before;
    int promoted = 0;

    begin_anew();
    in = context(1);
    tap_check(in->env.recompile_limit == 8, "the limit is %d", in->env.recompile_limit);
    for (int i = 0; i < 8; i++) promoted += use(in, shapes[i % 4], 1 + i / 4);
    tap_check(promoted == 8 && devices_warnings == 0, "%d promoted", promoted);
    promoted = use(in, NB_SHAPE_SQUARE, 1);
    tap_check(!promoted && devices_warnings == 0, "one that is there counts no more");
    check_limit(in, NB_SHAPE_SQUARE);
    tap_check(!use(in, NB_SHAPE_ROUND, 3) && devices_warnings == 1, "and it is told once");
    before = watched.own_launches;
    (void)use(in, NB_SHAPE_GAUSS, 2);
    tap_check(watched.own_launches > before, "what was made hot stays so");
    nb_context_free(in);
    in = context(1); /* what is on disk was not built */
    promoted = 0;
    in->env.recompile_limit = 1;
    for (int i = 0; i < 8; i++) promoted += use(in, shapes[i % 4], 1 + i / 4);
    tap_check(promoted == 8, "%d of the disk beside a limit of 1", promoted);
    nb_context_free(in);
    tap_check(devices_balanced() && watched.modules_held == 0, "all was given back");
    return TAP_PASS;
}

int numbers(void)
{
    static const struct {
        const char *value;
        int expected, warnings;
    } rows[] = {{"", -1, 0},   {"0", 0, 0},  {"7", 7, 0},        {"1000000", 1000000, 0},
                {"-1", -1, 1}, {"x", -1, 1}, {"1000001", -1, 1}, {"3x", -1, 1}};
    static const char *const names[] = {"NANOBRAG_HOT_THRESHOLD",
                                        "NANOBRAG_RECOMPILE_LIMIT"};
    nb_context *in = context(1);

    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < COUNT(rows); i++) {
            const int expected = rows[i].expected < 0 ? 5 + 3 * k : rows[i].expected;
            struct env env;
            int number;

            (void)setenv(names[k], rows[i].value, 1);
            devices_warnings = 0;
            env = env_read(in);
            number = k ? env.recompile_limit : env.hot_threshold;
            tap_check(number == expected && devices_warnings == rows[i].warnings,
                      "%s=%s: %d, %d warnings", names[k], rows[i].value, number,
                      devices_warnings);
        }
        (void)unsetenv(names[k]);
    }
    nb_context_free(in);
    return TAP_PASS;
}

/* nothing counted, no thread, no file */
static void check_nothing(nb_context *in, const char *what)
{
    const nb_scene scene = scenes_base();
    struct subject s = {.ctx = in};

    s.sim = devices_make(in, &scene, "", NB_PRECISION_DOUBLE);
    for (int i = 0; i < 10; i++) (void)take(&s);
    tap_check(in->gpu && !in->gpu->hot && files_kept() == 0
                  && compiled_stats(s.sim).builds == 0,
              "%s: nothing", what);
    close_subject(&s);
}

int off(void)
{
    nb_context *in;

    begin_anew();
    in = context(1);
    in->options.compile = NB_COMPILE_OFF;
    check_nothing(in, "compiled mode off");
    in = context(1);
    in->env.disable_compile = 1;
    check_nothing(in, "off by the environment");
    check_nothing(context(0), "a threshold of 0");
    return TAP_PASS;
}
