/* on_device.c - see on_device.h. SPDX-License-Identifier: MIT */
#include "device/on_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "support/compiled.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

static int told; /* calls of on_progress() */
static int stop_at; /* the number of the one that stops; 0: none does */

static int on_progress(void *user, double fraction)
{
    (void)user;
    (void)fraction;
    return ++told == stop_at;
}

nb_context *on_device_context(int device)
{
    const nb_context_options options = {.device = device, .progress = on_progress};
    nb_context *ctx;

    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    return ctx;
}

nb_simulator *on_device_make(nb_context *ctx, const nb_scene *scene, const char *names,
                             int precision)
{
    const nb_options options = {.precision = precision};
    nb_simulator *sim;

    if (nb_simulator_create(ctx, scene, names, &options, &sim) == NB_OK) return sim;
    tap_check(0, "no simulator: %s", nb_context_message(ctx));
    exit(1);
}

int on_device_found(void)
{
    const nb_scene scene = scenes_base();
    nb_context *ctx = on_device_context(NB_DEVICE_CUDA);
    nb_simulator *sim = on_device_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
    nb_description about;
    int found;

    if (nb_simulator_describe(sim, NULL, &about) != NB_OK) abort();
    found = strcmp(about.device, "cpu") != 0;
    if (found)
        tap_note("%s", about.device);
    else
        (void)tap_skip("no device: %s", about.device_why);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return found;
}

int on_device_image(nb_context *ctx, nb_simulator *sim, const double *x, double *image)
{
    nb_description about;
    nb_array array;

    if (nb_simulator_describe(sim, x, &about) != NB_OK) abort();
    array = nb_array_f64(image, about.nslow, about.nfast);
    if (nb_forward(sim, x, &array) != NB_OK)
        return tap_check(0, "an image: %s", nb_context_message(ctx));
    if (nb_simulator_describe(sim, x, &about) != NB_OK) abort();
    if (strcmp(about.device, "cpu") == 0)
        return tap_check(0, "the host computed it: %s", about.device_why);
    if (compiled_stats(sim).fallbacks > 0)
        return tap_check(0, "fallbacks: measured %llu allowed 0",
                         (unsigned long long)compiled_stats(sim).fallbacks);
    return 1;
}

int on_device_render(const nb_scene *scene, int precision, double *image)
{
    nb_context *ctx = on_device_context(NB_DEVICE_CUDA);
    nb_simulator *sim = on_device_make(ctx, scene, "", precision);
    const int ok = on_device_image(ctx, sim, NULL, image);

    nb_simulator_free(sim);
    nb_context_free(ctx);
    return ok;
}

double *on_device_pixels(size_t n)
{
    double *pixels = malloc(n * sizeof *pixels);

    if (!pixels) abort();
    for (size_t i = 0; i < n; i++) pixels[i] = NAN;
    return pixels;
}

size_t on_device_size(const nb_scene *scene)
{
    return (size_t)scene->detector.nslow * (size_t)scene->detector.nfast;
}

/* an image of the host, by every core */
static int host_image(const nb_scene *scene, int strategy, double *image)
{
    nb_context *ctx = on_device_context(NB_DEVICE_CPU);
    const struct renders_way way = {.precision = NB_PRECISION_DOUBLE,
                                    .strategy = strategy,
                                    .threads = nb_context_threads(ctx)};

    nb_context_free(ctx);
    return renders_image(scene, &way, image, NULL);
}

void on_device_check(const char *name, const nb_scene *scene, int strategy)
{
    const size_t n = on_device_size(scene);
    double *host = on_device_pixels(n), *device = on_device_pixels(n);
    const double allowed[2] = {fmax(on_device_double, renders_allowed(scene)),
                               on_device_float};
    char label[64];

    if (!host_image(scene, strategy, host)) abort();
    for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
         precision++) {
        size_t lit = 0;

        if (!on_device_render(scene, precision, device)) continue;
        for (size_t i = 0; i < n; i++) lit += host[i] == 0 && device[i] != 0;
        (void)snprintf(label, sizeof label, "%s, %s", name,
                       precision == NB_PRECISION_DOUBLE ? "double" : "float");
        tap_close(label, renders_compare(device, host, n).worst, 0, allowed[precision]);
        if (lit > 0) tap_check(0, "%s: %zu pixels should be 0", label, lit);
    }
    free(host);
    free(device);
}

/* ---- many terms ---- */

void on_device_domains(int nslow, int nfast, int side)
{
    static const double cell[6] = {70, 80, 90, 85, 95, 105};
    nb_scene scene = scenes_base();

    memcpy(scene.crystal.cell, cell, sizeof cell);
    for (int i = 0; i < 3; i++) scene.crystal.ncells[i] = 10;
    scene.crystal.ndomains = 500;
    scene.crystal.hkl = scenes_reflections();
    scene.crystal.interpolate = NB_LOOKUP_NEAREST;
    scene.beam.dispersion = 0.01;
    scene.beam.ndispersion = 5;
    scene.detector.nslow = nslow;
    scene.detector.nfast = nfast;
    scene.detector.pixel = 0.15;
    on_device_check("square", &scene, NB_STRATEGY_LANES);
    scene.crystal.shape = NB_SHAPE_GAUSS;
    on_device_check("gauss", &scene, NB_STRATEGY_LANES);
    scene.detector.nslow = scene.detector.nfast = side;
    scene.crystal.interpolate = NB_LOOKUP_TRICUBIC;
    on_device_check("gauss, tricubic F", &scene, NB_STRATEGY_LANES);
}

/* ---- bands: sums that wait would take more memory than a launch may ---- */

void on_device_bands(const nb_scene *scene)
{
    const size_t n = on_device_size(scene);
    double *host = on_device_pixels(n), *device = on_device_pixels(n);

    for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
         precision++) {
        told = 0;
        if (!on_device_render(scene, precision, device)) break;
        tap_check(told > 1, "%s: %d bands, more than 1 expected",
                  precision == NB_PRECISION_DOUBLE ? "double" : "float", told);
        if (precision == NB_PRECISION_DOUBLE && !host_image(scene, NB_STRATEGY_LANES, host))
            abort();
        tap_close("bands", renders_compare(device, host, n).worst, 0,
                  precision == NB_PRECISION_DOUBLE
                      ? fmax(on_device_double, renders_allowed(scene))
                      : on_device_float);
    }
    free(host);
    free(device);
}

void on_device_cancelled(const nb_scene *scene)
{
    const size_t n = on_device_size(scene);
    double *once = on_device_pixels(n), *again = on_device_pixels(n);
    nb_context *ctx;
    nb_simulator *sim;
    nb_array array;
    nb_status status;

    array = nb_array_f64(again, scene->detector.nslow, scene->detector.nfast);
    ctx = on_device_context(NB_DEVICE_CUDA);
    sim = on_device_make(ctx, scene, "", NB_PRECISION_SINGLE);
    if (on_device_image(ctx, sim, NULL, once)) {
        told = 0;
        stop_at = 1;
        status = nb_forward(sim, NULL, &array);
        tap_check(status == NB_ERR_CANCELLED && told == 1, "after %d band: %s", told,
                  nb_status_text(status));
        stop_at = 0;
        if (on_device_image(ctx, sim, NULL, again))
            tap_check(bits_same(once, again, n), "then the same bits");
    }
    nb_simulator_free(sim);
    nb_context_free(ctx);
    free(once);
    free(again);
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

void on_device_memory(const nb_scene *scene, int simulators, int contexts)
{
    const size_t n = on_device_size(scene);
    double *first = on_device_pixels(n), *image = on_device_pixels(n), used;
    int differ = 0;

    if (!on_device_render(scene, NB_PRECISION_SINGLE, first)) differ = 1;
    used = memory_used();
    for (int i = 0; i < contexts && differ == 0; i++) {
        nb_context *ctx = on_device_context(NB_DEVICE_CUDA);

        for (int k = 0; k < simulators / contexts; k++) {
            nb_simulator *sim = on_device_make(ctx, scene, "", NB_PRECISION_SINGLE);

            differ +=
                !on_device_image(ctx, sim, NULL, image) || !bits_same(first, image, n);
            nb_simulator_free(sim);
        }
        nb_context_free(ctx);
    }
    tap_check(differ == 0,
              "%d simulators in %d contexts: measured %d allowed 0 that differ", simulators,
              contexts, differ);
    if (used >= 0)
        tap_close("MB of the device kept", memory_used() - used, 0, 500);
    else
        tap_note("nvidia-smi tells no memory");
    free(first);
    free(image);
}
