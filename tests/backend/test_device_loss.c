/*
 * test_device_loss.c - the value of a loss on a watched device (device/watched.h): it
 * is that of the host, no image is copied back, and the host takes over where the device
 * fails.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "device/devices.h"
#include "device/watched.h"
#include "gpu/launch/loss_launch.h"
#include "image/target.h"
#include "simulator.h"
#include "support/compiled.h"
#include "support/scenes.h"
#include "support/tap.h"

enum { MANY = DEVICES_MANY };

/* ---- targets ---- */

/* what was observed, of each type of number and with strides */
struct seen {
    double photons[MANY], wide[3 * MANY], weight[MANY];
    float single[MANY], single_weight[MANY];
    nb_array array[2]; /* observed, weight */
    double peak;
};

static struct seen seen;

enum type { WIDE, SINGLE, STRIDED, TYPES };

static const char *const type_names[TYPES] = {"float64", "float32", "strided"};

/* between -1 and 1, the same in every run */
static double draw(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)*seed / 2147483648.0 - 1;
}

/* around the image of the host in double, 0 where that is dark and in some other pixels */
static void observe(const nb_scene *scene)
{
    const size_t n = (size_t)scene->detector.nslow * (size_t)scene->detector.nfast;
    uint32_t seed = 31;

    devices_render(scene, NB_DEVICE_CPU, NB_PRECISION_DOUBLE, seen.photons);
    seen.peak = 0;
    for (size_t i = 0; i < n; i++) seen.peak = fmax(seen.peak, seen.photons[i]);
    for (size_t i = 0; i < n; i++) {
        const double photons = seen.photons[i], some = 1 + 0.3 * draw(&seed);
        const int off = scene->detector.mask && !scene->detector.mask[i];

        seen.single[i] = photons > 1e-3 * seen.peak && i % 5 ? (float)(photons * some) : 0;
        if (off) seen.single[i] = NAN;
        seen.single_weight[i] = i % 11 ? (float)(1 + 0.5 * draw(&seed)) : 0;
    }
}

/* as an image of one type, with weights or without */
static nb_target target_of(const nb_scene *scene, int kind, enum type type, int weighted)
{
    const int nslow = scene->detector.nslow, nfast = scene->detector.nfast;
    const int step = type == STRIDED ? 2 : 1, row = step * nfast + (type == STRIDED);
    nb_target target = {.kind = kind};

    for (int i = 0; i < nslow * nfast; i++) {
        seen.wide[i / nfast * row + i % nfast * step] = (double)seen.single[i];
        seen.weight[i] = (double)seen.single_weight[i];
    }
    seen.array[0] = type == SINGLE ? nb_array_f32(seen.single, nslow, nfast)
                                   : nb_array_f64(seen.wide, nslow, nfast);
    seen.array[1] = type == SINGLE ? nb_array_f32(seen.single_weight, nslow, nfast)
                                   : nb_array_f64(seen.weight, nslow, nfast);
    if (type == STRIDED) {
        seen.array[0].stride[0] = row;
        seen.array[0].stride[1] = step;
    }
    target.observed = seen.array;
    target.weight = weighted ? seen.array + 1 : NULL;
    target.sigma_readout = 0.02 * seen.peak;
    target.gain = 1.7;
    target.delta = 0.01 * seen.peak;
    target.saturation = 0.5 * seen.peak;
    return target;
}

/* ---- values ---- */

/* what a change of every pixel's photons by `photons` may do to a loss, and what the terms
 * of its sum come to */
static void bounds_of(const nb_scene *scene, const nb_target *target, double photons,
                      double *change, double *size)
{
    const int *roi = scene->detector.roi, whole = roi[1] == 0;
    const int nslow = scene->detector.nslow, nfast = scene->detector.nfast;

    *change = *size = 0;
    for (int i = 0; i < nslow * nfast; i++) {
        const int s = i / nfast, f = i % nfast;
        const double seen_here = (double)seen.single[i], at = seen.photons[i];
        const double weight = target->weight ? (double)seen.single_weight[i] : 1;
        const double less = fmax(0, at - photons);
        double here;

        if (!whole && (f < roi[0] || f >= roi[1] || s < roi[2] || s >= roi[3])) continue;
        if (scene->detector.mask && !scene->detector.mask[i]) continue;
        here = phys_loss(target_model(target), at, seen_here, weight).value;
        *size += fabs(here);
        *change +=
            fmax(fabs(phys_loss(target_model(target), at + photons, seen_here, weight).value
                      - here),
                 fabs(phys_loss(target_model(target), less, seen_here, weight).value
                      - here));
    }
}

static double value_of(nb_simulator *sim, const double *x, const nb_target *target)
{
    double value = NAN;

    if (nb_loss(sim, x, target, &value, NULL) != NB_OK)
        tap_check(0, "a loss: %s", nb_context_message(sim->ctx));
    return value;
}

static void check_kinds(const char *what, const nb_scene *scene, int precision)
{
    nb_context *host = devices_context(NB_DEVICE_CPU),
               *there = devices_context(NB_DEVICE_CUDA);
    nb_simulator *a = devices_make(host, scene, "", NB_PRECISION_DOUBLE);
    nb_simulator *b = devices_make(there, scene, "", precision);

    observe(scene);
    for (int way = 0; way < 4 * TYPES; way++) {
        const enum type type = (enum type)(way / 4);
        const nb_target target = target_of(scene, way % 4, type, way % 3 != 1);
        const uint64_t launches = watched.launches[GPU_LOSS];
        double change, size, allowed, expected, found;

        /* of the image's peak; all photons may be off by it, all to the same side */
        bounds_of(scene, &target, 1e-5 * seen.peak, &change, &size);
        allowed = precision == NB_PRECISION_SINGLE ? change : 1e-12 * size;
        expected = value_of(a, NULL, &target);
        found = value_of(b, NULL, &target);
        tap_check(fabs(found - expected) <= allowed
                      && watched.launches[GPU_LOSS] > launches,
                  "%s, kind %d, %s%s: %.17g expected %.17g, off %.1e of %.1e allowed", what,
                  target.kind, type_names[type], target.weight ? ", weighted" : "", found,
                  expected, fabs(found - expected), allowed);
    }
    nb_simulator_free(a);
    devices_free(host, b);
    nb_context_free(there);
}

/* a scene of many tiles, every other time with a region and a mask */
static nb_scene scene_of(int windowed)
{
    static uint8_t mask[MANY];
    const int roi[4] = {13, 58, 21, 90};
    nb_scene scene = devices_many_tiles();

    for (int i = 0; i < MANY; i++) mask[i] = i % 7 != 3;
    if (!windowed) return scene;
    memcpy(scene.detector.roi, roi, sizeof roi);
    scene.detector.mask = mask;
    return scene;
}

static int values(void)
{
    watched_reset();
    for (int i = 0; i < 4; i++) {
        nb_scene scene = scene_of(i % 2);

        check_kinds(i % 2 ? "region and mask" : "all", &scene,
                    i < 2 ? NB_PRECISION_DOUBLE : NB_PRECISION_SINGLE);
    }
    tap_check(devices_balanced(), "all memory was given back");
    return TAP_PASS;
}

/* float that lost the image: it is made again in double */
static int lost_by_float(void)
{
    const nb_scene scene = devices_tails();
    nb_context *ctx;
    nb_simulator *single, *twice;
    nb_target target;
    double a, b;

    watched_reset();
    observe(&scene);
    target = target_of(&scene, NB_LOSS_GAUSS, WIDE, 0);
    single = devices_open(&scene, "", NB_PRECISION_SINGLE, &ctx);
    twice = devices_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
    a = value_of(single, NULL, &target);
    tap_check(watched.launches[GPU_LOSS] == 2, "%llu launches expected 2",
              (unsigned long long)watched.launches[GPU_LOSS]);
    b = value_of(twice, NULL, &target);
    tap_check(a == b, "%.17g expected %.17g", a, b);
    nb_simulator_free(single);
    devices_close(ctx, twice);
    return TAP_PASS;
}

/* bands, and the order of blocks, change no bit */
static int same_bits(void)
{
    const nb_scene scene = scene_of(1);
    double value[3];
    nb_target target;

    watched_reset();
    observe(&scene);
    target = target_of(&scene, NB_LOSS_READOUT, SINGLE, 1);
    for (int i = 0; i < 3; i++) {
        nb_context *ctx;
        nb_simulator *sim;

        watched_reset();
        watched.memory = i == 0 ? 0 : 250000;
        sim = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
        value[i] = value_of(sim, NULL, &target);
        tap_check(i == 0 ? watched.launches[GPU_LOSS] == 1 : watched.launches[GPU_LOSS] > 1,
                  "%llu bands, %.17g", (unsigned long long)watched.launches[GPU_LOSS],
                  value[i]);
        devices_free(ctx, sim);
    }
    tap_check(value[0] == value[1] && value[0] == value[2], "the same bits");
    watched_reset();
    return TAP_PASS;
}

/* ---- what it costs ---- */

/* bytes that come back are two numbers, whatever the detector; a hundred calls record once
 */
static int numbers_alone(void)
{
    enum { CALLS = 15 };
    const nb_scene scenes[] = {scenes_base(), scene_of(0)};

    for (int i = 0; i < 2; i++) {
        const nb_scene *scene = scenes + i;
        nb_context *ctx;
        nb_simulator *sim;
        nb_compile_stats stats;
        nb_target target;
        double first, x;
        int same = 0;

        watched_reset();
        observe(scene);
        target = target_of(scene, NB_LOSS_POISSON, WIDE, 0);
        sim = devices_open(scene, "fluence", NB_PRECISION_DOUBLE, &ctx);
        first = value_of(sim, NULL, &target);
        x = sim->scene.beam.fluence;
        watched.downloads = watched.downloaded = watched.uploads = 0;
        for (int k = 0; k < CALLS; k++) {
            x *= k % 2 ? 1 / 1.25 : 1.25;
            same += value_of(sim, &x, &target) == first;
        }
        tap_check(watched.downloads == CALLS && watched.downloaded == CALLS * 16
                      && watched.uploads == CALLS,
                  "%d pixels, %d calls: %llu downloads of %llu bytes, %llu uploads",
                  scene->detector.nslow * scene->detector.nfast, (int)CALLS,
                  (unsigned long long)watched.downloads,
                  (unsigned long long)watched.downloaded,
                  (unsigned long long)watched.uploads);
        nb_simulator_stats(sim, &stats);
        tap_check(stats.captures == 1 && stats.replays == 1 + CALLS && same < CALLS,
                  "%llu captured (1), %llu replayed (%d)",
                  (unsigned long long)stats.captures, (unsigned long long)stats.replays,
                  1 + (int)CALLS);
        devices_close(ctx, sim);
    }
    return TAP_PASS;
}

/* what was observed may lie on the device already: it is used where it lies */
static int observed_there(void)
{
    const nb_scene scene = scene_of(1);
    nb_context *ctx;
    nb_simulator *sim;
    nb_target target;
    gpu_address address;
    double expected, found;

    watched_reset();
    observe(&scene);
    target = target_of(&scene, NB_LOSS_HUBER, SINGLE, 0);
    sim = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
    expected = value_of(sim, NULL, &target);
    if (gpu_watched.allocate(ctx, NULL, sizeof seen.single, &address) != NB_OK
        || gpu_watched.upload(ctx, NULL, address, seen.single, sizeof seen.single) != NB_OK)
        abort();
    {
        struct gpu_loss_job loss = {.model = target_model(&target)};
        const struct phys_frame *frame;
        nb_scene at;
        struct job job;
        uint64_t uploaded = watched.uploaded;

        loss.observed.device = address;
        loss.observed.bits = 32;
        if (simulator_frame(sim, NULL, &at, &frame) != NB_OK) abort();
        job = simulator_job(sim, &at, frame, NULL);
        if (gpu_loss(&sim->progress, &sim->device.scene, &job, 0, &loss, &found) != NB_OK)
            abort();
        uploaded = watched.uploaded - uploaded;
        tap_check(found == expected && uploaded < sizeof seen.single,
                  "%.17g expected %.17g, %llu bytes sent", found, expected,
                  (unsigned long long)uploaded);
    }
    gpu_watched.release(NULL, address);
    devices_close(ctx, sim);
    return TAP_PASS;
}

/* ---- progress ---- */

static int count_calls(void *user, double fraction)
{
    (void)fraction;
    ++*(int *)user;
    return 0;
}

/* A loss whose image float lost is computed again in double, and its strips are told of and
 * may be stopped as those of the first time. */
static int told_again(void)
{
    static double dark[64 * 64];
    nb_scene scene = devices_tails();
    nb_array seen_dark = nb_array_f64(dark, 64, 64);
    const nb_target target = {.kind = NB_LOSS_GAUSS, .observed = &seen_dark};
    int calls = 0;
    const nb_context_options options = {.threads = 1,
                                        .device = NB_DEVICE_CUDA,
                                        .progress = count_calls,
                                        .user = &calls};
    nb_context *ctx;
    nb_simulator *sim;
    double value;

    scene.detector.nslow = scene.detector.nfast = 64;
    watched_reset();
    watched.memory = 250000; /* strips */
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    ctx->driver = &gpu_watched;
    sim = devices_make(ctx, &scene, "", NB_PRECISION_SINGLE);
    value = value_of(sim, NULL, &target);
    /* the last strip of each run is told of with the end, once */
    tap_check(value > 0 && watched.launches[GPU_LOSS] >= 4
                  && calls == (int)watched.launches[GPU_LOSS] - 1,
              "measured %d calls of the handler for %d launches, expected one less", calls,
              (int)watched.launches[GPU_LOSS]);
    devices_free(ctx, sim);
    watched_reset();
    return TAP_PASS;
}

/* ---- the host instead ---- */

/* whatever call of the driver fails, the value is the host's to the bit */
static int any_call_fails(void)
{
    const nb_scene scene = scene_of(0);
    nb_target target;
    double host = 0;
    uint64_t n = 0;
    int failed = 1, wrong = 0;

    watched_reset();
    observe(&scene);
    target = target_of(&scene, NB_LOSS_POISSON, STRIDED, 1);
    while (failed) {
        nb_context *ctx;
        nb_simulator *sim;
        nb_compile_stats stats;
        double value;

        watched_reset();
        watched.fail_at = n++;
        devices_warnings = 0;
        ctx = devices_context(n == 1 ? NB_DEVICE_CPU : NB_DEVICE_CUDA);
        sim = devices_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
        value = value_of(sim, NULL, &target);
        if (n == 1) host = value;
        failed = n == 1 || watched.calls >= n - 1;
        nb_simulator_stats(sim, &stats);
        if (failed && n > 1)
            wrong += value != host || devices_warnings != 1 || stats.fallbacks != 1;
        devices_free(ctx, sim);
        wrong += !devices_balanced();
    }
    tap_check(wrong == 0 && n > 12,
              "%llu calls fail, %d of them without the host's value and one warning",
              (unsigned long long)n - 2, wrong);
    watched_reset();
    return TAP_PASS;
}

/* the words of a call that fails */
static void words_of(int device, const nb_scene *scene, const nb_target *target,
                     nb_status *status, char words[512])
{
    nb_context *ctx = devices_context(device);
    nb_simulator *sim = devices_make(ctx, scene, "", NB_PRECISION_DOUBLE);
    double value;

    *status = nb_loss(sim, NULL, target, &value, NULL);
    (void)snprintf(words, 512, "%.500s", nb_context_message(ctx));
    devices_free(ctx, sim);
}

/* a loss that is infinite, and one that is not a number: the words are those of the host */
static int no_number(void)
{
    nb_scene scene = scene_of(0);

    watched_reset();
    for (int i = 0; i < 2; i++) {
        char host[512], there[512];
        nb_status a, b;
        nb_target target;

        scene.crystal.shape =
            i ? NB_SHAPE_SQUARE : NB_SHAPE_TOPHAT; /* a tophat has dark pixels */
        observe(&scene);
        for (int k = 0; k < MANY; k++) seen.single[k] = k == 77 && i ? NAN : 1;
        target = target_of(&scene, i ? NB_LOSS_GAUSS : NB_LOSS_POISSON, SINGLE, 0);
        words_of(NB_DEVICE_CPU, &scene, &target, &a, host);
        words_of(NB_DEVICE_CUDA, &scene, &target, &b, there);
        tap_check(a == (i ? NB_ERR_ARGUMENT : NB_ERR_DOMAIN) && b == a
                      && strcmp(host, there) == 0,
                  "'%s' expected '%s'", there, host);
    }
    tap_check(watched.launches[GPU_LOSS] == 2 && devices_balanced(),
              "computed there, all memory was given back");
    return TAP_PASS;
}

static int stop_at_once(void *user, double fraction)
{
    (void)user;
    (void)fraction;
    return 1;
}

/* stopped; and behind a point spread, where the host compares */
static int stopped_or_spread(void)
{
    nb_scene scene = scene_of(0);
    const nb_context_options options = {.threads = 1,
                                        .device = NB_DEVICE_CUDA,
                                        .progress = stop_at_once};
    nb_context *ctx;
    nb_simulator *sim;
    nb_target target;
    nb_status status;
    double value;

    watched_reset();
    observe(&scene);
    target = target_of(&scene, NB_LOSS_GAUSS, WIDE, 0);
    watched.memory = 250000;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    ctx->driver = &gpu_watched;
    sim = devices_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
    status = nb_loss(sim, NULL, &target, &value, NULL);
    tap_check(status == NB_ERR_CANCELLED, "stopped: %s", nb_status_text(status));
    devices_free(ctx, sim);
    watched_reset();
#ifdef NANOBRAG_FFTW
    scene.psf.kind = NB_PSF_GAUSS;
    scene.psf.fwhm = 0.2;
    sim = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
    value = value_of(sim, NULL, &target);
    tap_check(watched.launches[GPU_LOSS] == 0 && watched.launches[GPU_FINISH] == 1
                  && isfinite(value),
              "behind a point spread: an image, compared on the host");
    devices_free(ctx, sim);
#endif
    tap_check(devices_balanced(), "all memory was given back");
    return TAP_PASS;
}

static const struct tap_case cases[] = {
    {"values", values},
    {"lost_by_float", lost_by_float},
    {"same_bits", same_bits},
    {"numbers_alone", numbers_alone},
    {"observed_there", observed_there},
    {"any_call_fails", any_call_fails},
    {"no_number", no_number},
    {"stopped_or_spread", stopped_or_spread},
    {"told_again", told_again},
};

int main(int argc, char **argv)
{
    compiled_environment();
    unsetenv("NANOBRAG_DEVICE");
    return devices_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
