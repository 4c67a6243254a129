/*
 * test_compile_switches.c - the switches that turn compiled mode off, and the calls that it
 * does not cover.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
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
            sim =
                compiled_make(ctx, &scene, "misset", NB_PRECISION_DOUBLE, NB_STRATEGY_AUTO);
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

    sim = compiled_make(ctx, &scene, NULL, NB_PRECISION_DOUBLE, NB_STRATEGY_LANES);
    (void)compiled_results(sim, NULL, out);
    tap_check(compiled_stats(sim).compiled_launches == 1, "lanes run compiled");
    nb_simulator_free(sim);
    options.strategy = NB_STRATEGY_REFERENCE;
    tap_check(nb_simulator_create(ctx, &scene, NULL, &options, &sim) == NB_ERR_UNSUPPORTED
                  && strstr(nb_context_message(ctx), "NB_STRATEGY_REFERENCE"),
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
    nb_simulator *sim =
        compiled_make(ctx, &scene, NULL, NB_PRECISION_DOUBLE, NB_STRATEGY_LANES);
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

static void keep_line(void *user, int level, const char *topic, const char *line)
{
    char *kept = user;

    (void)topic;
    if (level == NB_LOG_NOTE) (void)snprintf(kept, 200, "%s", line);
}

/* tune is an accepted word for on, which is said */
static int tune_is_on(void)
{
    static double on[COMPILED_MOST], tuned[COMPILED_MOST];
    const nb_scene scene = scenes_base();
    char note[200] = "";
    nb_context_options options = {.threads = 1, .log = keep_line, .user = note};
    char text[2][600];

    for (int tune = 0; tune < 2; tune++) {
        nb_context *ctx;
        nb_simulator *sim;

        options.compile = tune ? NB_COMPILE_TUNE : NB_COMPILE_ON;
        if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
        tap_check((strstr(note, "tuning is the same as without") != NULL) == tune,
                  "the note: %s", note);
        sim = compiled_make(ctx, &scene, "misset", NB_PRECISION_DOUBLE, NB_STRATEGY_AUTO);
        (void)compiled_results(sim, NULL, tune ? tuned : on);
        (void)snprintf(text[tune], sizeof text[tune], "%s", nb_simulator_explain(sim));
        nb_simulator_free(sim);
        nb_context_free(ctx);
    }
    tap_check(memcmp(on, tuned, sizeof on) == 0, "the same bits");
    tap_check(strcmp(text[0], text[1]) == 0, "the same plans: %s", text[1]);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"switches", switches},
        {"required", required},
        {"stage_breaks", stage_breaks},
        {"tune_is_on", tune_is_on},
    };

    compiled_environment();
    return tap_main(argc, argv, cases, COUNT(cases));
}
