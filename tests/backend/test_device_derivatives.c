/*
 * test_device_derivatives.c - derivatives on a device that fails, and those that stay on
 * the host. The numbers are those of test_gpu_gradients and test_gpu_kernels.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "api/allocations.h"
#include "base/context.h"
#include "device/both.h"
#include "device/devices.h"
#include "device/watched.h"
#include "simulator.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

enum { PIXELS = BOTH_PIXELS, MOST = BOTH_MOST };

/* ---- a scene on the host and on a device ---- */

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

static void close_both(void)
{
    both_close();
    tap_check(devices_balanced() && watched.modules_held == 0
                  && watched.recordings_held == 0,
              "all was given back");
}

/* derivatives were made by kernels of the device, and nothing was told */
static void check_on_device(const char *what)
{
    nb_description d;

    if (nb_simulator_describe(both.sim[1], NULL, &d) != NB_OK) abort();
    tap_check(watched.launches[GPU_DERIVATIVES] > 0 && devices_warnings == 0
                  && strcmp(d.derivatives, d.device) == 0 && strcmp(d.device, "cpu") != 0,
              "%s on %s: %d launches, %d warnings: %s", what, d.derivatives,
              (int)watched.launches[GPU_DERIVATIVES], devices_warnings, devices_warning);
}

static const char few[] = "cell misset distance ncells fluence";

/* a loss that is not a number: the host's error, and nothing is added */
static int no_number(void)
{
    const nb_scene scene = scenes_named(SCENES_FEATURES, "xds_roi");
    double x_bar[MOST], matrix[MOST * MOST], value;
    nb_normal out = {.gradient = x_bar};
    nb_target target;
    int touched = 0;

    open_both(&scene, "cell distance", NB_PRECISION_DOUBLE);
    target = both_target(NB_LOSS_GAUSS);
    for (int k = 0; k < PIXELS; k++) both.observed[k] = NAN;
    for (int k = 0; k < MOST; k++) x_bar[k] = 7;
    for (int k = 0; k < MOST * MOST; k++) matrix[k] = 7;
    for (int k = 0; k < 2; k++) {
        const nb_status status = nb_loss(both.sim[1], NULL, &target, &value, &out);

        tap_check(status == NB_ERR_ARGUMENT
                      && strstr(nb_context_message(both.ctx[1]), "observed["),
                  "%s", nb_context_message(both.ctx[1]));
        out.matrix = matrix;
    }
    for (int k = 0; k < MOST; k++) touched += x_bar[k] != 7;
    for (int k = 0; k < MOST * MOST; k++) touched += matrix[k] != 7;
    tap_check(touched == 0, "%d numbers were added to", touched);
    close_both();
    return TAP_PASS;
}

/* ---- what stays on the host ---- */

/* the host's bits, told once */
static void check_on_host(const char *what, const char *why, int warnings)
{
    static double bar[PIXELS];
    double x_bar[2][MOST] = {{0}};
    const nb_array image = nb_array_f64(bar, COMPILED_SLOW, COMPILED_FAST);
    nb_description d;
    int same = 0;

    both_fill(bar, PIXELS, -1);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            if (nb_vjp(both.sim[i], NULL, 1, &image, x_bar[i]) != NB_OK)
                tap_check(0, "%s: %s", what, nb_context_message(both.ctx[i]));
    for (size_t i = 0; i < both.n; i++) same += x_bar[0][i] == x_bar[1][i];
    tap_check(same == (int)both.n, "%s: %d of %d numbers have the host's bits", what, same,
              (int)both.n);
    if (nb_simulator_describe(both.sim[1], NULL, &d) != NB_OK) abort();
    tap_check(strcmp(d.derivatives, "cpu") == 0 && strstr(d.derivatives_why, why)
                  && strcmp(d.device, "cpu") != 0,
              "%s: on %s: %s", what, d.derivatives, d.derivatives_why);
    tap_check(devices_warnings == warnings, "%s: %d warnings, expected %d: %s", what,
              devices_warnings, warnings, devices_warning);
}

static int on_host(void)
{
    nb_scene scene = scenes_named(SCENES_FEATURES, "square_nearest");

    open_both(&scene, few, NB_PRECISION_DOUBLE);
    both.ctx[1]->env.disable_compile = 1;
    both.ctx[1]->options.compile = NB_COMPILE_OFF;
    check_on_host("without compiled mode", "compiled mode is off", 0);
    close_both();
    scene.psf.kind = NB_PSF_GAUSS;
    scene.psf.fwhm = 0.5;
    open_both(&scene, few, NB_PRECISION_DOUBLE);
    check_on_host("with a point spread", "point spread", 1);
    close_both();
    scene.psf = (nb_psf){0};
    open_both(&scene, few, NB_PRECISION_DOUBLE);
    both.ctx[1]->nvrtc = "no such library";
    check_on_host("without NVRTC", "no such library", 1);
    close_both();
    return TAP_PASS;
}

/* without NVRTC the kernels of the build serve every kind of tangent: of beam and detector
 * alone, that turn the crystal, few and many, and that change it */
static int kernels_of_the_build(void)
{
    static const char *const names[] = {"distance fluence", "misset", few,
                                        "cell misset mosaic osc spindle"};
    const nb_scene scene = scenes_named(SCENES_FEATURES, "square_nearest");

    for (size_t i = 0; i < 2 * (sizeof names / sizeof *names); i++) {
        const int single = i % 2;
        const char *parameters = names[i / 2];
        nb_compile_stats stats;

        open_both(&scene, parameters, single ? NB_PRECISION_SINGLE : NB_PRECISION_DOUBLE);
        both.ctx[1]->nvrtc = "no such library";
        watched.built = 1;
        tap_close(parameters, both_vjp(single ? 32 : 64), 0, single ? 2e-6 : 4e-14);
        nb_simulator_stats(both.sim[1], &stats);
        tap_check(stats.fallbacks == 0 && stats.builds == 0 && watched.own_launches > 0,
                  "%d fallbacks, %d built, %d launches of kernels of the build",
                  (int)stats.fallbacks, (int)stats.builds, (int)watched.own_launches);
        check_on_device("without NVRTC");
        close_both();
    }
    return TAP_PASS;
}

/* a part of the questions alone stays there */
static int factors_on_host(void)
{
    const nb_scene scene = scenes_named(SCENES_FEATURES, "square_nearest");
    static double change[2][PIXELS], matrix[2][MOST * MOST];
    double dx[MOST] = {0};
    int same = 0;

    open_both(&scene, "distance F[1,2,3] F[0,1,2]", NB_PRECISION_DOUBLE);
    dx[1] = 1;
    for (int i = 0; i < 2; i++) {
        nb_array image = nb_array_f64(change[i], COMPILED_SLOW, COMPILED_FAST);
        nb_normal out = {.matrix = matrix[i]};

        if (nb_jvp(both.sim[i], NULL, 1, dx, &image) != NB_OK
            || nb_jtj(both.sim[i], NULL, NULL, NULL, &out) != NB_OK)
            tap_check(0, "%s", nb_context_message(both.ctx[i]));
    }
    for (int k = 0; k < PIXELS; k++) same += change[0][k] == change[1][k];
    tap_check(same == PIXELS && matrix[0][0] == matrix[1][0], "the host's bits");
    tap_check(devices_warnings == 2, "%d warnings, the last: %s", devices_warnings,
              devices_warning);
    /* 3.9e-16 measured */
    tap_close("and a gradient on the device", both_vjp(64), 0, 6e-15);
    tap_check(watched.launches[GPU_F] > 0, "%d launches of F",
              (int)watched.launches[GPU_F]);
    close_both();
    return TAP_PASS;
}

/* So dark that a unit by what might be leaves few digits: a finer one is found. */
static int faint_factors(void)
{
    nb_scene scene = scenes_named(SCENES_FEATURES, "gauss_nearest");

    scene.crystal.fudge = 80;
    open_both(&scene, "default_f F[1,2,3] F[0,1,2] F[-2,1,0]", NB_PRECISION_DOUBLE);
    tap_close("structure factors", both_vjp(64), 0, 2e-12);
    tap_check(watched.launches[GPU_F] == 2, "measured %d launches expected 2",
              (int)watched.launches[GPU_F]);
    close_both();
    return TAP_PASS;
}

static int strict(void)
{
    nb_scene scene = scenes_named(SCENES_FEATURES, "square_nearest");
    static double bar[PIXELS];
    double x_bar[MOST] = {0};
    const nb_array image = nb_array_f64(bar, COMPILED_SLOW, COMPILED_FAST);

    open_both(&scene, few, NB_PRECISION_DOUBLE);
    both.ctx[1]->env.strict = 1;
    both.ctx[1]->nvrtc = "no such library";
    for (int k = 0; k < 2; k++)
        tap_check(nb_vjp(both.sim[1], NULL, 1, &image, x_bar) == NB_ERR_UNSUPPORTED
                      && strstr(nb_context_message(both.ctx[1]), "no such library"),
                  "call %d: %s", k, nb_context_message(both.ctx[1]));
    close_both();
    return TAP_PASS;
}

/* whatever call of the driver fails, the gradient is right */
static int any_call_fails(void)
{
    const nb_scene scene = scenes_named(SCENES_FEATURES, "square_nearest");
    uint64_t calls;
    struct worst worst = {0};
    int lost = 0, told = 0;

    open_both(&scene, few, NB_PRECISION_DOUBLE);
    calls = watched.calls;
    worst_add(&worst, both_vjp(64), 0, 1);
    calls = watched.calls - calls;
    close_both();
    for (uint64_t k = 1; k <= calls; k++) {
        open_both(&scene, few, NB_PRECISION_DOUBLE);
        watched.fail_at = watched.calls + k;
        worst_add(&worst, both_vjp(64), 0, 1);
        watched.fail_at = 0;
        lost += both.sim[1]->device.scene.gpu == NULL;
        told += devices_warnings == 1;
        close_both();
    }
    worst_check(&worst, 4e-14, "gradients"); /* 2.4e-15 measured */
    tap_check(told == (int)calls && lost > 0, "%d calls, told of %d, %d lost the device",
              (int)calls, told, lost);
    return TAP_PASS;
}

/* as on the host, a cotangent that is no number makes a gradient that is none */
static int no_cotangent(void)
{
    const nb_scene scene = scenes_named(SCENES_FEATURES, "square_nearest");
    static double bar[PIXELS];
    const nb_array image = nb_array_f64(bar, COMPILED_SLOW, COMPILED_FAST);

    open_both(&scene, "cell distance", NB_PRECISION_DOUBLE);
    bar[PIXELS / 2] = NAN;
    for (int i = 0; i < 2; i++) {
        double x_bar[MOST] = {0};

        if (nb_vjp(both.sim[i], NULL, 1, &image, x_bar) != NB_OK)
            tap_check(0, "%s", nb_context_message(both.ctx[i]));
        tap_check(isnan(x_bar[0]), "%s: %g", i ? "device" : "host", x_bar[0]);
    }
    close_both();
    return TAP_PASS;
}

/* ---- arrays on the device ---- */

/* what the host has to do does not keep arrays of the device from what it does not */
static void check_part_refused(const nb_array *image)
{
    static double matrix[MOST * MOST];
    double x_bar[MOST] = {0};
    nb_normal out = {.matrix = matrix};
    nb_description d;

    tap_check(nb_jtj(both.sim[1], NULL, image, NULL, &out) == NB_ERR_UNSUPPORTED
                  && strstr(nb_context_message(both.ctx[1]), "structure factors"),
              "a matrix: %s", nb_context_message(both.ctx[1]));
    tap_check(nb_vjp(both.sim[1], NULL, 1, image, x_bar) == NB_OK, "a gradient: %s",
              nb_context_message(both.ctx[1]));
    if (nb_simulator_describe(both.sim[1], NULL, &d) != NB_OK) abort();
    tap_check(strcmp(d.derivatives, d.device) == 0, "derivatives on %s", d.derivatives);
}

/* the value of a loss takes no kernel that is built at run time */
static void check_value_alone(const nb_array *image)
{
    const nb_target target = {.kind = NB_LOSS_GAUSS, .observed = image};
    double value;

    tap_check(nb_loss(both.sim[1], NULL, &target, &value, NULL) == NB_OK && value > 0,
              "the value alone: %s", nb_context_message(both.ctx[1]));
}

static int inputs_there(void)
{
    const nb_scene scene = scenes_named(SCENES_FEATURES, "square_nearest");
    static double bar[PIXELS];
    double x_bar[2][MOST] = {{0}};
    nb_array image = nb_array_f64(bar, COMPILED_SLOW, COMPILED_FAST);
    const struct gpu *gpu;
    gpu_address address;
    int same = 0;

    open_both(&scene, "cell misset distance ncells fluence F[1,2,3]", NB_PRECISION_DOUBLE);
    gpu = both.sim[1]->device.scene.gpu;
    both_fill(bar, PIXELS, -1);
    if (nb_vjp(both.sim[1], NULL, 1, &image, x_bar[0]) != NB_OK
        || gpu->driver->allocate(both.ctx[1], gpu->device, sizeof bar, &address) != NB_OK
        || gpu->driver->upload(both.ctx[1], gpu->device, address, bar, sizeof bar) != NB_OK)
        abort();
    image.data = (void *)(uintptr_t)address;
    image.device = NB_DEVICE_CUDA;
    tap_check(nb_vjp(both.sim[1], NULL, 1, &image, x_bar[1]) == NB_OK, "on the device: %s",
              nb_context_message(both.ctx[1]));
    for (size_t i = 0; i < both.n; i++) same += x_bar[0][i] == x_bar[1][i];
    tap_check(same == (int)both.n, "%d of %d numbers are the same", same, (int)both.n);
    tap_check(nb_vjp(both.sim[0], NULL, 1, &image, x_bar[0]) == NB_ERR_UNSUPPORTED,
              "on the host: %s", nb_context_message(both.ctx[0]));
    image.device_id = 3;
    tap_check(nb_vjp(both.sim[1], NULL, 1, &image, x_bar[1]) == NB_ERR_SHAPE, "%s",
              nb_context_message(both.ctx[1]));
    image.device_id = 0;
    image.stride[0] = COMPILED_FAST + 1;
    image.stride[1] = 1;
    tap_check(nb_vjp(both.sim[1], NULL, 1, &image, x_bar[1]) == NB_ERR_SHAPE, "%s",
              nb_context_message(both.ctx[1]));
    image.stride[0] = image.stride[1] = 0;
    check_part_refused(&image);
    both.ctx[1]->options.compile = NB_COMPILE_OFF;
    check_value_alone(&image);
    tap_check(nb_vjp(both.sim[1], NULL, 1, &image, x_bar[1]) == NB_ERR_UNSUPPORTED
                  && strstr(nb_context_message(both.ctx[1]), "compiled mode is off"),
              "%s", nb_context_message(both.ctx[1]));
    gpu->driver->release(gpu->device, address);
    close_both();
    return TAP_PASS;
}

/* Call everything that a device computes, with arrays that have to be copied too. Returns
 * how many calls failed. */
static int call_all(nb_simulator *sim)
{
    static double ones[2 * PIXELS], images[2 * PIXELS], gradient[MOST], matrix[MOST * MOST];
    static float rounded[PIXELS];
    const int nslow = COMPILED_SLOW, nfast = COMPILED_FAST;
    const nb_array bar = nb_array_f64(ones, nslow, nfast);
    nb_array view = bar;
    nb_array image[2] = {nb_array_f64(images, nslow, nfast),
                         nb_array_f64(images + PIXELS, nslow, nfast)};
    nb_array single = nb_array_f32(rounded, nslow, nfast);
    const nb_target target = {.kind = NB_LOSS_GAUSS, .observed = &view};
    double dx[MOST];
    nb_normal out = {.matrix = matrix}, slope = {.gradient = gradient};
    double value;
    int failed = 0;

    view.stride[0] = 2 * nfast;
    view.stride[1] = 2;
    for (int i = 0; i < 2 * PIXELS; i++) ones[i] = 1;
    for (int i = 0; i < MOST; i++) dx[i] = i + 1;
    failed += nb_simulator_nparam(sim) > MOST;
    failed += nb_forward(sim, NULL, image) != NB_OK;
    failed += nb_forward(sim, NULL, &single) != NB_OK;
    failed += nb_forward_batch(sim, 2, NULL, image) != NB_OK;
    failed += nb_vjp(sim, NULL, 1, &bar, gradient) != NB_OK;
    failed += nb_vjp(sim, NULL, 1, &view, gradient) != NB_OK;
    failed += nb_loss(sim, NULL, &target, &value, NULL) != NB_OK;
    failed += nb_loss(sim, NULL, &target, &value, &slope) != NB_OK;
    failed += nb_jtj(sim, NULL, &bar, NULL, &out) != NB_OK;
    failed += nb_jvp(sim, NULL, 1, dx, image) != NB_OK;
    failed += nb_jvp(sim, NULL, 1, dx, &single) != NB_OK;
    return failed;
}

/* What the first call of a kind allocates is kept, and the next ones allocate nothing. The
 * recordings of graphs are the driver's. */
static int first_calls_alone(void)
{
    if (!allocations_counted()) return tap_skip("malloc cannot be counted here");
    for (int single = 0; single < 2; single++) {
        const nb_scene scene = scenes_base();
        long made, held;
        int failed;

        open_both(&scene, "misset default_f",
                  single ? NB_PRECISION_SINGLE : NB_PRECISION_DOUBLE);
        both.ctx[1]->env.graphs = 0;
        failed = call_all(both.sim[1]);
        held = allocations_held();
        made = allocations_made();
        failed += call_all(both.sim[1]) + call_all(both.sim[1]);
        made = allocations_made() - made;
        tap_check(failed == 0 && made == 0 && allocations_held() == held,
                  "%s: %d calls failed, %ld allocations, %ld blocks more",
                  single ? "float" : "double", failed, made, allocations_held() - held);
        check_on_device("all derivatives");
        close_both();
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case all[] = {
        {"no_number", no_number},
        {"on_host", on_host},
        {"kernels_of_the_build", kernels_of_the_build},
        {"factors_on_host", factors_on_host},
        {"faint_factors", faint_factors},
        {"strict", strict},
        {"any_call_fails", any_call_fails},
        {"no_cotangent", no_cotangent},
        {"inputs_there", inputs_there},
        {"first_calls_alone", first_calls_alone},
    };

    return devices_main(argc, argv, all, sizeof all / sizeof *all);
}
