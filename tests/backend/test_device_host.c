/*
 * test_device_host.c - what of devices needs none: how one is asked for, what happens where
 * there is none, digests of what is sent, and the estimated seconds of a launch.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "device/devices.h"
#include "gpu/gpu.h"
#include "gpu/text/parameters.h"
#include "simulator.h"
#include "support/compiled.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

enum { PIXELS = COMPILED_PIXELS };

static int by_environment(void)
{
    static const struct {
        const char *value;
        int device, id, warns;
    } rows[] = {{"", NB_DEVICE_CPU, 0, 0},        {"cpu", NB_DEVICE_CPU, 0, 0},
                {"auto", NB_DEVICE_AUTO, 0, 0},   {"cuda", NB_DEVICE_CUDA, 0, 0},
                {"cuda:3", NB_DEVICE_CUDA, 3, 0}, {"cuda:", NB_DEVICE_CPU, 0, 1},
                {"cuda:x", NB_DEVICE_CPU, 0, 1},  {"gpu", NB_DEVICE_CPU, 0, 1},
                {"cuda:-1", NB_DEVICE_CPU, 0, 1}, {"cuda:99999", NB_DEVICE_CPU, 0, 1}};
    nb_context *ctx;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setenv("NANOBRAG_DEVICE", rows[i].value, 1);
        devices_warnings = 0;
        ctx = devices_context(0);
        tap_check(ctx->device == rows[i].device && ctx->device_id == rows[i].id
                      && devices_warnings == rows[i].warns,
                  "NANOBRAG_DEVICE=%s: %d, %d; %d warnings", rows[i].value, ctx->device,
                  ctx->device_id, devices_warnings);
        nb_context_free(ctx);
    }
    setenv("NANOBRAG_DEVICE", "cuda", 1);
    ctx = devices_context(NB_DEVICE_CPU);
    tap_check(ctx->device == NB_DEVICE_CPU, "the options win over it");
    nb_context_free(ctx);
    unsetenv("NANOBRAG_DEVICE");
    return TAP_PASS;
}

/* CUDA's driver itself, where this machine has none */
static int without_cuda(void)
{
    static double host[PIXELS], image[PIXELS];
    const nb_scene scene = scenes_base();
    nb_context *ctx = devices_context(NB_DEVICE_CUDA);
    nb_simulator *sim;
    nb_description about;

    ctx->driver = NULL;
    devices_warnings = 0;
    sim = devices_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
    if (nb_simulator_describe(sim, NULL, &about) != NB_OK) abort();
    if (strcmp(about.device, "cpu") != 0) {
        devices_free(ctx, sim);
        return tap_skip("there is one: %s", about.device);
    }
    tap_check(devices_warnings == 1, "one warning: %s", devices_warning);
    tap_check(strlen(about.device_why) > 10, "and why: %s", about.device_why);
    if (devices_image(sim, NULL, image) != NB_OK) abort();
    devices_render(&scene, NB_DEVICE_CPU, NB_PRECISION_DOUBLE, host);
    tap_check(bits_same(image, host, sizeof host / sizeof *host), "the host's bits");
    devices_free(ctx, sim);
    return TAP_PASS;
}

static int digests(void)
{
    enum { N = 203 };
    static unsigned char bytes[N];
    uint64_t first[2], other[2];
    int same = 0;

    for (int i = 0; i < N; i++) bytes[i] = (unsigned char)(i * 5);
    gpu_digest(bytes, N, first);
    for (int i = 0; i < 8 * N; i++) {
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
        gpu_digest(bytes, N, other);
        same += first[0] == other[0] || first[1] == other[1];
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    memset(bytes, 0, N);
    for (int n = 0; n < N; n++) { /* zeros that differ in number */
        gpu_digest(bytes, (size_t)n, first);
        gpu_digest(bytes, (size_t)n + 1, other);
        same += first[0] == other[0] || first[1] == other[1];
    }
    tap_check(same == 0, "%d of %d changes do not show in both words", same, 8 * N + N);
    return TAP_PASS;
}

/* ---- the seconds of a launch ---- */

static const struct gpu_properties cards[] = {
    {"H200", 9, 0, 132, (uint64_t)140 << 30, "", 13000, {0}},
    {"4090", 8, 9, 128, (uint64_t)24 << 30, "", 13000, {0}},
    {"T4", 7, 5, 40, (uint64_t)15 << 30, "", 13000, {0}},
};

/* A launch is as long as a card of that speed may take, and no shorter without need. */
static int seconds_of_a_launch(void)
{
    nb_scene scene = scenes_base();
    nb_context *ctx = devices_context(NB_DEVICE_CPU);
    nb_simulator *sim;
    const struct phys_frame *frame;
    nb_scene at;

    scene.detector.nslow = scene.detector.nfast = 2048;
    scene.crystal.ndomains = 1000;
    sim = devices_make(ctx, &scene, "", NB_PRECISION_SINGLE);
    if (simulator_frame(sim, NULL, &at, &frame) != NB_OK) abort();
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        for (int single = 0; single < 2; single++) {
            const struct job job = simulator_job(sim, &at, frame, NULL);
            const struct gpu_layout l = gpu_layout_of(&cards[i], &job, single);
            const double samples = (double)frame->nsource * frame->norientation
                                   * frame->nlayers * frame->oversample * frame->oversample;
            const double row =
                samples * l.across * GPU_FAST * GPU_SLOW / gpu_rate(&cards[i], l.single);

            tap_check(l.strip == l.down || l.strip == 1
                          || (l.strip * row <= 0.25 && (l.strip + 1) * row > 0.125),
                      "%s in %s: %d of %d rows of tiles, %.3f s of at most 0.25",
                      cards[i].name, single ? "float" : "double", l.strip, l.down,
                      l.strip * row);
        }
    devices_free(ctx, sim);
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
        {"environment", by_environment},
        {"without_cuda", without_cuda},
        {"digests", digests},
        {"seconds_of_a_launch", seconds_of_a_launch},
        {"rates", rates},
    };

    compiled_environment();
    unsetenv("NANOBRAG_DEVICE");
    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
