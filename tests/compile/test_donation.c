/*
 * test_donation.c - donated arrays: an output that fits overwrites them, they are refused
 * afterwards, they stay valid if nothing could use them, and borrowed memory is never
 * donated.
 *
 * SPDX-License-Identifier: MIT
 */
#define _DEFAULT_SOURCE // NOLINT(readability-identifier-naming)
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "simulator.h"
#include "support/compiled.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { NSLOW = 37, NFAST = 40, PIXELS = NSLOW * NFAST };

static int warnings;
static char said[512];

static void on_log(void *user, int level, const char *topic, const char *line)
{
    (void)user;
    if (level != NB_LOG_WARNING || strcmp(topic, "donation") != 0) return;
    warnings++;
    (void)strncpy(said, line, sizeof said - 1);
}

static nb_context *context_of(int threads)
{
    nb_context_options options = {0};
    nb_context *ctx;

    options.threads = threads;
    options.log = on_log;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    return ctx;
}

static nb_simulator *make(nb_context *ctx, const nb_scene *scene, const char *names)
{
    nb_simulator *sim;

    if (nb_simulator_create(ctx, scene, names, NULL, &sim) == NB_OK) return sim;
    tap_check(0, "no simulator: %s", nb_context_message(ctx));
    exit(1);
}

/* photons enough for counts, in either type */
static nb_array image_of(nb_simulator *sim, int bits, void *memory)
{
    nb_array image = bits == 32 ? nb_array_f32(memory, NSLOW, NFAST)
                                : nb_array_f64(memory, NSLOW, NFAST);

    if (nb_forward(sim, NULL, &image) != NB_OK) exit(1);
    return image;
}

static nb_scene bright(int roi)
{
    nb_scene scene = scenes_base();
    static const int part[4] = {5, 23, 3,
                                30}; /* its counts lie over pixels still to come */

    scene.crystal.scale = 1e3;
    if (roi) memcpy(scene.detector.roi, part, sizeof part);
    return scene;
}

/* one way to make counts, apart and in place */
static void check_in_place(nb_simulator *sim, const nb_digitizer *base, int bits,
                           const char *what)
{
    static double memory[PIXELS];
    static uint16_t apart[PIXELS];
    double photons[2] = {0};
    int64_t overloads[2] = {0};
    nb_digitizer how = *base;
    nb_array image = image_of(sim, bits, memory),
             counts = nb_array_u16(apart, NSLOW, NFAST);
    nb_array inside = nb_array_u16((uint16_t *)(void *)memory, NSLOW, NFAST);
    nb_status status;

    how.photons = photons;
    how.overloads = overloads;
    status = nb_digitize(sim, &how, &image, &counts);
    how.photons = photons + 1;
    how.overloads = overloads + 1;
    image.flags = NB_DONATE;
    if (status == NB_OK) status = nb_digitize(sim, &how, &image, &inside);
    tap_check(status == NB_OK && memcmp(apart, memory, sizeof apart) == 0
                  && image.flags == NB_DONATED
                  && memcmp((char *)photons, (char *)(photons + 1), sizeof *photons) == 0
                  && overloads[0] == overloads[1],
              "%s, float%d: the same counts in place", what, bits);
}

static int in_place(void)
{
    static const nb_digitizer ways[] = {
        {.scale = 1, .offset = 40},
        {.scale = 0, .offset = 10},
        {.noise = 1, .offset = 40, .seed = 77},
    };

    for (int roi = 0; roi < 2; roi++)
        for (int quirk = 0; quirk < 2; quirk++)
            for (int threads = 1; threads <= 4; threads += 3)
                for (size_t i = 0; i < 2 * COUNT(ways); i++) {
                    nb_scene scene = bright(roi);
                    nb_context *ctx = context_of(threads);
                    nb_simulator *sim;
                    char what[96];

                    if (quirk) scene.quirks = NB_QUIRK_NOISE;
                    sim = make(ctx, &scene, NULL);
                    (void)snprintf(what, sizeof what, "way %zu%s%s, %d threads", i / 2,
                                   roi ? ", ROI" : "", quirk ? ", nanoBragg's noise" : "",
                                   threads);
                    check_in_place(sim, &ways[i / 2], i % 2 ? 32 : 64, what);
                    nb_simulator_free(sim);
                    nb_context_free(ctx);
                }
    return TAP_PASS;
}

/* many rows, so that threads share them: the same counts for any number of threads */
static int in_place_threads(void)
{
    enum { SIDE = 1100 }; /* rounded counts are shared from a million pixels on */
    nb_scene scene = bright(0);
    nb_digitizer how = {.scale = 1, .seed = 5};
    float *memory = malloc((size_t)SIDE * SIDE * sizeof *memory);
    uint16_t *apart = malloc((size_t)SIDE * SIDE * sizeof *apart);

    if (!memory || !apart) abort();
    scene.detector.nslow = scene.detector.nfast = SIDE;
    scene.detector.pixel = 0.05;
    for (int threads = 1; threads <= 4; threads++) {
        nb_context *ctx = context_of(threads);
        nb_simulator *sim = make(ctx, &scene, NULL);
        nb_array image = nb_array_f32(memory, SIDE, SIDE);
        nb_array counts = nb_array_u16(apart, SIDE, SIDE);
        nb_array inside = nb_array_u16((uint16_t *)(void *)memory, SIDE, SIDE);
        nb_status status = nb_forward(sim, NULL, &image);

        how.noise = threads % 2;
        if (status == NB_OK) status = nb_digitize(sim, &how, &image, &counts);
        image.flags = NB_DONATE;
        if (status == NB_OK) status = nb_digitize(sim, &how, &image, &inside);
        tap_check(status == NB_OK
                      && memcmp(apart, memory, (size_t)SIDE * SIDE * sizeof *apart) == 0,
                  "%d x %d pixels on %d threads, noise %d", SIDE, SIDE, threads, how.noise);
        nb_simulator_free(sim);
        nb_context_free(ctx);
    }
    free(memory);
    free(apart);
    return TAP_PASS;
}

/* what was given away is refused by every call, by its name */
static int refused_afterwards(void)
{
    static double memory[PIXELS], other[PIXELS];
    const nb_scene scene = bright(0);
    const nb_digitizer how = {.scale = 1};
    nb_context *ctx = context_of(1);
    nb_simulator *sim = make(ctx, &scene, "misset");
    nb_array image = image_of(sim, 64, memory), fresh = nb_array_f64(other, NSLOW, NFAST);
    nb_array counts = nb_array_u16((uint16_t *)(void *)memory, NSLOW, NFAST);
    double bar_x[3] = {0}, value;
    nb_target target = {.kind = NB_LOSS_GAUSS, .observed = &image};
    nb_normal normal = {0};
    nb_statistics statistics;
    nb_status status[6];

    image.name = "photons";
    image.flags = NB_DONATE;
    if (nb_digitize(sim, &how, &image, &counts) != NB_OK) return 1;
    status[0] = nb_forward(sim, NULL, &image);
    status[1] = nb_vjp(sim, NULL, 1, &image, bar_x);
    status[2] = nb_loss(sim, NULL, &target, &value, NULL);
    normal.gradient = bar_x;
    status[3] = nb_jtj(sim, NULL, NULL, &image, &normal);
    status[4] = nb_statistics_get(sim, NULL, &image, &statistics);
    status[5] = nb_digitize(sim, &how, &image, &counts);
    for (int i = 0; i < 6; i++)
        tap_check(status[i] == NB_ERR_DONATED, "call %d: %s", i, nb_status_text(status[i]));
    tap_check(strstr(nb_context_message(ctx), "photons was donated") != NULL, "%s",
              nb_context_message(ctx));
    tap_check(nb_forward(sim, NULL, &fresh) == NB_OK, "another array is taken");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* a donated array that no output can use: a warning, and it stays valid */
static int not_used(void)
{
    static double memory[PIXELS], kept[PIXELS];
    static uint16_t apart[PIXELS];
    const nb_scene scene = bright(0);
    const nb_digitizer how = {.scale = 1};
    nb_context *ctx = context_of(1);
    nb_simulator *sim = make(ctx, &scene, "misset");
    nb_array image = image_of(sim, 64, memory), counts = nb_array_u16(apart, NSLOW, NFAST);
    nb_array view = nb_array_f64(memory, NSLOW, NFAST);
    nb_compile_stats stats;
    double bar_x[3] = {0};

    memcpy(kept, memory, sizeof kept);
    image.flags = NB_DONATE;
    warnings = 0;
    tap_check(nb_digitize(sim, &how, &image, &counts) == NB_OK && warnings == 1
                  && image.flags == NB_DONATE
                  && bits_same(kept, memory, sizeof kept / sizeof *kept),
              "counts apart: %s", said);
    tap_check(nb_vjp(sim, NULL, 1, &image, bar_x) == NB_OK && warnings == 2
                  && image.flags == NB_DONATE
                  && bits_same(kept, memory, sizeof kept / sizeof *kept),
              "an adjoint: %s", said);
    tap_check(nb_forward(sim, NULL, &image) == NB_OK && warnings == 3, "an output: %s",
              said);
    view.flags = NB_DONATE;
    view.stride[0] = -NFAST;
    view.stride[1] = 1;
    view.data = memory + (size_t)(NSLOW - 1) * NFAST;
    tap_check(nb_digitize(sim, &how, &view, &counts) == NB_ERR_ARGUMENT
                  && strstr(nb_context_message(ctx), "borrowed memory can't be donated"),
              "a view: %s", nb_context_message(ctx));
    tap_check(nb_vjp(sim, NULL, 1, &view, bar_x) == NB_ERR_ARGUMENT,
              "a view to an adjoint");
    nb_simulator_stats(sim, &stats);
    tap_check(stats.donated == 0, "%llu donations counted",
              (unsigned long long)stats.donated);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* memory that is shared without being given away, or in part */
static int shared_memory(void)
{
    static double memory[PIXELS];
    const nb_scene scene = bright(0);
    const nb_digitizer how = {.scale = 1};
    nb_context *ctx = context_of(1);
    nb_simulator *sim = make(ctx, &scene, NULL);
    nb_array image = image_of(sim, 64, memory);
    nb_array inside = nb_array_u16((uint16_t *)(void *)memory, NSLOW, NFAST);
    nb_array later = nb_array_u16((uint16_t *)(void *)memory + 8, NSLOW, NFAST);

    tap_check(nb_digitize(sim, &how, &image, &inside) == NB_ERR_ARGUMENT
                  && strstr(nb_context_message(ctx), "NB_DONATE"),
              "not given away: %s", nb_context_message(ctx));
    image.flags = NB_DONATE;
    tap_check(nb_digitize(sim, &how, &image, &later) == NB_ERR_ARGUMENT
                  && image.flags == NB_DONATE,
              "in a part: %s", nb_context_message(ctx));
    tap_check(nb_digitize(sim, &how, &image, &inside) == NB_OK && image.flags == NB_DONATED,
              "given away, from the first byte on");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* checked builds leave no number behind that could be read by mistake */
static int poisoned(void)
{
    static double memory[PIXELS];
    const nb_scene scene = bright(0);
    const nb_digitizer how = {.scale = 1};
    nb_context *ctx = context_of(1);
    nb_simulator *sim = make(ctx, &scene, NULL);
    nb_array image = image_of(sim, 64, memory);
    nb_array inside = nb_array_u16((uint16_t *)(void *)memory, NSLOW, NFAST);
    int numbers = 0;

    image.flags = NB_DONATE;
    if (nb_digitize(sim, &how, &image, &inside) != NB_OK) return 1;
    for (int i = PIXELS / 4; i < PIXELS; i++) numbers += !isnan(memory[i]);
    nb_simulator_free(sim);
    nb_context_free(ctx);
#ifdef NDEBUG
    tap_check(numbers > 0, "built with NDEBUG: %d numbers are left alone", numbers);
#else
    tap_check(numbers == 0, "%d numbers are left", numbers);
#endif
    return TAP_PASS;
}

/* given away or not is part of the key: neither call finds the other's plan */
static int part_of_the_key(void)
{
    static double memory[PIXELS];
    static uint16_t apart[PIXELS];
    const nb_scene scene = bright(0);
    const nb_digitizer how = {.scale = 1};
    nb_context *ctx = context_of(1);
    nb_simulator *sim = make(ctx, &scene, NULL);
    nb_compile_stats before, after;
    nb_array image, counts = nb_array_u16(apart, NSLOW, NFAST);
    nb_array inside = nb_array_u16((uint16_t *)(void *)memory, NSLOW, NFAST);

    for (int round = 0; round < 3; round++) {
        image = image_of(sim, 64, memory);
        nb_simulator_stats(sim, &before);
        if (nb_digitize(sim, &how, &image, &counts) != NB_OK) return 1;
        image.flags = NB_DONATE;
        if (nb_digitize(sim, &how, &image, &inside) != NB_OK) return 1;
        nb_simulator_stats(sim, &after);
        tap_check(after.compiles - before.compiles == (round == 0 ? 2 : 0)
                      && after.hits - before.hits == (round == 0 ? 0 : 2)
                      && after.donated == (uint64_t)round + 1,
                  "round %d: %llu plans, %llu found, %llu donated", round,
                  (unsigned long long)(after.compiles - before.compiles),
                  (unsigned long long)(after.hits - before.hits),
                  (unsigned long long)after.donated);
    }
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* peak memory of a process that makes an image of SIDE x SIDE and its counts, KiB */
static long peak_of(int donates)
{
    enum { SIDE = 4096 };
    const size_t n = (size_t)SIDE * SIDE;
    struct rusage usage;
    long peak = -1;
    int ends[2];
    pid_t child;

    if (pipe(ends) != 0) return -1;
    child = fork();
    if (child == 0) {
        nb_scene scene = bright(0);
        const nb_digitizer how = {.scale = 1};
        float *memory = malloc(n * sizeof *memory);
        uint16_t *apart = donates ? (uint16_t *)(void *)memory : malloc(n * sizeof *apart);
        nb_context *ctx = context_of(1);
        nb_array image = nb_array_f32(memory, SIDE, SIDE);
        nb_array counts = nb_array_u16(apart, SIDE, SIDE);
        nb_simulator *sim;

        scene.detector.nslow = scene.detector.nfast = SIDE;
        scene.detector.pixel = 0.01;
        sim = make(ctx, &scene, NULL);
        for (size_t i = 0; i < n; i++)
            memory[i] = (float)(i % 1000); /* an image from outside */
        image.flags = donates ? NB_DONATE : 0;
        if (nb_digitize(sim, &how, &image, &counts) != NB_OK) _exit(1);
        (void)getrusage(RUSAGE_SELF, &usage);
        (void)!write(ends[1], &usage.ru_maxrss, sizeof usage.ru_maxrss);
        _exit(0);
    }
    (void)close(ends[1]);
    if (read(ends[0], &peak, sizeof peak) != (ssize_t)sizeof peak) peak = -1;
    (void)close(ends[0]);
    (void)waitpid(child, NULL, 0);
    return peak;
}

/* what donation is for: the memory of a second image */
static int saves_an_image(void)
{
    const long apart = peak_of(0), donated = peak_of(1);

    tap_note("peak memory for 4096 x 4096 pixels: %ld KiB apart, %ld KiB donated", apart,
             donated);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return tap_skip("sanitizers keep memory of their own");
#else
    const long counts = 4096L * 4096 * 2 / 1024;

    tap_check(donated > 0 && apart - donated >= counts * 9 / 10,
              "%ld KiB less, expected the counts' %ld", apart - donated, counts);
    return TAP_PASS;
#endif
}

/* without compiled mode nothing is given away unless memory is shared anyway */
static int without_compiled_mode(void)
{
    static double memory[PIXELS];
    const nb_scene scene = bright(0);
    const nb_digitizer how = {.scale = 1};
    nb_compile_stats stats;
    nb_context *ctx;
    nb_simulator *sim;

    (void)setenv("NANOBRAGG_DISABLE_COMPILE", "1", 1);
    ctx = context_of(1);
    (void)unsetenv("NANOBRAGG_DISABLE_COMPILE");
    sim = make(ctx, &scene, NULL);
    check_in_place(sim, &how, 64, "uncompiled");
    (void)image_of(sim, 64, memory);
    nb_simulator_stats(sim, &stats);
    tap_check(stats.compiles == 0 && stats.compiled_launches == 0, "no plan is made");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"in_place", in_place},
        {"in_place_threads", in_place_threads},
        {"refused_afterwards", refused_afterwards},
        {"not_used", not_used},
        {"shared_memory", shared_memory},
        {"poisoned", poisoned},
        {"part_of_the_key", part_of_the_key},
        {"saves_an_image", saves_an_image},
        {"without_compiled_mode", without_compiled_mode},
    };

    compiled_environment();
    return tap_main(argc, argv, cases, COUNT(cases));
}
