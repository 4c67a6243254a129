/*
 * test_compile.c - compiled mode makes a new plan only where one is needed, gives the same
 * bits as uncompiled, and counts what it does. Tuning, its cache and donation have tests of
 * their own.
 *
 * SPDX-License-Identifier: MIT
 */
#define _DEFAULT_SOURCE // NOLINT(readability-identifier-naming): MAP_ANONYMOUS
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <nanobrag/nanobrag.h>

#include "compile/plan.h"
#include "simulator.h"
#include "support/compiled.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* every scene, precision, strategy: images and gradients compiled and not */
static int same_as_uncompiled(void)
{
    static double with[COMPILED_MOST], without[COMPILED_MOST];
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++)
        for (int way = 0; way < 4; way++) {
            const int precision = way % 2 ? NB_PRECISION_SINGLE : NB_PRECISION_DOUBLE;
            const int strategy = way < 2 ? NB_STRATEGY_LANES : NB_STRATEGY_AUTO;
            const char *names =
                named.scene.quirks & NB_QUIRK_CURVED ? NULL : "misset distance";
            nb_context *on = compiled_context(NB_COMPILE_ON, 2);
            nb_context *off = compiled_context(NB_COMPILE_OFF, 2);
            nb_simulator *a = compiled_make(on, &named.scene, names, precision, strategy);
            nb_simulator *b = compiled_make(off, &named.scene, names, precision, strategy);
            const size_t n = compiled_results(a, NULL, with);

            (void)compiled_results(b, NULL, without);
            tap_check(bits_same(with, without, n) && compiled_stats(a).compiled_launches > 0
                          && compiled_stats(b).compiled_launches == 0,
                      "%s %s %s: relative mean difference %g, allowed the same bits",
                      named.name, precision == NB_PRECISION_SINGLE ? "float" : "double",
                      strategy == NB_STRATEGY_LANES ? "lanes" : "auto",
                      compiled_relative(with, without, n));
            nb_simulator_free(a);
            nb_simulator_free(b);
            nb_context_free(on);
            nb_context_free(off);
        }
    return TAP_PASS;
}

static int one_orientation(void)
{
    static const int shapes[] = {NB_SHAPE_SQUARE, NB_SHAPE_ROUND, NB_SHAPE_GAUSS,
                                 NB_SHAPE_TOPHAT, NB_SHAPE_GAUSS_STAR};
    static double with[COMPILED_MOST], without[COMPILED_MOST];

    for (size_t i = 0; i < COUNT(shapes) * PHYS_LOOKUPS * 2; i++) {
        const int lookup = (int)(i / 2) % PHYS_LOOKUPS;
        const nb_scene scene = compiled_lone(shapes[i / 2 / PHYS_LOOKUPS], lookup);
        nb_context *on = compiled_context(NB_COMPILE_ON, 1),
                   *off = compiled_context(NB_COMPILE_OFF, 1);
        nb_simulator *a = compiled_make(on, &scene, NULL, (int)(i % 2), NB_STRATEGY_LANES);
        nb_simulator *b = compiled_make(off, &scene, NULL, (int)(i % 2), NB_STRATEGY_LANES);

        (void)compiled_results(a, NULL, with);
        (void)compiled_results(b, NULL, without);
        tap_check(bits_same(with, without, COMPILED_PIXELS)
                      && strstr(nb_simulator_explain(a), "one-or"),
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
    static double out[COMPILED_MOST];
    nb_scene scene = scenes_base();
    nb_context *ctx = compiled_context(NB_COMPILE_ON, 2);
    nb_simulator *sim;
    nb_compile_stats stats;
    double x[64];
    nb_param p;

    scene.crystal.b_factor = 3;
    sim = compiled_make(ctx, &scene,
                        "cell misset ncells distance wavelength rotation fluence scale "
                        "b_factor "
                        "default_f",
                        NB_PRECISION_DOUBLE, NB_STRATEGY_AUTO);
    for (int step = 0; step < 100; step++) {
        for (size_t i = 0; i < nb_simulator_nparam(sim); i++) {
            if (nb_simulator_param(sim, i, &p) != NB_OK) return 1;
            x[i] = p.value + 1e-4 * p.scale * step;
        }
        (void)compiled_results(sim, x, out);
    }
    stats = compiled_stats(sim);
    tap_check(stats.compiles == 2 && stats.misses == 2 && stats.hits == 198
                  && stats.recompiles == 0,
              "100 images and gradients while %zu parameters change: %llu plans (2 "
              "expected), found %llu times (198)",
              nb_simulator_nparam(sim), (unsigned long long)stats.compiles,
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
    s->crystal.shape = NB_SHAPE_ROUND;
}
static void change_lookup(nb_scene *s)
{
    s->crystal.hkl = scenes_reflections();
    s->crystal.interpolate = NB_LOOKUP_TRICUBIC;
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

static void change_curved(nb_scene *s)
{
    s->detector.curved = 1;
}
static void change_quirk(nb_scene *s)
{
    s->quirks = NB_QUIRK_TWOTHETA_DISTANCE;
}
static void change_thick(nb_scene *s)
{
    s->oversample_thick = 1;
}
static void change_omega(nb_scene *s)
{
    s->oversample_omega = 1;
}
static void change_unpolarised(nb_scene *s)
{
    s->beam.unpolarised = 1;
}

static void change_mask(nb_scene *s)
{
    static uint8_t mask[COMPILED_PIXELS];

    memset(mask, 1, sizeof mask);
    s->detector.mask = mask;
}

static void change_spread(nb_scene *s)
{
    s->psf.kind = NB_PSF_GAUSS;
    s->psf.fwhm = s->detector.pixel;
}

static void change_sources(nb_scene *s)
{
    s->beam.dispersion = 0.01;
    s->beam.ndispersion = 3;
}

static void change_roi(nb_scene *s)
{
    int *roi = s->detector.roi;

    roi[0] = 1, roi[1] = COMPILED_FAST - 1, roi[2] = 2, roi[3] = COMPILED_SLOW - 1;
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
    {"curved detector", change_curved, 1},
    {"a quirk", change_quirk, 1},
    {"capture of each sample", change_thick, 1},
    {"solid angle of each sample", change_omega, 1},
    {"no polarization", change_unpolarised, 1},
    {"a mask", change_mask, 1},
    {"a point spread", change_spread, 1},
    {"sources", change_sources, 1},
    {"table of F", change_table, 1},
    {"interpolated F", change_lookup, 1},
    {"polarization of each sample", change_polar, 1},
    {"point pixels", change_point, 1},
    {"domains, another class", change_domains, 1},
    {"samples, another class", change_oversample, 1},
    {"pixels, another class", change_roi_size, 1},
};

static int guards(void)
{
    static double out[COMPILED_MOST];

    for (size_t i = 0; i < COUNT(changes); i++) {
        nb_scene scene = scenes_base(), other;
        nb_context *ctx = compiled_context(NB_COMPILE_ON, 1);
        nb_simulator *first, *second;
        nb_compile_stats stats;

        scene.crystal.hkl = NULL;
        scene.crystal.default_f = 100;
        scene.crystal.interpolate = NB_LOOKUP_NEAREST;
        scene.crystal.ndomains =
            6; /* with two phi steps 12 orientations, of a class of 16 */
        scene.detector.distance = 100;
        other = scene;
        changes[i].make(&other);
        if (other.psf.kind != NB_PSF_NONE && !strstr(nb_features(), "fftw")) continue;
        first = compiled_make(ctx, &scene, NULL, NB_PRECISION_DOUBLE, NB_STRATEGY_LANES);
        second = compiled_make(ctx, &other, NULL, NB_PRECISION_DOUBLE, NB_STRATEGY_LANES);
        (void)compiled_results(first, NULL, out);
        (void)compiled_results(second, NULL, out);
        stats = compiled_stats(second);
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
    static double out[COMPILED_MOST], change[3][COMPILED_PIXELS];
    const nb_scene scene = scenes_base();
    nb_context *ctx = compiled_context(NB_COMPILE_ON, 1);
    nb_simulator *a =
        compiled_make(ctx, &scene, "misset", NB_PRECISION_DOUBLE, NB_STRATEGY_LANES);
    nb_simulator *b =
        compiled_make(ctx, &scene, "misset", NB_PRECISION_DOUBLE, NB_STRATEGY_LANES);
    nb_simulator *c =
        compiled_make(ctx, &scene, "cell", NB_PRECISION_DOUBLE, NB_STRATEGY_LANES);
    nb_simulator *d =
        compiled_make(ctx, &scene, "misset", NB_PRECISION_SINGLE, NB_STRATEGY_LANES);
    const double dx[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    nb_array images[3];

    for (int i = 0; i < 3; i++)
        images[i] = nb_array_f64(change[i], COMPILED_SLOW, COMPILED_FAST);
    (void)compiled_results(a, NULL, out);
    (void)compiled_results(b, NULL, out);
    (void)compiled_results(c, NULL, out);
    (void)compiled_results(d, NULL, out);
    tap_check(compiled_stats(a).compiles == 2, "image and gradient: two plans");
    tap_check(compiled_stats(b).compiles == 0 && compiled_stats(b).hits == 2,
              "another simulator of the same kind finds both");
    tap_check(compiled_stats(c).compiles == 1 && compiled_stats(c).hits == 1,
              "other parameters: the image's plan is found, the gradient's made");
    tap_check(compiled_stats(d).compiles == 2, "float: two plans more");
    if (nb_jvp(a, NULL, 1, dx, images) != NB_OK) return 1;
    if (nb_jvp(a, NULL, 3, dx, images) != NB_OK) return 1;
    if (nb_jvp(a, NULL, 3, dx, images) != NB_OK) return 1;
    tap_check(compiled_stats(a).compiles == 4 && compiled_stats(a).hits == 1,
              "one tangent and three: two plans, then found");
    tap_check(compiled_stats(a).plan_hash != compiled_stats(c).plan_hash,
              "plans have their hashes");
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
    nb_context *ctx = compiled_context(NB_COMPILE_ON, 1);
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
    static double a[COMPILED_MOST], b[COMPILED_MOST], again[COMPILED_MOST],
        alone[COMPILED_MOST];
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++) {
        const char *names = named.scene.quirks & NB_QUIRK_CURVED ? NULL : "misset";
        const double x[3] = {10, 20, 30}, other[3] = {11, 19, 33};
        nb_context *ctx = compiled_context(NB_COMPILE_ON, 2),
                   *own = compiled_context(NB_COMPILE_ON, 2);
        nb_simulator *sim =
            compiled_make(ctx, &named.scene, names, NB_PRECISION_DOUBLE, NB_STRATEGY_AUTO);
        nb_simulator *one =
            compiled_make(own, &named.scene, names, NB_PRECISION_DOUBLE, NB_STRATEGY_AUTO);
        const size_t n = compiled_results(sim, names ? x : NULL, a);
        nb_array image = nb_array_f64(alone, COMPILED_SLOW, COMPILED_FAST);

        (void)compiled_results(sim, names ? other : NULL, b);
        (void)compiled_results(sim, names ? x : NULL, again);
        if (nb_forward(one, names ? x : NULL, &image) != NB_OK) return 1;
        tap_check(bits_same(a, again, n) && bits_same(a, alone, COMPILED_PIXELS)
                      && (!names || 0 < bits_differ(a, b, COMPILED_PIXELS)),
                  "%s: A, B, A; image and gradient in turn, and the image alone",
                  named.name);
        nb_simulator_free(sim);
        nb_simulator_free(one);
        nb_context_free(ctx);
        nb_context_free(own);
    }
    return TAP_PASS;
}

/* ---- read-only memory, and time ---- */

static void *read_only(const void *from, size_t n)
{
    void *pages = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED) abort();
    memcpy(pages, from, n);
    if (mprotect(pages, n, PROT_READ) != 0) abort();
    return pages;
}

/* parameters, directions and cotangents are only read, by every call */
static int read_only_inputs(void)
{
    static double image[COMPILED_PIXELS], observed[COMPILED_PIXELS];
    const nb_scene scene = scenes_base();
    const double x[3] = {11, -30, 70};
    double *at = read_only(x, sizeof x), gradient[3] = {0}, matrix[9] = {0}, value;
    nb_context *ctx = compiled_context(NB_COMPILE_ON, 2);
    nb_simulator *sim =
        compiled_make(ctx, &scene, "misset", NB_PRECISION_DOUBLE, NB_STRATEGY_AUTO);
    nb_array to = nb_array_f64(image, COMPILED_SLOW, COMPILED_FAST), bar;
    nb_normal normal = {matrix, NULL, NULL, gradient};
    nb_target target = {.kind = NB_LOSS_GAUSS, .observed = &bar};

    for (int i = 0; i < COMPILED_PIXELS; i++) observed[i] = sin(i);
    bar = nb_array_f64(read_only(observed, sizeof observed), COMPILED_SLOW, COMPILED_FAST);
    for (int round = 0; round < 2; round++)
        tap_check(nb_forward(sim, at, &to) == NB_OK
                      && nb_vjp(sim, at, 1, &bar, gradient) == NB_OK
                      && nb_jvp(sim, at, 1, at, &to) == NB_OK
                      && nb_jtj(sim, at, &bar, &bar, &normal) == NB_OK
                      && nb_loss(sim, at, &target, &value, &normal) == NB_OK,
                  "five calls on read-only pages, %s",
                  round ? "on plans found" : "making plans");
    tap_check(compiled_stats(sim).compiled_launches >= 10, "all of them compiled");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    (void)munmap(at, sizeof x);
    (void)munmap(bar.data, sizeof observed);
    return TAP_PASS;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static nb_status call(nb_simulator *sim, int gradient, const double *x)
{
    static double image[COMPILED_PIXELS], bar[64];
    nb_array array = nb_array_f64(image, COMPILED_SLOW, COMPILED_FAST);

    return gradient ? nb_vjp(sim, x, 1, &array, bar) : nb_forward(sim, x, &array);
}

/* Microseconds of an image, its gradient in ten parameters, or (2) in 21 with a list of F,
 * all of which is masked: what a call costs beyond its pixels. That of one call in ten: the
 * others may have been interrupted. */
enum { CALLS = 401 };

static double call_time(int compile, int orientations, int gradient, double *first,
                        nb_compile_stats *stats)
{
    static const uint8_t mask[COMPILED_PIXELS];
    static double took[CALLS];
    nb_scene scene = scenes_base();
    nb_context *ctx = compiled_context(compile, 1);
    nb_simulator *sim;
    static const char *const names[] = {"cell misset distance", "cell misset distance",
                                        "cell misset ncells distance wavelength rotation "
                                        "fluence scale b_factor default_f"};
    double x[64] = {0};
    nb_param p;

    scene.scan.nphi = 1;
    scene.crystal.ndomains = orientations;
    scene.detector.mask = mask;
    if (gradient == 2) scene.crystal.hkl = scenes_reflections();
    sim =
        compiled_make(ctx, &scene, names[gradient], NB_PRECISION_DOUBLE, NB_STRATEGY_LANES);
    for (size_t i = 0; i < nb_simulator_nparam(sim); i++) {
        if (nb_simulator_param(sim, i, &p) != NB_OK) exit(1);
        x[i] = p.value;
    }
    for (int i = 0; i < CALLS; i++) {
        struct timespec start, end;

        x[0] += 1e-6;
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
        if (call(sim, gradient, x) != NB_OK) exit(1);
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        took[i] = 1e6 * (double)(end.tv_sec - start.tv_sec)
                  + 1e-3 * (double)(end.tv_nsec - start.tv_nsec);
    }
    *first = took[0];
    *stats = compiled_stats(sim);
    qsort(took, CALLS, sizeof *took, by_size);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return took[CALLS / 10];
}

/* One plan serves all calls, for 1 and 100 orientations; what a call on it takes and the
 * first, which makes it, is printed. */
static int overhead(void)
{
    nb_compile_stats stats;
    double unused;

    for (int i = 0; i < 4; i++) {
        const int n = i % 2 ? 100 : 1, gradient = i / 2;
        const char *what = gradient ? "gradient" : "image";
        double first, first_off;
        nb_compile_stats uncompiled;
        const double on = call_time(NB_COMPILE_ON, n, gradient, &first, &stats);
        const double off = call_time(NB_COMPILE_OFF, n, gradient, &first_off, &uncompiled);

        tap_note("%s, %d orientations, beyond the pixels: first %.1f us, then %.1f us; "
                 "uncompiled %.1f us, then %.1f us",
                 what, n, first, on, first_off, off);
        tap_check(stats.compiles == 1 && stats.misses == 1 && stats.hits == CALLS - 1
                      && stats.fallbacks == 0,
                  "%s: %d plan, found %d times of %d", what, (int)stats.compiles,
                  (int)stats.hits, (int)CALLS);
        tap_check(uncompiled.compiles == 0 && uncompiled.hits == 0, "uncompiled: %d plans",
                  (int)uncompiled.compiles);
    }
    tap_note("gradient in 21 parameters, 100 orientations, a list of F: %.1f us, not "
             "judged",
             call_time(NB_COMPILE_ON, 100, 2, &unused, &stats));
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
        {"read_only", read_only_inputs},
        {"overhead", overhead},
    };

    compiled_environment();
    return tap_main(argc, argv, cases, COUNT(cases));
}
