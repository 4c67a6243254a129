/*
 * test_device_images.c - images on a watched device (device/watched.h): the host takes over
 * wherever it fails, is missing or is not worth its use. The pixels are those of test_gpu.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "device/devices.h"
#include "device/watched.h"
#include "gpu/gpu.h"
#include "simulator.h"
#include "support/compiled.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

enum { PIXELS = COMPILED_PIXELS };

/* what a band holds, and the order of blocks, change no bit */
static int strips(void)
{
    static double one[DEVICES_MANY], many[DEVICES_MANY];
    const nb_scene scene = devices_many_tiles();
    uint64_t launches;

    watched_reset();
    devices_render(&scene, NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, one);
    launches = watched.launches[GPU_IMAGE];
    tap_check(launches == 1, "%llu launch where memory is plenty",
              (unsigned long long)launches);
    watched_reset();
    watched.memory = 100000;
    devices_render(&scene, NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, many);
    launches = watched.launches[GPU_IMAGE];
    tap_check(launches > 5, "%llu launches in %zu bytes", (unsigned long long)launches,
              watched.memory);
    tap_check(watched.most_bytes <= watched.memory, "%zu bytes of it were used",
              watched.most_bytes);
    tap_check(bits_same(one, many, sizeof one / sizeof *one), "the same bits");
    watched_reset();
    return TAP_PASS;
}

static void values_of(const nb_simulator *sim, double *x)
{
    for (size_t i = 0; i < nb_simulator_nparam(sim); i++) {
        nb_param param;

        if (nb_simulator_param(sim, i, &param) != NB_OK) abort();
        x[i] = param.value;
    }
}

/* parameters move; structure factors too, if they are free */
static int calls(void)
{
    static double host[PIXELS], device[PIXELS];
    nb_scene scene = scenes_base();
    const char *names[] = {"distance cell", "F[*]", "F[*] default_f"};

    watched_reset();
    scene.crystal.hkl = scenes_reflections();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        nb_context *on_host = devices_context(NB_DEVICE_CPU),
                   *on_device = devices_context(NB_DEVICE_CUDA);
        nb_simulator *a = devices_make(on_host, &scene, names[i], NB_PRECISION_DOUBLE);
        nb_simulator *b = devices_make(on_device, &scene, names[i], NB_PRECISION_DOUBLE);
        const size_t n = nb_simulator_nparam(a);
        double *x = calloc(n, sizeof *x);
        struct worst worst = {0};

        if (!x) abort();
        values_of(a, x);
        for (int step = 0; step < 3; step++) {
            for (size_t k = 0; k < n; k++) x[k] *= 1 + 1e-3 * step;
            if (devices_image(a, x, host) != NB_OK || devices_image(b, x, device) != NB_OK)
                abort();
            worst_add_all(&worst, device, host, PIXELS, worst_largest(host, PIXELS));
        }
        worst_check(&worst, 6e-13, "%s", names[i]); /* 4.3e-14 measured */
        free(x);
        nb_simulator_free(a);
        devices_free(on_host, b);
        nb_context_free(on_device);
    }
    tap_check(devices_balanced(), "all memory was given back");
    return TAP_PASS;
}

/* ---- the host instead ---- */

static int any_call_fails(void)
{
    const nb_scene scene = scenes_base();

    devices_any_call_fails(&scene);
    return TAP_PASS;
}

/* how many calls the first image of a simulator takes; the last waits for it */
static uint64_t calls_of_an_image(const nb_scene *scene)
{
    static double image[PIXELS];
    nb_context *ctx = devices_context(NB_DEVICE_CUDA);
    nb_simulator *sim = devices_make(ctx, scene, "", NB_PRECISION_DOUBLE);
    const uint64_t before = watched.calls;

    if (devices_image(sim, NULL, image) != NB_OK) abort();
    devices_free(ctx, sim);
    return watched.calls - before;
}

/* after a failure the host goes on, without another try */
static int once_lost(void)
{
    static double image[PIXELS];
    const nb_scene scene = scenes_base();
    nb_context *ctx;
    nb_simulator *sim;
    nb_description about;
    uint64_t calls;

    watched_reset();
    calls = calls_of_an_image(&scene);
    sim = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
    if (nb_simulator_describe(sim, NULL, &about) != NB_OK) abort();
    tap_check(strncmp(about.device, "watched:0 ", 10) == 0, "images on %s: %s",
              about.device, about.device_why);
    watched.fail_at = watched.calls + calls;
    devices_warnings = 0;
    for (int i = 0; i < 3; i++)
        if (devices_image(sim, NULL, image) != NB_OK) abort();
    if (nb_simulator_describe(sim, NULL, &about) != NB_OK) abort();
    tap_check(devices_warnings == 1, "%d warning in three images", devices_warnings);
    tap_check(strcmp(about.device, "cpu") == 0, "images on %s: %s", about.device,
              about.device_why);
    devices_close(ctx, sim);
    watched_reset();
    return TAP_PASS;
}

static int strict(void)
{
    static double image[PIXELS];
    const nb_scene scene = scenes_base();
    nb_context *ctx;
    nb_simulator *sim;
    nb_status status;
    uint64_t calls;

    watched_reset();
    calls = calls_of_an_image(&scene);
    setenv("NANOBRAG_STRICT", "1", 1);
    sim = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
    watched.fail_at = watched.calls + calls;
    status = devices_image(sim, NULL, image);
    tap_check(status == NB_ERR_UNSUPPORTED, "NANOBRAG_STRICT=1: %s",
              nb_context_message(ctx));
    for (int i = 0; i < 2; i++) {
        status = devices_image(sim, NULL, image);
        tap_check(status == NB_ERR_UNSUPPORTED
                      && strstr(nb_context_message(ctx), "watched device"),
                  "and every later call: %s", nb_context_message(ctx));
    }
    devices_free(ctx, sim);
    watched.devices = 0;
    ctx = devices_context(NB_DEVICE_CUDA);
    status = nb_simulator_create(ctx, &scene, "", NULL, &sim);
    tap_check(status == NB_ERR_UNSUPPORTED, "and where there is no device: %s",
              nb_context_message(ctx));
    nb_context_free(ctx);
    unsetenv("NANOBRAG_STRICT");
    watched_reset();
    return TAP_PASS;
}

static int cancelled(void)
{
    const nb_scene scene = devices_many_tiles();

    devices_stopped(&scene, 100000);
    return TAP_PASS;
}

struct told {
    double last;
    int times, backwards;
};

static int listen(void *user, double fraction)
{
    struct told *told = user;

    told->times++;
    told->backwards += fraction < told->last;
    told->last = fraction;
    return 0;
}

/* bands of a device, then all of it on the host */
static int progress_when_lost(void)
{
    static double image[DEVICES_MANY];
    const nb_scene scene = devices_many_tiles();
    struct told told = {0, 0, 0};
    const nb_context_options options = {.threads = 1,
                                        .device = NB_DEVICE_CUDA,
                                        .progress = listen,
                                        .user = &told};
    nb_context *ctx;
    nb_simulator *sim;
    int before;

    watched_reset();
    watched.memory = 100000;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    ctx->driver = &gpu_watched;
    ctx->env.hot_threshold = 0;
    sim = devices_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
    if (devices_image(sim, NULL, image) != NB_OK) abort();
    before = (int)watched.calls;
    told.last = 0;
    told.times = 0;
    watched.fail_at = watched.calls + (uint64_t)before * 2 / 3;
    if (devices_image(sim, NULL, image) != NB_OK) abort();
    tap_check(!sim->device.scene.gpu && told.times > 2 && told.backwards == 0
                  && told.last == 1,
              "lost: told %d times, %d backwards, the last %g", told.times, told.backwards,
              told.last);
    told.last = 0;
    if (devices_image(sim, NULL, image) != NB_OK) abort();
    tap_check(told.backwards == 0 && told.last == 1, "the next call begins anew");
    devices_free(ctx, sim);
    watched_reset();
    return TAP_PASS;
}

/* a check of derivatives is all the host's, and the device's are the images after it */
static int gradcheck_on_host(void)
{
    static double image[PIXELS];
    const nb_scene scene = scenes_base();
    nb_gradcheck_row rows[NB_GRADCHECK_LOSSES];
    nb_gradcheck_summary summary;
    nb_context *ctx;
    nb_simulator *sim;
    uint64_t before;
    nb_status status;

    watched_reset();
    sim = devices_open(&scene, "distance", NB_PRECISION_SINGLE, &ctx);
    if (devices_image(sim, NULL, image) != NB_OK) abort();
    before = watched.calls;
    status = nb_gradcheck(sim, NULL, NULL, NULL, rows, &summary);
    tap_check(status == NB_OK && summary.verdict == NB_VERDICT_PASS, "%s",
              status == NB_OK ? summary.message : nb_context_message(ctx));
    tap_check(watched.calls == before && summary.compiled_launches == 0
                  && summary.launches > 0,
              "%d calls of the device, %d launches on the host",
              (int)(watched.calls - before), (int)summary.launches);
    if (devices_image(sim, NULL, image) != NB_OK) abort();
    tap_check(watched.calls > before, "images are the device's again");
    devices_close(ctx, sim);
    return TAP_PASS;
}

/* ---- who computes ---- */

static void check_device(const char *what, nb_context *ctx, const nb_scene *scene,
                         int strategy, const char *device, const char *why)
{
    const nb_options options = {.strategy = strategy};
    nb_simulator *sim;
    nb_description about;

    if (nb_simulator_create(ctx, scene, "", &options, &sim) != NB_OK
        || nb_simulator_describe(sim, NULL, &about) != NB_OK) {
        tap_check(0, "%s: %s", what, nb_context_message(ctx));
        return;
    }
    tap_check(strncmp(about.device, device, strlen(device)) == 0
                  && strstr(about.device_why, why),
              "%s: images on %s, %s", what, about.device, about.device_why);
    nb_simulator_free(sim);
}

static int choices(void)
{
    nb_scene small = scenes_base(), large = scenes_base();
    nb_context *automatic, *asked, *host;

    watched_reset();
    large.detector.nslow = large.detector.nfast = 4000;
    large.crystal.ndomains = 1000;
    automatic = devices_context(NB_DEVICE_AUTO);
    asked = devices_context(NB_DEVICE_CUDA);
    host = devices_context(0);
    check_device("by default", host, &small, NB_STRATEGY_AUTO, "cpu", "default");
    check_device("auto, little work", automatic, &small, NB_STRATEGY_AUTO, "cpu",
                 "s estimated there");
    check_device("auto, much work", automatic, &large, NB_STRATEGY_AUTO, "watched:0",
                 "s estimated there");
    check_device("asked for", asked, &small, NB_STRATEGY_AUTO, "watched:0", "requested");
    check_device("the reference", asked, &small, NB_STRATEGY_REFERENCE, "cpu", "reference");
    check_device("spots", asked, &small, NB_STRATEGY_SPOTS, "cpu", "spots were asked for");
    watched.memory = 2000;
    nb_context_free(asked);
    asked = devices_context(NB_DEVICE_CUDA);
    check_device("a device too small", asked, &small, NB_STRATEGY_AUTO, "cpu",
                 "a row of tiles alone");
    nb_context_free(automatic);
    nb_context_free(asked);
    nb_context_free(host);
    watched.devices = 0;
    automatic = devices_context(NB_DEVICE_AUTO);
    check_device("auto, none there", automatic, &large, NB_STRATEGY_AUTO, "cpu", "");
    nb_context_free(automatic);
    watched_reset();
    return TAP_PASS;
}

static const struct tap_case cases[] = {
    {"bands", strips},
    {"calls", calls},
    {"any_call_fails", any_call_fails},
    {"once_lost", once_lost},
    {"strict", strict},
    {"cancelled", cancelled},
    {"progress_when_lost", progress_when_lost},
    {"gradcheck_on_host", gradcheck_on_host},
    {"choices", choices},
};

int main(int argc, char **argv)
{
    compiled_environment();
    unsetenv("NANOBRAG_DEVICE");
    return devices_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
