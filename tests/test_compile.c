/*
 * test_compile.c - compiled mode: what makes a plan and what does not, the same bits as
 * uncompiled, counters, schedules, tuning. Wisdom has a test of its own, donation too.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "compile/plan.h"
#include "compile/wisdom.h"
#include "simulator.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { NSLOW = 37, NFAST = 40, PIXELS = NSLOW * NFAST };

static nb_context *context_of(int compile, int threads)
{
    nb_context_options options = {0};
    nb_context *ctx;

    options.compile = compile;
    options.threads = threads;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    return ctx;
}

static nb_simulator *make(nb_context *ctx, const nb_scene *scene, const char *names,
                          int precision, int strategy)
{
    nb_options options = {0};
    nb_simulator *sim;

    options.precision = precision;
    options.strategy = strategy;
    if (nb_simulator_create(ctx, scene, names, &options, &sim) == NB_OK) return sim;
    tap_check(0, "no simulator: %s", nb_context_message(ctx));
    exit(1);
}

static nb_compile_stats stats_of(const nb_simulator *sim)
{
    nb_compile_stats stats;

    nb_simulator_stats(sim, &stats);
    return stats;
}

/* an image and, where parameters are free, the gradient of a sum over it, appended */
static size_t results(nb_simulator *sim, const double *x, double *out)
{
    static double weight[PIXELS];
    const size_t n = nb_nparam(sim);
    nb_array image = nb_array_f64(out, NSLOW, NFAST);
    const nb_array bar = nb_array_f64(weight, NSLOW, NFAST);

    for (int i = 0; i < PIXELS; i++) weight[i] = sin(0.37 * i);
    if (nb_forward(sim, x, &image) != NB_OK) exit(1);
    memset(out + PIXELS, 0, n * sizeof *out);
    if (n > 0 && nb_vjp(sim, x, 1, &bar, out + PIXELS) != NB_OK) exit(1);
    return PIXELS + n;
}

enum { MOST = PIXELS + 64 };

static double relative(const double *a, const double *b, size_t n)
{
    double off = 0, mean = 0;

    for (size_t i = 0; i < n; i++) off += fabs(a[i] - b[i]), mean += fabs(b[i]);
    return mean > 0 ? off / mean : off;
}

static int same(const double *a, const double *b, size_t n)
{
    return memcmp((const char *)a, (const char *)b, n * sizeof *a) == 0;
}

/* every scene, precision, strategy: images and gradients compiled and not */
static int same_as_uncompiled(void)
{
    static double with[MOST], without[MOST];

    for (size_t i = 0; i < scenes_count; i++)
        for (int way = 0; way < 4; way++) {
            const nb_scene scene = scenes_make(&scenes_list[i]);
            const int precision = way % 2 ? NB_SINGLE : NB_DOUBLE;
            const int strategy = way < 2 ? NB_LANES : NB_STRATEGY_AUTO;
            const char *names = scene.quirks & NB_QUIRK_CURVED ? NULL : "misset distance";
            nb_context *on = context_of(NB_COMPILE_ON, 2);
            nb_context *off = context_of(NB_COMPILE_OFF, 2);
            nb_simulator *a = make(on, &scene, names, precision, strategy);
            nb_simulator *b = make(off, &scene, names, precision, strategy);
            const size_t n = results(a, NULL, with);

            (void)results(b, NULL, without);
            tap_check(same(with, without, n) && stats_of(a).compiled_launches > 0
                          && stats_of(b).compiled_launches == 0,
                      "%s %s %s: relative mean difference %g, allowed the same bits",
                      scenes_list[i].name, precision == NB_SINGLE ? "float" : "double",
                      strategy == NB_LANES ? "lanes" : "auto", relative(with, without, n));
            nb_simulator_free(a);
            nb_simulator_free(b);
            nb_context_free(on);
            nb_context_free(off);
        }
    return TAP_PASS;
}

/* a crystal of one orientation, for which there are kernels of their own */
static nb_scene lone_scene(int shape, int with_f)
{
    nb_scene scene = scenes_base();

    scene.scan.nphi = 1;
    scene.scan.osc = 0;
    scene.crystal.ndomains = 1;
    scene.crystal.mosaic_spread = 0;
    scene.crystal.shape = shape;
    if (with_f != PHYS_CONSTANT)
        scene.crystal.hkl = scenes_reflections();
    else
        scene.crystal.hkl = NULL, scene.crystal.default_f = 100;
    scene.crystal.interpolate = with_f == PHYS_TRICUBIC ? NB_TRICUBIC : NB_NEAREST;
    return scene;
}

static int one_orientation(void)
{
    static const int shapes[] = {NB_SQUARE, NB_ROUND, NB_GAUSS, NB_TOPHAT, NB_GAUSS_STAR};
    static double with[MOST], without[MOST];

    for (size_t i = 0; i < COUNT(shapes) * PHYS_LOOKUPS * 2; i++) {
        const int lookup = (int)(i / 2) % PHYS_LOOKUPS;
        const nb_scene scene = lone_scene(shapes[i / 2 / PHYS_LOOKUPS], lookup);
        nb_context *on = context_of(NB_COMPILE_ON, 1), *off = context_of(NB_COMPILE_OFF, 1);
        nb_simulator *a = make(on, &scene, NULL, (int)(i % 2), NB_LANES);
        nb_simulator *b = make(off, &scene, NULL, (int)(i % 2), NB_LANES);

        (void)results(a, NULL, with);
        (void)results(b, NULL, without);
        tap_check(same(with, without, PIXELS) && strstr(nb_simulator_explain(a), "one-or"),
                  "shape %d, look-up %d, precision %d: the same bits by the kernel for one "
                  "orientation",
                  scene.crystal.shape, lookup, (int)(i % 2));
        nb_simulator_free(a);
        nb_simulator_free(b);
        nb_context_free(on);
        nb_context_free(off);
    }
    return TAP_PASS;
}

/* ---- what makes a plan ---- */

/* every continuous parameter that applies moves a little at each of 100 steps */
static int hundred_iterations(void)
{
    static double out[MOST];
    nb_scene scene = scenes_base();
    nb_context *ctx = context_of(NB_COMPILE_ON, 2);
    nb_simulator *sim;
    nb_compile_stats stats;
    double x[64];
    nb_param p;

    scene.crystal.b_factor = 3;
    sim = make(ctx, &scene,
               "cell misset ncells distance wavelength rotation fluence scale b_factor "
               "default_f",
               NB_DOUBLE, NB_STRATEGY_AUTO);
    for (int step = 0; step < 100; step++) {
        for (size_t i = 0; i < nb_nparam(sim); i++) {
            if (nb_param_at(sim, i, &p) != NB_OK) return 1;
            x[i] = p.value + 1e-4 * p.scale * step;
        }
        (void)results(sim, x, out);
    }
    stats = stats_of(sim);
    tap_check(stats.compiles == 2 && stats.misses == 2 && stats.hits == 198
                  && stats.recompiles == 0,
              "100 images and gradients while %zu parameters change: %llu plans (2 "
              "expected), found %llu times (198)",
              nb_nparam(sim), (unsigned long long)stats.compiles,
              (unsigned long long)stats.hits);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* one change of a scene and whether an image of it needs another plan */
struct change {
    const char *name;
    void (*make)(nb_scene *scene);
    int plans; /* 1: another */
};

static void change_cell(nb_scene *s)
{
    s->crystal.cell[0] *= 1.01;
}
static void change_misset(nb_scene *s)
{
    s->crystal.misset[1] += 3;
}
static void change_wavelength(nb_scene *s)
{
    s->beam.wavelength *= 1.02;
}
static void change_distance(nb_scene *s)
{
    s->detector.distance += 5;
}
static void change_size(nb_scene *s)
{
    s->crystal.ncells[0] += 1;
}
static void change_f(nb_scene *s)
{
    s->crystal.default_f *= 2;
}
static void change_b(nb_scene *s)
{
    s->crystal.b_factor += 7;
}
static void change_water(nb_scene *s)
{
    s->background.water = 0.1;
}
static void change_shape(nb_scene *s)
{
    s->crystal.shape = NB_ROUND;
}
static void change_table(nb_scene *s)
{
    s->crystal.hkl = scenes_reflections();
}
static void change_polar(nb_scene *s)
{
    s->oversample_polar = 1;
}
static void change_point(nb_scene *s)
{
    s->detector.point_pixel = 1;
}
static void change_domains(nb_scene *s)
{
    s->crystal.ndomains *= 4;
}
static void change_one_domain(nb_scene *s)
{
    s->crystal.ndomains += 1;
}
static void change_oversample(nb_scene *s)
{
    s->oversample += 2;
}

static void change_roi(nb_scene *s)
{
    int *roi = s->detector.roi;

    roi[0] = 1, roi[1] = NFAST - 1, roi[2] = 2, roi[3] = NSLOW - 1;
}

static void change_roi_size(nb_scene *s)
{
    int *roi = s->detector.roi;

    roi[0] = 0, roi[1] = 16, roi[2] = 0, roi[3] = 16;
}

static const struct change changes[] = {
    {"cell", change_cell, 0},
    {"orientation", change_misset, 0},
    {"wavelength", change_wavelength, 0},
    {"distance", change_distance, 0},
    {"number of cells", change_size, 0},
    {"structure factor", change_f, 0},
    {"B factor", change_b, 0},
    {"water", change_water, 0},
    {"place of the ROI", change_roi, 0},
    {"a domain more, the class the same", change_one_domain, 0},
    {"shape", change_shape, 1},
    {"table of F", change_table, 1},
    {"polarization of each sample", change_polar, 1},
    {"point pixels", change_point, 1},
    {"domains, another class", change_domains, 1},
    {"samples, another class", change_oversample, 1},
    {"pixels, another class", change_roi_size, 1},
};

static int guards(void)
{
    static double out[MOST];

    for (size_t i = 0; i < COUNT(changes); i++) {
        nb_scene scene = scenes_base(), other;
        nb_context *ctx = context_of(NB_COMPILE_ON, 1);
        nb_simulator *first, *second;
        nb_compile_stats stats;

        scene.crystal.hkl = NULL;
        scene.crystal.default_f = 100;
        scene.crystal.interpolate = NB_NEAREST;
        scene.crystal.ndomains =
            6; /* with two phi steps 12 orientations, of a class of 16 */
        scene.detector.distance = 100;
        other = scene;
        changes[i].make(&other);
        first = make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
        second = make(ctx, &other, NULL, NB_DOUBLE, NB_LANES);
        (void)results(first, NULL, out);
        (void)results(second, NULL, out);
        stats = stats_of(second);
        tap_check(stats.compiles == (uint64_t)changes[i].plans
                      && stats.hits == 1 - (uint64_t)changes[i].plans
                      && stats.recompiles == stats.compiles,
                  "%s: %llu plans, expected %d", changes[i].name,
                  (unsigned long long)stats.compiles, changes[i].plans);
        nb_simulator_free(first);
        nb_simulator_free(second);
        nb_context_free(ctx);
    }
    return TAP_PASS;
}

/* what is guarded beside the scene: operation, free parameters, precision, directions */
static int guards_of_calls(void)
{
    static double out[MOST], change[3][PIXELS];
    const nb_scene scene = scenes_base();
    nb_context *ctx = context_of(NB_COMPILE_ON, 1);
    nb_simulator *a = make(ctx, &scene, "misset", NB_DOUBLE, NB_LANES);
    nb_simulator *b = make(ctx, &scene, "misset", NB_DOUBLE, NB_LANES);
    nb_simulator *c = make(ctx, &scene, "cell", NB_DOUBLE, NB_LANES);
    nb_simulator *d = make(ctx, &scene, "misset", NB_SINGLE, NB_LANES);
    const double dx[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    nb_array images[3];

    for (int i = 0; i < 3; i++) images[i] = nb_array_f64(change[i], NSLOW, NFAST);
    (void)results(a, NULL, out);
    (void)results(b, NULL, out);
    (void)results(c, NULL, out);
    (void)results(d, NULL, out);
    tap_check(stats_of(a).compiles == 2, "image and gradient: two plans");
    tap_check(stats_of(b).compiles == 0 && stats_of(b).hits == 2,
              "another simulator of the same kind finds both");
    tap_check(stats_of(c).compiles == 1 && stats_of(c).hits == 1,
              "other parameters: the image's plan is found, the gradient's made");
    tap_check(stats_of(d).compiles == 2, "float: two plans more");
    if (nb_jvp(a, NULL, 1, dx, images) != NB_OK) return 1;
    if (nb_jvp(a, NULL, 3, dx, images) != NB_OK) return 1;
    if (nb_jvp(a, NULL, 3, dx, images) != NB_OK) return 1;
    tap_check(stats_of(a).compiles == 4 && stats_of(a).hits == 1,
              "one tangent and three: two plans, then found");
    tap_check(stats_of(a).plan_hash != stats_of(c).plan_hash, "plans have their hashes");
    nb_simulator_free(a);
    nb_simulator_free(b);
    nb_simulator_free(c);
    nb_simulator_free(d);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* picking what was built ahead of time is not limited; the oldest plan makes room */
static int more_than_the_cache(void)
{
    struct signature s;
    const struct plan *found;
    nb_context *ctx = context_of(NB_COMPILE_ON, 1);
    struct plan plan;
    int kept = 0;

    memset(&s, 0, sizeof s);
    for (uint32_t i = 0; i < PLAN_CACHE + 10; i++) {
        s.pixels = i;
        s.threads = 1;
        plan_estimate(&s, &plan);
        if (cache_add(ctx, &plan, &found) != NB_OK) return 1;
        s.pixels = 0;
        kept += cache_find(ctx, &s) != NULL; /* the first is used again and again */
    }
    tap_check(kept == PLAN_CACHE + 10, "the plan in use is kept: found %d of %d times",
              kept, PLAN_CACHE + 10);
    s.pixels = 1;
    tap_check(!cache_find(ctx, &s), "the one not used for longest is gone");
    s.pixels = PLAN_CACHE + 9;
    tap_check(cache_find(ctx, &s) != NULL, "the last is there");
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- purity ---- */

static int back_and_forth(void)
{
    static double a[MOST], b[MOST], again[MOST], alone[MOST];

    for (size_t i = 0; i < scenes_count; i++) {
        const nb_scene scene = scenes_make(&scenes_list[i]);
        const char *names = scene.quirks & NB_QUIRK_CURVED ? NULL : "misset";
        const double x[3] = {10, 20, 30}, other[3] = {11, 19, 33};
        nb_context *ctx = context_of(NB_COMPILE_ON, 2), *own = context_of(NB_COMPILE_ON, 2);
        nb_simulator *sim = make(ctx, &scene, names, NB_DOUBLE, NB_STRATEGY_AUTO);
        nb_simulator *one = make(own, &scene, names, NB_DOUBLE, NB_STRATEGY_AUTO);
        const size_t n = results(sim, names ? x : NULL, a);
        nb_array image = nb_array_f64(alone, NSLOW, NFAST);

        (void)results(sim, names ? other : NULL, b);
        (void)results(sim, names ? x : NULL, again);
        if (nb_forward(one, names ? x : NULL, &image) != NB_OK) return 1;
        tap_check(same(a, again, n) && same(a, alone, PIXELS)
                      && (!names || !same(a, b, PIXELS)),
                  "%s: A, B, A; image and gradient in turn, and the image alone",
                  scenes_list[i].name);
        nb_simulator_free(sim);
        nb_simulator_free(one);
        nb_context_free(ctx);
        nb_context_free(own);
    }
    return TAP_PASS;
}

/* ---- schedules ---- */

/* blocks and threads change no bit */
static int any_schedule(void)
{
    static double first[PIXELS], photons[PIXELS];
    const nb_scene scene = scenes_base();
    nb_context *ctx = context_of(NB_COMPILE_ON, 4);

    for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++) {
        nb_simulator *sim = make(ctx, &scene, NULL, precision, NB_LANES);
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
                differ += n > 0 && !same(first, photons, PIXELS);
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
    static double with[MOST], without[MOST];
    char folder[256];
    const nb_scene scene = scenes_base();
    nb_context *off = context_of(NB_COMPILE_OFF, 2), *on, *again;
    nb_simulator *a, *b, *c;
    size_t n;

    own_folder(folder, sizeof folder);
    on = context_of(NB_COMPILE_TUNE, 2);
    again = context_of(NB_COMPILE_ON, 2);
    a = make(on, &scene, "misset", NB_DOUBLE, NB_LANES);
    b = make(off, &scene, "misset", NB_DOUBLE, NB_LANES);
    c = make(again, &scene, "misset", NB_DOUBLE, NB_LANES);
    n = results(a, NULL, with);
    (void)results(b, NULL, without);
    tap_check(same(with, without, n), "tuned plans give the same bits");
    tap_check(strstr(nb_simulator_explain(a), "(measured)") != NULL, "explained: %s",
              nb_simulator_explain(a));
    tap_check(stats_of(a).compiles == 2 && stats_of(a).compiled_launches == 2,
              "rehearsals are not counted: %llu launches",
              (unsigned long long)stats_of(a).compiled_launches);
    n = results(c, NULL, with);
    tap_check(same(with, without, n) && strstr(nb_simulator_explain(c), "(measured)"),
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
    static double first[MOST], second[MOST];
    char folder[256];
    nb_scene scene = lone_scene(NB_GAUSS, PHYS_NEAREST);
    nb_description about;
    nb_context *ctx, *other;
    nb_simulator *a, *b, *c;
    int strategy;

    scene.scan.nphi = 8;
    scene.scan.osc = 1;
    own_folder(folder, sizeof folder);
    ctx = context_of(NB_COMPILE_TUNE, 2);
    other = context_of(NB_COMPILE_TUNE, 2);
    a = make(ctx, &scene, NULL, NB_DOUBLE, NB_STRATEGY_AUTO);
    b = make(other, &scene, NULL, NB_DOUBLE, NB_STRATEGY_AUTO);
    c = make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
    if (nb_describe(a, NULL, &about) != NB_OK) return 1;
    strategy = about.strategy;
    tap_note("strategy %d: %s", strategy, about.strategy_why);
    if (nb_describe(b, NULL, &about) != NB_OK) return 1;
    tap_check(about.strategy == strategy,
              "another context of the process: the same strategy");
    (void)results(a, NULL, first);
    (void)results(b, NULL, second);
    tap_check(same(first, second, PIXELS), "and the same bits");
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
    static double with[MOST], without[MOST], again[MOST];
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
    on = context_of(NB_COMPILE_TUNE, 1);
    (void)unsetenv("NANOBRAG_COMPILE_TIMEOUT");
    off = context_of(NB_COMPILE_OFF, 1);
    b = make(off, &scene, NULL, NB_DOUBLE, NB_LANES);
    (void)results(b, NULL, without);
    a = make(on, &scene, NULL, NB_DOUBLE, NB_LANES);
    (void)results(a, NULL, with);
    gap = relative(with, without, PIXELS);
    tap_check(gap <= 1e-13,
              "measured transforms: relative mean difference %g, allowed 1e-13", gap);
    c = make(off, &scene, NULL, NB_DOUBLE, NB_LANES);
    (void)results(c, NULL, again);
    tap_check(same(again, without, PIXELS),
              "what tuning found changes no bit of a simulator that does not tune");
    nb_simulator_free(c);
    c = make(on, &scene, NULL, NB_DOUBLE, NB_LANES);
    (void)results(c, NULL, again);
    tap_check(same(again, with, PIXELS), "and a second one that tunes gives the same bits");
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
    static double out[MOST];
    const nb_scene scene = scenes_base();

    for (size_t v = 0; v < COUNT(names); v++)
        for (int compile = NB_COMPILE_ON; compile <= NB_COMPILE_TUNE; compile++) {
            char folder[256];
            nb_context *ctx;
            nb_simulator *sim;
            nb_compile_stats s;

            own_folder(folder, sizeof folder);
            (void)setenv(names[v], "1", 1);
            ctx = context_of(compile, 2);
            (void)unsetenv(names[v]);
            sim = make(ctx, &scene, "misset", NB_DOUBLE, NB_STRATEGY_AUTO);
            (void)results(sim, NULL, out);
            s = stats_of(sim);
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
    nb_context *ctx = context_of(NB_COMPILE_REQUIRE, 1);
    static double out[MOST];

    sim = make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
    (void)results(sim, NULL, out);
    tap_check(stats_of(sim).compiled_launches == 1, "lanes run compiled");
    nb_simulator_free(sim);
    options.strategy = NB_REFERENCE;
    tap_check(nb_simulator_create(ctx, &scene, NULL, &options, &sim) == NB_ERR_UNSUPPORTED
                  && strstr(nb_context_message(ctx), "NB_REFERENCE"),
              "the reference kernel is refused: %s", nb_context_message(ctx));
    nb_context_free(ctx);
    (void)setenv("NANOBRAGG_DISABLE_COMPILE", "1", 1);
    ctx = context_of(NB_COMPILE_REQUIRE, 1);
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
    static double out[MOST];
    static uint16_t counts[PIXELS];
    const nb_scene scene = scenes_base();
    const nb_digitizer how = {.scale = 1};
    nb_context *ctx = context_of(NB_COMPILE_ON, 1);
    nb_simulator *sim = make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
    nb_array image = nb_array_f64(out, NSLOW, NFAST);
    nb_array to = nb_array_u16(counts, NSLOW, NFAST);
    nb_statistics statistics;
    uint64_t launches;

    (void)results(sim, NULL, out);
    launches = ctx->launches;
    if (nb_digitize(sim, &how, &image, &to) != NB_OK) return 1;
    if (nb_statistics_get(sim, NULL, &image, &statistics) != NB_OK) return 1;
    tap_check(ctx->launches == launches && stats_of(sim).compiled_launches == 1,
              "counts and statistics launch no kernel");
    tap_check(stats_of(sim).captures + stats_of(sim).replays + stats_of(sim).skips == 0,
              "no graph on a CPU");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* what tuning found can not be written: the call goes on, or NANOBRAG_STRICT=1 ends it */
static int fallback(void)
{
    static double out[MOST];
    const nb_scene scene = scenes_base();
    nb_context *ctx;
    nb_simulator *sim;
    nb_array image = nb_array_f64(out, NSLOW, NFAST);
    nb_status status;

    wisdom_forget();
    (void)setenv("NANOBRAG_CACHE_DIR", "/dev/null/nowhere", 1);
    ctx = context_of(NB_COMPILE_TUNE, 2);
    sim = make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
    (void)results(sim, NULL, out);
    tap_check(stats_of(sim).fallbacks > 0 && stats_of(sim).compiled_launches == 1,
              "%llu fallbacks, and the image is there",
              (unsigned long long)stats_of(sim).fallbacks);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    wisdom_forget();
    (void)setenv("NANOBRAG_STRICT", "1", 1);
    ctx = context_of(NB_COMPILE_TUNE, 2);
    (void)unsetenv("NANOBRAG_STRICT");
    (void)unsetenv("NANOBRAG_CACHE_DIR");
    sim = make(ctx, &scene, NULL, NB_DOUBLE, NB_LANES);
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
        {"same_as_uncompiled", same_as_uncompiled},
        {"one_orientation", one_orientation},
        {"hundred_iterations", hundred_iterations},
        {"guards", guards},
        {"guards_of_calls", guards_of_calls},
        {"more_than_the_cache", more_than_the_cache},
        {"back_and_forth", back_and_forth},
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
