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
#include "gpu/gpu_calls.h"
#include "measure/process.h"
#include "timing.h"

enum { USAGE = 2, SKIPPED = 77, MOST = 64, TILE_SLOW = 8 };

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
static const double allowed[2] = {[NB_DOUBLE] = 1e-10, [NB_SINGLE] = 1e-5};

/* seconds that an image of the host may take, and a part of it that stands for the whole */
static const double host_most = 10;
enum { HOST_PARTS = 16 };

/* ---- cases ---- */

#define SQUARE_CRYSTAL                                                                     \
    .shape = NB_SQUARE, .cell = {70, 80, 90, 85, 95, 105}, .misset = {10, 20, 30},         \
    .ncells = 20, .nsource = 1, .nphi = 1, .oversample = 1

static const struct bench_case more_cases[] = {
    {.letter = 'M',
     .what = "1000 mosaic domains",
     SQUARE_CRYSTAL,
     .mosaic = 0.5,
     .ndomains = 1000,
     .nfast = 1024,
     .nslow = 1024},
    {.letter = 'S',
     .what = "small, one domain: what a call costs by itself",
     SQUARE_CRYSTAL,
     .ndomains = 1,
     .nfast = 64,
     .nslow = 64},
    {.letter = 'L',
     .what = "large, 50 mosaic domains",
     SQUARE_CRYSTAL,
     .mosaic = 0.5,
     .ndomains = 50,
     .nfast = 4096,
     .nslow = 4096},
};

/* NULL: there is none of that letter */
static const struct bench_case *case_of(char letter)
{
    for (size_t i = 0; i < cases_count; i++)
        if (cases_list[i].letter == letter) return cases_list + i;
    for (size_t i = 0; i < sizeof more_cases / sizeof *more_cases; i++)
        if (more_cases[i].letter == letter) return more_cases + i;
    return NULL;
}

static void list_cases(void)
{
    for (int letter = 'A'; letter <= 'Z'; letter++) {
        const struct bench_case *c = case_of((char)letter);

        if (c) (void)printf("%c  %d x %d  %s\n", letter, c->nfast, c->nslow, c->what);
    }
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
    size_t n = 0;

    for (const char *p = word; *p; p++) {
        const char letter = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);

        if (!case_of(letter) || n + 1 == sizeof letters)
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

struct runner {
    nb_context *ctx;
    nb_hkl *hkl;
    nb_simulator *sim;
    nb_description about;
    double *pixels; /* NULL: the simulator could not be made */
    double opened; /* seconds until it was made */
    char said[NAME]; /* why something failed */
};

struct way {
    int device, precision, strategy, threads;
    const char *hkl; /* file of structure factors */
};

static int runner_failed(struct runner *r)
{
    (void)snprintf(r->said, sizeof r->said, "%.150s", nb_context_message(r->ctx));
    return 0;
}

/* 1, or 0 with `said`; close it in either case */
static int runner_open(struct runner *r, const struct bench_case *c, const struct way *way)
{
    const nb_context_options choice = {.threads = way->threads, .device = way->device};
    const nb_options options = {.precision = way->precision, .strategy = way->strategy};
    const double start = timing_seconds();
    nb_scene scene;

    memset(r, 0, sizeof *r);
    if (nb_context_create(NB_API_VERSION, &choice, &r->ctx) != NB_OK) {
        (void)snprintf(r->said, sizeof r->said, "no context");
        return 0;
    }
    if (c->interpolate && nb_hkl_read(r->ctx, way->hkl, &r->hkl) != NB_OK)
        return runner_failed(r);
    scene = cases_scene(c, NB_PROFILE_NANOBRAG, r->hkl);
    if (nb_simulator_create(r->ctx, &scene, "", &options, &r->sim) != NB_OK
        || nb_describe(r->sim, NULL, &r->about) != NB_OK)
        return runner_failed(r);
    r->opened = timing_seconds() - start;
    r->pixels = calloc((size_t)c->nslow * (size_t)c->nfast, sizeof *r->pixels);
    if (!r->pixels) (void)snprintf(r->said, sizeof r->said, "out of memory");
    return r->pixels != NULL;
}

static void runner_close(struct runner *r)
{
    free(r->pixels);
    nb_simulator_free(r->sim);
    nb_hkl_free(r->hkl);
    nb_context_free(r->ctx);
}

/* seconds of an image; 0: it failed, or a device was lost meanwhile */
static double runner_run(struct runner *r)
{
    nb_array image = nb_array_f64(r->pixels, r->about.nslow, r->about.nfast);
    const double start = timing_seconds();
    double seconds;
    nb_compile_stats stats;

    if (nb_forward(r->sim, NULL, &image) != NB_OK) return runner_failed(r);
    seconds = timing_seconds() - start;
    nb_simulator_stats(r->sim, &stats);
    return stats.fallbacks > 0 ? runner_failed(r) : seconds;
}

/* Make images until one is by a kernel built at run time; 0 with `said` after 20 s. */
static int runner_heat(struct runner *r)
{
    const double start = timing_seconds(), patience = 20;
    nb_compile_stats stats = {0};

    while (stats.promotions == 0 && timing_seconds() - start < patience) {
        if (runner_run(r) == 0) return 0;
        nb_simulator_stats(r->sim, &stats);
    }
    if (stats.promotions > 0) return 1;
    (void)snprintf(r->said, sizeof r->said, "no kernel was built at run time");
    return 0;
}

/* The median of `repeat` images, or of more that take less than a fifth of a second, or of
 * fewer that take `budget`; 0 on failure. */
static double runner_time(struct runner *r, int repeat, double budget)
{
    const double enough = 0.2;
    double times[MOST], spent = 0;
    int n = 0;

    while (n < MOST && (n < repeat || spent < enough) && (n == 0 || spent < budget)) {
        times[n] = runner_run(r);
        if (times[n] == 0) return 0;
        spent += times[n++];
    }
    return timing_median(times, n);
}

static int is_on_host(const struct runner *r)
{
    return strcmp(r->about.device, "cpu") == 0;
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
static double time_lanes(struct bench_case *c, const struct way *way, struct runner *r)
{
    const struct bench_case all = *c;
    const int rows = c->nslow / HOST_PARTS / TILE_SLOW * TILE_SLOW;
    double seconds = 0;

    c->roi[1] = c->nfast;
    c->roi[2] = (c->nslow - rows) / 2 / TILE_SLOW * TILE_SLOW;
    c->roi[3] = c->roi[2] + rows;
    if (rows > 0) {
        if (!runner_open(r, c, way)) return 0;
        (void)runner_run(r); /* wakes the threads */
        seconds = runner_run(r) * c->nslow / rows;
        if (seconds == 0 || seconds > host_most) return seconds;
        runner_close(r);
    }
    *c = all;
    if (!runner_open(r, c, way)) return 0;
    return runner_time(r, 3, host_most / 4);
}

static void measure_host(const struct bench_case *c, struct way way, struct host *host)
{
    memset(host, 0, sizeof *host);
    way.device = NB_CPU;
    for (way.precision = NB_DOUBLE; way.precision <= NB_SINGLE; way.precision++) {
        struct bench_case part = *c;
        struct runner r;

        way.strategy = NB_LANES;
        host->lanes[way.precision] = time_lanes(&part, &way, &r);
        host->part[way.precision] = part.roi[1] > 0;
        if (way.precision == NB_DOUBLE) {
            host->image = r.pixels;
            r.pixels = NULL;
            host->first = part.roi[2];
            host->end = part.roi[1] > 0 ? part.roi[3] : c->nslow;
        }
        if (host->lanes[way.precision] == 0)
            (void)fprintf(stderr, "nanobrag_bench_gpu: %c, host: %s\n", c->letter, r.said);
        runner_close(&r);
        way.strategy = NB_STRATEGY_AUTO;
        if (runner_open(&r, c, &way) && r.about.strategy == NB_SPOTS)
            host->spots[way.precision] = runner_time(&r, 3, host_most / 4);
        runner_close(&r);
    }
}

/* the largest difference over the host's largest pixel */
static double difference(const struct host *host, const struct bench_case *c,
                         const double *image)
{
    const size_t end = (size_t)host->end * (size_t)c->nfast;
    double worst = 0, peak = 0;

    for (size_t i = (size_t)host->first * (size_t)c->nfast; i < end; i++) {
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

static void print_head(const struct runner *r, const struct gpu_options *options)
{
    (void)printf("nanobrag %s (%s)\n"
                 "device: %s; opened in %.2f s with its first simulator\n"
                 "kernels: of the build%s\n"
                 "host: %d threads; medians of %d images or more on the device, the first "
                 "apart\n\n"
                 "%-8s %11s %8s %8s %8s %8s %8s %8s %7s %7s\n",
                 nb_version(), nb_features(), r->about.device, r->opened,
                 options->hot ? ", then those that NVRTC builds for the image" : "",
                 nb_context_threads(r->ctx), options->repeat, "case", "pixels", "evals",
                 "lanes", "spots", "first", "device", "evals/s", "x lanes", "off");
}

/* 0 when the image is wrong or was not made */
static int measure_device(const struct bench_case *c, const struct host *host,
                          const struct way *way, const struct gpu_options *options)
{
    const int p = way->precision;
    char text[4][32], size[32];
    struct runner r;
    double first = 0, seconds = 0, evaluations, worst;
    int ok = runner_open(&r, c, way);

    if (ok && is_on_host(&r)) {
        (void)snprintf(r.said, sizeof r.said, "on the host: %.120s", r.about.device_why);
        ok = 0;
    }
    if (ok) first = runner_run(&r);
    if (first > 0 && options->hot && !runner_heat(&r)) first = 0;
    if (first > 0) seconds = runner_time(&r, options->repeat, 3);
    if (seconds == 0) {
        (void)printf("%c %-6s not run: %s\n", c->letter, precision_word(p), r.said);
        runner_close(&r);
        return 0;
    }
    evaluations = (double)c->nslow * c->nfast * r.about.oversample * r.about.oversample
                  * r.about.nsource * r.about.nphi * r.about.ndomains * r.about.nlayers;
    worst = host->lanes[NB_DOUBLE] > 0 ? difference(host, c, r.pixels) : HUGE_VAL;
    (void)snprintf(size, sizeof size, "%d x %d", c->nfast, c->nslow);
    (void)printf("%c %-6s %11s %8.1e %8s %8s %8s %8s %8.1e %7.1f %7.0e%s\n", c->letter,
                 precision_word(p), size, evaluations,
                 seconds_of(host->lanes[p], host->part[p], text[0], sizeof text[0]),
                 seconds_of(host->spots[p], 0, text[1], sizeof text[1]),
                 seconds_of(first, 0, text[2], sizeof text[2]),
                 seconds_of(seconds, 0, text[3], sizeof text[3]), evaluations / seconds,
                 host->lanes[p] / seconds, worst, worst <= allowed[p] ? "" : " WRONG");
    (void)fflush(stdout);
    runner_close(&r);
    return worst <= allowed[p];
}

static int run_all(const struct gpu_options *options, const char *hkl)
{
    struct way way = {.device = NB_CUDA, .threads = options->threads, .hkl = hkl};
    struct runner r;
    int good = 1;

    if (!runner_open(&r, case_of('S'), &way) || is_on_host(&r)) {
        (void)printf("skipped: no device: %s\n",
                     r.about.device_why ? r.about.device_why : r.said);
        runner_close(&r);
        return SKIPPED;
    }
    print_head(&r, options);
    runner_close(&r);
    for (const char *letter = options->letters; *letter; letter++) {
        const struct bench_case *c = case_of(*letter);
        struct host host;

        measure_host(c, way, &host);
        for (way.precision = NB_DOUBLE; way.precision <= NB_SINGLE; way.precision++)
            good = measure_device(c, &host, &way, options) && good;
        way.precision = NB_DOUBLE;
        free(host.image);
    }
    (void)printf("\nevals: pixels x sub-pixels x sources x phi steps x domains; lanes, "
                 "spots: images of the\nhost (~: of a part, scaled up); first, device: of "
                 "the device; off: the largest difference\nfrom lanes in double, over the "
                 "largest pixel.\n");
    gpu_calls_head();
    for (const char *letter = options->letters; *letter; letter++)
        if (*letter == 'M' || *letter == 'S')
            good = gpu_calls_measure(case_of(*letter), options->repeat) && good;
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
    char folder[FOLDER], hkl[FOLDER + 8];
    int status = 1;

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
    if (!folder_make(folder)) {
        (void)fprintf(stderr, "nanobrag_bench_gpu: no temporary folder\n");
        return 1;
    }
    (void)snprintf(hkl, sizeof hkl, "%s/e.hkl", folder);
    if (cases_write_hkl(hkl))
        status = run_all(&options, hkl);
    else
        (void)fprintf(stderr, "nanobrag_bench_gpu: %s cannot be written\n", hkl);
    folder_remove(folder);
    return status;
}
