/*
 * test_gpu.c - images on a CUDA device by the public interface (except for device memory):
 * they agree with the reference, repeat their bits, and need no fallback. Skipped without a
 * device. test_gpu_large.c has those that take long on a slow one.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "device/on_device.h"
#include "gpu/count.h"
#include "image/digitize.h"
#include "support/compiled.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/windows.h"
#include "support/worst.h"

/* ---- images ---- */

static int scenes(void)
{
    struct named_scene named;

    if (!on_device_found()) return TAP_SKIP;
    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++)
        on_device_check(named.name, &named.scene, NB_STRATEGY_REFERENCE);
    return TAP_PASS;
}

/* several tiles along each axis, the last of them cut off */
static nb_scene many_tiles(void)
{
    nb_scene scene = scenes_base();

    scene.detector.nslow = 100;
    scene.detector.nfast = 70;
    return scene;
}

static int regions(void)
{
    nb_scene scene = many_tiles();
    const int roi[4] = {13, 58, 21, 90};
    static uint8_t mask[100 * 70];

    if (!on_device_found()) return TAP_SKIP;
    for (size_t i = 0; i < sizeof mask; i++) mask[i] = i % 7 != 3;
    on_device_check("all", &scene, NB_STRATEGY_REFERENCE);
    memcpy(scene.detector.roi, roi, sizeof roi);
    on_device_check("region", &scene, NB_STRATEGY_REFERENCE);
    scene.detector.mask = mask;
    on_device_check("region and mask", &scene, NB_STRATEGY_REFERENCE);
    return TAP_PASS;
}

/* ---- what test_gpu_large.c does with more ---- */

static int few_domains(void)
{
    if (!on_device_found()) return TAP_SKIP;
    on_device_domains(8, 16, 8);
    return TAP_PASS;
}

/* a narrow region of a wide detector takes several bands: little to compute, and much that
 * is copied from two halves of the memory in turn */
static nb_scene narrow(void)
{
    const int roi[4] = {4000, 4040, 3, 197};
    nb_scene scene = scenes_base();

    scene.detector.nfast = 8000;
    scene.detector.nslow = 200;
    memcpy(scene.detector.roi, roi, sizeof roi);
    return scene;
}

static int narrow_bands(void)
{
    const nb_scene scene = narrow();

    if (!on_device_found()) return TAP_SKIP;
    on_device_bands(&scene);
    return TAP_PASS;
}

static int narrow_cancelled(void)
{
    const nb_scene scene = narrow();

    if (!on_device_found()) return TAP_SKIP;
    on_device_cancelled(&scene);
    return TAP_PASS;
}

static int few_simulators(void)
{
    const nb_scene scene = many_tiles();

    if (!on_device_found()) return TAP_SKIP;
    on_device_memory(&scene, 10, 5);
    return TAP_PASS;
}

/* ---- the same bits ---- */

static void check_bits(const struct named_scene *named, int precision)
{
    const size_t n = on_device_size(&named->scene);
    double *first = on_device_pixels(n), *other = on_device_pixels(n);
    nb_context *ctx = on_device_context(NB_DEVICE_CUDA);
    nb_simulator *a = on_device_make(ctx, &named->scene, "", precision),
                 *b = on_device_make(ctx, &named->scene, "", precision);
    int differ = 0;

    if (!on_device_image(ctx, a, NULL, first)) differ = 1;
    for (int run = 0; run < 2; run++)
        differ += !on_device_image(ctx, run % 2 ? a : b, NULL, other)
                  || !bits_same(first, other, n);
    differ +=
        !on_device_render(&named->scene, precision, other) || !bits_same(first, other, n);
    tap_check(differ == 0, "%s, %s: of 3 runs measured %d allowed 0 that differ",
              named->name, precision == NB_PRECISION_DOUBLE ? "double" : "float", differ);
    nb_simulator_free(a);
    nb_simulator_free(b);
    nb_context_free(ctx);
    free(first);
    free(other);
}

static int same_bits(void)
{
    struct named_scene named;

    if (!on_device_found()) return TAP_SKIP;
    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++)
        for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
             precision++)
            check_bits(&named, precision);
    return TAP_PASS;
}

/* ---- calls ---- */

static void values_of(const nb_simulator *sim, double *x)
{
    for (size_t i = 0; i < nb_simulator_nparam(sim); i++) {
        nb_param param;

        if (nb_simulator_param(sim, i, &param) != NB_OK) abort();
        x[i] = param.value;
    }
}

/* parameters move from call to call, there and back */
static void check_calls(const nb_scene *scene, const char *names, int precision)
{
    static const double step[] = {0, 1e-3, 3e-3, 0};
    const size_t n = on_device_size(scene);
    double *host = on_device_pixels(n), *device = on_device_pixels(n),
           *first = on_device_pixels(n);
    nb_context *on_host = on_device_context(NB_DEVICE_CPU),
               *on_device = on_device_context(NB_DEVICE_CUDA);
    nb_simulator *a = on_device_make(on_host, scene, names, NB_PRECISION_DOUBLE);
    nb_simulator *b = on_device_make(on_device, scene, names, precision);
    nb_array array = nb_array_f64(host, scene->detector.nslow, scene->detector.nfast);
    double *x = on_device_pixels(nb_simulator_nparam(a));
    struct worst worst = {0};

    for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
        values_of(a, x);
        for (size_t k = 0; k < nb_simulator_nparam(a); k++) x[k] *= 1 + step[i];
        if (nb_forward(a, x, &array) != NB_OK) abort();
        if (!on_device_image(on_device, b, x, device)) worst_fail(&worst);
        worst_add_all(&worst, device, host, n, worst_largest(host, n));
        if (i == 0) memcpy(first, device, n * sizeof *first);
    }
    worst_check(&worst,
                precision == NB_PRECISION_DOUBLE ? on_device_double : on_device_float, "%s",
                names);
    tap_check(bits_same(first, device, n), "and back: the same bits");
    free(x);
    nb_simulator_free(a);
    nb_simulator_free(b);
    nb_context_free(on_host);
    nb_context_free(on_device);
    free(host);
    free(device);
    free(first);
}

static int calls(void)
{
    static const char *const names[] = {"distance cell misset", "ncells mosaic", "F[*]",
                                        "F[*] default_f"};

    if (!on_device_found()) return TAP_SKIP;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
             precision++) {
            nb_scene scene = scenes_base();

            scene.crystal.hkl = scenes_reflections();
            check_calls(&scene, names[i], precision);
        }
    return TAP_PASS;
}

/* ---- images that stay on the device ---- */

/* An image in memory of the device, of float64 or float32; it comes back by the driver. */
static int image_there(nb_context *ctx, nb_simulator *sim, nb_array *array, size_t bytes)
{
    const struct gpu_driver *driver = ctx->gpu->driver;
    void *const device = ctx->gpu->device, *const here = array->data;
    gpu_address there;
    nb_status status = driver->allocate(ctx, device, bytes, &there);

    if (status != NB_OK) return tap_check(0, "memory: %s", nb_context_message(ctx));
    array->data = (void *)(uintptr_t)there;
    array->device = NB_DEVICE_CUDA;
    status = nb_forward(sim, NULL, array);
    if (status == NB_OK) status = driver->download(ctx, device, here, there, bytes);
    if (status == NB_OK) status = driver->wait(ctx, device);
    driver->release(device, there);
    return status == NB_OK || tap_check(0, "there: %s", nb_context_message(ctx));
}

static int arrays_there(void)
{
    enum { PIXELS = 100 * 70 };
    static double here[PIXELS], there[PIXELS];
    static float single[PIXELS];
    const nb_scene scene = many_tiles();

    if (!on_device_found()) return TAP_SKIP;
    for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
         precision++) {
        nb_context *ctx = on_device_context(NB_DEVICE_CUDA);
        nb_simulator *sim = on_device_make(ctx, &scene, "", precision);
        nb_array wide = nb_array_f64(there, 100, 70),
                 narrow = nb_array_f32(single, 100, 70);
        int differ = 0;

        if (on_device_image(ctx, sim, NULL, here)
            && image_there(ctx, sim, &wide, sizeof there)
            && image_there(ctx, sim, &narrow, sizeof single)) {
            for (int i = 0; i < PIXELS; i++) differ += single[i] != (float)here[i];
            tap_check(bits_same(here, there, sizeof here / sizeof *here) && differ == 0,
                      "float64: the same bits; float32: measured %d allowed 0 that differ",
                      differ);
        }
        nb_simulator_free(sim);
        nb_context_free(ctx);
    }
    return TAP_PASS;
}

/* draws have the bits of the host's, whatever the device */
static int counts(void)
{
    enum { SIDE = 512, PIXELS = SIDE * SIDE };
    static double photons[PIXELS], sum;
    static uint16_t here[PIXELS], there[PIXELS];
    struct window window;
    struct gpu_counting counting = {&window, 1, 1, 40, 7, 3};
    const nb_scene scene = many_tiles();
    const nb_array image = nb_array_f64(photons, SIDE, SIDE);
    nb_array counted = nb_array_u16(here, SIDE, SIDE), fetched = counted;
    nb_digitizer how = {.offset = 40, .noise = 1, .seed = 7, .image = 3, .photons = &sum};
    struct phys_tally tally = {0, 0, 0, 0};
    struct gpu_scene kept = {0};
    nb_context *ctx;
    nb_simulator *sim;

    if (!on_device_found()) return TAP_SKIP;
    window = windows_make(SIDE, SIDE, NULL, 0, SIDE, 0, SIDE);
    ctx = on_device_context(NB_DEVICE_CUDA);
    sim = on_device_make(ctx, &scene, "", NB_PRECISION_DOUBLE); /* which opens the device */
    kept.gpu = ctx->gpu;
    fetched.data = there;
    for (int i = 0; i < PIXELS; i++) photons[i] = pow(10, -3 + 15.0 * i / PIXELS);
    digitize(&window, &how, &image, NULL, 1, &counted);
    if (gpu_count(ctx, &kept, &counting, &image, &fetched, &tally) != NB_OK)
        tap_check(0, "counts: %s", nb_context_message(ctx));
    tap_check(memcmp(here, there, sizeof here) == 0 && digitize_photons(&tally) == sum,
              "the same counts; %.17g photons of %.17g", digitize_photons(&tally), sum);
    /* without noise, by the scale of the brightest pixel, which the device finds */
    how.noise = 0;
    counting.noise = 0;
    counting.scale = 0;
    digitize(&window, &how, &image, NULL, 0, &counted);
    if (gpu_count(ctx, &kept, &counting, &image, &fetched, &tally) != NB_OK)
        tap_check(0, "counts: %s", nb_context_message(ctx));
    tap_check(memcmp(here, there, sizeof here) == 0, "the same counts without noise");
    gpu_scene_drop(&kept);
    window_free(&window);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- many ---- */

/* many alive at a time, called in turn */
static int in_turn(void)
{
    enum { ALIVE = 24, PIXELS = COMPILED_PIXELS };
    static double image[ALIVE][PIXELS], again[PIXELS];
    nb_simulator *sim[ALIVE];
    struct named_scene named;
    nb_context *ctx;
    int differ = 0;

    if (!on_device_found()) return TAP_SKIP;
    ctx = on_device_context(NB_DEVICE_CUDA);
    for (int i = 0; i < ALIVE; i++) {
        (void)scenes_at(SCENES_FEATURES, (size_t)i, &named);
        sim[i] = on_device_make(ctx, &named.scene, "",
                                i % 3 ? NB_PRECISION_DOUBLE : NB_PRECISION_SINGLE);
    }
    for (int i = 0; i < ALIVE; i++) differ += !on_device_image(ctx, sim[i], NULL, image[i]);
    for (int i = ALIVE - 1; i >= 0; i--)
        differ += !on_device_image(ctx, sim[i], NULL, again)
                  || memcmp(image[i], again, sizeof again) != 0;
    tap_check(differ == 0, "%d simulators in turn: measured %d allowed 0 that differ",
              ALIVE, differ);
    for (int i = 0; i < ALIVE; i++) nb_simulator_free(sim[i]);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* a number that no machine has */
static int no_such_device(void)
{
    const nb_scene scene = scenes_base();
    const nb_context_options options = {.device = NB_DEVICE_CUDA, .device_id = 99};
    nb_context *ctx;
    nb_simulator *sim;
    nb_description about;

    if (!on_device_found()) return TAP_SKIP;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    sim = on_device_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
    if (nb_simulator_describe(sim, NULL, &about) != NB_OK) abort();
    tap_check(strcmp(about.device, "cpu") == 0 && strstr(about.device_why, "99"),
              "images on %s: %s", about.device, about.device_why);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

static const struct tap_case cases[] = {
    {"scenes", scenes},
    {"regions", regions},
    {"few_domains", few_domains},
    {"narrow_bands", narrow_bands},
    {"narrow_cancelled", narrow_cancelled},
    {"few_simulators", few_simulators},
    {"same_bits", same_bits},
    {"calls", calls},
    {"arrays_there", arrays_there},
    {"counts", counts},
    {"in_turn", in_turn},
    {"no_such_device", no_such_device},
};

int main(int argc, char **argv)
{
    compiled_device_environment();
    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
