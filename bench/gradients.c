/*
 * gradients.c - what derivatives cost beside the image: forward, adjoint, and both with a
 * loss between them in one pass, in turn, for all parameters that apply; then tangents and
 * the normal matrix of the parameters of a fit.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { SIDE = 512, SIDE_QUICK = 64, MOST = 64 };

/* (forward + gradient in one pass)/forward: crystals drawn spot by spot; in float; else */
static const double wanted_spots = 2, wanted_single = 2.6, wanted_double = 3;
/* (forward + adjoint)/loss */
static const double wanted_fused = 1.3;

static double wanted_of(const struct gradient *g)
{
    if (g->strategy == NB_SPOTS) return wanted_spots;
    return g->precision == NB_SINGLE && !g->c->interpolate ? wanted_single : wanted_double;
}

static int is_reached(const struct gradient *g)
{
    return g->adjoint <= wanted_of(g) * g->forward
           && g->forward + g->adjoint >= wanted_fused * g->loss;
}

enum { DIRECTIONS = 16, CALLS = 4 };

/* what the calls need */
struct buffers {
    double *observed, *slopes, *matrix;
    double *directions; /* (DIRECTIONS x nparam) */
    nb_array image;
    nb_array same[DIRECTIONS]; /* one image: nobody looks at it */
    double *change;
};

static void free_buffers(struct buffers *b)
{
    free(b->observed);
    free(b->slopes);
    free(b->matrix);
    free(b->directions);
    free(b->change);
}

static int make_buffers(const struct library *lib, struct buffers *b)
{
    const int64_t nslow = lib->description.nslow, nfast = lib->description.nfast;
    const size_t pixels = (size_t)nslow * (size_t)nfast;
    const size_t n = nb_nparam(lib->sim), dense = nb_ndense(lib->sim);

    b->observed = malloc(pixels * sizeof *b->observed);
    b->change = malloc(pixels * sizeof *b->change);
    b->slopes = calloc(n + 1, sizeof *b->slopes);
    b->matrix = calloc(dense * dense + 1, sizeof *b->matrix);
    b->directions = calloc(DIRECTIONS * n + 1, sizeof *b->directions);
    if (!b->observed || !b->change || !b->slopes || !b->matrix || !b->directions) return 0;
    for (size_t i = 0; i < pixels; i++) b->observed[i] = 0.5 + 1e-3 * (double)(i % 1009);
    b->image = nb_array_f64(b->observed, nslow, nfast);
    for (size_t d = 0; d < DIRECTIONS; d++) {
        b->directions[d * n + d % n] = 1;
        b->same[d] = nb_array_f64(b->change, nslow, nfast);
    }
    return 1;
}

/* seconds of one call of each, the image first; 0 on failure */
typedef int time_once(struct library *lib, struct buffers *b, double seconds[CALLS]);

static int gradient_once(struct library *lib, struct buffers *b, double seconds[CALLS])
{
    const nb_target target = {.kind = NB_GAUSSIAN, .observed = &b->image};
    nb_normal normal = {NULL, NULL, NULL, b->slopes};
    double start, value;

    seconds[0] = library_run(lib, NULL);
    start = lib->clock();
    if (seconds[0] == 0 || nb_vjp(lib->sim, NULL, 1, &b->image, b->slopes) != NB_OK)
        return 0;
    seconds[1] = lib->clock() - start;
    start = lib->clock();
    if (nb_loss(lib->sim, NULL, &target, &value, &normal) != NB_OK) return 0;
    seconds[2] = lib->clock() - start;
    seconds[3] = 0;
    return 1;
}

static int fit_once(struct library *lib, struct buffers *b, double seconds[CALLS])
{
    nb_normal normal = {b->matrix, NULL, NULL, b->slopes};
    double start;

    seconds[0] = library_run(lib, NULL);
    start = lib->clock();
    if (seconds[0] == 0 || nb_jvp(lib->sim, NULL, 1, b->directions, b->same) != NB_OK)
        return 0;
    seconds[1] = lib->clock() - start;
    start = lib->clock();
    if (nb_jvp(lib->sim, NULL, DIRECTIONS, b->directions, b->same) != NB_OK) return 0;
    seconds[2] = lib->clock() - start;
    start = lib->clock();
    if (nb_jtj(lib->sim, NULL, NULL, &b->image, &normal) != NB_OK) return 0;
    seconds[3] = lib->clock() - start;
    return 1;
}

/* medians */
static int time_calls(struct library *lib, const struct options *options, time_once *once,
                      double medians[CALLS])
{
    const double budget = options->quick ? 0.1 : 4;
    double times[CALLS][MOST], spent = 0, seconds[CALLS];
    struct buffers b = {0};
    int n = 0, ok = make_buffers(lib, &b) && once(lib, &b, seconds);

    while (ok && n < MOST && (n < options->repeat || spent < budget / 4)
           && (n == 0 || spent < budget)) {
        ok = once(lib, &b, seconds);
        for (int k = 0; k < CALLS; k++) times[k][n] = seconds[k], spent += seconds[k];
        n++;
    }
    free_buffers(&b);
    for (int k = 0; ok && k < CALLS; k++) medians[k] = timing_median(times[k], n);
    return ok;
}

/* the middle of the detector, unless the crystal is drawn spot by spot */
static struct bench_case cropped(const struct bench_case *c, int quick)
{
    const int side = quick ? SIDE_QUICK : SIDE;
    struct bench_case less = *c;

    if (!quick && c->shape == NB_GAUSS) return less;
    if (less.nfast > side) less.nfast = side;
    if (less.nslow > side) less.nslow = side;
    return less;
}

static void run_one(struct report *report, const struct bench_case *c, int precision)
{
    double medians[CALLS];
    const struct options *options = report->options;
    const struct bench_case less = cropped(c, options->quick);
    struct gradient *g = &report->gradients[report->ngradients];
    struct manner manner = {.free_names = "*", .hkl = options->hkl};
    struct library lib;
    char image[16];
    int ok;

    *g = (struct gradient){.c = c, .precision = precision};
    manner.options.precision = precision;
    manner.options.strategy = c->shape == NB_GAUSS ? NB_SPOTS : NB_LANES;
    manner.threads = options->threads;
    g->strategy = manner.options.strategy;
    ok = library_open(&lib, &less, &manner)
         && time_calls(&lib, options, gradient_once, medians);
    if (ok) {
        g->forward = medians[0], g->adjoint = medians[1], g->loss = medians[2];
        g->parameters = nb_nparam(lib.sim);
        (void)printf("%c    %-9s %-5s %6zu %9s %6.2f %5.1f %6.2f %5.1f %s\n", c->letter,
                     precision_word(precision), strategy_word(g->strategy), g->parameters,
                     seconds_text(g->forward, image, sizeof image), g->adjoint / g->forward,
                     wanted_of(g), (g->forward + g->adjoint) / g->loss, wanted_fused,
                     verdict_text(is_reached(g), "reached", "NOT REACHED"));
        report->ngradients++;
    } else {
        (void)printf("%c    %-9s %-5s not run: %.60s\n", c->letter,
                     precision_word(precision), strategy_word(g->strategy),
                     *lib.said ? lib.said : nb_context_message(lib.ctx));
    }
    library_close(&lib);
}

/* what a fit of one crystal, beam and detector leaves free */
static const char *const fitted = "cell misset ncells mosaic wavelength distance origin "
                                  "scale fluence";

static void run_fit(struct report *report, struct gradient *g)
{
    const struct options *options = report->options;
    const struct bench_case less = cropped(g->c, options->quick);
    const struct manner manner = {.options = {g->precision, g->strategy, 0},
                                  .threads = options->threads,
                                  .free_names = fitted,
                                  .hkl = options->hkl};
    struct library lib;
    double medians[CALLS];

    (void)printf("%c    %-9s %-5s ", g->c->letter, precision_word(g->precision),
                 strategy_word(g->strategy));
    if (library_open(&lib, &less, &manner)
        && time_calls(&lib, options, fit_once, medians)) {
        g->fitted = nb_ndense(lib.sim);
        g->image = medians[0], g->tangent = medians[1];
        g->tangents = medians[2], g->normal = medians[3];
        (void)printf("%6zu %9.2f %9.2f %9.2f\n", g->fitted, g->tangent / g->image,
                     g->tangents / g->image, g->normal / g->image);
    } else
        (void)printf("not run: %.60s\n",
                     *lib.said ? lib.said : nb_context_message(lib.ctx));
    library_close(&lib);
}

void gradients_run(struct report *report)
{
    (void)printf("\nimage and gradient of all parameters; squares as lanes, %d x %d pixels "
                 "at most\n"
                 "(a: adjoint, b: loss with its gradient)\n"
                 "case precision how  params    image a/image want (image+a)/b "
                 "want\n",
                 report->options->quick ? SIDE_QUICK : SIDE,
                 report->options->quick ? SIDE_QUICK : SIDE);
    for (size_t i = 0; i < cases_count; i++)
        for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++)
            if (strchr(report->options->letters, cases_list[i].letter)
                && report->ngradients < GRADIENTS)
                run_one(report, &cases_list[i], precision);
    (void)printf("\nover the image: one tangent, %d at once, the normal matrix of a fit\n"
                 "case precision how  params   tangent  tangents    matrix\n",
                 DIRECTIONS);
    for (int i = 0; i < report->ngradients; i++) run_fit(report, report->gradients + i);
}
