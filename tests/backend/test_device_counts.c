/*
 * test_device_counts.c - counts made on a watched device have the bits of the host's,
 * from images of any type and strides; and requests that are refused or that the host takes
 * over.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "device/devices.h"
#include "device/watched.h"
#include "gpu/count.h"
#include "simulator.h"
#include "support/compiled.h"
#include "support/scenes.h"
#include "support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* of the small image, which is not worth sending, and of one that is */
enum { NSLOW = 61, NFAST = 45, PIXELS = NSLOW * NFAST, LARGE = 400, ROOM = 3 * PIXELS };

/* ---- images ---- */

/* expected photons over the whole range: from 1e-3 to 1e12, and what is no mean at all */
static void fill(int n, double *photons)
{
    static const double others[] = {0,    -0.0,  -3,    NAN, INFINITY, 1e15,  9e18,
                                    1e19, 1e300, 65535, 30,  1e9,      5e-324};

    for (int i = 0; i < n; i++) photons[i] = pow(10, -3 + 15.0 * (i * 7919 % n) / n);
    for (size_t i = 0; i < COUNT(others); i++) photons[11 * i + 5] = others[i];
}

/* the same, with whole sums below 2^53 */
static void fill_plain(int n, double *photons)
{
    for (int i = 0; i < n; i++) photons[i] = pow(10, -3 + 10.0 * (i * 7919 % n) / n);
}

/* of the counts: 16 or 32 */
static int count_bits = 16;

static nb_array counts_over(void *data, int nslow, int nfast)
{
    return count_bits == 32 ? nb_array_i32(data, nslow, nfast)
                            : nb_array_u16(data, nslow, nfast);
}

static int32_t count_at(const void *data, int i)
{
    return count_bits == 32 ? ((const int32_t *)data)[i] : ((const uint16_t *)data)[i];
}

struct drawn {
    int32_t counts[LARGE * LARGE];
    double photons;
    int64_t overloads;
};

static int same(const struct drawn *a, const struct drawn *b, int n)
{
    return memcmp(a->counts, b->counts, (size_t)n * sizeof *a->counts) == 0
           && memcmp((const char *)&a->photons, (const char *)&b->photons,
                     sizeof a->photons)
                  == 0
           && a->overloads == b->overloads;
}

/* with arrays of the host */
static nb_status draw(nb_simulator *sim, const nb_digitizer *how, const double *photons,
                      int bits, struct drawn *out)
{
    static double workspace[LARGE * LARGE];
    static int32_t counted[LARGE * LARGE];
    const int nslow = sim->window.nslow, nfast = sim->window.nfast;
    nb_array image = bits == 32 ? nb_array_f32((float *)(void *)workspace, nslow, nfast)
                                : nb_array_f64(workspace, nslow, nfast);
    nb_array counts = counts_over(counted, nslow, nfast);
    nb_digitizer with = *how;
    nb_status status;

    for (int i = 0; i < nslow * nfast; i++)
        if (bits == 32)
            ((float *)(void *)workspace)[i] = (float)photons[i];
        else
            workspace[i] = photons[i];
    with.photons = &out->photons;
    with.overloads = &out->overloads;
    memset(counted, 0xa5, sizeof counted);
    status = nb_digitize(sim, &with, &image, &counts);
    for (int i = 0; i < nslow * nfast; i++) out->counts[i] = count_at(counted, i);
    return status;
}

/* ---- arrays on the device ---- */

/* from one element of a row and from one row to the next */
struct strides {
    int image[2], counts[2]; /* slow, fast; 0: dense */
};

/* an array on the device with these bytes in it */
static nb_array on_device(nb_simulator *sim, nb_array array, const int stride[2],
                          const void *bytes, size_t n)
{
    array.stride[0] = stride[0];
    array.stride[1] = stride[1];
    return devices_array(sim, array, bytes, n);
}

static int place(const int stride[2], int i)
{
    const int s = i / NFAST, f = i % NFAST;

    return stride[0] == 0 ? i : s * stride[0] + f * stride[1];
}

/* The same with arrays on the device. What lies between the counts stays. */
static nb_status draw_there(nb_simulator *sim, const nb_digitizer *how,
                            const double *photons, int bits, const struct strides *strides,
                            struct drawn *out)
{
    static double workspace[ROOM];
    static int32_t counted[ROOM];
    nb_array image = nb_array_f64(workspace, NSLOW, NFAST);
    nb_array counts = counts_over(counted, NSLOW, NFAST);
    nb_digitizer with = *how;
    nb_status status;
    int touched = 0;

    image.bits = bits;
    for (int i = 0; i < PIXELS; i++) {
        const int at = place(strides->image, i);

        if (bits == 32)
            ((float *)(void *)workspace)[at] = (float)photons[i];
        else
            workspace[at] = photons[i];
    }
    memset(counted, 0xa5, sizeof counted);
    image = on_device(sim, image, strides->image, workspace, sizeof workspace);
    counts = on_device(sim, counts, strides->counts, counted, sizeof counted);
    with.photons = &out->photons;
    with.overloads = &out->overloads;
    status = nb_digitize(sim, &with, &image, &counts);
    watched.fail_at = 0; /* nor do the test's own calls */
    devices_give_back(sim, &image, workspace, sizeof workspace);
    devices_give_back(sim, &counts, counted, sizeof counted);
    for (int i = 0; i < PIXELS; i++) {
        const int at = place(strides->counts, i);

        out->counts[i] = count_at(counted, at);
        memset((char *)counted + (ptrdiff_t)at * (count_bits / 8), 0xa5,
               (size_t)count_bits / 8);
    }
    for (int i = 0; i < ROOM; i++) touched += (count_at(counted, i) & 0xffff) != 0xa5a5;
    tap_check(touched == 0, "%d counts outside of the array were written", touched);
    return status;
}

static nb_scene scene_of(int nslow, int nfast, int part)
{
    static const int roi[4] = {7, 41, 3, 58};
    static uint8_t mask[PIXELS];
    nb_scene scene = scenes_base();

    scene.detector.nslow = nslow;
    scene.detector.nfast = nfast;
    for (int i = 0; i < PIXELS; i++) mask[i] = i % 5 != 2;
    if (part & 1) memcpy(scene.detector.roi, roi, sizeof roi);
    if (part & 2) scene.detector.mask = mask;
    return scene;
}

static void check_there(const char *what, nb_simulator *host, nb_simulator *device,
                        const nb_digitizer *how, const double *photons)
{
    static const struct strides strides[] = {{{0, 0}, {0, 0}},
                                             {{2 * NFAST + 1, 2}, {NFAST + 3, 1}},
                                             {{NFAST, 1}, {2 * NFAST, 2}}};
    static struct drawn here, there;

    for (int bits = 32; bits <= 64; bits += 32)
        for (size_t i = 0; i < COUNT(strides); i++) {
            const uint64_t before = watched.launches[GPU_COUNT];
            const int done =
                draw(host, how, photons, bits, &here) == NB_OK
                && draw_there(device, how, photons, bits, strides + i, &there) == NB_OK;

            tap_check(done && same(&here, &there, PIXELS)
                          && watched.launches[GPU_COUNT] == before + 1,
                      "%s, float%d, counts of %d bits, strides %zu: %.17g photons expected "
                      "%.17g, %lld "
                      "overloads expected %lld%s%s",
                      what, bits, count_bits, i, there.photons, here.photons,
                      (long long)there.overloads, (long long)here.overloads,
                      done ? "" : ": ", done ? "" : nb_context_message(device->ctx));
        }
}

/* every way of counting, on a scene's window */
static void check_window(int part)
{
    static const nb_digitizer ways[] = {
        {.noise = 1, .seed = 1},
        {.noise = 1, .seed = -3, .image = 77, .offset = 40},
        {.noise = 1, .seed = INT64_MIN, .image = UINT32_MAX, .offset = -2.5},
        {.noise = 1, .seed = 1LL << 40, .offset = 65000.75},
        {.scale = 1},
        {.scale = 0.25, .offset = 40},
        {.scale = 1e-9, .offset = -0.5},
        {.offset = 10}, /* automatic scale */
    };
    const nb_scene scene = scene_of(NSLOW, NFAST, part);
    nb_context *cpu = devices_context(NB_DEVICE_CPU),
               *gpu = devices_context(NB_DEVICE_CUDA);
    nb_simulator *host = devices_make(cpu, &scene, "", NB_PRECISION_DOUBLE);
    nb_simulator *device = devices_make(gpu, &scene, "", NB_PRECISION_DOUBLE);
    static double photons[PIXELS], plain[PIXELS];
    char what[64];

    fill(PIXELS, photons);
    fill_plain(PIXELS, plain);
    for (size_t i = 0; i < COUNT(ways); i++) {
        (void)snprintf(what, sizeof what, "%s%s, way %zu", part & 1 ? "ROI" : "all",
                       part & 2 ? ", mask" : "", i);
        check_there(what, host, device, ways + i, photons);
        check_there(what, host, device, ways + i, plain);
    }
    nb_simulator_free(host);
    devices_free(cpu, device);
    nb_context_free(gpu);
}

static int same_bits(void)
{
    watched_reset();
    for (count_bits = 16; count_bits <= 32; count_bits += 16)
        for (int part = 0; part < 4; part++) check_window(part);
    count_bits = 16;
    tap_check(devices_balanced(), "all memory was given back");
    watched_reset();
    return TAP_PASS;
}

/* an image with nothing in it has a scale too */
static int nothing_bright(void)
{
    static const double values[] = {0, -1, NAN};
    const nb_scene scene = scene_of(NSLOW, NFAST, 0);
    const nb_digitizer how = {.offset = 3};
    nb_context *cpu, *gpu;
    nb_simulator *host, *device;
    static double photons[PIXELS];

    watched_reset();
    cpu = devices_context(NB_DEVICE_CPU);
    gpu = devices_context(NB_DEVICE_CUDA);
    host = devices_make(cpu, &scene, "", NB_PRECISION_DOUBLE);
    device = devices_make(gpu, &scene, "", NB_PRECISION_DOUBLE);
    for (size_t i = 0; i < COUNT(values); i++) {
        for (int k = 0; k < PIXELS; k++) photons[k] = values[i];
        check_there("nothing bright", host, device, &how, photons);
    }
    nb_simulator_free(host);
    devices_free(cpu, device);
    nb_context_free(gpu);
    return TAP_PASS;
}

/* ---- arrays of the host that are sent there ---- */

static double large[LARGE * LARGE];

/* counts of the large image, of type float`bits`, by a context */
static void draw_large(int device, const nb_digitizer *how, int bits, struct drawn *out,
                       uint64_t *launches)
{
    const nb_scene scene = scene_of(LARGE, LARGE, 0);
    nb_context *ctx = devices_context(device);
    nb_simulator *sim = devices_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
    const uint64_t before = watched.launches[GPU_COUNT];
    const nb_status status = draw(sim, how, large, bits, out);

    if (status != NB_OK) tap_check(0, "%s", nb_context_message(ctx));
    *launches = watched.launches[GPU_COUNT] - before;
    devices_free(ctx, sim);
}

static int sent_there(void)
{
    static struct drawn host, device;
    const nb_digitizer how = {.noise = 1, .seed = 5, .offset = 10}, rounded = {.scale = 1};
    uint64_t launches, none;

    watched_reset();
    fill(LARGE * LARGE, large);
    for (int way = 0; way < 4; way++) {
        const int bits = way & 1 ? 64 : 32;

        count_bits = way & 2 ? 32 : 16;
        draw_large(NB_DEVICE_CPU, &how, bits, &host, &none);
        draw_large(NB_DEVICE_CUDA, &how, bits, &device, &launches);
        tap_check(same(&host, &device, LARGE * LARGE) && launches == 1 && none == 0,
                  "float%d: the same counts of %d bits, %llu launches expected 1", bits,
                  count_bits, (unsigned long long)launches);
    }
    count_bits = 16;
    draw_large(NB_DEVICE_CPU, &rounded, 64, &host, &none);
    draw_large(NB_DEVICE_CUDA, &rounded, 64, &device, &launches);
    tap_check(same(&host, &device, LARGE * LARGE) && launches == 0,
              "without noise they are not sent: %llu launches",
              (unsigned long long)launches);
    tap_check(devices_balanced(), "all memory was given back");
    return TAP_PASS;
}

/* what stays on the host: an image of a few pixels, strides, counts in the image's memory,
 * nanoBragg's noise */
static int not_sent(void)
{
    static double workspace[LARGE * LARGE];
    static uint16_t counted[2 * LARGE * LARGE];
    const nb_digitizer how = {.noise = 1, .seed = 5};

    watched_reset();
    fill_plain(LARGE * LARGE, large);
    for (int i = 0; i < 4; i++) {
        const int n = i == 0 ? NSLOW : LARGE;
        nb_scene scene = scene_of(n, n, 0);
        nb_array image = nb_array_f64(workspace, n, n);
        nb_array counts = nb_array_u16(counted, n, n);
        nb_context *ctx = devices_context(NB_DEVICE_CUDA);
        nb_simulator *sim;

        if (i == 1) counts.stride[0] = 2 * n;
        if (i == 1) counts.stride[1] = 2;
        if (i == 2) counts.data = workspace;
        if (i == 2) image.flags = NB_DONATE;
        if (i == 3) scene.quirks |= NB_QUIRK_NOISE;
        sim = devices_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
        memcpy(workspace, large, sizeof workspace);
        tap_check(nb_digitize(sim, &how, &image, &counts) == NB_OK
                      && watched.launches[GPU_COUNT] == 0,
                  "case %d: drawn on the host: %s", i, nb_context_message(ctx));
        devices_free(ctx, sim);
    }
    return TAP_PASS;
}

/* any call of the driver that fails: the host draws, says so once, and nobody sees it */
static int any_call_fails(void)
{
    static struct drawn host, device;
    const nb_scene scene = scene_of(LARGE, LARGE, 0);
    const nb_digitizer how = {.noise = 1, .seed = 5};
    uint64_t n = 0, none;
    int failed = 1;

    watched_reset();
    for (int i = 0; i < LARGE * LARGE; i++) large[i] = i % 97;
    draw_large(NB_DEVICE_CPU, &how, 64, &host, &none);
    while (failed) {
        nb_compile_stats stats;
        nb_context *ctx;
        nb_simulator *sim;

        watched_reset();
        devices_warnings = 0;
        sim = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
        watched.fail_at = watched.calls + ++n;
        if (draw(sim, &how, large, 64, &device) != NB_OK) abort();
        failed = watched.calls >= watched.fail_at;
        nb_simulator_stats(sim, &stats);
        tap_check(same(&host, &device, LARGE * LARGE) && devices_warnings == failed
                      && stats.fallbacks == (uint64_t)failed
                      && (sim->device.scene.gpu == NULL) == (failed && watched.lacks == 0),
                  "call %llu: %d fails, %d warnings", (unsigned long long)n, failed,
                  devices_warnings);
        devices_close(ctx, sim);
    }
    tap_check(n > 9, "%llu calls were made to fail", (unsigned long long)n - 1);
    watched_reset();
    return TAP_PASS;
}

/* with arrays on the device there is no other place: the call fails, and the next one is
 * well */
static int any_call_fails_there(void)
{
    static const struct strides dense = {{0, 0}, {0, 0}};
    static struct drawn out, good;
    static double photons[PIXELS];
    const nb_scene scene = scene_of(NSLOW, NFAST, 3);
    const nb_digitizer how = {.offset = 2}; /* both kernels */
    uint64_t n = 0;
    int failed = 1;

    watched_reset();
    fill_plain(PIXELS, photons);
    while (failed) {
        nb_context *ctx = devices_context(NB_DEVICE_CUDA);
        nb_simulator *sim = devices_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
        nb_status status;

        watched_reset();
        watched.fail_at = 4 + ++n; /* the test's own arrays take four calls */
        status = draw_there(sim, &how, photons, 64, &dense, &out);
        failed = status != NB_OK;
        if (failed)
            tap_check(status == NB_ERR_DEVICE || status == NB_ERR_MEMORY, "call %llu: %s",
                      (unsigned long long)n, nb_context_message(ctx));
        watched.fail_at = 0;
        status = draw_there(sim, &how, photons, 64, &dense, &good);
        tap_check(status == NB_OK && (failed || same(&out, &good, PIXELS)),
                  "and the next call is well");
        devices_close(ctx, sim);
    }
    tap_check(n > 10, "%llu calls were made to fail", (unsigned long long)n - 1);
    watched_reset();
    return TAP_PASS;
}

static int strict(void)
{
    static struct drawn out;
    const nb_scene scene = scene_of(LARGE, LARGE, 0);
    const nb_digitizer how = {.noise = 1};
    nb_context *ctx;
    nb_simulator *sim;

    watched_reset();
    setenv("NANOBRAG_STRICT", "1", 1);
    sim = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
    watched.fail_at = watched.calls + 3;
    tap_check(draw(sim, &how, large, 64, &out) == NB_ERR_UNSUPPORTED,
              "NANOBRAG_STRICT=1: %s", nb_context_message(ctx));
    devices_free(ctx, sim);
    unsetenv("NANOBRAG_STRICT");
    watched_reset();
    return TAP_PASS;
}

/* ---- what is refused ---- */

static double image_room[PIXELS];
static uint16_t counts_room[PIXELS];

static void check_refusal(const char *what, int device, unsigned quirks,
                          const nb_array *image, const nb_array *counts, nb_status expected,
                          const char *words)
{
    const nb_digitizer how = {.noise = 1};
    nb_scene scene = scene_of(NSLOW, NFAST, 0);
    nb_context *ctx = devices_context(device);
    nb_array a = *image, b = *counts;
    nb_simulator *sim;
    nb_status status;

    scene.quirks = quirks;
    sim = devices_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
    status = nb_digitize(sim, &how, &a, &b);
    tap_check(status == expected && strstr(nb_context_message(ctx), words)
                  && !strchr(nb_context_message(ctx), '\n')
                  && watched.launches[GPU_COUNT] == 0,
              "%s: %s", what, nb_context_message(ctx));
    devices_free(ctx, sim);
}

static int refused(void)
{
    const nb_array host_image = nb_array_f64(image_room, NSLOW, NFAST);
    const nb_array host_counts = nb_array_u16(counts_room, NSLOW, NFAST);
    const nb_scene scene = scene_of(NSLOW, NFAST, 0);
    nb_context *ctx = devices_context(NB_DEVICE_CUDA);
    nb_simulator *sim = devices_make(ctx, &scene, "", NB_PRECISION_DOUBLE);
    nb_array image = devices_array(sim, host_image, image_room, sizeof image_room);
    nb_array counts = devices_array(sim, host_counts, counts_room, sizeof counts_room);
    nb_array other;

    watched_reset();
    check_refusal("counts on the host", NB_DEVICE_CUDA, 0, &image, &host_counts,
                  NB_ERR_SHAPE, "image lies on a CUDA device and counts in host memory");
    check_refusal("image on the host", NB_DEVICE_CUDA, 0, &host_image, &counts,
                  NB_ERR_SHAPE, "counts lies on a CUDA device and image in host memory");
    check_refusal("made on the host", NB_DEVICE_CPU, 0, &image, &counts, NB_ERR_SHAPE,
                  "images are made on the cpu");
    other = image;
    other.device_id = 1;
    check_refusal("another device", NB_DEVICE_CUDA, 0, &other, &counts, NB_ERR_SHAPE,
                  "expected 0");
    other = counts;
    other.device_id = 1;
    check_refusal("counts on another", NB_DEVICE_CUDA, 0, &image, &other, NB_ERR_SHAPE,
                  "counts lies on CUDA device 1");
    other = counts;
    other.bits = 32;
    check_refusal("counts of 32 bits", NB_DEVICE_CUDA, 0, &image, &other, NB_ERR_SHAPE,
                  "expected uint16");
    other = image;
    other.data = NULL;
    check_refusal("no image", NB_DEVICE_CUDA, 0, &other, &counts, NB_ERR_ARGUMENT,
                  "no array");
    other = image;
    other.flags = NB_DONATED;
    check_refusal("given away before", NB_DEVICE_CUDA, 0, &other, &counts, NB_ERR_DONATED,
                  "donated");
    check_refusal("nanoBragg's noise", NB_DEVICE_CUDA, NB_QUIRK_NOISE, &image, &counts,
                  NB_ERR_UNSUPPORTED, "NB_QUIRK_NOISE");
    other = counts;
    other.data = image.data;
    check_refusal("in the image's memory", NB_DEVICE_CUDA, 0, &image, &other,
                  NB_ERR_ARGUMENT, "lies in the memory of image");
    image.flags = NB_DONATE;
    check_refusal("and given away", NB_DEVICE_CUDA, 0, &image, &other, NB_ERR_UNSUPPORTED,
                  "memory of its own");
    devices_give_back(sim, &image, image_room, sizeof image_room);
    devices_give_back(sim, &counts, counts_room, sizeof counts_room);
    devices_close(ctx, sim);
    return TAP_PASS;
}

/* an image that is given away is not used, and stays valid */
static int given_away(void)
{
    const nb_scene scene = scene_of(NSLOW, NFAST, 0);
    const nb_digitizer how = {.noise = 1};
    static const int dense[2] = {0, 0};
    nb_array image = nb_array_f64(image_room, NSLOW, NFAST);
    nb_array counts = nb_array_u16(counts_room, NSLOW, NFAST);
    nb_context *ctx;
    nb_simulator *sim;

    watched_reset();
    devices_warnings = 0;
    sim = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
    image = on_device(sim, image, dense, image_room, sizeof image_room);
    counts = on_device(sim, counts, dense, counts_room, sizeof counts_room);
    image.flags = NB_DONATE;
    tap_check(nb_digitize(sim, &how, &image, &counts) == NB_OK && image.flags == NB_DONATE
                  && devices_warnings == 1 && strstr(devices_warning, "stays valid"),
              "%d warnings: %s", devices_warnings, devices_warning);
    devices_give_back(sim, &image, image_room, sizeof image_room);
    devices_give_back(sim, &counts, counts_room, sizeof counts_room);
    devices_free(ctx, sim);
    return TAP_PASS;
}

static const struct tap_case cases[] = {
    {"same_bits", same_bits},
    {"nothing_bright", nothing_bright},
    {"sent_there", sent_there},
    {"not_sent", not_sent},
    {"any_call_fails", any_call_fails},
    {"any_call_fails_there", any_call_fails_there},
    {"strict", strict},
    {"refused", refused},
    {"given_away", given_away},
};

int main(int argc, char **argv)
{
    compiled_environment();
    unsetenv("NANOBRAG_DEVICE");
    return devices_main(argc, argv, cases, COUNT(cases));
}
