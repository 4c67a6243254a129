/*
 * test_holdout.c - how far images are from their data, in the numbers that tell of spots:
 * deviance over its expectation, that of bright pixels, R of boxes; of images that are
 * fitted, and of those that are held out.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit/stills.h"
#include "nanobrag_fit/fit.h"
#include "physics/loss.h"
#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

static struct stills stills;

enum { SHOTS = 5, HELD = 2, NBOX = 2 };
static int boxes[4 * NBOX] = {0, 20, 0, 30, 30, 64, 10, 64};
static const char names[] = "cell_a mosaic";

/* Draws the counts of still i at its scene. */
static void draw(nb_context *ctx, int i)
{
    static uint16_t counts[STILLS_PIXELS];
    const nb_digitizer how = {.scale = 1, .noise = 1, .seed = 70 + i};
    nb_array image = nb_array_f64(stills.photons[i], STILLS_SIDE, STILLS_SIDE);
    nb_array counted = nb_array_u16(counts, STILLS_SIDE, STILLS_SIDE);
    nb_simulator *sim;

    renders_require(ctx, nb_simulator_create(ctx, stills.scene + i, NULL, NULL, &sim));
    renders_require(ctx, nb_forward(sim, NULL, &image));
    renders_require(ctx, nb_digitize(sim, &how, &image, &counted));
    nb_simulator_free(sim);
    for (int p = 0; p < STILLS_PIXELS; p++) stills.photons[i][p] = counts[p];
}

/* Stills whose orientations are known, with dark pixels between bright ones. */
static void make(nb_context *ctx, double off)
{
    stills_make(&stills, ctx, SHOTS, 1, 0);
    for (int i = 0; i < SHOTS; i++) {
        stills.scene[i].beam.fluence *= 0.1;
        stills.scene[i].background.water *= 0.1;
        draw(ctx, i);
        stills.scene[i].crystal.cell[0] += off;
        stills.scene[i].crystal.mosaic[0] += off;
        stills.scene[i].detector.box = boxes;
        stills.scene[i].detector.nbox = NBOX;
    }
}

static nb_fit *fitted(nb_context *ctx, int holdout, nb_fit_result *r)
{
    const nb_fit_options options = {.shared = names, .holdout = holdout};
    nb_fit *fit = stills_fit(&stills, ctx, &options);

    *r = stills_run(fit, NB_OK);
    return fit;
}

static nb_fit_misfit misfit_of(nb_context *ctx, nb_fit *fit, int64_t shot)
{
    nb_fit_misfit m;

    renders_require(ctx, nb_fit_misfit_get(fit, shot, &m));
    return m;
}

/* ---- the expectation of a deviance ---- */

static int expectation(void)
{
    const struct phys_loss_model model = {.kind = PHYS_LOSS_POISSON};
    const struct fit_compared how = {.model = &model};
    struct worst summed = {0}, series = {0};

    for (double photons = 1e-6; photons < 1e5; photons *= 1.13) {
        double mean, variance;

        stills_deviance(photons, &mean, &variance);
        worst_add(photons > 30 ? &series : &summed,
                  misfit_pixel(&how, photons, 1, 1).expected, mean, mean);
    }
    worst_check(&summed, 2e-6, "expected deviance, 1e-6 to 30 photons");
    worst_check(&series, 1e-6, "expected deviance, 30 to 1e5 photons");
    return TAP_PASS;
}

/* ---- the sums of a fit ---- */

/* What an image differs by, by hand. */
struct by_hand {
    double deviance, expected, variance, bright_deviance, bright_expected;
    double observed[NBOX], photons[NBOX];
    int64_t pixels, bright;
};

static void look(nb_fit *fit, nb_context *ctx, int shot, struct by_hand *out)
{
    static double model[STILLS_PIXELS];
    nb_array image = nb_array_f64(model, STILLS_SIDE, STILLS_SIDE);

    renders_require(ctx, nb_fit_image(fit, shot, NB_FIT_MODEL, &image));
    for (int p = 0; p < STILLS_PIXELS; p++) {
        const int s = p / STILLS_SIDE, f = p % STILLS_SIDE;
        const double y = stills.photons[shot][p], photons = model[p];
        const double d = 2 * (photons - y + (y > 0 ? y * log(y / photons) : 0));
        double mean, variance;
        int inside = 0;

        for (int b = 0; b < NBOX; b++) {
            const int *r = boxes + 4 * b;

            if (f < r[0] || f >= r[1] || s < r[2] || s >= r[3]) continue;
            out->observed[b] += y;
            out->photons[b] += photons;
            inside = 1;
        }
        if (!inside) continue;
        stills_deviance(photons, &mean, &variance);
        out->pixels++;
        out->deviance += d;
        out->expected += mean;
        out->variance += variance;
        if (!(photons > 3)) continue;
        out->bright++;
        out->bright_deviance += d;
        out->bright_expected += mean;
    }
}

static void check_sums(const nb_fit_misfit *m, const struct by_hand *is, const char *of)
{
    struct worst sums = {0}, expected = {0};
    double off = 0, observed = 0;

    for (int b = 0; b < NBOX; b++) {
        off += fabs(is->observed[b] - is->photons[b]);
        observed += is->observed[b];
        worst_add(&sums, m->box[b].photons, is->photons[b], is->photons[b]);
    }
    worst_add(&sums, m->all.deviance, is->deviance, is->deviance);
    worst_add(&sums, m->all.bright_deviance, is->bright_deviance, is->bright_deviance);
    worst_add(&sums, m->all.loss, is->deviance / 2, is->deviance);
    worst_add(&sums, m->r, off / observed, 1);
    worst_add(&expected, m->all.expected, is->expected, is->expected);
    worst_add(&expected, m->all.bright_expected, is->bright_expected, is->expected);
    tap_note("%s: deviance %.4f times the expected, %.4f in %d bright pixels, R %.5f", of,
             is->deviance / is->expected, is->bright_deviance / is->bright_expected,
             (int)is->bright, off / observed);
    worst_check(&sums, 1e-12, of);
    worst_check(&expected, 2e-6, "and their expectations");
    tap_check(m->all.pixels == is->pixels && m->all.bright == is->bright && is->bright > 150
                  && is->bright < is->pixels - 150 && m->nbox == NBOX,
              "%d of %d pixels are bright, by hand %d of %d", (int)m->all.bright,
              (int)m->all.pixels, (int)is->bright, (int)is->pixels);
}

/* Sums over the images that are fitted, and over those that are held out, are those of the
 * images; a right model differs by noise from both. */
static int sums(void)
{
    nb_context *ctx = renders_context(1);
    nb_fit_result r;
    nb_fit *fit;

    make(ctx, 0.03);
    fit = fitted(ctx, 2, &r);
    for (int held = 0; held < 2; held++) {
        const nb_fit_misfit m = misfit_of(ctx, fit, held ? NB_FIT_HELD_OUT : NB_FIT_FITTED);
        struct by_hand is = {.pixels = 0};
        double deviation;

        for (int i = 0; i < SHOTS; i++) {
            const int is_held = i % 2;

            tap_check(r.shot[i].is_held_out == is_held && !r.shot[i].left_out == !is_held
                          && isnan(r.shot[i].loss) == is_held,
                      "shot %d: held out %d, loss %g", i, r.shot[i].is_held_out,
                      r.shot[i].loss);
            tap_check((m.shot[i].pixels > 0) == (is_held == held), "%d pixels of shot %d",
                      (int)m.shot[i].pixels, i);
        }
        for (int i = 0; i < SHOTS; i++)
            if (i % 2 == held) look(fit, ctx, i, &is);
        check_sums(&m, &is, held ? "held out" : "fitted");
        deviation = sqrt(is.variance) / is.expected;
        tap_check(fabs(is.deviance / is.expected - 1) < 4 * deviation,
                  "%g off 1, allowed 4 deviations of %g", is.deviance / is.expected - 1,
                  deviation);
    }
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- what a fit learns from ---- */

/* Nothing of a shot that is held out: the fit is that of the others, to the bit whatever
 * the shot shows; and that it shows something else is seen. */
static int unseen(void)
{
    nb_context *ctx = renders_context(1);
    double value[2], error[2];
    struct worst without = {0};
    nb_fit_misfit m;
    nb_fit_result r;
    nb_fit *fit;

    make(ctx, 0.03);
    fit = fitted(ctx, HELD, &r);
    for (int i = 0; i < 2; i++) value[i] = r.value[i].value, error[i] = r.value[i].error;
    nb_fit_free(fit);
    for (int p = 0; p < STILLS_PIXELS; p++) stills.photons[1][p] *= 2;
    fit = fitted(ctx, HELD, &r);
    for (int i = 0; i < 2; i++)
        tap_check(r.value[i].value == value[i] && r.value[i].error == error[i],
                  "%s: %.17g and %.17g", r.value[i].param.name, r.value[i].value, value[i]);
    m = misfit_of(ctx, fit, NB_FIT_HELD_OUT);
    tap_check(m.all.deviance > 2 * m.all.expected && m.shot[1].deviance > m.shot[3].deviance
                  && m.r > 0.2,
              "held out: deviance %.3f times the expected, R %.3f",
              m.all.deviance / m.all.expected, m.r);
    m = misfit_of(ctx, fit, NB_FIT_FITTED);
    tap_check(m.all.deviance < 1.1 * m.all.expected && m.r < 0.02,
              "fitted: deviance %.3f times the expected, R %.3f",
              m.all.deviance / m.all.expected, m.r);
    nb_fit_free(fit);
    for (int i = 1; i < 3; i++) stills.shot[i] = stills.shot[2 * i];
    stills.n = 3;
    fit = fitted(ctx, 0, &r);
    for (int i = 0; i < 2; i++) worst_add(&without, r.value[i].value, value[i], error[i]);
    worst_check(&without, 1e-6, "values with the others alone, in errors");
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

static void refuse(nb_context *ctx, const nb_fit_options *options, const char *why)
{
    nb_fit *fit = NULL;
    const nb_status status = nb_fit_create(ctx, SHOTS, stills.shot, options, &fit);

    tap_check(status == NB_ERR_ARGUMENT && strstr(nb_context_message(ctx), why), "%s",
              nb_context_message(ctx));
    nb_fit_free(fit);
}

/* One of all, more than there are, and shots with values of their own are refused; a file
 * of a fit with other shots held out is, too. */
static int refused(void)
{
    static const nb_fit_options wrong[] = {{.shared = names, .holdout = 1},
                                           {.shared = names, .holdout = SHOTS + 1},
                                           {.shared = names, .holdout = -2}};
    const nb_fit_options own = {.shared = names, .own = "misset", .holdout = 2};
    const nb_fit_options other = {.shared = names, .holdout = 3};
    nb_context *ctx = renders_context(1);
    nb_fit_result r;
    nb_fit *fit;

    make(ctx, 0.03);
    for (int i = 0; i < 3; i++) refuse(ctx, wrong + i, "holdout of a fit is 0, or from 2");
    refuse(ctx, &own, "no values of its own");
    fit = fitted(ctx, 2, &r);
    renders_require(ctx, nb_fit_write(fit, "holdout.json"));
    renders_require(ctx, nb_fit_read(fit, "holdout.json"));
    renders_require(ctx, nb_fit_result_get(fit, &r));
    tap_check(r.end == NB_FIT_CONVERGED && r.shot[1].is_held_out, "read again: %s", r.why);
    nb_fit_free(fit);
    fit = stills_fit(&stills, ctx, &other);
    tap_check(nb_fit_read(fit, "holdout.json") == NB_ERR_SCENE
                  && strstr(nb_context_message(ctx), "holdout is 2 in the file and 3 here"),
              "%s", nb_context_message(ctx));
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

static int is_lost; /* 1: shot 1 cannot be loaded */

static nb_status load(void *user, int64_t shot, nb_shot *out)
{
    (void)user;
    out->failure = "it is lost";
    if (shot == 1 && is_lost) return NB_ERR_FILE;
    *out = stills.shot[shot];
    return NB_OK;
}

/* A file tells nothing of whether a shot that is held out can be loaded now. */
static int lost(void)
{
    const nb_fit_options options = {.shared = names, .holdout = 2, .load = load};
    nb_context *ctx = renders_context(1);
    nb_fit_result r;
    nb_fit *fit;

    make(ctx, 0.03);
    for (int first = 0; first < 2; first++) {
        is_lost = first;
        fit = stills_fit(&stills, ctx, &options);
        r = stills_run(fit, NB_OK);
        renders_require(ctx, nb_fit_write(fit, "lost.json"));
        nb_fit_free(fit);
        is_lost = !first;
        fit = stills_fit(&stills, ctx, &options);
        renders_require(ctx, nb_fit_read(fit, "lost.json"));
        renders_require(ctx, nb_fit_result_get(fit, &r));
        tap_check(r.shot[1].is_held_out == !is_lost
                      && !strcmp(r.shot[1].left_out, "it is held out") == !is_lost
                      && r.shot[3].is_held_out,
                  "lost %d, then %d: held out %d, %s", first, is_lost,
                  r.shot[1].is_held_out, r.shot[1].left_out);
        nb_fit_free(fit);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* The correlation of observed and computed pixels of a box after a plane is taken off each.
 * No pixel of an earlier box is among them, so that the slopes of the planes are apart. */
static double correlation_of(const double *y, const double *image, const int *r)
{
    double sum[2][3] = {{0}}, own[3] = {0}, square[3] = {0};

    for (int pass = 0; pass < 2; pass++)
        for (int s = r[2]; s < r[3]; s++)
            for (int f = r[0]; f < r[1]; f++) {
                const double at[3] = {1, f - 0.5 * (r[0] + r[1] - 1),
                                      s - 0.5 * (r[2] + r[3] - 1)};
                double is[2] = {y[s * STILLS_SIDE + f], image[s * STILLS_SIDE + f]};

                for (int i = 0; i < 3 && pass == 0; i++) {
                    own[i] += at[i] * at[i];
                    for (int k = 0; k < 2; k++) sum[k][i] += at[i] * is[k];
                }
                if (pass == 0) continue;
                for (int i = 0; i < 3; i++)
                    for (int k = 0; k < 2; k++) is[k] -= sum[k][i] / own[i] * at[i];
                square[0] += is[0] * is[0];
                square[1] += is[1] * is[1];
                square[2] += is[0] * is[1];
            }
    return square[2] / sqrt(square[0] * square[1]);
}

/* Boxes correlate as their pixels do, also where shots have other numbers of boxes. */
static int correlations(void)
{
    static double image[STILLS_PIXELS];
    nb_array out = nb_array_f64(image, STILLS_SIDE, STILLS_SIDE);
    nb_context *ctx = renders_context(1);
    struct worst off = {0};
    nb_fit_misfit m;
    nb_fit_result r;
    nb_fit *fit;
    int alike = 0, boxes_of_all = 0;

    make(ctx, 0.01);
    stills.scene[1].detector.nbox = 1;
    fit = fitted(ctx, 0, &r);
    for (int i = 0; i < SHOTS; i++) {
        const int n = i == 1 ? 1 : NBOX;
        double value[NBOX], median;

        renders_require(ctx, nb_fit_image(fit, i, NB_FIT_MODEL, &out));
        renders_require(ctx, nb_fit_misfit_get(fit, i, &m));
        for (int b = 0; b < n; b++) {
            value[b] = correlation_of(stills.photons[i], image, boxes + 4 * b);
            worst_add(&off, m.box[b].correlation, value[b], 1);
            alike += value[b] >= NB_FIT_ALIKE;
        }
        median = n == 1 ? value[0] : (value[0] + value[1]) / 2;
        worst_add(&off, m.shot[i].correlation, median, 1);
        boxes_of_all += n;
    }
    worst_check(&off, 1e-12, "correlations of boxes and their medians");
    renders_require(ctx, nb_fit_misfit_get(fit, NB_FIT_FITTED, &m));
    tap_check(m.nbox == 0, "the boxes of the shots are not summed");
    tap_check(m.all.boxes == boxes_of_all && m.all.alike == alike && alike > 0,
              "%lld of %lld boxes are alike, expected %d of %d", (long long)m.all.alike,
              (long long)m.all.boxes, alike, boxes_of_all);
    tap_check(isnan(m.all.correlation) && isnan(m.shell[0].correlation),
              "no correlation of all pixels");
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"expectation", expectation},
                                            {"sums", sums},
                                            {"correlations", correlations},
                                            {"unseen", unseen},
                                            {"refused", refused},
                                            {"lost", lost}};

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
