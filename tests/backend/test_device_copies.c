/*
 * test_device_copies.c - what an image on a device costs beside its kernels: the copies
 * there and back, and the seconds of one launch.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "emulation/devices.h"
#include "emulation/emulated.h"
#include "gpu/gpu.h"
#include "gpu/text/parameters.h"
#include "simulator.h"
#include "support/compiled.h"
#include "support/scenes.h"
#include "support/tap.h"

enum { PIXELS = COMPILED_PIXELS };

static nb_scene gauss_scene(void)
{
    nb_scene scene = devices_many_tiles();

    scene.crystal.shape = NB_GAUSS;
    return scene;
}

/* Renders into memory of the device, and returns the bytes that came back meanwhile. */
static uint64_t bytes_back(nb_simulator *sim, double *image)
{
    nb_array to = nb_array_f64(image, sim->scene.detector.nslow, sim->scene.detector.nfast);
    const uint64_t before = emulated.downloaded;

    to.device = NB_CUDA;
    if (nb_forward(sim, NULL, &to) != NB_OK) tap_check(0, "%s", sim->ctx->message);
    return emulated.downloaded - before;
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

    emulated_reset();
    emulated.order = EMULATED_SHUFFLED;
    emulated.threads = 4;
    ctx = devices_context(NB_CUDA);
    sim = devices_make(ctx, &scene, "", NB_SINGLE);
    bytes = bytes_back(sim, there);
    tap_check(bytes == sizeof(double), "%llu bytes came back, expected %zu",
              (unsigned long long)bytes, sizeof(double));
    tap_check(emulated.launches[GPU_IMAGE] == 1, "float kept it: %llu image computed",
              (unsigned long long)emulated.launches[GPU_IMAGE]);
    tap_check(sim->photons == NULL, "no image was made on the host");
    if (devices_image(sim, NULL, here) != NB_OK) tap_check(0, "%s", ctx->message);
    for (int i = 0; i < DEVICES_MANY; i++) differ += there[i] != here[i];
    tap_check(differ == 0, "%d pixels differ", differ);
    nb_simulator_free(sim);
    nb_context_free(ctx);
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

    emulated_reset();
    ctx = devices_context(NB_CUDA);
    sim = devices_make(ctx, &scene, "", NB_SINGLE);
    (void)bytes_back(sim, there);
    tap_check(emulated.launches[GPU_IMAGE] == 2, "%llu images computed, expected 2",
              (unsigned long long)emulated.launches[GPU_IMAGE]);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    devices_render(&scene, NB_CUDA, NB_DOUBLE, here);
    for (size_t i = 0; i < pixels; i++) {
        differ += there[i] != here[i];
        lit += here[i] > 0;
    }
    tap_check(lit > 0 && differ == 0, "%d pixels lit, %d differ from those in double", lit,
              differ);
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

    emulated_reset();
    devices_render(&scene, NB_CPU, NB_DOUBLE, host);
    ctx = devices_context(NB_CUDA);
    sim = devices_make(ctx, &scene, "", NB_DOUBLE);
    devices_warnings = 0;
    for (int i = 0; i < 3; i++) {
        const size_t there = emulated.bytes;
        uint64_t launches;

        gpu_scene_drop(&sim->device.scene);
        emulated.memory = emulated.bytes + 1; /* another program has the rest */
        launches = emulated.launches[GPU_IMAGE];
        if (devices_image(sim, NULL, image) != NB_OK) tap_check(0, "%s", ctx->message);
        failures += emulated.launches[GPU_IMAGE] == launches;
        tap_check(memcmp(image, host, sizeof image) == 0, "%zu bytes: the host's image",
                  there);
        emulated.memory = 0;
        launches = emulated.launches[GPU_IMAGE];
        if (devices_image(sim, NULL, image) != NB_OK) tap_check(0, "%s", ctx->message);
        tap_check(emulated.launches[GPU_IMAGE] == launches + 1, "the device goes on");
    }
    tap_check(failures == 3 && devices_warnings == 1,
              "%d images were the host's, expected 3; %d warnings, expected 1: %s",
              failures, devices_warnings, devices_warning);
    if (nb_describe(sim, NULL, &about) != NB_OK) abort();
    tap_check(strncmp(about.device, "emulated:0 ", 11) == 0, "images on %s", about.device);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    tap_check(devices_balanced(), "all memory was given back");
    return TAP_PASS;
}

/* ---- the seconds of a launch ---- */

static const struct gpu_properties cards[] = {
    {"H200", 9, 0, 132, (uint64_t)140 << 30, "", 13000},
    {"4090", 8, 9, 128, (uint64_t)24 << 30, "", 13000},
    {"T4", 7, 5, 40, (uint64_t)15 << 30, "", 13000},
};

/* A launch is as long as a card of that speed may take, and no shorter without need. */
static int seconds_of_a_launch(void)
{
    nb_scene scene = scenes_base();
    nb_context *ctx = devices_context(NB_CPU);
    nb_simulator *sim;
    struct phys_frame frame;
    nb_scene at;

    scene.detector.nslow = scene.detector.nfast = 2048;
    scene.crystal.ndomains = 1000;
    sim = devices_make(ctx, &scene, "", NB_SINGLE);
    if (simulator_frame(sim, NULL, &at, &frame) != NB_OK) abort();
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        for (int single = 0; single < 2; single++) {
            const struct job job = simulator_job(sim, &at, &frame, NULL);
            const struct gpu_layout l = gpu_layout_of(&cards[i], &job, single, 0);
            const double samples = (double)frame.nsource * frame.norientation
                                   * frame.nlayers * frame.oversample * frame.oversample;
            const double row =
                samples * l.across * GPU_FAST * GPU_SLOW / gpu_rate(&cards[i], l.single);

            tap_check(l.strip == l.down || l.strip == 1
                          || (l.strip * row <= 0.25 && (l.strip + 1) * row > 0.125),
                      "%s in %s: %d of %d rows of tiles, %.3f s of at most 0.25",
                      cards[i].name, single ? "float" : "double", l.strip, l.down,
                      l.strip * row);
        }
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Cards whose units of double are few: a twentieth of the speed, by counts. */
static int rates(void)
{
    tap_close("4090", gpu_rate(&cards[1], 0) / gpu_rate(&cards[1], 1), 1.0 / 20, 1e-15);
    tap_close("H200", gpu_rate(&cards[0], 0) / gpu_rate(&cards[0], 1), 1.0 / 2, 1e-15);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"peak_alone", peak_alone},
        {"lost_there", lost_there},
        {"out_of_memory", out_of_memory},
        {"seconds_of_a_launch", seconds_of_a_launch},
        {"rates", rates},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
