/*
 * test_gpu.c - images on a CUDA device by the public interface (except for device memory):
 * they agree with the reference, repeat their bits, and need no fallback. Skipped without a
 * device.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "gpu/count.h"
#include "image/digitize.h"
#include "support/compiled.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/windows.h"
#include "support/worst.h"

static const double allowed_double = 1e-12, allowed_float = 1e-5; /* of the peak */

static int told; /* calls of on_progress() */
static int stop_at; /* the number of the one that stops; 0: none does */

static int on_progress(void *user, double fraction)
{
    (void)user;
    (void)fraction;
    return ++told == stop_at;
}

static nb_context *context_of(int device)
{
    const nb_context_options options = {.device = device, .progress = on_progress};
    nb_context *ctx;

    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    return ctx;
}

static nb_simulator *make(nb_context *ctx, const nb_scene *scene, const char *names,
                          int precision)
{
    const nb_options options = {.precision = precision};
    nb_simulator *sim;

    if (nb_simulator_create(ctx, scene, names, &options, &sim) == NB_OK) return sim;
    tap_check(0, "no simulator: %s", nb_context_message(ctx));
    exit(1);
}

/* 1 where images are a device's. A case that begins so cannot end up on the host unnoticed:
 * see image_of(). */
static int has_device(void)
{
    const nb_scene scene = scenes_base();
    nb_context *ctx = context_of(NB_CUDA);
    nb_simulator *sim = make(ctx, &scene, "", NB_DOUBLE);
    nb_description about;
    int found;

    if (nb_describe(sim, NULL, &about) != NB_OK) abort();
    found = strcmp(about.device, "cpu") != 0;
    if (found)
        tap_note("%s", about.device);
    else
        (void)tap_skip("no device: %s", about.device_why);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return found;
}

/* An image of a simulator on a device; 0 after a check that failed. */
static int image_of(nb_context *ctx, nb_simulator *sim, const double *x, double *image)
{
    nb_description about;
    nb_array array;

    if (nb_describe(sim, x, &about) != NB_OK) abort();
    array = nb_array_f64(image, about.nslow, about.nfast);
    if (nb_forward(sim, x, &array) != NB_OK)
        return tap_check(0, "an image: %s", nb_context_message(ctx));
    if (nb_describe(sim, x, &about) != NB_OK) abort();
    if (strcmp(about.device, "cpu") == 0)
        return tap_check(0, "the host computed it: %s", about.device_why);
    if (compiled_stats(sim).fallbacks > 0)
        return tap_check(0, "fallbacks: measured %llu allowed 0",
                         (unsigned long long)compiled_stats(sim).fallbacks);
    return 1;
}

/* the same by a context of its own */
static int render(const nb_scene *scene, int precision, double *image)
{
    nb_context *ctx = context_of(NB_CUDA);
    nb_simulator *sim = make(ctx, scene, "", precision);
    const int ok = image_of(ctx, sim, NULL, image);

    nb_simulator_free(sim);
    nb_context_free(ctx);
    return ok;
}

static double *pixels_of(size_t n)
{
    double *pixels = malloc(n * sizeof *pixels);

    if (!pixels) abort();
    for (size_t i = 0; i < n; i++) pixels[i] = NAN;
    return pixels;
}

static size_t size_of(const nb_scene *scene)
{
    return (size_t)scene->detector.nslow * (size_t)scene->detector.nfast;
}

/* an image of the host, by every core */
static int host_image(const nb_scene *scene, int strategy, double *image)
{
    nb_context *ctx = context_of(NB_CPU);
    const struct renders_way way = {.precision = NB_DOUBLE,
                                    .strategy = strategy,
                                    .threads = nb_context_threads(ctx)};

    nb_context_free(ctx);
    return renders_image(scene, &way, image, NULL);
}

/* Both precisions against the host; pixels that are 0 there are 0 here. */
static void check_scene(const char *name, const nb_scene *scene, int strategy)
{
    const size_t n = size_of(scene);
    double *host = pixels_of(n), *device = pixels_of(n);
    const double allowed[2] = {fmax(allowed_double, renders_allowed(scene)), allowed_float};
    char label[64];

    if (!host_image(scene, strategy, host)) abort();
    for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++) {
        size_t lit = 0;

        if (!render(scene, precision, device)) continue;
        for (size_t i = 0; i < n; i++) lit += host[i] == 0 && device[i] != 0;
        (void)snprintf(label, sizeof label, "%s, %s", name,
                       precision == NB_DOUBLE ? "double" : "float");
        tap_close(label, renders_compare(device, host, n).worst, 0, allowed[precision]);
        if (lit > 0) tap_check(0, "%s: %zu pixels should be 0", label, lit);
    }
    free(host);
    free(device);
}

/* ---- images ---- */

static int scenes(void)
{
    struct named_scene named;

    if (!has_device()) return TAP_SKIP;
    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++)
        check_scene(named.name, &named.scene, NB_REFERENCE);
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

    if (!has_device()) return TAP_SKIP;
    for (size_t i = 0; i < sizeof mask; i++) mask[i] = i % 7 != 3;
    check_scene("all", &scene, NB_REFERENCE);
    memcpy(scene.detector.roi, roi, sizeof roi);
    check_scene("region", &scene, NB_REFERENCE);
    scene.detector.mask = mask;
    check_scene("region and mask", &scene, NB_REFERENCE);
    return TAP_PASS;
}

/* as many orientations and sources as an experiment has, F of a list */
static int many_domains(void)
{
    static const double cell[6] = {70, 80, 90, 85, 95, 105};
    nb_scene scene = scenes_base();

    if (!has_device()) return TAP_SKIP;
    memcpy(scene.crystal.cell, cell, sizeof cell);
    for (int i = 0; i < 3; i++) scene.crystal.ncells[i] = 10;
    scene.crystal.ndomains = 500;
    scene.crystal.hkl = scenes_reflections();
    scene.crystal.interpolate = NB_NEAREST;
    scene.beam.dispersion = 0.01;
    scene.beam.ndispersion = 5;
    scene.detector.nslow = 150;
    scene.detector.nfast = 200;
    scene.detector.pixel = 0.15;
    check_scene("square", &scene, NB_LANES);
    scene.crystal.shape = NB_GAUSS;
    check_scene("gauss", &scene, NB_LANES);
    scene.detector.nslow = scene.detector.nfast = 64;
    scene.crystal.interpolate = NB_TRICUBIC;
    check_scene("gauss, tricubic F", &scene, NB_LANES);
    return TAP_PASS;
}

/* ---- bands: sums that wait would take more memory than a launch may ---- */

enum { STRIPS_SIDE = 6000 };

static nb_scene of_bands(void)
{
    nb_scene scene = scenes_base();

    scene.detector.nslow = scene.detector.nfast = STRIPS_SIDE;
    scene.detector.pixel = 0.02;
    scene.crystal.ndomains = 3;
    return scene;
}

static int strips(void)
{
    const nb_scene scene = of_bands();
    const size_t n = size_of(&scene);
    double *host, *device;

    if (!has_device()) return TAP_SKIP;
    host = pixels_of(n);
    device = pixels_of(n);
    for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++) {
        told = 0;
        if (!render(&scene, precision, device)) break;
        tap_check(told > 1, "%s: %d bands, more than 1 expected",
                  precision == NB_DOUBLE ? "double" : "float", told);
        if (precision == NB_DOUBLE && !host_image(&scene, NB_LANES, host)) abort();
        tap_close("bands", renders_compare(device, host, n).worst, 0,
                  precision == NB_DOUBLE ? fmax(allowed_double, renders_allowed(&scene))
                                         : allowed_float);
    }
    free(host);
    free(device);
    return TAP_PASS;
}

/* stopped after a band; the next call is whole */
static int cancelled(void)
{
    const nb_scene scene = of_bands();
    const size_t n = size_of(&scene);
    double *once, *again;
    nb_context *ctx;
    nb_simulator *sim;
    nb_array array;
    nb_status status;

    if (!has_device()) return TAP_SKIP;
    once = pixels_of(n);
    again = pixels_of(n);
    array = nb_array_f64(again, scene.detector.nslow, scene.detector.nfast);
    ctx = context_of(NB_CUDA);
    sim = make(ctx, &scene, "", NB_SINGLE);
    if (image_of(ctx, sim, NULL, once)) {
        told = 0;
        stop_at = 1;
        status = nb_forward(sim, NULL, &array);
        tap_check(status == NB_ERR_CANCELLED && told == 1, "after %d band: %s", told,
                  nb_status_text(status));
        stop_at = 0;
        if (image_of(ctx, sim, NULL, again))
            tap_check(bits_same(once, again, n), "then the same bits");
    }
    nb_simulator_free(sim);
    nb_context_free(ctx);
    free(once);
    free(again);
    return TAP_PASS;
}

/* ---- the same bits ---- */

static void check_bits(const struct named_scene *named, int precision)
{
    const size_t n = size_of(&named->scene);
    double *first = pixels_of(n), *other = pixels_of(n);
    nb_context *ctx = context_of(NB_CUDA);
    nb_simulator *a = make(ctx, &named->scene, "", precision),
                 *b = make(ctx, &named->scene, "", precision);
    int differ = 0;

    if (!image_of(ctx, a, NULL, first)) differ = 1;
    for (int run = 0; run < 5; run++)
        differ +=
            !image_of(ctx, run % 2 ? a : b, NULL, other) || !bits_same(first, other, n);
    differ += !render(&named->scene, precision, other) || !bits_same(first, other, n);
    tap_check(differ == 0, "%s, %s: of 6 runs measured %d allowed 0 that differ",
              named->name, precision == NB_DOUBLE ? "double" : "float", differ);
    nb_simulator_free(a);
    nb_simulator_free(b);
    nb_context_free(ctx);
    free(first);
    free(other);
}

static int same_bits(void)
{
    struct named_scene named;

    if (!has_device()) return TAP_SKIP;
    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++)
        for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++)
            check_bits(&named, precision);
    return TAP_PASS;
}

/* ---- calls ---- */

static void values_of(const nb_simulator *sim, double *x)
{
    for (size_t i = 0; i < nb_nparam(sim); i++) {
        nb_param param;

        if (nb_param_at(sim, i, &param) != NB_OK) abort();
        x[i] = param.value;
    }
}

/* parameters move from call to call, there and back */
static void check_calls(const nb_scene *scene, const char *names, int precision)
{
    static const double step[] = {0, 1e-3, 3e-3, 0};
    const size_t n = size_of(scene);
    double *host = pixels_of(n), *device = pixels_of(n), *first = pixels_of(n);
    nb_context *on_host = context_of(NB_CPU), *on_device = context_of(NB_CUDA);
    nb_simulator *a = make(on_host, scene, names, NB_DOUBLE);
    nb_simulator *b = make(on_device, scene, names, precision);
    nb_array array = nb_array_f64(host, scene->detector.nslow, scene->detector.nfast);
    double *x = pixels_of(nb_nparam(a));
    struct worst worst = {0};

    for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
        values_of(a, x);
        for (size_t k = 0; k < nb_nparam(a); k++) x[k] *= 1 + step[i];
        if (nb_forward(a, x, &array) != NB_OK) abort();
        if (!image_of(on_device, b, x, device)) worst_fail(&worst);
        worst_add_all(&worst, device, host, n, worst_largest(host, n));
        if (i == 0) memcpy(first, device, n * sizeof *first);
    }
    worst_check(&worst, precision == NB_DOUBLE ? allowed_double : allowed_float, "%s",
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

    if (!has_device()) return TAP_SKIP;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++) {
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
    array->device = NB_CUDA;
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

    if (!has_device()) return TAP_SKIP;
    for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++) {
        nb_context *ctx = context_of(NB_CUDA);
        nb_simulator *sim = make(ctx, &scene, "", precision);
        nb_array wide = nb_array_f64(there, 100, 70),
                 narrow = nb_array_f32(single, 100, 70);
        int differ = 0;

        if (image_of(ctx, sim, NULL, here) && image_there(ctx, sim, &wide, sizeof there)
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
    const struct gpu_counting counting = {&window, 1, 1, 40, 7, 3};
    const nb_scene scene = many_tiles();
    const nb_array image = nb_array_f64(photons, SIDE, SIDE);
    nb_array counted = nb_array_u16(here, SIDE, SIDE), fetched = counted;
    const nb_digitizer how = {.offset = 40,
                              .noise = 1,
                              .seed = 7,
                              .image = 3,
                              .photons = &sum};
    struct phys_tally tally = {0, 0, 0, 0};
    struct gpu_scene kept = {0};
    nb_context *ctx;
    nb_simulator *sim;

    if (!has_device()) return TAP_SKIP;
    window = windows_make(SIDE, SIDE, NULL, 0, SIDE, 0, SIDE);
    ctx = context_of(NB_CUDA);
    sim = make(ctx, &scene, "", NB_DOUBLE); /* which opens the device */
    kept.gpu = ctx->gpu;
    fetched.data = there;
    for (int i = 0; i < PIXELS; i++) photons[i] = pow(10, -3 + 15.0 * i / PIXELS);
    digitize(&window, &how, &image, NULL, 1, &counted);
    if (gpu_count_from_host(ctx, &kept, &counting, &image, &fetched, &tally) != NB_OK)
        tap_check(0, "counts: %s", nb_context_message(ctx));
    tap_check(memcmp(here, there, sizeof here) == 0 && digitize_photons(&tally) == sum,
              "the same counts; %.17g photons of %.17g", digitize_photons(&tally), sum);
    gpu_scene_drop(&kept);
    window_free(&window);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- memory ---- */

/* MB of the first device in use by everyone; below 0: not known */
static double memory_used(void)
{
    FILE *pipe = popen("nvidia-smi -i 0 --query-gpu=memory.used "
                       "--format=csv,noheader,nounits 2>/dev/null",
                       "r");
    double used = -1;
    char line[64];

    if (pipe && fgets(line, sizeof line, pipe)) used = strtod(line, NULL);
    if (pipe) (void)pclose(pipe);
    return used;
}

/* each holds some 60 MB of the device while it lives */
static nb_scene of_some_size(void)
{
    nb_scene scene = scenes_base();

    scene.detector.nslow = scene.detector.nfast = 2000;
    scene.detector.pixel = 0.05;
    return scene;
}

static int memory(void)
{
    enum { SIMULATORS = 60, CONTEXTS = 5 };
    const nb_scene scene = of_some_size();
    const size_t n = size_of(&scene);
    double *first, *image, used;
    int differ = 0;

    if (!has_device()) return TAP_SKIP;
    first = pixels_of(n);
    image = pixels_of(n);
    if (!render(&scene, NB_SINGLE, first)) differ = 1;
    used = memory_used();
    for (int i = 0; i < CONTEXTS && differ == 0; i++) {
        nb_context *ctx = context_of(NB_CUDA);

        for (int k = 0; k < SIMULATORS / CONTEXTS; k++) {
            nb_simulator *sim = make(ctx, &scene, "", NB_SINGLE);

            differ += !image_of(ctx, sim, NULL, image) || !bits_same(first, image, n);
            nb_simulator_free(sim);
        }
        nb_context_free(ctx);
    }
    tap_check(differ == 0,
              "%d simulators in %d contexts: measured %d allowed 0 that differ", SIMULATORS,
              CONTEXTS, differ);
    if (used >= 0)
        tap_close("MB of the device kept", memory_used() - used, 0, 500);
    else
        tap_note("nvidia-smi tells no memory");
    free(first);
    free(image);
    return TAP_PASS;
}

/* many alive at a time, called in turn */
static int in_turn(void)
{
    enum { ALIVE = 24, PIXELS = COMPILED_PIXELS };
    static double image[ALIVE][PIXELS], again[PIXELS];
    nb_simulator *sim[ALIVE];
    struct named_scene named;
    nb_context *ctx;
    int differ = 0;

    if (!has_device()) return TAP_SKIP;
    ctx = context_of(NB_CUDA);
    for (int i = 0; i < ALIVE; i++) {
        (void)scenes_at(SCENES_FEATURES, (size_t)i, &named);
        sim[i] = make(ctx, &named.scene, "", i % 3 ? NB_DOUBLE : NB_SINGLE);
    }
    for (int i = 0; i < ALIVE; i++) differ += !image_of(ctx, sim[i], NULL, image[i]);
    for (int i = ALIVE - 1; i >= 0; i--)
        differ += !image_of(ctx, sim[i], NULL, again)
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
    const nb_context_options options = {.device = NB_CUDA, .device_id = 99};
    nb_context *ctx;
    nb_simulator *sim;
    nb_description about;

    if (!has_device()) return TAP_SKIP;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    sim = make(ctx, &scene, "", NB_DOUBLE);
    if (nb_describe(sim, NULL, &about) != NB_OK) abort();
    tap_check(strcmp(about.device, "cpu") == 0 && strstr(about.device_why, "99"),
              "images on %s: %s", about.device, about.device_why);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

static const struct tap_case cases[] = {
    {"scenes", scenes}, {"regions", regions},           {"many_domains", many_domains},
    {"bands", strips},  {"cancelled", cancelled},       {"same_bits", same_bits},
    {"calls", calls},   {"arrays_there", arrays_there}, {"counts", counts},
    {"memory", memory}, {"in_turn", in_turn},           {"no_such_device", no_such_device},
};

int main(int argc, char **argv)
{
    compiled_device_environment();
    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
