/*
 * test_factors.c - fits of structure factors to small stills of a small cell.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit/stills.h"
#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

static struct stills stills;

enum { F_MOST = 400 };

struct factors {
    int hkl[F_MOST][3];
    double f[F_MOST], start[F_MOST];
    size_t n;
};

/* A hemisphere of reflections, whose start is off by a fifth; every tenth is weak. */
static void make_factors(struct factors *set)
{
    unsigned seed = 5;

    set->n = 0;
    for (int h = 0; h <= 5; h++)
        for (int k = -5; k <= 5; k++)
            for (int l = -5; l <= 5; l++) {
                double noise = 0;

                if (h == 0 && (k < 0 || (k == 0 && l <= 0))) continue;
                if (h * h + k * k + l * l > 24) continue;
                for (int i = 0; i < 12; i++) {
                    seed = seed * 1664525 + 1013904223;
                    noise += (seed >> 8) / 16777216.0 - 0.5;
                }
                set->hkl[set->n][0] = h, set->hkl[set->n][1] = k, set->hkl[set->n][2] = l;
                set->f[set->n] = (set->n % 10 == 3 ? 8 : 60) + 30 * sin(3.0 * set->n);
                set->f[set->n] = fmax(fabs(set->f[set->n]), 4);
                set->start[set->n] = set->f[set->n] * fmax(1 + 0.2 * noise, 0.2);
                set->n++;
            }
}

/* Photons of these reflections, and a start from theirs. */
static void factor_stills(nb_context *ctx, const struct factors *set, nb_hkl **hkl,
                          double fluence)
{
    static uint16_t counts[STILLS_PIXELS];

    if (nb_hkl_create(ctx, set->n, set->hkl[0], set->f, hkl) != NB_OK
        || nb_hkl_create(ctx, set->n, set->hkl[0], set->start, hkl + 1) != NB_OK)
        abort();
    for (int i = 0; i < stills.n; i++) {
        const nb_digitizer how = {.scale = 1, .noise = 1, .seed = 3 + i};
        nb_array counted = nb_array_u16(counts, STILLS_SIDE, STILLS_SIDE);
        nb_scene *s = stills.scene + i;
        nb_simulator *sim;

        s->crystal.default_f = 0;
        s->beam.fluence = fluence;
        s->crystal.scale = stills_truth(STILLS_SHARED + 4 * i + 3);
        for (int axis = 0; axis < 3; axis++) {
            s->crystal.cell[axis] = 22 + 2 * axis;
            s->crystal.misset[axis] = stills_truth(STILLS_SHARED + 4 * i + axis);
        }
        s->crystal.mosaic[0] = 1.0;
        s->crystal.system = NB_SYSTEM_ORTHORHOMBIC;
        s->crystal.point_group = "-1";
        s->crystal.hkl = hkl[0];
        if (nb_simulator_create(ctx, s, NULL, NULL, &sim) != NB_OK) {
            tap_check(0, "%s", nb_context_message(ctx));
            abort();
        }
        if (nb_forward(sim, NULL, stills.observed + i) != NB_OK
            || nb_digitize(sim, &how, stills.observed + i, &counted) != NB_OK)
            abort();
        nb_simulator_free(sim);
        for (int p = 0; p < STILLS_PIXELS; p++) stills.photons[i][p] = counts[p];
        s->crystal.hkl = hkl[1];
    }
}

static void put_away(nb_context *ctx, nb_hkl **hkl)
{
    nb_hkl_free(hkl[0]);
    nb_hkl_free(hkl[1]);
    nb_context_free(ctx);
}

static int falls(void *user, const nb_fit_state *state)
{
    double *losses = user; /* number of passes; the last loss; how often it rose, stayed */

    losses[0]++;
    losses[2] += state->alone == 0 && state->loss > losses[1];
    losses[3] += state->alone == 0 && state->loss == losses[1];
    if (state->alone == 0) losses[1] = state->loss;
    return 0;
}

static int structure_factors(void)
{
    static struct factors set;
    nb_context *ctx = renders_context(2);
    double losses[4] = {0, INFINITY, 0, 0}, before = 0, after = 0, squares = 0;
    const nb_fit_options options = {.shared = "F",
                                    .own = "scale",
                                    .progress = falls,
                                    .user = losses};
    nb_hkl *hkl[2];
    nb_fit_result r;
    nb_fit *fit;
    size_t good = 0, nf = 0;

    make_factors(&set);
    stills_make(&stills, ctx, STILLS_MOST, 0, 0);
    factor_stills(ctx, &set, hkl, 5e28);
    fit = stills_fit(&stills, ctx, &options);
    r = stills_run(fit, NB_OK);
    nf = r.nshared;
    tap_check(r.end == NB_FIT_CONVERGED, "%zu F, end %d after %d passes", nf, r.end,
              r.joint);
    tap_check(losses[2] == 0, "the loss rose %g times, stayed %g times", losses[2],
              losses[3]);
    for (size_t i = 0; i < nf; i++) before += set.start[i], after += r.value[i].value;
    tap_close("mean of F, relative to that of the start", after / before, 1, 1e-12);
    /* what the mean fixes is compared on the scale of the truth */
    for (size_t i = 0; i < nf; i++) {
        const nb_fit_value *v = r.value + i;
        const double scale = r.value[nf].value / stills_truth(STILLS_SHARED + 3);
        const double f = v->value * sqrt(scale), error = v->error * sqrt(scale);

        if (v->is_held || !(error < 0.1 * f)) continue;
        good++;
        squares += pow((f - set.f[i]) / error, 2);
    }
    tap_check(good > 40, "%zu F are known to a tenth", good);
    tap_check(sqrt(squares / (double)good) > 0.7 && sqrt(squares / (double)good) < 1.35,
              "rms of their pulls %.3f", sqrt(squares / (double)good));
    tap_check(strstr(r.why, "mean of F") != NULL, "%s", r.why);
    nb_fit_free(fit);
    put_away(ctx, hkl);
    return TAP_PASS;
}

static void must(const nb_context *ctx, nb_status status)
{
    if (status == NB_OK) return;
    tap_check(0, "%s", nb_context_message(ctx));
    abort();
}

/* What was known after the first pass. */
static struct {
    nb_fit *fit;
    double gain;
    unsigned char is_held[F_MOST];
} first_pass;

static int note_first(void *user, const nb_fit_state *state)
{
    nb_fit_result r;

    (void)user;
    if (state->passes != 1) return 0;
    if (nb_fit_result_get(first_pass.fit, &r) != NB_OK) abort();
    first_pass.gain = r.gain;
    for (size_t i = 0; i < r.nvalue; i++)
        first_pass.is_held[i] = (unsigned char)r.value[i].is_held;
    return 0;
}

/* The first step, damped by 1: half that of Gauss and Newton, in F where the data tell of F
 * to a third, else in F^2, as which the image goes. */
static int first_step(void)
{
    static struct factors set;
    static double weights[STILLS_PIXELS], gradient[F_MOST], diagonal[F_MOST];
    nb_array weight = nb_array_f64(weights, STILLS_SIDE, STILLS_SIDE);
    nb_context *ctx = renders_context(1);
    const nb_fit_options options = {.shared = "F",
                                    .enough = 1e-9,
                                    .passes = 2,
                                    .progress = note_first};
    nb_normal out = {.gradient = gradient, .diagonal = diagonal};
    struct worst off[2] = {0};
    double loss, gain = 0;
    int n[2] = {0, 0};
    nb_fit_result r;
    nb_hkl *hkl[2];
    nb_fit *fit;

    make_factors(&set);
    for (size_t i = 0; i < set.n; i++) set.start[i] = 0.3 * set.f[i];
    stills_make(&stills, ctx, 1, 0, 0);
    factor_stills(ctx, &set, hkl, 5e28);
    for (int p = 0; p < STILLS_PIXELS; p++) weights[p] = 1e-2;
    stills.shot[0].target.kind = NB_LOSS_GAUSS;
    stills.shot[0].target.weight = &weight;
    fit = stills_fit(&stills, ctx, &options);
    must(ctx, nb_fit_evaluate(fit, NULL, &loss, &out));
    first_pass.fit = fit;
    must(ctx, nb_fit_run(fit));
    must(ctx, nb_fit_result_get(fit, &r));
    for (size_t i = 0; i < set.n; i++) {
        const double f = set.start[i], step = -gradient[i] / (2 * diagonal[i]);
        const int is_weak = f * f * diagonal[i] < 9;
        const double to = is_weak ? sqrt(f * f + 2 * f * step) : f + step;

        if (r.value[i].value == f || !(step > -0.4 * f)) continue; /* held, or limited */
        n[is_weak]++;
        worst_add(off + is_weak, r.value[i].value, to, to);
    }
    for (size_t i = 0; i < set.n; i++)
        if (!first_pass.is_held[i])
            gain += pow(gradient[i], 2) / diagonal[i] * (1 / 1.1 - 1 / (2 * 1.1 * 1.1));
    tap_check(n[0] >= 4 && n[1] >= 4, "%d strong and %d weak ones", n[0], n[1]);
    worst_check(off, 1e-12, "step in F, relative");
    tap_close("gain of the step damped by 0.1", first_pass.gain, gain, 1e-12 * gain);
    worst_check(off + 1, 1e-12, "step in F^2, relative");
    nb_fit_free(fit);
    put_away(ctx, hkl);
    return TAP_PASS;
}

/* Keeps the reflections that the stills tell of: F with an error below a tenth. */
static void keep_seen(struct factors *set, nb_context *ctx)
{
    const nb_fit_options options = {.shared = "F"};
    nb_fit_result r;
    nb_fit *fit;
    size_t n = 0;

    if (nb_fit_create_expected(ctx, 1, stills.shot, &options, &fit) != NB_OK
        || nb_fit_result_get(fit, &r) != NB_OK)
        abort();
    for (size_t i = 0; i < set->n; i++) {
        if (r.value[i].is_held || !(r.value[i].error < 0.1 * set->f[i])) continue;
        memcpy(set->hkl[n], set->hkl[i], sizeof set->hkl[n]);
        set->f[n] = set->start[n] = set->f[i];
        n++;
    }
    set->n = n;
    nb_fit_free(fit);
}

/* Sets n stills of the reflections that one tells of, from their true F. */
static void seen_stills(nb_context *ctx, int n, struct factors *set, nb_hkl **hkl)
{
    make_factors(set);
    memcpy(set->start, set->f, sizeof set->start);
    stills_make(&stills, ctx, 1, 0, 0);
    factor_stills(ctx, set, hkl, 5e28);
    keep_seen(set, ctx);
    nb_hkl_free(hkl[0]);
    nb_hkl_free(hkl[1]);
    stills_make(&stills, ctx, n, 0, 0);
    factor_stills(ctx, set, hkl, 5e28);
}

/* A scale that is off: all F move alike, and the scale takes it up, so that F is the truth
 * again after few passes. */
static int gauge(void)
{
    static struct factors set;
    nb_context *ctx = renders_context(1);
    const nb_fit_options options = {.shared = "F scale", .passes = 4};
    double before = 0, after = 0;
    struct worst off = {0};
    nb_hkl *hkl[2];
    nb_fit_result r;
    nb_fit *fit;

    seen_stills(ctx, 1, &set, hkl);
    stills.scene[0].crystal.scale *= 0.8;
    fit = stills_fit(&stills, ctx, &options);
    r = stills_run(fit, NB_OK);
    tap_check(r.nvalue == set.n + 1 && set.n > 5, "%zu values", r.nvalue);
    for (size_t i = 0; i < set.n; i++) before += set.start[i], after += r.value[i].value;
    for (size_t i = 0; i < set.n; i++)
        worst_add(&off, r.value[i].value, set.f[i], r.value[i].error);
    tap_close("mean of F over that of the start", after / before, 1, 1e-12);
    tap_close("scale", r.value[set.n].value, stills_truth(STILLS_SHARED + 3), 0.03);
    worst_check(&off, 5, "F, in errors");
    tap_check(!r.value[set.n].is_held && r.value[set.n].error == 0,
              "the scale moves, and its error is %g", r.value[set.n].error);
    nb_fit_free(fit);
    put_away(ctx, hkl);
    return TAP_PASS;
}

/* Errors are the roots of the covariance, which is the inverse of the matrix in which F
 * stand beside the dense parameters. */
static int factors_beside_dense(void)
{
    static struct factors set;
    enum { MOST = 200 };
    static double matrix[MOST * MOST], diagonal[MOST], coupling[MOST * MOST], dense[9];
    nb_normal out = {.matrix = dense, .diagonal = diagonal, .coupling = coupling};
    nb_context *ctx = renders_context(1);
    const nb_fit_options options = {.shared = "F cell_a", .own = "misset_x"};
    struct worst off = {0}, off_error = {0};
    double loss;
    nb_hkl *hkl[2];
    nb_fit_result r;
    nb_fit *fit;
    size_t n;

    seen_stills(ctx, 2, &set, hkl);
    if (nb_fit_create_expected(ctx, 2, stills.shot, &options, &fit) != NB_OK
        || nb_fit_result_get(fit, &r) != NB_OK || r.nvalue > MOST || !r.covariance)
        abort();
    n = r.nvalue;
    if (nb_fit_evaluate(fit, NULL, &loss, &out) != NB_OK) abort();
    for (size_t i = 0; i < n; i++) {
        const int is_f = i < set.n;

        matrix[i * n + i] = diagonal[i];
        for (size_t j = 0; j < 3; j++) {
            if (!is_f) matrix[i * n + set.n + j] = dense[(i - set.n) * 3 + j];
            if (is_f)
                matrix[i * n + set.n + j] = matrix[(set.n + j) * n + i] =
                    coupling[j * set.n + i];
        }
    }
    /* each row of matrix x covariance is one of the unit matrix, in units of the diagonal
     */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = -(double)(i == j);

            for (size_t k = 0; k < n; k++)
                sum += matrix[i * n + k] * r.covariance[k * n + j];
            worst_add(&off, sum, 0, sqrt(matrix[i * (n + 1)] / matrix[j * (n + 1)]));
        }
    for (size_t i = 0; i < n; i++)
        worst_add(&off_error, r.value[i].error / sqrt(r.covariance[i * (n + 1)]), 1, 1);
    tap_check(r.nfree == 0 && set.n > 5, "%zu F, %zu free", set.n, r.nfree);
    worst_check(&off, 2e-13, "matrix x covariance - 1");
    worst_check(&off_error, 4e-15, "error over root of the covariance");
    nb_fit_free(fit);
    put_away(ctx, hkl);
    return TAP_PASS;
}

/* A fluence is one number too many beside all F, as long as the data tell of each. */
static int free_fluence(void)
{
    static struct factors set;
    static double weights[STILLS_PIXELS];
    nb_array weight = nb_array_f64(weights, STILLS_SIDE, STILLS_SIDE);
    nb_context *ctx = renders_context(1);
    double cell = 0;
    nb_hkl *hkl[2];

    seen_stills(ctx, 1, &set, hkl);
    stills.scene[0].background.water = 0;
    stills.shot[0].target.kind = NB_LOSS_GAUSS;
    for (int p = 0; p < STILLS_PIXELS; p++) weights[p] = 0.5; /* variances of 2 */
    stills.shot[0].target.weight = &weight;
    for (int k = 0; k < 3; k++) {
        static const char *const names[] = {"F fluence", "F fluence cell_a", "F cell_a"};
        const nb_fit_options options = {.shared = names[k]};
        nb_fit *fit = stills_fit(&stills, ctx, &options);
        const nb_fit_result r = stills_run(fit, NB_OK);
        const nb_fit_value *fluence = r.value + set.n;

        if (k == 2) {
            /* 5e-3 measured: the fits end in places that are not quite the same */
            tap_close("error of cell_a, beside a fluence and without", cell, fluence->error,
                      2e-2 * fluence->error);
            nb_fit_free(fit);
            break;
        }
        tap_check(r.nfree == 1 && isinf(fluence->error) && !fluence->is_held,
                  "%zu free, %s, %g +- %g", r.nfree, r.nfree ? r.free[0] : "",
                  fluence->value, fluence->error);
        if (k) cell = fluence[1].error;
        tap_check(r.value[0].error < 0.1 * set.f[0], "F +- %g", r.value[0].error);
        nb_fit_free(fit);
    }
    put_away(ctx, hkl);
    return TAP_PASS;
}

/* Sets a still of reflections with errors of a tenth, and a scale that is off. */
static void one_still(nb_context *ctx, struct factors *set, nb_hkl **hkl)
{
    make_factors(set);
    for (size_t i = 0; i < set->n; i++)
        set->start[i] = set->f[i] + (set->start[i] - set->f[i]) / 2;
    stills_make(&stills, ctx, 1, 0, 0);
    factor_stills(ctx, set, hkl, 5e28);
    stills.scene[0].crystal.scale = 0.8;
}

/* What is held has its start; with the mean of F, but for a factor of all. */
static void check_held(const nb_fit_result *r, size_t nf, int has_factor)
{
    struct worst off = {0};
    double factor = 1;
    size_t n = 0;

    for (size_t i = 0; i < nf; i++) {
        const nb_fit_value *v = r->value + i;

        if (!v->is_held) continue;
        if (n++ == 0 && has_factor) factor = v->value / v->param.value;
        worst_add(&off, v->value / v->param.value / factor, 1, 1);
    }
    tap_check(n > 100 && (factor == 1) == !has_factor, "%zu are held, with a factor of %g",
              n, factor);
    worst_check(&off, has_factor ? 2e-15 : 0, "of the others, relative");
}

/* A scale that is restrained, or has bounds, with all F: the F take up what it may not, so
 * that the loss is that of a fit without. */
static int restrained_scale(void)
{
    static const nb_restraint restraints[] =
        {{.name = "scale", .centre = 0.8, .sigma = 1e-3},
         {.name = "scale", .lower = 0.79, .upper = 0.81}};
    static struct factors set;
    nb_context *ctx = renders_context(1);
    double loss = 0;
    nb_hkl *hkl[2];

    one_still(ctx, &set, hkl);
    for (int k = 0; k < 3; k++) {
        const nb_fit_options options = {.shared = "F scale",
                                        .restraint = k ? restraints + k - 1 : NULL,
                                        .nrestraint = k > 0};
        nb_fit *fit = stills_fit(&stills, ctx, &options);
        const nb_fit_result r = stills_run(fit, NB_OK);
        const nb_fit_value *scale = r.value + set.n;

        tap_check(r.end == NB_FIT_CONVERGED, "end %d, loss %.6f", r.end, r.loss);
        if (k == 0)
            loss = r.loss;
        else
            tap_close("loss, of one without", r.loss, loss, 0.05);
        if (k == 1) tap_check(fabs(scale->value - 0.8) < 1e-3, "scale %.6f", scale->value);
        if (k == 2)
            tap_check(scale->value >= 0.79 && scale->value <= 0.81, "scale %.6f",
                      scale->value);
        tap_check((strstr(r.why, "mean of F") != NULL) == (k == 0), "%s", r.why);
        check_held(&r, set.n, k == 0);
        nb_fit_free(fit);
    }
    put_away(ctx, hkl);
    return TAP_PASS;
}

/* L-BFGS comes down to the loss of Levenberg and Marquardt, though the data tell nothing of
 * most F, which stay. */
static int by_lbfgs(void)
{
    static struct factors set;
    nb_context *ctx = renders_context(1);
    double loss = 0, before;
    size_t moved = 0, held = 0;
    nb_hkl *hkl[2];

    one_still(ctx, &set, hkl);
    for (int method = NB_FIT_LM; method <= NB_FIT_LBFGS; method++) {
        const nb_fit_options options = {.shared = "F scale", .method = method};
        nb_fit *fit = NULL;
        nb_fit_result r;

        if (nb_fit_create(ctx, 1, stills.shot, &options, &fit) == NB_ERR_UNSUPPORTED) {
            tap_note("%s", nb_context_message(ctx));
            break;
        }
        if (nb_fit_evaluate(fit, NULL, &before, NULL) != NB_OK) abort();
        r = stills_run(fit, NB_OK);
        tap_check(r.end == NB_FIT_CONVERGED && r.loss < before / 2,
                  "loss %.6f, from %.6f, after %d passes", r.loss, before, r.passes);
        if (method == NB_FIT_LM)
            loss = r.loss;
        else
            /* both may stop where 1e-3 for each F is left to gain */
            tap_close("loss, of the other method", r.loss, loss, 1e-3 * (double)set.n);
        for (size_t i = 0; method == NB_FIT_LBFGS && i < r.nvalue; i++) {
            held += r.value[i].is_held;
            moved += r.value[i].is_held && r.value[i].value != r.value[i].param.value;
        }
        if (method == NB_FIT_LBFGS)
            tap_check(held > 100 && moved == 0 && !strstr(r.why, "mean of F")
                          && !r.value[set.n].is_held,
                      "%zu are held, %zu of them have moved: %s", held, moved, r.why);
        nb_fit_free(fit);
    }
    put_away(ctx, hkl);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"structure_factors", structure_factors},
                                            {"first_step", first_step},
                                            {"gauge", gauge},
                                            {"free_fluence", free_fluence},
                                            {"factors_beside_dense", factors_beside_dense},
                                            {"restrained_scale", restrained_scale},
                                            {"by_lbfgs", by_lbfgs}};

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
