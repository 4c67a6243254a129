/*
 * test_device_images.c - images on an emulated device (emulation/emulated.h): they are
 * those of the host, and the host takes over wherever the device fails, is missing or is
 * not worth its use.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "emulation/devices.h"
#include "emulation/emulated.h"
#include "gpu/gpu.h"
#include "simulator.h"
#include "support/compiled.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

enum { PIXELS = COMPILED_PIXELS };

/* ---- the same images ---- */

static void check_scene(const struct named_scene *named, int precision, double allowed)
{
    static double host[PIXELS], device[PIXELS];
    const nb_scene scene = named->scene;
    struct renders_gap gap;
    uint64_t before;

    if (scene.detector.nslow * scene.detector.nfast != PIXELS) abort();
    devices_render(&scene, NB_CPU, precision, host);
    before = emulated.launches[GPU_IMAGE];
    devices_render(&scene, NB_CUDA, precision, device);
    gap = renders_compare(device, host, PIXELS);
    tap_check(emulated.launches[GPU_IMAGE] > before, "%s: launched", named->name);
    tap_close(named->name, gap.worst, 0, allowed);
}

static int double_images(void)
{
    struct named_scene named;

    emulated_reset();
    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++)
        check_scene(&named, NB_DOUBLE, 1e-12);
    tap_check(devices_balanced(), "all memory was given back");
    return TAP_PASS;
}

static int float_images(void)
{
    struct named_scene named;

    emulated_reset();
    /* float against float: each may be off by its tolerance */
    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++)
        check_scene(&named, NB_SINGLE, 2e-5);
    tap_check(devices_balanced(), "all memory was given back");
    return TAP_PASS;
}

/* what a band holds, and the order of blocks, change no bit */
static int strips(void)
{
    static double one[DEVICES_MANY], many[DEVICES_MANY];
    const nb_scene scene = devices_many_tiles();
    uint64_t launches;

    emulated_reset();
    devices_render(&scene, NB_CUDA, NB_DOUBLE, one);
    launches = emulated.launches[GPU_IMAGE];
    tap_check(launches == 1, "%llu launch where memory is plenty",
              (unsigned long long)launches);
    emulated_reset();
    emulated.memory = 100000;
    emulated.order = EMULATED_REVERSED;
    devices_render(&scene, NB_CUDA, NB_DOUBLE, many);
    launches = emulated.launches[GPU_IMAGE];
    tap_check(launches > 5, "%llu launches in %zu bytes", (unsigned long long)launches,
              emulated.memory);
    tap_check(emulated.most_bytes <= emulated.memory, "%zu bytes of it were used",
              emulated.most_bytes);
    tap_check(bits_same(one, many, sizeof one / sizeof *one), "the same bits");
    emulated_reset();
    return TAP_PASS;
}

/* a region and a mask: pixels outside are 0 */
static int regions(void)
{
    static double host[DEVICES_MANY], device[DEVICES_MANY];
    static uint8_t mask[DEVICES_MANY];
    nb_scene scene = devices_many_tiles();
    const int roi[4] = {13, 58, 21, 90};
    struct renders_gap gap;
    int dark = 0;

    for (int i = 0; i < DEVICES_MANY; i++) mask[i] = i % 7 != 3;
    memcpy(scene.detector.roi, roi, sizeof roi);
    scene.detector.mask = mask;
    emulated_reset();
    devices_render(&scene, NB_CPU, NB_DOUBLE, host);
    devices_render(&scene, NB_CUDA, NB_DOUBLE, device);
    gap = renders_compare(device, host, DEVICES_MANY);
    tap_close("region and mask", gap.worst, 0, 4e-13); /* 3e-14 measured */
    for (int i = 0; i < DEVICES_MANY; i++) dark += (host[i] == 0) != (device[i] == 0);
    tap_check(dark == 0, "%d pixels are dark in one alone", dark);
    return TAP_PASS;
}

static void values_of(const nb_simulator *sim, double *x)
{
    for (size_t i = 0; i < nb_nparam(sim); i++) {
        nb_param param;

        if (nb_param_at(sim, i, &param) != NB_OK) abort();
        x[i] = param.value;
    }
}

/* parameters move; structure factors too, if they are free */
static int calls(void)
{
    static double host[PIXELS], device[PIXELS];
    nb_scene scene = scenes_base();
    const char *names[] = {"distance cell", "F[*]", "F[*] default_f"};

    emulated_reset();
    scene.crystal.hkl = scenes_reflections();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        nb_context *on_host = devices_context(NB_CPU),
                   *on_device = devices_context(NB_CUDA);
        nb_simulator *a = devices_make(on_host, &scene, names[i], NB_DOUBLE);
        nb_simulator *b = devices_make(on_device, &scene, names[i], NB_DOUBLE);
        const size_t n = nb_nparam(a);
        double *x = calloc(n, sizeof *x);
        struct worst worst = {0};

        if (!x) abort();
        values_of(a, x);
        for (int step = 0; step < 3; step++) {
            for (size_t k = 0; k < n; k++) x[k] *= 1 + 1e-3 * step;
            if (devices_image(a, x, host) != NB_OK || devices_image(b, x, device) != NB_OK)
                abort();
            worst_add_all(&worst, device, host, PIXELS, worst_largest(host, PIXELS));
        }
        worst_check(&worst, 6e-13, "%s", names[i]); /* 4.3e-14 measured */
        free(x);
        nb_simulator_free(a);
        nb_simulator_free(b);
        nb_context_free(on_host);
        nb_context_free(on_device);
    }
    tap_check(devices_balanced(), "all memory was given back");
    return TAP_PASS;
}

/* ---- the host instead ---- */

/* whatever call of the driver fails, the image is the host's, memory is given back, and one
 * warning holds the driver's words */
static int any_call_fails(void)
{
    static double host[PIXELS], image[PIXELS];
    const nb_scene scene = scenes_base();
    uint64_t n = 0;
    int failed = 1;

    emulated_reset();
    devices_render(&scene, NB_CPU, NB_DOUBLE, host);
    while (failed) {
        nb_context *ctx;
        nb_simulator *sim;
        nb_compile_stats stats;

        emulated_reset();
        emulated.fail_at = ++n;
        devices_warnings = 0;
        ctx = devices_context(NB_CUDA);
        sim = devices_make(ctx, &scene, "", NB_DOUBLE);
        if (devices_image(sim, NULL, image) != NB_OK) abort();
        failed = emulated.calls >= n;
        nb_simulator_stats(sim, &stats);
        if (failed)
            tap_check(bits_same(image, host, sizeof host / sizeof *host)
                          && devices_warnings == 1 && stats.fallbacks == 1,
                      "call %llu fails: %d warning, '%s'", (unsigned long long)n,
                      devices_warnings, devices_warning);
        nb_simulator_free(sim);
        nb_context_free(ctx);
        tap_check(devices_balanced(), "all memory was given back");
    }
    tap_check(n > 8, "%llu calls were made to fail", (unsigned long long)n - 1);
    emulated_reset();
    return TAP_PASS;
}

/* how many calls the first image of a simulator takes; the last waits for it */
static uint64_t calls_of_an_image(const nb_scene *scene)
{
    static double image[PIXELS];
    nb_context *ctx = devices_context(NB_CUDA);
    nb_simulator *sim = devices_make(ctx, scene, "", NB_DOUBLE);
    const uint64_t before = emulated.calls;

    if (devices_image(sim, NULL, image) != NB_OK) abort();
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return emulated.calls - before;
}

/* after a failure the host goes on, without another try */
static int once_lost(void)
{
    static double image[PIXELS];
    const nb_scene scene = scenes_base();
    nb_context *ctx;
    nb_simulator *sim;
    nb_description about;
    uint64_t calls;

    emulated_reset();
    calls = calls_of_an_image(&scene);
    ctx = devices_context(NB_CUDA);
    sim = devices_make(ctx, &scene, "", NB_DOUBLE);
    if (nb_describe(sim, NULL, &about) != NB_OK) abort();
    tap_check(strncmp(about.device, "emulated:0 ", 11) == 0, "images on %s: %s",
              about.device, about.device_why);
    emulated.fail_at = emulated.calls + calls;
    devices_warnings = 0;
    for (int i = 0; i < 3; i++)
        if (devices_image(sim, NULL, image) != NB_OK) abort();
    if (nb_describe(sim, NULL, &about) != NB_OK) abort();
    tap_check(devices_warnings == 1, "%d warning in three images", devices_warnings);
    tap_check(strcmp(about.device, "cpu") == 0, "images on %s: %s", about.device,
              about.device_why);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    tap_check(devices_balanced(), "all memory was given back");
    emulated_reset();
    return TAP_PASS;
}

static int strict(void)
{
    static double image[PIXELS];
    const nb_scene scene = scenes_base();
    nb_context *ctx;
    nb_simulator *sim;
    nb_status status;
    uint64_t calls;

    emulated_reset();
    calls = calls_of_an_image(&scene);
    setenv("NANOBRAG_STRICT", "1", 1);
    ctx = devices_context(NB_CUDA);
    sim = devices_make(ctx, &scene, "", NB_DOUBLE);
    emulated.fail_at = emulated.calls + calls;
    status = devices_image(sim, NULL, image);
    tap_check(status == NB_ERR_UNSUPPORTED, "NANOBRAG_STRICT=1: %s",
              nb_context_message(ctx));
    for (int i = 0; i < 2; i++) {
        status = devices_image(sim, NULL, image);
        tap_check(status == NB_ERR_UNSUPPORTED
                      && strstr(nb_context_message(ctx), "emulated device"),
                  "and every later call: %s", nb_context_message(ctx));
    }
    nb_simulator_free(sim);
    nb_context_free(ctx);
    emulated.devices = 0;
    ctx = devices_context(NB_CUDA);
    status = nb_simulator_create(ctx, &scene, "", NULL, &sim);
    tap_check(status == NB_ERR_UNSUPPORTED, "and where there is no device: %s",
              nb_context_message(ctx));
    nb_context_free(ctx);
    unsetenv("NANOBRAG_STRICT");
    emulated_reset();
    return TAP_PASS;
}

static int stop_at_once(void *user, double fraction)
{
    (void)fraction;
    ++*(int *)user;
    return 1;
}

static int cancelled(void)
{
    static double image[DEVICES_MANY], host[DEVICES_MANY];
    const nb_scene scene = devices_many_tiles();
    struct worst worst = {0};
    int told = 0;
    const nb_context_options options = {.threads = 1,
                                        .device = NB_CUDA,
                                        .progress = stop_at_once,
                                        .user = &told};
    nb_context *ctx;
    nb_simulator *sim;
    nb_status status;

    emulated_reset();
    devices_render(&scene, NB_CPU, NB_DOUBLE, host);
    emulated.memory = 100000;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    ctx->driver = &gpu_emulated;
    sim = devices_make(ctx, &scene, "", NB_DOUBLE);
    status = devices_image(sim, NULL, image);
    tap_check(status == NB_ERR_CANCELLED && told == 1, "stopped after %d band: %s", told,
              nb_status_text(status));
    ctx->options.progress = NULL;
    if (devices_image(sim, NULL, image) != NB_OK) abort();
    tap_check(emulated.launches[GPU_IMAGE] > 5, "%d launches, of several bands",
              (int)emulated.launches[GPU_IMAGE]);
    worst_add_all(&worst, image, host, DEVICES_MANY, worst_largest(host, DEVICES_MANY));
    /* 4e-14 measured */
    worst_check(&worst, 6e-13, "the next call gives the whole image");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    tap_check(devices_balanced(), "all memory was given back");
    emulated_reset();
    return TAP_PASS;
}

struct told {
    double last;
    int times, backwards;
};

static int listen(void *user, double fraction)
{
    struct told *told = user;

    told->times++;
    told->backwards += fraction < told->last;
    told->last = fraction;
    return 0;
}

/* bands of a device, then all of it on the host */
static int progress_when_lost(void)
{
    static double image[DEVICES_MANY];
    const nb_scene scene = devices_many_tiles();
    struct told told = {0, 0, 0};
    const nb_context_options options = {.threads = 1,
                                        .device = NB_CUDA,
                                        .progress = listen,
                                        .user = &told};
    nb_context *ctx;
    nb_simulator *sim;
    int before;

    emulated_reset();
    emulated.memory = 100000;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    ctx->driver = &gpu_emulated;
    ctx->env.hot_threshold = 0;
    sim = devices_make(ctx, &scene, "", NB_DOUBLE);
    if (devices_image(sim, NULL, image) != NB_OK) abort();
    before = (int)emulated.calls;
    told.last = 0;
    told.times = 0;
    emulated.fail_at = emulated.calls + (uint64_t)before * 2 / 3;
    if (devices_image(sim, NULL, image) != NB_OK) abort();
    tap_check(!sim->device.scene.gpu && told.times > 2 && told.backwards == 0
                  && told.last == 1,
              "lost: told %d times, %d backwards, the last %g", told.times, told.backwards,
              told.last);
    told.last = 0;
    if (devices_image(sim, NULL, image) != NB_OK) abort();
    tap_check(told.backwards == 0 && told.last == 1, "the next call begins anew");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    emulated_reset();
    return TAP_PASS;
}

/* a check of derivatives is all the host's, and the device's are the images after it */
static int gradcheck_on_host(void)
{
    static double image[PIXELS];
    const nb_scene scene = scenes_base();
    nb_gradcheck_row rows[NB_GRADCHECK_LOSSES];
    nb_gradcheck_summary summary;
    nb_context *ctx;
    nb_simulator *sim;
    uint64_t before;
    nb_status status;

    emulated_reset();
    ctx = devices_context(NB_CUDA);
    sim = devices_make(ctx, &scene, "distance", NB_SINGLE);
    if (devices_image(sim, NULL, image) != NB_OK) abort();
    before = emulated.calls;
    status = nb_gradcheck(sim, NULL, NULL, NULL, rows, &summary);
    tap_check(status == NB_OK && summary.verdict == NB_VERDICT_PASS, "%s",
              status == NB_OK ? summary.message : nb_context_message(ctx));
    tap_check(emulated.calls == before && summary.compiled_launches == 0
                  && summary.launches > 0,
              "%d calls of the device, %d launches on the host",
              (int)(emulated.calls - before), (int)summary.launches);
    if (devices_image(sim, NULL, image) != NB_OK) abort();
    tap_check(emulated.calls > before, "images are the device's again");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    tap_check(devices_balanced(), "all memory was given back");
    return TAP_PASS;
}

/* ---- who computes ---- */

static void check_device(const char *what, nb_context *ctx, const nb_scene *scene,
                         int strategy, const char *device, const char *why)
{
    const nb_options options = {.strategy = strategy};
    nb_simulator *sim;
    nb_description about;

    if (nb_simulator_create(ctx, scene, "", &options, &sim) != NB_OK
        || nb_describe(sim, NULL, &about) != NB_OK) {
        tap_check(0, "%s: %s", what, nb_context_message(ctx));
        return;
    }
    tap_check(strncmp(about.device, device, strlen(device)) == 0
                  && strstr(about.device_why, why),
              "%s: images on %s, %s", what, about.device, about.device_why);
    nb_simulator_free(sim);
}

static int choices(void)
{
    nb_scene small = scenes_base(), large = scenes_base();
    nb_context *automatic, *asked, *host;

    emulated_reset();
    large.detector.nslow = large.detector.nfast = 4000;
    large.crystal.ndomains = 1000;
    automatic = devices_context(NB_DEVICE_AUTO);
    asked = devices_context(NB_CUDA);
    host = devices_context(0);
    check_device("by default", host, &small, NB_STRATEGY_AUTO, "cpu", "default");
    check_device("auto, little work", automatic, &small, NB_STRATEGY_AUTO, "cpu",
                 "s estimated there");
    check_device("auto, much work", automatic, &large, NB_STRATEGY_AUTO, "emulated:0",
                 "s estimated there");
    check_device("asked for", asked, &small, NB_STRATEGY_AUTO, "emulated:0", "asked for");
    check_device("the reference", asked, &small, NB_REFERENCE, "cpu", "reference");
    check_device("spots", asked, &small, NB_SPOTS, "cpu", "spots were asked for");
    emulated.memory = 2000;
    nb_context_free(asked);
    asked = devices_context(NB_CUDA);
    check_device("a device too small", asked, &small, NB_STRATEGY_AUTO, "cpu",
                 "a row of tiles alone");
    nb_context_free(automatic);
    nb_context_free(asked);
    nb_context_free(host);
    emulated.devices = 0;
    automatic = devices_context(NB_DEVICE_AUTO);
    check_device("auto, none there", automatic, &large, NB_STRATEGY_AUTO, "cpu", "");
    nb_context_free(automatic);
    emulated_reset();
    return TAP_PASS;
}

static int by_environment(void)
{
    static const struct {
        const char *value;
        int device, id, warns;
    } rows[] = {{"", NB_CPU, 0, 0},
                {"cpu", NB_CPU, 0, 0},
                {"auto", NB_DEVICE_AUTO, 0, 0},
                {"cuda", NB_CUDA, 0, 0},
                {"cuda:3", NB_CUDA, 3, 0},
                {"cuda:", NB_CPU, 0, 1},
                {"cuda:x", NB_CPU, 0, 1},
                {"gpu", NB_CPU, 0, 1},
                {"cuda:-1", NB_CPU, 0, 1},
                {"cuda:99999", NB_CPU, 0, 1}};
    nb_context *ctx;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setenv("NANOBRAG_DEVICE", rows[i].value, 1);
        devices_warnings = 0;
        ctx = devices_context(0);
        tap_check(ctx->device == rows[i].device && ctx->device_id == rows[i].id
                      && devices_warnings == rows[i].warns,
                  "NANOBRAG_DEVICE=%s: %d, %d; %d warnings", rows[i].value, ctx->device,
                  ctx->device_id, devices_warnings);
        nb_context_free(ctx);
    }
    setenv("NANOBRAG_DEVICE", "cuda", 1);
    ctx = devices_context(NB_CPU);
    tap_check(ctx->device == NB_CPU, "the options win over it");
    nb_context_free(ctx);
    unsetenv("NANOBRAG_DEVICE");
    return TAP_PASS;
}

/* CUDA's driver itself, where this machine has none */
static int without_cuda(void)
{
    static double host[PIXELS], image[PIXELS];
    const nb_scene scene = scenes_base();
    nb_context *ctx = devices_context(NB_CUDA);
    nb_simulator *sim;
    nb_description about;

    ctx->driver = NULL;
    devices_warnings = 0;
    sim = devices_make(ctx, &scene, "", NB_DOUBLE);
    if (nb_describe(sim, NULL, &about) != NB_OK) abort();
    if (strcmp(about.device, "cpu") != 0) {
        nb_simulator_free(sim);
        nb_context_free(ctx);
        return tap_skip("there is one: %s", about.device);
    }
    tap_check(devices_warnings == 1, "one warning: %s", devices_warning);
    tap_check(strlen(about.device_why) > 10, "and why: %s", about.device_why);
    if (devices_image(sim, NULL, image) != NB_OK) abort();
    devices_render(&scene, NB_CPU, NB_DOUBLE, host);
    tap_check(bits_same(image, host, sizeof host / sizeof *host), "the host's bits");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

static const struct tap_case cases[] = {
    {"double", double_images},
    {"float", float_images},
    {"bands", strips},
    {"regions", regions},
    {"calls", calls},
    {"any_call_fails", any_call_fails},
    {"once_lost", once_lost},
    {"strict", strict},
    {"cancelled", cancelled},
    {"progress_when_lost", progress_when_lost},
    {"gradcheck_on_host", gradcheck_on_host},
    {"choices", choices},
    {"environment", by_environment},
    {"without_cuda", without_cuda},
};

int main(int argc, char **argv)
{
    compiled_environment();
    unsetenv("NANOBRAG_DEVICE");
    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
