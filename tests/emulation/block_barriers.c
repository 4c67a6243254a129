/* block_barriers.c - see block_barriers.h. SPDX-License-Identifier: MIT */
#include "emulation/block_barriers.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulation/emulated.h"
#include "emulation/jacobian_runs.h"
#include "emulation/raced_kernels.h"
#include "gpu/text/count_parameters.h"
#include "gpu/text/loss_parameters.h"
#include "image/target.h"
#include "support/scenes.h"
#include "support/tap.h"

/* ---- hiding each in turn ---- */

/* A block, and which of its barriers are not found when they are hidden. */
struct hidden {
    const char *name;
    void (*run)(const void *of);
    const void *of;
    int first; /* those from this number on are hidden */
    const char *silent; /* as "2 19" */
};

/* Turns stderr to `to`, and returns what it was: the sanitizer writes there of each race
 * that is meant to be, a hundred thousand times. */
static int turn_stderr(int to)
{
    const int before = dup(STDERR_FILENO);

    if (before < 0 || to < 0 || dup2(to, STDERR_FILENO) < 0) abort();
    (void)close(to);
    return before;
}

/* Runs a block again and again, each time with another barrier hidden in *lost. */
static void each_hidden(const struct hidden *h, int *lost, int (*steps)(void))
{
    char found[200] = "";
    int n, races, before;

    h->run(h->of);
    n = steps();
    races = block_races();
    tap_check(races == 0 && n >= h->first, "%s: %d races, %d steps", h->name, races, n);
    before = turn_stderr(open("/dev/null", O_WRONLY | O_CLOEXEC));
    for (*lost = h->first; *lost <= n; ++*lost) {
        const size_t length = strlen(found);

        h->run(h->of);
        if (block_races() == 0)
            (void)snprintf(found + length, sizeof found - length, "%s%d", length ? " " : "",
                           *lost);
    }
    *lost = 0;
    (void)close(turn_stderr(before));
    tap_check(strcmp(found, h->silent) == 0, "%s: of barriers %d to %d not found: %s (%s)",
              h->name, h->first, n, found[0] ? found : "none",
              h->silent[0] ? h->silent : "none");
}

static void each_of_block(struct hidden h)
{
    each_hidden(&h, &block_lost_step, block_steps);
}

/* ---- warps ---- */

static void gifts(const void *of)
{
    long long count[RACED_PLACES] = {0};

    (void)of;
    raced_gifts(count);
}

int wrong_warps_found(void)
{
    /* nothing is given after the last */
    const struct hidden sums = {"sums of warps", gifts, NULL, 1, "16"};
    long long count[RACED_PLACES] = {0}, nodes = 0;
    int races;

    (void)raced_right_warp();
    races = block_races();
    tap_check(races == 0, "warps, then the block: %d races", races);
    (void)raced_wrong_warp();
    races = block_races();
    tap_check(races > 0, "what another warp writes in a step of warps: %d races", races);
    raced_gifts(count);
    for (int i = 1; i < RACED_PLACES; i++) nodes += count[i];
    tap_check(count[0] == 256000000, "%lld millionths at a place", count[0]);
    tap_close("at the nodes", (double)nodes, 32e6, 1e3);
    each_hidden(&sums, &block_lost_warp_step, block_warp_steps);
    return TAP_PASS;
}

/* ---- one tile in two layers, two chunks of pairs in each, and water ---- */

static nb_scene one_tile(void)
{
    nb_scene scene = scenes_base();

    scene.detector.nfast = 16;
    scene.detector.nslow = 8;
    scene.detector.thickness = 300;
    scene.detector.attenuation = 200;
    scene.detector.nlayers = 2;
    scene.crystal.shape = NB_SQUARE;
    scene.crystal.hkl = scenes_reflections();
    scene.crystal.interpolate = NB_NEAREST;
    scene.crystal.ndomains = 20; /* 40 pairs, of which a chunk has 32 */
    scenes_amorphous(&scene, 10);
    return scene;
}

/* A kernel and its parameters. */
struct subject {
    emulated_block *block;
    const void *parameters;
};

static void run_subject(const void *of)
{
    const struct subject *subject = of;

    subject->block(subject->parameters, 0);
}

static const struct jacobian_way parted = {.kernels = &raced_double,
                                           .kind = JACOBIAN_OF_FEW,
                                           .parts = 2};

int image_barriers(void)
{
    static double partial[GPU_FAST * GPU_SLOW], photons[GPU_FAST * GPU_SLOW],
        totals[LOSS_LENGTH];
    const nb_scene scene = one_tile();
    const struct emulated_kernels *all = &emulated_double;
    unsigned long long peak = 0;
    struct gpu_loss_parameters p = {.totals = totals};
    struct subject subject = {all->image[PHYS_SQUARE][PHYS_NEAREST], &p.image};
    struct device_run t;

    device_run_make(&scene, 1, &t);
    p.image = jacobian_parameters(&t, &parted).image;
    p.image.segments = 1;
    p.image.partial = partial;
    p.image.photons = photons;
    p.image.peak = &peak;
    /* after the last samples nothing is shared; before the photons nothing was read */
    each_of_block((struct hidden){"image", run_subject, &subject, 1, "19"});
    subject.block = all->finish;
    each_of_block((struct hidden){"photons", run_subject, &subject, 1, "5"});
    subject.block = all->loss;
    subject.parameters = &p;
    each_of_block((struct hidden){"loss", run_subject, &subject, 1, "5"});
    device_run_drop(&t);
    return TAP_PASS;
}

static void run_derivatives(const void *of)
{
    raced_double.jacobian[PHYS_SQUARE][PHYS_NEAREST][JACOBIAN_OF_FEW].block(of, 0);
}

int derivative_barriers(void)
{
    enum { FIRST_OF_SUMS = 30 }; /* as those before it are the normal matrix' too */
    static double totals[1000];
    const nb_scene scene = one_tile();
    unsigned long long peak = 0;
    struct jacobian_way way = parted;
    struct gpu_derivatives_parameters p;
    struct device_run t;

    device_run_make(&scene, 1, &t);
    (void)jacobian_next(&t, &way);
    p = jacobian_parameters(&t, &way);
    p.image.peak = &peak;
    p.end = REDUCE_COTANGENT;
    p.cotangent.wide = t.photons;
    p.totals = totals;
    p.length = jacobian_sum_length(p.n);
    /* a layer ends with a barrier of its own behind that of its last chunk */
    each_of_block((struct hidden){"gradient", run_derivatives, &p, FIRST_OF_SUMS, ""});
    p.n = p.turning = 3; /* few, for a small matrix */
    p.end = REDUCE_SQUARES;
    p.target = (struct gpu_target){{0}, {.wide = t.photons}, {0}};
    p.length = jacobian_normal_length(p.n);
    each_of_block((struct hidden){"normal matrix", run_derivatives, &p, 1, "10 20"});
    device_run_drop(&t);
    return TAP_PASS;
}

int factor_barriers(void)
{
    static double sum_bar[GPU_FAST * GPU_SLOW];
    /* a tile in one part, whose warps read all slots: 140 pairs, of which a chunk has 128
     */
    nb_scene scene = one_tile();
    struct jacobian_way way = parted;
    struct gpu_f_parameters p = {.sum_bar = sum_bar};
    const struct subject subject = {raced_double.f[PHYS_SQUARE][PHYS_NEAREST], &p};
    struct device_run t;

    scene.crystal.ndomains = 70;
    way.parts = 1;
    device_run_make(&scene, 1, &t);
    p.image = jacobian_parameters(&t, &way).image;
    p.image.segments = 1;
    p.unit = t.peak * 1e-16;
    p.count = calloc(jacobian_places(&t), sizeof *p.count);
    if (!p.count) abort();
    for (int i = 0; i < GPU_FAST * GPU_SLOW; i++) sum_bar[i] = 1;
    /* after the last chunk a warp has only gifts of its own */
    each_of_block((struct hidden){"structure factors", run_subject, &subject, 1, "19"});
    free(p.count);
    device_run_drop(&t);
    return TAP_PASS;
}

/* ---- noise, and sums over tiles ---- */

int count_barriers(void)
{
    enum { WIDE = 40, HIGH = 8, TILES = 3, NUMBERS = SUM_LIST + 2 };
    static double photons[WIDE * HIGH], from[TILES * NUMBERS], to[NUMBERS], gradient[2];
    static unsigned short counts[WIDE * HIGH];
    struct phys_tally tally;
    float brightest;
    const struct phys_frame_tangent dot = {0};
    const struct gpu_count_parameters p = {.nslow = HIGH,
                                           .nfast = WIDE,
                                           .roi = {0, WIDE, 0, HIGH},
                                           .image = photons,
                                           .image_bits = 64,
                                           .image_stride = {WIDE, 1},
                                           .counts = counts,
                                           .counts_stride = {WIDE, 1},
                                           .scale = 1,
                                           .blocks = 1,
                                           .tally = &tally,
                                           .brightest = &brightest};
    const struct gpu_sum_parameters sums = {.from = from,
                                            .to = to,
                                            .count = TILES,
                                            .length = NUMBERS,
                                            .n = 1,
                                            .dot = &dot,
                                            .gradient = gradient};
    struct subject subject = {emulated_count, &p};

    each_of_block((struct hidden){"counts", run_subject, &subject, 1, ""});
    subject.block = emulated_brightest;
    each_of_block((struct hidden){"the brightest", run_subject, &subject, 1, ""});
    subject = (struct subject){emulated_double.sum, &sums};
    each_of_block((struct hidden){"sums over tiles", run_subject, &subject, 1, ""});
    return TAP_PASS;
}
