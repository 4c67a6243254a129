/*
 * test_box_errors.c - errors by boxes: of a model that errs for a box as a whole, as one
 * does for spots, and as a fit without each box in turn gives them.
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

enum { ROW = 5, NBOX = ROW * ROW, SIDE = 12, VALUES = 4, DRAWS = 30 };
static int boxes[4 * NBOX];
static const char names[] = "misset scale";

static uint64_t state;

/* A normal deviate, nearly. */
static double noise(void)
{
    double sum = -6;

    for (int i = 0; i < 12; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(state >> 11) / 9007199254740992.0;
    }
    return sum;
}

/* Draws an image in which each box has more or fewer photons than it should, by `uneven`
 * rms.
 */
static void make(nb_context *ctx, double uneven, unsigned seed)
{
    stills_make(&stills, ctx, 1, 1, 0.2);
    state = seed * 7919u + 12345;
    for (int b = 0; b < NBOX; b++) {
        int *r = boxes + 4 * b;
        const double factor = 1 + uneven * noise();

        r[0] = SIDE * (b % ROW), r[1] = r[0] + SIDE;
        r[2] = SIDE * (b / ROW), r[3] = r[2] + SIDE;
        for (int s = r[2]; s < r[3]; s++)
            for (int f = r[0]; f < r[1]; f++)
                stills.photons[0][s * STILLS_SIDE + f] *= factor;
    }
    stills.scene[0].detector.box = boxes;
    stills.scene[0].detector.nbox = NBOX;
    stills.scene[0].crystal.cell[0] = stills_truth(0); /* held */
    stills.scene[0].crystal.mosaic[0] = stills_truth(1);
}

static nb_fit_result fitted(nb_context *ctx, const nb_fit_options *options, nb_fit **fit)
{
    *fit = stills_fit(&stills, ctx, options);
    return stills_run(*fit, NB_OK);
}

/* Where all pixels of a box err alike, errors by boxes reach the truth, and those that take
 * each pixel for itself do not. */
static int pulls(void)
{
    static const nb_fit_options how[] =
        {{.shared = names, .coarse = NB_COARSE_OFF, .scaling = NB_FIT_SCALING_MISFIT},
         {.shared = names, .coarse = NB_COARSE_OFF, .scaling = NB_FIT_SCALING_BOXES}};
    nb_context *ctx = renders_context(1);
    double rms[2] = {0, 0};

    for (unsigned seed = 0; seed < DRAWS; seed++)
        for (int k = 0; k < 2; k++) {
            nb_fit *fit;
            nb_fit_result r;

            make(ctx, 0.1, seed);
            r = fitted(ctx, how + k, &fit);
            if (k
                && (r.errors != NB_FIT_ERRORS_BOXES || r.error_factor != 1
                    || !strstr(r.errors_why, "among 25 boxes")))
                tap_check(0, "factor %g: %s", r.error_factor, r.errors_why);
            for (size_t i = 0; i < VALUES; i++) {
                const double off = r.value[i].value - stills_truth(STILLS_SHARED + i);

                rms[k] += pow(off / r.value[i].error, 2) / (VALUES * DRAWS);
            }
            nb_fit_free(fit);
        }
    tap_check(sqrt(rms[0]) > 1.3,
              "pulls %.3f rms by the misfit of pixels, above 1.3 expected", sqrt(rms[0]));
    tap_check(sqrt(rms[1]) > 0.7 && sqrt(rms[1]) < 1.3,
              "pulls %.3f rms by boxes, allowed 0.7 to 1.3", sqrt(rms[1]));
    nb_context_free(ctx);
    return TAP_PASS;
}

/* The covariance is that of fits without each box in turn, but for what is not linear. */
static int jackknife(void)
{
    const nb_fit_options by_boxes = {.shared = names,
                                     .coarse = NB_COARSE_OFF,
                                     .enough = 1e-7,
                                     .scaling = NB_FIT_SCALING_BOXES};
    static double error[VALUES], value[NBOX][VALUES];
    nb_context *ctx = renders_context(1);
    struct worst off = {0};
    nb_fit_result r;
    nb_fit *fit;

    make(ctx, 0.1, 77);
    r = fitted(ctx, &by_boxes, &fit);
    for (size_t i = 0; i < VALUES; i++) {
        error[i] = r.value[i].error;
        worst_add(&off, sqrt(r.covariance[i * (VALUES + 1)]), error[i], error[i]);
    }
    worst_check(&off, 1e-12, "errors and the diagonal of the covariance");
    nb_fit_free(fit);
    stills.scene[0].detector.nbox = NBOX - 1;
    for (int b = 0; b < NBOX; b++) {
        int without[4 * NBOX];

        memcpy(without, boxes, sizeof without);
        memmove(without + 4 * b, boxes + 4 * (b + 1),
                4 * sizeof(int) * (size_t)(NBOX - 1 - b));
        stills.scene[0].detector.box = without;
        r = fitted(ctx, &by_boxes, &fit);
        for (size_t i = 0; i < VALUES; i++) value[b][i] = r.value[i].value;
        nb_fit_free(fit);
    }
    for (size_t i = 0; i < VALUES; i++) {
        double mean = 0, variance = 0;

        for (int b = 0; b < NBOX; b++) mean += value[b][i] / NBOX;
        for (int b = 0; b < NBOX; b++)
            variance += pow(value[b][i] - mean, 2) * (NBOX - 1) / NBOX;
        tap_note("value %zu: %.4g by fits without each box, %.4g", i, sqrt(variance),
                 error[i]);
        tap_close("error over that of refitting", error[i] / sqrt(variance), 1, 0.1);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* A tight restraint is not undone by boxes; and with too few boxes errors are those of the
 * misfit. */
static int others(void)
{
    static const nb_restraint tight[] = {{.name = "scale", .centre = 1, .sigma = 1e-8}};
    nb_fit_options how = {.shared = names,
                          .coarse = NB_COARSE_OFF,
                          .restraint = tight,
                          .nrestraint = 1,
                          .scaling = NB_FIT_SCALING_BOXES};
    nb_context *ctx = renders_context(1);
    double error[2] = {0};
    nb_fit_result r;
    nb_fit *fit;

    make(ctx, 0.1, 5);
    r = fitted(ctx, &how, &fit);
    tap_close("restrained error", r.value[3].error, 1e-8, 1e-11);
    nb_fit_free(fit);
    how.nrestraint = 0;
    stills.scene[0].detector.nbox = VALUES;
    for (int k = 0; k < 2; k++) {
        how.scaling = k ? NB_FIT_SCALING_MISFIT : NB_FIT_SCALING_BOXES;
        r = fitted(ctx, &how, &fit);
        error[k] = r.value[3].error;
        tap_check(r.error_factor > 1, "four boxes for four values: %s", r.errors_why);
        nb_fit_free(fit);
    }
    tap_check(error[0] == error[1], "error %.17g, by the misfit %.17g", error[0], error[1]);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Fits two shots by the boxes of each, and gives the errors of the result. */
static void errors_of_two(nb_context *ctx, int *const list[2], const size_t nbox[2],
                          double error[6])
{
    static const nb_fit_options how = {.shared = "cell_a mosaic",
                                       .own = "misset scale",
                                       .coarse = NB_COARSE_OFF,
                                       .scaling = NB_FIT_SCALING_BOXES};
    nb_fit_result r;
    nb_fit *fit;

    for (int i = 0; i < 2; i++) {
        stills.scene[i].detector.box = list[i];
        stills.scene[i].detector.nbox = nbox[i];
    }
    r = fitted(ctx, &how, &fit);
    tap_check(r.errors == NB_FIT_ERRORS_BOXES, "%zu and %zu boxes: %s", nbox[0], nbox[1],
              r.errors_why);
    for (int i = 0; i < 6; i++) error[i] = r.value[i].error;
    nb_fit_free(fit);
}

/* Shots may differ in boxes. The same rectangle is one box in all of them, wherever it
 * stands in the list: boxes in another order give the same errors. A shot without some of
 * the boxes gives the errors of a shot whose mask hides them. */
static int uneven(void)
{
    nb_context *ctx = renders_context(1);
    uint8_t mask[STILLS_SIDE * STILLS_SIDE];
    double all[6], turned[6], fewer[6], hidden[6];
    int reverse[4 * NBOX];
    struct worst order = {0}, masked = {0}, changed = {0};

    make(ctx, 0, 1);
    stills_make(&stills, ctx, 2, 1, 0.2);
    for (int b = 0; b < NBOX; b++)
        memcpy(reverse + 4 * b, boxes + 4 * (NBOX - 1 - b), 4 * sizeof *boxes);
    memset(mask, 1, sizeof mask);
    for (int b = 20; b < NBOX; b++)
        for (int s = boxes[4 * b + 2]; s < boxes[4 * b + 3]; s++)
            memset(mask + s * STILLS_SIDE + boxes[4 * b], 0, SIDE);
    errors_of_two(ctx, (int *[]){boxes, boxes}, (size_t[]){NBOX, NBOX}, all);
    errors_of_two(ctx, (int *[]){boxes, reverse}, (size_t[]){NBOX, NBOX}, turned);
    errors_of_two(ctx, (int *[]){boxes, boxes}, (size_t[]){NBOX, 20}, fewer);
    stills.scene[1].detector.mask = mask;
    errors_of_two(ctx, (int *[]){boxes, boxes}, (size_t[]){NBOX, NBOX}, hidden);
    for (int i = 0; i < 6; i++) {
        worst_add(&order, turned[i], all[i], all[i]);
        worst_add(&masked, hidden[i], fewer[i], fewer[i]);
        worst_add(&changed, fewer[i], all[i], all[i]);
    }
    worst_check(&order, 1e-6, "errors of boxes in another order");
    worst_check(&masked, 1e-6, "errors without five boxes of a shot");
    tap_check(changed.error > 1e-3, "which differ from errors by all boxes by %.2g",
              changed.error);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* A pixel of several boxes counts once, in the first: a list of boxes that all come twice
 * gives the errors and R of the list, and so does one whose boxes reach into those before
 * them. */
static int overlapping(void)
{
    static const nb_fit_options how = {.shared = names,
                                       .coarse = NB_COARSE_OFF,
                                       .scaling = NB_FIT_SCALING_BOXES};
    nb_context *ctx = renders_context(1);
    double error[VALUES], r_of_boxes = 0;

    for (int planes = 0; planes < 2; planes++)
        for (int k = 0; k < 3; k++) {
            int list[8 * NBOX];
            struct worst off = {0};
            nb_fit_misfit m;
            nb_fit_result r;
            nb_fit *fit;

            make(ctx, 0.1, 5);
            memcpy(list, boxes, sizeof boxes);
            memcpy(list + 4 * NBOX, boxes, sizeof boxes);
            for (int b = 0; b < NBOX && k == 2; b++)
                if (b % ROW > 0) list[4 * b] -= SIDE;
            stills.scene[0].detector.box = list;
            stills.scene[0].detector.nbox = k == 1 ? 2 * NBOX : NBOX;
            if (planes) stills.shot[0].target.background = NB_BACKGROUND_PLANES;
            r = fitted(ctx, &how, &fit);
            renders_require(ctx, nb_fit_misfit_get(fit, 0, &m));
            tap_check(r.errors == NB_FIT_ERRORS_BOXES, "%s", r.errors_why);
            for (size_t i = 0; i < VALUES; i++) {
                if (k == 0) error[i] = r.value[i].error;
                worst_add(&off, r.value[i].error, error[i], error[i]);
            }
            if (k == 0) r_of_boxes = m.r;
            /* planes of the third list are centred elsewhere, and end elsewhere by noise */
            worst_check(&off, planes && k == 2 ? 1e-3 : 1e-5,
                        "errors of overlapping boxes");
            tap_close("R of boxes", m.r, r_of_boxes, planes && k == 2 ? 1e-3 : 1e-10);
            nb_fit_free(fit);
        }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* A result whose errors by boxes are cancelled, or late, has those of the misfit, and says
 * so; so has one whose loss is no likelihood, and that of a fit of nothing observed. */
static int without(void)
{
    nb_fit_options how = {.shared = names, .coarse = NB_COARSE_OFF};
    nb_context *ctx = renders_context(1);
    double error[2] = {0};
    nb_fit_result r;
    nb_fit *fit;

    make(ctx, 0.5, 5);
    for (int k = 0; k < 2; k++) {
        how.scaling = k ? NB_FIT_SCALING_BOXES : NB_FIT_SCALING_MISFIT;
        fit = stills_fit(&stills, ctx, &how);
        renders_require(ctx, nb_fit_run(fit));
        if (k) nb_fit_cancel(fit);
        renders_require(ctx, nb_fit_result_get(fit, &r));
        error[k] = r.value[3].error;
        tap_check(r.errors == NB_FIT_ERRORS_CURVATURE && r.error_factor > 1
                      && !k
                             == !strstr(r.errors_why,
                                        "not from boxes: their computation was "
                                        "cancelled; times"),
                  "%s", r.errors_why);
        if (k) renders_require(ctx, nb_fit_result_get(fit, &r));
        tap_check(!k
                      || (r.errors == NB_FIT_ERRORS_BOXES && r.nwarning > 0
                          && strstr(r.warning[0], "and the errors include this")),
                  "later: %s; %s", r.errors_why, r.nwarning > 0 ? r.warning[0] : "");
        nb_fit_free(fit);
    }
    tap_check(error[0] == error[1], "error %.17g, by the misfit %.17g", error[1], error[0]);
    how.seconds = 1e-9;
    r = fitted(ctx, &how, &fit);
    tap_check(strstr(r.errors_why, "not from boxes: the limit of seconds is reached")
                  != NULL,
              "%s", r.errors_why);
    nb_fit_free(fit);
    how.seconds = 0;
    renders_require(ctx, nb_fit_create_expected(ctx, 1, stills.shot, &how, &fit));
    renders_require(ctx, nb_fit_result_get(fit, &r));
    tap_check(r.value[3].error > 0 && strstr(r.errors_why, "nothing was observed"), "%s",
              r.errors_why);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"pulls", pulls},
                                            {"jackknife", jackknife},
                                            {"others", others},
                                            {"uneven", uneven},
                                            {"overlapping", overlapping},
                                            {"without", without}};

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
