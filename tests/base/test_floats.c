/*
 * test_floats.c - a caller may round in any direction, flush subnormal numbers to zero, or
 * have a pool of threads that does: images, derivatives and what is read from files have
 * the same bits, and the caller's environment is the same after each call.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "scene/probe.h"
#include "support/files.h"
#include "support/scenes.h"
#include "support/worst.h"

enum { THREADS = 3, PIXELS = 40 * 37, SHARE = PIXELS + 64 };

/* A floating-point environment that a caller may run in. */
struct mode {
    const char *name;
    int rounding;
    int flush; /* subnormal numbers are 0, where the processor has that */
};

static const struct mode modes[] = {
    {"to nearest", FE_TONEAREST, 0},    {"downward", FE_DOWNWARD, 0},
    {"upward", FE_UPWARD, 0},           {"toward zero", FE_TOWARDZERO, 0},
    {"flush to zero", FE_TONEAREST, 1},
};

static unsigned flushes(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & 0x8040;
#else
    return 0;
#endif
}

static void enter_here(const struct mode *mode)
{
    if (fesetround(mode->rounding) != 0) abort();
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~0x8040u)
                           | (mode->flush ? 0x8040u : 0));
#endif
}

/* Enters the mode on this thread and on those that OpenMP has for its loops. */
static void enter(const struct mode *mode)
{
    enter_here(mode);
#pragma omp parallel for num_threads(THREADS) schedule(static, 1)
    for (int i = 0; i < THREADS; i++) enter_here(mode);
}

static int is_in(const struct mode *mode)
{
    return fegetround() == mode->rounding && (flushes() != 0) == mode->flush;
}

static int is_every_thread_in(const struct mode *mode)
{
    int all = is_in(mode);

#pragma omp parallel for num_threads(THREADS) schedule(static, 1) reduction(&& : all)
    for (int i = 0; i < THREADS; i++) all = all && is_in(mode);
    return all;
}

/* Everything that one simulator computes: image, tangent, gradient, value and gradient of a
 * loss, and the diagonal of the normal matrix. Returns how many numbers. */
static size_t compute(nb_context *context, const nb_scene *scene, const nb_options *options,
                      const nb_array *observed, double *out)
{
    const char *names = "cell misset scale";
    const nb_target target = {.kind = NB_LOSS_GAUSS, .observed = observed};
    nb_array image = nb_array_f64(out, 37, 40), tangent;
    nb_normal normal = {0};
    nb_simulator *sim;
    double dx[64];
    size_t n;

    if (nb_simulator_create(context, scene, names, options, &sim) != NB_OK) abort();
    n = nb_simulator_nparam(sim);
    for (size_t i = 0; i < n; i++) dx[i] = i % 2 ? 0x1p-10 : 0x1p-12; /* exact */
    memset(out, 0, 3 * SHARE * sizeof *out);
    tangent = nb_array_f64(out + PIXELS, 37, 40);
    normal.gradient = out + 2 * PIXELS + n;
    normal.diagonal = normal.gradient + n;
    if (nb_forward(sim, NULL, &image) != NB_OK
        || nb_jvp(sim, NULL, 1, dx, &tangent) != NB_OK
        || nb_vjp(sim, NULL, 1, &image, out + (ptrdiff_t)2 * PIXELS) != NB_OK
        || nb_loss(sim, NULL, &target, normal.diagonal + n, &normal) != NB_OK)
        abort();
    nb_simulator_free(sim);
    return 2 * PIXELS + 3 * n + 1;
}

static void check_scene(nb_context *context, const struct named_scene *named, int strategy,
                        int precision)
{
    static double expected[3 * SHARE], found[3 * SHARE], photons[PIXELS];
    static const char *const strategies[] = {"auto", "reference", "lanes", "spots"};
    const nb_options options = {precision, strategy, 0};
    nb_array observed = nb_array_f64(photons, 37, 40);
    size_t wrong = 0, n = 0;
    int kept = 1;

    for (int i = 0; i < PIXELS; i++) photons[i] = i % 7;
    for (size_t m = 0; m < COUNT(modes); m++) {
        enter(modes + m);
        n = compute(context, &named->scene, &options, &observed, m ? found : expected);
        kept = kept && is_every_thread_in(modes + m);
        enter(modes);
        if (m > 0) wrong += bits_differ(found, expected, n);
    }
    tap_check(wrong == 0 && kept,
              "%s, %s, %s: %zu of %zu numbers differ, allowed 0; "
              "environment %s",
              named->name, strategies[strategy],
              precision == NB_PRECISION_SINGLE ? "float" : "double", wrong,
              n * (COUNT(modes) - 1), kept ? "kept" : "changed");
}

static int scenes(int precision)
{
    const nb_context_options how = {.threads = THREADS};
    struct named_scene named;
    nb_context *context;
    int checked = 0;

    if (nb_context_create(NB_API_VERSION, &how, &context) != NB_OK) abort();
    for (; scenes_at(SCENES_ROUNDING_MODES, (size_t)checked, &named); checked++) {
        check_scene(context, &named, NB_STRATEGY_REFERENCE, NB_PRECISION_DOUBLE);
        check_scene(context, &named, NB_STRATEGY_LANES, precision);
        if (strstr(named.name, "gauss"))
            check_scene(context, &named, NB_STRATEGY_SPOTS, precision);
    }
    nb_context_free(context);
    tap_check(checked >= 6, "%d scenes were tried, at least 6", checked);
    return TAP_PASS;
}

static int in_double(void)
{
    return scenes(NB_PRECISION_DOUBLE);
}

static int in_float(void)
{
    return scenes(NB_PRECISION_SINGLE);
}

/* strtod() rounds as the environment says. */
static int readers(void)
{
    static const char text[] = "1 2 3 0.1\n-1 0 2 12345.678901234567\n4 4 4 1e-3\n";
    const char *path = in_folder("three.hkl");
    double expected[3] = {0};

    put(path, text, strlen(text));
    for (size_t m = 0; m < COUNT(modes); m++) {
        nb_hkl *hkl;
        double f[3];

        enter(modes + m);
        check_ok(nb_hkl_read(ctx, path, &hkl), modes[m].name);
        tap_check(is_in(modes + m), "the environment is kept: %s", modes[m].name);
        enter(modes);
        nb_hkl_get(hkl, 1, 2, 3, f);
        nb_hkl_get(hkl, -1, 0, 2, f + 1);
        nb_hkl_get(hkl, 4, 4, 4, f + 2);
        nb_hkl_free(hkl);
        if (m == 0) memcpy(expected, f, sizeof f);
        tap_check(bits_same(f, expected, 3), "F is the same: %s", modes[m].name);
    }
    return TAP_PASS;
}

/* What a failed call leaves behind: the environment too. */
static int errors(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        nb_hkl *hkl;
        nb_status status;

        enter(modes + m);
        status = nb_hkl_read(ctx, in_folder("none"), &hkl);
        tap_check(status != NB_OK && is_in(modes + m), "after an error: %s", modes[m].name);
        enter(modes);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"in_double", in_double},
        {"in_float", in_float},
        {"readers", readers},
        {"errors", errors},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
