/*
 * derivatives_kernels.c - kernels that cannot be built, and devices that cannot run them.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "device/devices.h"
#include "device/watched.h"
#include "gpu/derivatives_subject.h"
#include "support/files.h"
#include "support/tap.h"

/* a gradient of a few tangents in a few tiles */
static void open_small(struct subject *s)
{
    subject_open("square_nearest", 4, s);
    s->n = 2;
    s->t.job.roi[3] = GPU_SLOW;
}

static nb_status run_small(struct subject *s, int f)
{
    const struct gpu_derivatives_job request = objective_of(s);
    struct results r = results_make(s, &request, f);
    const nb_status status = subject_run(s, 0, &request, &r);

    results_drop(s, &r);
    return status;
}

/* refused with these words, one fallback; at once from then on, and without another */
static void check_left(struct subject *s, const char *words)
{
    const uint64_t before = s->t.ctx->fallbacks, misses = s->scene.hot.misses;
    const nb_status status = run_small(s, 0);

    tap_check(status == NB_ERR_UNSUPPORTED && strstr(nb_context_message(s->t.ctx), words)
                  && s->t.ctx->fallbacks == before + 1,
              "%s", nb_context_message(s->t.ctx));
    (void)unsetenv("PTX_NVRTC_FAULT");
    (void)fail(s->t.ctx, NB_ERR_DEVICE, "another message");
    tap_check(run_small(s, 0) == NB_ERR_UNSUPPORTED
                  && strstr(nb_context_message(s->t.ctx), words)
                  && s->t.ctx->fallbacks == before + 1 && s->scene.hot.misses <= misses + 1
                  && watched.modules_held == 0,
              "and from then on");
}

int not_to_be_had(void)
{
    static const struct {
        const char *wrong, *words;
    } rows[] = {{"fail", "error: expected a \";\""},
                {"slow", "stopped after 0.05 s (NANOBRAG_COMPILE_TIMEOUT)"},
                {"bytes", "does not return its cubin"}};
    struct subject s;

    begin_anew();
    for (size_t i = 0; i < COUNT(rows); i++) {
        open_small(&s);
        (void)setenv("PTX_NVRTC_FAULT", rows[i].wrong, 1);
        s.t.ctx->env.wait_timeout = 0.05;
        check_left(&s, rows[i].words);
        subject_close(&s);
    }
    open_small(&s);
    s.t.ctx->nvrtc = "libnvrtc-none.so.1";
    check_left(&s, "libnvrtc-none.so.1");
    tap_check(run_small(&s, 1) == NB_ERR_UNSUPPORTED, "nor another kernel");
    subject_close(&s);
    open_small(&s);
    s.t.ctx->nvrtc = "libnvrtc-none.so.1";
    s.t.ctx->env.strict = 1;
    tap_check(run_small(&s, 0) == NB_ERR_UNSUPPORTED, "strict: %s",
              nb_context_message(s.t.ctx));
    subject_close(&s);
    open_small(&s);
    /* mask and cotangents are reserved and sent by two calls each; load() is the next */
    watched.fail_at = watched.calls + 5;
    check_left(&s, "jacobian_SQUARE_NEAREST_");
    subject_close(&s);
    watched_reset();
    return TAP_PASS;
}

/* asks to stop at the call of this number */
struct handler {
    int calls, stop_at;
};

static int on_progress(void *user, double fraction)
{
    struct handler *h = user;

    (void)fraction;
    return ++h->calls >= h->stop_at;
}

/* while a kernel is built, and between bands; what was stopped may be done again */
int stopped(void)
{
    struct handler handler = {0, 3};
    struct subject s;
    nb_status status;

    begin_anew();
    open_small(&s);
    s.t.ctx->options.progress = on_progress;
    s.t.ctx->options.user = &handler;
    (void)setenv("PTX_NVRTC_FAULT", "slow", 1);
    status = run_small(&s, 0);
    tap_check(status == NB_ERR_CANCELLED && handler.calls == 3 && s.t.ctx->fallbacks == 0
                  && s.scene.hot.builds == 0,
              "stopped while a kernel is built: %s", nb_context_message(s.t.ctx));
    (void)unsetenv("PTX_NVRTC_FAULT");
    s.t.ctx->options.progress = NULL;
    tap_check(run_small(&s, 0) == NB_OK && s.scene.hot.builds == 1, "built in the end");
    s.t.job.roi[3] = s.t.frame.nslow;
    s.gpu->properties.memory = 30000;
    handler.calls = 0;
    handler.stop_at = 1;
    s.t.ctx->options.progress = on_progress;
    tap_check(run_small(&s, 1) == NB_ERR_CANCELLED && handler.calls >= 1, "and later");
    subject_close(&s);
    return TAP_PASS;
}

int kept_on_disk(void)
{
    struct subject s;
    nb_status status;

    begin_anew();
    open_small(&s);
    status = run_small(&s, 1);
    tap_check(status == NB_OK && s.scene.hot.builds == 2 && s.scene.hot.misses == 2
                  && s.scene.hot.hits == 0,
              "%d built", (int)s.scene.hot.builds);
    subject_close(&s);
    open_small(&s);
    s.t.ctx->env.recompile_limit = 1;
    status = run_small(&s, 1);
    tap_check(status == NB_OK && s.scene.hot.builds == 0 && s.scene.hot.hits == 2,
              "%d found on disk beside a limit of 1", (int)s.scene.hot.hits);
    subject_close(&s);
    return TAP_PASS;
}

static int warnings;
static char warning[512], built[128]; /* the last of such lines */

static void on_log(void *user, int level, const char *topic, const char *line)
{
    (void)user;
    (void)topic;
    if (level == NB_LOG_INFO && strncmp(line, "built ", 6) == 0)
        (void)snprintf(built, sizeof built, "%s", line);
    if (level != NB_LOG_WARNING) return;
    warnings++;
    (void)snprintf(warning, sizeof warning, "%s", line);
}

/* builds are counted apart from those of images, and no more come after the last */
int limit(void)
{
    static const char words[] = "hit recompile_limit (1) of derivative kernels, last "
                                "reason: class: FEW -> F";
    struct subject s;
    nb_status status;

    begin_anew();
    warnings = 0;
    subject_open("square_nearest", 4, &s);
    s.t.job.roi[3] = GPU_SLOW;
    s.t.ctx->options.log = on_log;
    s.t.ctx->env.recompile_limit = 1;
    status = run_small(&s, 0);
    tap_check(status == NB_OK && s.scene.hot.builds == 1, "one is built");
    for (int i = 0; i < 2; i++) {
        status = run_small(&s, 1);
        tap_check(status == NB_ERR_UNSUPPORTED && warnings == 1
                      && strcmp(warning, words) == 0
                      && strcmp(nb_context_message(s.t.ctx), words) == 0,
                  "%d warning: %s", warnings, warning);
    }
    tap_check(run_small(&s, 0) == NB_OK && s.scene.hot.builds == 1, "what is there stays");
    subject_close(&s);
    return TAP_PASS;
}

/* ---- classes of tangents ---- */

static int changes_crystal(const struct phys_frame_tangent *dot)
{
    double sum = dot->fudge * dot->fudge;

    for (int i = 0; i < 9; i++) sum += dot->strain[i] * dot->strain[i];
    for (int i = 0; i < 3; i++) sum += dot->ncells[i] * dot->ncells[i];
    for (int i = 0; i < 6; i++) sum += dot->metric[i] * dot->metric[i];
    return sum != 0;
}

/* so many tangents that turn, then those that change the crystal (or none), then others;
 * which kernel is built for them, and in how many passes */
static void check_class(int turning, int crystal, int single, const char *name, int passes)
{
    struct subject s;
    struct gpu_derivatives_job request;
    struct phys_frame_tangent *dots;
    struct results r;
    nb_status status;
    int n = 0;

    subject_open("square_nearest", 100, &s);
    s.t.ctx->options.log = on_log;
    s.t.job.roi[3] = GPU_SLOW;
    dots = calloc((size_t)s.n, sizeof *dots);
    if (!dots) abort();
    for (int d = 0; d < s.n; d++) {
        const struct phys_frame_tangent *dot = s.t.dot + d;

        if (d < s.turning ? d < turning : crystal || !changes_crystal(dot))
            dots[n++] = *dot;
    }
    request = objective_of(&s);
    request.dot = dots;
    request.n = n;
    r = results_make(&s, &request, 0);
    watched_reset();
    built[0] = '\0';
    status = subject_run(&s, single, &request, &r);
    tap_check(status == NB_OK && strstr(built, name)
                  && watched.launches[GPU_DERIVATIVES] == (uint64_t)passes,
              "%d tangents, %d turn: %s, %d passes", n, turning, built,
              (int)watched.launches[GPU_DERIVATIVES]);
    free(dots);
    results_drop(&s, &r);
    subject_close(&s);
    begin_anew();
}

int classes(void)
{
    begin_anew();
    check_class(0, 0, 0, "jacobian_SQUARE_NEAREST_FRAME in double", 1);
    check_class(3, 0, 0, "jacobian_SQUARE_NEAREST_TURNED in double", 1);
    check_class(5, 0, 0, "jacobian_SQUARE_NEAREST_TURNED in double", 2);
    check_class(0, 1, 1, "jacobian_SQUARE_NEAREST_FEW in float", 2);
    check_class(8, 1, 1, "jacobian_SQUARE_NEAREST_FEW in float", 2);
    check_class(11, 1, 1, "jacobian_SQUARE_NEAREST_MANY in float", 2);
    check_class(11, 1, 0, "jacobian_SQUARE_NEAREST_FEW in double", 3);
    return TAP_PASS;
}

/* ---- the environment ---- */

/* what a call waits for gets more time than what it does not, unless someone says how much
 */
int time_to_wait(void)
{
    static const struct {
        const char *value;
        double compile, wait;
        int warnings;
    } rows[] = {{"", 10, 120, 0},
                {"10", 10, 10, 0},
                {"0.5", 0.5, 0.5, 0},
                {"0", 10, 120, 1},
                {"x", 10, 120, 1}};
    const nb_context_options options = {.threads = 1, .log = on_log};

    for (size_t i = 0; i < COUNT(rows); i++) {
        nb_context *made;

        warnings = 0;
        (void)setenv("NANOBRAG_COMPILE_TIMEOUT", rows[i].value, 1);
        if (nb_context_create(NB_API_VERSION, &options, &made) != NB_OK) abort();
        tap_check(made->env.compile_timeout == rows[i].compile
                      && made->env.wait_timeout == rows[i].wait
                      && warnings == rows[i].warnings,
                  "\"%s\": %g s, %g s for what is waited for, %d warnings", rows[i].value,
                  made->env.compile_timeout, made->env.wait_timeout, warnings);
        nb_context_free(made);
    }
    (void)unsetenv("NANOBRAG_COMPILE_TIMEOUT");
    return TAP_PASS;
}

/* ---- refusals ---- */

static void check_serves(const struct subject *s, int single,
                         const struct gpu_derivatives_job *request, const char *words)
{
    const char *why = gpu_derivatives_refuses(s->gpu, &s->t.job, single, request);

    tap_check(words ? why && strstr(why, words) : !why, "%s", why ? why : "it may");
}

int refusals(void)
{
    struct subject s;
    struct gpu_derivatives_job request;
    struct phys_frame_tangent *many;

    begin_anew();
    subject_open("square_nearest", 100, &s);
    many = calloc(40, sizeof *many);
    if (!many) abort();
    request = objective_of(&s);
    check_serves(&s, 0, &request, NULL);
    for (int d = 0; d < 40; d++) many[d] = s.t.dot[0];
    request.end = REDUCE_NORMAL;
    request.dot = many;
    request.n = 4;
    check_serves(&s, 0, &request, NULL);
    request.n = 5;
    check_serves(&s, 0, &request, "at most 4 parameters");
    request.n = 8;
    check_serves(&s, 1, &request, NULL);
    request.n = 9;
    check_serves(&s, 1, &request, "at most 8 parameters");
    s.t.job.spec.shape = PHYS_GAUSS; /* float may lose it */
    request.n = 5;
    check_serves(&s, 1, &request, "at most 4 parameters");
    s.t.job.spec.shape = PHYS_SQUARE;
    request.n = 33;
    check_serves(&s, 0, &request, "at most 32 parameters");
    request = objective_of(&s);
    s.t.frame.surface = PHYS_CURVED_QUIRK;
    check_serves(&s, 0, &request, "curved detector");
    s.t.frame.surface = PHYS_FLAT;
    s.t.frame.amorphous_in_samples = 1;
    check_serves(&s, 0, &request, "amorphous");
    s.t.frame.amorphous_in_samples = 0;
    s.t.ctx->options.compile = NB_COMPILE_OFF;
    check_serves(&s, 0, &request, "compiled mode is off");
    s.t.ctx->options.compile = NB_COMPILE_ON;
    s.gpu->properties.memory = 20000;
    check_serves(&s, 0, &request, "sums of all tiles");
    request.end = REDUCE_NOTHING;
    check_serves(&s, 0, &request, "derivatives of a row of tiles");
    s.gpu->properties.memory = 1000;
    check_serves(&s, 0, &request, "a row of tiles alone");
    free(many);
    subject_close(&s);
    return TAP_PASS;
}

/* ---- calls of the driver ---- */

/* every end of them, with one call that fails */
static int fails_at(uint64_t call, int end)
{
    struct subject s;
    struct gpu_derivatives_job request;
    struct results r;
    nb_status status;
    int bad;

    open_small(&s);
    request = objective_of(&s);
    request.end = (enum gpu_reduction)end;
    request.target.observed = request.target.weight = request.cotangent;
    r = results_make(&s, &request, end == REDUCE_COTANGENT);
    watched.fail_at = watched.calls + call;
    status = subject_run(&s, 0, &request, &r);
    bad = watched.calls >= watched.fail_at;
    watched.fail_at = 0;
    if (bad && status != NB_ERR_DEVICE && status != NB_ERR_MEMORY
        && status != NB_ERR_UNSUPPORTED)
        tap_check(0, "end %d, call %d: status %d", end, (int)call, status);
    results_drop(&s, &r);
    subject_close(&s);
    return bad;
}

int any_call_fails(void)
{
    begin_anew();
    for (int end = REDUCE_NOTHING; end <= REDUCE_SQUARES; end++) {
        int calls = 0;

        if (end == REDUCE_LOSS) continue; /* as REDUCE_COTANGENT */
        while (calls < 100 && fails_at((uint64_t)calls + 1, end)) calls++;
        tap_check(calls > 10 && calls < 100, "end %d: each of %d calls failed", end, calls);
    }
    tap_check(devices_balanced() && watched.modules_held == 0
                  && watched.recordings_held == 0,
              "all was given back");
    return TAP_PASS;
}
