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
