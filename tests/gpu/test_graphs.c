/*
 * test_graphs.c - launches of images on a watched device (device/watched.h) that are
 * recorded once and replayed: when they are, that this changes no bit, and that recordings
 * are freed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "base/log.h"
#include "device/devices.h"
#include "device/watched.h"
#include "gpu/gpu.h"
#include "simulator.h"
#include "support/compiled.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

enum { PIXELS = COMPILED_PIXELS };

/* a simulator on a device of its own context */
struct made {
    nb_context *ctx;
    nb_simulator *sim;
};

static struct made make(const nb_scene *scene, const char *names, int precision)
{
    struct made m;

    m.sim = devices_open(scene, names, precision, &m.ctx);
    return m;
}

/* the same while the environment says so */
static struct made make_with(const char *variable, const char *value, const nb_scene *scene,
                             const char *names)
{
    struct made m;

    setenv(variable, value, 1);
    m = make(scene, names, NB_PRECISION_DOUBLE);
    unsetenv(variable);
    return m;
}

static void free_made(struct made *m)
{
    devices_free(m->ctx, m->sim);
}

static void check_balance(void)
{
    tap_check(watched.recordings_held == 0 && devices_balanced(),
              "%d recordings are left, all memory was given back", watched.recordings_held);
}

static void check_counts(const char *what, const nb_simulator *sim, uint64_t captures,
                         uint64_t replays, uint64_t skips)
{
    const nb_compile_stats s = compiled_stats(sim);

    tap_check(s.captures == captures && s.replays == replays && s.skips == skips,
              "%s: %llu captures expected %llu, %llu replays expected %llu, %llu skips "
              "expected %llu",
              what, (unsigned long long)s.captures, (unsigned long long)captures,
              (unsigned long long)s.replays, (unsigned long long)replays,
              (unsigned long long)s.skips, (unsigned long long)skips);
}

static void image(const struct made *m, const double *x, double *out)
{
    if (devices_image(m->sim, x, out) == NB_OK) return;
    tap_note("%s", nb_context_message(m->ctx));
    abort();
}

/* every parameter `step` hundred-thousandths of what matters away from its value */
static void parameters_at(const nb_simulator *sim, int step, double *x)
{
    for (size_t i = 0; i < nb_simulator_nparam(sim); i++) {
        nb_param p;
        double change;

        if (nb_simulator_param(sim, i, &p) != NB_OK) abort();
        change = 1e-5 * p.scale * step;
        x[i] = p.value + (p.value + change > p.upper ? -change : change);
    }
}

/* ---- what is recorded ---- */

/* all parameters change in every call: one capture; replayed, launched plainly or
 * uncompiled, the bits are the same */
static int many_calls(void)
{
    enum { CALLS = 20 };
    static double graphs[PIXELS], plain[PIXELS], eager[PIXELS], before[PIXELS];
    const nb_scene scene = scenes_base();
    struct made a, b, c;
    double x[128];
    int same = 0, moved = 0;

    watched_reset();
    a = make(&scene, "*", NB_PRECISION_DOUBLE);
    b = make_with("NANOBRAG_GRAPHS", "0", &scene, "*");
    c = make_with("NANOBRAGG_DISABLE_COMPILE", "1", &scene, "*");
    if (nb_simulator_nparam(a.sim) > sizeof x / sizeof *x) abort();
    for (int step = 0; step < CALLS; step++) {
        parameters_at(a.sim, step, x);
        memcpy(before, graphs, sizeof before);
        image(&a, x, graphs);
        image(&b, x, plain);
        image(&c, x, eager);
        same += bits_same(graphs, plain, PIXELS) && bits_same(graphs, eager, PIXELS);
        moved += 0 < bits_differ(graphs, before, PIXELS);
    }
    tap_check(same == CALLS && moved == CALLS,
              "%zu parameters change: %d images of the same bits expected %d, %d of others "
              "than the one before",
              nb_simulator_nparam(a.sim), same, (int)CALLS, moved);
    check_counts("replayed", a.sim, 1, CALLS, 0);
    check_counts("NANOBRAG_GRAPHS=0", b.sim, 0, 0, 0);
    check_counts("uncompiled", c.sim, 0, 0, 0);
    tap_check(watched.records == 1 && watched.replays == CALLS
                  && watched.launches[GPU_IMAGE] == 3 * CALLS,
              "the driver: %llu recorded, %llu replayed, %llu images",
              (unsigned long long)watched.records, (unsigned long long)watched.replays,
              (unsigned long long)watched.launches[GPU_IMAGE]);
    free_made(&a);
    free_made(&b);
    free_made(&c);
    check_balance();
    return TAP_PASS;
}

/* the last band is of another height */
static int strips(void)
{
    static double one[DEVICES_MANY], many[DEVICES_MANY];
    const nb_scene scene = devices_many_tiles();
    struct made m;
    uint64_t n;

    watched_reset();
    devices_render(&scene, NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, one);
    watched_reset();
    watched.memory = 180000;
    m = make(&scene, "", NB_PRECISION_DOUBLE);
    for (int i = 1; i <= 2; i++) {
        image(&m, NULL, many);
        n = watched.launches[GPU_IMAGE];
        check_counts("bands", m.sim, 2, n, 0);
        tap_check(n > 2 * (uint64_t)i && bits_same(one, many, DEVICES_MANY),
                  "%llu bands, the same bits", (unsigned long long)n);
    }
    free_made(&m);
    check_balance();
    watched_reset();
    return TAP_PASS;
}

/* addresses in the block of parameters are numbers, that of the block is not */
static int buffers_move(void)
{
    static double first[PIXELS], out[PIXELS];
    const nb_scene scene = scenes_base();
    struct gpu_scene *s;
    struct gpu_buffer old;
    struct made m;

    watched_reset();
    m = make(&scene, "", NB_PRECISION_DOUBLE);
    s = &m.sim->device.scene;
    image(&m, NULL, first);
    for (int i = 0; i < 2; i++) {
        gpu_drop(s->gpu, &s->partial);
        gpu_front_forget(s);
        gpu_drop(s->gpu, &s->photons);
        image(&m, NULL, out);
        tap_check(bits_same(first, out, PIXELS), "the same bits");
    }
    check_counts("lists and sums elsewhere", m.sim, 1, 3, 0);
    old = s->parameters; /* held meanwhile, so that the next lies elsewhere */
    s->parameters.address = 0;
    s->parameters.bytes = 0;
    image(&m, NULL, out);
    tap_check(bits_same(first, out, PIXELS), "the same bits");
    check_counts("parameters elsewhere", m.sim, 2, 4, 0);
    tap_check(watched.recordings_held == 1, "%d recording is kept",
              watched.recordings_held);
    gpu_drop(s->gpu, &old);
    free_made(&m);
    check_balance();
    return TAP_PASS;
}

/* A, B, A: in one simulator, and of two in turn */
static int back_and_forth(void)
{
    static double a[PIXELS], b[PIXELS], again[PIXELS];
    nb_scene scene = scenes_base(), round = scenes_base();
    struct made one, other;
    double x[128];

    watched_reset();
    one = make(&scene, "cell misset distance", NB_PRECISION_DOUBLE);
    round.crystal.shape = NB_SHAPE_GAUSS;
    other = make(&round, "", NB_PRECISION_SINGLE);
    parameters_at(one.sim, 1000, x);
    image(&one, NULL, a);
    image(&one, x, b);
    image(&other, NULL, b);
    image(&one, NULL, again);
    tap_check(bits_same(a, again, PIXELS), "A, B, A: the same bits");
    image(&other, NULL, again);
    tap_check(bits_same(b, again, PIXELS), "in turn: the same bits");
    check_counts("A, B, A", one.sim, 1, 3, 0);
    check_counts("the other", other.sim, 1, 2, 0);
    free_made(&one);
    free_made(&other);
    check_balance();
    return TAP_PASS;
}

/* photons of `blocks` tiles anew, of what is on the device */
static void some_tiles(const struct made *m, unsigned blocks)
{
    const struct gpu_sequence tiles = {"tiles",
                                       1,
                                       {{{GPU_FINISH, 0, 0, 0, NULL}, blocks, 0, 0}}};
    struct job job = {0};

    job.planned = 1;
    if (gpu_run(m->ctx, &m->sim->device.scene, &job, &tiles) != NB_OK) abort();
}

/* the oldest makes room */
static int at_most_a_few(void)
{
    static double out[PIXELS];
    const nb_scene scene = scenes_base();
    struct made m;

    watched_reset();
    m = make(&scene, "", NB_PRECISION_DOUBLE);
    image(&m, NULL, out);
    for (unsigned i = 1; i <= GPU_RECORDINGS; i++) some_tiles(&m, i);
    check_counts("one more than are kept", m.sim, 1 + GPU_RECORDINGS, 1 + GPU_RECORDINGS,
                 0);
    tap_check(watched.recordings_held == GPU_RECORDINGS, "%d are kept",
              watched.recordings_held);
    some_tiles(&m, GPU_RECORDINGS);
    some_tiles(&m, 1);
    check_counts("those are replayed", m.sim, 1 + GPU_RECORDINGS, 3 + GPU_RECORDINGS, 0);
    image(&m, NULL, out);
    check_counts("the oldest is not", m.sim, 2 + GPU_RECORDINGS, 4 + GPU_RECORDINGS, 0);
    free_made(&m);
    check_balance();
    return TAP_PASS;
}

/* an image of the caller's, each time at another place: also a number */
static int output_there(void)
{
    static double host[PIXELS], out[PIXELS];
    const nb_scene scene = scenes_base();
    struct made m;
    const struct gpu *gpu;
    gpu_address workspace;

    watched_reset();
    m = make(&scene, "", NB_PRECISION_DOUBLE);
    gpu = m.sim->device.scene.gpu;
    image(&m, NULL, host);
    if (gpu->driver->allocate(m.ctx, gpu->device, 3 * sizeof out, &workspace) != NB_OK)
        abort();
    for (int i = 0; i < 3; i++) {
        const gpu_address at = workspace + (gpu_address)i * sizeof out;
        nb_array array = nb_array_f64((double *)(uintptr_t)at, scene.detector.nslow,
                                      scene.detector.nfast);

        array.device = NB_DEVICE_CUDA;
        if (nb_forward(m.sim, NULL, &array) != NB_OK
            || gpu->driver->download(m.ctx, gpu->device, out, at, sizeof out) != NB_OK
            || gpu->driver->wait(m.ctx, gpu->device) != NB_OK)
            abort();
        tap_check(bits_same(host, out, PIXELS), "image %d: the same bits", i);
    }
    check_counts("at four places", m.sim, 1, 4, 0);
    gpu->driver->release(gpu->device, workspace);
    free_made(&m);
    check_balance();
    return TAP_PASS;
}

/* ---- what is not ---- */

static int switched_off(void)
{
    static const struct {
        const char *value;
        int on, warns;
    } rows[] = {{"", 1, 0}, {"1", 1, 0}, {"0", 0, 0}, {"no", 1, 1}};
    static double out[PIXELS];
    const nb_scene scene = scenes_base();

    watched_reset();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        uint64_t n = (uint64_t)rows[i].on;

        devices_warnings = 0;
        m = make_with("NANOBRAG_GRAPHS", rows[i].value, &scene, "");
        image(&m, NULL, out);
        tap_note("NANOBRAG_GRAPHS='%s'", rows[i].value);
        check_counts("one image", m.sim, n, n, 0);
        tap_check(devices_warnings == rows[i].warns, "%d warnings expected %d",
                  devices_warnings, rows[i].warns);
        free_made(&m);
    }
    check_balance();
    return TAP_PASS;
}

/* ---- what is told: stderr to a file meanwhile ---- */

static FILE *told;
static int stderr_was;

static void listen(void)
{
    (void)fflush(stderr);
    stderr_was = dup(STDERR_FILENO);
    told = tmpfile();
    if (!told || stderr_was < 0 || dup2(fileno(told), STDERR_FILENO) < 0) abort();
}

/* the lines since listen() */
static const char *heard(void)
{
    static char lines[4096];
    size_t n;

    (void)fflush(stderr);
    (void)dup2(stderr_was, STDERR_FILENO);
    (void)close(stderr_was);
    rewind(told);
    n = fread(lines, 1, sizeof lines - 1, told);
    lines[n] = '\0';
    (void)fclose(told);
    return lines;
}

static void check_lines(const char *expected)
{
    const char *lines = heard();

    tap_check(strcmp(lines, expected) == 0, "told:\n%sexpected:\n%s", lines, expected);
}

/* a call with an array that is input and output */
static nb_status call_mutated(const struct made *m, double *photons)
{
    const struct phys_frame *frame;
    nb_scene scene;
    struct job job;

    NB_TRY(simulator_frame(m->sim, NULL, &scene, &frame));
    job = simulator_job(m->sim, &scene, frame, photons);
    job.planned = 1;
    job.mutated = "image";
    return gpu_forward(&m->sim->progress, &m->sim->device.scene, &job, 0, NULL);
}

static int mutated(void)
{
    static double first[PIXELS], out[PIXELS];
    const nb_scene scene = scenes_base();
    struct made m;

    watched_reset();
    m = make(&scene, "", NB_PRECISION_DOUBLE);
    image(&m, NULL, first);
    m.ctx->env.topics = TOPIC_CUDAGRAPHS;
    listen();
    if (call_mutated(&m, out) != NB_OK) abort();
    check_lines("nanobrag: [cudagraphs] skipping cudagraphs due to mutated inputs "
                "(1 instance): 'image'\n");
    tap_check(bits_same(first, out, PIXELS), "the same bits");
    check_counts("and a call with mutated inputs", m.sim, 1, 1, 1);
    m.ctx->env.topics = 0;
    image(&m, NULL, out);
    check_counts("the next is replayed", m.sim, 1, 2, 1);
    free_made(&m);
    check_balance();
    return TAP_PASS;
}

static int lines(void)
{
    static double out[PIXELS];
    const nb_scene scene = scenes_base();
    struct made m;

    watched_reset();
    setenv("NANOBRAG_LOGS", "cudagraphs", 1);
    m = make(&scene, "", NB_PRECISION_DOUBLE);
    unsetenv("NANOBRAG_LOGS");
    listen();
    image(&m, NULL, out);
    image(&m, NULL, out);
    check_lines("nanobrag: [cudagraphs] captured image: 2 launches\n"
                "nanobrag: [cudagraphs] replayed image\n"
                "nanobrag: [cudagraphs] replayed image\n");
    free_made(&m);
    return TAP_PASS;
}

/* plain launches from then on, told and counted as one fallback */
static int record_fails(void)
{
    static double first[PIXELS], out[PIXELS];
    const nb_scene scene = scenes_base();
    nb_compile_stats stats;
    struct made m;

    watched_reset();
    devices_render(&scene, NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, first);
    watched_reset();
    watched.fail_record = 1;
    m = make(&scene, "", NB_PRECISION_DOUBLE);
    m.ctx->env.topics = TOPIC_CUDAGRAPHS | TOPIC_FALLBACK;
    listen();
    for (int i = 0; i < 2; i++) image(&m, NULL, out);
    check_lines(
        "nanobrag: [fallback] CUDA graphs: a recording: error 999 of the watched device\n"
        "nanobrag: [cudagraphs] skipping cudagraphs: a recording: error 999 of the "
        "watched device\n"
        "nanobrag: [cudagraphs] skipping cudagraphs: a recording: error 999 of the "
        "watched device\n");
    tap_check(bits_same(first, out, PIXELS), "the same bits");
    check_counts("no recording", m.sim, 0, 0, 2);
    stats = compiled_stats(m.sim);
    tap_check(stats.fallbacks == 1 && watched.records == 1, "%llu fallback, %llu try",
              (unsigned long long)stats.fallbacks, (unsigned long long)watched.records);
    free_made(&m);
    check_balance();
    watched_reset();
    return TAP_PASS;
}

/* what was recorded before is still replayed: of four bands, all but the last */
static int one_record_fails(void)
{
    static double first[DEVICES_MANY], out[DEVICES_MANY];
    const nb_scene scene = devices_many_tiles();
    struct made m;

    watched_reset();
    devices_render(&scene, NB_DEVICE_CUDA, NB_PRECISION_DOUBLE, first);
    watched_reset();
    watched.memory = 180000;
    watched.fail_record = 2;
    m = make(&scene, "", NB_PRECISION_DOUBLE);
    for (int i = 0; i < 2; i++) image(&m, NULL, out);
    tap_check(bits_same(first, out, DEVICES_MANY), "the same bits");
    check_counts("two images", m.sim, 1, 6, 2);
    free_made(&m);
    check_balance();
    watched_reset();
    return TAP_PASS;
}

static int strict(void)
{
    static double out[PIXELS];
    const nb_scene scene = scenes_base();
    struct made m;
    nb_status status;

    watched_reset();
    watched.fail_record = 1;
    m = make_with("NANOBRAG_STRICT", "1", &scene, "");
    status = devices_image(m.sim, NULL, out);
    tap_check(status == NB_ERR_UNSUPPORTED, "NANOBRAG_STRICT=1: %s",
              nb_context_message(m.ctx));
    free_made(&m);
    check_balance();
    watched_reset();
    return TAP_PASS;
}

/* a device that fails while it replays is lost, and what it kept is given back */
static int replay_fails(void)
{
    static double host[PIXELS], out[PIXELS];
    const nb_scene scene = scenes_base();
    struct made m;

    watched_reset();
    devices_render(&scene, NB_DEVICE_CPU, NB_PRECISION_DOUBLE, host);
    m = make(&scene, "", NB_PRECISION_DOUBLE);
    image(&m, NULL, out);
    watched.fail_at = watched.calls + 2; /* after the parameters */
    image(&m, NULL, out);
    tap_check(watched.replays == 2 && bits_same(host, out, PIXELS),
              "replayed %llu times; the host's bits", (unsigned long long)watched.replays);
    tap_check(watched.recordings_held == 0, "%d recordings are kept",
              watched.recordings_held);
    check_counts("the second failed", m.sim, 1, 1, 0);
    free_made(&m);
    check_balance();
    watched_reset();
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"many_calls", many_calls},
        {"bands", strips},
        {"buffers_move", buffers_move},
        {"back_and_forth", back_and_forth},
        {"at_most_a_few", at_most_a_few},
        {"device_output", output_there},
        {"switched_off", switched_off},
        {"mutated", mutated},
        {"record_fails", record_fails},
        {"one_record_fails", one_record_fails},
        {"strict", strict},
        {"replay_fails", replay_fails},
        {"lines", lines},
    };

    compiled_environment();
    unsetenv("NANOBRAG_DEVICE");
    unsetenv("NANOBRAG_GRAPHS");
    return devices_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
