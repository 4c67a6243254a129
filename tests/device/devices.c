/* devices.c - see devices.h. SPDX-License-Identifier: MIT */
#include "device/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "device/watched.h"
#include "simulator.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

int devices_warnings;
char devices_warning[512];

static void on_log(void *user, int level, const char *topic, const char *line)
{
    (void)user;
    (void)topic;
    if (level != NB_LOG_WARNING) return;
    devices_warnings++;
    (void)snprintf(devices_warning, sizeof devices_warning, "%s", line);
}

int devices_found(void)
{
    char why[256];

    return watched_found(why) || tap_skip("%s", why) == TAP_PASS;
}

int devices_main(int argc, char **argv, const struct tap_case *cases, size_t n)
{
    const int lists = argc == 2 && strcmp(argv[1], "--list") == 0;

    return lists || devices_found() ? tap_main(argc, argv, cases, n) : TAP_SKIP;
}

nb_context *devices_context(int device)
{
    const nb_context_options options = {.threads = 1, .device = device, .log = on_log};
    nb_context *ctx;

    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    ctx->driver = &gpu_watched;
    ctx->env.hot_threshold = 0; /* NVRTC is for test_hot */
    return ctx;
}

nb_simulator *devices_make(nb_context *ctx, const nb_scene *scene, const char *names,
                           int precision)
{
    const nb_options options = {.precision = precision};
    nb_simulator *sim;

    if (nb_simulator_create(ctx, scene, names, &options, &sim) == NB_OK) return sim;
    tap_note("%s", nb_context_message(ctx));
    abort();
}

nb_simulator *devices_open(const nb_scene *scene, const char *names, int precision,
                           nb_context **ctx)
{
    *ctx = devices_context(NB_DEVICE_CUDA);
    return devices_make(*ctx, scene, names, precision);
}

void devices_free(nb_context *ctx, nb_simulator *sim)
{
    nb_simulator_free(sim);
    nb_context_free(ctx);
}

void devices_close(nb_context *ctx, nb_simulator *sim)
{
    devices_free(ctx, sim);
    tap_check(devices_balanced(), "all memory was given back");
}

nb_status devices_image(nb_simulator *sim, const double *x, double *image)
{
    const nb_scene *scene = &sim->scene;
    nb_array array = nb_array_f64(image, scene->detector.nslow, scene->detector.nfast);

    return nb_forward(sim, x, &array);
}

void devices_render(const nb_scene *scene, int device, int precision, double *image)
{
    nb_context *ctx = devices_context(device);
    nb_simulator *sim = devices_make(ctx, scene, "", precision);
    const nb_status status = devices_image(sim, NULL, image);

    if (status != NB_OK) tap_check(0, "an image: %s", nb_context_message(ctx));
    nb_simulator_free(sim);
    nb_context_free(ctx);
}

static size_t pixels_of(const nb_scene *scene)
{
    return (size_t)scene->detector.nslow * (size_t)scene->detector.nfast;
}

static double *image_of(const nb_scene *scene)
{
    double *image = calloc(pixels_of(scene), sizeof *image);

    if (!image) abort();
    return image;
}

void devices_any_call_fails(const nb_scene *scene)
{
    double *host = image_of(scene), *image = image_of(scene);
    uint64_t n = 0;
    int failed = 1;

    watched_reset();
    devices_render(scene, NB_DEVICE_CPU, NB_PRECISION_DOUBLE, host);
    while (failed) {
        nb_context *ctx;
        nb_simulator *sim;
        nb_compile_stats stats;

        watched_reset();
        watched.fail_at = ++n;
        devices_warnings = 0;
        sim = devices_open(scene, "", NB_PRECISION_DOUBLE, &ctx);
        if (devices_image(sim, NULL, image) != NB_OK) abort();
        failed = watched.calls >= n;
        nb_simulator_stats(sim, &stats);
        if (failed)
            tap_check(bits_same(image, host, pixels_of(scene)) && devices_warnings == 1
                          && stats.fallbacks == 1,
                      "call %llu fails: %d warning, '%s'", (unsigned long long)n,
                      devices_warnings, devices_warning);
        devices_close(ctx, sim);
    }
    tap_check(n > 8, "%llu calls were made to fail", (unsigned long long)n - 1);
    free(host);
    free(image);
    watched_reset();
}

static int stop_at_once(void *user, double fraction)
{
    (void)fraction;
    ++*(int *)user;
    return 1;
}

void devices_stopped(const nb_scene *scene, size_t memory)
{
    double *whole = image_of(scene), *image = image_of(scene);
    nb_context *ctx;
    nb_simulator *sim;
    nb_status status;
    int told = 0;

    watched_reset();
    devices_render(scene, NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, whole);
    watched.memory = memory;
    sim = devices_open(scene, "", NB_PRECISION_DOUBLE, &ctx);
    ctx->options.progress = stop_at_once;
    ctx->options.user = &told;
    status = devices_image(sim, NULL, image);
    tap_check(status == NB_ERR_CANCELLED && told == 1, "stopped after %d launch: %s", told,
              nb_status_text(status));
    ctx->options.progress = NULL;
    watched.launches[GPU_IMAGE] = 0;
    if (devices_image(sim, NULL, image) != NB_OK) abort();
    tap_check(watched.launches[GPU_IMAGE] > 1 && bits_same(image, whole, pixels_of(scene)),
              "the next call gives the whole image, by %d launches",
              (int)watched.launches[GPU_IMAGE]);
    free(whole);
    free(image);
    devices_close(ctx, sim);
    watched_reset();
}

nb_array devices_array(nb_simulator *sim, nb_array array, const void *bytes, size_t n)
{
    const struct gpu *gpu = sim->device.scene.gpu;
    gpu_address address;

    if (gpu->driver->allocate(sim->ctx, gpu->device, n, &address) != NB_OK
        || gpu->driver->upload(sim->ctx, gpu->device, address, bytes, n) != NB_OK)
        abort();
    array.data = (void *)(uintptr_t)address;
    array.device = NB_DEVICE_CUDA;
    return array;
}

void devices_give_back(nb_simulator *sim, const nb_array *array, void *bytes, size_t n)
{
    const struct gpu *gpu = sim->device.scene.gpu;
    const gpu_address address = (gpu_address)(uintptr_t)array->data;

    if (gpu->driver->download(sim->ctx, gpu->device, bytes, address, n) != NB_OK
        || gpu->driver->wait(sim->ctx, gpu->device) != NB_OK)
        abort();
    gpu->driver->release(gpu->device, address);
}

int devices_balanced(void)
{
    return watched.blocks_held == 0 && watched.pinned == 0 && watched.bytes == 0
           && watched.devices_open == 0;
}

nb_scene devices_many_tiles(void)
{
    nb_scene scene = scenes_base();

    scene.detector.nslow = 100;
    scene.detector.nfast = 70;
    return scene;
}

nb_scene devices_tails(void)
{
    nb_scene scene = scenes_base();

    scene.crystal.shape = NB_SHAPE_GAUSS;
    scene.crystal.ndomains = 1;
    scene.scan.nphi = 1;
    scene.scan.osc = 0;
    scene.detector.pixel = 0.01;
    scene.detector.twotheta = 21.3;
    scene.detector.pivot = NB_PIVOT_SAMPLE;
    for (int i = 0; i < 3; i++) scene.crystal.ncells[i] = 10;
    return scene;
}
