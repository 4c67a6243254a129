/*
 * test_draws.c - the error that values have because the mosaic domains of a model are a
 * random sample: against the truth, its place in errors and covariance, and where it is
 * left out.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fit/among.h"
#include "fit/stills.h"
#include "nanobrag_fit/draws/draws.h"
#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

static struct stills stills;

enum { VALUES = STILLS_SHARED + STILLS_OWN, CRYSTAL = 2000 };

static const char free_names[] = "cell_a mosaic misset scale";

/* ---- a crystal of other domains ---- */

static const double fluence = 5e26;

static nb_hkl *factors; /* NULL: all are alike */
static unsigned quirks; /* of models: NB_QUIRK_MOSAIC_F32 draws domains as nanoBragg does */
static int noise; /* another number, another noise */

/* Noisy stills of a crystal of many domains, and models of few. */
static void make(nb_context *ctx, int n, int ndomains, int64_t seed)
{
    double truth[STILLS_SHARED + STILLS_OWN * STILLS_MOST];

    stills_make(&stills, ctx, n, 0, 0.3);
    for (size_t i = 0; i < STILLS_SHARED + STILLS_OWN * (size_t)n; i++)
        truth[i] = stills_truth(i);
    for (int i = 0; i < n; i++) {
        static uint16_t counts[STILLS_PIXELS];
        nb_scene scene = stills_scene(truth, i);
        const nb_digitizer how = {.scale = 1, .noise = 1, .seed = 7 + i + 10 * noise};
        nb_array counted = nb_array_u16(counts, STILLS_SIDE, STILLS_SIDE);
        nb_simulator *sim;

        scene.crystal.ndomains = CRYSTAL;
        scene.crystal.mosaic_seed = 777;
        scene.beam.fluence = stills.scene[i].beam.fluence = fluence;
        if (factors) {
            scene.crystal.hkl = stills.scene[i].crystal.hkl = factors;
            scene.crystal.default_f = stills.scene[i].crystal.default_f = 0;
        }
        renders_require(ctx, nb_simulator_create(ctx, &scene, NULL, NULL, &sim));
        renders_require(ctx, nb_forward(sim, NULL, stills.observed + i));
        renders_require(ctx, nb_digitize(sim, &how, stills.observed + i, &counted));
        nb_simulator_free(sim);
        for (int p = 0; p < STILLS_PIXELS; p++) stills.photons[i][p] = counts[p];
        stills.scene[i].crystal.ndomains = ndomains;
        stills.scene[i].crystal.mosaic_seed = seed;
        stills.scene[i].quirks = quirks;
    }
}

/* Fits with these options, the error of sampling too. */
static nb_fit_result fitted(nb_context *ctx, const nb_fit_options *options, nb_fit **fit)
{
    nb_fit_result r;

    renders_require(ctx, nb_fit_create(ctx, stills.n, stills.shot, options, fit));
    renders_require(ctx, nb_fit_run(*fit));
    renders_require(ctx, nb_fit_result_get(*fit, &r));
    return r;
}

/* Pulls of fits with other domains each, by errors of counting and by all errors. */
static void pull(nb_context *ctx, int ndomains, int n)
{
    const nb_fit_options options = {.shared = free_names};
    double square[VALUES] = {0}, counting = 0, all = 0;
    const int runs = 16;

    for (int k = 0; k < runs; k++) {
        nb_fit *fit;
        nb_fit_result r;

        noise = k;
        make(ctx, n, ndomains, 1 + k);
        r = fitted(ctx, &options, &fit);
        if (r.end != NB_FIT_CONVERGED || r.draws != DRAWS)
            tap_check(0, "%s; %d draws", r.why, r.draws);
        for (size_t i = 0; i < VALUES; i++) {
            const nb_fit_value *v = r.value + i;
            const double off = pow(v->value - stills_truth(i), 2) / runs;
            const double variance = pow(v->error, 2), part = pow(v->sampling, 2);

            square[i] += off / variance;
            all += off / variance / VALUES;
            counting += off / (variance - part) / VALUES;
        }
        if (k + 1 == runs)
            for (size_t i = 0; i < VALUES; i++)
                tap_note("%s: pulls of %.2f rms", r.value[i].param.name, sqrt(square[i]));
        nb_fit_free(fit);
    }
    tap_note("%d domains: pulls of %.2f rms by errors without that of sampling", ndomains,
             sqrt(counting));
    noise = 0;
    if (quirks) tap_check(sqrt(counting) > 3, "%d domains: sampling decides", ndomains);
    tap_check(sqrt(all) > 0.7 && sqrt(all) < 1.4,
              "%d domains: pulls of %.3f rms, 0.7 to 1.4 allowed", ndomains, sqrt(all));
}

static int truth_is_met(void)
{
    nb_context *ctx = renders_context(1);

    pull(ctx, 20, 1);
    quirks = NB_QUIRK_MOSAIC_F32;
    pull(ctx, 20, 1);
    pull(ctx, 100, 1);
    quirks = 0;
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- the estimate ---- */

/* The steps of other draws, from gradients that are computed here. */
static void steps_of(nb_context *ctx, const nb_fit_options *options, const nb_fit_result *r,
                     const double *inverse, double *step)
{
    const size_t n = r->nvalue;
    double *x = malloc(n * sizeof *x), *gradient = malloc(n * sizeof *gradient), value;
    const struct stills before = stills;

    for (size_t i = 0; i < n; i++) x[i] = r->value[i].value;
    for (int k = 0; k < DRAWS; k++) {
        nb_normal out = {.gradient = gradient};
        nb_fit *fit;

        memset(gradient, 0, n * sizeof *gradient);
        for (int i = 0; i < stills.n; i++)
            stills.scene[i] = draws_scene(before.scene + i, 1 + k);
        renders_require(ctx, nb_fit_create(ctx, stills.n, stills.shot, options, &fit));
        renders_require(ctx, nb_fit_evaluate(fit, x, &value, &out));
        nb_fit_free(fit);
        for (size_t i = 0; i < n; i++) {
            step[k * n + i] = 0;
            for (size_t j = 0; j < n; j++)
                step[k * n + i] -= inverse[i * n + j] * gradient[j];
        }
    }
    memcpy(stills.scene, before.scene, sizeof stills.scene);
    free(x);
    free(gradient);
}

/* Sums over positions, of which that of the fit is 0, less products of means. */
static double spread(const double *step, size_t n, size_t i, size_t j)
{
    double sum = 0, a = 0, b = 0;

    for (int k = 0; k < DRAWS; k++) {
        sum += step[k * n + i] * step[k * n + j];
        a += step[k * n + i];
        b += step[k * n + j];
    }
    return (sum - a * b / (DRAWS + 1)) / DRAWS;
}

/* Errors and covariance are those of counting, times the misfit, and of the steps. */
static void estimate(nb_context *ctx, const nb_fit_options *options)
{
    nb_fit_options counting = *options;
    struct worst covariance = {0}, errors = {0}, parts = {0};
    nb_fit_result r, bare;
    nb_fit *fit, *other;
    double *step;
    int wrong = 0;
    size_t n;

    counting.scaling = NB_FIT_SCALING_COUNTING;
    r = fitted(ctx, options, &fit);
    bare = fitted(ctx, &counting, &other);
    n = r.nvalue;
    tap_check(r.end == NB_FIT_CONVERGED && r.draws == DRAWS && bare.draws == 0 && n > 3
                  && strstr(r.errors_why, "by 8 other draws")
                  && strstr(bare.errors_why, "as asked for"),
              "%s; %s", r.errors_why, bare.errors_why);
    step = malloc(DRAWS * n * sizeof *step);
    steps_of(ctx, options, &r, bare.covariance, step);
    for (size_t i = 0; i < n; i++) {
        const double s = sqrt(spread(step, n, i, i)), error = bare.value[i].error;

        if (!isfinite(error)) continue;
        for (size_t j = 0; j < n; j++)
            if (isfinite(r.value[j].error))
                worst_add(&covariance, r.covariance[i * n + j],
                          bare.covariance[i * n + j] * pow(r.error_factor, 2)
                              + spread(step, n, i, j),
                          r.value[i].error * r.value[j].error);
        worst_add(&parts, r.value[i].sampling, s, s);
        worst_add(&errors, r.value[i].error, hypot(error * r.error_factor, s),
                  r.value[i].error);
        wrong += !isnan(bare.value[i].sampling) || !(s > 0);
    }
    tap_check(wrong == 0, "%d values without a part of sampling", wrong);
    worst_check(&covariance, 1e-9, "covariance");
    worst_check(&parts, 1e-9, "error of sampling");
    worst_check(&errors, 1e-9, "error");
    free(step);
    nb_fit_free(fit);
    nb_fit_free(other);
}

/* Structure factors that the image shows, and others. */
static void make_factors(nb_context *ctx)
{
    int hkl[200][3], n = 0;
    double f[200];

    for (int h = 0; h <= 5; h++)
        for (int k = 0; k <= 5; k++)
            for (int l = -2; l <= 2; l++, n++) {
                hkl[n][0] = h, hkl[n][1] = k, hkl[n][2] = l;
                f[n] = 1000 + 500 * sin(3 * n);
            }
    renders_require(ctx, nb_hkl_create(ctx, n, hkl[0], f, &factors));
}

static int estimate_is_spread(void)
{
    const nb_fit_options with_f = {.shared = "F cell_a", .own = "misset_x"};
    const nb_fit_options single = {.shared = free_names};
    const nb_fit_options joint = {.shared = "cell_a mosaic", .own = "misset scale"};
    nb_context *ctx = renders_context(2);

    make(ctx, 1, 12, 5);
    estimate(ctx, &single);
    make(ctx, 3, 12, 5);
    stills.scene[1].crystal.mosaic_seed = 6;
    estimate(ctx, &joint);
    make_factors(ctx);
    make(ctx, 2, 12, 5);
    estimate(ctx, &with_f);
    nb_hkl_free(factors);
    factors = NULL;
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- what the user is told ---- */

/* The warning names the value whose error of sampling is the largest, in its units. */
static int larger_is_told(void)
{
    const nb_fit_options options = {.shared = free_names};
    nb_context *ctx = renders_context(1);
    char text[80], counts[100];
    double most = 0;
    size_t worst = 0;
    int larger = 0;
    nb_fit_result r;
    nb_fit *fit;

    quirks = NB_QUIRK_MOSAIC_F32;
    make(ctx, 1, 20, 3);
    quirks = 0;
    r = fitted(ctx, &options, &fit);
    for (size_t i = 0; i < r.nvalue; i++) {
        const double part = r.value[i].sampling, all = r.value[i].error;
        const double ratio = part / sqrt(all * all - part * part);

        larger += ratio > 1;
        if (ratio > most) most = ratio, worst = i;
    }
    (void)snprintf(text, sizeof text, "%.3g times for %s", most, r.value[worst].param.name);
    (void)snprintf(counts, sizeof counts,
                   "by 20 mosaic domains is larger than the error of "
                   "counting in %d of %d values",
                   larger, (int)r.nvalue);
    tap_check(larger > 0 && r.nwarning > 0 && strstr(r.warning[r.nwarning - 1], text)
                  && strstr(r.warning[r.nwarning - 1], counts),
              "%s", r.nwarning > 0 ? r.warning[r.nwarning - 1] : "no warning");
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Checks that errors are those of counting, and that they are said to be. */
static void lacks(const nb_fit_result *r, const char *why)
{
    int known = 0;

    for (size_t i = 0; i < r->nvalue; i++) known += !isnan(r->value[i].sampling);
    tap_check(r->draws == 0 && known == 0
                  && strstr(r->errors_why, "without the error of sampling")
                  && strstr(r->errors_why, why),
              "%s", r->errors_why);
}

static int rests(void *user, const nb_fit_state *state)
{
    const struct timespec time = {2, 10000000};

    (void)user;
    if (state->stage == NB_FIT_ALL_FREE && state->gain < 0.05) (void)nanosleep(&time, NULL);
    return 0;
}

/* An image of sharp spots without background has photons where other domains give none. */
static void make_sharp(nb_context *ctx)
{
    nb_scene *scene = stills.scene;
    nb_simulator *sim;

    make(ctx, 1, 3, 3);
    scene->crystal.shape = NB_SHAPE_TOPHAT;
    scene->background.water = 0;
    renders_require(ctx, nb_simulator_create(ctx, scene, NULL, NULL, &sim));
    renders_require(ctx, nb_forward(sim, NULL, stills.observed));
    nb_simulator_free(sim);
}

static int lacking_is_said(void)
{
    const nb_fit_options plain = {.shared = free_names};
    const nb_fit_options limited = {.shared = free_names,
                                    .enough = 0.05,
                                    .seconds = 2,
                                    .progress = rests};
    nb_fit_options options = plain;
    nb_context *ctx = renders_context(1);
    nb_fit_result r;
    nb_fit *fit;

    make(ctx, 1, 20, 3);
    options.passes = 2;
    r = fitted(ctx, &options, &fit);
    lacks(&r, "the fit has not converged");
    nb_fit_free(fit);
    r = fitted(ctx, &limited, &fit);
    tap_check(r.end == NB_FIT_CONVERGED, "%s", r.why);
    lacks(&r, "the limit of seconds");
    nb_fit_free(fit);
    options = plain;
    options.method = NB_FIT_LBFGS;
    if (nb_fit_create(ctx, 1, stills.shot, &options, &fit) != NB_ERR_UNSUPPORTED) {
        nb_fit_free(fit);
        r = fitted(ctx, &options, &fit);
        lacks(&r, "L-BFGS");
        nb_fit_free(fit);
    }
    renders_require(ctx, nb_fit_create_expected(ctx, 1, stills.shot, &plain, &fit));
    renders_require(ctx, nb_fit_result_get(fit, &r));
    lacks(&r, "only a fit has this error");
    nb_fit_free(fit);
    options = (nb_fit_options){.shared = "scale"};
    make_sharp(ctx);
    r = fitted(ctx, &options, &fit);
    lacks(&r, "no finite loss");
    nb_fit_free(fit);
    /* one domain is no sample */
    make(ctx, 1, 20, 3);
    stills.scene[0].crystal.ndomains = 1;
    stills.scene[0].crystal.mosaic[0] = 0;
    r = fitted(ctx, &options, &fit);
    tap_check(r.draws == 0 && r.value[0].sampling == 0 && !strstr(r.errors_why, "sampling"),
              "%s", r.errors_why);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- other ways to the same bits ---- */

/* Calls of load from the end of the minimiser on, and the one that cancels. */
static struct {
    nb_fit *fit;
    int has_ended, calls, cancels;
} loads;

static nb_status load(void *user, int64_t shot, nb_shot *out)
{
    (void)user;
    *out = stills.shot[shot];
    if (loads.has_ended && ++loads.calls == loads.cancels) nb_fit_cancel(loads.fit);
    return NB_OK;
}

static int notes_end(void *user, const nb_fit_state *state)
{
    (void)user;
    loads.has_ended = state->gain < 0.1;
    return 0;
}

static void same_errors(const double *truth, const nb_fit_result *r, const char *how)
{
    double found[STILLS_VALUES];

    for (size_t i = 0; i < r->nvalue; i++) found[i] = r->value[i].error;
    tap_check(r->draws == DRAWS && bits_same(found, truth, r->nvalue), "%s: %s", how,
              r->errors_why);
}

static int same_bits(void)
{
    const nb_fit_options plain = {.shared = "cell_a mosaic", .own = "misset scale"};
    nb_fit_options options = plain;
    nb_context *ctx = renders_context(1), *threads = renders_context(3);
    struct among among = {.n = 2};
    double truth[STILLS_VALUES];
    nb_fit_result r;
    nb_fit *fit;

    make(ctx, 3, 20, 3);
    r = fitted(ctx, &plain, &fit);
    for (size_t i = 0; i < r.nvalue; i++) truth[i] = r.value[i].error;
    same_errors(truth, &r, "once more");
    renders_require(ctx, nb_fit_write(fit, "test_draws.json"));
    nb_fit_free(fit);
    r = fitted(threads, &plain, &fit);
    same_errors(truth, &r, "three threads");
    nb_fit_free(fit);
    renders_require(ctx, nb_fit_create(ctx, 3, stills.shot, &plain, &among.fit[0]));
    renders_require(threads, nb_fit_create(threads, 3, stills.shot, &plain, &among.fit[1]));
    among_run(&among);
    for (int i = 0; i < 2; i++) {
        renders_require(ctx, nb_fit_result_get(among.fit[i], &r));
        same_errors(truth, &r, "by two processes");
        nb_fit_free(among.fit[i]);
    }
    renders_require(ctx, nb_fit_create(ctx, 3, stills.shot, &plain, &fit));
    renders_require(ctx, nb_fit_read(fit, "test_draws.json"));
    renders_require(ctx, nb_fit_result_get(fit, &r));
    same_errors(truth, &r, "read from a file");
    nb_fit_free(fit);
    options.load = load;
    options.progress = notes_end;
    renders_require(ctx, nb_fit_create(ctx, 3, NULL, &options, &loads.fit));
    renders_require(ctx, nb_fit_run(loads.fit));
    /* each draw loads three shots */
    loads.cancels = loads.calls - 3 * 4 - 1;
    nb_fit_free(loads.fit);
    loads.has_ended = loads.calls = 0;
    renders_require(ctx, nb_fit_create(ctx, 3, NULL, &options, &loads.fit));
    tap_check(nb_fit_run(loads.fit) == NB_ERR_CANCELLED, "cancelled");
    tap_check(loads.cancels > 9 && loads.calls == loads.cancels, "at call %d, expected %d",
              loads.calls, loads.cancels);
    renders_require(ctx, nb_fit_result_get(loads.fit, &r));
    lacks(&r, "the fit has not converged");
    renders_require(ctx, nb_fit_run(loads.fit));
    renders_require(ctx, nb_fit_result_get(loads.fit, &r));
    same_errors(truth, &r, "after a cancel");
    nb_fit_free(loads.fit);
    nb_context_free(threads);
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"truth_is_met", truth_is_met},     {"estimate_is_spread", estimate_is_spread},
        {"larger_is_told", larger_is_told}, {"lacking_is_said", lacking_is_said},
        {"same_bits", same_bits},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
