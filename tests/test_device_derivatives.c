/*
 * test_device_derivatives.c - gradients, normal matrices and tangents of simulators whose
 * images are computed on an emulated device: against the host's, and what stays there. The
 * kernels are those of a library that only looks like NVRTC (nvrtc/fake.c).
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "image/loss.h"
#include "simulator.h"
#include "support/compiled.h"
#include "support/devices.h"
#include "support/emulated.h"
#include "support/scenes.h"
#include "support/tap.h"

enum { PIXELS = COMPILED_PIXELS, MOST = 64 };

/* what derivatives may be off by, of the sum of the sizes of their terms */
static const double allowed_double = 1e-11, allowed_float = 5e-4;

/* ---- a scene on the host and on a device ---- */

struct both {
    nb_context *ctx[2];
    nb_simulator *sim[2]; /* the host's, the device's */
    size_t n; /* parameters */
    double size[MOST][PIXELS]; /* |dI/dx| by the host */
    double photons[PIXELS];
};

static struct both both;

static nb_context *device_context(void)
{
    nb_context *ctx = devices_context(NB_CUDA);

    ctx->nvrtc = FAKE_NVRTC;
    ctx->env.cache_dir[0] = '\0';
    return ctx;
}

static void find_sizes(void)
{
    double dx[MOST];
    nb_array image = nb_array_f64(both.photons, COMPILED_SLOW, COMPILED_FAST);

    if (nb_forward(both.sim[0], NULL, &image) != NB_OK) abort();
    for (size_t i = 0; i < both.n; i++) {
        nb_array change = nb_array_f64(both.size[i], COMPILED_SLOW, COMPILED_FAST);
        nb_param param;

        memset(dx, 0, sizeof dx);
        dx[i] = 1;
        if (nb_jvp(both.sim[0], NULL, 1, dx, &change) != NB_OK
            || nb_param_at(both.sim[0], i, &param) != NB_OK)
            abort();
        for (int k = 0; k < PIXELS; k++)
            both.size[i][k] = fabs(both.size[i][k]) + both.photons[k] / param.scale;
    }
}

static void open_both(const nb_scene *scene, const char *names, int precision)
{
    memset(&both, 0, sizeof both);
    emulated_reset();
    devices_warnings = 0;
    both.ctx[0] = devices_context(NB_CPU);
    both.ctx[1] = device_context();
    both.sim[0] = devices_make(both.ctx[0], scene, names, NB_DOUBLE);
    both.sim[1] = devices_make(both.ctx[1], scene, names, precision);
    both.n = nb_nparam(both.sim[0]);
    if (both.n > MOST) abort();
    find_sizes();
}

static void close_both(void)
{
    for (int i = 0; i < 2; i++) {
        nb_simulator_free(both.sim[i]);
        nb_context_free(both.ctx[i]);
    }
    tap_check(devices_balanced() && emulated.modules_held == 0
                  && emulated.recordings_held == 0,
              "all was given back");
}

/* derivatives were made by kernels of the device, and nothing was told */
static void check_on_device(const char *what)
{
    nb_description d;

    if (nb_describe(both.sim[1], NULL, &d) != NB_OK) abort();
    tap_check(emulated.launches[GPU_ROWS] > 0 && devices_warnings == 0
                  && strcmp(d.derivatives, d.device) == 0 && strcmp(d.device, "cpu") != 0,
              "%s on %s: %d launches, %d warnings", what, d.derivatives,
              (int)emulated.launches[GPU_ROWS], devices_warnings);
}

/* numbers from 0 to 1, of one sign or of both */
static void fill(double *out, int n, double from)
{
    unsigned state = 12345;

    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        out[i] = from + (1 - from) * (state >> 8) / 16777216.0;
    }
}

/* ---- gradients ---- */

static double worst_of(const double *found, const double *truth, const double *slope)
{
    double worst = 0;

    for (size_t i = 0; i < both.n; i++) {
        double size = 0;

        for (int k = 0; k < PIXELS; k++) size += fabs(slope[k]) * both.size[i][k];
        worst = fmax(worst, fabs(found[i] - truth[i]) / size);
        if (isnan(found[i])) worst = INFINITY;
    }
    return worst;
}

static double worst_vjp(int bits)
{
    static double bar[PIXELS];
    static float narrow[PIXELS];
    double x_bar[2][MOST];
    nb_array image = nb_array_f64(bar, COMPILED_SLOW, COMPILED_FAST);

    fill(bar, PIXELS, -1);
    for (int k = 0; k < PIXELS; k++) bar[k] = narrow[k] = (float)bar[k];
    if (bits == 32) image = nb_array_f32(narrow, COMPILED_SLOW, COMPILED_FAST);
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < both.n; k++) x_bar[i][k] = 0;
        if (nb_vjp(both.sim[i], NULL, 1, &image, x_bar[i]) != NB_OK) {
            tap_note("%s", nb_context_message(both.ctx[i]));
            return INFINITY;
        }
    }
    return worst_of(x_bar[1], x_bar[0], bar);
}

static const struct {
    const char *name, *parameters;
} cases[] = {{"square_nearest", "*"},
             {"each_factor", "*"},
             {"list_of_sources", "*"},
             {"xds_roi", "*"},
             {"square_nearest", "cell default_f F[1,2,3] F[0,1,2] F[-2,1,0]"}};

static nb_scene scene_named(const char *name)
{
    for (size_t i = 0; i < scenes_count; i++)
        if (strcmp(scenes_list[i].name, name) == 0) return scenes_make(&scenes_list[i]);
    abort();
}

static int vjp(void)
{
    for (int single = 0; single < 2; single++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const nb_scene scene = scene_named(cases[i].name);

            open_both(&scene, cases[i].parameters, single ? NB_SINGLE : NB_DOUBLE);
            tap_close(cases[i].name, worst_vjp(single ? 32 : 64), 0,
                      single ? allowed_float : allowed_double);
            check_on_device(cases[i].name);
            close_both();
        }
    return TAP_PASS;
}

/* ---- losses ---- */

static double observed[PIXELS], weight[PIXELS];

static nb_target target_of(int kind, const nb_array *images)
{
    nb_target target = {.kind = kind, .sigma_readout = 2, .gain = 0.7, .delta = 3};

    fill(observed, PIXELS, 0.5);
    fill(weight, PIXELS, 0);
    for (int k = 0; k < PIXELS; k++) observed[k] *= both.photons[k];
    for (int k = 0; k < PIXELS; k += 5) weight[k] = 0;
    target.observed = images;
    target.weight = images + 1;
    return target;
}

static int loss(void)
{
    const nb_scene scene = scene_named("each_factor");
    const nb_array images[] = {nb_array_f64(observed, COMPILED_SLOW, COMPILED_FAST),
                               nb_array_f64(weight, COMPILED_SLOW, COMPILED_FAST)};

    for (int kind = NB_GAUSSIAN; kind <= NB_HUBER; kind++) {
        static double slope[PIXELS];
        double x_bar[2][MOST] = {{0}}, value[2];
        nb_target target;

        open_both(&scene, "*", NB_DOUBLE);
        target = target_of(kind, images);
        for (int i = 0; i < 2; i++) {
            nb_normal out = {.gradient = x_bar[i]};

            if (nb_loss(both.sim[i], NULL, &target, &value[i], &out) != NB_OK)
                tap_check(0, "%s", nb_context_message(both.ctx[i]));
        }
        for (int k = 0; k < PIXELS; k++)
            slope[k] = loss_pixel(&target, both.photons[k], observed[k], weight[k]).slope;
        tap_close("value", value[1], value[0], 1e-12 * fabs(value[0]));
        tap_close("gradient", worst_of(x_bar[1], x_bar[0], slope), 0, allowed_double);
        check_on_device("loss");
        close_both();
    }
    return TAP_PASS;
}

/* a loss that is not a number: the host's error, and nothing is added */
static int no_number(void)
{
    const nb_scene scene = scene_named("xds_roi");
    const nb_array images[] = {nb_array_f64(observed, COMPILED_SLOW, COMPILED_FAST),
                               nb_array_f64(weight, COMPILED_SLOW, COMPILED_FAST)};
    double x_bar[MOST], matrix[MOST * MOST], value;
    nb_normal out = {.gradient = x_bar};
    nb_target target;
    int touched = 0;

    open_both(&scene, "cell distance", NB_DOUBLE);
    target = target_of(NB_GAUSSIAN, images);
    for (int k = 0; k < PIXELS; k++) observed[k] = NAN;
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

/* ---- the normal matrix ---- */

static double worst_normal(const double *found, const double *truth, const double *slope)
{
    const size_t n = both.n;
    double worst = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double size = 0;

            for (int k = 0; k < PIXELS; k++)
                size += fabs(slope[k]) * both.size[i][k] * both.size[j][k];
            worst = fmax(worst, fabs(found[i * n + j] - truth[i * n + j]) / size);
            if (isnan(found[i * n + j])) worst = INFINITY;
        }
    return worst;
}

static const char some[] = "cell misset distance ncells fluence";

static int normal(void)
{
    const nb_scene scene = scene_named("each_factor");
    const nb_array images[] = {nb_array_f64(observed, COMPILED_SLOW, COMPILED_FAST),
                               nb_array_f64(weight, COMPILED_SLOW, COMPILED_FAST)};
    static double found[2][2][MOST * MOST];
    double gradient[2][MOST] = {{0}}, diagonal[2][MOST] = {{0}}, value[2], off = 0;
    nb_target target;

    open_both(&scene, some, NB_DOUBLE);
    target = target_of(NB_GAUSSIAN, images);
    for (int i = 0; i < 2; i++) {
        nb_normal out = {found[i][0], diagonal[i], NULL, gradient[i]};
        nb_normal squares = {.matrix = found[i][1]};

        if (nb_loss(both.sim[i], NULL, &target, &value[i], &out) != NB_OK
            || nb_jtj(both.sim[i], NULL, images + 1, NULL, &squares) != NB_OK)
            tap_check(0, "%s", nb_context_message(both.ctx[i]));
    }
    tap_close("value", value[1], value[0], 1e-12 * fabs(value[0]));
    tap_close("matrix of a loss", worst_normal(found[1][0], found[0][0], weight), 0,
              allowed_double);
    tap_close("matrix of squares", worst_normal(found[1][1], found[0][1], weight), 0,
              allowed_double);
    for (size_t i = 0; i < both.n; i++)
        off += fabs(diagonal[1][i] - found[1][0][i * (both.n + 1)]);
    tap_close("its diagonal", off, 0, 0);
    check_on_device("normal matrix");
    close_both();
    return TAP_PASS;
}

/* ---- tangents ---- */

static int jvp(void)
{
    const nb_scene scene = scene_named("list_of_sources");
    enum { N = 3 };
    static double change[2][N][PIXELS];
    static float narrow[PIXELS];
    double dx[N * MOST], worst = 0;
    nb_array image[N], third = nb_array_f32(narrow, COMPILED_SLOW, COMPILED_FAST);
    int rounded = 0;

    open_both(&scene, some, NB_DOUBLE);
    fill(dx, N * MOST, -1);
    for (size_t i = 0; i < N * both.n; i++) {
        nb_param param;

        if (nb_param_at(both.sim[0], i % both.n, &param) != NB_OK) abort();
        dx[i] /= param.scale;
    }
    for (int i = 0; i < 2; i++) {
        for (int d = 0; d < N; d++)
            image[d] = nb_array_f64(change[i][d], COMPILED_SLOW, COMPILED_FAST);
        if (nb_jvp(both.sim[i], NULL, N, dx, image) != NB_OK)
            tap_check(0, "%s", nb_context_message(both.ctx[i]));
    }
    for (int d = 0; d < N; d++)
        for (int k = 0; k < PIXELS; k++) {
            double size = 0;

            for (size_t i = 0; i < both.n; i++)
                size += fabs(dx[(size_t)d * both.n + i]) * both.size[i][k];
            if (size > 0)
                worst = fmax(worst, fabs(change[1][d][k] - change[0][d][k]) / size);
        }
    tap_close("changes", worst, 0, allowed_double);
    if (nb_jvp(both.sim[1], NULL, 1, dx + 2 * both.n, &third) != NB_OK)
        tap_check(0, "%s", nb_context_message(both.ctx[1]));
    for (int k = 0; k < PIXELS; k++) rounded += narrow[k] == (float)change[1][2][k];
    tap_check(rounded == PIXELS, "in float32: %d pixels of %d are those of float64",
              rounded, PIXELS);
    check_on_device("tangents");
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

    fill(bar, PIXELS, -1);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            if (nb_vjp(both.sim[i], NULL, 1, &image, x_bar[i]) != NB_OK)
                tap_check(0, "%s: %s", what, nb_context_message(both.ctx[i]));
    for (size_t i = 0; i < both.n; i++) same += x_bar[0][i] == x_bar[1][i];
    tap_check(same == (int)both.n, "%s: %d of %d numbers have the host's bits", what, same,
              (int)both.n);
    if (nb_describe(both.sim[1], NULL, &d) != NB_OK) abort();
    tap_check(strcmp(d.derivatives, "cpu") == 0 && strstr(d.derivatives_why, why)
                  && strcmp(d.device, "cpu") != 0,
              "%s: on %s: %s", what, d.derivatives, d.derivatives_why);
    tap_check(devices_warnings == warnings, "%s: %d warnings, expected %d: %s", what,
              devices_warnings, warnings, devices_warning);
}

static int on_host(void)
{
    nb_scene scene = scene_named("square_nearest");

    open_both(&scene, some, NB_DOUBLE);
    both.ctx[1]->env.disable_compile = 1;
    both.ctx[1]->options.compile = NB_COMPILE_OFF;
    check_on_host("without compiled mode", "compiled mode is off", 0);
    close_both();
    scene.psf.kind = NB_PSF_GAUSS;
    scene.psf.fwhm = 0.5;
    open_both(&scene, some, NB_DOUBLE);
    check_on_host("with a point spread", "point spread", 1);
    close_both();
    scene.psf.kind = NB_PSF_NONE;
    open_both(&scene, some, NB_DOUBLE);
    both.ctx[1]->nvrtc = "no such library";
    check_on_host("without NVRTC", "no such library", 1);
    close_both();
    return TAP_PASS;
}

/* a part of the questions alone stays there */
static int factors_on_host(void)
{
    const nb_scene scene = scene_named("square_nearest");
    static double change[2][PIXELS], matrix[2][MOST * MOST];
    double dx[MOST] = {0};
    int same = 0;

    open_both(&scene, "distance F[1,2,3] F[0,1,2]", NB_DOUBLE);
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
    tap_close("and a gradient on the device", worst_vjp(64), 0, allowed_double);
    tap_check(emulated.launches[GPU_F] > 0, "%d launches of F",
              (int)emulated.launches[GPU_F]);
    close_both();
    return TAP_PASS;
}

static int strict(void)
{
    nb_scene scene = scene_named("square_nearest");
    static double bar[PIXELS];
    double x_bar[MOST] = {0};
    const nb_array image = nb_array_f64(bar, COMPILED_SLOW, COMPILED_FAST);

    open_both(&scene, some, NB_DOUBLE);
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
    const nb_scene scene = scene_named("square_nearest");
    uint64_t calls;
    double worst = 0;
    int lost = 0, told = 0;

    open_both(&scene, some, NB_DOUBLE);
    calls = emulated.calls;
    worst = worst_vjp(64);
    calls = emulated.calls - calls;
    close_both();
    for (uint64_t k = 1; k <= calls; k++) {
        open_both(&scene, some, NB_DOUBLE);
        emulated.fail_at = emulated.calls + k;
        worst = fmax(worst, worst_vjp(64));
        emulated.fail_at = 0;
        lost += both.sim[1]->device.scene.gpu == NULL;
        told += devices_warnings == 1;
        close_both();
    }
    tap_close("gradients", worst, 0, allowed_double);
    tap_check(told == (int)calls && lost > 0, "%d calls, told of %d, %d lost the device",
              (int)calls, told, lost);
    return TAP_PASS;
}

/* ---- arrays on the device ---- */

static int inputs_there(void)
{
    const nb_scene scene = scene_named("square_nearest");
    static double bar[PIXELS];
    double x_bar[2][MOST] = {{0}};
    nb_array image = nb_array_f64(bar, COMPILED_SLOW, COMPILED_FAST);
    const struct gpu *gpu;
    gpu_address address;
    int same = 0;

    open_both(&scene, some, NB_DOUBLE);
    gpu = both.sim[1]->device.scene.gpu;
    fill(bar, PIXELS, -1);
    if (nb_vjp(both.sim[1], NULL, 1, &image, x_bar[0]) != NB_OK
        || gpu->driver->allocate(both.ctx[1], gpu->device, sizeof bar, &address) != NB_OK
        || gpu->driver->upload(both.ctx[1], gpu->device, address, bar, sizeof bar) != NB_OK)
        abort();
    image.data = (void *)(uintptr_t)address;
    image.device = NB_CUDA;
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
    both.ctx[1]->options.compile = NB_COMPILE_OFF;
    tap_check(nb_vjp(both.sim[1], NULL, 1, &image, x_bar[1]) == NB_ERR_UNSUPPORTED
                  && strstr(nb_context_message(both.ctx[1]), "compiled mode is off"),
              "%s", nb_context_message(both.ctx[1]));
    gpu->driver->release(gpu->device, address);
    close_both();
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case all[] = {
        {"vjp", vjp},
        {"loss", loss},
        {"no_number", no_number},
        {"normal", normal},
        {"jvp", jvp},
        {"on_host", on_host},
        {"factors_on_host", factors_on_host},
        {"strict", strict},
        {"any_call_fails", any_call_fails},
        {"inputs_there", inputs_there},
    };

    return tap_main(argc, argv, all, sizeof all / sizeof *all);
}
