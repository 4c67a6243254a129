/*
 * gradients.c - what a gradient costs beside the image: forward, adjoint, and both with a
 * loss between them in one pass, in turn, for all parameters that apply.
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

/* what the calls need */
struct buffers {
    double *observed, *slopes;
    nb_array image;
};

static int make_buffers(const struct library *lib, struct buffers *b)
{
    const int64_t nslow = lib->description.nslow, nfast = lib->description.nfast;
    const size_t pixels = (size_t)nslow * (size_t)nfast;

    b->observed = malloc(pixels * sizeof *b->observed);
    b->slopes = calloc(nb_nparam(lib->sim) + 1, sizeof *b->slopes);
    if (!b->observed || !b->slopes) return 0;
    for (size_t i = 0; i < pixels; i++) b->observed[i] = 0.5 + 1e-3 * (double)(i % 1009);
    b->image = nb_array_f64(b->observed, nslow, nfast);
    return 1;
}

/* seconds of one call of each; 0 on failure */
static int time_once(struct library *lib, struct buffers *b, double seconds[3])
{
    const nb_target target = {NB_GAUSSIAN, &b->image, NULL, 0, 0, 0};
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
    return 1;
}

static int time_calls(struct library *lib, const struct options *options,
                      struct gradient *g)
{
    const double budget = options->quick ? 0.1 : 4;
    double times[3][MOST], spent = 0, seconds[3];
    struct buffers b = {0};
    int n = 0, ok = make_buffers(lib, &b) && time_once(lib, &b, seconds);

    while (ok && n < MOST && (n < options->repeat || spent < budget / 4)
           && (n == 0 || spent < budget)) {
        ok = time_once(lib, &b, seconds);
        for (int k = 0; k < 3; k++) times[k][n] = seconds[k], spent += seconds[k];
        n++;
    }
    free(b.observed);
    free(b.slopes);
    if (!ok) return 0;
    g->forward = machine_median(times[0], n);
    g->adjoint = machine_median(times[1], n);
    g->loss = machine_median(times[2], n);
    return 1;
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
    ok = library_open(&lib, &less, &manner) && time_calls(&lib, options, g);
    if (ok) {
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
}
