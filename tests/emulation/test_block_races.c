/*
 * test_block_races.c - the kernels with 128 threads of the host a block, under the thread
 * sanitizer: no thread reads or writes what another writes without a barrier between them,
 * and the results are those of one thread. A barrier that is missing is found, and a step
 * of warps where one of the block is needed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "emulation/emulated.h"
#include "emulation/gpu_runs.h"
#include "emulation/jacobian_runs.h"
#include "emulation/raced_kernels.h"
#include "gpu/text/count_parameters.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"

/* of block_threads.h, whose macros are for kernels */
extern int block_lost_step;
int block_steps(void);
int block_races(void);

enum { FAST = 20, SLOW = 11, PIXELS = FAST * SLOW }; /* four tiles, three of them cut */

static nb_scene small(enum nb_shape shape, enum nb_interpolation interpolate)
{
    nb_scene scene = scenes_base();

    scene.detector.nfast = FAST;
    scene.detector.nslow = SLOW;
    scene.crystal.shape = shape;
    scene.crystal.hkl = scenes_reflections();
    scene.crystal.interpolate = interpolate;
    return scene;
}

static void no_races(const char *name)
{
    const int races = block_races();

    tap_check(races == 0 && block_steps() > 0, "%s: %d races, %d steps of a block", name,
              races, block_steps());
}

/* ---- no races ---- */

static void image(const char *name, const nb_scene *scene)
{
    static double truth[PIXELS], photons[PIXELS];
    struct gpu_case *c = gpu_case_open(scene);

    for (int parts = 1; parts <= 2; parts++) {
        const struct gpu_way way = {.parts = parts};

        if (gpu_case_reference(c, truth) && gpu_case_run(c, &way, photons))
            tap_close(name, renders_compare(photons, truth, PIXELS).worst, 0, 1e-9);
        no_races(name);
    }
    gpu_case_close(c);
}

static int images(void)
{
    const nb_scene square = small(NB_SQUARE, NB_NEAREST);
    nb_scene gauss = small(NB_GAUSS, NB_NEAREST);

    gauss.crystal.ndomains = 140; /* several chunks, with pairs that add nothing */
    image("square", &square);
    image("gauss", &gauss);
    return TAP_PASS;
}

static double worst_of(const double *a, const double *b, size_t n)
{
    double worst = 0, most = 0;

    for (size_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(a[i] - b[i]));
        most = fmax(most, fabs(b[i]));
    }
    return worst / most;
}

static int derivatives(void)
{
    const nb_scene scene = small(NB_SQUARE, NB_NEAREST);
    struct jacobian_way way = {.kernels = &raced_jacobian,
                               .kind = JACOBIAN_OF_FEW,
                               .parts = 1};
    struct device_run t;
    struct gpu_derivatives_parameters p;
    double totals[1 + TANGENTS_MOST], truth[1 + TANGENTS_MOST], *photons, *change;

    device_run_make(&scene, 1, &t);
    (void)jacobian_next(&t, &way);
    photons = calloc(t.pixels, sizeof *photons);
    change = calloc((size_t)way.n * t.pixels, sizeof *change);
    if (!photons || !change) abort();
    jacobian_changes(&t, &way, photons, change);
    no_races("changes");
    tap_close("photons", worst_of(photons, t.photons, t.pixels), 0, 1e-9);
    p = jacobian_parameters(&t, &way);
    p.end = REDUCE_COTANGENT;
    p.cotangent.wide = t.photons;
    jacobian_totals(&t, &way, &p, totals);
    no_races("totals");
    way.kernels = &derivative_kernels_double;
    p = jacobian_parameters(&t, &way);
    p.end = REDUCE_COTANGENT;
    p.cotangent.wide = t.photons;
    jacobian_totals(&t, &way, &p, truth);
    tap_close("totals", worst_of(totals, truth, 1 + (size_t)way.n), 0, 1e-9);
    free(photons);
    free(change);
    device_run_drop(&t);
    return TAP_PASS;
}

static void factors(const char *name, enum nb_interpolation interpolate)
{
    const nb_scene scene = small(NB_SQUARE, interpolate);
    const struct jacobian_way way = {.kernels = &raced_jacobian,
                                     .kind = JACOBIAN_OF_FEW,
                                     .parts = 1};
    struct device_run t;
    double *f_bar, *truth;

    device_run_make(&scene, 1, &t);
    f_bar = calloc(jacobian_places(&t), sizeof *f_bar);
    truth = calloc(jacobian_places(&t), sizeof *truth);
    if (!f_bar || !truth) abort();
    jacobian_f(&t, &way, t.photons, f_bar);
    no_races(name);
    jacobian_f_truth(&t, t.photons, truth);
    tap_close(name, worst_of(f_bar, truth, jacobian_places(&t)), 0, 1e-6);
    free(f_bar);
    free(truth);
    device_run_drop(&t);
}

static int structure_factors(void)
{
    factors("nearest", NB_NEAREST);
    factors("interpolated", NB_TRICUBIC);
    return TAP_PASS;
}

static int noise(void)
{
    static double photons[PIXELS];
    unsigned short counts[PIXELS];
    struct phys_tally tally[2];
    float brightest[2];
    struct gpu_count_parameters p = {.nslow = SLOW,
                                     .nfast = FAST,
                                     .roi = {0, FAST, 0, SLOW},
                                     .image = photons,
                                     .image_bits = 64,
                                     .image_stride = {FAST, 1},
                                     .counts = counts,
                                     .counts_stride = {FAST, 1},
                                     .noise = 1,
                                     .scale = 1,
                                     .seed = 3,
                                     .blocks = 2,
                                     .tally = tally,
                                     .brightest = brightest};
    long long sum = 0;

    for (int i = 0; i < PIXELS; i++) photons[i] = 5 * i;
    for (int block = 0; block < p.blocks; block++) emulated_count(&p, block);
    no_races("counts");
    for (int i = 0; i < PIXELS; i++) sum += counts[i];
    /* a Poisson sum of 120450, whose deviation is 347 */
    tap_close("sum of counts", (double)sum, 5.0 * PIXELS * (PIXELS - 1) / 2, 6 * 347);
    for (int block = 0; block < p.blocks; block++) emulated_brightest(&p, block);
    no_races("the brightest");
    return TAP_PASS;
}

/* ---- whether they would be found ---- */

static void one_image(void)
{
    static double photons[PIXELS];
    const struct gpu_way way = {.parts = 1};
    nb_scene scene = small(NB_SQUARE, NB_NEAREST);
    struct gpu_case *c;

    scene.detector.nfast = 16; /* one tile */
    scene.detector.nslow = 8;
    scene.crystal.ndomains = 2;
    c = gpu_case_open(&scene);
    (void)gpu_case_run(c, &way, photons);
    gpu_case_close(c);
}

static int wrong_steps_found(void)
{
    int races;

    (void)raced_right_warp();
    no_races("warps, then the block");
    (void)raced_wrong_warp();
    races = block_races();
    tap_check(races > 0, "what another warp writes in a step of warps: %d races", races);
    /* After the fill and the threads' own pixels: the layer, and three steps of a chunk. */
    for (block_lost_step = 3; block_lost_step <= 6; block_lost_step++) {
        one_image();
        races = block_races();
        tap_check(races > 0, "step %d without its barrier: %d races", block_lost_step,
                  races);
    }
    block_lost_step = 0;
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"images", images},
        {"derivatives", derivatives},
        {"structure_factors", structure_factors},
        {"noise", noise},
        {"wrong_steps_found", wrong_steps_found},
    };

    const int status = tap_main(argc, argv, cases, sizeof cases / sizeof *cases);

    (void)fflush(stdout);
    _Exit(status); /* the sanitizer's own would tell of races that were meant to be */
}
