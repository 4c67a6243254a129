/*
 * gpu.c - nanobrag_bench_gpu: how fast images are on a CUDA device, beside every core of
 * the host, and how far the two are apart.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "timed.h"
#include "timing.h"

enum { USAGE = 2, SKIPPED = 77, TILE_SLOW = 8 };

static const char help[] =
    "usage: nanobrag_bench_gpu [OPTION]...\n"
    "How fast images are on a CUDA device, beside lanes on the cores of the host; and,\n"
    "of cases M and S, what a loss, its gradient, noise and a batch of images cost.\n"
    "  -cases A,B    of those that -list names, also as AB or a,b (default: all but F)\n"
    "  -threads N    of the host (default: every core)\n"
    "  -repeat N     images of which a median is taken (default: 9)\n"
    "  -hot          times the kernels that NVRTC builds for an image, once they are in "
    "use\n"
    "  -list         names the cases\n"
    "  -help         this text; --x is -x\n"
    "Exit status: 0 done, 1 an image failed or is wrong, 2 wrong usage, 77 there is no "
    "device.\n";

struct gpu_options {
    const char *letters;
    int threads, repeat; /* threads 0: every core */
    int list, help, hot;
};

/* of images that float and double make: a larger difference is an error */
static const double allowed[2] =
    {[NB_PRECISION_DOUBLE] = 1e-10, [NB_PRECISION_SINGLE] = 1e-5};

/* seconds that an image of the host may take, and a part of it that stands for the whole */
static const double host_most = 10;
enum { HOST_PARTS = 16 };

/* ---- cases ---- */

static void list_cases(void)
{
    struct bench_case c;

    for (int letter = 'A'; letter <= 'Z'; letter++)
        if (cases_of((char)letter, &c))
            (void)printf("%c  %d x %d  %s\n", letter, c.is.scene.detector.nfast,
                         c.is.scene.detector.nslow, c.what);
}

/* ---- options ---- */

static void refuse(const char *what, const char *word)
{
    (void)fprintf(stderr, "nanobrag_bench_gpu: %s%s%s; -help lists the options\n", what,
                  *word ? " " : "", word);
    exit(USAGE);
}

static int count_of(const char *option, const char *word)
{
    char *end;
    const long count = strtol(word, &end, 10);

    if (end == word || *end || count < 1 || count > 1024)
        refuse(option, "expects 1 to 1024");
    return (int)count;
}

/* "A,B" or "AB", also in lower case; a comma stands between two letters */
static const char *letters_of(const char *word)
{
    static char letters[32];
    struct bench_case c;
    size_t n = 0;

    for (const char *p = word; *p; p++) {
        const char letter = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);

        if (!cases_of(letter, &c) || n + 1 == sizeof letters)
            refuse("-cases expects letters that -list names, not", word);
        letters[n++] = letter;
        if (p[1] == ',' && p[2]) p++;
    }
    if (n == 0) refuse("-cases expects letters that -list names", "");
    return letters;
}

static struct gpu_options options_read(int argc, char **argv)
{
    struct gpu_options o = {.letters = "ABCDEGMSL", .repeat = 9};

    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value = argv[i + 1];

        if (word[0] == '-' && word[1] == '-') word++;
        if (strcmp(word, "-list") == 0) {
            o.list = 1;
        } else if (strcmp(word, "-help") == 0) {
            o.help = 1;
        } else if (strcmp(word, "-hot") == 0) {
            o.hot = 1;
        } else if (strcmp(word, "-cases") != 0 && strcmp(word, "-threads") != 0
                   && strcmp(word, "-repeat") != 0) {
            refuse("unknown option", word);
        } else {
            if (!value) refuse(word, "expects a value");
            if (word[1] == 'c') o.letters = letters_of(value);
            if (word[1] == 't') o.threads = count_of(word, value);
            if (word[1] == 'r') o.repeat = count_of(word, value);
            i++;
        }
    }
    return o;
}

/* ---- one way to make the images of a case ---- */

struct way {
    int device, precision, strategy, threads;
};

/* 1, or 0 with `said`; close it in either case */
static int open_way(struct timed *t, const struct bench_case *c, const struct way *way)
{
    const struct timed_request request = {.of = c->is,
                                          .options = {.precision = way->precision,
                                                      .strategy = way->strategy},
                                          .threads = way->threads,
                                          .device = way->device,
                                          .is_wide = 1,
                                          .clock = timing_seconds,
                                          .calls = 1U << TIMED_IMAGE};

    return timed_open(t, &request);
}

/* 1 if a device was lost meanwhile, with `said` */
static int is_lost(struct timed *t)
{
    nb_compile_stats stats;

    nb_simulator_stats(t->sim, &stats);
    if (stats.fallbacks > 0)
        (void)snprintf(t->said, sizeof t->said, "%.150s", nb_context_message(t->ctx));
    return stats.fallbacks > 0;
}

/* the median of `repeat` images or more; 0 on failure */
static double time_images(struct timed *t, int repeat, double budget)
{
    return timed_turns(t, 1, repeat, budget) && !is_lost(t)
               ? timing_median(t->times[TIMED_IMAGE], t->n)
               : 0;
}

/* Make images until one is by a kernel built at run time; 0 with `said` after 20 s. */
static int heat(struct timed *t)
{
    const double start = timing_seconds(), patience = 20;
    nb_compile_stats stats = {0};

    while (stats.promotions == 0 && timing_seconds() - start < patience) {
        if (timed_run(t, TIMED_IMAGE) == 0) return 0;
        nb_simulator_stats(t->sim, &stats);
    }
    if (stats.promotions > 0) return 1;
    (void)snprintf(t->said, sizeof t->said, "no kernel was built at run time");
    return 0;
}

static int is_on_host(const struct timed *t)
{
    return strcmp(t->about.device, "cpu") == 0;
}

/* ---- the host ---- */

struct host {
    double *image; /* in double by lanes */
    int first, end; /* rows of it that were computed */
    double lanes[2], spots[2]; /* seconds of a whole image; 0: not run */
    int part[2]; /* 1: lanes computed a part */
};

/* Lanes cost the same everywhere: a part stands for the whole where that would take long.
 * `c` becomes what was computed. */
static double time_lanes(struct bench_case *c, const struct way *way, struct timed *t)
{
    nb_detector *const d = &c->is.scene.detector;
    const struct bench_case all = *c;
    const int rows = d->nslow / HOST_PARTS / TILE_SLOW * TILE_SLOW;
    double seconds = 0;

    if (rows > 0) {
        d->roi[1] = d->nfast;
        d->roi[2] = (d->nslow - rows) / 2 / TILE_SLOW * TILE_SLOW;
        d->roi[3] = d->roi[2] + rows;
        if (!open_way(t, c, way)) return 0;
        (void)timed_run(t, TIMED_IMAGE); /* wakes the threads */
        seconds = timed_run(t, TIMED_IMAGE) * d->nslow / rows;
        if (seconds == 0 || seconds > host_most) return seconds;
        timed_close(t);
    }
    *c = all;
    return open_way(t, c, way) ? time_images(t, 3, host_most / 4) : 0;
}

static void measure_host(const struct bench_case *c, struct way way, struct host *host)
{
    static struct timed t;

    memset(host, 0, sizeof *host);
    way.device = NB_DEVICE_CPU;
    for (way.precision = NB_PRECISION_DOUBLE; way.precision <= NB_PRECISION_SINGLE;
         way.precision++) {
        struct bench_case part = *c;
        const int *const roi = part.is.scene.detector.roi;

        way.strategy = NB_STRATEGY_LANES;
        host->lanes[way.precision] = time_lanes(&part, &way, &t);
        host->part[way.precision] = roi[1] > 0;
        if (way.precision == NB_PRECISION_DOUBLE) {
            host->image = t.photons;
            t.photons = NULL;
            host->first = roi[2];
            host->end = roi[1] > 0 ? roi[3] : c->is.scene.detector.nslow;
        }
        if (host->lanes[way.precision] == 0)
            (void)fprintf(stderr, "nanobrag_bench_gpu: %c, host: %s\n", c->letter, t.said);
        timed_close(&t);
        way.strategy = NB_STRATEGY_AUTO;
        if (open_way(&t, c, &way) && t.about.strategy == NB_STRATEGY_SPOTS)
            host->spots[way.precision] = time_images(&t, 3, host_most / 4);
        timed_close(&t);
    }
}

/* the largest difference over the host's largest pixel */
static double difference(const struct host *host, int nfast, const double *image)
{
    const size_t end = (size_t)host->end * (size_t)nfast;
    double worst = 0, peak = 0;

    for (size_t i = (size_t)host->first * (size_t)nfast; i < end; i++) {
        const double off = fabs(image[i] - host->image[i]);

        if (!(off <= worst)) worst = isnan(off) ? HUGE_VAL : off;
        peak = fmax(peak, fabs(host->image[i]));
    }
    return peak > 0 ? worst / peak : worst;
}

/* ---- the table ---- */

static const char *seconds_of(double seconds, int is_part, char *text, size_t n)
{
    const char *mark = is_part ? "~" : "";

    if (seconds <= 0)
        (void)snprintf(text, n, "-");
    else if (seconds < 1e-3)
        (void)snprintf(text, n, "%s%.3g us", mark, 1e6 * seconds);
    else if (seconds < 1)
        (void)snprintf(text, n, "%s%.3g ms", mark, 1e3 * seconds);
    else
        (void)snprintf(text, n, "%s%.3g s", mark, seconds);
    return text;
}

static void print_head(const struct timed *r, double opened,
                       const struct gpu_options *options)
{
    (void)printf("nanobrag %s (%s)\n"
                 "device: %s; opened in %.2f s with its first simulator\n"
                 "kernels: of the build%s\n"
                 "host: %d threads; medians of %d images or more on the device, the first "
                 "apart\n\n"
                 "%-8s %11s %8s %8s %8s %8s %8s %8s %7s %7s\n",
                 nb_version(), nb_features(), r->about.device, opened,
                 options->hot ? ", then those that NVRTC builds for the image" : "",
                 nb_context_threads(r->ctx), options->repeat, "case", "pixels", "evals",
                 "lanes", "spots", "first", "device", "evals/s", "x lanes", "off");
}

/* 0 when the image is wrong or was not made */
static int measure_device(const struct bench_case *c, const struct host *host,
                          const struct way *way, const struct gpu_options *options)
{
    static struct timed t;
    const nb_detector *const d = &c->is.scene.detector;
    const int p = way->precision;
    char text[4][32], size[32];
    double first = 0, seconds = 0, worst;
    int ok = open_way(&t, c, way);

    if (ok && is_on_host(&t)) {
        (void)snprintf(t.said, sizeof t.said, "on the host: %.120s", t.about.device_why);
        ok = 0;
    }
    if (ok) first = timed_run(&t, TIMED_IMAGE);
    if (first > 0 && options->hot && !heat(&t)) first = 0;
    if (first > 0) seconds = time_images(&t, options->repeat, 3);
    if (seconds == 0) {
        (void)printf("%c %-6s not run: %s\n", c->letter, precision_word(p), t.said);
        timed_close(&t);
        return 0;
    }
    worst = host->lanes[NB_PRECISION_DOUBLE] > 0 ? difference(host, d->nfast, t.photons)
                                                 : HUGE_VAL;
    (void)snprintf(size, sizeof size, "%d x %d", d->nfast, d->nslow);
    (void)printf("%c %-6s %11s %8.1e %8s %8s %8s %8s %8.1e %7.1f %7.0e%s\n", c->letter,
                 precision_word(p), size, t.about.evaluations,
                 seconds_of(host->lanes[p], host->part[p], text[0], sizeof text[0]),
                 seconds_of(host->spots[p], 0, text[1], sizeof text[1]),
                 seconds_of(first, 0, text[2], sizeof text[2]),
                 seconds_of(seconds, 0, text[3], sizeof text[3]),
                 t.about.evaluations / seconds, host->lanes[p] / seconds, worst,
                 worst <= allowed[p] ? "" : " WRONG");
    (void)fflush(stdout);
    timed_close(&t);
    return worst <= allowed[p];
}

/* ---- calls other than an image ---- */

static void print_time(double seconds, int width)
{
    if (seconds <= 0)
        (void)printf(" %*s", width, "-");
    else
        (void)printf(" %*.4g ms", width - 3, 1e3 * seconds);
}

/* Print two lines for a case, in double and in float; 0 when a call failed or was not the
 * device's. */
static int measure_calls(const struct bench_case *c, int repeat)
{
    static const int shown[] = {TIMED_IMAGE, TIMED_VALUE, TIMED_GRADIENT, TIMED_NOISE,
                                TIMED_BATCH};
    static struct timed t;
    const nb_detector *const d = &c->is.scene.detector;
    struct timed_request request = {.of = c->is,
                                    .device = NB_DEVICE_CUDA,
                                    .is_wide = 1,
                                    .clock = timing_seconds,
                                    .free_names = "cell misset ncells distance origin "
                                                  "detector_rot fluence wavelength "
                                                  "b_factor scale"};
    int good = 1;

    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (shown[i] != TIMED_BATCH || d->nslow * d->nfast <= 256 * 256)
            request.calls |= 1U << shown[i];
    for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
         precision++) {
        nb_compile_stats stats;

        request.options.precision = precision;
        if (!timed_open(&t, &request) || !timed_turns(&t, 1, repeat, 3)) {
            (void)printf("%c: %s\n", c->letter, t.said);
            timed_close(&t);
            return 0;
        }
        nb_simulator_stats(t.sim, &stats);
        (void)printf("%c %-6s", c->letter, precision_word(precision));
        for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
            const int is_made = request.calls >> shown[i] & 1;
            const double seconds = is_made ? timing_median(t.times[shown[i]], t.n) : 0;

            print_time(shown[i] == TIMED_BATCH ? seconds / TIMED_IN_BATCH : seconds, 10);
            if (shown[i] == TIMED_GRADIENT)
                (void)printf(" %12.2e", t.about.evaluations / seconds);
        }
        (void)printf(" %6d\n", (int)stats.fallbacks);
        (void)fflush(stdout);
        good = good && stats.fallbacks == 0 && !is_on_host(&t);
        timed_close(&t);
    }
    return good;
}

/* ---- all of it ---- */

static int run_all(const struct gpu_options *options)
{
    struct way way = {.device = NB_DEVICE_CUDA, .threads = options->threads};
    const double start = timing_seconds();
    static struct timed r;
    struct bench_case c;
    int good = 1;

    if (!cases_of('S', &c) || !open_way(&r, &c, &way) || is_on_host(&r)) {
        (void)printf("skipped: no device: %s\n",
                     r.about.device_why ? r.about.device_why : r.said);
        timed_close(&r);
        return SKIPPED;
    }
    print_head(&r, timing_seconds() - start, options);
    timed_close(&r);
    for (const char *letter = options->letters; *letter; letter++) {
        struct host host;

        (void)cases_of(*letter, &c);
        measure_host(&c, way, &host);
        for (way.precision = NB_PRECISION_DOUBLE; way.precision <= NB_PRECISION_SINGLE;
             way.precision++)
            good = measure_device(&c, &host, &way, options) && good;
        way.precision = NB_PRECISION_DOUBLE;
        free(host.image);
    }
    (void)printf("\nevals: pixels x sub-pixels x sources x phi steps x domains; lanes, "
                 "spots: images of the\nhost (~: of a part, scaled up); first, device: of "
                 "the device; off: the largest difference\nfrom lanes in double, over the "
                 "largest pixel.\n");
    (void)printf("\n%-8s %10s %10s %10s %12s %10s %10s %6s\n", "case", "image", "loss",
                 "gradient", "x evals/s", "noise", "of batch", "lost");
    for (const char *letter = options->letters; *letter; letter++)
        if ((*letter == 'M' || *letter == 'S') && cases_of(*letter, &c))
            good = measure_calls(&c, options->repeat) && good;
    (void)printf(
        "\nimage: to the host, float64; loss: its value alone; gradient: value and "
        "gradient in 22\nparameters, evals over its time; noise: counts drawn from "
        "an image; of batch: an image of\n64 in a call, float32; lost: what could "
        "not be had of the device.\n");
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    const struct gpu_options options = options_read(argc, argv);
    if (options.help) {
        (void)fputs(help, stdout);
        return 0;
    }
    if (options.list) {
        list_cases();
        return 0;
    }
    (void)unsetenv("NANOBRAG_STRICT");
    /* else it would depend on NVRTC's haste which kernels are timed */
    (void)setenv("NANOBRAG_HOT_THRESHOLD", options.hot ? "1" : "0", 1);
    return run_all(&options);
}
