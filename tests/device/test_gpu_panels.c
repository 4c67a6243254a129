/*
 * test_gpu_panels.c - detectors of several panels on a CUDA device by the public interface:
 * each panel has the bits of an image of that panel alone, and derivatives are those of the
 * host. Skipped without a device.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "device/both.h"
#include "device/panels.h"
#include "support/renders.h"
#include "support/tap.h"

enum { PIXELS = TILED_PIXELS };

static const double allowed_double = 1e-12, allowed_float = 1e-5; /* of the peak */

static nb_context *context_of(int device)
{
    const nb_context_options options = {.device = device};
    nb_context *ctx;

    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    return ctx;
}

/* Returns 1 where a simulator's images are a device's; or skips the case. */
static int is_on_device(const nb_context *ctx, nb_simulator *sim)
{
    nb_description about;

    renders_require(ctx, nb_simulator_describe(sim, NULL, &about));
    if (strcmp(about.device, "cpu") == 0) {
        (void)tap_skip("no device: %s", about.device_why);
        return 0;
    }
    tap_note("%s", about.device);
    return 1;
}

/* ---- images ---- */

static void check_image(nb_context *ctx, nb_simulator *sim, const nb_scene *scene,
                        const struct tiled *t, int precision)
{
    static double image[PIXELS], again[PIXELS], truth[PIXELS];
    const nb_options options = {.precision = precision},
                     host = {.strategy = NB_STRATEGY_REFERENCE};
    nb_context *cpu = context_of(NB_DEVICE_CPU);
    nb_simulator *reference = renders_simulator(cpu, scene, NULL, &host);
    struct panels_difference differ;
    nb_compile_stats stats;

    renders_forward(ctx, sim, TILED_NSLOW, TILED_NFAST, image);
    renders_forward(ctx, sim, TILED_NSLOW, TILED_NFAST, again);
    nb_simulator_stats(sim, &stats);
    tap_check(memcmp((char *)image, (char *)again, sizeof image) == 0
                  && stats.fallbacks == 0,
              "the same bits again, measured %d fallbacks allowed 0", (int)stats.fallbacks);
    differ = panels_compare(ctx, scene, t, &options, image);
    tap_check(differ.pixels == 0 && differ.light == 0,
              "measured %d pixels allowed 0 with other bits than those of a panel alone, "
              "%d with light in gaps",
              differ.pixels, differ.light);
    renders_forward(cpu, reference, TILED_NSLOW, TILED_NFAST, truth);
    tap_close("of the reference", renders_compare(image, truth, PIXELS).worst, 0,
              precision == NB_PRECISION_SINGLE ? allowed_float : allowed_double);
    nb_simulator_free(reference);
    nb_context_free(cpu);
}

static int images(void)
{
    static const int precisions[] = {NB_PRECISION_DOUBLE, NB_PRECISION_SINGLE};
    struct tiled t;
    const nb_scene scene = panels_placed(&t);
    int found = 1;

    for (int i = 0; i < 2 && found; i++) {
        const nb_options options = {.precision = precisions[i]};
        nb_context *ctx = context_of(NB_DEVICE_CUDA);
        nb_simulator *sim = renders_simulator(ctx, &scene, NULL, &options);

        found = is_on_device(ctx, sim);
        if (found) check_image(ctx, sim, &scene, &t, precisions[i]);
        nb_simulator_free(sim);
        nb_context_free(ctx);
    }
    return found ? TAP_PASS : TAP_SKIP;
}

/* ---- derivatives ---- */

/* Compare what one simulator on a device and one on the host compute. */
static void check_derivatives(void)
{
    nb_description about;
    double value;

    tap_close("gradient", both_vjp(64), 0, both_double);
    tap_close("gradient of a loss", both_loss(NB_LOSS_POISSON, &value), 0, both_double);
    tap_close("its value", value, 0, 1e-12);
    tap_close("normal matrix", both_normal(NB_LOSS_GAUSS), 0, both_double);
    tap_close("tangents", both_jvp(64), 0, both_double);
    renders_require(both.ctx[1], nb_simulator_describe(both.sim[1], NULL, &about));
    tap_check(strcmp(about.derivatives, "cpu") != 0, "derivatives on %s: %s",
              about.derivatives, about.derivatives_why);
}

static int derivatives(void)
{
    int found = 1;

    for (int gaps = 0; gaps < 2 && found; gaps++) {
        const nb_scene scene = panels_two("gauss_nearest", gaps);

        both_open(context_of(NB_DEVICE_CPU), context_of(NB_DEVICE_CUDA), &scene,
                  panels_moves, NB_PRECISION_DOUBLE);
        found = is_on_device(both.ctx[1], both.sim[1]);
        if (found) check_derivatives();
        both_close();
    }
    return found ? TAP_PASS : TAP_SKIP;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"images", images},
        {"derivatives", derivatives},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
