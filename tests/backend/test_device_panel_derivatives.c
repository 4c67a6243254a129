/*
 * test_device_panel_derivatives.c - derivatives of images of several panels on a
 * device, in moves of panels and groups and beside them, compared with the host's.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "device/both.h"
#include "device/devices.h"
#include "device/panels.h"
#include "device/watched.h"
#include "simulator.h"
#include "support/renders.h"
#include "support/tap.h"

/* Make a context whose device has kernels of derivatives. */
static nb_context *device_context(void)
{
    nb_context *ctx = devices_context(NB_DEVICE_CUDA);

    ctx->env.cache_dir[0] = '\0';
    return ctx;
}

static void open_both(const nb_scene *scene, const char *names, int precision)
{
    watched_reset();
    devices_warnings = 0;
    both_open(devices_context(NB_DEVICE_CPU), device_context(), scene, names, precision);
}

/* Derivatives were computed by kernels of the device, once for each panel. */
static void close_both(const char *what)
{
    nb_description d;

    renders_require(both.ctx[1], nb_simulator_describe(both.sim[1], NULL, &d));
    tap_check(watched.launches[GPU_DERIVATIVES] >= 2 && devices_warnings == 0
                  && strcmp(d.derivatives, d.device) == 0 && strcmp(d.device, "cpu") != 0,
              "%s on %s: %d launches, %d warnings", what, d.derivatives,
              (int)watched.launches[GPU_DERIVATIVES], devices_warnings);
    both_close();
    tap_check(devices_balanced() && watched.modules_held == 0, "all was given back");
}

static int vjp(void)
{
    static const char *const names[] = {"square_nearest", "each_factor", "list_of_sources"};

    for (int i = 0; i < 3; i++)
        for (int single = 0; single < 2; single++) {
            const nb_scene scene = panels_two(names[i], (i + single) % 2);

            open_both(&scene, panels_moves,
                      single ? NB_PRECISION_SINGLE : NB_PRECISION_DOUBLE);
            tap_close(names[i], both_vjp(single ? 32 : 64), 0, single ? 2e-6 : 4e-14);
            close_both(names[i]);
        }
    return TAP_PASS;
}

static int structure_factors(void)
{
    const nb_scene scene = panels_two("square_nearest", 1);

    open_both(&scene, "panel_shift_normal default_f F[1,2,3] F[0,1,2] F[-2,1,0]",
              NB_PRECISION_DOUBLE);
    tap_close("structure factors", both_vjp(64), 0, 4e-14);
    close_both("structure factors");
    return TAP_PASS;
}

static int loss(void)
{
    const nb_scene scene = panels_two("each_factor", 1);
    nb_target target;
    double gradient, value, alone[2];

    open_both(&scene, panels_moves, NB_PRECISION_DOUBLE);
    gradient = both_loss(NB_LOSS_READOUT, &value);
    tap_close("value", value, 0, 5e-13);
    tap_close("gradient", gradient, 0, 2e-13);
    target = both_target(NB_LOSS_READOUT);
    for (int i = 0; i < 2; i++)
        renders_require(both.ctx[i], nb_loss(both.sim[i], NULL, &target, alone + i, NULL));
    tap_check(watched.launches[GPU_LOSS] >= 2, "a value without derivatives: %d launches",
              (int)watched.launches[GPU_LOSS]);
    tap_close("value alone", alone[1], alone[0], 5e-13 * fabs(alone[0]));
    close_both("loss");
    return TAP_PASS;
}

/* ---- regions, and what depends on one panel alone ---- */

/* A region that cuts rows and columns of the panels, and a mask: every derivative, twice of
 * the same simulators, since memory of the first is used again. */
static int regions(void)
{
    static uint8_t mask[BOTH_PIXELS];
    static const int roi[4] = {14, 30, 3, 29};

    for (int i = 0; i < BOTH_PIXELS; i++) mask[i] = i % 7 != 3;
    for (int gaps = 0; gaps < 2; gaps++) {
        nb_scene scene = panels_two("gauss_nearest", gaps);

        memcpy(scene.detector.roi, roi, sizeof roi);
        if (gaps) scene.detector.mask = mask;
        open_both(&scene, panels_moves, NB_PRECISION_DOUBLE);
        for (int again = 0; again < 2; again++) {
            double value;

            tap_close("tangents", both_jvp(64), 0, both_double);
            tap_close("gradient", both_vjp(64), 0, 4e-14);
            tap_close("gradient of a loss", both_loss(NB_LOSS_POISSON, &value), 0, 2e-13);
            tap_close("its value", value, 0, 5e-13);
            tap_close("normal matrix", both_normal(NB_LOSS_GAUSS), 0, 1e-13);
        }
        close_both("regions");
    }
    return TAP_PASS;
}

/* A gradient by moves of one panel runs over that panel alone. */
static int one_panel_moves(void)
{
    const nb_scene scene = panels_two("square_nearest", 1);
    uint64_t before;

    open_both(&scene, "panel_shift_fast[1]", NB_PRECISION_DOUBLE);
    before = watched.launches[GPU_DERIVATIVES];
    tap_close("gradient", both_vjp(64), 0, 4e-14);
    tap_check(watched.launches[GPU_DERIVATIVES] == before + 1,
              "measured %d launches expected 1",
              (int)(watched.launches[GPU_DERIVATIVES] - before));
    both_close();
    tap_check(devices_balanced(), "all was given back");
    return TAP_PASS;
}

/* A panel outside the region has more parameters than a normal matrix may have on the
 * device; that of the other is one pass all the same. */
static int unlit_panel(void)
{
    static const char names[] =
        "phi0 osc spindle mosaic misset ncells fluence beam_direction panel_shift_fast[0] "
        "panel_shift_slow[0] panel_shift_normal[0] panel_rot_fast[0] panel_rot_slow[0] "
        "panel_rot_normal[0] group_shift group_rot";
    static const int roi[4] = {0, COMPILED_FAST, COMPILED_SLOW / 2, COMPILED_SLOW};
    nb_scene scene = panels_two("square_nearest", 0);

    memcpy(scene.detector.roi, roi, sizeof roi);
    scene.crystal.ndomains = 4;
    scene.crystal.mosaic[0] = 0.3;
    scene.scan.osc = 1;
    scene.scan.nphi = 2;
    scene.scan.phi0 = 3;
    open_both(&scene, names, NB_PRECISION_SINGLE);
    tap_check(both.n > 32, "%zu parameters", both.n);
    tap_close("normal matrix", both_normal(-1), 0, both_float); /* 3.3e-8 measured */
    tap_check(watched.launches[GPU_DERIVATIVES] == 1, "measured %d launches expected 1",
              (int)watched.launches[GPU_DERIVATIVES]);
    both_close();
    return TAP_PASS;
}

/* ---- calls one after the other ---- */

/* Losses and gradients of panels that differ in size: each has launches of its own, too
 * many for all recordings to be kept, so none is made; few and equal ones are recorded. */
static int recordings(void)
{
    static double observed[TILED_PIXELS];
    struct tiled t;

    for (int equal = 0; equal < 2; equal++) {
        const nb_scene scene = equal ? panels_two("each_factor", 0) : panels_placed(&t);
        nb_array seen = nb_array_f64(observed, scene.detector.nslow, scene.detector.nfast);
        const nb_target target = {.kind = NB_LOSS_GAUSS, .observed = &seen};
        double gradient[TILED_PANELS + 3] = {0}, value;
        nb_normal out = {.gradient = gradient};
        nb_context *ctx;
        nb_simulator *sim;
        uint64_t first = 0;

        watched_reset();
        ctx = device_context();
        sim = devices_make(ctx, &scene, "misset panel_shift_fast", NB_PRECISION_DOUBLE);
        for (int i = 0; i < 4; i++) {
            renders_require(ctx, nb_loss(sim, NULL, &target, &value, NULL));
            renders_require(ctx, nb_loss(sim, NULL, &target, &value, &out));
            if (i == 0) first = watched.records;
        }
        tap_check(watched.records == first && (first > 0) == equal,
                  "measured %d recordings in 4 calls, allowed the %d of the first",
                  (int)watched.records, (int)first);
        devices_free(ctx, sim);
        tap_check(devices_balanced() && watched.recordings_held == 0, "all was given back");
    }
    return TAP_PASS;
}

/* Losses, gradients and images in turn, of structure factors and panels that change, are
 * those of the host. */
static int in_turn(void)
{
    static double image[2][BOTH_PIXELS], observed[BOTH_PIXELS];
    const nb_scene scene = panels_two("square_nearest", 1);
    nb_array seen = nb_array_f64(observed, COMPILED_SLOW, COMPILED_FAST);
    const nb_target target = {.kind = NB_LOSS_GAUSS, .observed = &seen};

    for (int i = 0; i < BOTH_PIXELS; i++) observed[i] = 1 + i % 5;
    for (int single = 0; single < 2; single++) {
        const double allowed = single ? 2e-5 : 1e-12;

        open_both(&scene, "F[1,2,3] F[0,1,2] panel_shift_fast[1]",
                  single ? NB_PRECISION_SINGLE : NB_PRECISION_DOUBLE);
        for (int k = 0; k < 4; k++) {
            const double x[3] = {50 + 30.0 * k, 70 + 40.0 * k, 0.1 * k};
            double gradient[2][3] = {{0}}, value[2];

            for (int i = 0; i < 2; i++) {
                nb_normal out = {.gradient = gradient[i]};
                nb_array array = nb_array_f64(image[i], COMPILED_SLOW, COMPILED_FAST);

                renders_require(both.ctx[i], nb_loss(both.sim[i], x, &target, value + i,
                                                     k % 2 ? &out : NULL));
                renders_require(both.ctx[i], nb_forward(both.sim[i], x, &array));
            }
            tap_close("loss", value[1] / value[0], 1, allowed);
            tap_close("image", renders_compare(image[1], image[0], BOTH_PIXELS).worst, 0,
                      allowed);
            for (int j = 0; j < 3 && k % 2; j++)
                tap_close("gradient", gradient[1][j], gradient[0][j],
                          100 * allowed * fabs(gradient[0][j]));
        }
        close_both("in turn");
    }
    return TAP_PASS;
}

/* Whatever call of the driver fails in a gradient with structure factors, it is that of the
 * host within rounding, and memory is given back. */
static int any_call_fails(void)
{
    const nb_scene scene = panels_two("square_nearest", 1);
    uint64_t n = 0, calls;

    do {
        open_both(&scene, "panel_shift_normal F[1,2,3] F[0,1,2]", NB_PRECISION_DOUBLE);
        watched.fail_at = watched.calls + ++n;
        calls = watched.calls;
        tap_close("gradient", both_vjp(64), 0, 4e-14);
        calls = watched.calls - calls;
        both_close();
        tap_check(devices_balanced() && watched.modules_held == 0,
                  "call %d fails: all was given back", (int)n);
    } while (calls >= n);
    tap_check(n > 20, "%d calls were made to fail", (int)n - 1);
    watched_reset();
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"vjp", vjp},
        {"structure_factors", structure_factors},
        {"loss", loss},
        {"regions", regions},
        {"one_panel_moves", one_panel_moves},
        {"unlit_panel", unlit_panel},
        {"recordings", recordings},
        {"in_turn", in_turn},
        {"any_call_fails", any_call_fails},
    };

    return devices_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
