/*
 * test_device_panels.c - detectors of several panels on a watched device
 * (device/watched.h): each panel has the bits of an image of that panel alone, and one
 * launch computes as many as it may. Derivatives are in test_device_panel_derivatives.c.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "compile/jit/hot.h"
#include "device/devices.h"
#include "device/panels.h"
#include "device/watched.h"
#include "simulator.h"
#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

enum { PIXELS = TILED_PIXELS, NSLOW = TILED_NSLOW, NFAST = TILED_NFAST };

/* ---- images ---- */

/* A scene of each kind that a panel's image may be of. */
static nb_scene variant(int number, struct tiled *t)
{
    static uint8_t mask[PIXELS];
    static const int roi[4] = {13, 118, 21, 90};
    nb_scene s = panels_placed(t);

    if (number == 1) s.oversample = 2;
    if (number == 2) memcpy(s.detector.roi, roi, sizeof roi);
    if (number >= 2) {
        for (int i = 0; i < PIXELS; i++) mask[i] = i % 7 != 3;
        s.detector.mask = mask;
    }
    if (number == 3) {
        s.crystal.shape = NB_SHAPE_SQUARE;
        s.background.water = 0;
        s.detector.thickness = 300;
        s.detector.attenuation = 200;
        s.detector.nlayers = 3;
        s.oversample_thick = 1;
    }
    return s;
}

/* Compare an image with those of its panels alone on a device. */
static struct panels_difference compare_alone(const nb_scene *scene, const struct tiled *t,
                                              int precision, const double *image)
{
    const nb_options options = {.precision = precision};
    nb_context *ctx = devices_context(NB_DEVICE_CUDA);
    const struct panels_difference differ = panels_compare(ctx, scene, t, &options, image);

    nb_context_free(ctx);
    return differ;
}

/* Render on the host, sample by sample. */
static void render_host(const nb_scene *scene, int precision, double *image)
{
    const nb_options options = {.precision = precision, .strategy = NB_STRATEGY_LANES};
    nb_context *ctx = devices_context(NB_DEVICE_CPU);
    nb_simulator *sim = renders_simulator(ctx, scene, "", &options);

    renders_require(ctx, devices_image(sim, NULL, image));
    devices_free(ctx, sim);
}

static int alone(void)
{
    static double image[PIXELS], host[PIXELS];
    static const char *const names[] = {"panels", "2 x 2 samples", "region and mask",
                                        "square, layers, mask"};
    static const int precisions[] = {NB_PRECISION_DOUBLE, NB_PRECISION_SINGLE};

    for (int number = 0; number < 4; number++)
        for (int single = 0; single < 2; single++) {
            struct tiled t;
            const nb_scene scene = variant(number, &t);
            struct renders_gap gap;
            struct panels_difference differ;

            watched_reset();
            devices_render(&scene, NB_DEVICE_CUDA, precisions[single], image);
            /* in float some tiles need more anchors, which is another kernel */
            tap_check(watched.launches[GPU_IMAGE] <= (single ? 2 : 1)
                          && watched.most_images >= 3,
                      "%s: measured %d launches allowed %d, up to %d panels in one",
                      names[number], (int)watched.launches[GPU_IMAGE], single ? 2 : 1,
                      watched.most_images);
            differ = compare_alone(&scene, &t, precisions[single], image);
            tap_check(differ.pixels == 0,
                      "%s: measured %d pixels allowed 0 with other bits", names[number],
                      differ.pixels);
            tap_check(differ.light == 0,
                      "%s: measured %d pixels allowed 0 with light in gaps", names[number],
                      differ.light);
            render_host(&scene, precisions[single], host);
            gap = renders_compare(image, host, PIXELS);
            /* float against float: each may be off by its tolerance */
            tap_close(names[number], gap.worst, 0, single ? 2e-5 : renders_allowed(&scene));
            tap_check(devices_balanced(), "all memory was given back");
        }
    return TAP_PASS;
}

/* Little memory takes many launches, some of them for a strip of one panel alone; neither
 * they nor the order of the blocks change a bit. */
static int many_launches(void)
{
    static double one[PIXELS], many[PIXELS];
    struct tiled t;
    nb_scene scene = variant(0, &t);

    scene.crystal.ndomains = 1030; /* three segments of pairs for each tile */
    watched_reset();
    devices_render(&scene, NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, one);
    watched_reset();
    watched.memory = 400000;
    devices_render(&scene, NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, many);
    tap_check(watched.launches[GPU_IMAGE] > TILED_PANELS,
              "%d launches where one may take a quarter of %zu bytes",
              (int)watched.launches[GPU_IMAGE], watched.memory);
    tap_check(bits_same(one, many, PIXELS), "the same bits");
    watched_reset();
    return TAP_PASS;
}

/* Panels so far from all spots that float loses them are computed again, in double. */
static int lost(void)
{
    static double image[PIXELS];
    struct tiled t;
    nb_scene scene = variant(0, &t);
    struct panels_difference differ;

    scene.background.water = 0;
    scene.crystal.ndomains = 1;
    scene.crystal.mosaic[0] = 0;
    for (int i = 0; i < TILED_PANELS; i++) t.panel[i].pixel = 0.1; /* enough for float */
    t.panel[3].pixel = 0.005; /* between the spots */
    watched_reset();
    devices_render(&scene, NB_DEVICE_CUDA, NB_PRECISION_SINGLE, image);
    tap_check(watched.launches[GPU_IMAGE] == 2, "measured %d launches expected 2",
              (int)watched.launches[GPU_IMAGE]);
    differ = compare_alone(&scene, &t, NB_PRECISION_SINGLE, image);
    tap_check(differ.pixels == 0 && differ.light == 0,
              "measured %d pixels allowed 0 with other bits, %d with light in gaps",
              differ.pixels, differ.light);
    watched_reset();
    return TAP_PASS;
}

/* Several calls are one recording of each sequence, and an image after another has its own
 * bits. */
static int calls(void)
{
    static double fresh[PIXELS], image[PIXELS];
    struct tiled t;
    const nb_scene scene = variant(0, &t);
    nb_context *ctx;
    nb_simulator *sim;
    double x[2] = {0, 0.2};
    int same = 0;

    for (int k = 0; k < 4; k++) {
        watched_reset();
        sim = devices_open(&scene, "panel_shift_fast[1] panel_rot_normal[3]",
                           NB_PRECISION_DOUBLE, &ctx);
        for (int i = 0; i <= k; i++) {
            x[0] = 0.1 * i;
            renders_require(ctx, devices_image(sim, x, image));
        }
        tap_check(k == 0 || watched.replays > 0, "call %d: %d recordings, %d replays", k,
                  (int)watched.records, (int)watched.replays);
        nb_simulator_free(sim);
        sim = devices_make(ctx, &scene, "panel_shift_fast[1] panel_rot_normal[3]",
                           NB_PRECISION_DOUBLE);
        renders_require(ctx, devices_image(sim, x, fresh));
        same += bits_same(image, fresh, PIXELS);
        devices_free(ctx, sim);
        tap_check(devices_balanced() && watched.recordings_held == 0,
                  "all memory was given back");
    }
    tap_check(same == 4, "%d of 4 have the bits of a first call", same);
    return TAP_PASS;
}

/* ---- arrays on the device ---- */

/* An image of float32 with steps between its pixels, and counts of it: pixels of no panel
 * are 0 there too, and what lies between the pixels is left alone. */
static int there(void)
{
    enum { STEP = 2, ROW = STEP * NFAST + 3, ROOM = NSLOW * ROW };
    static float out[ROOM];
    static double host[PIXELS];
    static uint16_t counts[2][PIXELS];
    const nb_digitizer how = {.noise = 1, .offset = 40, .seed = 7, .scale = 1};
    struct tiled t;
    const nb_scene scene = variant(2, &t);
    nb_context *ctx;
    nb_simulator *sim;
    nb_array image = nb_array_f32(NULL, NSLOW, NFAST);
    nb_array counted = nb_array_u16(counts[0], NSLOW, NFAST);
    nb_array photons = nb_array_f64(host, NSLOW, NFAST);
    int differ = 0, touched = 0, other = 0;

    watched_reset();
    sim = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
    for (int i = 0; i < ROOM; i++) out[i] = 7;
    memset(counts, 0xa5, sizeof counts);
    renders_require(ctx, devices_image(sim, NULL, host));
    image.stride[0] = ROW;
    image.stride[1] = STEP;
    image = devices_array(sim, image, out, sizeof out);
    counted = devices_array(sim, counted, counts[0], sizeof counts[0]);
    renders_require(ctx, nb_forward(sim, NULL, &image));
    renders_require(ctx, nb_digitize(sim, &how, &image, &counted));
    devices_give_back(sim, &counted, counts[0], sizeof counts[0]);
    devices_give_back(sim, &image, out, sizeof out);
    for (int i = 0; i < ROOM; i++) {
        const int s = i / ROW, f = i % ROW / STEP,
                  is_pixel = i % ROW % STEP == 0 && f < NFAST;

        if (is_pixel)
            differ += out[i] != (float)host[s * NFAST + f];
        else
            touched += out[i] != 7;
    }
    tap_check(differ == 0, "measured %d pixels allowed 0 that differ", differ);
    tap_check(touched == 0, "measured %d numbers allowed 0 that are not pixels", touched);
    devices_free(ctx, sim);
    for (int i = 0; i < PIXELS; i++) host[i] = (double)(float)host[i];
    ctx = devices_context(NB_DEVICE_CPU);
    sim = devices_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
    counted = nb_array_u16(counts[1], NSLOW, NFAST);
    renders_require(ctx, nb_digitize(sim, &how, &photons, &counted));
    for (int i = 0; i < PIXELS; i++) other += counts[0][i] != counts[1][i];
    tap_check(other == 0, "measured %d counts allowed 0 that are not the host's", other);
    devices_close(ctx, sim);
    return TAP_PASS;
}

/* ---- the host instead ---- */

static int any_call_fails(void)
{
    struct tiled t;
    const nb_scene scene = variant(2, &t);

    devices_any_call_fails(&scene);
    return TAP_PASS;
}

static int cancelled(void)
{
    struct tiled t;
    const nb_scene scene = variant(0, &t);

    devices_stopped(&scene, 290000);
    return TAP_PASS;
}

/* ---- what is not computed ---- */

/* A region that lies between the panels: the image is dark, on the host and on the device,
 * and complete when the call returns. */
static int nothing_in_region(void)
{
    static double image[PIXELS];
    static const int roi[4] = {72, 78, 10, 20};
    static const int precisions[] = {NB_PRECISION_DOUBLE, NB_PRECISION_SINGLE};
    struct tiled t;

    for (int k = 0; k < 4; k++) {
        nb_scene scene = variant(k < 2 ? 0 : 3, &t);
        nb_array there = nb_array_f64(NULL, NSLOW, NFAST);
        nb_context *ctx;
        nb_simulator *sim;
        uint64_t waits;
        int light = 0;

        memcpy(scene.detector.roi, roi, sizeof roi);
        for (int i = 0; i < PIXELS; i++) image[i] = 7;
        watched_reset();
        sim = devices_open(&scene, "", precisions[k % 2], &ctx);
        there = devices_array(sim, there, image, sizeof image);
        renders_require(ctx, devices_image(sim, NULL, image));
        for (int i = 0; i < PIXELS; i++) light += image[i] != 0;
        tap_check(light == 0, "measured %d pixels allowed 0 with light", light);
        waits = watched.waits;
        renders_require(ctx, nb_forward(sim, NULL, &there));
        tap_check(watched.waits > waits, "an image on the device is waited for");
        devices_give_back(sim, &there, image, sizeof image);
        for (int i = 0; i < PIXELS; i++) light += image[i] != 0;
        tap_check(light == 0, "measured %d pixels allowed 0 with light there", light);
        devices_free(ctx, sim);
    }
    return TAP_PASS;
}

/* Float has lost nothing of a panel that a mask hides. */
static int masked_panel(void)
{
    static double image[PIXELS];
    static uint8_t mask[PIXELS];
    struct tiled t;
    nb_scene scene = variant(0, &t);

    for (int i = 0; i < TILED_PANELS; i++) t.panel[i].pixel = 0.1; /* enough for float */
    for (int i = 0; i < PIXELS; i++)
        mask[i] = tiled_panel_of(&t, i / NFAST, i % NFAST) != 1;
    scene.detector.mask = mask;
    watched_reset();
    devices_render(&scene, NB_DEVICE_CUDA, NB_PRECISION_SINGLE, image);
    tap_check(watched.launches[GPU_IMAGE] == 1 && watched.most_images == TILED_PANELS - 1,
              "measured %d launches expected 1, of %d panels",
              (int)watched.launches[GPU_IMAGE], watched.most_images);
    return TAP_PASS;
}

/* The rows of the region alone come back. */
static int few_rows(void)
{
    static double image[PIXELS];
    static const int roi[4] = {0, 16, 4, 12};
    const size_t allowed = 8 * NFAST * sizeof(double);
    struct tiled t;
    nb_scene scene = variant(0, &t);

    memcpy(scene.detector.roi, roi, sizeof roi);
    watched_reset();
    devices_render(&scene, NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, image);
    tap_check(watched.downloaded <= allowed, "measured %d bytes allowed %d",
              (int)watched.downloaded, (int)allowed);
    return TAP_PASS;
}

/* ---- calls one after the other ---- */

/* Launches are recorded once, or not at all where a call has too many of them. */
static int recordings(void)
{
    static double image[PIXELS];
    static const size_t memory[] = {0, 400000, 300000};
    struct tiled t;
    nb_scene scene = variant(0, &t);

    scene.background.water = 0;
    scene.crystal.ndomains = 1;
    scene.crystal.mosaic[0] = 0;
    for (int i = 0; i < TILED_PANELS; i++)
        t.panel[i].pixel = i == 1 || i == 4 ? 0.1 : 0.005;
    for (int k = 0; k < 3; k++) {
        nb_context *ctx;
        nb_simulator *sim;
        uint64_t first = 0;

        watched_reset();
        watched.memory = memory[k];
        sim = devices_open(&scene, "", NB_PRECISION_SINGLE, &ctx);
        for (int i = 0; i < 5; i++) {
            renders_require(ctx, devices_image(sim, NULL, image));
            if (i == 0) first = watched.records;
        }
        tap_check(watched.records == first,
                  "measured %d recordings allowed %d, %d launches", (int)watched.records,
                  (int)first, (int)watched.launches[GPU_IMAGE]);
        devices_free(ctx, sim);
    }
    watched_reset();
    return TAP_PASS;
}

/* A kernel built at run time comes into use though the first panel, on which it may be
 * compared with that of the build, is dark; and the bits stay the same. */
static int dark_panel(void)
{
    static double image[PIXELS], first[PIXELS];
    struct tiled t;
    nb_scene scene = variant(0, &t);
    nb_context *ctx;
    nb_simulator *sim;
    int same = 0;

    scene.background.water = 0;
    scene.crystal.shape = NB_SHAPE_TOPHAT;
    t.panel[0].pixel = 0.0005; /* between the spots */
    watched_reset();
    ctx = devices_context(NB_DEVICE_CUDA);
    ctx->env.cache_dir[0] = '\0';
    ctx->env.hot_threshold = 1;
    sim = devices_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
    renders_require(ctx, devices_image(sim, NULL, first));
    for (int i = 0; i < 12; i++) {
        while (hot_is_busy(sim->device.scene.gpu)) (void)sched_yield();
        renders_require(ctx, devices_image(sim, NULL, image));
        same += bits_same(image, first, PIXELS);
    }
    tap_check(sim->device.scene.hot.promotions == 1 && watched.own_launches > 0,
              "measured %d kernels in use expected 1, %d launches of it",
              (int)sim->device.scene.hot.promotions, (int)watched.own_launches);
    tap_check(same == 12, "%d of 12 images have the bits of the first", same);
    devices_free(ctx, sim);
    tap_check(devices_balanced() && watched.modules_held == 0, "all was given back");
    return TAP_PASS;
}

/* Several images in one call, and behind a point spread, are those of the host. */
static int batch(void)
{
    static double image[2][3][PIXELS];
    static const double x[3] = {0, 0.2, -0.3};
    const int spreads = strstr(nb_features(), "fftw") ? 2 : 1;

    for (int spread = 0; spread < spreads; spread++) {
        struct tiled t;
        nb_scene scene = variant(2, &t);

        if (spread) scene.psf = (nb_psf){.kind = NB_PSF_GAUSS, .fwhm = 0.9};
        watched_reset();
        for (int d = 0; d < 2; d++) {
            nb_context *ctx = devices_context(d ? NB_DEVICE_CUDA : NB_DEVICE_CPU);
            const nb_options options = {.strategy = NB_STRATEGY_LANES};
            nb_simulator *sim =
                renders_simulator(ctx, &scene, "panel_shift_fast[1]", &options);
            nb_array array[3];

            for (int i = 0; i < 3; i++) array[i] = nb_array_f64(image[d][i], NSLOW, NFAST);
            renders_require(ctx, nb_forward_batch(sim, 3, x, array));
            devices_free(ctx, sim);
        }
        tap_check(watched.launches[GPU_IMAGE] == 3, "%d launches expected 3",
                  (int)watched.launches[GPU_IMAGE]);
        for (int i = 0; i < 3; i++)
            tap_close(spread ? "behind a point spread" : "of three images",
                      renders_compare(image[1][i], image[0][i], PIXELS).worst, 0,
                      renders_allowed(&scene));
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"alone", alone},
        {"many_launches", many_launches},
        {"lost", lost},
        {"calls", calls},
        {"there", there},
        {"any_call_fails", any_call_fails},
        {"cancelled", cancelled},
        {"nothing_in_region", nothing_in_region},
        {"masked_panel", masked_panel},
        {"few_rows", few_rows},
        {"recordings", recordings},
        {"dark_panel", dark_panel},
        {"batch", batch},
    };

    return devices_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
