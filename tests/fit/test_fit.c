/*
 * test_fit.c - fits of images computed here: what went in comes out, within the errors
 * where there is noise.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "support/renders.h"
#include "support/tap.h"

enum { SIDE = 64, PIXELS = SIDE * SIDE, SHOTS = 2 };

static const char *const shared = "cell_a mosaic", *const own = "misset scale";
/* cell_a, mosaic; then of each shot misset x, y, z and scale */
enum { N = 2 + 4 * SHOTS };
static const double truth[N] = {50, 0.4, 10, 20, 30, 1, -25, 15, 60, 1.5};

static double photons[SHOTS][PIXELS];
static nb_array observed[SHOTS];
static nb_scene scenes[SHOTS];
static nb_shot shots[SHOTS];

static nb_scene scene_at(const double *x, int shot)
{
    nb_scene s = {
        .crystal = {.cell = {x[0], 60, 70, 90, 90, 90},
                    .ncells = {8, 8, 8},
                    .mosaic = {x[1]},
                    .ndomains = 12,
                    .shape = NB_SHAPE_GAUSS,
                    .default_f = 100,
                    .scale = x[5 + 4 * shot]},
        .beam = {.fluence = 1e28},
        .background = {.water = 0.02},
        .detector = {.nslow = SIDE, .nfast = SIDE, .pixel = 1.2},
        .oversample = 1,
    };

    memcpy(s.crystal.misset, x + 2 + 4 * shot, sizeof s.crystal.misset);
    return s;
}

/* Sets the shots: images of the truth, with noise or without, and scenes at `start`. */
static nb_context *prepare(const double *start, int noise, int threads)
{
    static uint16_t counts[PIXELS];
    nb_context *ctx = renders_context(threads);

    for (int i = 0; i < SHOTS; i++) {
        const nb_scene scene = scene_at(truth, i);
        const nb_digitizer how = {.scale = 1, .noise = 1, .seed = 7 + i};
        nb_array counted = nb_array_u16(counts, SIDE, SIDE);
        nb_simulator *sim;

        observed[i] = nb_array_f64(photons[i], SIDE, SIDE);
        if (nb_simulator_create(ctx, &scene, NULL, NULL, &sim) != NB_OK
            || nb_forward(sim, NULL, observed + i) != NB_OK
            || nb_digitize(sim, &how, observed + i, &counted) != NB_OK)
            abort();
        nb_simulator_free(sim);
        for (int p = 0; noise && p < PIXELS; p++) photons[i][p] = counts[p];
        scenes[i] = scene_at(start, i);
        shots[i] = (nb_shot){.scene = scenes + i,
                             .target = {.kind = NB_LOSS_POISSON, .observed = observed + i}};
    }
    return ctx;
}

static const double near[N] = {50.1, 0.5,    10.05, 19.95, 30.05,
                               0.8,  -24.95, 15.05, 59.95, 1.9};

static nb_fit *made(nb_context *ctx, const nb_fit_options *options)
{
    nb_fit *fit = NULL;

    if (nb_fit_create(ctx, SHOTS, shots, options, &fit) != NB_OK) {
        tap_check(0, "%s", nb_context_message(ctx));
        abort();
    }
    return fit;
}

/* Runs a fit and returns its result. */
static nb_fit_result run(nb_context *ctx, nb_fit *fit, nb_status expected)
{
    nb_fit_result r = {0};
    const nb_status status = nb_fit_run(fit);

    tap_check(status == expected, "status %d%s%s", (int)status, status ? ": " : "",
              status ? nb_context_message(ctx) : "");
    tap_check(nb_fit_result_get(fit, &r) == NB_OK, "a result");
    return r;
}

/* Images and models have the same mosaic domains: errors are without that of sampling. */
static const nb_fit_options plain = {.shared = "cell_a mosaic",
                                     .own = "misset scale",
                                     .scaling = NB_FIT_SCALING_MISFIT};

static int noisy(void)
{
    nb_context *ctx = prepare(near, 1, 1);
    nb_fit *fit = made(ctx, &plain);
    const nb_fit_result r = run(ctx, fit, NB_OK);
    double x[N], loss = 0, sum = 0;

    tap_check(r.end == NB_FIT_CONVERGED, "end %d after %d passes", r.end, r.passes);
    tap_check(r.passes <= 15, "%d passes", r.passes);
    for (size_t i = 0; i < N; i++) {
        const nb_fit_value *v = r.value + i;
        const double pull = (v->value - truth[i]) / v->error;

        tap_check(fabs(pull) < 4.5, "%s of shot %d: %g +- %g, true %g", v->param.name,
                  (int)v->shot, v->value, v->error, truth[i]);
        tap_check(v->error > 0 && v->error < 0.2 * fmax(1, fabs(truth[i])), "error %g",
                  v->error);
        sum += pull * pull;
    }
    tap_check(sum > 0.5 && sum < 35, "squared pulls add up to %g, expected %d", sum, N);
    /* no smaller loss a tenth of an error away along any parameter */
    for (size_t i = 0; i < 2 * (size_t)N; i++) {
        for (size_t j = 0; j < N; j++) x[j] = r.value[j].value;
        x[i / 2] += (i % 2 ? 0.1 : -0.1) * r.value[i / 2].error;
        if (nb_fit_evaluate(fit, x, &loss, NULL) != NB_OK) abort();
        tap_check(loss > r.loss, "loss %.4f beside %.4f", loss, r.loss);
    }
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* The matrix of the fit is that of each shot in its place. */
static int evaluated(void)
{
    nb_context *ctx = prepare(near, 0, 1);
    nb_fit *fit = made(ctx, &plain);
    double matrix[N * N] = {0}, diagonal[N] = {0}, gradient[N] = {0}, value, sum = 0;
    nb_normal out = {matrix, diagonal, NULL, gradient};

    tap_check(nb_fit_evaluate(fit, NULL, &value, &out) == NB_OK, "evaluated");
    for (size_t s = 0; s < SHOTS; s++) {
        double m[36] = {0}, g[6] = {0}, part;
        nb_normal one = {.matrix = m, .gradient = g};
        nb_simulator *sim;

        if (nb_simulator_create(ctx, scenes + s, "cell_a mosaic misset scale", NULL, &sim)
                != NB_OK
            || nb_loss(sim, NULL, &shots[s].target, &part, &one) != NB_OK)
            abort();
        nb_simulator_free(sim);
        sum += part;
        for (size_t i = 0; i < 6; i++)
            for (size_t j = 0; j < 6; j++) {
                const size_t row = i < 2 ? i : i + 4 * s, column = j < 2 ? j : j + 4 * s;

                matrix[row * N + column] -= m[i * 6 + j];
                if (j == 0) gradient[row] -= g[i];
            }
    }
    tap_close("loss", value, sum, 0);
    for (size_t i = 0; i < N; i++) {
        tap_close("gradient beyond rounding", gradient[i], 0, 1e-9 * sqrt(diagonal[i]));
        for (size_t j = 0; j < N; j++)
            tap_close("matrix beyond rounding", matrix[i * N + j], 0,
                      1e-12 * sqrt(diagonal[i] * diagonal[j]));
    }
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Photons on one side that no polarization explains: it ends at a bound, where the loss
 * still has a slope, and the rest of the fit converges. */
static int at_a_bound(void)
{
    nb_context *ctx = prepare(near, 0, 1);
    const nb_fit_options options = {.own = "polarization scale"};
    nb_fit *fit;
    nb_fit_result r;

    for (int p = 0; p < PIXELS; p++) photons[0][p] *= p % SIDE < SIDE / 4 ? 2 : 0.5;
    shots[0].target.kind = NB_LOSS_GAUSS;
    fit = NULL;
    if (nb_fit_create(ctx, 1, shots, &options, &fit) != NB_OK) abort();
    r = run(ctx, fit, NB_OK);
    tap_check(r.end == NB_FIT_CONVERGED, "end %d after %d passes", r.end, r.passes);
    tap_check(r.value[0].value == r.value[0].param.lower && r.value[0].bound == -1,
              "%s %g at its bound %g", r.value[0].param.name, r.value[0].value,
              r.value[0].param.lower);
    tap_check(r.value[1].bound == 0 && r.value[1].value > 0, "%s %g", r.value[1].param.name,
              r.value[1].value);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* A panel where nothing was observed: no fit moves it by more than 10 mm. */
static int shifted(void)
{
    enum { HALF = SIDE / 2 };
    const double half = 1.2 * HALF;
    nb_panel panels[] = {
        {.nslow = HALF, .nfast = SIDE, .origin = {-half, -half, 100}},
        {.nslow = HALF, .nfast = SIDE, .origin = {-half, 0, 100}},
    };
    nb_context *ctx = prepare(truth, 0, 1);
    const nb_fit_options options = {.shared = "panel_shift_fast[1]", .own = "scale"};
    nb_fit *fit = NULL;
    nb_fit_result r;

    scenes[0].detector = (nb_detector){.panel = panels,
                                       .npanel = 2,
                                       .pixel = 1.2,
                                       .convention = NB_CONVENTION_DIALS};
    for (int p = HALF * SIDE; p < PIXELS; p++) photons[0][p] = 0;
    scenes[0].background.water = 0;
    if (nb_fit_create(ctx, 1, shots, &options, &fit) != NB_OK) {
        tap_check(0, "%s", nb_context_message(ctx));
        abort();
    }
    (void)nb_fit_run(fit);
    tap_check(nb_fit_result_get(fit, &r) == NB_OK, "a result");
    tap_check(r.value[0].param.lower == -10 && r.value[0].param.upper == 10,
              "%s is kept from %g to %g mm", r.value[0].param.name, r.value[0].param.lower,
              r.value[0].param.upper);
    tap_check(fabs(r.value[0].value) <= 10, "it is %g mm", r.value[0].value);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* What the passes of a fit did: how often the loss rose, and how often in a row it stayed
 * because a step would have raised it. */
struct followed {
    nb_fit *fit;
    double loss;
    int passes, rose, stop, kept, in_a_row, longest;
};

static int follow(void *user, const nb_fit_state *state)
{
    struct followed *f = user;

    f->rose += state->loss > f->loss;
    f->in_a_row = state->loss == f->loss ? f->in_a_row + 1 : 0;
    f->kept += f->in_a_row > 0;
    if (f->in_a_row > f->longest) f->longest = f->in_a_row;
    f->loss = state->loss;
    f->passes++;
    if (f->stop == 2) nb_fit_cancel(f->fit);
    return f->stop == 1;
}

static int from_far(void)
{
    double start[N];
    struct followed f = {.loss = INFINITY};
    const nb_fit_options options = {.shared = shared,
                                    .own = own,
                                    .progress = follow,
                                    .user = &f};
    nb_context *ctx;
    nb_fit *fit;
    nb_fit_result r;

    memcpy(start, truth, sizeof start);
    start[0] *= 1.004, start[1] *= 2.5, start[5] *= 20, start[9] /= 20;
    start[2] += 1, start[7] -= 1;
    ctx = prepare(start, 0, 1);
    fit = made(ctx, &options);
    r = run(ctx, fit, NB_OK);
    tap_check(r.end == NB_FIT_CONVERGED && f.rose == 0 && f.passes == r.passes,
              "end %d after %d passes, the loss rose %d times", r.end, r.passes, f.rose);
    for (size_t i = 0; i < N; i++)
        tap_check(fabs(r.value[i].value - truth[i]) < 0.05 * r.value[i].error,
                  "%s %.9g, true %g, error %g", r.value[i].param.name, r.value[i].value,
                  truth[i], r.value[i].error);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Turned by about the width of a spot, some steps would raise the loss. They are not taken,
 * and shorter ones follow that lower it. */
static int uphill(void)
{
    enum { STARTS = 30 };
    int kept = 0, rose = 0, longest = 0;

    for (int k = 0; k < STARTS; k++) {
        double start[N];
        struct followed f = {.loss = INFINITY};
        const nb_fit_options options = {.shared = shared,
                                        .own = own,
                                        .passes = 60,
                                        .progress = follow,
                                        .user = &f};
        nb_context *ctx;
        nb_fit *fit;

        memcpy(start, truth, sizeof start);
        for (int i = 0; i < 3; i++) {
            start[2 + i] += 2.5 * sin(7 * k + i);
            start[6 + i] -= 2.5 * sin(5 * k + i);
        }
        ctx = prepare(start, 0, 1);
        fit = made(ctx, &options);
        if (nb_fit_run(fit) != NB_OK) tap_check(0, "%s", nb_context_message(ctx));
        kept += f.kept, rose += f.rose;
        if (f.longest > longest) longest = f.longest;
        nb_fit_free(fit);
        nb_context_free(ctx);
    }
    tap_check(rose == 0, "of %d fits the loss rose %d times", STARTS, rose);
    tap_check(kept > 0, "%d steps would have raised it", kept);
    tap_check(longest <= 32, "at most %d of them in a row", longest); /* 4^32 > 1e19 */
    return TAP_PASS;
}

static int stopped(void)
{
    nb_context *ctx = prepare(near, 1, 1);

    for (int how = 1; how <= 2; how++) {
        struct followed f = {.loss = INFINITY, .stop = how};
        const nb_fit_options options = {.shared = shared,
                                        .own = own,
                                        .progress = follow,
                                        .user = &f};
        nb_fit *fit = f.fit = made(ctx, &options);
        nb_fit_result r = run(ctx, fit, NB_ERR_CANCELLED);

        tap_check(r.end == NB_FIT_CANCELLED && r.passes == 1, "end %d after %d passes",
                  r.end, r.passes);
        f.stop = 0;
        r = run(ctx, fit, NB_OK);
        tap_check(r.end == NB_FIT_CONVERGED, "then end %d after %d passes", r.end,
                  r.passes);
        nb_fit_free(fit);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

static int limited(void)
{
    nb_context *ctx = prepare(near, 1, 1);
    nb_fit_options options = plain;
    nb_fit *fit;
    nb_fit_result r;

    options.passes = 2;
    fit = made(ctx, &options);
    tap_check(nb_fit_result_get(fit, &r) == NB_ERR_ARGUMENT, "no result before a pass");
    r = run(ctx, fit, NB_OK);
    tap_check(r.end == NB_FIT_PASSES && r.joint == 2 && r.passes > 2
                  && strstr(r.why, "2 passes of all shots together"),
              "end %d after %d passes, %d of them together: %s", r.end, r.passes, r.joint,
              r.why);
    nb_fit_free(fit);
    options = plain;
    options.seconds = 1e-9;
    fit = made(ctx, &options);
    r = run(ctx, fit, NB_OK);
    tap_check(r.end == NB_FIT_SECONDS && r.passes == 1, "end %d after %d passes", r.end,
              r.passes);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Scale and fluence are one: a free direction, and everything else is found. */
static int left_free(void)
{
    nb_context *ctx = prepare(near, 0, 1);
    const nb_fit_options options = {.shared = "scale cell_a fluence"};
    nb_fit *fit = NULL;
    nb_fit_result r;

    scenes[0] = scene_at(truth, 0);
    scenes[0].crystal.cell[0] = 50.05;
    scenes[0].background.water = 0;
    shots[0].target.kind = NB_LOSS_GAUSS;
    if (nb_fit_create(ctx, 1, shots, &options, &fit) != NB_OK) abort();
    r = run(ctx, fit, NB_OK);
    tap_check(r.end == NB_FIT_CONVERGED && r.nfree == 1, "end %d after %d passes, %zu free",
              r.end, r.passes, r.nfree);
    tap_check(isinf(r.value[0].error) && isinf(r.value[2].error)
                  && isfinite(r.value[1].error),
              "errors %g, %g, %g", r.value[0].error, r.value[1].error, r.value[2].error);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

static int stop_after(void *user, const nb_fit_state *state)
{
    return state->passes >= *(const int *)user;
}

/* Stopped after any pass, written, read into a fit made anew and run on: the bits of the
 * fit that was not stopped. */
static int resumed(void)
{
    nb_context *ctx = prepare(near, 1, 1);
    nb_fit *fit = made(ctx, &plain);
    const nb_fit_result whole = run(ctx, fit, NB_OK);

    for (int stop = 1; stop <= whole.passes; stop++) {
        nb_fit_options options = plain;
        nb_fit *first, *second = made(ctx, &plain);
        nb_fit_result r;
        int same = 1;

        options.progress = stop_after;
        options.user = &stop;
        first = made(ctx, &options);
        (void)run(ctx, first, NB_ERR_CANCELLED);
        tap_check(nb_fit_write(first, "fit.json") == NB_OK
                      && nb_fit_read(second, "fit.json") == NB_OK,
                  "%s", nb_context_message(ctx));
        r = run(ctx, second, NB_OK);
        for (size_t i = 0; i < N; i++)
            same &= r.value[i].value == whole.value[i].value
                    && r.value[i].error == whole.value[i].error;
        tap_check(same && r.passes == whole.passes && r.loss == whole.loss
                      && r.joint == whole.joint,
                  "stopped after %d of %d passes (%d): the same bits", stop, whole.passes,
                  r.passes);
        nb_fit_free(first);
        nb_fit_free(second);
    }
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* A file in which every shot is left out has nothing to go on with. */
static int nothing_left(void)
{
    static char text[1 << 20];
    static const char none[] = "\"left_out\":\tnull", some[] = "\"left_out\":\t\"no\"";
    nb_context *ctx = prepare(near, 1, 1);
    nb_fit_options options = plain;
    nb_fit *fit;
    FILE *file;
    size_t n;
    int changed = 0;

    options.passes = 1;
    fit = made(ctx, &options);
    (void)run(ctx, fit, NB_OK);
    if (nb_fit_write(fit, "left.json") != NB_OK || !(file = fopen("left.json", "r+")))
        abort();
    n = fread(text, 1, sizeof text - 100, file);
    for (char *at; (at = strstr(text, none)); changed++, n += sizeof some - sizeof none) {
        memmove(at + sizeof some - 1, at + sizeof none - 1,
                strlen(at + sizeof none - 1) + 1);
        memcpy(at, some, sizeof some - 1);
    }
    rewind(file);
    if (fwrite(text, 1, n, file) != n || fclose(file)) abort();
    tap_check(changed == SHOTS && nb_fit_read(fit, "left.json") == NB_ERR_FORMAT
                  && strstr(nb_context_message(ctx), "left out"),
              "%d changed: %s", changed, nb_context_message(ctx));
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

static void refused(nb_context *ctx, int64_t n, nb_fit_options options, nb_status expected,
                    const char *word)
{
    nb_fit *fit = NULL;
    const nb_status status = nb_fit_create(ctx, n, shots, &options, &fit);

    tap_check(status == expected && !fit && strstr(nb_context_message(ctx), word),
              "status %d: %s", (int)status, nb_context_message(ctx));
    nb_fit_free(fit);
}

static int bad_input(void)
{
    nb_context *ctx = prepare(near, 1, 1);
    nb_fit *fit;
    static const int hkl[3] = {1, 2, 3};
    static const double f = 10;
    nb_hkl *listed;
    double value, x[N];

    refused(ctx, 0, plain, NB_ERR_ARGUMENT, "shots");
    refused(ctx, 2, (nb_fit_options){0}, NB_ERR_ARGUMENT, "free parameters");
    refused(ctx, 2, (nb_fit_options){.own = " "}, NB_ERR_ARGUMENT, "free parameters");
    refused(ctx, 2, (nb_fit_options){.own = "size"}, NB_ERR_ARGUMENT, "size");
    refused(ctx, 2, (nb_fit_options){.own = "scale", .shared = "scale"}, NB_ERR_ARGUMENT,
            "twice");
    refused(ctx, 2, (nb_fit_options){.own = "scale", .passes = -1}, NB_ERR_ARGUMENT,
            "passes");
    refused(ctx, 2, (nb_fit_options){.own = "scale", .seconds = NAN}, NB_ERR_ARGUMENT,
            "seconds");
    refused(ctx, 2, (nb_fit_options){.own = "scale", .enough = -1}, NB_ERR_ARGUMENT,
            "enough");
    tap_check(nb_fit_create(NULL, 1, shots, &plain, &fit) == NB_ERR_ARGUMENT
                  && nb_fit_create(ctx, 1, shots, &plain, NULL) == NB_ERR_ARGUMENT
                  && nb_fit_create(ctx, 1, NULL, &plain, &fit) == NB_ERR_ARGUMENT
                  && nb_fit_create(ctx, 1, shots, NULL, &fit) == NB_ERR_ARGUMENT,
              "NULLs are refused by nb_fit_create()");
    tap_check(nb_fit_run(NULL) == NB_ERR_ARGUMENT
                  && nb_fit_evaluate(NULL, NULL, &value, NULL) == NB_ERR_ARGUMENT
                  && nb_fit_result_get(NULL, NULL) == NB_ERR_ARGUMENT,
              "a fit NULL is refused");
    nb_fit_cancel(NULL);
    scenes[1].crystal.system = NB_SYSTEM_ORTHORHOMBIC;
    refused(ctx, 2, (nb_fit_options){.own = "cell"}, NB_ERR_ARGUMENT, "shot 1");
    scenes[1].crystal.system = 0;
    shots[1].scene = NULL;
    refused(ctx, 2, (nb_fit_options){.own = "cell"}, NB_ERR_ARGUMENT, "scene");
    shots[1].scene = scenes + 1;
    scenes[0].crystal.ndomains = 201;
    refused(ctx, 1, (nb_fit_options){.own = "domain_weight", .method = NB_FIT_LM},
            NB_ERR_UNSUPPORTED, "200");
    scenes[0].crystal.ndomains = scenes[1].crystal.ndomains;
    if (nb_hkl_create(ctx, 1, hkl, &f, &listed) != NB_OK) abort();
    scenes[0].crystal.hkl = listed;
    refused(ctx, 1, (nb_fit_options){.own = "F"}, NB_ERR_UNSUPPORTED, "structure factors");
    scenes[0].crystal.hkl = NULL;
    nb_hkl_free(listed);
    fit = made(ctx, &plain);
    memcpy(x, near, sizeof x);
    x[1] = -1;
    tap_check(nb_fit_evaluate(fit, x, &value, NULL) == NB_ERR_DOMAIN && value == INFINITY
                  && strstr(nb_context_message(ctx), "mosaic"),
              "%s", nb_context_message(ctx));
    tap_check(nb_fit_evaluate(fit, NULL, NULL, NULL) == NB_ERR_ARGUMENT
                  && nb_fit_result_get(fit, NULL) == NB_ERR_ARGUMENT,
              "NULLs are refused");
    nb_fit_free(fit);
    photons[0][17] = NAN;
    if (nb_fit_create(ctx, 1, shots, &plain, &fit) != NB_OK) abort();
    tap_check(nb_fit_run(fit) == NB_ERR_ARGUMENT
                  && strstr(nb_context_message(ctx), "observed[0][17]"),
              "%s", nb_context_message(ctx));
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"noisy", noisy},       {"evaluated", evaluated},       {"at_a_bound", at_a_bound},
        {"from_far", from_far}, {"stopped", stopped},           {"limited", limited},
        {"uphill", uphill},     {"left_free", left_free},       {"bad_input", bad_input},
        {"resumed", resumed},   {"nothing_left", nothing_left}, {"shifted", shifted},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
