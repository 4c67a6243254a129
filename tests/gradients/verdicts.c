/*
 * verdicts.c - the harness itself: each verdict where it is due, the guard against compiled
 * kernels, and the scenes that it refuses.
 *
 * SPDX-License-Identifier: MIT
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "base/context.h"
#include "check/verdict_text.h"
#include "gradients/gradients.h"
#include "gradients/harness.h"
#include "simulator.h"
#include "support/scenes.h"
#include "support/worst.h"

#ifdef NANOBRAG_CJSON
#include <cjson/cJSON.h>
#endif

struct found {
    nb_status status;
    nb_gradcheck_summary summary;
    nb_gradcheck_row row[80];
    char message[200];
};

static struct found run(nb_context *ctx, const nb_scene *scene, const char *names)
{
    const nb_options options = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0};
    struct found found;
    nb_simulator *sim;

    memset(&found, 0, sizeof found);
    if (nb_simulator_create(ctx, scene, names, &options, &sim) != NB_OK) abort();
    if (nb_gradcheck_rows(sim, NULL) > LENGTH(found.row)) abort();
    found.status = nb_gradcheck(sim, NULL, NULL, NULL, found.row, &found.summary);
    (void)snprintf(found.message, sizeof found.message, "%s", nb_context_message(ctx));
    nb_simulator_free(sim);
    return found;
}

static void expect(const char *what, const struct found *found, int verdict)
{
    tap_check(found->status == NB_OK && found->row[0].verdict == verdict,
              "%s: %s, expected %s", what, nb_verdict_name(found->row[0].verdict),
              nb_verdict_name(verdict));
}

/* a dark image is no proof of anything */
int verdict_vacuous(void)
{
    nb_context *ctx = harness_context();
    nb_scene scene = modes_base();
    struct found found;

    scene.crystal.default_f = 0;
    found = run(ctx, &scene, "cell misset distance");
    for (int i = 0; i < 7 * NB_GRADCHECK_LOSSES; i++)
        tap_check(found.row[i].verdict == NB_VERDICT_FAIL_VACUOUS, "%s of a dark image: %s",
                  found.row[i].param.name, nb_verdict_name(found.row[i].verdict));
    tap_check(found.summary.verdict == NB_VERDICT_FAIL_VACUOUS, "as a whole: %s, %s",
              nb_verdict_name(found.summary.verdict), found.summary.message);
    scene.background.water = 50; /* the image is bright, the crystal still dark */
    found = run(ctx, &scene, "misset_x");
    expect("misset of a dark crystal under water", &found, NB_VERDICT_FAIL_VACUOUS);
    nb_context_free(ctx);
    return TAP_PASS;
}

int verdict_staircase(void)
{
    nb_context *ctx = harness_context();
    nb_scene scene = modes_base();
    struct found found;

    scene.quirks = NB_QUIRK_MOSAIC_F32;
    found = run(ctx, &scene, "mosaic");
    expect("mosaic spread rounded to float", &found, NB_VERDICT_FAIL_STAIRCASE);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* A few pixels beside the direct beam hardly depend on the polarization: nine values of it
 * give the same bits, which is no proof that they are without rounding. */
int verdict_rounding(void)
{
    nb_context *ctx = harness_context();
    nb_scene scene = modes_base();
    int conclusive = 0;

    scene.detector.roi[0] = scene.detector.roi[2] = 7;
    scene.detector.roi[1] = scene.detector.roi[3] = 9;
    for (double distance = 1e2; distance < 1e7; distance *= 2) {
        struct found found;

        scene.detector.distance = distance;
        found = run(ctx, &scene, "polarization");
        for (int i = 0; i < NB_GRADCHECK_LOSSES; i++) {
            const int verdict = found.row[i].verdict;

            conclusive += verdict == NB_VERDICT_PASS;
            tap_check(verdict != NB_VERDICT_FAIL_VALUE,
                      "%g mm, loss %s: %s, off by %.2g of what is allowed", distance,
                      nb_gradcheck_loss_name(i), nb_verdict_name(verdict),
                      fabs(found.row[i].vjp - found.row[i].fd) / found.row[i].tolerance);
        }
    }
    tap_check(conclusive > 0, "%d of them pass", conclusive);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* one pixel, exactly between two reflections: not smooth at any step */
int verdict_mask(void)
{
    nb_context *ctx = harness_context();
    nb_scene scene = modes_base();
    nb_pixel_trace trace;
    nb_simulator *sim;
    struct found found;

    for (int i = 0; i < 6; i++) scene.crystal.cell[i] = i < 3 ? 40 : 90;
    scene.crystal.hkl = scenes_reflections();
    scene.crystal.interpolate = NB_LOOKUP_NEAREST;
    scene.crystal.mosaic[0] = scene.scan.osc = scene.scan.phi0 = 0;
    scene.crystal.ndomains = scene.scan.nphi = 1;
    scene.detector.roi[0] = scene.detector.roi[2] = 9;
    scene.detector.roi[1] = scene.detector.roi[3] = 10;
    if (nb_simulator_create(ctx, &scene, NULL, NULL, &sim) != NB_OK
        || nb_simulator_trace(sim, NULL, 0, 9, 9, &trace) != NB_OK)
        abort();
    nb_simulator_free(sim);
    scene.crystal.cell[0] *= (floor(trace.h[0]) + 0.5) / trace.h[0];
    found = run(ctx, &scene, "cell_a");
    expect("a sample between two reflections", &found, NB_VERDICT_FAIL_MASK);
    nb_context_free(ctx);
    return TAP_PASS;
}

static int meddled;

static void meddle(nb_simulator *sim)
{
    sim->scene.crystal.default_f *= 1 + 1e-12;
}

static nb_simulator *victim;

static int progress_meddles(void *user, double fraction)
{
    (void)user;
    (void)fraction;
    if (meddled++ > 0) meddle(victim);
    return 0;
}

/* a scene that changes between two calls of the same */
int verdict_replay(void)
{
    nb_context_options options = {0};
    const nb_scene scene = modes_base();
    nb_gradcheck_row rows[NB_GRADCHECK_LOSSES];
    nb_gradcheck_summary summary;
    nb_context *ctx;

    options.threads = 5;
    options.progress = progress_meddles;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK
        || nb_simulator_create(ctx, &scene, "misset_x", NULL, &victim) != NB_OK)
        abort();
    meddled = 0;
    tap_check(nb_gradcheck(victim, NULL, NULL, NULL, rows, &summary) == NB_OK
                  && summary.verdict == NB_VERDICT_FAIL_NONDETERMINISTIC,
              "a simulator that changes by itself: %s, %s",
              nb_verdict_name(summary.verdict), summary.message);
    nb_simulator_free(victim);
    nb_context_free(ctx);
    return TAP_PASS;
}

static int asked, stop_at;

static int progress_stops(void *user, double fraction)
{
    (void)user;
    (void)fraction;
    return ++asked == stop_at;
}

/* The handler is asked within an evaluation too, and may stop the check at any call. */
int verdict_stopped(void)
{
    /* one thread, since only the first one asks: the number of calls is then the same */
    const nb_context_options options = {.threads = 1, .progress = progress_stops};
    const nb_scene scene = modes_base();
    nb_gradcheck_row rows[NB_GRADCHECK_LOSSES];
    nb_gradcheck_summary summary;
    nb_context *ctx;
    nb_simulator *sim;
    int all;

    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK
        || nb_simulator_create(ctx, &scene, "misset_x", NULL, &sim) != NB_OK)
        abort();
    asked = stop_at = 0;
    tap_check(nb_gradcheck(sim, NULL, NULL, NULL, rows, &summary) == NB_OK, "it passes");
    all = asked;
    tap_check((uint64_t)all > 2 * summary.evaluations, "asked %d times in %d evaluations",
              all, (int)summary.evaluations);
    for (stop_at = 1; stop_at <= all; stop_at += 1 + all / 20) {
        nb_status status;

        asked = 0;
        status = nb_gradcheck(sim, NULL, NULL, NULL, rows, NULL);
        tap_check(status == NB_ERR_CANCELLED && asked == stop_at
                      && ctx->options.progress == progress_stops && !ctx->options.user,
                  "stopped by call %d of %d, where it was asked %d times", stop_at, all,
                  asked);
    }
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* gradients of contexts with 1, 2 and 5 threads, bit by bit; and by name */
int replay_threads(void)
{
    static const int threads[] = {1, 2, 5};
    double first[80] = {0};

    for (size_t i = 0; i < LENGTH(threads); i++) {
        nb_context_options options = {0};
        nb_scene scene = modes_base();
        nb_context *ctx;
        nb_simulator *sim;
        double gradient[80] = {0}, bar[40 * 37];
        uint64_t state = 3;
        nb_array array = nb_array_f64(bar, 37, 40);
        size_t moved = 0;
        char *names;

        scene.detector.nfast = 40, scene.detector.nslow = 37; /* ten tiles */
        options.threads = threads[i];
        if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
        names = harness_names(ctx, &scene);
        if (nb_simulator_create(ctx, &scene, names, NULL, &sim) != NB_OK
            || nb_simulator_nparam(sim) > LENGTH(gradient))
            abort();
        for (size_t k = 0; k < LENGTH(bar); k++) bar[k] = random_number(&state) - 0.5;
        if (nb_vjp(sim, NULL, 1, &array, gradient) != NB_OK) abort();
        if (i == 0)
            memcpy(first, gradient, sizeof first);
        else
            tap_check(bits_same(first, gradient, nb_simulator_nparam(sim)),
                      "%d threads: the same %zu derivatives to the bit", threads[i],
                      nb_simulator_nparam(sim));
        for (size_t k = 0; k < nb_simulator_nparam(sim); k++) moved += gradient[k] != 0;
        tap_check(moved > 0 && isfinite(worst_largest(gradient, nb_simulator_nparam(sim))),
                  "%d threads: %zu of %zu are not 0", threads[i], moved,
                  nb_simulator_nparam(sim));
        free(names);
        nb_simulator_free(sim);
        nb_context_free(ctx);
    }
    return TAP_PASS;
}

/* no cotangent is refused, a zero one adds nothing */
int cotangents(void)
{
    nb_context *ctx = harness_context();
    const nb_scene scene = modes_base();
    double zero[256] = {0}, kept[6], given[6] = {1, -2, 3e-300, 4e300, 0.1, -0.0};
    nb_array bar = nb_array_f64(zero, 16, 16);
    nb_simulator *sim;

    if (nb_simulator_create(ctx, &scene, "cell", NULL, &sim) != NB_OK) abort();
    memcpy(kept, given, sizeof kept);
    tap_check(nb_vjp(sim, NULL, 1, NULL, given) == NB_ERR_ARGUMENT, "no cotangent: %s",
              nb_context_message(ctx));
    tap_check(nb_vjp(sim, NULL, 1, &bar, given) == NB_OK, "a zero cotangent");
    for (int i = 0; i < 6; i++)
        tap_check(given[i] == kept[i], "it adds nothing to %g", kept[i]);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- the guard ---- */

static int progress_launches(void *user, double fraction)
{
    (void)fraction;
    (*(nb_context **)user)->compiled_launches++; /* what compiled mode would do */
    return 0;
}

static nb_gradcheck_summary guarded(int compile, nb_context_options options)
{
    const nb_scene scene = modes_base();
    nb_gradcheck_row rows[NB_GRADCHECK_LOSSES];
    nb_gradcheck_summary summary;
    nb_context *ctx = NULL;
    nb_simulator *sim;

    options.threads = 1;
    options.compile = compile;
    options.user = &ctx;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK
        || nb_simulator_create(ctx, &scene, "misset_x", NULL, &sim) != NB_OK
        || nb_gradcheck(sim, NULL, NULL, NULL, rows, &summary) != NB_OK)
        abort();
    tap_check(ctx->options.compile == compile, "the context has its mode back");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return summary;
}

int guard(void)
{
    static const char *const variable[] = {"NANOBRAGG_DISABLE_COMPILE",
                                           "NANOBRAG_DISABLE_COMPILE"};
    static const char *const value[] = {NULL, "", "0", "1"};
    nb_context_options options = {0};
    nb_gradcheck_summary s;

    for (size_t v = 0; v < LENGTH(variable); v++)
        for (size_t k = 0; k < LENGTH(value); k++) {
            nb_context *ctx;

            for (size_t i = 0; i < LENGTH(variable); i++) (void)unsetenv(variable[i]);
            if (value[k]) (void)setenv(variable[v], value[k], 1);
            if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) abort();
            tap_check(ctx->env.disable_compile == (k == 3), "%s=%s: compiling is %s",
                      variable[v], value[k] ? value[k] : "(unset)",
                      ctx->env.disable_compile ? "off" : "left on");
            nb_context_free(ctx);
            s = guarded(NB_COMPILE_ON, options);
            tap_check(s.verdict == NB_VERDICT_PASS && s.launches > 50
                          && s.compiled_launches == 0,
                      "the check passes: %llu launches, compiled %llu",
                      (unsigned long long)s.launches,
                      (unsigned long long)s.compiled_launches);
        }
    (void)unsetenv(variable[1]);
    options.progress = progress_launches;
    s = guarded(NB_COMPILE_ON, options);
    tap_check(s.verdict == NB_VERDICT_FAIL_GUARD, "were a kernel compiled: %s, %llu",
              nb_verdict_name(s.verdict), (unsigned long long)s.compiled_launches);
    return TAP_PASS;
}

/* without compiled mode nothing is given away, so only what was given away is refused */
static void check_donated(const char *disabled, unsigned flag, nb_status expected)
{
    static const char text[] = "Cannot call gradcheck on donated buffer 'weights'";
    const nb_scene scene = modes_base();
    nb_gradcheck_row rows[NB_GRADCHECK_LOSSES];
    double bar[256];
    nb_array array = nb_array_f64(bar, 16, 16);
    nb_simulator *sim;
    nb_context *ctx;
    nb_status status;

    (void)setenv("NANOBRAGG_DISABLE_COMPILE", disabled, 1);
    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) abort();
    if (nb_simulator_create(ctx, &scene, "misset_x", NULL, &sim) != NB_OK) abort();
    for (int i = 0; i < 256; i++) bar[i] = 1;
    array.name = "weights";
    array.flags = flag;
    status = nb_gradcheck(sim, NULL, &array, NULL, rows, NULL);
    tap_check(status == expected && array.flags == flag
                  && (status == NB_OK || strstr(nb_context_message(ctx), text)),
              "flag %u, variable '%s': %s, %s", flag, disabled, nb_status_text(status),
              nb_context_message(ctx));
    nb_simulator_free(sim);
    nb_context_free(ctx);
}

int donated(void)
{
    check_donated("", NB_DONATE, NB_ERR_DONATED);
    check_donated("", NB_DONATED, NB_ERR_DONATED);
    check_donated("1", NB_DONATE, NB_OK);
    check_donated("1", NB_DONATED, NB_ERR_DONATED);
    return TAP_PASS;
}

int refused(void)
{
    nb_context *ctx = harness_context();
    const nb_scene scene = modes_base();
    nb_gradcheck_options bad = {0, -1, 0};
    nb_gradcheck_row rows[NB_GRADCHECK_LOSSES];
    double bar[256] = {0};
    const double flat = 1e30;
    nb_array small = nb_array_f64(bar, 15, 16);
    nb_simulator *sim, *fixed;

    if (nb_simulator_create(ctx, &scene, "misset_x", NULL, &sim) != NB_OK
        || nb_simulator_create(ctx, &scene, NULL, NULL, &fixed) != NB_OK)
        abort();
    tap_check(nb_gradcheck(NULL, NULL, NULL, NULL, rows, NULL) == NB_ERR_ARGUMENT,
              "no simulator");
    tap_check(nb_gradcheck(fixed, NULL, NULL, NULL, rows, NULL) == NB_ERR_ARGUMENT,
              "no parameters: %s", nb_context_message(ctx));
    tap_check(nb_gradcheck(sim, NULL, NULL, NULL, NULL, NULL) == NB_ERR_ARGUMENT,
              "no rows: %s", nb_context_message(ctx));
    tap_check(nb_gradcheck(sim, NULL, NULL, &bad, rows, NULL) == NB_ERR_ARGUMENT,
              "directions: %s", nb_context_message(ctx));
    bad.ndirection = 0, bad.coverage = NAN;
    tap_check(nb_gradcheck(sim, NULL, NULL, &bad, rows, NULL) == NB_ERR_ARGUMENT,
              "coverage: %s", nb_context_message(ctx));
    tap_check(nb_gradcheck(sim, NULL, &small, NULL, rows, NULL) == NB_ERR_SHAPE,
              "a small cotangent: %s", nb_context_message(ctx));
    tap_check(nb_gradcheck(sim, &flat, NULL, NULL, rows, NULL) == NB_ERR_ARGUMENT,
              "x out of bounds: %s", nb_context_message(ctx));
    nb_simulator_free(sim);
    nb_simulator_free(fixed);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- what is said ---- */

int hints(void)
{
    static const struct {
        double ratio;
        const char *hint;
    } known[] = {{2, "a factor 2"},
                 {0.5, "a factor 1/(2)"},
                 {-1, "the wrong sign"},
                 {3.14159265358979 / 180, "a factor pi/180"},
                 {-180 / 3.14159265358979, "a factor -1/(pi/180)"},
                 {1 / 1.1, "a factor 1/(wavelength)"},
                 {7, "a factor N b"},
                 {0, "nothing at all"},
                 {1.2345, "that of other (transposed?)"},
                 {1.3, ""}};
    nb_scene scene = modes_base();
    nb_param param[2] = {{.name = "this", .unit = "1"}, {.name = "other", .unit = "1"}};

    scene.crystal.ncells[1] = 7;
    for (size_t i = 0; i < LENGTH(known); i++) {
        const double gradient[2] = {known[i].ratio * 10, i == 8 ? 10 : 77};
        nb_gradcheck_row row;
        char line[300];

        memset(&row, 0, sizeof row);
        row.param = param[0];
        row.verdict = NB_VERDICT_FAIL_VALUE;
        row.fd = 10;
        row.tolerance = 1e-9;
        row.vjp = row.jvp = gradient[0];
        gradcheck_hint(&row, &scene, param, 2, gradient);
        (void)nb_gradcheck_line(&row, line, sizeof line);
        tap_check(strcmp(row.hint, known[i].hint) == 0, "%s", line);
    }
    tap_check(strcmp(nb_verdict_name(-1), "unknown verdict") == 0
                  && strcmp(nb_verdict_text(NB_VERDICTS), "unknown verdict") == 0
                  && strcmp(nb_gradcheck_loss_name(9), "unknown loss") == 0,
              "numbers that name nothing");
    return TAP_PASS;
}

/* the report of a run is JSON, with what the check found */
int report_is_json(void)
{
    nb_scene scene = modes_base();
    size_t count;
    double median, high;

    scene.detector.nfast = scene.detector.nslow = 6;
    harness_check("small", &scene, HARNESS_REFERENCE, 2);
    report_errors(&count, &median, &high);
    tap_check(count >= 8, "%zu derivatives: error over S, median %.1e, 99 %% %.1e", count,
              median, high);
    tap_check(report_write("report.json"), "report.json");
#ifdef NANOBRAG_CJSON
    {
        static char text[1 << 20];
        FILE *file = fopen("report.json", "r");
        cJSON *json, *checks;

        if (!file) abort();
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        (void)fclose(file);
        json = cJSON_Parse(text);
        checks = cJSON_GetObjectItem(json, "checks");
        tap_check(cJSON_GetArraySize(checks) >= 8
                      && cJSON_GetObjectItem(cJSON_GetArrayItem(checks, 0), "g_fd"),
                  "read back: %d checks", cJSON_GetArraySize(checks));
        cJSON_Delete(json);
    }
#endif
    return TAP_PASS;
}
