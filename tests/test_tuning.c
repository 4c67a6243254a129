/*
 * test_tuning.c - schedules of compiled mode, by estimate and by measurement, and what
 * switches it off.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "compile/plan.h"
#include "compile/wisdom.h"
#include "simulator.h"
#include "support/compiled.h"
#include "support/scenes.h"
#include "support/tap.h"

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
        struct phys_frame frame;
        nb_scene at_x;
        int differ = 0, n = 0;

        if (simulator_frame(sim, NULL, &at_x, &frame) != NB_OK) return 1;
        for (int threads = 1; threads <= 4; threads++)
            for (int block = 1; block <= 32; block *= 2, n++) {
                struct job job =
                    simulator_job(sim, &at_x, &frame, n == 0 ? first : photons);

                job.schedule.threads = threads;
                job.schedule.block = block;
                if (launch_image(sim, &job, NULL) != NB_OK) return 1;
                differ += n > 0 && !compiled_same(first, photons, COMPILED_PIXELS);
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

/* a folder for wisdom of this test alone, and a process that knows nothing */
static void own_folder(char *path, size_t n)
{
    const char *tmp = getenv("TMPDIR");

    (void)snprintf(path, n, "%s/nanobrag-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(path)) abort();
    (void)setenv("NANOBRAG_CACHE_DIR", path, 1);
    wisdom_forget();
}

static int files_in(const char *path)
{
    const struct dirent *entry;
    DIR *dir = opendir(path);
    int n = 0;

    if (!dir) return 0;
    while ((entry = readdir(dir))) n += entry->d_name[0] != '.';
    (void)closedir(dir);
    return n;
}

static void remove_folder(const char *path)
{
    const struct dirent *entry;
    DIR *dir = opendir(path);
    char name[600];

    while (dir && (entry = readdir(dir))) {
        (void)snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' || entry->d_name[1] > '.') (void)unlink(name);
    }
    if (dir) (void)closedir(dir);
    (void)rmdir(path);
    (void)unsetenv("NANOBRAG_CACHE_DIR");
    wisdom_forget();
}

static int tuned(void)
{
    static double with[COMPILED_MOST], without[COMPILED_MOST];
    char folder[256];
    const nb_scene scene = scenes_base();
    nb_context *off = compiled_context(NB_COMPILE_OFF, 2), *on, *again;
    nb_simulator *a, *b, *c;
    size_t n;

    own_folder(folder, sizeof folder);
    on = compiled_context(NB_COMPILE_TUNE, 2);
    again = compiled_context(NB_COMPILE_ON, 2);
    a = compiled_make(on, &scene, "misset", NB_DOUBLE, NB_LANES);
    b = compiled_make(off, &scene, "misset", NB_DOUBLE, NB_LANES);
    c = compiled_make(again, &scene, "misset", NB_DOUBLE, NB_LANES);
    n = compiled_results(a, NULL, with);
    (void)compiled_results(b, NULL, without);
    tap_check(compiled_same(with, without, n), "tuned plans give the same bits");
    tap_check(strstr(nb_simulator_explain(a), ", measured") != NULL, "explained: %s",
              nb_simulator_explain(a));
    tap_check(compiled_stats(a).compiles == 2 && compiled_stats(a).compiled_launches == 2,
              "rehearsals are not counted: %llu launches",
              (unsigned long long)compiled_stats(a).compiled_launches);
    n = compiled_results(c, NULL, with);
    tap_check(compiled_same(with, without, n)
                  && strstr(nb_simulator_explain(c), ", measured"),
              "a context that does not tune uses what is known, of greater rigour");
    nb_simulator_free(a);
    nb_simulator_free(b);
    nb_simulator_free(c);
    nb_context_free(on);
    nb_context_free(off);
    nb_context_free(again);
    remove_folder(folder);
    return TAP_PASS;
}

/* the strategy that tuning chose stays for the process, and what was asked for is not
 * touched */
static int tuned_strategy(void)
{
    static double first[COMPILED_MOST], second[COMPILED_MOST];
    char folder[256];
    nb_scene scene = compiled_lone(NB_GAUSS, PHYS_NEAREST);
    nb_description about;
    nb_context *ctx, *other;
    nb_simulator *a, *b, *c;
    int strategy;

    scene.scan.nphi = 8;
    scene.scan.osc = 1;
    own_folder(folder, sizeof folder);
    ctx = compiled_context(NB_COMPILE_TUNE, 2);
    other = compiled_context(NB_COMPILE_TUNE, 2);
    a = compiled_make(ctx, &scene, NULL, NB_DOUBLE, NB_STRATEGY_AUTO);
    b = compiled_make(other, &scene, NULL, NB_DOUBLE, NB_STRATEGY_AUTO);
    c = compiled_make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
    if (nb_describe(a, NULL, &about) != NB_OK) return 1;
    strategy = about.strategy;
    tap_note("strategy %d: %s", strategy, about.strategy_why);
    if (nb_describe(b, NULL, &about) != NB_OK) return 1;
    tap_check(about.strategy == strategy,
              "another context of the process: the same strategy");
    (void)compiled_results(a, NULL, first);
    (void)compiled_results(b, NULL, second);
    tap_check(compiled_same(first, second, COMPILED_PIXELS), "and the same bits");
    if (nb_describe(c, NULL, &about) != NB_OK) return 1;
    tap_check(about.strategy == NB_LANES, "a strategy that is asked for is kept");
    nb_simulator_free(a);
    nb_simulator_free(b);
    nb_simulator_free(c);
    nb_context_free(ctx);
    nb_context_free(other);
    remove_folder(folder);
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
    own_folder(folder, sizeof folder);
    (void)setenv("NANOBRAG_COMPILE_TIMEOUT", "0.2", 1);
    on = compiled_context(NB_COMPILE_TUNE, 1);
    (void)unsetenv("NANOBRAG_COMPILE_TIMEOUT");
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
    tap_check(compiled_same(again, without, COMPILED_PIXELS),
              "what tuning found changes no bit of a simulator that does not tune");
    nb_simulator_free(c);
    c = compiled_make(on, &scene, NULL, NB_DOUBLE, NB_LANES);
    (void)compiled_results(c, NULL, again);
    tap_check(compiled_same(again, with, COMPILED_PIXELS),
              "and a second one that tunes gives the same bits");
    nb_simulator_free(a);
    nb_simulator_free(b);
    nb_simulator_free(c);
    nb_context_free(on);
    nb_context_free(off);
    remove_folder(folder);
    return TAP_PASS;
}

/* ---- switches ---- */

static int switches(void)
{
    static const char *const names[] = {"NANOBRAGG_DISABLE_COMPILE",
                                        "NANOBRAG_DISABLE_COMPILE"};
    static double out[COMPILED_MOST];
    const nb_scene scene = scenes_base();

    for (size_t v = 0; v < COUNT(names); v++)
        for (int compile = NB_COMPILE_ON; compile <= NB_COMPILE_TUNE; compile++) {
            char folder[256];
            nb_context *ctx;
            nb_simulator *sim;
            nb_compile_stats s;

            own_folder(folder, sizeof folder);
            (void)setenv(names[v], "1", 1);
            ctx = compiled_context(compile, 2);
            (void)unsetenv(names[v]);
            sim = compiled_make(ctx, &scene, "misset", NB_DOUBLE, NB_STRATEGY_AUTO);
            (void)compiled_results(sim, NULL, out);
            s = compiled_stats(sim);
            tap_check(s.compiles + s.hits + s.misses + s.compiled_launches + s.plan_hash
                              == 0
                          && ctx->launches == 2 && files_in(folder) == 0,
                      "%s=1, options %d: nothing compiled, %d files", names[v], compile,
                      files_in(folder));
            tap_check(strstr(nb_simulator_explain(sim), "NANOBRAGG_DISABLE_COMPILE=1")
                          != NULL,
                      "explained");
            nb_simulator_free(sim);
            nb_context_free(ctx);
            remove_folder(folder);
        }
    return TAP_PASS;
}

/* who asks for compiled mode or nothing is told what can not have it */
static int required(void)
{
    const nb_scene scene = scenes_base();
    nb_options options = {0};
    nb_simulator *sim = NULL;
    nb_context *ctx = compiled_context(NB_COMPILE_REQUIRE, 1);
    static double out[COMPILED_MOST];

    sim = compiled_make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
    (void)compiled_results(sim, NULL, out);
    tap_check(compiled_stats(sim).compiled_launches == 1, "lanes run compiled");
    nb_simulator_free(sim);
    options.strategy = NB_REFERENCE;
    tap_check(nb_simulator_create(ctx, &scene, NULL, &options, &sim) == NB_ERR_UNSUPPORTED
                  && strstr(nb_context_message(ctx), "NB_REFERENCE"),
              "the reference kernel is refused: %s", nb_context_message(ctx));
    nb_context_free(ctx);
    (void)setenv("NANOBRAGG_DISABLE_COMPILE", "1", 1);
    ctx = compiled_context(NB_COMPILE_REQUIRE, 1);
    (void)unsetenv("NANOBRAGG_DISABLE_COMPILE");
    tap_check(nb_simulator_create(ctx, &scene, NULL, NULL, &sim) == NB_ERR_UNSUPPORTED
                  && strstr(nb_context_message(ctx), "NANOBRAGG_DISABLE_COMPILE"),
              "the environment wins: %s", nb_context_message(ctx));
    nb_context_free(ctx);
    return TAP_PASS;
}

/* what lies between compiled regions is not part of them: counts, files, statistics */
static int stage_breaks(void)
{
    static double out[COMPILED_MOST];
    static uint16_t counts[COMPILED_PIXELS];
    const nb_scene scene = scenes_base();
    const nb_digitizer how = {.scale = 1};
    nb_context *ctx = compiled_context(NB_COMPILE_ON, 1);
    nb_simulator *sim = compiled_make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
    nb_array image = nb_array_f64(out, COMPILED_SLOW, COMPILED_FAST);
    nb_array to = nb_array_u16(counts, COMPILED_SLOW, COMPILED_FAST);
    nb_statistics statistics;
    uint64_t launches;

    (void)compiled_results(sim, NULL, out);
    launches = ctx->launches;
    if (nb_digitize(sim, &how, &image, &to) != NB_OK) return 1;
    if (nb_statistics_get(sim, NULL, &image, &statistics) != NB_OK) return 1;
    tap_check(ctx->launches == launches && compiled_stats(sim).compiled_launches == 1,
              "counts and statistics launch no kernel");
    tap_check(compiled_stats(sim).captures + compiled_stats(sim).replays
                      + compiled_stats(sim).skips
                  == 0,
              "no graph on a CPU");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* what tuning found can not be written: the call goes on, or NANOBRAG_STRICT=1 ends it */
static int fallback(void)
{
    static double out[COMPILED_MOST];
    const nb_scene scene = scenes_base();
    nb_context *ctx;
    nb_simulator *sim;
    nb_array image = nb_array_f64(out, COMPILED_SLOW, COMPILED_FAST);
    nb_status status;

    wisdom_forget();
    (void)setenv("NANOBRAG_CACHE_DIR", "/dev/null/nowhere", 1);
    ctx = compiled_context(NB_COMPILE_TUNE, 2);
    sim = compiled_make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
    (void)compiled_results(sim, NULL, out);
    tap_check(compiled_stats(sim).fallbacks > 0
                  && compiled_stats(sim).compiled_launches == 1,
              "%llu fallbacks, and the image is there",
              (unsigned long long)compiled_stats(sim).fallbacks);
    tap_check(strstr(nb_simulator_explain(sim), "fallback: ") != NULL, "explained: %s",
              nb_simulator_explain(sim));
    nb_simulator_free(sim);
    nb_context_free(ctx);
    wisdom_forget();
    (void)setenv("NANOBRAG_STRICT", "1", 1);
    ctx = compiled_context(NB_COMPILE_TUNE, 2);
    (void)unsetenv("NANOBRAG_STRICT");
    (void)unsetenv("NANOBRAG_CACHE_DIR");
    sim = compiled_make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
    status = nb_forward(sim, NULL, &image);
    tap_check(status == NB_ERR_UNSUPPORTED && strstr(nb_context_message(ctx), "STRICT"),
              "NANOBRAG_STRICT=1: %s", nb_context_message(ctx));
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"any_schedule", any_schedule},
        {"estimated_schedules", estimated_schedules},
        {"tuned", tuned},
        {"tuned_strategy", tuned_strategy},
        {"tuned_spread", tuned_spread},
        {"switches", switches},
        {"required", required},
        {"stage_breaks", stage_breaks},
        {"fallback", fallback},
    };

    /* the cases say themselves what the environment is */
    (void)unsetenv("NANOBRAGG_DISABLE_COMPILE");
    (void)unsetenv("NANOBRAG_DISABLE_COMPILE");
    (void)unsetenv("NANOBRAG_STRICT");
    return tap_main(argc, argv, cases, COUNT(cases));
}
