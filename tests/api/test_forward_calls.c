/*
 * test_forward_calls.c - the contract of nb_forward(): no effect of earlier calls, no write
 * to inputs, any strides; its progress, log and environment.
 *
 * SPDX-License-Identifier: MIT
 */
#define _DEFAULT_SOURCE // NOLINT(readability-identifier-naming)

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum { NFAST = 40, NSLOW = 37, PIXELS = NFAST * NSLOW };

static nb_context *context_with(const nb_context_options *options)
{
    nb_context *made;

    if (nb_context_create(NB_API_VERSION, options, &made) != NB_OK) abort();
    return made;
}

static nb_context *context_of(int threads)
{
    nb_context_options options = {0};

    options.threads = threads;
    return context_with(&options);
}

static nb_simulator *make(nb_context *ctx, const nb_scene *scene, const char *names)
{
    nb_simulator *sim;
    const nb_status status = nb_simulator_create(ctx, scene, names, NULL, &sim);

    if (status != NB_OK) tap_check(0, "%s", nb_context_message(ctx));
    return sim;
}

/* 1 when the call succeeds */
static int forward(nb_simulator *sim, const double *x, double *photons)
{
    nb_array image = nb_array_f64(photons, NSLOW, NFAST);

    return nb_forward(sim, x, &image) == NB_OK;
}

static int same(const double *a, const double *b)
{
    return bits_same(a, b, PIXELS);
}

static int is_dark(const double *photons)
{
    for (int i = 0; i < PIXELS; i++)
        if (photons[i] != 0) return 0;
    return 1;
}

/* ---- outputs ---- */
static int float_is_rounded_double(void)
{
    static double photons[PIXELS];
    static float rounded[PIXELS];
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++) {
        nb_context *ctx = context_of(2);
        nb_simulator *sim = make(ctx, &named.scene, NULL);
        nb_array single = nb_array_f32(rounded, NSLOW, NFAST);
        int differ = 0, ok;

        for (int k = 0; k < PIXELS; k++) rounded[k] = NAN;
        ok = forward(sim, NULL, photons) && nb_forward(sim, NULL, &single) == NB_OK;
        for (int k = 0; k < PIXELS; k++) differ += rounded[k] != (float)photons[k];
        tap_check(ok && differ == 0 && !is_dark(photons), "%s: %d pixels differ",
                  named.name, differ);
        nb_simulator_free(sim);
        nb_context_free(ctx);
    }
    return TAP_PASS;
}

/* row and column strides; what lies between is left alone */
static int strided_outputs(void)
{
    enum { ROOM = 4 * PIXELS };
    static const int64_t stride[][2] = {{NFAST, 1},         {NFAST + 7, 1}, {1, NSLOW},
                                        {NFAST + NFAST, 2}, {-NFAST, 1},    {NFAST, -1}};
    static double plain[PIXELS], wide[ROOM];
    static float narrow[ROOM];
    const nb_scene scene = scenes_base();
    nb_context *ctx = context_of(2);
    nb_simulator *sim = make(ctx, &scene, NULL);
    int ok = forward(sim, NULL, plain);

    for (size_t i = 0; i < COUNT(stride); i++) {
        const int64_t *by = stride[i];
        const int64_t start =
            (by[0] < 0 ? -by[0] * (NSLOW - 1) : 0) + (by[1] < 0 ? -by[1] * (NFAST - 1) : 0);
        nb_array a = nb_array_f64(wide + start, NSLOW, NFAST);
        nb_array b = nb_array_f32(narrow + start, NSLOW, NFAST);
        int wrong = 0, touched = 0;

        memcpy(a.stride, by, 2 * sizeof *by);
        memcpy(b.stride, by, 2 * sizeof *by);
        for (int k = 0; k < ROOM; k++) wide[k] = narrow[k] = -1;
        ok &= nb_forward(sim, NULL, &a) == NB_OK && nb_forward(sim, NULL, &b) == NB_OK;
        for (int s = 0; s < NSLOW; s++)
            for (int f = 0; f < NFAST; f++) {
                const int64_t at = start + s * by[0] + f * by[1];

                wrong += wide[at] != plain[NFAST * s + f]
                         || narrow[at] != (float)plain[NFAST * s + f];
            }
        for (int k = 0; k < ROOM; k++) touched += wide[k] != -1 || narrow[k] != -1;
        tap_check(ok && wrong == 0 && touched == PIXELS,
                  "strides %d %d: %d pixels differ, %d of %d elements written", (int)by[0],
                  (int)by[1], wrong, touched, (int)PIXELS);
    }
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- inputs ---- */
/* bytes on pages of their own that can no longer be written */
static void *read_only(const void *bytes, size_t n)
{
    void *page = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED) abort();
    memcpy(page, bytes, n);
    if (mprotect(page, n, PROT_READ) != 0) abort();
    return page;
}

/* the base scene with everything that is handed over by pointer */
static nb_scene scene_of_pointers(uint8_t mask[PIXELS], nb_source source[2],
                                  double table[20])
{
    nb_scene scene = scenes_base();

    for (int i = 0; i < PIXELS; i++) mask[i] = i % 7 != 3;
    source[0] = (nb_source){{1, 0.001, 0}, 1.1, 2};
    source[1] = (nb_source){{1, 0, -0.001}, 1.09, 1};
    for (int i = 0; i < 20; i += 2) {
        table[i] = 0.03 * i;
        table[i + 1] = 3 + 0.1 * i;
    }
    scene.detector.mask = mask;
    scene.beam.source = source;
    scene.beam.nsource = 2;
    scene.background.water = 100;
    scene.background.stol = table;
    scene.background.nstol = 10;
    scene.crystal.hkl = scenes_reflections();
    scene.crystal.interpolate = 2;
    return scene;
}

static int read_only_inputs(void)
{
    static double expected[PIXELS], photons[PIXELS];
    static uint8_t mask[PIXELS];
    const double x[3] = {11, -30, 70};
    nb_source source[2];
    double table[20], *xs = read_only(x, sizeof x);
    nb_scene scene = scene_of_pointers(mask, source, table), *fixed;
    void *masks = read_only(mask, sizeof mask), *sources = read_only(source, sizeof source),
         *tables = read_only(table, sizeof table);
    nb_context *ctx = context_of(2);
    nb_simulator *sim = make(ctx, &scene, "misset");
    int ok = forward(sim, x, expected);

    nb_simulator_free(sim);
    scene.detector.mask = masks;
    scene.beam.source = sources;
    scene.background.stol = tables;
    fixed = read_only(&scene, sizeof scene);
    sim = make(ctx, fixed, "misset");
    ok &= forward(sim, xs, photons);
    tap_check(ok && same(photons, expected) && !is_dark(photons),
              "read-only pages give the same image");
    tap_check(memcmp((char *)fixed, (char *)&scene, sizeof scene) == 0
                  && memcmp((char *)xs, (const char *)x, sizeof x) == 0,
              "they are what they were");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    (void)munmap(masks, sizeof mask);
    (void)munmap(sources, sizeof source);
    (void)munmap(tables, sizeof table);
    (void)munmap(fixed, sizeof scene);
    (void)munmap(xs, sizeof x);
    return TAP_PASS;
}

/* a list like that of the scenes, with an amplitude more where there was a gap */
static nb_hkl *own_reflections(nb_context *ctx)
{
    enum { SIDE = 11 };
    static int hkl[SIDE * SIDE * SIDE][3];
    static double f[SIDE * SIDE * SIDE];
    nb_hkl *made;
    size_t n = 0;

    for (int h = -5; h <= 5; h++)
        for (int k = -5; k <= 5; k++)
            for (int l = -5; l <= 5; l++) {
                hkl[n][0] = h, hkl[n][1] = k, hkl[n][2] = l;
                f[n++] = 50 + 7 * h - 3 * k + l * l;
            }
    if (nb_hkl_create(ctx, n, hkl[0], f, &made) != NB_OK) abort();
    return made;
}

static int pointers_gone_after_create(void)
{
    static double expected[PIXELS], photons[PIXELS];
    nb_context *ctx = context_of(2);
    uint8_t *mask = malloc(PIXELS);
    nb_source *source = malloc(2 * sizeof *source);
    double *table = malloc(20 * sizeof *table);
    nb_scene *scene = malloc(sizeof *scene);
    nb_hkl *hkl = own_reflections(ctx);
    nb_simulator *first, *second;
    int ok;

    if (!mask || !source || !table || !scene) abort();
    *scene = scene_of_pointers(mask, source, table);
    scene->crystal.hkl = hkl;
    first = make(ctx, scene, "default_f");
    ok = forward(first, NULL, expected);
    second = make(ctx, scene, "default_f");
    memset(mask, 0, PIXELS);
    memset(source, 0xff, 2 * sizeof *source);
    memset(table, 0xff, 20 * sizeof *table);
    memset(scene, 0xff, sizeof *scene);
    free(mask);
    free(source);
    free(table);
    free(scene);
    nb_hkl_free(hkl);
    ok &= forward(second, NULL, photons);
    tap_check(ok && same(photons, expected) && !is_dark(photons),
              "one list in two simulators, freed before the second was used");
    ok = forward(first, NULL, photons);
    tap_check(ok && same(photons, expected), "and again by the first");
    nb_simulator_free(first);
    ok = forward(second, NULL, photons);
    tap_check(ok && same(photons, expected), "and when the first is gone");
    nb_simulator_free(second);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- one call after another ---- */
static int calls_leave_no_trace(void)
{
    static double a[PIXELS], b[PIXELS], again[PIXELS];
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++) {
        nb_context *ctx = context_of(2);
        const int isotropic = named.scene.crystal.mosaic[1] == 0;
        nb_simulator *sim = make(ctx, &named.scene,
                                 isotropic ? "misset distance mosaic default_f water"
                                           : "misset distance mosaic_a default_f water");
        double xa[7], xb[7];
        nb_param param;
        int ok = 1;

        for (size_t k = 0; k < nb_simulator_nparam(sim); k++) {
            ok &= nb_simulator_param(sim, k, &param) == NB_OK;
            xa[k] = param.value;
            xb[k] = param.value + 3 * param.scale;
        }
        ok &= forward(sim, xa, a) && forward(sim, xb, b) && forward(sim, xa, again);
        tap_check(ok && same(a, again) && bits_differ(a, b, PIXELS) > 0,
                  "%s: A, B, A gives A again", named.name);
        ok = forward(sim, NULL, again);
        tap_check(ok && same(a, again), "%s: no x is the x of the scene", named.name);
        nb_simulator_free(sim);
        nb_context_free(ctx);
    }
    return TAP_PASS;
}

static int two_simulators_in_turn(void)
{
    static double alone[2][PIXELS], photons[PIXELS];
    nb_context *ctx = context_of(2);
    nb_simulator *sim[2];
    struct named_scene pair[2];

    for (size_t i = 0;
         scenes_at(SCENES_FEATURES, i, pair) && scenes_at(SCENES_FEATURES, i + 1, pair + 1);
         i++) {
        int ok = 1;

        for (int k = 0; k < 2; k++) {
            sim[k] = make(ctx, &pair[k].scene, NULL);
            ok &= forward(sim[k], NULL, alone[k]);
            nb_simulator_free(sim[k]);
        }
        for (int k = 0; k < 2; k++) sim[k] = make(ctx, &pair[k].scene, NULL);
        for (int rotation = 0; rotation < 4; rotation++) {
            ok &= forward(sim[rotation % 2], NULL, photons)
                  && same(photons, alone[rotation % 2]);
        }
        tap_check(ok, "%s and %s in turn", pair[0].name, pair[1].name);
        nb_simulator_free(sim[0]);
        nb_simulator_free(sim[1]);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- progress ---- */
struct progress {
    int calls, stop_at, backwards, outside;
    double last;
};

static int watch(void *user, double fraction)
{
    struct progress *p = user;

    p->backwards += fraction < p->last;
    p->outside += !(fraction > 0 && fraction <= 1);
    p->last = fraction;
    return ++p->calls == p->stop_at;
}

static int progress_to_the_end(void)
{
    static double expected[PIXELS], photons[PIXELS];
    const nb_scene scene = scenes_base();

    for (int threads = 1; threads <= 4; threads++) {
        struct progress p = {0};
        nb_context_options options = {0};
        nb_context *ctx, *silent = context_of(threads);
        nb_simulator *sim = make(silent, &scene, NULL);
        int ok = forward(sim, NULL, expected);

        nb_simulator_free(sim);
        nb_context_free(silent);
        options.threads = threads;
        options.progress = watch;
        options.user = &p;
        ctx = context_with(&options);
        sim = make(ctx, &scene, NULL);
        tap_check(p.calls == 0, "making a simulator reports nothing");
        for (int k = 0; k < 20; k++) {
            p.last = 0;
            p.calls = 0;
            ok &= forward(sim, NULL, photons) && same(photons, expected);
            tap_check(ok && p.last == 1 && p.backwards == 0 && p.outside == 0,
                      "%d threads: %d reports, the last %g, %d backwards, %d outside 0 to "
                      "1",
                      threads, p.calls, p.last, p.backwards, p.outside);
        }
        nb_simulator_free(sim);
        nb_context_free(ctx);
    }
    return TAP_PASS;
}

static int cancelled_and_resumed(void)
{
    static double expected[PIXELS], photons[PIXELS];
    const nb_scene scene = scenes_base();

    for (int threads = 1; threads <= 2; threads++)
        for (int stop = 1; stop <= 3; stop++) {
            struct progress p = {0, 0, 0, 0, 0};
            nb_context_options options = {0};
            nb_array image = nb_array_f64(photons, NSLOW, NFAST);
            nb_context *ctx;
            nb_simulator *sim;
            int total, ok;

            options.threads = threads;
            options.progress = watch;
            options.user = &p;
            ctx = context_with(&options);
            sim = make(ctx, &scene, NULL);
            ok = forward(sim, NULL, expected);
            total = p.calls;
            /* how many reports there are depends on the threads; 1 is certain */
            p = (struct progress){0, threads == 1 ? stop : 1, 0, 0, 0};
            tap_check(ok && total >= p.stop_at
                          && nb_forward(sim, NULL, &image) == NB_ERR_CANCELLED
                          && strstr(nb_context_message(ctx), "stopped"),
                      "%d threads, stopped at report %d of %d", threads, p.stop_at, total);
            p = (struct progress){0};
            tap_check(forward(sim, NULL, photons) && same(photons, expected),
                      "the next call gives the whole image");
            nb_simulator_free(sim);
            nb_context_free(ctx);
        }
    return TAP_PASS;
}

/* ---- log and environment ---- */
struct lines {
    int count, warnings;
    char topic[32], last[256];
};

static void keep_line(void *user, int level, const char *topic, const char *line)
{
    struct lines *lines = user;

    lines->count++;
    lines->warnings += level == NB_LOG_WARNING;
    (void)snprintf(lines->topic, sizeof lines->topic, "%s", topic);
    (void)snprintf(lines->last, sizeof lines->last, "%s", line);
}

static int log_lines_arrive(void)
{
    struct lines lines = {0};
    nb_context_options options = {0};
    nb_scene scene = scenes_base();
    nb_context *ctx;
    nb_simulator *sim;

    options.log = keep_line;
    options.user = &lines;
    ctx = context_with(&options);
    tap_check(lines.count == 0, "a context has nothing to say");
    nb_scene_set_profile(&scene, NB_PROFILE_NANOBRAGG);
    scene.detector.thickness = 100; /* no attenuation depth: one is assumed */
    sim = make(ctx, &scene, NULL);
    tap_check(lines.warnings > 0 && strcmp(lines.topic, "detector") == 0
                  && !strchr(lines.last, '\n'),
              "%d lines, the last from '%s': %s", lines.count, lines.topic, lines.last);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

static const char *const variables[] = {"NANOBRAG_THREADS", "NANOBRAG_ISA",
                                        "NANOBRAGG_DISABLE_COMPILE",
                                        "NANOBRAG_DISABLE_COMPILE"};

/* a context made with one variable set */
static nb_context *context_under(const char *name, const char *value, struct lines *lines)
{
    nb_context_options options = {0};

    for (size_t i = 0; i < COUNT(variables); i++) (void)unsetenv(variables[i]);
    if (setenv(name, value, 1) != 0) abort();
    memset(lines, 0, sizeof *lines);
    options.log = keep_line;
    options.user = lines;
    return context_with(&options);
}

static int environment_threads(void)
{
    static const char *const nonsense[] = {"0",  "-2",       "many",
                                           "3x", "99999999", "99999999999999999999"};
    const int parallel = strstr(nb_features(), "openmp") != NULL;
    struct lines lines;
    nb_context *ctx = context_under("NANOBRAG_THREADS", "3", &lines);
    int usual;

    tap_check(nb_context_threads(ctx) == (parallel ? 3 : 1) && lines.count == 0,
              "3 gives %d threads", nb_context_threads(ctx));
    nb_context_free(ctx);
    ctx = context_of(2);
    tap_check(nb_context_threads(ctx) == (parallel ? 2 : 1), "an option of 2 beats it");
    nb_context_free(ctx);
    ctx = context_under("NANOBRAG_THREADS", "", &lines);
    usual = nb_context_threads(ctx);
    tap_check(lines.count == 0 && usual >= 1, "nothing is no warning: %d threads", usual);
    nb_context_free(ctx);
    for (size_t i = 0; i < COUNT(nonsense); i++) {
        ctx = context_under("NANOBRAG_THREADS", nonsense[i], &lines);
        tap_check(nb_context_threads(ctx) == usual && lines.warnings == 1
                      && strstr(lines.last, nonsense[i])
                      && strstr(lines.last, "NANOBRAG_THREADS"),
                  "warned: %s", lines.last);
        nb_context_free(ctx);
    }
    return TAP_PASS;
}

static int environment_isa(void)
{
    const nb_scene scene = scenes_base();
    const nb_options reference = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0};
    struct lines lines;
    nb_context *ctx = context_under("NANOBRAG_ISA", "v9", &lines);
    nb_simulator *sim;

    tap_check(nb_simulator_create(ctx, &scene, NULL, NULL, &sim) == NB_ERR_UNSUPPORTED
                  && strstr(nb_context_message(ctx), "NANOBRAG_ISA=v9"),
              "refused: %s", nb_context_message(ctx));
    tap_check(nb_simulator_create(ctx, &scene, NULL, &reference, &sim) == NB_OK,
              "the reference kernel does not mind");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    ctx = context_under("NANOBRAG_ISA", "", &lines);
    (void)setenv("NANOBRAG_ISA", "v9", 1);
    tap_check(nb_simulator_create(ctx, &scene, NULL, NULL, &sim) == NB_OK,
              "the environment counts when the context is made, not later");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

static int environment_compile(void)
{
    static const struct {
        const char *value;
        int disabled, warnings;
    } cases[] = {{"1", 1, 0}, {"0", 0, 0},    {"", 0, 0},   {"yes", 0, 1},
                 {"2", 0, 1}, {"true", 0, 1}, {" 1", 0, 1}, {"01", 0, 1}};

    for (size_t v = 2; v < COUNT(variables); v++)
        for (size_t i = 0; i < COUNT(cases); i++) {
            struct lines lines;
            nb_context *ctx = context_under(variables[v], cases[i].value, &lines);

            tap_check(ctx->env.disable_compile == cases[i].disabled
                          && lines.warnings == cases[i].warnings
                          && (!lines.warnings || strstr(lines.last, variables[v])),
                      "%s='%s': %d, %d warnings %s", variables[v], cases[i].value,
                      ctx->env.disable_compile, lines.warnings, lines.last);
            nb_context_free(ctx);
        }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"float_is_rounded_double", float_is_rounded_double},
        {"strided_outputs", strided_outputs},
        {"read_only_inputs", read_only_inputs},
        {"pointers_gone_after_create", pointers_gone_after_create},
        {"calls_leave_no_trace", calls_leave_no_trace},
        {"two_simulators_in_turn", two_simulators_in_turn},
        {"progress_to_the_end", progress_to_the_end},
        {"cancelled_and_resumed", cancelled_and_resumed},
        {"log_lines_arrive", log_lines_arrive},
        {"environment_threads", environment_threads},
        {"environment_isa", environment_isa},
        {"environment_compile", environment_compile},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
