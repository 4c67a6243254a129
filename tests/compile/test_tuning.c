/*
 * test_tuning.c - what compiled mode estimates and measures: schedules and strategies.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nanobrag/nanobrag.h>

#include "backend/backend.h"
#include "base/context.h"
#include "compile/plan.h"
#include "compile/tune/tuning_cache.h"
#include "simulator.h"
#include "support/compiled.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- schedules ---- */

/* blocks and threads change no bit */
static int any_schedule(void)
{
    static double first[COMPILED_PIXELS], photons[COMPILED_PIXELS];
    const nb_scene scene = scenes_base();
    nb_context *ctx = compiled_context(NB_COMPILE_ON, 4);

    for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++) {
        nb_simulator *sim = compiled_make(ctx, &scene, NULL, precision, NB_LANES);
        const struct phys_frame *frame;
        nb_scene at_x;
        int differ = 0, n = 0;

        if (simulator_frame(sim, NULL, &at_x, &frame) != NB_OK) return 1;
        for (int threads = 1; threads <= 4; threads++)
            for (int block = 1; block <= 32; block *= 2, n++) {
                struct job job = simulator_job(sim, &at_x, frame, n == 0 ? first : photons);

                job.schedule.threads = threads;
                job.schedule.block = block;
                if (backend_host_image(sim, &sim->progress, &job) != NB_OK) return 1;
                differ += n > 0 && !bits_same(first, photons, COMPILED_PIXELS);
            }
        tap_check(differ == 0, "precision %d: %d of %d schedules give other bits",
                  precision, differ, n);
        nb_simulator_free(sim);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* small work wakes no thread, large work all; blocks leave each thread several turns */
static int estimated_schedules(void)
{
    struct signature s;
    struct plan plan;

    memset(&s, 0, sizeof s);
    s.threads = 16;
    s.strategy = NB_LANES;
    s.samples = s.sources = s.orientations = plan_class(1);
    s.pixels = plan_class(64);
    plan_estimate(&s, &plan);
    tap_check(plan.schedule.threads == 1 && plan.schedule.block == 1,
              "64 pixels: %d threads, block %d", plan.schedule.threads,
              plan.schedule.block);
    s.pixels = plan_class(64 * 64);
    plan_estimate(&s, &plan);
    tap_check(plan.schedule.threads > 1 && plan.schedule.threads < 16,
              "64 x 64 pixels, one domain: %d of 16 threads", plan.schedule.threads);
    s.pixels = plan_class(4096 * 4096);
    plan_estimate(&s, &plan);
    tap_check(plan.schedule.threads == 16 && plan.schedule.block == 16,
              "4096 x 4096 pixels: %d of 16 threads, block %d", plan.schedule.threads,
              plan.schedule.block);
    tap_check(plan_class(0) == 0 && plan_class(1) == 1 && plan_class(2) == 2
                  && plan_class(3) == 3 && plan_class(4) == 3 && plan_class(5) == 4,
              "classes are powers of two");
    return TAP_PASS;
}

/* ---- tuning ---- */

static int tuned(void)
{
    static double with[COMPILED_MOST], without[COMPILED_MOST];
    char folder[256];
    const nb_scene scene = scenes_base();
    nb_context *off = compiled_context(NB_COMPILE_OFF, 2), *on, *again;
    nb_simulator *a, *b, *c;
    size_t n;

    compiled_folder(folder, sizeof folder);
    a = compiled_tuned(&scene, "misset", NB_LANES, &on, with);
    again = compiled_context(NB_COMPILE_ON, on->threads);
    b = compiled_make(off, &scene, "misset", NB_DOUBLE, NB_LANES);
    c = compiled_make(again, &scene, "misset", NB_DOUBLE, NB_LANES);
    n = compiled_results(b, NULL, without);
    tap_check(bits_same(with, without, n), "tuned plans give the same bits");
    tap_check(strstr(nb_simulator_explain(a), ", measured") != NULL, "explained: %s",
              nb_simulator_explain(a));
    tap_check(compiled_stats(a).compiles == 2 && compiled_stats(a).compiled_launches == 2,
              "rehearsals are not counted: %llu launches",
              (unsigned long long)compiled_stats(a).compiled_launches);
    tuning_cache_forget();
    n = compiled_results(c, NULL, with);
    tap_check(bits_same(with, without, n) && strstr(nb_simulator_explain(c), ", measured"),
              "a context that does not tune uses what the file knows");
    nb_simulator_free(a);
    nb_simulator_free(b);
    nb_simulator_free(c);
    nb_context_free(on);
    nb_context_free(off);
    nb_context_free(again);
    compiled_remove_folder(folder);
    return TAP_PASS;
}

/* spots and lanes cost about the same here */
static nb_scene open_scene(void)
{
    nb_scene scene = compiled_lone(NB_GAUSS, PHYS_NEAREST);

    for (int i = 0; i < 3; i++) scene.crystal.ncells[i] = 16;
    scene.crystal.mosaic[0] = 0.05;
    scene.crystal.ndomains = 6;
    return scene;
}

static nb_simulator *open_simulator(nb_context *ctx, const nb_scene *scene)
{
    const nb_options options = {NB_DOUBLE, NB_STRATEGY_AUTO, 1e-7};
    nb_simulator *sim;

    if (nb_simulator_create(ctx, scene, NULL, &options, &sim) != NB_OK) abort();
    return sim;
}

/* the strategy that tuning chose stays for the process, and one that is asked for is kept
 */
static int tuned_strategy(void)
{
    static double first[COMPILED_MOST], second[COMPILED_MOST];
    char folder[256];
    const nb_scene scene = open_scene();
    nb_description about = {0};
    nb_context *ctx = NULL, *other;
    nb_simulator *a = NULL, *b, *c;
    int strategy, tries = 0;

    compiled_folder(folder, sizeof folder);
    do { /* a busy machine tells nothing */
        tuning_cache_forget();
        nb_simulator_free(a);
        nb_context_free(ctx);
        ctx = compiled_context(NB_COMPILE_TUNE, 1);
        a = open_simulator(ctx, &scene);
        if (nb_describe(a, NULL, &about) != NB_OK) return 1;
    } while (!strstr(about.strategy_why, "measured") && ++tries < 20);
    strategy = about.strategy;
    tap_check(strategy == NB_LANES || strategy == NB_SPOTS, "strategy %d: %s", strategy,
              about.strategy_why);
    if (tries == 20) tap_note("the machine was too busy for a measurement");
    other = compiled_context(NB_COMPILE_TUNE, 1);
    b = open_simulator(other, &scene);
    c = compiled_make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
    if (nb_describe(b, NULL, &about) != NB_OK) return 1;
    tap_check(about.strategy == strategy, "another context of the process: the same");
    (void)compiled_results(a, NULL, first);
    (void)compiled_results(b, NULL, second);
    tap_check(bits_same(first, second, COMPILED_PIXELS), "and the same bits");
    if (nb_describe(c, NULL, &about) != NB_OK) return 1;
    tap_check(about.strategy == NB_LANES, "a strategy that is asked for is kept");
    nb_simulator_free(a);
    nb_simulator_free(b);
    nb_simulator_free(c);
    nb_context_free(ctx);
    nb_context_free(other);
    compiled_remove_folder(folder);
    return TAP_PASS;
}

/* that this thread ran, whatever else does */
static double seconds_run(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int stop_at_once(void *user, double fraction)
{
    (void)fraction;
    ++*(int *)user;
    return 1;
}

static int go_on(void *user, double fraction)
{
    (void)stop_at_once(user, fraction);
    return 0;
}

/* who asks to stop is heard while a plan is measured, and no long run is repeated */
static int tuned_and_stopped(void)
{
    static double image[512 * 512];
    char folder[256];
    nb_context_options options = {0};
    nb_array to = nb_array_f64(image, 512, 512);
    nb_scene scene = scenes_base();
    nb_context *ctx;
    nb_simulator *sim;
    nb_status status;
    double start, took[2];
    int asked = 0, reports[2];

    compiled_folder(folder, sizeof folder);
    scene.detector.nslow = scene.detector.nfast = 512;
    scene.crystal.ndomains = 64;
    options.threads = 1;
    options.compile = NB_COMPILE_TUNE;
    options.progress = stop_at_once;
    options.user = &asked;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    sim = compiled_make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
    status = nb_forward(sim, NULL, &to);
    tap_check(status == NB_ERR_CANCELLED && asked == 1,
              "stopped when it was asked for the first time: asked %d times", asked);
    ctx->options.progress = go_on;
    (void)fail(ctx, NB_OK, "what was before");
    for (int i = 0; i < 2; i++) {
        asked = 0;
        start = seconds_run();
        if (nb_forward(sim, NULL, &to) != NB_OK) return 1;
        took[i] = seconds_run() - start;
        reports[i] = asked;
    }
    tap_note("a long image while tuning: %.3f s, then %.3f s", took[0], took[1]);
    /* of what was tried before it, a part of an image, progress is told too */
    tap_check(reports[1] > 100 && reports[0] < 2 * reports[1],
              "not repeated as a whole: told %d times of its progress, then %d", reports[0],
              reports[1]);
    tap_check(strstr(nb_simulator_explain(sim), "by estimate") != NULL
                  && strcmp(nb_context_message(ctx), "what was before") == 0,
              "its schedule is an estimate; message: %s", nb_context_message(ctx));
    nb_simulator_free(sim);
    nb_context_free(ctx);
    compiled_remove_folder(folder);
    return TAP_PASS;
}

struct told {
    double last;
    int calls, backwards;
};

static int listen(void *user, double fraction)
{
    struct told *told = user;

    told->calls++;
    told->backwards += fraction < told->last;
    told->last = fraction;
    return 0;
}

/* what is told of a call of two passes, each of which makes a plan, never goes back */
static int tuned_progress(void)
{
    static double image[COMPILED_PIXELS];
    char folder[256];
    nb_scene scene = scenes_base();
    nb_context_options options = {0};
    struct told told = {0, 0, 0};
    nb_array observed = nb_array_f64(image, COMPILED_SLOW, COMPILED_FAST);
    const nb_target target = {.kind = NB_GAUSSIAN, .observed = &observed};
    double value, gradient[3] = {0};
    nb_normal out = {.gradient = gradient};
    nb_context *ctx;
    nb_simulator *sim;
    nb_status status;

    if (!strstr(nb_features(), "fftw")) return tap_skip("no FFTW in this build");
    scene.psf.kind = NB_PSF_GAUSS;
    scene.psf.fwhm = scene.detector.pixel;
    compiled_folder(folder, sizeof folder);
    options.threads = 1;
    options.compile = NB_COMPILE_TUNE;
    options.progress = listen;
    options.user = &told;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    sim = compiled_make(ctx, &scene, "misset", NB_DOUBLE, NB_LANES);
    status = nb_loss(sim, NULL, &target, &value, &out);
    tap_check(status == NB_OK && told.backwards == 0 && told.last == 1,
              "told %d times, the last %g, %d backwards", told.calls, told.last,
              told.backwards);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    compiled_remove_folder(folder);
    return TAP_PASS;
}

/* FFTW measures too, on memory of its own, no longer than it may */
static int tuned_spread(void)
{
    static double with[COMPILED_MOST], without[COMPILED_MOST], again[COMPILED_MOST];
    char folder[256];
    nb_scene scene = scenes_base();
    nb_context *on, *off;
    nb_simulator *a, *b, *c;
    double gap;

    if (!strstr(nb_features(), "fftw")) return tap_skip("no FFTW in this build");
    scene.psf.kind = NB_PSF_GAUSS;
    scene.psf.fwhm = 3 * scene.detector.pixel;
    compiled_folder(folder, sizeof folder);
    on = compiled_context(NB_COMPILE_TUNE, 1);
    off = compiled_context(NB_COMPILE_OFF, 1);
    b = compiled_make(off, &scene, NULL, NB_DOUBLE, NB_LANES);
    (void)compiled_results(b, NULL, without);
    a = compiled_make(on, &scene, NULL, NB_DOUBLE, NB_LANES);
    (void)compiled_results(a, NULL, with);
    gap = compiled_relative(with, without, COMPILED_PIXELS);
    tap_check(gap <= 1e-13,
              "measured transforms: relative mean difference %g, allowed 1e-13", gap);
    c = compiled_make(off, &scene, NULL, NB_DOUBLE, NB_LANES);
    (void)compiled_results(c, NULL, again);
    tap_check(bits_same(again, without, COMPILED_PIXELS),
              "what tuning found changes no bit of a simulator that does not tune");
    nb_simulator_free(c);
    c = compiled_make(on, &scene, NULL, NB_DOUBLE, NB_LANES);
    (void)compiled_results(c, NULL, again);
    tap_check(bits_same(again, with, COMPILED_PIXELS),
              "and a second one that tunes gives the same bits");
    nb_simulator_free(a);
    nb_simulator_free(b);
    nb_simulator_free(c);
    nb_context_free(on);
    nb_context_free(off);
    compiled_remove_folder(folder);
    return TAP_PASS;
}

/* FFTW may not plan for longer than it is told */
static int planning_is_cut_short(void)
{
    static double out[COMPILED_MOST];
    char folder[256];
    nb_scene scene = scenes_base();
    nb_context *ctx;
    nb_simulator *sim;

    if (!strstr(nb_features(), "fftw")) return tap_skip("no FFTW in this build");
    scene.psf.kind = NB_PSF_GAUSS;
    scene.psf.fwhm = 5 * scene.detector.pixel;
    scene.psf.radius = 31; /* a size of transform of its own */
    compiled_folder(folder, sizeof folder);
    (void)setenv("NANOBRAG_COMPILE_TIMEOUT", "1e-7", 1);
    ctx = compiled_context(NB_COMPILE_TUNE, 1);
    sim = compiled_make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
    (void)compiled_results(sim, NULL, out);
    tap_check(compiled_stats(sim).fallbacks >= 1
                  && strstr(nb_simulator_explain(sim), "NANOBRAG_COMPILE_TIMEOUT"),
              "said: %s", nb_simulator_explain(sim));
    nb_simulator_free(sim);
    nb_context_free(ctx);
    (void)setenv("NANOBRAG_STRICT", "1", 1);
    ctx = compiled_context(NB_COMPILE_TUNE, 1);
    (void)unsetenv("NANOBRAG_STRICT");
    (void)unsetenv("NANOBRAG_COMPILE_TIMEOUT");
    scene.psf.radius = 29;
    tap_check(nb_simulator_create(ctx, &scene, NULL, NULL, &sim) == NB_ERR_UNSUPPORTED,
              "strictly: %s", nb_context_message(ctx));
    nb_context_free(ctx);
    compiled_remove_folder(folder);
    return TAP_PASS;
}

/* simulators of one scene, made on threads that all tune, have the same transforms */
enum { MAKERS = 4 };

static void *make_and_render(void *user)
{
    nb_scene scene = scenes_base();
    nb_context *ctx = compiled_context(NB_COMPILE_TUNE, 1);
    nb_simulator *sim;

    scene.psf.kind = NB_PSF_GAUSS;
    scene.psf.fwhm = 4 * scene.detector.pixel;
    scene.psf.radius = 53;
    sim = compiled_make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
    (void)compiled_results(sim, NULL, user);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return NULL;
}

static int spread_on_threads(void)
{
    static double out[MAKERS + 1][COMPILED_MOST];
    char folder[256];
    pthread_t threads[MAKERS];
    int differ = 0;

    if (!strstr(nb_features(), "fftw")) return tap_skip("no FFTW in this build");
    compiled_folder(folder, sizeof folder);
    for (int i = 0; i < MAKERS; i++)
        if (pthread_create(threads + i, NULL, make_and_render, out[i]) != 0) abort();
    for (int i = 0; i < MAKERS; i++) (void)pthread_join(threads[i], NULL);
    (void)make_and_render(out[MAKERS]);
    for (int i = 0; i < MAKERS; i++)
        differ += !bits_same(out[i], out[MAKERS], COMPILED_PIXELS);
    tap_check(differ == 0, "%d of %d images differ from a later one", differ, MAKERS);
    compiled_remove_folder(folder);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"any_schedule", any_schedule},
        {"estimated_schedules", estimated_schedules},
        {"tuned", tuned},
        {"tuned_strategy", tuned_strategy},
        {"tuned_and_stopped", tuned_and_stopped},
        {"tuned_progress", tuned_progress},
        {"tuned_spread", tuned_spread},
        {"spread_on_threads", spread_on_threads},
        {"planning_is_cut_short", planning_is_cut_short}, /* no size is measured after it */
    };

    compiled_environment();
    return tap_main(argc, argv, cases, COUNT(cases));
}
