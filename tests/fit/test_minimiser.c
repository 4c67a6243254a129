/*
 * test_minimiser.c - fits of one still or a few: attempts with broadened spots; what is
 * said of the end and of the errors; images at the result.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "fit/stills.h"
#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

static struct stills stills;

/* ---- attempts and the end ---- */

/* Turns a still by about the width of a spot and more. */
static void turn(int k, double degrees)
{
    for (int i = 0; i < 3; i++)
        stills.scene[0].crystal.misset[i] =
            stills_truth(STILLS_SHARED + i) + degrees * sin(7.0 * k + i);
}

/* From starts that are far off, an attempt with broadened spots comes after one without,
 * and the better of the two is the result; it has the bits of a fit with that choice. */
static int better_attempt(void)
{
    enum { STARTS = 24 };
    static const int choices[3] = {NB_COARSE_OFF, NB_COARSE_ON, NB_COARSE_AUTO};
    int better[2] = {0, 0}, wrong = 0;

    for (int k = 0; k < STARTS; k++) {
        nb_context *ctx = renders_context(1);
        double loss[3];

        stills_make(&stills, ctx, 1, 1, 0);
        turn(k, 1.5 + 0.25 * k);
        for (int c = 0; c < 3; c++) {
            const nb_fit_options options = {.own = "misset scale",
                                            .coarse = choices[c],
                                            .enough = 1e-3, /* whatever the misfit */
                                            .passes = 2000};
            nb_fit *fit = stills_fit(&stills, ctx, &options);
            nb_fit_result r;

            if (nb_fit_run(fit) != NB_OK || nb_fit_result_get(fit, &r) != NB_OK) abort();
            loss[c] = r.loss;
            nb_fit_free(fit);
        }
        tap_note("start %d: loss %.2f without, %.2f with broadened spots, %.2f of choice",
                 k, loss[0], loss[1], loss[2]);
        /* one that is good at once is not tried again */
        if (loss[0] > 0.75 * STILLS_PIXELS) {
            better[0] += loss[0] < loss[1] - 1;
            better[1] += loss[1] < loss[0] - 1;
        }
        wrong +=
            loss[2] != (loss[0] > 0.75 * STILLS_PIXELS ? fmin(loss[0], loss[1]) : loss[0]);
        nb_context_free(ctx);
    }
    tap_check(better[0] > 0 && better[1] > 0,
              "where the first was bad, it was %d times better, the other %d times",
              better[0], better[1]);
    tap_check(wrong == 0, "of %d results %d are not the better one", STARTS, wrong);
    return TAP_PASS;
}

/* What a fit says of itself after each pass. */
struct said {
    nb_fit *fit;
    nb_context *ctx; /* of its own */
    int passes, coarse;
    struct worst off;
    double loss, rose, differs;
};

static int compare_result(void *user, const nb_fit_state *state)
{
    struct said *s = user;
    double x[STILLS_OWN], loss;
    nb_simulator *sim;
    nb_fit_result r;

    if (nb_fit_result_get(s->fit, &r) != NB_OK || r.nvalue != STILLS_OWN) abort();
    for (size_t i = 0; i < r.nvalue; i++) x[i] = r.value[i].value;
    if (nb_simulator_create(s->ctx, stills.scene, "misset scale", NULL, &sim) != NB_OK
        || nb_loss(sim, x, &stills.shot[0].target, &loss, NULL) != NB_OK)
        abort();
    nb_simulator_free(sim);
    worst_add(&s->off, r.loss, loss, loss);
    s->differs = fmax(s->differs,
                      fabs(r.loss - state->loss) + fabs(r.history[r.joint - 1] - r.loss));
    s->rose = fmax(s->rose, state->loss - s->loss);
    s->loss = state->loss;
    s->coarse += state->stage == NB_FIT_COARSE;
    s->passes++;
    return 0;
}

/* After each pass, of a second attempt too, the loss of the result is that of its values;
 * and where the first attempt is kept, so is what it ended with. */
static int result_of_each_pass(void)
{
    enum { STARTS = 12 };
    struct said said = {.loss = 0};
    int kept = 0, wrong = 0;

    said.ctx = renders_context(1);
    for (int k = 0; k < STARTS; k++) {
        nb_context *ctx = renders_context(1);
        nb_fit_options options = {.own = "misset scale",
                                  .passes = 2000,
                                  .enough = 1e-3, /* not in units of the misfit */
                                  .progress = compare_result,
                                  .user = &said};
        nb_fit_result r, first;
        nb_fit *fit;
        double gain;

        stills_make(&stills, ctx, 1, 1, 0);
        turn(k, 1.5 + 0.5 * k);
        fit = said.fit = stills_fit(&stills, ctx, &options);
        said.loss = INFINITY;
        if (nb_fit_run(fit) != NB_OK || nb_fit_result_get(fit, &r) != NB_OK) abort();
        options.coarse = NB_COARSE_OFF, options.progress = NULL;
        fit = stills_fit(&stills, ctx, &options);
        if (nb_fit_run(fit) != NB_OK || nb_fit_result_get(fit, &first) != NB_OK) abort();
        gain = stills_gain(said.fit, &r);
        if (r.loss == first.loss && r.passes > first.passes) {
            kept++;
            wrong +=
                r.end != first.end || r.gain != first.gain || strcmp(r.why, first.why) != 0;
        }
        if (!(fabs(r.gain - gain) < 1e-4)) tap_check(0, "gain %g, true %g", r.gain, gain);
        nb_fit_free(said.fit);
        nb_fit_free(fit);
        nb_context_free(ctx);
    }
    nb_context_free(said.ctx);
    tap_check(said.coarse > 20, "%d of %d passes had broadened spots", said.coarse,
              said.passes);
    /* the loss alone and the one with a matrix are added up in other orders */
    worst_check(&said.off, 1e-12, "loss of a result, relative to that at its values");
    tap_check(said.rose <= 0, "the loss rose by %g", said.rose);
    tap_close("between result, history and report", said.differs, 0, 0);
    tap_check(kept > 0 && wrong == 0,
              "the first attempt was kept %d times, %d times with another end", kept,
              wrong);
    return TAP_PASS;
}

/* Where a fit says that it has converged, nothing is left to gain, whatever the damping of
 * its last steps; and none is stuck before. */
static int converged(void)
{
    enum { STARTS = 30 };
    int n = 0;
    double most = 0;

    for (int k = 0; k < STARTS; k++) {
        nb_context *ctx = renders_context(1);
        const int nshot = 1 + k % 2; /* one: all together; two: each alone first */
        const nb_fit_options options = {.own = "misset scale",
                                        .coarse = NB_COARSE_OFF,
                                        .passes = 1000};
        nb_fit_result r;
        nb_fit *fit;

        stills_make(&stills, ctx, nshot, 1, 0);
        turn(k, 1.5);
        fit = stills_fit(&stills, ctx, &options);
        if (nb_fit_run(fit) != NB_OK || nb_fit_result_get(fit, &r) != NB_OK) abort();
        n += r.end == NB_FIT_CONVERGED;
        if (r.end != NB_FIT_CONVERGED) tap_note("start %d of %d: %s", k, nshot, r.why);
        if (!r.shot[0].left_out && !r.shot[nshot - 1].left_out)
            most = fmax(most, stills_gain(fit, &r));
        nb_fit_free(fit);
        nb_context_free(ctx);
    }
    tap_check(n == STARTS, "%d of %d converged", n, STARTS);
    tap_promised("loss left to gain", most, 0, 1e-3);
    return TAP_PASS;
}

/* By Huber's loss from where every pixel is beyond its limit: the least loss is that of the
 * truth, which has images without noise. */
static int huber_from_afar(void)
{
    nb_context *ctx = renders_context(1);
    const nb_fit_options options = {.shared = "scale water"};
    nb_scene *s = stills.scene;
    nb_fit_result r;
    nb_fit *fit;
    double before;

    stills_make(&stills, ctx, 1, 0, 0);
    s->background.water = 0.06, s->crystal.scale = 1.5; /* true: 0.02 and 1 */
    stills.shot[0].target.kind = NB_LOSS_HUBER;
    stills.shot[0].target.delta = 1e-2;
    fit = stills_fit(&stills, ctx, &options);
    if (nb_fit_evaluate(fit, NULL, &before, NULL) != NB_OK) abort();
    r = stills_run(fit, NB_OK);
    tap_check(r.end == NB_FIT_CONVERGED && r.loss < 1e-6 * before, "loss %g, from %g",
              r.loss, before);
    tap_close("scale", r.value[0].value, 1, 1e-5);
    tap_close("water", r.value[1].value, 0.02, 1e-6);
    tap_check(!r.value[0].is_held && !r.value[1].is_held, "both are free");
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* In boxes of two pixels the planes explain all, and the rest tells nothing of the image:
 * what is left of the matrix is rounding, of either sign. */
static int hidden_by_planes(void)
{
    nb_context *ctx = renders_context(1);
    const nb_fit_options options = {.shared = "scale misset_x"};
    int held = 0, infinite = 0;

    for (int k = 0; k < 6; k++) {
        int boxes[4 * 8];
        nb_fit_result r;
        nb_fit *fit;

        for (int b = 0; b < 8; b++) {
            boxes[4 * b] = 5 + 6 * b + k, boxes[4 * b + 1] = 7 + 6 * b + k;
            boxes[4 * b + 2] = 7 + 5 * b + k, boxes[4 * b + 3] = 8 + 5 * b + k;
        }
        stills_make(&stills, ctx, 1, 1, 0);
        stills.scene[0].crystal.scale = 0.9;
        stills.scene[0].detector.box = boxes;
        stills.scene[0].detector.nbox = 8;
        stills.shot[0].target.kind = NB_LOSS_GAUSS;
        stills.shot[0].target.background = NB_BACKGROUND_PLANES;
        fit = stills_fit(&stills, ctx, &options);
        r = stills_run(fit, NB_OK);
        for (int i = 0; i < 2; i++) {
            held += r.value[i].is_held;
            infinite += isinf(r.value[i].error) != 0;
        }
        nb_fit_free(fit);
    }
    tap_check(held == 12 && infinite == 12, "%d of 12 are held, %d errors are infinite",
              held, infinite);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* What is shared alone, and what is own alone. */
static int shared_or_own(void)
{
    static const nb_fit_options ways[] = {{.shared = "cell_a mosaic"},
                                          {.own = "misset scale"},
                                          {.shared = "misset cell_a scale mosaic"}};

    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        nb_context *ctx = renders_context(1);
        nb_fit_result r;
        nb_fit *fit;

        stills_make(&stills, ctx, k == 2 ? 1 : 3, 1, k == 2);
        for (int i = 0; k == 0 && i < 3; i++) stills.scene[i].crystal.cell[0] = 50.02;
        for (int i = 0; k == 1 && i < 3; i++) stills.scene[i].crystal.misset[0] += 0.05;
        fit = stills_fit(&stills, ctx, ways + k);
        r = stills_run(fit, NB_OK);
        tap_check(r.end == NB_FIT_CONVERGED && stills_gain(fit, &r) < 1e-3,
                  "%zu values, end %d after %d passes, %g left to gain", r.nvalue, r.end,
                  r.passes, stills_gain(fit, &r));
        nb_fit_free(fit);
        nb_context_free(ctx);
    }
    return TAP_PASS;
}

/* ---- images ---- */

static double z_of(double y, double i)
{
    return (y - i) / sqrt(i);
}

/* 1/d of the middle of a pixel. */
static double resolution(const nb_description *d, double wavelength, int s, int f)
{
    double along = 0, square = 0;

    for (int k = 0; k < 3; k++) {
        const double p =
            d->origin[k] + d->pixel * ((f + 0.5) * d->fast[k] + (s + 0.5) * d->slow[k]);

        along += p * d->beam[k];
        square += p * p;
    }
    return 2 * sin(acos(along / sqrt(square)) / 2) / wavelength;
}

/* What the images of a fit's still say, computed here pixel by pixel. */
struct seen {
    struct worst off[3]; /* of model, residual and z from those of the fit */
    int64_t n, full, in_boxes[2];
    double sum, squares; /* of z */
    double qmin, qmax; /* 1/d */
};

/* Compares got[] with what follows from the model, at each pixel that counts. */
static struct seen look(const double *model, const double *weights,
                        double got[3][STILLS_PIXELS], const nb_description *d,
                        double wavelength)
{
    struct seen seen = {.qmin = INFINITY};

    for (int p = 0; p < STILLS_PIXELS; p++) {
        const int s = p / STILLS_SIDE, f = p % STILLS_SIDE;
        const int in[2] = {f < 20 && s < 30, f >= 30 && s >= 10};
        const double y = stills.photons[0][p];
        const int counts = (in[0] || in[1]) && weights[p] > 0 && y < 400;
        const double residual = counts ? y - model[p] : 0;
        const double z = counts ? z_of(y, model[p]) : 0;

        worst_add(&seen.off[0], got[0][p], model[p], 1);
        worst_add(&seen.off[1], got[1][p], residual, 1);
        worst_add(&seen.off[2], got[2][p], z, 1);
        seen.full += (in[0] || in[1]) && weights[p] > 0 && y >= 400;
        if (!counts) continue;
        seen.n++;
        seen.in_boxes[0] += in[0], seen.in_boxes[1] += in[1];
        seen.sum += z, seen.squares += z * z;
        seen.qmin = fmin(seen.qmin, resolution(d, wavelength, s, f));
        seen.qmax = fmax(seen.qmax, resolution(d, wavelength, s, f));
    }
    return seen;
}

/* The misfit of the whole image, of its boxes and of its shells against what was seen. */
static void check_misfit(const nb_fit_misfit *misfit, const struct seen *seen, double loss)
{
    const double n = (double)seen->n;
    double sum = 0;
    int64_t of_shells = 0;

    tap_close("mean of z", misfit->all.mean, seen->sum / n, 1e-15);
    tap_close("rms of z", misfit->all.rms, sqrt(seen->squares / n), 1e-14);
    tap_check(fabs(misfit->all.rms - 1) < 0.1, "which is about 1: %g", misfit->all.rms);
    tap_close("dmin", misfit->all.dmin, 1 / seen->qmax, 1e-14);
    tap_close("dmax", misfit->all.dmax, 1 / seen->qmin, 4e-11 / seen->qmin);
    tap_check(misfit->nbox == 2 && misfit->box[0].pixels == seen->in_boxes[0]
                  && misfit->box[1].pixels == seen->in_boxes[1],
              "%d and %d pixels in boxes", (int)misfit->box[0].pixels,
              (int)misfit->box[1].pixels);
    for (int i = 0; i < NB_FIT_SHELLS; i++) {
        const nb_misfit *m = misfit->shell + i;

        of_shells += m->pixels;
        sum += m->loss;
        if (m->pixels > 0 && i > 0 && misfit->shell[i - 1].pixels > 0
            && !(m->dmax <= misfit->shell[i - 1].dmin))
            tap_check(0, "shell %d begins at %g", i, m->dmax);
    }
    tap_check(of_shells == seen->n, "%d pixels in shells", (int)of_shells);
    tap_close("loss of shells", sum, misfit->all.loss, 2e-11);
    /* that of saturated pixels, which are few, has no z */
    tap_check(misfit->all.loss < loss + 1e-9 && misfit->all.loss > 0.9 * loss,
              "loss %.3f of %.3f", misfit->all.loss, loss);
}

static int images(void)
{
    static double weights[STILLS_PIXELS], model[STILLS_PIXELS], got[3][STILLS_PIXELS];
    static const int boxes[8] = {0, 20, 0, 30, 30, 64, 10, 64};
    nb_context *ctx = renders_context(1);
    const nb_fit_options options = {.shared = "misset scale"};
    nb_array weight = nb_array_f64(weights, STILLS_SIDE, STILLS_SIDE);
    nb_array image = nb_array_f64(model, STILLS_SIDE, STILLS_SIDE);
    struct seen seen;
    double x[4], loss;
    nb_simulator *sim;
    nb_description d;
    nb_scene resolved;
    nb_fit_misfit misfit;
    nb_fit_result r;
    nb_fit *fit;

    stills_make(&stills, ctx, 1, 1, 0.1);
    for (int p = 0; p < STILLS_PIXELS; p++) weights[p] = p % 17 != 0;
    stills.scene[0].detector.box = boxes;
    stills.scene[0].detector.nbox = 2;
    stills.shot[0].target.weight = &weight;
    stills.shot[0].target.saturation = 400;
    fit = stills_fit(&stills, ctx, &options);
    r = stills_run(fit, NB_OK);
    for (int i = 0; i < 4; i++) x[i] = r.value[i].value;
    for (int what = NB_FIT_MODEL; what <= NB_FIT_Z; what++) {
        nb_array out = nb_array_f64(got[what], STILLS_SIDE, STILLS_SIDE);

        tap_check(nb_fit_image(fit, 0, what, &out) == NB_OK, "image %d", what);
    }
    if (nb_fit_misfit_get(fit, 0, &misfit) != NB_OK
        || nb_simulator_create(ctx, stills.scene, "misset scale", NULL, &sim) != NB_OK
        || nb_forward(sim, x, &image) != NB_OK || nb_simulator_describe(sim, x, &d) != NB_OK
        || nb_simulator_resolved(sim, x, &resolved) != NB_OK
        || nb_loss(sim, x, &stills.shot[0].target, &loss, NULL) != NB_OK)
        abort();
    seen = look(model, weights, got, &d, resolved.beam.wavelength);
    worst_check(&seen.off[0], 0, "model");
    worst_check(&seen.off[1], 0, "residual");
    worst_check(&seen.off[2], 8e-15, "z");
    /* saturated pixels have a loss, but no z */
    tap_check(misfit.all.pixels == seen.n && seen.n > 1000 && seen.full > 0
                  && r.shot[0].pixels == seen.n + seen.full,
              "%d and %d saturated pixels of %d", (int)misfit.all.pixels, (int)seen.full,
              (int)r.shot[0].pixels);
    check_misfit(&misfit, &seen, loss);
    nb_simulator_free(sim);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

static int bad_images(void)
{
    static double data[STILLS_PIXELS];
    nb_context *ctx = renders_context(1);
    nb_array out = nb_array_f64(data, STILLS_SIDE, STILLS_SIDE);
    nb_array small = nb_array_f64(data, STILLS_SIDE, STILLS_SIDE - 1);
    nb_fit_misfit misfit;
    nb_fit *fit;

    stills_make(&stills, ctx, 2, 1, 0.1);
    fit = stills_fit(&stills, ctx, &stills_options);
    tap_check(nb_fit_image(NULL, 0, 0, &out) == NB_ERR_ARGUMENT
                  && nb_fit_misfit_get(NULL, 0, &misfit) == NB_ERR_ARGUMENT
                  && nb_fit_image(fit, 0, 0, NULL) == NB_ERR_ARGUMENT
                  && nb_fit_misfit_get(fit, 0, NULL) == NB_ERR_ARGUMENT,
              "NULLs are refused");
    for (int64_t shot = -3; shot <= 2; shot += 5)
        tap_check(nb_fit_image(fit, shot, 0, &out) == NB_ERR_ARGUMENT
                      && nb_fit_misfit_get(fit, shot, &misfit) == NB_ERR_ARGUMENT
                      && strstr(nb_context_message(ctx), "no shot"),
                  "%s", nb_context_message(ctx));
    for (int what = -1; what <= 3; what += 4)
        tap_check(nb_fit_image(fit, 0, what, &out) == NB_ERR_ARGUMENT, "%s",
                  nb_context_message(ctx));
    tap_check(nb_fit_image(fit, 0, 0, &small) == NB_ERR_SHAPE, "%s",
              nb_context_message(ctx));
    tap_check(nb_fit_image(fit, 1, NB_FIT_Z, &out) == NB_OK, "before the first pass");
    stills.photons[1][5] = NAN;
    if (nb_fit_misfit_get(fit, 1, &misfit) != NB_OK) abort();
    tap_check(isnan(misfit.all.rms), "with a NaN in the data: rms %g", misfit.all.rms);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- errors before the experiment ---- */

static int expected_errors(void)
{
    nb_context *ctx = renders_context(1);
    double error[STILLS_VALUES] = {0};
    struct worst off = {0};
    nb_shot blind[2];
    nb_fit_result r;
    nb_fit *fit;

    stills_make(&stills, ctx, 2, 1, 1);
    fit = stills_fit(&stills, ctx, &stills_options);
    r = stills_run(fit, NB_OK);
    for (size_t i = 0; i < r.nvalue; i++) error[i] = r.value[i].error;
    nb_fit_free(fit);
    stills_make(&stills, ctx, 2, 0, 0);
    for (int i = 0; i < 2; i++) {
        blind[i] = stills.shot[i];
        blind[i].target.observed = NULL;
    }
    if (nb_fit_create_expected(ctx, 2, blind, &stills_options, &fit) != NB_OK
        || nb_fit_result_get(fit, &r) != NB_OK)
        abort();
    for (size_t i = 0; i < r.nvalue; i++) {
        worst_add(&off, r.value[i].error, error[i], error[i]);
        tap_check(r.value[i].value == r.value[i].param.value, "%s stays",
                  r.value[i].param.name);
    }
    worst_promised(&off, 0.05, "error before, beside that of the fit");
    tap_check(r.end == NB_FIT_CONVERGED && fabs(r.loss) < 1e-6, "loss %g", r.loss);
    nb_fit_free(fit);
    tap_check(nb_fit_create_expected(ctx, 2, blind, &stills_options, NULL)
                      == NB_ERR_ARGUMENT
                  && nb_fit_create_expected(NULL, 2, blind, &stills_options, &fit)
                         == NB_ERR_ARGUMENT
                  && nb_fit_create_expected(ctx, 0, blind, &stills_options, &fit)
                         == NB_ERR_ARGUMENT,
              "refused: %s", nb_context_message(ctx));
    stills.scene[1].background.water = 0;
    stills.scene[1].crystal.default_f = 0;
    if (nb_fit_create_expected(ctx, 2, blind, &stills_options, &fit) != NB_OK
        || nb_fit_result_get(fit, &r) != NB_OK)
        abort();
    tap_check(isinf(r.value[6].error) && r.value[6].is_held && isfinite(r.value[2].error),
              "without photons an error of %g", r.value[6].error);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- what nb_fit_create() refuses ---- */

static void refused(nb_context *ctx, nb_fit_options options, const char *word)
{
    nb_fit *fit = NULL;
    const nb_status status = nb_fit_create(ctx, 1, stills.shot, &options, &fit);

    tap_check(status == NB_ERR_ARGUMENT && !fit && strstr(nb_context_message(ctx), word),
              "status %d: %s", (int)status, nb_context_message(ctx));
    nb_fit_free(fit);
}

static void restraint_refused(nb_context *ctx, nb_restraint restraint, const char *word)
{
    nb_fit_options options = stills_options;

    options.restraint = &restraint;
    options.nrestraint = 1;
    refused(ctx, options, word);
}

static int bad_options(void)
{
    nb_context *ctx = renders_context(1);
    nb_hkl *hkl;

    stills_make(&stills, ctx, 1, 1, 0);
    refused(ctx, (nb_fit_options){.own = "scale", .method = 3}, "method");
    refused(ctx, (nb_fit_options){.own = "scale", .method = -1}, "method");
    refused(ctx, (nb_fit_options){.own = "scale", .coarse = 3}, "coarse");
    refused(ctx, (nb_fit_options){.own = "scale", .coarse = -1}, "coarse");
    refused(ctx, (nb_fit_options){.own = "scale", .nrestraint = 1}, "restraints");
    restraint_refused(ctx, (nb_restraint){.centre = 1}, "name");
    restraint_refused(ctx, (nb_restraint){.name = "scale", .sigma = -1}, "sigma");
    restraint_refused(ctx, (nb_restraint){.name = "scale", .sigma = NAN}, "sigma");
    restraint_refused(ctx, (nb_restraint){.name = "scale", .sigma = INFINITY}, "sigma");
    restraint_refused(ctx, (nb_restraint){.name = "scale", .centre = NAN, .sigma = 1},
                      "centre");
    restraint_refused(ctx, (nb_restraint){.name = "scale", .lower = 2, .upper = 1},
                      "lower one first");
    restraint_refused(ctx, (nb_restraint){.name = "scale", .lower = 2, .upper = 3},
                      "outside its bounds");
    restraint_refused(ctx, (nb_restraint){.name = "fluence", .sigma = 1}, "no free");
    restraint_refused(ctx, (nb_restraint){.name = "misset", .sigma = 1}, "names one");
    {
        static const int index[3] = {1, 2, 3};
        static const double f = 10;
        const nb_restraint r = {.name = "F[1,2,3]", .centre = 10, .sigma = 1};

        if (nb_hkl_create(ctx, 1, index, &f, &hkl) != NB_OK) abort();
        stills.scene[0].crystal.hkl = hkl;
        refused(ctx, (nb_fit_options){.shared = "F", .restraint = &r, .nrestraint = 1},
                "structure factors");
        stills.scene[0].crystal.hkl = NULL;
        nb_hkl_free(hkl);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"better_attempt", better_attempt},
        {"result_of_each_pass", result_of_each_pass},
        {"converged", converged},
        {"huber_from_afar", huber_from_afar},
        {"hidden_by_planes", hidden_by_planes},
        {"shared_or_own", shared_or_own},
        {"images", images},
        {"bad_images", bad_images},
        {"expected_errors", expected_errors},
        {"bad_options", bad_options},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
