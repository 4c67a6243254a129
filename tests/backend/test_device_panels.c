/*
 * test_device_panels.c - detectors of several panels on an emulated device
 * (emulation/emulated.h): each panel has the bits of an image of that panel alone, one
 * launch computes as many as it may, and derivatives are those of the host.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "device/both.h"
#include "device/panels.h"
#include "emulation/devices.h"
#include "emulation/emulated.h"
#include "emulation/jacobian_kernels.h"
#include "simulator.h"
#include "support/renders.h"
#include "support/scenes.h"
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
        s.crystal.shape = NB_SQUARE;
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
    nb_context *ctx = devices_context(NB_CUDA);
    const struct panels_difference differ = panels_compare(ctx, scene, t, &options, image);

    nb_context_free(ctx);
    return differ;
}

/* Render on the host, sample by sample. */
static void render_host(const nb_scene *scene, int precision, double *image)
{
    const nb_options options = {.precision = precision, .strategy = NB_LANES};
    nb_context *ctx = devices_context(NB_CPU);
    nb_simulator *sim = renders_simulator(ctx, scene, "", &options);

    renders_require(ctx, devices_image(sim, NULL, image));
    nb_simulator_free(sim);
    nb_context_free(ctx);
}

static int alone(void)
{
    static double image[PIXELS], host[PIXELS];
    static const char *const names[] = {"panels", "2 x 2 samples", "region and mask",
                                        "square, layers, mask"};
    static const int precisions[] = {NB_DOUBLE, NB_SINGLE};

    for (int number = 0; number < 4; number++)
        for (int single = 0; single < 2; single++) {
            struct tiled t;
            const nb_scene scene = variant(number, &t);
            struct renders_gap gap;
            struct panels_difference differ;

            emulated_reset();
            devices_render(&scene, NB_CUDA, precisions[single], image);
            /* in float some tiles need more anchors, which is another kernel */
            tap_check(emulated.launches[GPU_IMAGE] <= (single ? 2 : 1)
                          && emulated.most_images >= 3,
                      "%s: measured %d launches allowed %d, up to %d panels in one",
                      names[number], (int)emulated.launches[GPU_IMAGE], single ? 2 : 1,
                      emulated.most_images);
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
    static const size_t memory[] = {700000, 260000};
    struct tiled t;
    const nb_scene scene = variant(0, &t);

    emulated_reset();
    devices_render(&scene, NB_CUDA, NB_DOUBLE, one);
    for (int i = 0; i < 2; i++) {
        emulated_reset();
        emulated.memory = memory[i];
        emulated.order = EMULATED_REVERSED;
        devices_render(&scene, NB_CUDA, NB_DOUBLE, many);
        tap_check(emulated.launches[GPU_IMAGE] > (i ? TILED_PANELS : 1),
                  "%d launches where one may take a quarter of %zu bytes",
                  (int)emulated.launches[GPU_IMAGE], memory[i]);
        tap_check(bits_same(one, many, PIXELS), "the same bits");
    }
    emulated_reset();
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
    emulated_reset();
    devices_render(&scene, NB_CUDA, NB_SINGLE, image);
    tap_check(emulated.launches[GPU_IMAGE] == 2, "measured %d launches expected 2",
              (int)emulated.launches[GPU_IMAGE]);
    differ = compare_alone(&scene, &t, NB_SINGLE, image);
    tap_check(differ.pixels == 0 && differ.light == 0,
              "measured %d pixels allowed 0 with other bits, %d with light in gaps",
              differ.pixels, differ.light);
    emulated_reset();
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
        emulated_reset();
        ctx = devices_context(NB_CUDA);
        sim =
            devices_make(ctx, &scene, "panel_shift_fast[1] panel_rot_normal[3]", NB_DOUBLE);
        for (int i = 0; i <= k; i++) {
            x[0] = 0.1 * i;
            renders_require(ctx, devices_image(sim, x, image));
        }
        tap_check(k == 0 || emulated.replays > 0, "call %d: %d recordings, %d replays", k,
                  (int)emulated.records, (int)emulated.replays);
        nb_simulator_free(sim);
        sim =
            devices_make(ctx, &scene, "panel_shift_fast[1] panel_rot_normal[3]", NB_DOUBLE);
        renders_require(ctx, devices_image(sim, x, fresh));
        same += bits_same(image, fresh, PIXELS);
        nb_simulator_free(sim);
        nb_context_free(ctx);
        tap_check(devices_balanced() && emulated.recordings_held == 0,
                  "all memory was given back");
    }
    tap_check(same == 4, "%d of 4 have the bits of a first call", same);
    return TAP_PASS;
}

/* ---- arrays on the device ---- */

static nb_array array_there(nb_simulator *sim, nb_array array, const void *bytes, size_t n)
{
    const struct gpu *gpu = sim->device.scene.gpu;
    gpu_address address;

    renders_require(sim->ctx, gpu->driver->allocate(sim->ctx, gpu->device, n, &address));
    renders_require(sim->ctx,
                    gpu->driver->upload(sim->ctx, gpu->device, address, bytes, n));
    array.data = (void *)(uintptr_t)address;
    array.device = NB_CUDA;
    return array;
}

static void give_back(nb_simulator *sim, const nb_array *array, void *bytes, size_t n)
{
    const struct gpu *gpu = sim->device.scene.gpu;
    const gpu_address address = (gpu_address)(uintptr_t)array->data;

    renders_require(sim->ctx,
                    gpu->driver->download(sim->ctx, gpu->device, bytes, address, n));
    renders_require(sim->ctx, gpu->driver->wait(sim->ctx, gpu->device));
    gpu->driver->release(gpu->device, address);
}

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

    emulated_reset();
    ctx = devices_context(NB_CUDA);
    sim = devices_make(ctx, &scene, "", NB_DOUBLE);
    for (int i = 0; i < ROOM; i++) out[i] = 7;
    memset(counts, 0xa5, sizeof counts);
    renders_require(ctx, devices_image(sim, NULL, host));
    image.stride[0] = ROW;
    image.stride[1] = STEP;
    image = array_there(sim, image, out, sizeof out);
    counted = array_there(sim, counted, counts[0], sizeof counts[0]);
    renders_require(ctx, nb_forward(sim, NULL, &image));
    renders_require(ctx, nb_digitize(sim, &how, &image, &counted));
    give_back(sim, &counted, counts[0], sizeof counts[0]);
    give_back(sim, &image, out, sizeof out);
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
    nb_simulator_free(sim);
    nb_context_free(ctx);
    for (int i = 0; i < PIXELS; i++) host[i] = (double)(float)host[i];
    ctx = devices_context(NB_CPU);
    sim = devices_make(ctx, &scene, "", NB_DOUBLE);
    counted = nb_array_u16(counts[1], NSLOW, NFAST);
    renders_require(ctx, nb_digitize(sim, &how, &photons, &counted));
    for (int i = 0; i < PIXELS; i++) other += counts[0][i] != counts[1][i];
    tap_check(other == 0, "measured %d counts allowed 0 that are not the host's", other);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    tap_check(devices_balanced(), "all memory was given back");
    return TAP_PASS;
}

/* ---- the host instead ---- */

/* Whatever call of the driver fails, the image is the host's, and memory is given back. */
static int any_call_fails(void)
{
    static double host[PIXELS], image[PIXELS];
    struct tiled t;
    const nb_scene scene = variant(2, &t);
    uint64_t n = 0;
    int failed = 1;

    emulated_reset();
    devices_render(&scene, NB_CPU, NB_DOUBLE, host);
    while (failed) {
        nb_context *ctx;
        nb_simulator *sim;

        emulated_reset();
        emulated.fail_at = ++n;
        devices_warnings = 0;
        ctx = devices_context(NB_CUDA);
        sim = devices_make(ctx, &scene, "", NB_DOUBLE);
        renders_require(ctx, devices_image(sim, NULL, image));
        failed = emulated.calls >= n;
        if (failed)
            tap_check(bits_same(image, host, PIXELS) && devices_warnings == 1,
                      "call %d fails: %d warning, '%s'", (int)n, devices_warnings,
                      devices_warning);
        nb_simulator_free(sim);
        nb_context_free(ctx);
        tap_check(devices_balanced(), "all memory was given back");
    }
    tap_check(n > 8, "%d calls were made to fail", (int)n - 1);
    emulated_reset();
    return TAP_PASS;
}

static int stop_at_once(void *user, double fraction)
{
    (void)fraction;
    ++*(int *)user;
    return 1;
}

static int cancelled(void)
{
    static double image[PIXELS], whole[PIXELS];
    struct tiled t;
    const nb_scene scene = variant(0, &t);
    int told = 0;
    const nb_context_options options = {.threads = 1,
                                        .device = NB_CUDA,
                                        .progress = stop_at_once,
                                        .user = &told};
    nb_context *ctx;
    nb_simulator *sim;
    nb_status status;

    emulated_reset();
    devices_render(&scene, NB_CUDA, NB_DOUBLE, whole);
    emulated.memory = 260000;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    ctx->driver = &gpu_emulated;
    sim = devices_make(ctx, &scene, "", NB_DOUBLE);
    status = devices_image(sim, NULL, image);
    tap_check(status == NB_ERR_CANCELLED && told == 1, "stopped after %d launch: %s", told,
              nb_status_text(status));
    ctx->options.progress = NULL;
    renders_require(ctx, devices_image(sim, NULL, image));
    tap_check(bits_same(image, whole, PIXELS), "the next call gives the whole image");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    tap_check(devices_balanced(), "all memory was given back");
    emulated_reset();
    return TAP_PASS;
}

/* ---- derivatives ---- */

static void open_both(const nb_scene *scene, const char *names, int precision)
{
    nb_context *device;

    emulated_reset();
    device = devices_context(NB_CUDA);
    device->nvrtc = FAKE_NVRTC;
    device->env.cache_dir[0] = '\0';
    emulated_jacobian[0] = &derivative_kernels_double;
    emulated_jacobian[1] = &derivative_kernels_single;
    devices_warnings = 0;
    both_open(devices_context(NB_CPU), device, scene, names, precision);
}

/* Derivatives were computed by kernels of the device, once for each panel. */
static void close_both(const char *what)
{
    nb_description d;

    renders_require(both.ctx[1], nb_describe(both.sim[1], NULL, &d));
    tap_check(emulated.launches[GPU_DERIVATIVES] >= 2 && devices_warnings == 0
                  && strcmp(d.derivatives, d.device) == 0 && strcmp(d.device, "cpu") != 0,
              "%s on %s: %d launches, %d warnings", what, d.derivatives,
              (int)emulated.launches[GPU_DERIVATIVES], devices_warnings);
    both_close();
    tap_check(devices_balanced() && emulated.modules_held == 0, "all was given back");
}

static int vjp(void)
{
    static const char *const names[] = {"square_nearest", "each_factor"};

    for (int i = 0; i < 2; i++)
        for (int gaps = 0; gaps < 2; gaps++)
            for (int single = 0; single < 2; single++) {
                const nb_scene scene = panels_two(names[i], gaps);

                open_both(&scene, panels_moves, single ? NB_SINGLE : NB_DOUBLE);
                tap_close(names[i], both_vjp(single ? 32 : 64), 0, single ? 2e-6 : 4e-14);
                close_both(names[i]);
            }
    return TAP_PASS;
}

static int structure_factors(void)
{
    const nb_scene scene = panels_two("square_nearest", 1);

    open_both(&scene, "panel_shift_normal default_f F[1,2,3] F[0,1,2] F[-2,1,0]",
              NB_DOUBLE);
    tap_close("structure factors", both_vjp(64), 0, 4e-14);
    close_both("structure factors");
    return TAP_PASS;
}

static int loss(void)
{
    const nb_scene scene = panels_two("each_factor", 1);

    for (int kind = NB_GAUSSIAN; kind <= NB_CAUCHY; kind++) {
        nb_target target;
        double gradient, value, alone[2];

        open_both(&scene, panels_moves, NB_DOUBLE);
        gradient = both_loss(kind, &value);
        tap_close("value", value, 0, 5e-13);
        tap_close("gradient", gradient, 0, 2e-13);
        target = both_target(kind);
        for (int i = 0; i < 2; i++)
            renders_require(both.ctx[i],
                            nb_loss(both.sim[i], NULL, &target, alone + i, NULL));
        tap_check(emulated.launches[GPU_LOSS] >= 2,
                  "a value without derivatives: %d launches",
                  (int)emulated.launches[GPU_LOSS]);
        tap_close("value alone", alone[1], alone[0], 5e-13 * fabs(alone[0]));
        close_both("loss");
    }
    return TAP_PASS;
}

static int normal(void)
{
    const nb_scene scene = panels_two("each_factor", 1);

    open_both(&scene, panels_moves, NB_DOUBLE);
    tap_close("of squares", both_normal(-1), 0, 8e-15);
    for (int kind = NB_GAUSSIAN; kind <= NB_CAUCHY; kind++)
        tap_close("of a loss", both_normal(kind), 0, 1e-13); /* 3.3e-14 measured */
    close_both("normal matrix");
    return TAP_PASS;
}

static int jvp(void)
{
    for (int gaps = 0; gaps < 2; gaps++) {
        const nb_scene scene = panels_two("list_of_sources", gaps);

        open_both(&scene, panels_moves, NB_DOUBLE);
        tap_close("float64", both_jvp(64), 0, both_double);
        tap_close("float32", both_jvp(32), 0, 1e-7); /* rounded to float once: 2^-24 */
        close_both("tangents");
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
        {"vjp", vjp},
        {"structure_factors", structure_factors},
        {"loss", loss},
        {"normal", normal},
        {"jvp", jvp},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
