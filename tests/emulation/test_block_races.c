/*
 * test_block_races.c - the kernels with 128 threads of the host a block, under the thread
 * sanitizer: no thread reads or writes what another writes without a barrier between them,
 * and the results are those of one thread. That it would be found is tested too
 * (block_barriers.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "emulation/block_barriers.h"
#include "emulation/emulated.h"
#include "emulation/gpu_runs.h"
#include "emulation/jacobian_runs.h"
#include "emulation/raced_kernels.h"
#include "gpu/text/count_parameters.h"
#include "image/target.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"

enum { FAST = 20, SLOW = 11, PIXELS = FAST * SLOW }; /* four tiles, three of them cut */

static const char *const precisions[2] = {"double", "float"};

static nb_scene small(int shape, int interpolate)
{
    nb_scene scene = scenes_base();

    scene.detector.nfast = FAST;
    scene.detector.nslow = SLOW;
    scene.crystal.shape = shape;
    scene.crystal.hkl = scenes_reflections();
    scene.crystal.interpolate = interpolate;
    return scene;
}

static void no_races(const char *name, int single)
{
    const int races = block_races();

    tap_check(races == 0 && block_steps() > 0, "%s in %s: %d races, %d steps of a block",
              name, precisions[single], races, block_steps());
}

/* ---- images and losses ---- */

static void image(const char *name, const nb_scene *scene)
{
    static double truth[PIXELS], photons[PIXELS];
    struct gpu_case *c = gpu_case_open(scene);
    const int reached = gpu_case_reference(c, truth);

    for (int way = 0; reached && way < 4; way++) {
        const struct gpu_way how = {.single = way / 2, .parts = 1 + way % 2};

        if (gpu_case_run(c, &how, photons))
            tap_close(name, renders_compare(photons, truth, PIXELS).worst, 0,
                      how.single ? 1e-5 : 1e-9);
        no_races(name, how.single);
    }
    gpu_case_close(c);
}

static int images(void)
{
    static const char *const shapes[] = {[NB_SQUARE] = "square",
                                         [NB_ROUND] = "round",
                                         [NB_GAUSS] = "gauss",
                                         [NB_TOPHAT] = "tophat"};

    for (int shape = NB_SQUARE; shape <= NB_TOPHAT; shape++) {
        const nb_scene scene = small(shape, NB_NEAREST);

        image(shapes[shape], &scene);
    }
    return TAP_PASS;
}

/* what the others do not have: constant and interpolated F, several chunks of pairs, of
 * which many add nothing, and sources with factors of their own */
static int more_images(void)
{
    nb_scene constant = small(NB_ROUND, NB_NEAREST), many = small(NB_GAUSS, NB_NEAREST);
    const nb_scene tricubic = small(NB_SQUARE, NB_TRICUBIC);

    constant.crystal.hkl = NULL;
    constant.crystal.default_f = 100;
    image("constant", &constant);
    image("tricubic", &tricubic);
    many.crystal.ndomains = 90;
    many.beam.dispersion = 0.02;
    many.beam.ndispersion = 2;
    many.dmin = 4;
    image("several chunks", &many);
    return TAP_PASS;
}

/* the loss of photons that the same kernels made, and what is compared with them */
static void loss(struct gpu_case *c, const struct gpu_way *way,
                 const struct gpu_target *target, const double *photons)
{
    double truth = 0, size = 0, most = 0, value, brightest;

    for (int i = 0; i < PIXELS; i++) {
        const struct phys_loss one =
            phys_loss(target->model, photons[i], target->observed.wide[i],
                      target->weight.wide[i]);

        truth += one.value;
        size += fabs(one.value);
        most = fmax(most, photons[i]);
    }
    if (!gpu_case_loss(c, way, target, &value, &brightest)) return;
    no_races("loss", way->single);
    tap_check(fabs(value - truth) <= 1e-13 * size, "loss %d: %g, allowed %g",
              target->model.kind, fabs(value - truth), 1e-13 * size);
    tap_close("brightest", brightest, most, 0);
}

static int losses(void)
{
    static double photons[PIXELS], observed[PIXELS], weight[PIXELS];
    const nb_scene scene = small(NB_SQUARE, NB_NEAREST);
    struct gpu_case *c = gpu_case_open(&scene);

    for (int single = 0; single < 2; single++) {
        const struct gpu_way way = {.single = single, .parts = 1};
        double peak = 0;

        if (!gpu_case_run(c, &way, photons)) continue;
        for (int i = 0; i < PIXELS; i++) peak = fmax(peak, photons[i]);
        for (int i = 0; i < PIXELS; i++) {
            observed[i] = photons[i] * (0.7 + 0.1 * (i % 7));
            weight[i] = i % 11 ? 1 + 0.1 * (i % 3) : 0;
        }
        for (int kind = NB_GAUSSIAN; kind <= NB_CAUCHY; kind++) {
            const nb_target target = {.kind = kind,
                                      .sigma_readout = 0.02 * peak,
                                      .gain = 1.7,
                                      .delta = 0.01 * peak,
                                      .saturation = 0.3 * peak};
            const struct gpu_target given = {target_model(&target),
                                             {.wide = observed},
                                             {.wide = weight}};

            loss(c, &way, &given, photons);
        }
    }
    gpu_case_close(c);
    return TAP_PASS;
}

/* ---- derivatives ---- */

static double worst_of(const double *a, const double *b, size_t n)
{
    double worst = 0, most = 0;

    for (size_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(a[i] - b[i]));
        most = fmax(most, fabs(b[i]));
    }
    return worst / most;
}

/* The totals of an end, beside those of the same kernels with one thread. */
static void totals(const struct device_run *t, struct jacobian_way way, int single,
                   const struct gpu_derivatives_parameters *end)
{
    enum { MOST = 1 + TANGENTS_MOST + TANGENTS_MOST * (TANGENTS_MOST + 1) / 2 };
    static double out[2][MOST];
    const int normal = end->end == REDUCE_NORMAL;
    const int n = normal ? jacobian_normal_length(way.n) - 1 : 1 + way.n;

    for (int raced = 0; raced < 2; raced++) {
        struct gpu_derivatives_parameters p;

        if (raced)
            way.kernels = single ? &raced_single : &raced_double;
        else
            way.kernels = single ? &derivative_kernels_single : &derivative_kernels_double;
        p = jacobian_parameters(t, &way);
        p.end = end->end;
        p.cotangent = end->cotangent;
        p.target = end->target;
        jacobian_totals(t, &way, &p, out[raced]);
    }
    no_races("totals", single);
    tap_close("totals", worst_of(out[1], out[0], (size_t)n), 0, single ? 1e-5 : 1e-9);
}

static void derivatives_of(const struct device_run *t, int single, int ends)
{
    struct jacobian_way way = {.kernels = single ? &raced_single : &raced_double,
                               .kind = JACOBIAN_OF_FEW,
                               .parts = 1 + single};
    struct gpu_derivatives_parameters end = {.end = REDUCE_COTANGENT,
                                             .cotangent = {.wide = t->photons}};
    double *photons = calloc(t->pixels, sizeof *photons), *change;

    (void)jacobian_next(t, &way);
    change = calloc((size_t)way.n * t->pixels, sizeof *change);
    if (!photons || !change) abort();
    jacobian_changes(t, &way, photons, change);
    no_races("changes", single);
    tap_close("photons", worst_of(photons, t->photons, t->pixels), 0, single ? 1e-5 : 1e-9);
    totals(t, way, single, &end);
    for (int kind = NB_GAUSSIAN; ends && kind <= NB_CAUCHY; kind++) {
        const nb_target target = {.kind = kind,
                                  .sigma_readout = 0.02 * t->peak,
                                  .gain = 1.7,
                                  .delta = 0.1 * t->peak,
                                  .saturation = 0.3 * t->peak};

        for (size_t i = 0; i < t->pixels; i++)
            photons[i] = t->photons[i] * (0.7 + 0.1 * (double)(i % 7));
        end.target = (struct gpu_target){target_model(&target), {.wide = photons}, {0}};
        end.end = kind % 2 ? REDUCE_LOSS : REDUCE_NORMAL;
        totals(t, way, single, &end);
    }
    free(photons);
    free(change);
}

static int derivatives(void)
{
    for (int shape = NB_SQUARE; shape <= NB_TOPHAT; shape++) {
        const nb_scene scene = small(shape, NB_NEAREST);
        struct device_run t;

        device_run_make(&scene, 1, &t);
        for (int single = 0; single < 2; single++)
            derivatives_of(&t, single, shape == NB_SQUARE);
        device_run_drop(&t);
    }
    return TAP_PASS;
}

static void factors(const char *name, int shape, int interpolate)
{
    const nb_scene scene = small(shape, interpolate);
    struct device_run t;
    double *f_bar, *truth;

    device_run_make(&scene, 1, &t);
    truth = calloc(jacobian_places(&t), sizeof *truth);
    if (!truth) abort();
    jacobian_f_truth(&t, t.photons, truth);
    for (int single = 0; single < 2; single++) {
        const struct jacobian_way way = {.kernels = single ? &raced_single : &raced_double,
                                         .kind = JACOBIAN_OF_FEW,
                                         .parts = 1};

        f_bar = calloc(jacobian_places(&t), sizeof *f_bar);
        if (!f_bar) abort();
        jacobian_f(&t, &way, t.photons, f_bar);
        no_races(name, single);
        tap_close(name, worst_of(f_bar, truth, jacobian_places(&t)), 0,
                  single ? 1e-5 : 1e-6);
        free(f_bar);
    }
    free(truth);
    device_run_drop(&t);
}

static int structure_factors(void)
{
    factors("nearest", NB_SQUARE, NB_NEAREST);
    factors("tophat", NB_TOPHAT, NB_NEAREST);
    factors("interpolated", NB_SQUARE, NB_TRICUBIC);
    return TAP_PASS;
}

/* ---- noise ---- */

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
    no_races("counts", 0);
    for (int i = 0; i < PIXELS; i++) sum += counts[i];
    /* a Poisson sum of 120450, whose deviation is 347 */
    tap_close("sum of counts", (double)sum, 5.0 * PIXELS * (PIXELS - 1) / 2, 6 * 347);
    for (int block = 0; block < p.blocks; block++) emulated_brightest(&p, block);
    no_races("the brightest", 0);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"images", images},
        {"more_images", more_images},
        {"losses", losses},
        {"derivatives", derivatives},
        {"structure_factors", structure_factors},
        {"noise", noise},
        {"wrong_warps_found", wrong_warps_found},
        {"image_barriers", image_barriers},
        {"derivative_barriers", derivative_barriers},
        {"factor_barriers", factor_barriers},
        {"count_barriers", count_barriers},
    };
    const int status = tap_main(argc, argv, cases, sizeof cases / sizeof *cases);

    (void)fflush(stdout);
    _Exit(status); /* the sanitizer's own would tell of races that were meant to be */
}
