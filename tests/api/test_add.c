/*
 * test_add.c - images that are added to one another: the bits of nb_forward(), derivatives
 * of a sum by finite differences, and calls that fail and add nothing; on the host and on
 * a device.
 *
 * SPDX-License-Identifier: MIT
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "device/devices.h"
#include "device/watched.h"
#include "gpu/gpu.h"
#include "simulator.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum { NFAST = 40, NSLOW = 37, PIXELS = NFAST * NSLOW };

static int stops; /* 1: the progress handler asks to stop */

static int on_progress(void *user, double fraction)
{
    (void)user;
    (void)fraction;
    return stops;
}

static nb_context *context_of(int threads)
{
    const nb_context_options options = {.threads = threads,
                                        .device = NB_DEVICE_CPU,
                                        .progress = on_progress};
    nb_context *made;

    if (nb_context_create(NB_API_VERSION, &options, &made) != NB_OK) abort();
    return made;
}

static nb_simulator *make(nb_context *ctx, const nb_scene *scene, const char *names,
                          const nb_options *options)
{
    nb_simulator *sim;

    if (nb_simulator_create(ctx, scene, names, options, &sim) == NB_OK) return sim;
    tap_note("%s", nb_context_message(ctx));
    abort();
}

static nb_status add(nb_simulator *sim, const double *x, double factor, double *photons)
{
    nb_array image =
        nb_array_f64(photons, sim->scene.detector.nslow, sim->scene.detector.nfast);

    return nb_forward_add(sim, x, factor, &image);
}

static void fill(double *a, size_t n, double value)
{
    for (size_t i = 0; i < n; i++) a[i] = value;
}

/* ---- the bits of nb_forward() ---- */

static void check_bits(const struct named_scene *named, const nb_options *how)
{
    static double expected[PIXELS], sum[PIXELS];
    static float single[PIXELS];
    nb_context *ctx = context_of(2);
    nb_simulator *sim;
    nb_array narrow = nb_array_f32(single, NSLOW, NFAST);
    size_t differ = 0, rounded = 0;

    if (nb_simulator_create(ctx, &named->scene, NULL, how, &sim) != NB_OK) {
        tap_note("%s: %s", named->name, nb_context_message(ctx));
        nb_context_free(ctx); /* a shape that a strategy does not have */
        return;
    }
    if (devices_image(sim, NULL, expected) != NB_OK) abort();
    fill(sum, PIXELS, 0);
    memset(single, 0, sizeof single);
    if (add(sim, NULL, 1, sum) != NB_OK || nb_forward_add(sim, NULL, 1, &narrow) != NB_OK)
        tap_check(0, "%s: %s", named->name, nb_context_message(ctx));
    differ = bits_differ(sum, expected, PIXELS);
    for (int i = 0; i < PIXELS; i++) rounded += single[i] != (float)expected[i];
    tap_check(differ + rounded == 0 && worst_largest(expected, PIXELS) > 0,
              "%s, strategy %d, precision %d: %zu and %zu pixels differ expected 0",
              named->name, how->strategy, how->precision, differ, rounded);
    devices_free(ctx, sim);
}

static int bits_of_forward(void)
{
    static const nb_options ways[] = {{.strategy = NB_STRATEGY_AUTO},
                                      {.strategy = NB_STRATEGY_REFERENCE},
                                      {.strategy = NB_STRATEGY_LANES},
                                      {.strategy = NB_STRATEGY_LANES,
                                       .precision = NB_PRECISION_SINGLE},
                                      {.strategy = NB_STRATEGY_SPOTS}};
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++)
        for (size_t k = 0; k < COUNT(ways); k++)
            if (ways[k].strategy != NB_STRATEGY_SPOTS
                || named.scene.crystal.shape == NB_SHAPE_GAUSS)
                check_bits(&named, ways + k);
    return TAP_PASS;
}

static int threads_same_bits(void)
{
    static double sum[3][PIXELS];
    nb_scene scene = scenes_base();
    const double x[3] = {11, -30, 70};

    for (int i = 0; i < 3; i++) {
        nb_context *ctx = context_of(i + 1);
        nb_simulator *sim = make(ctx, &scene, "misset", NULL);

        fill(sum[i], PIXELS, 0.1);
        if (add(sim, x, 0.3, sum[i]) != NB_OK || add(sim, NULL, -1.7, sum[i]) != NB_OK)
            tap_check(0, "%s", nb_context_message(ctx));
        if (i > 0)
            tap_check(bits_same(sum[i], sum[0], PIXELS), "%d threads: the same bits",
                      i + 1);
        devices_free(ctx, sim);
    }
    return TAP_PASS;
}

/* ---- sums ---- */

static void check_sum(const char *what, const nb_scene *scene, int device, double before)
{
    static double one[DEVICES_MANY], two[DEVICES_MANY], sum[DEVICES_MANY],
        expected[DEVICES_MANY];
    const size_t n = (size_t)scene->detector.nslow * (size_t)scene->detector.nfast;
    nb_context *ctx = devices_context(device);
    nb_simulator *sim = devices_make(ctx, scene, "distance fluence", NB_PRECISION_DOUBLE);
    const double x[2] = {101, 3e24};
    struct worst worst = {0};
    size_t dark = 0, kept = 0;

    if (devices_image(sim, NULL, one) != NB_OK || devices_image(sim, x, two) != NB_OK)
        tap_check(0, "%s: %s", what, nb_context_message(ctx));
    fill(sum, n, before);
    if (add(sim, NULL, 0.7, sum) != NB_OK || add(sim, x, -0.2, sum) != NB_OK)
        tap_check(0, "%s: %s", what, nb_context_message(ctx));
    for (size_t i = 0; i < n; i++) {
        const int f = (int)(i % (size_t)sim->window.nfast),
                  s = (int)(i / (size_t)sim->window.nfast);

        expected[i] = before + 0.7 * one[i] - 0.2 * two[i];
        if (window_shows(&sim->window, s, f)) continue;
        dark++;
        kept += sum[i] == before;
    }
    worst_add_all(&worst, sum, expected, n, worst_largest(expected, n));
    worst_check(&worst, 1e-15, "%s", what);
    tap_check(kept == dark, "%s: %zu pixels keep their value expected %zu", what, kept,
              dark);
    devices_free(ctx, sim);
}

static void check_sums(int device)
{
    static uint8_t mask[DEVICES_MANY];
    static const int box[8] = {3, 17, 20, 31, 40, 66, 70, 95};
    nb_scene whole = devices_many_tiles(), cut, boxes, gauss, spread;
    const int roi[4] = {13, 58, 21, 90};

    for (int i = 0; i < DEVICES_MANY; i++) mask[i] = i % 7 != 3;
    cut = boxes = gauss = spread = whole;
    memcpy(cut.detector.roi, roi, sizeof roi);
    cut.detector.mask = mask;
    boxes.detector.box = box;
    boxes.detector.nbox = 2;
    gauss.crystal.shape = NB_SHAPE_GAUSS;
    spread.detector.mask = mask;
    spread.psf.kind = NB_PSF_GAUSS;
    spread.psf.fwhm = 0.2;
    check_sum("the whole detector", &whole, device, 0);
    check_sum("region and mask", &cut, device, 2);
    check_sum("boxes", &boxes, device, 0.1);
    check_sum("a gaussian crystal", &gauss, device, 1);
#ifdef NANOBRAG_FFTW
    check_sum("point spread and mask", &spread, device, 1);
#endif
}

static int sums(void)
{
    check_sums(NB_DEVICE_CPU);
    return TAP_PASS;
}

/* what lies between the pixels of a view is left alone */
static int strides(void)
{
    enum { ROOM = 2 * (NFAST + 3) * NSLOW };
    static double plain[PIXELS];
    static float narrow[ROOM];
    static const int64_t stride[][2] = {{NFAST + 3, 1}, {2 * (NFAST + 3), 2}, {1, NSLOW}};
    nb_scene scene = scenes_base();
    nb_context *ctx = context_of(2);
    nb_simulator *sim = make(ctx, &scene, NULL, NULL);

    if (devices_image(sim, NULL, plain) != NB_OK) abort();
    for (size_t i = 0; i < COUNT(stride); i++) {
        nb_array view = nb_array_f32(narrow, NSLOW, NFAST);
        int wrong = 0, touched = 0;

        memcpy(view.stride, stride[i], sizeof stride[i]);
        for (int k = 0; k < ROOM; k++) narrow[k] = -1;
        if (nb_forward_add(sim, NULL, 2, &view) != NB_OK) abort();
        for (int s = 0; s < NSLOW; s++)
            for (int f = 0; f < NFAST; f++)
                wrong += narrow[s * stride[i][0] + f * stride[i][1]]
                         != (float)(-1 + 2 * plain[NFAST * s + f]);
        for (int k = 0; k < ROOM; k++) touched += narrow[k] != -1;
        tap_check(wrong == 0 && touched > 0 && touched <= PIXELS,
                  "strides %d %d: %d pixels differ expected 0, %d elements written",
                  (int)stride[i][0], (int)stride[i][1], wrong, touched);
    }
    devices_free(ctx, sim);
    return TAP_PASS;
}

/* ---- derivatives ---- */

enum { TERMS = 2, NPARAM = 3 };

/* L = sum of weight x (2 + f0 I(x0) + f1 I(x1))^2/2 of x = f0, f1, and the parameters of
 * both images; the sum is left in `image` */
static double loss_of_sum(nb_simulator *sim, const double *weight, const double *of,
                          double *image)
{
    double sum = 0;

    fill(image, PIXELS, 2);
    for (int t = 0; t < TERMS; t++)
        if (add(sim, of + TERMS + t * NPARAM, of[t], image) != NB_OK) abort();
    for (int i = 0; i < PIXELS; i++) sum += weight[i] * image[i] * image[i] / 2;
    return sum;
}

/* a derivative by two central differences, whose error falls with the fourth power of the
 * step */
static double difference(nb_simulator *sim, const double *weight, const double *of, int i,
                         double step)
{
    static double image[PIXELS];
    double slope[2], at[TERMS * (1 + NPARAM)];

    for (int k = 0; k < 2; k++) {
        const double by = step / (1 + k);

        memcpy(at, of, sizeof at);
        at[i] = of[i] + by;
        slope[k] = loss_of_sum(sim, weight, at, image);
        at[i] = of[i] - by;
        slope[k] = (slope[k] - loss_of_sum(sim, weight, at, image)) / (2 * by);
    }
    return (4 * slope[1] - slope[0]) / 3;
}

/* dL/df by the inner product with an image, dL/dx by a scaled cotangent, as the header says
 */
static void gradient_of_sum(nb_simulator *sim, const double *weight, const double *of,
                            double *gradient)
{
    static double image[PIXELS], bar[PIXELS], scaled[PIXELS], photons[PIXELS];
    nb_array cotangent = nb_array_f64(scaled, NSLOW, NFAST);

    (void)loss_of_sum(sim, weight, of, image);
    for (int i = 0; i < PIXELS; i++) bar[i] = weight[i] * image[i];
    fill(gradient, TERMS * (1 + NPARAM), 0);
    for (int t = 0; t < TERMS; t++) {
        const double *x = of + TERMS + t * NPARAM;

        if (devices_image(sim, x, photons) != NB_OK) abort();
        for (int i = 0; i < PIXELS; i++) {
            gradient[t] += bar[i] * photons[i];
            scaled[i] = of[t] * bar[i];
        }
        if (nb_vjp(sim, x, 1, &cotangent, gradient + TERMS + t * NPARAM) != NB_OK) abort();
    }
}

static void check_derivatives(const char *what, const nb_scene *scene,
                              const nb_options *how)
{
    static double weight[PIXELS];
    nb_context *ctx = context_of(2);
    nb_simulator *sim = make(ctx, scene, "cell_a distance fluence", how);
    double of[TERMS * (1 + NPARAM)] = {0.7, 0.4}, scale[TERMS * (1 + NPARAM)] = {1, 1},
                           found[TERMS * (1 + NPARAM)];
    struct worst worst = {0};

    for (int i = 0; i < PIXELS; i++) weight[i] = 1 + 0.3 * (i % 5);
    for (int t = 0; t < TERMS; t++)
        for (int i = 0; i < NPARAM; i++) {
            nb_param p;

            if (nb_simulator_param(sim, (size_t)i, &p) != NB_OK) abort();
            scale[TERMS + t * NPARAM + i] = p.scale;
            of[TERMS + t * NPARAM + i] = p.value + 1e-3 * t * p.scale;
        }
    gradient_of_sum(sim, weight, of, found);
    for (int i = 0; i < TERMS * (1 + NPARAM); i++) {
        const double expected = difference(sim, weight, of, i, 1e-4 * scale[i]);

        worst_add(&worst, found[i], expected, fabs(expected));
    }
    worst_check(&worst, 1e-6, "%s: gradient of a sum against differences", what);
    devices_free(ctx, sim);
}

static int derivatives(void)
{
    nb_scene scene = scenes_base();

    scene.crystal.shape = NB_SHAPE_GAUSS;
    check_derivatives("lanes", &scene, &(nb_options){.strategy = NB_STRATEGY_LANES});
    check_derivatives("spots", &scene,
                      &(nb_options){.strategy = NB_STRATEGY_SPOTS, .tolerance = 1e-13});
    check_derivatives("reference", &scene,
                      &(nb_options){.strategy = NB_STRATEGY_REFERENCE});
#ifdef NANOBRAG_FFTW
    scene.psf.kind = NB_PSF_GAUSS;
    scene.psf.fwhm = 0.2;
    check_derivatives("a point spread", &scene,
                      &(nb_options){.strategy = NB_STRATEGY_LANES});
#endif
    return TAP_PASS;
}

/* ---- calls that add nothing ---- */

static void check_failure(const char *what, nb_status status, nb_status expected,
                          const double *image)
{
    size_t changed = 0;

    for (int i = 0; i < PIXELS; i++) changed += image[i] != 7;
    tap_check(status == expected && changed == 0,
              "%s: status %d expected %d, %zu pixels changed expected 0", what, (int)status,
              (int)expected, changed);
}

static int failures(void)
{
    static double image[PIXELS];
    nb_scene scene = scenes_base();
    nb_context *ctx = context_of(2);
    nb_simulator *sim = make(ctx, &scene, "distance", NULL);
    nb_array array = nb_array_f64(image, NSLOW, NFAST),
             few = nb_array_f64(image, NSLOW, NFAST - 1), donated = array,
             counts = nb_array_i32((int32_t *)(void *)image, NSLOW, NFAST);
    const double outside = -5;

    fill(image, PIXELS, 7);
    donated.flags = NB_DONATED;
    check_failure("no simulator", nb_forward_add(NULL, NULL, 1, &array), NB_ERR_ARGUMENT,
                  image);
    check_failure("no image", nb_forward_add(sim, NULL, 1, NULL), NB_ERR_ARGUMENT, image);
    check_failure("NaN times", nb_forward_add(sim, NULL, NAN, &array), NB_ERR_ARGUMENT,
                  image);
    check_failure("an infinite factor", nb_forward_add(sim, NULL, -INFINITY, &array),
                  NB_ERR_ARGUMENT, image);
    tap_check(strstr(nb_context_message(ctx), "factor") != NULL, "'%s'",
              nb_context_message(ctx));
    check_failure("a distance below 0", nb_forward_add(sim, &outside, 1, &array),
                  NB_ERR_ARGUMENT, image);
    check_failure("a column too few", nb_forward_add(sim, NULL, 1, &few), NB_ERR_SHAPE,
                  image);
    check_failure("counts", nb_forward_add(sim, NULL, 1, &counts), NB_ERR_SHAPE, image);
    check_failure("donated", nb_forward_add(sim, NULL, 1, &donated), NB_ERR_DONATED, image);
    stops = 1;
    check_failure("cancelled", nb_forward_add(sim, NULL, 1, &array), NB_ERR_CANCELLED,
                  image);
    stops = 0;
    tap_check(nb_forward_add(sim, NULL, 1, &array) == NB_OK && image[PIXELS / 2] != 7,
              "the next call adds");
    devices_free(ctx, sim);
    return TAP_PASS;
}

/* ---- on a device ---- */

static int sums_by_a_device(void)
{
    if (!devices_found()) return TAP_SKIP;
    watched_reset();
    check_sums(NB_DEVICE_CUDA);
    tap_check(devices_balanced(), "all memory was given back");
    return TAP_PASS;
}

/* adds to an image on the device, and reads it back; 7 before */
static nb_status add_there(nb_simulator *sim, int bits, int step, double *out)
{
    static double workspace[2 * DEVICES_MANY];
    const nb_scene *scene = &sim->scene;
    const struct gpu gpu = *sim->device.scene.gpu;
    const size_t n = (size_t)scene->detector.nslow * (size_t)scene->detector.nfast;
    nb_array image = nb_array_f64(NULL, scene->detector.nslow, scene->detector.nfast);
    const uint64_t fails = watched.fail_at;
    gpu_address address;
    nb_status status;

    for (size_t i = 0; i < n; i++)
        if (bits == 32)
            ((float *)(void *)workspace)[i] = 7;
        else
            workspace[i] = 7;
    watched.fail_at = 0;
    if (gpu.driver->allocate(sim->ctx, gpu.device, sizeof workspace, &address) != NB_OK
        || gpu.driver->upload(sim->ctx, gpu.device, address, workspace, sizeof workspace)
               != NB_OK
        || gpu.driver->wait(sim->ctx, gpu.device) != NB_OK)
        abort();
    watched.fail_at = fails > 0 ? watched.calls + fails : 0;
    image.data = (void *)(uintptr_t)address;
    image.device = NB_DEVICE_CUDA;
    image.bits = bits;
    image.stride[0] = step > 1 ? step * scene->detector.nfast : 0;
    image.stride[1] = step > 1 ? step : 0;
    status = nb_forward_add(sim, NULL, 0.5, &image);
    watched.fail_at = 0;
    if (gpu.driver->download(sim->ctx, gpu.device, workspace, address, sizeof workspace)
            != NB_OK
        || gpu.driver->wait(sim->ctx, gpu.device) != NB_OK)
        abort();
    gpu.driver->release(gpu.device, address); /* also of a device that was lost */
    for (size_t i = 0; i < n; i++)
        out[i] = bits == 32 ? (double)((float *)(void *)workspace)[i] : workspace[i];
    return status;
}

static int images_on_a_device(void)
{
    static double host[DEVICES_MANY], there[DEVICES_MANY];
    const nb_scene scene = devices_many_tiles();
    nb_context *ctx;
    nb_simulator *sim;

    if (!devices_found()) return TAP_SKIP;
    watched_reset();
    sim = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
    if (devices_image(sim, NULL, host) != NB_OK) abort();
    for (int bits = 32; bits <= 64; bits += 32) {
        size_t wrong = 0;
        const nb_status status = add_there(sim, bits, 1, there);

        for (int i = 0; i < DEVICES_MANY; i++) {
            const double sum = 7 + 0.5 * host[i];

            wrong += there[i] != (bits == 32 ? (double)(float)sum : sum);
        }
        tap_check(status == NB_OK && wrong == 0, "float%d: %zu pixels differ expected 0",
                  bits, wrong);
    }
    tap_check(add_there(sim, 64, 2, there) == NB_ERR_SHAPE && there[0] == 7, "a view: '%s'",
              nb_context_message(ctx));
    devices_close(ctx, sim);
    return TAP_PASS;
}

/* Whatever call of the driver fails, a host image gets the sum once, and one on the device
 * gets it once or not at all. */
static int any_call_fails(void)
{
    static double host[PIXELS], image[PIXELS];
    const nb_scene scene = scenes_base();
    struct worst worst = {0};
    int failed = 1, n = 0, errors = 0;

    if (!devices_found()) return TAP_SKIP;
    watched_reset();
    devices_render(&scene, NB_DEVICE_CPU, NB_PRECISION_DOUBLE, host);
    for (int i = 0; i < PIXELS; i++) host[i] = 7 + 0.5 * host[i];
    while (failed) {
        nb_context *ctx;
        nb_simulator *sim;

        watched_reset();
        sim = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
        fill(image, PIXELS, 7);
        watched.fail_at = watched.calls + (uint64_t)++n;
        if (add(sim, NULL, 0.5, image) != NB_OK) worst_fail(&worst);
        failed = watched.calls >= watched.fail_at;
        worst_add_all(&worst, image, host, PIXELS, worst_largest(host, PIXELS));
        devices_free(ctx, sim);
    }
    tap_check(n > 4, "%d calls were made to fail", n - 1);
    worst_check(&worst, 1e-12, "a host image");
    for (int k = 1; k <= n + 4; k++) {
        nb_context *ctx;
        nb_simulator *sim;
        nb_status status;
        struct worst kept = {0};

        watched_reset();
        sim = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
        watched.fail_at = (uint64_t)k;
        status = add_there(sim, 64, 1, image);
        errors += status != NB_OK;
        for (int i = 0; i < PIXELS; i++) /* the last call to fail comes after the sum */
            worst_add(&kept, image[i], status != NB_OK && image[i] == 7 ? 7 : host[i],
                      worst_largest(host, PIXELS));
        worst_join(&worst, &kept);
        if (status != NB_OK && status != NB_ERR_DEVICE) worst_fail(&worst);
        devices_free(ctx, sim);
    }
    tap_check(errors > 2, "%d calls with an image on the device failed", errors);
    worst_check(&worst, 1e-12, "an image on the device");
    watched_reset();
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"bits_of_forward", bits_of_forward},
                                            {"threads_same_bits", threads_same_bits},
                                            {"sums", sums},
                                            {"strides", strides},
                                            {"derivatives", derivatives},
                                            {"failures", failures},
                                            {"sums_by_a_device", sums_by_a_device},
                                            {"images_on_a_device", images_on_a_device},
                                            {"any_call_fails", any_call_fails}};

    return tap_main(argc, argv, cases, COUNT(cases));
}
