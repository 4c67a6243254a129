/*
 * test_gpu_gradients.c - derivatives on a CUDA device by the public interface: they agree
 * with the host's in double, and repeat their bits. Skipped without a device.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "compile/jit/nvrtc.h"
#include "device/both.h"
#include "gpu/driver/gpu_scene.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

/* kernels of derivatives are built when they are first needed, by a library that is waited
 * for */
static nb_context *context_of(int device)
{
    const nb_context_options options = {.device = device};
    nb_context *ctx;

    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    return ctx;
}

static void open_scene(const char *name, const char *names, int precision)
{
    const nb_scene scene = scenes_named(SCENES_FEATURES, name);

    both_open(context_of(NB_DEVICE_CPU), context_of(NB_DEVICE_CUDA), &scene, names,
              precision);
}

static int nvrtc_is_there(const nb_context *ctx)
{
    struct nvrtc nvrtc;
    char why[NVRTC_WHY];

    return nvrtc_open(ctx->nvrtc, ctx->gpu->properties.version, &nvrtc, why) == NB_OK;
}

/* After derivatives were asked for: they are the device's. A case that checks this can not
 * end up on the host unnoticed. Only kernels for structure factors (f_SQUARE_NEAREST) are
 * not in the build; where NVRTC is missing, which makes them, the host does their work. */
static void check_device(const char *what)
{
    nb_description about;

    if (nb_simulator_describe(both.sim[1], NULL, &about) != NB_OK) abort();
    tap_check(strcmp(about.derivatives, "cpu") != 0
                  || (strncmp(about.derivatives_why, "f_", 2) == 0
                      && !nvrtc_is_there(both.ctx[1])),
              "%s: derivatives on %s: %s", what, about.derivatives, about.derivatives_why);
}

/* 1 where images are a device's */
static int has_device(void)
{
    nb_description about;
    int found;

    open_scene("base", "distance", NB_PRECISION_DOUBLE);
    if (nb_simulator_describe(both.sim[1], NULL, &about) != NB_OK) abort();
    found = strcmp(about.device, "cpu") != 0;
    if (found)
        tap_note("%s", about.device);
    else
        (void)tap_skip("no device: %s", about.device_why);
    both_close();
    return found;
}

/* ---- cases ---- */

static const char some[] = "cell misset distance ncells fluence";

static int gradients_in(int precision)
{
    const double allowed = precision == NB_PRECISION_SINGLE ? both_float : both_double;
    struct named_scene named;

    if (!has_device()) return TAP_SKIP;
    for (size_t i = 0; scenes_at(SCENES_SUMS, i, &named); i++) {
        open_scene(named.name, "*", precision);
        tap_close(named.name, both_vjp(64), 0, allowed);
        check_device(named.name);
        both_close();
    }
    return TAP_PASS;
}

static int gradients_double(void)
{
    return gradients_in(NB_PRECISION_DOUBLE);
}

static int gradients_float(void)
{
    return gradients_in(NB_PRECISION_SINGLE);
}

static const char factors[] = "cell default_f F[1,2,3] F[0,1,2]";

static int structure_factors(void)
{
    if (!has_device()) return TAP_SKIP;
    open_scene("square_nearest", factors, NB_PRECISION_DOUBLE);
    tap_close("structure factors", both_vjp(64), 0, both_double);
    check_device("structure factors");
    both_close();
    return TAP_PASS;
}

/* as where NVRTC is not installed: kernels of the build serve all but structure factors */
static int without_nvrtc(void)
{
    const nb_scene scene = scenes_named(SCENES_FEATURES, "square_nearest");
    nb_description about;

    if (!has_device()) return TAP_SKIP;
    for (int of_factors = 0; of_factors < 2; of_factors++) {
        nb_context *device = context_of(NB_DEVICE_CUDA);

        device->nvrtc = "libnvrtc-none.so.1";
        both_open(context_of(NB_DEVICE_CPU), device, &scene, of_factors ? factors : some,
                  NB_PRECISION_DOUBLE);
        tap_close("gradient", both_vjp(64), 0, both_double);
        if (nb_simulator_describe(both.sim[1], NULL, &about) != NB_OK) abort();
        tap_check((strcmp(about.derivatives, "cpu") == 0) == of_factors
                      && (!of_factors || strstr(about.derivatives_why, "NVRTC")),
                  "%s: derivatives on %s: %s", of_factors ? factors : some,
                  about.derivatives, about.derivatives_why);
        check_device("without NVRTC");
        both_close();
    }
    return TAP_PASS;
}

static int losses(void)
{
    if (!has_device()) return TAP_SKIP;
    open_scene("each_factor", some, NB_PRECISION_DOUBLE);
    for (int kind = NB_LOSS_GAUSS; kind <= NB_LOSS_CAUCHY; kind++) {
        double value;

        tap_close("gradient of a loss", both_loss(kind, &value), 0, both_double);
        tap_close("its value", value, 0, 1e-12);
        tap_close("normal matrix", both_normal(kind), 0, both_double);
    }
    tap_close("of squares", both_normal(-1), 0, both_double);
    check_device("losses");
    both_close();
    return TAP_PASS;
}

/* values alone, by a kernel of their own */
static int values(void)
{
    static const double allowed[2] =
        {[NB_PRECISION_DOUBLE] = 1e-12, [NB_PRECISION_SINGLE] = 2e-5};
    struct named_scene named;

    if (!has_device()) return TAP_SKIP;
    for (size_t i = 0; scenes_at(SCENES_SUMS, i, &named); i++)
        for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
             precision++) {
            open_scene(named.name, "", precision);
            for (int kind = NB_LOSS_GAUSS; kind <= NB_LOSS_CAUCHY; kind++)
                tap_close(named.name, both_value(kind), 0, allowed[precision]);
            both_close();
        }
    return TAP_PASS;
}

static int tangents(void)
{
    if (!has_device()) return TAP_SKIP;
    open_scene("list_of_sources", some, NB_PRECISION_DOUBLE);
    tap_close("tangents", both_jvp(64), 0, both_double);
    tap_close("of float32", both_jvp(32), 0, 1e-7); /* rounded to float once: 2^-24 */
    check_device("tangents");
    both_close();
    return TAP_PASS;
}

/* ---- a scene in which every barrier of the kernels keeps something in order ---- */

/* Several layers, chunks of pairs in each, light that is not the crystal's, and a shape
 * whose float may lose the image, in a few tiles: without any one barrier threads race,
 * which the interpreter of PTX says (tests/ptx/drop_barriers.sh). */
static nb_scene of_every_barrier(void)
{
    static const int roi[4] = {17, 31, 17, 31};
    nb_scene scene = scenes_named(SCENES_FEATURES, "gauss_nearest");

    scene.crystal.ndomains = 130;
    scene.detector.thickness = 450;
    scene.detector.attenuation = 300;
    scene.detector.nlayers = 2;
    scene.background.water = 5;
    scene.dmin = 2;
    memcpy(scene.detector.roi, roi, sizeof roi);
    return scene;
}

/* of the image itself, in units of its peak */
static double image_off(void)
{
    static double image[BOTH_PIXELS];
    nb_array array = nb_array_f64(image, COMPILED_SLOW, COMPILED_FAST);
    struct worst worst = {0};

    if (nb_forward(both.sim[1], NULL, &array) != NB_OK) return INFINITY;
    worst_add_all(&worst, image, both.photons, BOTH_PIXELS,
                  worst_largest(both.photons, BOTH_PIXELS));
    return worst.error;
}

static int every_barrier(void)
{
    const nb_scene scene = of_every_barrier();
    double value;

    if (!has_device()) return TAP_SKIP;
    for (int of_factors = 0; of_factors < 2; of_factors++) {
        both_open(context_of(NB_DEVICE_CPU), context_of(NB_DEVICE_CUDA), &scene,
                  of_factors ? factors : some, NB_PRECISION_SINGLE);
        tap_close("gradient of a loss", both_loss(NB_LOSS_POISSON, &value), 0, both_float);
        if (!of_factors) {
            tap_close("image", image_off(), 0, 1e-5);
            tap_close("value", both_value(NB_LOSS_POISSON), 0, 2e-5);
            tap_close("normal matrix", both_normal(NB_LOSS_GAUSS), 0, both_float);
            tap_close("tangents", both_jvp(64), 0, both_float);
        }
        check_device("every barrier");
        both_close();
    }
    return TAP_PASS;
}

/* two runs, and two simulators */
static void check_bits(const char *scene, const char *names)
{
    static double bar[BOTH_PIXELS];
    double x_bar[3][BOTH_MOST] = {{0}};
    const nb_array image = nb_array_f64(bar, COMPILED_SLOW, COMPILED_FAST);

    both_fill(bar, BOTH_PIXELS, -1);
    for (int k = 0; k < 3; k++) {
        if (k != 1) open_scene(scene, names, NB_PRECISION_SINGLE);
        if (nb_vjp(both.sim[1], NULL, 1, &image, x_bar[k]) != NB_OK)
            tap_check(0, "%s", nb_context_message(both.ctx[1]));
        check_device("gradient");
        if (k != 0) both_close();
    }
    tap_check(memcmp((char *)x_bar[0], (char *)x_bar[1], sizeof x_bar[0]) == 0
                  && memcmp((char *)x_bar[0], (char *)x_bar[2], sizeof x_bar[0]) == 0,
              "%s: the same bits, three times", scene);
}

static int same_bits(void)
{
    if (!has_device()) return TAP_SKIP;
    check_bits("list_of_sources", "*");
    check_bits("square_nearest", factors);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"gradients_double", gradients_double},
        {"gradients_float", gradients_float},
        {"structure_factors", structure_factors},
        {"without_nvrtc", without_nvrtc},
        {"losses", losses},
        {"values", values},
        {"tangents", tangents},
        {"every_barrier", every_barrier},
        {"same_bits", same_bits},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
