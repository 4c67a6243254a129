/*
 * test_device_arrays.c - images that are written to memory of the device that computes
 * them, of every type and with strides, and arrays that are refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "device/devices.h"
#include "device/watched.h"
#include "gpu/gpu.h"
#include "simulator.h"
#include "support/compiled.h"
#include "support/scenes.h"
#include "support/tap.h"

enum { PIXELS = COMPILED_PIXELS };

enum { ROOM = 3 * DEVICES_MANY };

/* an image of a type and strides that the device writes, read back: `rows` elements from
 * one row to the next */
static nb_status into_device(nb_simulator *sim, int bits, int rows, int step, double *out)
{
    static double workspace[ROOM];
    const nb_scene *scene = &sim->scene;
    const struct gpu *gpu = sim->device.scene.gpu;
    nb_array image = nb_array_f64(NULL, scene->detector.nslow, scene->detector.nfast);
    gpu_address address;
    nb_status status;

    for (int i = 0; i < ROOM; i++) workspace[i] = -7;
    if (gpu->driver->allocate(sim->ctx, gpu->device, sizeof workspace, &address) != NB_OK
        || gpu->driver->upload(sim->ctx, gpu->device, address, workspace, sizeof workspace)
               != NB_OK)
        abort();
    image.data = (void *)(uintptr_t)address;
    image.device = NB_DEVICE_CUDA;
    image.bits = bits;
    image.stride[0] = rows;
    image.stride[1] = step;
    status = nb_forward(sim, NULL, &image);
    if (gpu->driver->download(sim->ctx, gpu->device, workspace, address, sizeof workspace)
            != NB_OK
        || gpu->driver->wait(sim->ctx, gpu->device) != NB_OK)
        abort();
    gpu->driver->release(gpu->device, address);
    for (int s = 0; s < scene->detector.nslow; s++)
        for (int f = 0; f < scene->detector.nfast; f++) {
            const int at = rows > 0 ? s * rows + f * step : s * scene->detector.nfast + f;

            out[s * scene->detector.nfast + f] =
                bits == 32 ? (double)((const float *)(const void *)workspace)[at]
                           : workspace[at];
        }
    return status;
}

static void check_output(const char *what, nb_simulator *sim, int bits, int rows, int step)
{
    static double host[DEVICES_MANY], device[DEVICES_MANY];
    int wrong = 0;

    if (devices_image(sim, NULL, host) != NB_OK
        || into_device(sim, bits, rows, step, device) != NB_OK) {
        tap_check(0, "%s: %s", what, nb_context_message(sim->ctx));
        return;
    }
    for (int i = 0; i < DEVICES_MANY; i++)
        wrong += device[i] != (bits == 32 ? (double)(float)host[i] : host[i]);
    tap_check(wrong == 0, "%s: %d pixels differ from the image on the host", what, wrong);
}

static int device_arrays(void)
{
    static uint8_t mask[DEVICES_MANY];
    nb_scene scene = devices_many_tiles();
    const int roi[4] = {13, 58, 21, 90};
    nb_context *ctx;

    for (int i = 0; i < DEVICES_MANY; i++) mask[i] = i % 7 != 3;
    watched_reset();
    ctx = devices_context(NB_DEVICE_CUDA);
    for (int i = 0; i < 4; i++) {
        nb_simulator *sim;

        scene.crystal.shape = i == 3 ? NB_SHAPE_GAUSS : NB_SHAPE_SQUARE;
        memcpy(scene.detector.roi, roi, sizeof roi);
        scene.detector.mask = mask;
        if (i == 0) memset(scene.detector.roi, 0, sizeof roi);
        if (i == 0) scene.detector.mask = NULL;
        sim = devices_make(ctx, &scene, "",
                           i < 2 ? NB_PRECISION_DOUBLE : NB_PRECISION_SINGLE);
        check_output("float64", sim, 64, 0, 0);
        check_output("float32", sim, 32, 0, 0);
        check_output("float64, strides", sim, 64, 2 * 70 + 1, 2);
        check_output("float32, strides", sim, 32, 2 * 70 + 1, 2);
        nb_simulator_free(sim);
    }
    nb_context_free(ctx);
    tap_check(devices_balanced(), "all memory was given back");
    return TAP_PASS;
}

/* a small region costs its own tiles; all else is 0 */
static int small_region(void)
{
    static double image[DEVICES_MANY];
    const int roi[4] = {37, 43, 50, 58};
    nb_scene scene = devices_many_tiles();
    nb_context *ctx;
    nb_simulator *sim;
    int lit = 0, outside = 0;

    memcpy(scene.detector.roi, roi, sizeof roi);
    watched_reset();
    sim = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
    if (into_device(sim, 64, 0, 0, image) != NB_OK) abort();
    for (int i = 0; i < DEVICES_MANY; i++) {
        const int f = i % scene.detector.nfast, s = i / scene.detector.nfast;
        const int inside = f >= roi[0] && f < roi[1] && s >= roi[2] && s < roi[3];

        lit += inside && image[i] > 0;
        outside += !inside && image[i] != 0;
    }
    tap_check(lit > 0 && outside == 0, "%d pixels lit, %d outside not 0", lit, outside);
    tap_check(watched.blocks[GPU_IMAGE] == 2, "%d tiles summed, expected 2 of 65",
              (int)watched.blocks[GPU_IMAGE]);
    devices_free(ctx, sim);
    watched_reset();
    return TAP_PASS;
}

static void check_refusal(const char *what, int device, const nb_scene *scene,
                          const nb_array *image, nb_status expected, const char *words)
{
    nb_context *ctx = devices_context(device);
    nb_simulator *sim = devices_make(ctx, scene, "", NB_PRECISION_DOUBLE);
    nb_array copy = *image;
    const nb_status status = nb_forward(sim, NULL, &copy);

    tap_check(status == expected && strstr(nb_context_message(ctx), words), "%s: %s", what,
              nb_context_message(ctx));
    devices_free(ctx, sim);
}

static int device_refusals(void)
{
    static double workspace[PIXELS];
    nb_scene scene = scenes_base(), spread = scenes_base();
    nb_array image = nb_array_f64(workspace, scene.detector.nslow, scene.detector.nfast);
    nb_array other, missing, counts, given;
    nb_context *ctx = devices_context(NB_DEVICE_CUDA);
    nb_simulator *sim;

    watched_reset();
    sim = devices_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
    image = devices_array(sim, image, workspace, sizeof workspace);
    other = missing = counts = given = image;
    other.device_id = 1;
    missing.data = NULL;
    counts.type = NB_TYPE_UINT;
    given.flags = NB_DONATED;
    spread.psf.kind = NB_PSF_GAUSS;
    spread.psf.fwhm = 0.2;
    check_refusal("on the host", NB_DEVICE_CPU, &scene, &image, NB_ERR_SHAPE,
                  "images are made on the cpu");
    check_refusal("another device", NB_DEVICE_CUDA, &scene, &other, NB_ERR_SHAPE,
                  "expected 0");
    check_refusal("no memory", NB_DEVICE_CUDA, &scene, &missing, NB_ERR_ARGUMENT,
                  "no array");
    check_refusal("counts", NB_DEVICE_CUDA, &scene, &counts, NB_ERR_SHAPE,
                  "expected float");
    check_refusal("given away", NB_DEVICE_CUDA, &scene, &given, NB_ERR_DONATED, "donated");
#ifdef NANOBRAG_FFTW
    check_refusal("a point spread", NB_DEVICE_CUDA, &spread, &image, NB_ERR_UNSUPPORTED,
                  "point spread");
#endif
    watched.of_host = image.data;
    check_refusal("memory of the host", NB_DEVICE_CUDA, &scene, &image, NB_ERR_SHAPE,
                  "image is said to lie on CUDA device 0, but its address is not");
    watched.of_host = NULL;
    watched.fail_at = watched.calls + 7;
    check_refusal("a device that fails", NB_DEVICE_CUDA, &scene, &image, NB_ERR_DEVICE,
                  "error 999");
    devices_give_back(sim, &image, workspace, sizeof workspace);
    devices_close(ctx, sim);
    watched_reset();
    return TAP_PASS;
}

/* a call's work is in this stream alone */
static void check_stream(const char *what, nb_simulator *sim, double *image, void *expected)
{
    const nb_scene *scene = &sim->scene;
    const nb_array here = nb_array_f64(image, scene->detector.nslow, scene->detector.nfast);
    nb_array on_device = devices_array(sim, here, image, PIXELS * sizeof *image);
    int others = 0;

    for (int there = 0; there < 2; there++) {
        nb_array to = there ? on_device : here;

        memset(watched.seen, 0xff, sizeof watched.seen);
        if (nb_forward(sim, NULL, &to) != NB_OK) abort();
        for (int i = 0; i < 4; i++)
            others += watched.seen[i] != expected && !(there && i == 1);
        tap_check(others == 0,
                  "%s, image on the %s: %d of copies, launches, waits in others", what,
                  there ? "device" : "host", others);
    }
    devices_give_back(sim, &on_device, image, PIXELS * sizeof *image);
}

/* simulators share the device, each has its stream */
static int streams(void)
{
    static double image[PIXELS];
    static char first, second, foreign;
    const nb_scene scene = scenes_base();
    nb_context *ctx, *host = devices_context(NB_DEVICE_CPU);
    nb_simulator *a, *b, *c = devices_make(host, &scene, "", NB_PRECISION_DOUBLE);
    nb_status status;

    watched_reset();
    watched.foreign = &foreign;
    a = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
    b = devices_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
    check_stream("at first", a, image, NULL);
    tap_check(nb_simulator_set_stream(a, &first) == NB_OK
                  && nb_simulator_set_stream(b, &second) == NB_OK,
              "set: %s", nb_context_message(ctx));
    for (int i = 0; i < 2; i++) {
        check_stream("the first simulator", a, image, &first);
        check_stream("the second", b, image, &second);
    }
    status = nb_simulator_set_stream(a, &foreign);
    tap_check(status == NB_ERR_ARGUMENT && strstr(nb_context_message(ctx), "stream"),
              "one of another context: %s", nb_context_message(ctx));
    check_stream("the one before stays", a, image, &first);
    tap_check(nb_simulator_set_stream(a, NULL) == NB_OK, "%s", nb_context_message(ctx));
    check_stream("the device's again", a, image, NULL);
    tap_check(nb_simulator_set_stream(c, &first) == NB_OK
                  && devices_image(c, NULL, image) == NB_OK,
              "on the host without effect");
    tap_check(nb_simulator_set_stream(NULL, NULL) == NB_ERR_ARGUMENT, "no simulator");
    nb_simulator_free(a);
    nb_simulator_free(b);
    devices_free(ctx, c);
    nb_context_free(host);
    tap_check(devices_balanced(), "all memory was given back");
    watched_reset();
    return TAP_PASS;
}

static const struct tap_case cases[] = {
    {"written", device_arrays},
    {"small_region", small_region},
    {"refused", device_refusals},
    {"streams", streams},
};

int main(int argc, char **argv)
{
    compiled_environment();
    unsetenv("NANOBRAG_DEVICE");
    return devices_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
