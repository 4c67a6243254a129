/*
 * test_device_copies.c - what an image on a device costs beside its kernels: the copies
 * there and back.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "device/devices.h"
#include "device/watched.h"
#include "gpu/gpu.h"
#include "gpu/text/parameters.h"
#include "simulator.h"
#include "support/compiled.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"

enum { PIXELS = COMPILED_PIXELS };

static nb_scene gauss_scene(void)
{
    nb_scene scene = devices_many_tiles();

    scene.crystal.shape = NB_SHAPE_GAUSS;
    return scene;
}

/* Renders into memory of the device, and returns the bytes that came back meanwhile. */
static uint64_t bytes_back(nb_simulator *sim, double *image)
{
    const int nslow = sim->scene.detector.nslow, nfast = sim->scene.detector.nfast;
    const size_t n = (size_t)nslow * (size_t)nfast * sizeof *image;
    nb_array to = devices_array(sim, nb_array_f64(image, nslow, nfast), image, n);
    uint64_t bytes = watched.downloaded;

    if (nb_forward(sim, NULL, &to) != NB_OK) tap_check(0, "%s", sim->ctx->message);
    bytes = watched.downloaded - bytes;
    devices_give_back(sim, &to, image, n);
    return bytes;
}

/* Float may lose a gaussian, which its brightest pixel shows: the device finds it. */
static int peak_alone(void)
{
    static double there[DEVICES_MANY], here[DEVICES_MANY];
    const nb_scene scene = gauss_scene();
    nb_context *ctx;
    nb_simulator *sim;
    uint64_t bytes;
    int differ = 0;

    watched_reset();
    sim = devices_open(&scene, "", NB_PRECISION_SINGLE, &ctx);
    bytes = bytes_back(sim, there);
    tap_check(bytes == sizeof(double), "%llu bytes came back, expected %zu",
              (unsigned long long)bytes, sizeof(double));
    tap_check(watched.launches[GPU_IMAGE] == 1, "float kept it: %llu image computed",
              (unsigned long long)watched.launches[GPU_IMAGE]);
    tap_check(sim->photons == NULL, "no image was made on the host");
    if (devices_image(sim, NULL, here) != NB_OK) tap_check(0, "%s", ctx->message);
    for (int i = 0; i < DEVICES_MANY; i++) differ += there[i] != here[i];
    tap_check(differ == 0, "%d pixels differ", differ);
    devices_free(ctx, sim);
    return TAP_PASS;
}

/* An image that float lost is computed again in double, wherever it goes. */
static int lost_there(void)
{
    static double there[DEVICES_MANY], here[DEVICES_MANY];
    const nb_scene scene = devices_tails();
    const size_t pixels = (size_t)scene.detector.nslow * (size_t)scene.detector.nfast;
    nb_context *ctx;
    nb_simulator *sim;
    int lit = 0, differ = 0;

    watched_reset();
    sim = devices_open(&scene, "", NB_PRECISION_SINGLE, &ctx);
    (void)bytes_back(sim, there);
    tap_check(watched.launches[GPU_IMAGE] == 2, "%llu images computed, expected 2",
              (unsigned long long)watched.launches[GPU_IMAGE]);
    devices_free(ctx, sim);
    devices_render(&scene, NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, here);
    for (size_t i = 0; i < pixels; i++) {
        differ += there[i] != here[i];
        lit += here[i] > 0;
    }
    tap_check(lit > 0 && differ == 0, "%d pixels lit, %d differ from those in double", lit,
              differ);
    return TAP_PASS;
}

/* ---- copies ---- */

/* After the first image: parameters alone, or with the lists that changed, in one copy; and
 * the image in another. */
static int one_copy_each_way(void)
{
    static double image[PIXELS], host[PIXELS];
    const nb_scene scene = scenes_base();
    const double turned[3] = {0.01, 0.02, 0.03};
    nb_context *ctx, *there;
    nb_simulator *sim, *on_host;
    uint64_t bytes[2];

    watched_reset();
    ctx = devices_context(NB_DEVICE_CUDA);
    there = devices_context(NB_DEVICE_CPU);
    sim = devices_make(ctx, &scene, "misset", NB_PRECISION_DOUBLE);
    on_host = devices_make(there, &scene, "misset", NB_PRECISION_DOUBLE);
    if (devices_image(sim, NULL, image) != NB_OK) abort();
    for (int i = 0; i < 2; i++) {
        watched.uploads = watched.uploaded = watched.downloads = 0;
        if (devices_image(sim, i ? turned : NULL, image) != NB_OK) abort();
        bytes[i] = watched.uploaded;
        tap_check(watched.uploads == 1 && watched.downloads == 1,
                  "%llu copies to the device, %llu back",
                  (unsigned long long)watched.uploads,
                  (unsigned long long)watched.downloads);
    }
    tap_check(bytes[0] < FRONT_BYTES && bytes[1] > FRONT_BYTES,
              "%llu bytes, and %llu with lists", (unsigned long long)bytes[0],
              (unsigned long long)bytes[1]);
    if (devices_image(on_host, turned, host) != NB_OK) abort();
    tap_close("of the lists that went", renders_compare(image, host, PIXELS).worst, 0,
              4e-13);
    nb_simulator_free(sim);
    devices_free(ctx, on_host);
    nb_context_free(there);
    return TAP_PASS;
}

/* A target goes again when its numbers changed, wherever they are, and only then. */
static int target_that_changes(void)
{
    static double observed[PIXELS];
    const nb_scene scene = scenes_base();
    nb_array array = nb_array_f64(observed, scene.detector.nslow, scene.detector.nfast);
    const nb_target target = {.kind = NB_LOSS_GAUSS, .observed = &array};
    nb_context *ctx = devices_context(NB_DEVICE_CUDA),
               *there = devices_context(NB_DEVICE_CPU);
    nb_simulator *sim = devices_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
    nb_simulator *on_host = devices_make(there, &scene, "", NB_PRECISION_DOUBLE);

    watched_reset();
    for (int i = 0; i < 5; i++) {
        const int changes = i == 0 || i == 2 || i == 4;
        double value[2];

        if (i == 2) observed[PIXELS - 1] += 1e3;
        if (i == 4) observed[0] += 1e-3;
        watched.uploaded = 0;
        if (nb_loss(sim, NULL, &target, &value[0], NULL) != NB_OK
            || nb_loss(on_host, NULL, &target, &value[1], NULL) != NB_OK)
            abort();
        tap_check((watched.uploaded > sizeof observed) == changes,
                  "call %d: %llu bytes went", i, (unsigned long long)watched.uploaded);
        tap_close("loss", value[0], value[1], 1e-11 * value[1]);
    }
    nb_simulator_free(sim);
    devices_free(ctx, on_host);
    nb_context_free(there);
    return TAP_PASS;
}

/* ---- strips that are copied beside the next ---- */

enum { LONG_ROW = 8000, LONG_ROWS = 200 };

/* a narrow region of a wide detector: little to compute and much to copy */
static nb_scene long_rows(void)
{
    const int roi[4] = {4000, 4040, 3, 197};
    nb_scene scene = scenes_base();

    scene.detector.nfast = LONG_ROW;
    scene.detector.nslow = LONG_ROWS;
    scene.crystal.shape = NB_SHAPE_GAUSS;
    memcpy(scene.detector.roi, roi, sizeof roi);
    return scene;
}

static int strips_in_turn(void)
{
    const size_t n = (size_t)LONG_ROW * LONG_ROWS;
    double *host = calloc(n, sizeof *host), *image = calloc(n, sizeof *image);
    const nb_scene scene = long_rows();
    nb_context *ctx;
    nb_simulator *sim;
    double worst;

    if (!host || !image) abort();
    watched_reset();
    devices_render(&scene, NB_DEVICE_CPU, NB_PRECISION_DOUBLE, host);
    sim = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
    for (int i = 0; i < 2; i++) {
        memset(image, 0xff, n * sizeof *image);
        watched.overlaps = 0;
        if (devices_image(sim, NULL, image) != NB_OK) tap_check(0, "%s", ctx->message);
        worst = renders_compare(image, host, n).worst;
        tap_close("strips in turn", worst, 0, 1e-12); /* 4.1e-13 measured */
    }
    tap_check(watched.launches[GPU_IMAGE] == 8 && watched.overlaps == 3,
              "%llu launches of two images, %llu copies beside the next",
              (unsigned long long)watched.launches[GPU_IMAGE],
              (unsigned long long)watched.overlaps);
    devices_free(ctx, sim);
    free(host);
    free(image);
    tap_check(devices_balanced(), "all memory was given back");
    return TAP_PASS;
}

/* ---- memory that others take ---- */

/* Each allocation of an image fails once: the host computes that image, and the device the
 * next, with one warning for all. */
static int out_of_memory(void)
{
    static double image[PIXELS], host[PIXELS];
    const nb_scene scene = scenes_base();
    nb_context *ctx;
    nb_simulator *sim;
    nb_description about;
    int failures = 0;

    watched_reset();
    devices_render(&scene, NB_DEVICE_CPU, NB_PRECISION_DOUBLE, host);
    sim = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
    devices_warnings = 0;
    for (int i = 0; i < 3; i++) {
        const size_t there = watched.bytes;
        uint64_t launches;

        gpu_scene_drop(&sim->device.scene);
        watched.memory = watched.bytes + 1; /* another program has the rest */
        launches = watched.launches[GPU_IMAGE];
        if (devices_image(sim, NULL, image) != NB_OK) tap_check(0, "%s", ctx->message);
        failures += watched.launches[GPU_IMAGE] == launches;
        tap_check(memcmp(image, host, sizeof image) == 0, "%zu bytes: the host's image",
                  there);
        watched.memory = 0;
        launches = watched.launches[GPU_IMAGE];
        if (devices_image(sim, NULL, image) != NB_OK) tap_check(0, "%s", ctx->message);
        tap_check(watched.launches[GPU_IMAGE] == launches + 1, "the device goes on");
    }
    tap_check(failures == 3 && devices_warnings == 1,
              "%d images were the host's, expected 3; %d warnings, expected 1: %s",
              failures, devices_warnings, devices_warning);
    if (nb_simulator_describe(sim, NULL, &about) != NB_OK) abort();
    tap_check(strncmp(about.device, "watched:0 ", 10) == 0, "images on %s", about.device);
    devices_close(ctx, sim);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"peak_alone", peak_alone},
        {"lost_there", lost_there},
        {"one_copy_each_way", one_copy_each_way},
        {"target_that_changes", target_that_changes},
        {"strips_in_turn", strips_in_turn},
        {"out_of_memory", out_of_memory},
    };

    return devices_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
