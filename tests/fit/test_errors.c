/*
 * test_errors.c - errors of fits by losses that are no likelihood: they are those of
 * repeated experiments.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit/stills.h"
#include "support/renders.h"
#include "support/tap.h"

static struct stills stills;

enum { DRAWS = 40, VALUES = STILLS_SHARED + STILLS_OWN };

static const char free_names[] = "cell_a mosaic misset scale";

enum { BOX = 16, BOXES = (STILLS_SIDE / BOX) * (STILLS_SIDE / BOX) };
static int boxes[BOXES][4];

/* Noise of another draw on the photons of the truth; in boxes with a background instead of
 * water, and some hot pixels at other places. */
static void draw(nb_context *ctx, int seed, int in_boxes, int hot)
{
    static uint16_t counts[STILLS_PIXELS];
    double truth[STILLS_VALUES];
    const nb_digitizer how = {.scale = 1, .noise = 1, .seed = seed};
    nb_array counted = nb_array_u16(counts, STILLS_SIDE, STILLS_SIDE);
    nb_array image = nb_array_f64(stills.photons[0], STILLS_SIDE, STILLS_SIDE);
    nb_scene scene;
    nb_simulator *sim;

    for (size_t i = 0; i < STILLS_VALUES; i++) truth[i] = stills_truth(i);
    scene = stills_scene(truth, 0);
    if (in_boxes) scene.background.water = 0;
    if (nb_simulator_create(ctx, &scene, NULL, NULL, &sim) != NB_OK
        || nb_forward(sim, NULL, &image) != NB_OK)
        abort();
    for (int p = 0; in_boxes && p < STILLS_PIXELS; p++)
        stills.photons[0][p] += 30 + p % BOX - 0.5 * (p / STILLS_SIDE % BOX);
    if (nb_digitize(sim, &how, &image, &counted) != NB_OK) abort();
    nb_simulator_free(sim);
    for (int p = 0; p < STILLS_PIXELS; p++) stills.photons[0][p] = counts[p];
    for (int i = 0; i < hot; i++)
        stills.photons[0][(seed * 977 + i * 613) % STILLS_PIXELS] = 2000 + 10 * i;
}

static void use_boxes(nb_scene *scene)
{
    for (int b = 0; b < BOXES; b++) {
        const int fast = b * BOX % STILLS_SIDE, slow = b * BOX / STILLS_SIDE * BOX;
        const int box[4] = {fast, fast + BOX, slow, slow + BOX};

        memcpy(boxes[b], box, sizeof box);
    }
    scene->background.water = 0;
    scene->detector.box = boxes[0];
    scene->detector.nbox = BOXES;
}

/* Pulls of repeated experiments, and, for water, the errors that nb_fit_create_expected()
 * expects before. */
static void repeat(nb_context *ctx, nb_target target, int hot, const char *name)
{
    const nb_fit_options options = {.shared = free_names};
    double square[VALUES] = {0}, all = 0, ratio[VALUES] = {0};
    nb_fit_result r;
    nb_fit *fit;

    stills_make(&stills, ctx, 1, 1, 0);
    target.observed = stills.observed;
    stills.shot[0].target = target;
    if (target.background) use_boxes(&stills.scene[0]);
    for (int k = 0; k < DRAWS; k++) {
        draw(ctx, 100 + k, target.background, hot);
        fit = stills_fit(&stills, ctx, &options);
        if (nb_fit_run(fit) != NB_OK || nb_fit_result_get(fit, &r) != NB_OK) abort();
        if (k == 0)
            tap_check(r.errors == NB_FIT_ERRORS_VARIANCE
                          && strstr(r.errors_why, "variance"),
                      "%s: %s; %s", name, r.errors_why, r.why);
        for (size_t i = 0; i < VALUES; i++) {
            const double pull = (r.value[i].value - stills_truth(i)) / r.value[i].error;

            square[i] += pull * pull / DRAWS;
            ratio[i] += r.value[i].error / DRAWS;
            all += pull * pull / DRAWS / VALUES;
        }
        if (k + 1 < DRAWS) nb_fit_free(fit);
    }
    for (size_t i = 0; i < VALUES; i++)
        tap_note("%s, %s: pulls of %.2f rms", name, r.value[i].param.name, sqrt(square[i]));
    nb_fit_free(fit);
    tap_check(sqrt(all) > 0.8 && sqrt(all) < 1.25,
              "%s: pulls of %.3f rms, 0.8 to 1.25 allowed", name, sqrt(all));
    if (target.background) return; /* which nobody knows before */
    if (nb_fit_create_expected(ctx, 1, stills.shot, &options, &fit) != NB_OK
        || nb_fit_result_get(fit, &r) != NB_OK)
        abort();
    for (size_t i = 0; i < VALUES; i++)
        tap_close("expected error over that of fits", r.value[i].error / ratio[i], 1, 0.01);
    nb_fit_free(fit);
}

static int pulls(void)
{
    static float weight[STILLS_PIXELS];
    nb_context *ctx = renders_context(1);
    const nb_array w = nb_array_f32(weight, STILLS_SIDE, STILLS_SIDE);

    repeat(ctx, (nb_target){.kind = NB_LOSS_GAUSS}, 0, "gauss");
    repeat(ctx, (nb_target){.kind = NB_LOSS_HUBER, .delta = 100}, 0, "huber");
    repeat(ctx, (nb_target){.kind = NB_LOSS_CAUCHY, .delta = 200}, 0, "cauchy");
    stills_make(&stills, ctx, 1, 0, 0);
    for (int p = 0; p < STILLS_PIXELS; p++)
        weight[p] = (float)(1 / fmax(stills.photons[0][p], 1));
    repeat(ctx, (nb_target){.kind = NB_LOSS_HUBER, .delta = 30, .weight = &w}, 0,
           "weighted huber");
    repeat(ctx, (nb_target){.kind = NB_LOSS_CAUCHY, .delta = 40, .weight = &w}, 0,
           "weighted cauchy");
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Planes are free beside the parameters; hot pixels pull on neither. */
static int planes(void)
{
    nb_context *ctx = renders_context(1);
    const nb_target squares = {.background = NB_BACKGROUND_PLANES, .kind = NB_LOSS_GAUSS};
    const nb_target huber = {.background = NB_BACKGROUND_PLANES,
                             .kind = NB_LOSS_HUBER,
                             .delta = 12};
    const nb_target cauchy = {.background = NB_BACKGROUND_PLANES,
                              .kind = NB_LOSS_CAUCHY,
                              .delta = 25};

    repeat(ctx, squares, 0, "gauss, planes");
    repeat(ctx, huber, 0, "huber, planes");
    repeat(ctx, cauchy, 0, "cauchy, planes");
    repeat(ctx, cauchy, 40, "cauchy, planes, hot pixels");
    repeat(ctx, huber, 4, "huber, planes, hot pixels");
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Sets a box to the darkest of 8 x 8 pixels of an image. */
static void find_dark(const double *image, int box[4])
{
    double least = INFINITY;

    for (int i = 0; i < STILLS_PIXELS / 64; i++) {
        const int f = 8 * (i % (STILLS_SIDE / 8)), s = 8 * (i / (STILLS_SIDE / 8));
        double sum = 0;

        for (int p = 0; p < 64; p++) sum += image[(s + p / 8) * STILLS_SIDE + f + p % 8];
        if (!(sum < least)) continue;
        least = sum;
        box[0] = f, box[1] = f + 8, box[2] = s, box[3] = s + 8;
    }
    tap_check(least < 1e-15, "%g photons in the darkest box", least);
}

/* A box that a spot misses by many widths, with two photons: no parameter moves, and the
 * residuals are numbers. */
static int beside_a_spot(void)
{
    nb_context *ctx = renders_context(1);
    const nb_fit_options options = {.shared = "scale misset", .coarse = NB_COARSE_OFF};
    nb_array image = nb_array_f64(stills.photons[0], STILLS_SIDE, STILLS_SIDE);
    nb_fit_misfit misfit;
    nb_simulator *sim;
    nb_fit_result r;
    nb_fit *fit;
    int box[4], held = 0;

    stills_make(&stills, ctx, 1, 1, 0);
    stills.scene[0].background.water = 0;
    for (int k = 0; k < 3; k++) stills.scene[0].crystal.ncells[k] *= 4;
    if (nb_simulator_create(ctx, &stills.scene[0], NULL, NULL, &sim) != NB_OK
        || nb_forward(sim, NULL, &image) != NB_OK)
        abort();
    nb_simulator_free(sim);
    find_dark(stills.photons[0], box);
    memset(stills.photons[0], 0, sizeof stills.photons[0]);
    stills.photons[0][(box[2] + 1) * STILLS_SIDE + box[0] + 5] = 1;
    stills.photons[0][(box[2] + 4) * STILLS_SIDE + box[0] + 3] = 1;
    stills.scene[0].detector.box = box;
    stills.scene[0].detector.nbox = 1;
    stills.shot[0].target.kind = NB_LOSS_POISSON;
    stills.shot[0].target.background = NB_BACKGROUND_PLANES;
    fit = stills_fit(&stills, ctx, &options);
    r = stills_run(fit, NB_OK);
    for (size_t i = 0; i < r.nvalue; i++) held += r.value[i].is_held;
    tap_check(r.end == NB_FIT_CONVERGED && held == 4 && isfinite(r.loss) && r.loss > 0,
              "%s; loss %g, %d values are held", r.why, r.loss, held);
    if (nb_fit_misfit_get(fit, 0, &misfit) != NB_OK) abort();
    tap_check(misfit.all.rms > 0.5 && misfit.all.rms < 1.5, "rms of z %g", misfit.all.rms);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* With weights 1/variance squares are a likelihood, whose errors are also those by this
 * variance, with a limit of Huber that nothing exceeds; with a mask of 0 and 1 they are
 * none. */
static int weighted(void)
{
    static float weight[2][STILLS_PIXELS];
    nb_context *ctx = renders_context(1);
    const nb_fit_options options = {.shared = free_names};
    double error[3][VALUES];

    stills_make(&stills, ctx, 1, 1, 0);
    for (int p = 0; p < STILLS_PIXELS; p++) {
        weight[0][p] = (float)(1 / fmax(stills.photons[0][p], 1));
        weight[1][p] = p % 7 > 0;
    }
    for (int k = 0; k < 3; k++) {
        nb_array w = nb_array_f32(weight[k == 2], STILLS_SIDE, STILLS_SIDE);
        nb_fit_result r;
        nb_fit *fit;

        stills.shot[0].target = (nb_target){.kind = k == 1 ? NB_LOSS_HUBER : NB_LOSS_GAUSS,
                                            .delta = 1e9,
                                            .observed = stills.observed,
                                            .weight = &w};
        fit = stills_fit(&stills, ctx, &options);
        r = stills_run(fit, NB_OK);
        tap_check(r.errors == (k == 0 ? NB_FIT_ERRORS_CURVATURE : NB_FIT_ERRORS_VARIANCE),
                  "%s", r.errors_why);
        for (size_t i = 0; i < VALUES; i++) error[k][i] = r.value[i].error;
        nb_fit_free(fit);
    }
    for (size_t i = 0; i < VALUES; i++)
        tap_close("error by variance over that by curvature", error[1][i] / error[0][i], 1,
                  1e-3);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* z is that of counting for losses that know no variance. */
static int counted_z(void)
{
    static const int kinds[] = {NB_LOSS_GAUSS, NB_LOSS_HUBER, NB_LOSS_CAUCHY};
    nb_context *ctx = renders_context(1);
    const nb_fit_options options = {.shared = free_names};

    for (int k = 0; k < 3; k++) {
        nb_fit_misfit misfit;
        nb_fit *fit;

        stills_make(&stills, ctx, 1, 1, 0);
        stills.shot[0].target =
            (nb_target){.kind = kinds[k], .delta = 12, .observed = stills.observed};
        fit = stills_fit(&stills, ctx, &options);
        (void)stills_run(fit, NB_OK);
        if (nb_fit_misfit_get(fit, 0, &misfit) != NB_OK) abort();
        tap_close("rms of z", misfit.all.rms, 1, 0.05);
        nb_fit_free(fit);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Of a still by counts and one by squares with their variances, by way of Huber: the errors
 * are those of both by counts. */
static int mixed(void)
{
    static float weight[STILLS_PIXELS];
    nb_context *ctx = renders_context(1);
    const nb_array w = nb_array_f32(weight, STILLS_SIDE, STILLS_SIDE);
    double error[2][STILLS_SHARED + 2 * STILLS_OWN];

    for (int k = 0; k < 2; k++) {
        nb_fit_result r;
        nb_fit *fit;

        stills_make(&stills, ctx, 2, 0, 0);
        for (int p = 0; p < STILLS_PIXELS; p++)
            weight[p] = (float)(1 / stills.photons[1][p]);
        if (k == 1)
            stills.shot[1].target = (nb_target){.kind = NB_LOSS_HUBER,
                                                .delta = 1e9,
                                                .observed = stills.observed + 1,
                                                .weight = &w};
        fit = stills_fit(&stills, ctx, &stills_options);
        r = stills_run(fit, NB_OK);
        for (size_t i = 0; i < r.nvalue; i++) error[k][i] = r.value[i].error;
        nb_fit_free(fit);
    }
    for (size_t i = 0; i < STILLS_SHARED + 2 * STILLS_OWN; i++)
        tap_close("error over that by counts", error[1][i] / error[0][i], 1, 1e-4);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* In pass 2 of the fit `user` points to. */
static int has_none(void *user, const nb_fit_state *state)
{
    nb_fit_result r;

    if (state->passes != 2) return 0;
    if (nb_fit_result_get(*(nb_fit *const *)user, &r) != NB_OK) abort();
    tap_check(r.errors == NB_FIT_ERRORS_NONE && isnan(r.value[0].error) && !r.covariance
                  && strstr(r.errors_why, "when a run ends"),
              "%s", r.errors_why);
    return 1;
}

/* Where they cannot be had, errors are NAN, and the result says why. */
static int none(void)
{
    nb_context *ctx = renders_context(1);
    nb_fit *fit;
    const nb_fit_options options = {.shared = free_names,
                                    .progress = has_none,
                                    .user = &fit};
    nb_fit_result r;

    stills_make(&stills, ctx, 1, 1, 1);
    stills.shot[0].target.kind = NB_LOSS_GAUSS;
    fit = stills_fit(&stills, ctx, &options);
    (void)stills_run(fit, NB_ERR_CANCELLED);
    r = stills_run(fit, NB_OK);
    tap_check(r.errors == NB_FIT_ERRORS_VARIANCE && r.covariance
                  && fabs(r.covariance[0] - pow(r.value[0].error, 2))
                         <= 1e-12 * r.covariance[0],
              "then %s", r.errors_why);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"pulls", pulls},       {"planes", planes},       {"beside_a_spot", beside_a_spot},
        {"weighted", weighted}, {"counted_z", counted_z}, {"mixed", mixed},
        {"none", none},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
