/*
 * test_compile_switches.c - the switches that turn compiled mode off, the calls that it
 * does not cover, and the missing parts that it falls back from.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "compile/tune/tuning_cache.h"
#include "support/compiled.h"
#include "support/scenes.h"
#include "support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

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

            compiled_folder(folder, sizeof folder);
            (void)setenv(names[v], "1", 1);
            ctx = compiled_context(compile, 2);
            (void)unsetenv(names[v]);
            sim = compiled_make(ctx, &scene, "misset", NB_DOUBLE, NB_STRATEGY_AUTO);
            (void)compiled_results(sim, NULL, out);
            s = compiled_stats(sim);
            tap_check(s.compiles + s.hits + s.misses + s.compiled_launches + s.plan_hash
                              == 0
                          && ctx->launches == 2 && compiled_files(folder) == 0,
                      "%s=1, options %d: nothing compiled, %d files", names[v], compile,
                      compiled_files(folder));
            tap_check(strstr(nb_simulator_explain(sim), names[v]) != NULL, "explained: %s",
                      nb_simulator_explain(sim));
            nb_simulator_free(sim);
            nb_context_free(ctx);
            compiled_remove_folder(folder);
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
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* what tuning found can not be written: the call goes on, or NANOBRAG_STRICT=1 ends it */
static int fallback(void)
{
    static double out[COMPILED_MOST];
    const nb_scene scene = scenes_base();
    nb_array image = nb_array_f64(out, COMPILED_SLOW, COMPILED_FAST);
    nb_context *ctx;
    nb_simulator *sim;
    nb_status status = NB_OK;

    (void)setenv("NANOBRAG_CACHE_DIR", "/dev/null/nowhere", 1);
    sim = compiled_tuned(&scene, NULL, NB_LANES, &ctx, out);
    tap_check(compiled_stats(sim).fallbacks > 0
                  && compiled_stats(sim).compiled_launches == 1,
              "%llu fallbacks, and the image is there",
              (unsigned long long)compiled_stats(sim).fallbacks);
    tap_check(strstr(nb_simulator_explain(sim), "fallback: ") != NULL, "explained: %s",
              nb_simulator_explain(sim));
    nb_simulator_free(sim);
    nb_context_free(ctx);
    for (int tries = 0; tries < 40 && status == NB_OK; tries++) {
        tuning_cache_forget();
        (void)setenv("NANOBRAG_STRICT", "1", 1);
        ctx = compiled_context(NB_COMPILE_TUNE, 1);
        (void)unsetenv("NANOBRAG_STRICT");
        sim = compiled_make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
        status = nb_forward(sim, NULL, &image);
        if (status != NB_OK)
            tap_check(status == NB_ERR_UNSUPPORTED
                          && strstr(nb_context_message(ctx), "STRICT"),
                      "NANOBRAG_STRICT=1: %s", nb_context_message(ctx));
        nb_simulator_free(sim);
        nb_context_free(ctx);
    }
    tap_check(status != NB_OK, "one of the tries was measured");
    (void)unsetenv("NANOBRAG_CACHE_DIR");
    return TAP_PASS;
}

/* a file that is no good, read by a context that does not even tune */
static int damaged_file(void)
{
    static double out[COMPILED_MOST];
    const nb_scene scene = scenes_base();
    nb_array image = nb_array_f64(out, COMPILED_SLOW, COMPILED_FAST);
    char folder[256], path[300];
    FILE *file;

    compiled_folder(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/tuning", folder);
    if (mkdir(path, 0700) != 0) abort();
    (void)snprintf(path, sizeof path, "%s/tuning/tuning.txt", folder);
    file = fopen(path, "w");
    if (!file || fputs("garbage", file) < 0 || fclose(file) != 0) abort();
    for (int strict = 0; strict < 2; strict++) {
        nb_context *ctx;
        nb_simulator *sim;
        nb_status status;

        tuning_cache_forget();
        (void)setenv("NANOBRAG_STRICT", strict ? "1" : "0", 1);
        ctx = compiled_context(NB_COMPILE_ON, 1);
        (void)unsetenv("NANOBRAG_STRICT");
        sim = compiled_make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
        status = nb_forward(sim, NULL, &image);
        tap_check(status == (strict ? NB_ERR_UNSUPPORTED : NB_OK)
                      && compiled_stats(sim).fallbacks == 1,
                  "strict %d: %s, %s", strict, nb_status_text(status),
                  nb_context_message(ctx));
        status = nb_forward(sim, NULL, &image);
        tap_check(status == (strict ? NB_ERR_UNSUPPORTED : NB_OK), "and again: %s",
                  nb_status_text(status));
        nb_simulator_free(sim);
        nb_context_free(ctx);
    }
    compiled_remove_folder(folder);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"switches", switches},         {"required", required},
        {"stage_breaks", stage_breaks}, {"fallback", fallback},
        {"damaged_file", damaged_file},
    };

    compiled_environment();
    return tap_main(argc, argv, cases, COUNT(cases));
}
