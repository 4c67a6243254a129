/*
 * test_batch.c - many images in one call have the bits of single ones, on the host and on
 * a watched device (device/watched.h), where they share launches and copies and any
 * of these may fail.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
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
#include "support/worst.h"

enum { PIXELS = COMPILED_PIXELS, FEW = 5, MOST = 100 };

/* ---- batches, and the same one at a time ---- */

static void *zeroed(size_t n, size_t size)
{
    void *p = calloc(n, size);

    if (!p) abort();
    return p;
}

/* n rows of parameters, each of them a little farther from the scene's */
static double *jacobian_of(const nb_simulator *sim, int n)
{
    const size_t all = nb_simulator_nparam(sim);
    double *x = zeroed((size_t)n * all, sizeof *x);

    for (size_t i = 0; i < all; i++) {
        nb_param p;

        if (nb_simulator_param(sim, i, &p) != NB_OK) abort();
        for (int k = 0; k < n; k++) {
            const double change = 1e-5 * p.scale * k;

            x[(size_t)k * all + i] =
                p.value + (p.value + change > p.upper ? -change : change);
        }
    }
    return x;
}

static size_t pixels_of(const nb_simulator *sim)
{
    return (size_t)sim->window.nslow * (size_t)sim->window.nfast;
}

/* n dense images of float64 over one block, which has to be freed */
static nb_array *images_of(const nb_simulator *sim, int n, double **block)
{
    nb_array *image = zeroed((size_t)n, sizeof *image);
    const size_t pixels = pixels_of(sim);

    *block = zeroed((size_t)n * pixels, sizeof **block);
    for (size_t i = 0; i < (size_t)n * pixels; i++) (*block)[i] = -7;
    for (int k = 0; k < n; k++)
        image[k] =
            nb_array_f64(*block + (size_t)k * pixels, sim->window.nslow, sim->window.nfast);
    return image;
}

/* images of a batch that are those of nb_forward() to the bit */
static int count_same(nb_simulator *sim, int n, const double *x, const double *batch)
{
    const size_t pixels = pixels_of(sim), all = nb_simulator_nparam(sim);
    double *one = zeroed(pixels, sizeof *one);
    int same = 0;

    for (int k = 0; k < n; k++) {
        if (devices_image(sim, x ? x + (size_t)k * all : NULL, one) != NB_OK) abort();
        same += memcmp((char *)one, (const char *)(batch + (size_t)k * pixels),
                       pixels * sizeof *one)
                == 0;
    }
    free(one);
    return same;
}

/* a scene's images at n values of some parameters */
static void check_scene(const char *what, const nb_scene *scene, const char *names,
                        int device, int precision, int together)
{
    nb_context *ctx = devices_context(device);
    nb_simulator *sim = devices_make(ctx, scene, names, precision);
    double *x = jacobian_of(sim, FEW), *block;
    nb_array *image = images_of(sim, FEW, &block);
    nb_status status;
    int same;

    watched.most_images = 0;
    status = nb_forward_batch(sim, FEW, x, image);
    tap_check(status == NB_OK && watched.most_images == together,
              "%s: %s, %d images in a launch expected %d", what,
              status == NB_OK ? "done" : nb_context_message(ctx), watched.most_images,
              together);
    same = count_same(sim, FEW, x, block);
    tap_check(same == FEW, "%s: %d images of the same bits expected %d", what, same, FEW);
    free(x);
    free(block);
    free(image);
    devices_free(ctx, sim);
}

static const char moving[] = "distance cell fluence";

static int on_the_host(void)
{
    nb_scene scene = scenes_base();

    watched_reset();
    check_scene("lanes", &scene, moving, NB_DEVICE_CPU, NB_PRECISION_DOUBLE, 0);
    scene.crystal.shape = NB_SHAPE_GAUSS;
    check_scene("spots", &scene, moving, NB_DEVICE_CPU, NB_PRECISION_SINGLE, 0);
    return TAP_PASS;
}

static int named_scenes(void)
{
    struct named_scene named;

    if (!devices_found()) return TAP_SKIP;
    watched_reset();
    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++) {
        static const int roi[4] = {17, 33, 17, 25}, none[4] = {0, 0, 0, 0};
        const int spread = named.scene.psf.kind != NB_PSF_NONE;

        if (memcmp(named.scene.detector.roi, none, sizeof none) == 0)
            memcpy(named.scene.detector.roi, roi, sizeof roi);
        for (int precision = 0; precision <= NB_PRECISION_SINGLE; precision++)
            check_scene(named.name, &named.scene, "distance fluence", NB_DEVICE_CUDA,
                        precision, spread ? 1 : FEW);
    }
    tap_check(devices_balanced(), "all memory was given back");
    return TAP_PASS;
}

/* structure factors that move, regions, masks, point spreads */
static int one_after_another(void)
{
    static uint8_t mask[DEVICES_MANY];
    nb_scene listed = scenes_base(), many = devices_many_tiles(), spread = scenes_base();
    const int roi[4] = {13, 58, 21, 90};

    if (!devices_found()) return TAP_SKIP;
    for (int i = 0; i < DEVICES_MANY; i++) mask[i] = i % 7 != 3;
    watched_reset();
    listed.crystal.hkl = scenes_reflections();
    check_scene("F[*]", &listed, "F[*]", NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, 1);
    check_scene("default_f", &listed, "distance default_f", NB_DEVICE_CUDA,
                NB_PRECISION_SINGLE, 1);
    check_scene("a list that stays", &listed, moving, NB_DEVICE_CUDA, NB_PRECISION_SINGLE,
                FEW);
    check_scene("many tiles", &many, moving, NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, FEW);
    memcpy(many.detector.roi, roi, sizeof roi);
    many.detector.mask = mask;
    check_scene("region and mask", &many, moving, NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, FEW);
    watched.memory = 100000;
    check_scene("too many tiles", &many, moving, NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, 1);
    watched.memory = 0;
    spread.psf.kind = NB_PSF_GAUSS;
    spread.psf.fwhm = 0.2;
    (void)spread; /* a build without FFTW */
#ifdef NANOBRAG_FFTW
    check_scene("a point spread", &spread, moving, NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, 1);
#endif
    tap_check(devices_balanced(), "all memory was given back");
    watched_reset();
    return TAP_PASS;
}

/* ---- what a batch costs ---- */

struct costs {
    uint64_t calls, uploads, downloads, launches;
};

static struct costs costs_now(void)
{
    const struct costs now = {watched.calls, watched.uploads, watched.downloads,
                              watched.launches[GPU_IMAGE]};

    return now;
}

static struct costs costs_since(struct costs before)
{
    struct costs now = costs_now();

    now.calls -= before.calls;
    now.uploads -= before.uploads;
    now.downloads -= before.downloads;
    now.launches -= before.launches;
    return now;
}

/* a hundred images of 16 x 16: the second batch, when memory and recordings are there */
static int a_hundred(void)
{
    nb_scene scene = scenes_base();
    nb_context *ctx;
    nb_simulator *sim;
    nb_compile_stats stats;
    struct costs batch, single;
    nb_array *image;
    double *x, *block;
    int same;

    if (!devices_found()) return TAP_SKIP;
    scene.detector.nslow = scene.detector.nfast = 16;
    watched_reset();
    sim = devices_open(&scene, moving, NB_PRECISION_SINGLE, &ctx);
    x = jacobian_of(sim, MOST);
    image = images_of(sim, MOST, &block);
    if (nb_forward_batch(sim, MOST, x, image) != NB_OK) abort();
    batch = costs_now();
    if (nb_forward_batch(sim, MOST, x, image) != NB_OK) abort();
    batch = costs_since(batch);
    nb_simulator_stats(sim, &stats);
    tap_check(batch.calls <= 6 && batch.uploads == 1 && batch.downloads == 1
                  && batch.launches == 1,
              "%llu calls of the driver (6): %llu uploads (1), %llu downloads (1), %llu "
              "launches of images (1)",
              (unsigned long long)batch.calls, (unsigned long long)batch.uploads,
              (unsigned long long)batch.downloads, (unsigned long long)batch.launches);
    tap_check(stats.captures == 1 && stats.replays == 2,
              "%llu captured (1), %llu replayed (2)", (unsigned long long)stats.captures,
              (unsigned long long)stats.replays);
    single = costs_now();
    same = count_same(sim, MOST, x, block);
    single = costs_since(single);
    tap_check(same == MOST && single.calls > 100 * batch.calls / 2,
              "%d of the same bits as one at a time, which takes %llu calls", same,
              (unsigned long long)single.calls);
    free(x);
    free(block);
    free(image);
    devices_close(ctx, sim);
    return TAP_PASS;
}

/* no more images at once than memory holds, in any order of blocks */
static int little_memory(void)
{
    const nb_scene scene = scenes_base();
    nb_context *ctx;
    nb_simulator *sim;
    nb_array *image;
    double *x, *block;
    int same;

    if (!devices_found()) return TAP_SKIP;
    watched_reset();
    watched.memory = 600000;
    sim = devices_open(&scene, moving, NB_PRECISION_DOUBLE, &ctx);
    x = jacobian_of(sim, MOST);
    image = images_of(sim, MOST, &block);
    if (nb_forward_batch(sim, MOST, x, image) != NB_OK) abort();
    tap_check(watched.most_images > 1 && watched.most_images < MOST / 2
                  && watched.most_bytes <= watched.memory,
              "%d images in a launch, %zu of %zu bytes used", watched.most_images,
              watched.most_bytes, watched.memory);
    same = count_same(sim, MOST, x, block);
    tap_check(same == MOST, "%d images of the same bits expected %d", same, MOST);
    free(x);
    free(block);
    free(image);
    devices_close(ctx, sim);
    watched_reset();
    return TAP_PASS;
}

/* on the device, where all of it is too much for a launch though the region is not */
static int strips_there(void)
{
    enum { N = 3 };
    static double found[DEVICES_MANY], one[DEVICES_MANY];
    const int roi[4] = {13, 20, 21, 25};
    nb_scene scene = devices_many_tiles();
    nb_context *ctx;
    nb_simulator *sim;
    nb_array image[N];
    int same = 0;

    if (!devices_found()) return TAP_SKIP;
    memcpy(scene.detector.roi, roi, sizeof roi);
    watched_reset();
    watched.memory = 300000; /* as it is told */
    sim = devices_open(&scene, "", NB_PRECISION_DOUBLE, &ctx);
    watched.memory = 0;
    if (devices_image(sim, NULL, one) != NB_OK) abort();
    for (int k = 0; k < N; k++) {
        image[k] = nb_array_f64(one, scene.detector.nslow, scene.detector.nfast);
        image[k] = devices_array(sim, image[k], found, sizeof found);
    }
    if (nb_forward_batch(sim, N, NULL, image) != NB_OK)
        tap_check(0, "%s", nb_context_message(ctx));
    for (int k = 0; k < N; k++) {
        devices_give_back(sim, &image[k], found, sizeof found);
        same += bits_same(found, one, sizeof one / sizeof *one);
    }
    tap_check(same == N && sim->device.scene.gpu, "%d images of the same bits expected %d",
              same, N);
    devices_close(ctx, sim);
    watched_reset();
    return TAP_PASS;
}

/* ---- images that differ ---- */

/* of float32, with strides and on the device, beside each other */
static int any_images(void)
{
    static double workspace[3 * PIXELS], there[2 * PIXELS], one[PIXELS];
    static float single[PIXELS];
    const nb_scene scene = scenes_base();
    const int nslow = scene.detector.nslow, nfast = scene.detector.nfast;
    nb_context *ctx;
    nb_simulator *sim;
    nb_array image[FEW], block;
    double *x;
    int wrong[FEW] = {0};

    if (!devices_found()) return TAP_SKIP;
    watched_reset();
    sim = devices_open(&scene, moving, NB_PRECISION_DOUBLE, &ctx);
    x = jacobian_of(sim, FEW);
    block = devices_array(sim, nb_array_f64(there, 2 * nslow, nfast), there, sizeof there);
    image[0] = nb_array_f32(single, nslow, nfast);
    image[1] = nb_array_f64(workspace, nslow, nfast);
    image[1].stride[0] = 2 * nfast + 1;
    image[1].stride[1] = 2;
    for (int k = 2; k < 4; k++) {
        image[k] = nb_array_f64((double *)block.data + (k - 2) * PIXELS, nslow, nfast);
        image[k].device = NB_DEVICE_CUDA;
    }
    image[4] = nb_array_f64(one, nslow, nfast);
    if (nb_forward_batch(sim, FEW, x, image) != NB_OK) abort();
    tap_check(watched.launches[GPU_IMAGE] == 3 && watched.most_images == 2,
              "%llu launches (3), %d images in one (2)",
              (unsigned long long)watched.launches[GPU_IMAGE], watched.most_images);
    devices_give_back(sim, &block, there, sizeof there);
    for (int k = 0; k < FEW; k++) {
        static double alone[PIXELS];

        if (devices_image(sim, x + (size_t)k * nb_simulator_nparam(sim), alone) != NB_OK)
            abort();
        for (int i = 0; i < PIXELS; i++) {
            const double got[FEW] = {(double)single[i],
                                     workspace[i / nfast * (2 * nfast + 1) + i % nfast * 2],
                                     there[i], there[PIXELS + i], one[i]};

            wrong[k] += got[k] != (k == 0 ? (double)(float)alone[i] : alone[i]);
        }
        tap_check(wrong[k] == 0, "image %d: %d pixels differ", k, wrong[k]);
    }
    free(x);
    devices_close(ctx, sim);
    return TAP_PASS;
}

/* images that need other kernels: those that know of no B factor, and double where float is
 * not good enough; and those that float lost */
static int layouts(void)
{
    nb_scene scene = scenes_base();
    nb_context *ctx;
    nb_simulator *sim;
    nb_array *image;
    double *x, *block;
    int same;

    if (!devices_found()) return TAP_SKIP;
    watched_reset();
    sim = devices_open(&scene, "b_factor fluence", NB_PRECISION_SINGLE, &ctx);
    x = jacobian_of(sim, FEW);
    for (int k = 0; k < FEW; k++) x[2 * k] = k < 2 ? 0 : 3;
    image = images_of(sim, FEW, &block);
    if (nb_forward_batch(sim, FEW, x, image) != NB_OK) abort();
    same = count_same(sim, FEW, x, block);
    tap_check(same == FEW && watched.most_images == 3,
              "%d images of the same bits, at most %d in a launch expected 3", same,
              watched.most_images);
    free(x);
    free(block);
    free(image);
    nb_simulator_free(sim);
    scene = devices_tails();
    watched.launches[GPU_IMAGE] = 0;
    check_scene("lost by float", &scene, "fluence", NB_DEVICE_CUDA, NB_PRECISION_SINGLE,
                FEW);
    /* in float and in double, together and each alone */
    tap_check(watched.launches[GPU_IMAGE] == 2 + 2 * FEW, "%llu launches expected %d",
              (unsigned long long)watched.launches[GPU_IMAGE], 2 + 2 * FEW);
    nb_context_free(ctx);
    tap_check(devices_balanced(), "all memory was given back");
    return TAP_PASS;
}

/* ---- what goes wrong ---- */

/* whatever call of the driver fails, the images are the host's from there on */
static int any_call_fails(void)
{
    static double host[FEW * PIXELS], there[FEW * PIXELS];
    const nb_scene scene = scenes_base();
    uint64_t n = 0;
    int failed = 1, wrong = 0;

    if (!devices_found()) return TAP_SKIP;
    while (failed) {
        nb_context *ctx;
        nb_simulator *sim;
        nb_compile_stats stats;
        nb_array *image;
        double *x, *block;

        watched_reset();
        watched.fail_at = n < 2 ? 0 : n - 1;
        n++;
        devices_warnings = 0;
        ctx = devices_context(n == 1 ? NB_DEVICE_CPU : NB_DEVICE_CUDA);
        sim = devices_make(ctx, &scene, moving, NB_PRECISION_DOUBLE);
        x = jacobian_of(sim, FEW);
        image = images_of(sim, FEW, &block);
        if (nb_forward_batch(sim, FEW, x, image) != NB_OK) abort();
        if (n < 3) memcpy(n == 1 ? host : there, block, sizeof host);
        failed = n < 3 || watched.calls >= n - 2;
        nb_simulator_stats(sim, &stats);
        /* without memory for a batch the device computes one image after the other */
        if (failed && n > 2)
            wrong += memcmp(block, watched.lacks > 0 ? there : host, sizeof host) != 0
                     || devices_warnings != 1 || stats.fallbacks != 1;
        free(x);
        free(block);
        free(image);
        devices_free(ctx, sim);
        wrong += !devices_balanced();
    }
    tap_check(wrong == 0 && n > 9,
              "%llu calls fail, %d of them without the host's images and one warning",
              (unsigned long long)n - 3, wrong);
    watched_reset();
    return TAP_PASS;
}

/* images before the one that fails are complete, those behind it untouched */
static int mistakes(void)
{
    const nb_scene scene = scenes_base();

    watched_reset();
    for (int device = NB_DEVICE_CPU; device <= NB_DEVICE_CUDA; device++) {
        nb_context *ctx = devices_context(device);
        nb_simulator *sim = devices_make(ctx, &scene, moving, NB_PRECISION_DOUBLE);
        const size_t pixels = pixels_of(sim);
        double *x = jacobian_of(sim, FEW), *block;
        nb_array *image = images_of(sim, FEW, &block);
        nb_status status;
        int touched = 0;

        status = nb_forward_batch(sim, 0, x, image);
        tap_check(status == NB_ERR_ARGUMENT, "none: %s", nb_context_message(ctx));
        status = nb_forward_batch(sim, FEW, x, NULL);
        tap_check(status == NB_ERR_ARGUMENT, "nowhere: %s", nb_context_message(ctx));
        image[4].shape[1]++;
        status = nb_forward_batch(sim, FEW, x, image);
        for (size_t i = 0; i < FEW * pixels; i++) touched += block[i] != -7;
        tap_check(status == NB_ERR_SHAPE && touched == 0, "a shape: %s, %d pixels written",
                  nb_context_message(ctx), touched);
        image[4].shape[1]--;
        x[3 * nb_simulator_nparam(sim)] = NAN;
        status = nb_forward_batch(sim, FEW, x, image);
        for (size_t i = 3 * pixels; i < FEW * pixels; i++) touched += block[i] != -7;
        tap_check(status == NB_ERR_ARGUMENT && touched == 0
                      && strstr(nb_context_message(ctx), "distance"),
                  "row 3: %s, %d pixels written behind", nb_context_message(ctx), touched);
        tap_check(count_same(sim, 3, x, block) == 3, "those before are complete");
        tap_check(nb_forward_batch(sim, FEW, NULL, image) == NB_OK
                      && count_same(sim, FEW, NULL, block) == FEW,
                  "without parameters all are the scene's");
        free(x);
        free(block);
        free(image);
        devices_free(ctx, sim);
    }
    tap_check(nb_forward_batch(NULL, 1, NULL, NULL) == NB_ERR_ARGUMENT, "no simulator");
    return TAP_PASS;
}

/* what a handler was told, and when it asks to stop */
struct told {
    double last;
    int times, back, stop;
};

static int on_progress(void *user, double fraction)
{
    struct told *told = user;

    told->back += fraction < told->last;
    told->last = fraction;
    return ++told->times == told->stop;
}

static int progress(void)
{
    const nb_scene scene = scenes_base();

    watched_reset();
    for (int way = 0; way < 4; way++) {
        struct told told = {0, 0, 0, way / 2};
        const nb_context_options options = {.threads = 1,
                                            .device =
                                                way % 2 ? NB_DEVICE_CUDA : NB_DEVICE_CPU,
                                            .progress = on_progress,
                                            .user = &told};
        nb_context *ctx;
        nb_simulator *sim;
        nb_array *image;
        nb_status status;
        double *x, *block;

        watched.memory = 600000;
        if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
        ctx->driver = &gpu_watched;
        ctx->env.hot_threshold = 0;
        sim = devices_make(ctx, &scene, moving, NB_PRECISION_DOUBLE);
        x = jacobian_of(sim, MOST);
        image = images_of(sim, MOST, &block);
        status = nb_forward_batch(sim, MOST, x, image);
        tap_check(status == (told.stop ? NB_ERR_CANCELLED : NB_OK) && told.back == 0
                      && (told.stop ? told.last < 1 : fabs(told.last - 1) < 1e-12),
                  "%s: told %d times, the last of %g, %d times back: %s",
                  way % 2 ? "device" : "host", told.times, told.last, told.back,
                  nb_status_text(status));
        if (told.stop) {
            const double first = block[0];

            tap_check(block[(MOST - 1) * PIXELS] == -7, "the last is untouched, first %g",
                      first);
        }
        free(x);
        free(block);
        free(image);
        devices_free(ctx, sim);
    }
    tap_check(devices_balanced(), "all memory was given back");
    watched_reset();
    return TAP_PASS;
}

static const struct tap_case cases[] = {
    {"on_the_host", on_the_host},
    {"named_scenes", named_scenes},
    {"one_after_another", one_after_another},
    {"a_hundred", a_hundred},
    {"little_memory", little_memory},
    {"bands_there", strips_there},
    {"any_images", any_images},
    {"layouts", layouts},
    {"any_call_fails", any_call_fails},
    {"mistakes", mistakes},
    {"progress", progress},
};

int main(int argc, char **argv)
{
    compiled_environment();
    unsetenv("NANOBRAG_DEVICE");
    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
