/*
 * test_hot.c - kernels for frames that are used often: NVRTC, which is made to fail and to
 * be slow (tests/ptx/nvrtc.cpp), builds them in the background, and a watched device loads
 * them; they are compiled for the flags of their frame (gpu/text/frame_flags.h).
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/context.h"
#include "base/log.h"
#include "compile/jit/hot.h"
#include "compile/jit/hot_cases.h"
#include "device/devices.h"
#include "device/watched.h"
#include "gpu/gpu.h"
#include "gpu/text/frame_flags.h"
#include "simulator.h"
#include "support/compiled.h"
#include "support/files.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

/* ---- a simulator whose kernels become hot ---- */

static double now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void empty_cache(void)
{
    DIR *dir = opendir(in_folder("cache/cubins"));
    const struct dirent *entry;
    char path[512];

    while (dir && (entry = readdir(dir))) {
        (void)snprintf(path, sizeof path, "cache/cubins/%s", entry->d_name);
        if (entry->d_name[0] != '.') (void)remove(in_folder(path));
    }
    if (dir) (void)closedir(dir);
    (void)remove(in_folder("cache/cubins"));
    (void)remove(in_folder("cache"));
}

nb_context *context(int threshold)
{
    nb_context *made = devices_context(NB_DEVICE_CUDA);

    made->env.hot_threshold = threshold;
    (void)snprintf(made->env.cache_dir, sizeof made->env.cache_dir, "%s",
                   in_folder("cache"));
    return made;
}

static struct subject open_in(const nb_scene *scene, int threshold, int precision)
{
    struct subject s;

    s.ctx = context(threshold);
    s.sim = devices_make(s.ctx, scene, "", precision);
    return s;
}

static struct subject open_subject(const nb_scene *scene, int threshold)
{
    return open_in(scene, threshold, NB_PRECISION_DOUBLE);
}

nb_compile_stats take(struct subject *s)
{
    const nb_status status = devices_image(s->sim, NULL, s->image);

    if (status != NB_OK) tap_check(0, "an image: %s", nb_context_message(s->ctx));
    return compiled_stats(s->sim);
}

void wait_for_build(const nb_context *in)
{
    static const struct timespec nap = {0, 1000000L};
    const double start = now();

    while (in->gpu && hot_is_busy(in->gpu) && now() - start < 100)
        (void)nanosleep(&nap, NULL);
}

/* images until a kernel was taken into use, or something could not be had */
static nb_compile_stats take_until_promoted(struct subject *s)
{
    nb_compile_stats stats = take(s);

    for (int i = 0; i < 100 && stats.promotions == 0 && stats.fallbacks == 0; i++) {
        wait_for_build(s->ctx);
        stats = take(s);
    }
    return stats;
}

void close_subject(struct subject *s)
{
    devices_free(s->ctx, s->sim);
    tap_check(devices_balanced() && watched.modules_held == 0
                  && watched.recordings_held == 0,
              "all was given back");
}

void begin_anew(void)
{
    (void)unsetenv("PTX_NVRTC_FAULT");
    empty_cache();
    watched_reset();
    devices_warnings = 0;
}

int files_kept(void)
{
    const int n = count_files(in_folder("cache/cubins"));

    return n < 0 ? 0 : n;
}

/* ---- promotion ---- */

static int fifth_use(void)
{
    static double first[PIXELS];
    const nb_scene scene = scenes_base();
    struct subject s;
    nb_compile_stats stats;

    begin_anew();
    s = open_subject(&scene, 5);
    for (int i = 0; i < 4; i++) (void)take(&s);
    memcpy(first, s.image, sizeof first);
    tap_check(!hot_is_busy(s.ctx->gpu) && files_kept() == 0, "%d files after 4 uses",
              files_kept());
    (void)take(&s);
    wait_for_build(s.ctx);
    tap_check(files_kept() == 1, "%d file after the 5th", files_kept());
    stats = take_until_promoted(&s);
    tap_check(stats.builds == 1 && stats.promotions == 1 && stats.cubin_misses == 1
                  && stats.cubin_hits == 0 && stats.fallbacks == 0,
              "%d built, %d promoted, %d not on disk", (int)stats.builds,
              (int)stats.promotions, (int)stats.cubin_misses);
    tap_check(bits_same(first, s.image, sizeof first / sizeof *first), "the same bits");
    for (int i = 0; i < 10; i++) stats = take(&s);
    tap_check(stats.builds == 1 && stats.promotions == 1, "once");
    tap_check(watched.own_launches >= 11, "%d launches of it, at least 11",
              (int)watched.own_launches);
    tap_check(bits_same(first, s.image, sizeof first / sizeof *first), "the same bits");
    close_subject(&s);
    return TAP_PASS;
}

/* calls go on while it is built; the name puts it among those of the thread sanitizer */
static int background_thread(void)
{
    static double first[PIXELS];
    const nb_scene scene = scenes_base();
    nb_compile_stats stats;
    struct subject s;
    double start, took;

    begin_anew();
    (void)setenv("PTX_NVRTC_FAULT", "slow", 1);
    s = open_subject(&scene, 1);
    s.ctx->env.compile_timeout = 300;
    (void)take(&s);
    memcpy(first, s.image, sizeof first);
    start = now();
    stats = take(&s);
    took = now() - start;
    tap_check(hot_is_busy(s.ctx->gpu) && stats.builds == 0 && stats.promotions == 0,
              "a call of %.3f s while a build of 20 s or more goes on", took);
    start = now();
    close_subject(&s);
    took = now() - start;
    tap_note("stopped after %.3f s", took);
    tap_check(files_kept() == 0, "nothing was kept");
    (void)setenv("PTX_NVRTC_FAULT", "nap", 1);
    s = open_subject(&scene, 1);
    stats = take_until_promoted(&s);
    tap_check(stats.builds == 1 && stats.promotions == 1,
              "promoted after a build of 0.3 s");
    tap_check(bits_same(first, s.image, sizeof first / sizeof *first), "the same bits");
    close_subject(&s);
    (void)unsetenv("PTX_NVRTC_FAULT");
    return TAP_PASS;
}

/* whatever is known of a frame */
static int every_scene(void)
{
    unsigned ever = 0, always = FLAG_ALL;
    double first[PIXELS];
    const int calls = 2 * (int)scenes_count(SCENES_FEATURES);
    struct named_scene named;
    int promoted = 0;

    begin_anew();
    for (size_t i = 0; scenes_at(SCENES_FEATURES, i / 2, &named); i++) {
        nb_compile_stats stats;
        struct subject s;

        if (named.scene.detector.roi[1] == 0)
            memcpy(named.scene.detector.roi, (int[4]){17, 33, 17, 25}, 4 * sizeof(int));
        s = open_in(&named.scene, 1, i % 2 ? NB_PRECISION_SINGLE : NB_PRECISION_DOUBLE);
        (void)take(&s);
        memcpy(first, s.image, sizeof first);
        stats = take_until_promoted(&s);
        promoted += stats.promotions == 1;
        ever |= watched.known;
        always &= watched.known;
        if (stats.promotions != 1
            || !bits_same(first, s.image, sizeof first / sizeof *first))
            tap_check(0, "%s: %d promoted, %s", named.name, (int)stats.promotions,
                      s.ctx->fallback);
        devices_free(s.ctx, s.sim);
    }
    tap_check(promoted == calls, "%d of %d scenes in double and in float, the same bits",
              promoted, calls);
    tap_check(ever == FLAG_ALL && always == 0, "known: %#x in some, %#x in all", ever,
              always);
    return TAP_PASS;
}

/* a second simulator uses what the first one made hot; so does another process */
static int found_again(void)
{
    const nb_scene scene = scenes_base();
    struct subject s;
    nb_compile_stats stats;
    nb_simulator *other;
    uint64_t before;

    begin_anew();
    s = open_subject(&scene, 3);
    (void)take_until_promoted(&s);
    other = devices_make(s.ctx, &scene, "", NB_PRECISION_DOUBLE);
    before = watched.own_launches;
    if (devices_image(other, NULL, s.image) != NB_OK) abort();
    tap_check(watched.own_launches > before && compiled_stats(other).promotions == 0,
              "of the context");
    nb_simulator_free(other);
    close_subject(&s);
    s = open_subject(&scene, 3);
    stats = take_until_promoted(&s);
    tap_check(stats.builds == 0 && stats.cubin_hits == 1 && stats.promotions == 1,
              "of the disk: %d built, %d found", (int)stats.builds, (int)stats.cubin_hits);
    close_subject(&s);
    return TAP_PASS;
}

static int damaged_entry(void)
{
    const nb_scene scene = scenes_base();
    struct subject s;
    nb_compile_stats stats;
    DIR *dir;
    const struct dirent *entry;
    char path[512] = "";

    begin_anew();
    s = open_subject(&scene, 1);
    (void)take_until_promoted(&s);
    close_subject(&s);
    dir = opendir(in_folder("cache/cubins"));
    while (dir && (entry = readdir(dir)))
        if (strstr(entry->d_name, ".cubin"))
            (void)snprintf(path, sizeof path, "cache/cubins/%s", entry->d_name);
    if (dir) (void)closedir(dir);
    if (truncate(in_folder(path), 100) != 0) abort();
    s = open_subject(&scene, 1);
    stats = take_until_promoted(&s);
    tap_check(stats.builds == 1 && stats.promotions == 1 && stats.cubin_misses == 1,
              "built anew: %s", s.ctx->fallback);
    close_subject(&s);
    return TAP_PASS;
}

/* ---- what can not be had ---- */

/* one fallback with these words, and never again */
static void check_left(struct subject *s, const char *words)
{
    static double host[PIXELS];
    const nb_scene scene = scenes_base();
    nb_compile_stats stats = take_until_promoted(s);

    for (int i = 0; i < 10; i++) {
        wait_for_build(s->ctx);
        stats = take(s);
    }
    tap_check(stats.fallbacks == 1 && strstr(s->ctx->fallback, words), "%d fallback: %s",
              (int)stats.fallbacks, s->ctx->fallback);
    tap_check(stats.promotions == 0 && watched.modules_held == 0, "not promoted");
    devices_render(&scene, NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, host);
    tap_check(bits_same(s->image, host, sizeof host / sizeof *host),
              "the bits of the build's kernel");
}

static int other_bits(void)
{
    const nb_scene scene = scenes_base();
    struct subject s;

    begin_anew();
    watched.bends = 1;
    s = open_subject(&scene, 1);
    check_left(&s, "image_SQUARE_CONSTANT built at run time gives other bits");
    tap_check(watched.own_launches == 1, "%d launch of it", (int)watched.own_launches);
    close_subject(&s);
    watched_reset();
    return TAP_PASS;
}

/* proved in one scene, a kernel is proved in another one too before that uses it */
static int other_scene(void)
{
    static double host[PIXELS];
    const nb_scene scene = scenes_base();
    struct subject s;
    nb_simulator *good, *bad;
    uint64_t before, blocks;

    begin_anew();
    devices_render(&scene, NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, host);
    s = open_subject(&scene, 1);
    (void)take_until_promoted(&s);
    good = devices_make(s.ctx, &scene, "", NB_PRECISION_DOUBLE);
    bad = devices_make(s.ctx, &scene, "", NB_PRECISION_DOUBLE);
    before = watched.own_launches;
    blocks = watched.blocks[GPU_IMAGE];
    if (devices_image(good, NULL, s.image) != NB_OK) abort();
    blocks = watched.blocks[GPU_IMAGE] - blocks;
    tap_check(watched.own_launches == before + 2, "proved, then used: %d launches of it",
              (int)(watched.own_launches - before));
    if (devices_image(good, NULL, s.image) != NB_OK) abort();
    tap_check(watched.own_launches == before + 3 && compiled_stats(good).fallbacks == 0,
              "proved once");
    tap_note("%d blocks the first time, of which a row of tiles twice", (int)blocks);
    watched.bends = 1;
    if (devices_image(bad, NULL, s.image) != NB_OK) abort();
    tap_check(bits_same(s.image, host, sizeof host / sizeof *host)
                  && compiled_stats(bad).fallbacks == 1
                  && strstr(s.ctx->fallback, "gives other bits"),
              "other bits in the third: the build's kernel, %s", s.ctx->fallback);
    before = watched.own_launches;
    if (devices_image(bad, NULL, s.image) != NB_OK) abort();
    if (devices_image(good, NULL, s.image) != NB_OK) abort();
    tap_check(watched.own_launches == before && s.ctx->fallbacks == 1
                  && bits_same(s.image, host, sizeof host / sizeof *host),
              "and in none from then on");
    nb_simulator_free(good);
    nb_simulator_free(bad);
    close_subject(&s);
    watched_reset();
    return TAP_PASS;
}

static int not_built(void)
{
    const nb_scene scene = scenes_base();
    struct subject s;
    nb_simulator *other;

    begin_anew();
    (void)setenv("PTX_NVRTC_FAULT", "slow", 1);
    s = open_subject(&scene, 1);
    s.ctx->env.compile_timeout = 0.05;
    check_left(&s, "stopped after 0.05 s (NANOBRAG_COMPILE_TIMEOUT)");
    close_subject(&s);
    (void)setenv("PTX_NVRTC_FAULT", "fail", 1);
    s = open_subject(&scene, 1);
    check_left(&s, "error: expected a \";\"");
    close_subject(&s);
    (void)setenv("PTX_NVRTC_FAULT", "bytes", 1);
    s = open_subject(&scene, 1);
    check_left(&s, "NVRTC does not return its"); /* cubin or PTX, as the build has */
    close_subject(&s);
    (void)unsetenv("PTX_NVRTC_FAULT");
    s = open_subject(&scene, 1);
    s.ctx->nvrtc = "libnvrtc-none.so.1";
    check_left(&s, "libnvrtc-none.so.1");
    other =
        devices_make(s.ctx, &scene, "", NB_PRECISION_SINGLE); /* nor for another kernel */
    for (int i = 0; i < 5; i++) {
        if (devices_image(other, NULL, s.image) != NB_OK) abort();
        wait_for_build(s.ctx);
    }
    tap_check(compiled_stats(other).fallbacks == 0, "what is not there is told once");
    nb_simulator_free(other);
    close_subject(&s);
    return TAP_PASS;
}

static int strict(void)
{
    const nb_scene scene = scenes_base();
    struct subject s;
    nb_status status = NB_OK;

    begin_anew();
    s = open_subject(&scene, 1);
    s.ctx->nvrtc = "libnvrtc-none.so.1";
    s.ctx->env.strict = 1;
    for (int i = 0; i < 10 && status == NB_OK; i++) {
        status = devices_image(s.sim, NULL, s.image);
        wait_for_build(s.ctx);
    }
    tap_check(status == NB_ERR_UNSUPPORTED
                  && strstr(nb_context_message(s.ctx), "libnvrtc-none"),
              "%s", nb_context_message(s.ctx));
    tap_check(devices_image(s.sim, NULL, s.image) == NB_OK, "and then the build's");
    close_subject(&s);
    return TAP_PASS;
}

/* a call of the device that fails meanwhile is as any other: the host computes */
static int any_call_fails(void)
{
    enum { CALLS = 30 };
    static double host[PIXELS];
    const nb_scene scene = scenes_base();
    int lost = 0;

    begin_anew();
    devices_render(&scene, NB_DEVICE_CPU, NB_PRECISION_DOUBLE, host);
    for (int k = 1; k <= CALLS; k++) {
        struct subject s = open_subject(&scene, 1);

        (void)take(&s);
        wait_for_build(s.ctx);
        watched.fail_at = watched.calls + (uint64_t)k;
        (void)take(&s);
        watched.fail_at = 0;
        lost += s.sim->device.scene.gpu == NULL;
        if (!(renders_compare(s.image, host, PIXELS).worst <= 1e-12))
            tap_check(0, "call %d: not the image", k);
        devices_free(s.ctx, s.sim);
    }
    tap_check(lost > 10 && lost < CALLS, "lost in %d of %d, an image in all", lost,
              (int)CALLS);
    tap_check(devices_balanced() && watched.modules_held == 0, "all was given back");
    watched_reset();
    return TAP_PASS;
}

/* ---- what is told, and NVRTC itself ---- */

static int log_lines(void)
{
    static const char expected[] =
        "[hotpath] image_SQUARE_CONSTANT in double was used 1 times; building it for";
    const nb_scene scene = scenes_base();
    const int stderr_was = dup(2);
    struct subject s;
    FILE *file;
    char *lines;
    size_t n;

    begin_anew();
    s = open_subject(&scene, 1);
    s.ctx->env.topics = TOPIC_HOTPATH;
    file = freopen(in_folder("lines"), "w", stderr);
    (void)take_until_promoted(&s);
    (void)fflush(stderr);
    (void)dup2(stderr_was, 2);
    lines = slurp(in_folder("lines"), &n);
    tap_check(file && strstr(lines, expected) && strstr(lines, ": first of its kind\n")
                  && strstr(lines, "[hotpath] NVRTC ")
                  && strstr(lines, " built gpu/text/kernels.cu")
                  && strstr(lines, "[hotpath] promoted image_SQUARE_CONSTANT in double"),
              "begun, built, promoted:\n%s", lines);
    free(lines);
    close_subject(&s);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"fifth_use", fifth_use},
        {"background_thread", background_thread},
        {"every_scene", every_scene},
        {"found_again", found_again},
        {"damaged_entry", damaged_entry},
        {"other_bits", other_bits},
        {"other_scene", other_scene},
        {"not_built", not_built},
        {"strict", strict},
        {"any_call_fails", any_call_fails},
        {"limit", limit},
        {"numbers", numbers},
        {"off", off},
        {"batches", batches},
        {"losses", losses},
        {"log_lines", log_lines},
    };
    return files_main(argc, argv, cases, COUNT(cases));
}
