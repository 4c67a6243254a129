/*
 * test_misfit.c - the misfit of a fit, the errors that are scaled by it, and where a fit
 * ends in its units; errors beside a parameter at its bound.
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

enum { VALUES = STILLS_SHARED + STILLS_OWN };
static const char free_names[] = "cell_a mosaic misset scale";

/* ---- counts that are drawn here ---- */

static uint64_t state;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* Counts of Poisson's distribution, as waiting times: exact for any mean. */
static double poisson(double mean)
{
    double sum = -log(1 - uniform());
    int n = 0;

    for (; sum < mean; n++) sum -= log(1 - uniform());
    return n;
}

/* The photons of a still at the truth, of which some come from a second crystal. */
static void render(nb_context *ctx, double fluence, double second, double *photons)
{
    static double other[STILLS_PIXELS];
    double truth[STILLS_VALUES];
    nb_array image = nb_array_f64(photons, STILLS_SIDE, STILLS_SIDE);
    nb_array more = nb_array_f64(other, STILLS_SIDE, STILLS_SIDE);
    nb_simulator *sim;
    nb_scene scene;

    for (size_t i = 0; i < STILLS_VALUES; i++) truth[i] = stills_truth(i);
    scene = stills_scene(truth, 0);
    scene.beam.fluence *= fluence;
    if (nb_simulator_create(ctx, &scene, NULL, NULL, &sim) != NB_OK
        || nb_forward(sim, NULL, &image) != NB_OK)
        abort();
    nb_simulator_free(sim);
    if (second == 0) return;
    scene.crystal.misset[1] += 0.6;
    scene.crystal.scale *= second;
    scene.background.water = 0;
    if (nb_simulator_create(ctx, &scene, NULL, NULL, &sim) != NB_OK
        || nb_forward(sim, NULL, &more) != NB_OK)
        abort();
    nb_simulator_free(sim);
    for (int p = 0; p < STILLS_PIXELS; p++) photons[p] += other[p];
}

static double truth_photons[STILLS_PIXELS]; /* of the data that were drawn last */

/* How data are drawn: the model's photons, with those of a second crystal, by pixels that
 * differ by so much, in lumps of so many, with read-out noise. */
struct draws {
    double fluence, lump, readout, second, uneven;
};

static void draw(nb_context *ctx, const struct draws *how, unsigned seed)
{
    state = seed * 7919u + 12345;
    stills_make(&stills, ctx, 1, 0, how->fluence < 1 ? 0.2 : 0.5);
    stills.scene[0].beam.fluence *= how->fluence;
    render(ctx, how->fluence, how->second, stills.photons[0]);
    memcpy(truth_photons, stills.photons[0], sizeof truth_photons);
    for (int p = 0; p < STILLS_PIXELS; p++) {
        double *at = stills.photons[0] + p, noise = -6;

        for (int i = 0; i < 12; i++) noise += uniform();
        *at *= 1 + how->uneven * noise;
        *at = how->lump * poisson(*at / how->lump) + how->readout * noise;
    }
}

static nb_fit_result fitted_by(nb_context *ctx, const char *names, nb_target target,
                               int scaling, nb_fit **fit)
{
    const nb_fit_options options = {.shared = names,
                                    .scaling = scaling,
                                    .coarse = NB_COARSE_OFF};
    nb_fit_result r;

    target.observed = stills.observed;
    stills.shot[0].target = target;
    *fit = stills_fit(&stills, ctx, &options);
    if (nb_fit_run(*fit) != NB_OK || nb_fit_result_get(*fit, &r) != NB_OK) abort();
    if (r.end != NB_FIT_CONVERGED) tap_check(0, "%s", r.why);
    return r;
}

static nb_fit_result fitted(nb_context *ctx, nb_target target, int scaling, nb_fit **fit)
{
    return fitted_by(ctx, free_names, target, scaling, fit);
}

/* ---- what is expected ---- */

/* The misfit is the deviance over its expectation, at any brightness. */
static int deviance_expected(void)
{
    static const double fluences[] = {1e-3, 1e-2, 0.1, 1};
    static double model[STILLS_PIXELS];
    nb_context *ctx = renders_context(1);

    for (size_t k = 0; k < sizeof fluences / sizeof *fluences; k++) {
        const struct draws how = {.fluence = fluences[k], .lump = 1};
        nb_array image = nb_array_f64(model, STILLS_SIDE, STILLS_SIDE);
        double mean = 0, variance = 0, brightest = 0, total = 0;
        nb_fit *fit;
        nb_fit_result r;

        draw(ctx, &how, 3);
        r = fitted(ctx, (nb_target){.kind = NB_LOSS_POISSON}, NB_FIT_SCALING_AUTO, &fit);
        if (nb_fit_image(fit, 0, NB_FIT_MODEL, &image) != NB_OK) abort();
        for (int p = 0; p < STILLS_PIXELS; p++) {
            double m, v;

            stills_deviance(model[p], &m, &v);
            mean += m, variance += v;
            brightest = fmax(brightest, model[p]);
            total += stills.photons[0][p];
        }
        tap_note("fluence %g: %.3g photons a pixel, %.3g in the brightest; misfit %.4f",
                 how.fluence, total / STILLS_PIXELS, brightest, r.misfit);
        /* of many photons the library has a series, right to 1e-6 and 1e-4 */
        tap_close("misfit", r.misfit, 2 * r.loss / (mean - VALUES), 2e-6);
        tap_close("its deviation", r.misfit_deviation, sqrt(variance) / (mean - VALUES),
                  1e-4 * r.misfit_deviation);
        tap_check(fabs(r.misfit - 1) < 4 * r.misfit_deviation, "misfit %g, deviation %g",
                  r.misfit, r.misfit_deviation);
        nb_fit_free(fit);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

static const struct {
    const char *name;
    nb_target target;
    double readout;
} losses[] = {
    {"poisson", {.kind = NB_LOSS_POISSON}, 0},
    {"readout", {.kind = NB_LOSS_READOUT, .sigma_readout = 3}, 3},
    {"gauss", {.kind = NB_LOSS_GAUSS}, 0},
    {"huber", {.kind = NB_LOSS_HUBER, .delta = 300}, 0},
    {"cauchy", {.kind = NB_LOSS_CAUCHY, .delta = 600}, 0},
};
enum { LOSSES = sizeof losses / sizeof *losses };

/* A right model keeps the errors of counting to the bit, whatever the loss. */
static int right_model(void)
{
    nb_context *ctx = renders_context(1);

    for (int k = 0; k < LOSSES; k++) {
        const struct draws how = {.fluence = 1, .lump = 1, .readout = losses[k].readout};
        double error[VALUES];
        nb_fit_result r;
        nb_fit *fit;

        draw(ctx, &how, 5);
        r = fitted(ctx, losses[k].target, NB_FIT_SCALING_COUNTING, &fit);
        for (size_t i = 0; i < VALUES; i++) error[i] = r.value[i].error;
        nb_fit_free(fit);
        r = fitted(ctx, losses[k].target, NB_FIT_SCALING_AUTO, &fit);
        tap_note("%s: misfit %.4f, deviation %.4f", losses[k].name, r.misfit,
                 r.misfit_deviation);
        tap_check(fabs(r.misfit - 1) < 4 * r.misfit_deviation, "misfit of %s",
                  losses[k].name);
        tap_check(r.error_factor == 1, "factor %g", r.error_factor);
        for (size_t i = 0; i < VALUES; i++)
            tap_check(r.value[i].error == error[i], "error of %s: %.17g and %.17g",
                      r.value[i].param.name, r.value[i].error, error[i]);
        nb_fit_free(fit);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Noise alone is scaled in no draw, at few photons neither, where Pearson's chi^2 of one
 * count in a pixel of 1e-3 is 1000. */
static int noise_alone(void)
{
    enum { DRAWS = 150 };
    nb_context *ctx = renders_context(1);
    int scaled = 0;
    double sum = 0, square = 0, largest = 0;

    for (unsigned seed = 0; seed < DRAWS; seed++) {
        const struct draws how = {.fluence = seed % 2 ? 2e-3 : 0.05, .lump = 1};
        nb_fit *fit;
        nb_fit_result r;
        double off;

        draw(ctx, &how, 100 + seed);
        r = fitted(ctx, (nb_target){.kind = NB_LOSS_POISSON}, NB_FIT_SCALING_AUTO, &fit);
        off = (r.misfit - 1) / r.misfit_deviation;
        sum += off;
        square += off * off;
        largest = fmax(largest, off);
        scaled += r.error_factor > 1;
        nb_fit_free(fit);
    }
    tap_note("(misfit - 1)/deviation: mean %.3f, rms %.3f, largest %.2f", sum / DRAWS,
             sqrt(square / DRAWS), largest);
    /* five deviations of a mean of 150, and of an rms */
    tap_close("mean", sum / DRAWS, 0, 0.4);
    tap_close("rms", sqrt(square / DRAWS), 1, 0.3);
    tap_check(scaled == 0, "%d of %d scaled", scaled, DRAWS);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- a wrong model ---- */

/* Draws and fits; sums the squares of pulls by errors of counting, and by scaled ones. */
static void pull(nb_context *ctx, nb_target target, const struct draws *how, int n,
                 double rms[2])
{
    double factor = 0;

    rms[0] = rms[1] = 0;
    for (int k = 0; k < n; k++) {
        nb_fit *fit;
        nb_fit_result r;

        draw(ctx, how, 1000 + (unsigned)k);
        r = fitted(ctx, target, NB_FIT_SCALING_AUTO, &fit);
        factor += r.error_factor / n;
        for (size_t i = 0; i < VALUES; i++) {
            const double off = (r.value[i].value - stills_truth(i)) / r.value[i].error;

            rms[0] += pow(off * r.error_factor, 2) / n / VALUES;
            rms[1] += off * off / n / VALUES;
        }
        nb_fit_free(fit);
    }
    for (int i = 0; i < 2; i++) rms[i] = sqrt(rms[i]);
    tap_note("errors times %.3f: pulls %.3f rms, %.3f by counting", factor, rms[1], rms[0]);
}

/* Photons that come in fours scatter by twice the errors of counting. */
static int lumps(void)
{
    enum { DRAWS = 40 };
    nb_context *ctx = renders_context(1);

    for (int k = 0; k < LOSSES; k++) {
        const struct draws how = {.fluence = 1,
                                  .lump = 4,
                                  .readout = 2 * losses[k].readout};
        double rms[2];

        tap_note("%s", losses[k].name);
        pull(ctx, losses[k].target, &how, DRAWS, rms);
        /* an rms of 240 pulls, of which those of a draw correlate */
        tap_close("pulls by counting", rms[0], 2, 0.3);
        tap_close("pulls", rms[1], 1, 0.15);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- bright pixels ---- */

/* Gives weight to pixels of so many photons and more, and their neighbours. */
static void weigh_spots(double least, double *weight)
{
    for (int p = 0; p < STILLS_PIXELS; p++) {
        const int s = p / STILLS_SIDE, f = p % STILLS_SIDE;

        weight[p] = 0;
        for (int i = -1; i <= 1; i++)
            for (int j = -1; j <= 1; j++) {
                const int t = s + i, g = f + j;

                if (t >= 0 && t < STILLS_SIDE && g >= 0 && g < STILLS_SIDE
                    && truth_photons[t * STILLS_SIDE + g] >= least)
                    weight[p] = 1;
            }
    }
}

/* The misfit of the bright pixels of a right model is 1 on average: what the fitted values
 * take of it is known, whether there are many bright pixels or hardly more than values. */
static int bright_noise(void)
{
    enum { DRAWS = 200 };
    static const struct {
        double fluence;
        double least; /* photons of the brightest pixels, which alone count; 0: all do */
        const char *names;
    } rows[] = {{0.05, 0, free_names},
                {0.1, 100, "cell misset mosaic scale ncells origin_x origin_y water"},
                {1, 2000, "cell misset mosaic scale ncells origin_x origin_y water"}};
    static double weight[STILLS_PIXELS];
    nb_context *ctx = renders_context(1);
    const nb_array weights = nb_array_f64(weight, STILLS_SIDE, STILLS_SIDE);

    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        double sum = 0, square = 0, deviation, factor = 0;

        for (unsigned seed = 0; seed < DRAWS; seed++) {
            const struct draws how = {.fluence = rows[k].fluence, .lump = 1};
            nb_target target = {.kind = NB_LOSS_POISSON};
            nb_fit_result r;
            nb_fit *fit;

            draw(ctx, &how, 3000 + seed);
            if (rows[k].least > 0) {
                weigh_spots(rows[k].least, weight);
                target.weight = &weights;
            }
            r = fitted_by(ctx, rows[k].names, target, NB_FIT_SCALING_AUTO, &fit);
            sum += r.bright_misfit;
            square += r.bright_misfit * r.bright_misfit;
            factor = fmax(factor, r.error_factor);
            nb_fit_free(fit);
        }
        deviation = sqrt((square / DRAWS - sum / DRAWS * (sum / DRAWS)) / (DRAWS - 1));
        tap_note("fluence %g, %s: %.4f +- %.4f", rows[k].fluence,
                 rows[k].least > 0 ? "a few bright pixels" : "all pixels", sum / DRAWS,
                 deviation);
        tap_close("misfit of bright pixels, on average", sum / DRAWS, 1, 4 * deviation);
        tap_check(deviation < 0.05, "its error is %g, allowed 0.05", deviation);
        tap_check(factor == 1, "errors are scaled by up to %g", factor);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Pixels that count by 20 % more or less than they should, each for itself, are no noise of
 * counting: scaled errors cover the truth better. */
static int uneven_pixels(void)
{
    const struct draws how = {.fluence = 0.1, .lump = 1, .uneven = 0.2};
    nb_context *ctx = renders_context(1);
    double rms[2];

    pull(ctx, (nb_target){.kind = NB_LOSS_POISSON}, &how, 40, rms);
    tap_check(rms[0] > 2 && rms[1] < 1.4, "pulls %g rms, %g by counting", rms[1], rms[0]);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* An error that a restraint gives is not scaled. */
static int restrained_error(void)
{
    const struct draws how = {.fluence = 1, .lump = 9};
    static const nb_restraint tight[] = {{.name = "cell_a", .centre = 50, .sigma = 1e-8}};
    nb_context *ctx = renders_context(1);

    for (int k = 0; k < LOSSES; k++) {
        const nb_fit_options options = {.shared = free_names,
                                        .restraint = tight,
                                        .nrestraint = 1};
        nb_fit_result r;
        nb_fit *fit;

        draw(ctx, &how, 8);
        stills.shot[0].target = losses[k].target;
        stills.shot[0].target.observed = stills.observed;
        fit = stills_fit(&stills, ctx, &options);
        r = stills_run(fit, NB_OK);
        tap_check(r.error_factor > 2, "%s: factor %g", losses[k].name, r.error_factor);
        tap_close("restrained error", r.value[0].error, 1e-8, 2e-10);
        tap_close("its variance", r.covariance[0], 1e-16, 4e-18);
        for (size_t i = 0; i < VALUES; i++)
            tap_close("error and variance", r.value[i].error,
                      sqrt(r.covariance[i * (VALUES + 1)]), 1e-12 * r.value[i].error);
        nb_fit_free(fit);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Where the model misfits, a fit ends sooner, within a small part of its errors from where
 * it would have gone. */
static int end_by_misfit(void)
{
    const struct draws how = {.fluence = 1, .lump = 30, .second = 0.5};
    nb_context *ctx = renders_context(1);
    double value[2][VALUES], error[VALUES], misfit = 1;
    int passes[2];

    for (int k = 0; k < 2; k++) {
        const nb_fit_options options = {.shared = free_names,
                                        .enough = k ? 1e-9 : 0,
                                        .coarse = NB_COARSE_OFF};
        nb_fit *fit;
        nb_fit_result r;

        draw(ctx, &how, 4);
        fit = stills_fit(&stills, ctx, &options);
        r = stills_run(fit, NB_OK);
        tap_check(r.end == NB_FIT_CONVERGED, "%s", r.why);
        passes[k] = r.passes;
        for (size_t i = 0; i < VALUES; i++) value[k][i] = r.value[i].value;
        for (size_t i = 0; i < VALUES && k == 0; i++) error[i] = r.value[i].error;
        if (k == 0) {
            misfit = r.error_factor * r.error_factor;
            tap_check(r.gain > 1e-3 && r.gain < 1e-3 * misfit, "gain %g, misfit %g", r.gain,
                      misfit);
        }
        nb_fit_free(fit);
    }
    tap_note("misfit %.3g: %d passes in its units, %d to the end", misfit, passes[0],
             passes[1]);
    tap_check(misfit > 20 && passes[0] < passes[1], "passes %d, %d", passes[0], passes[1]);
    /* a gain of 1e-3 is a step of 0.045 errors; what remains may be a few such steps */
    for (size_t i = 0; i < VALUES; i++)
        tap_close("value, in errors", (value[0][i] - value[1][i]) / error[i], 0, 0.1);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- a parameter at its bound ---- */

/* A mosaic spread of 0 turns all domains as an orientation does, if weights give them a
 * mean rotation. Beside it, misset has the errors of a fit in which the spread is not free:
 * one that begins where the first has ended, since errors depend on the place. */
static int bound_beside(void)
{
    static const double weight[12] = {1.1, 1, 0.9, 1.2, 0.8, 1, 1.3, 0.7, 1, 1.1, 0.8, 1.1};
    static const char *const names[] = {"cell_a misset scale mosaic",
                                        "cell_a misset scale"};
    static const int kinds[] = {NB_LOSS_POISSON, NB_LOSS_HUBER};
    nb_context *ctx = renders_context(1);

    for (int k = 0; k < 4; k++) {
        static double beside[5], at[5];
        double truth[STILLS_VALUES];
        nb_array image = nb_array_f64(stills.photons[0], STILLS_SIDE, STILLS_SIDE);
        const nb_fit_options options = {.shared = names[k % 2], .coarse = NB_COARSE_OFF};
        nb_simulator *sim;
        nb_scene one;
        nb_fit_result r;
        nb_fit *fit;

        stills_make(&stills, ctx, 1, 0, 0);
        for (size_t i = 0; i < STILLS_VALUES; i++) truth[i] = stills_truth(i);
        one = stills_scene(truth, 0);
        truth[1] = k % 2 ? 0 : 0.01;
        for (int i = 0; i < 5 && k % 2; i++) truth[i > 0 ? i + 1 : 0] = at[i];
        stills.scene[0] = stills_scene(truth, 0);
        if (k % 2)
            stills.scene[0].crystal.ndomains = 1;
        else
            stills.scene[0].crystal.domain_weight = weight;
        one.crystal.mosaic[0] = 0;
        one.crystal.ndomains = 1;
        for (int i = 0; i < 3; i++) one.crystal.ncells[i] = 9; /* sharper than any spread */
        if (nb_simulator_create(ctx, &one, NULL, NULL, &sim) != NB_OK
            || nb_forward(sim, NULL, &image) != NB_OK)
            abort();
        nb_simulator_free(sim);
        stills.shot[0].target.kind = kinds[k / 2];
        stills.shot[0].target.delta = 30;
        fit = stills_fit(&stills, ctx, &options);
        r = stills_run(fit, NB_OK);
        tap_check(r.nfree == 0, "%zu free directions", r.nfree);
        for (size_t i = 0; i < 5; i++) {
            if (k % 2)
                tap_close(r.value[i].param.name, beside[i], r.value[i].error,
                          1e-10 * r.value[i].error);
            at[i] = r.value[i].value;
            beside[i] = r.value[i].error;
            tap_check(r.value[i].error > 0 && isfinite(r.value[i].error), "error of %s",
                      r.value[i].param.name);
        }
        if (k % 2 == 0) {
            tap_check(r.value[5].bound == -1, "mosaic is %g", r.value[5].value);
            for (size_t i = 0; i < 6; i++)
                tap_check(r.covariance[5 * 6 + i] == 0, "covariance of what is held");
        }
        nb_fit_free(fit);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* While the crystal turns, a spread of 0 is no longer quite one with the orientation, and
 * its error would be hundreds of degrees: the data do not tell it. */
static int bound_untold(void)
{
    static const int kinds[] = {NB_LOSS_POISSON, NB_LOSS_HUBER};
    nb_context *ctx = renders_context(1);

    for (int k = 0; k < 2; k++) {
        double truth[STILLS_VALUES];
        nb_array image = nb_array_f64(stills.photons[0], STILLS_SIDE, STILLS_SIDE);
        const nb_fit_options options = {.shared = "cell_a misset scale mosaic"};
        nb_simulator *sim;
        nb_scene one;
        nb_fit_result r;
        nb_fit *fit;

        stills_make(&stills, ctx, 1, 0, 0);
        for (size_t i = 0; i < STILLS_VALUES; i++) truth[i] = stills_truth(i);
        truth[1] = 0.01;
        one = stills_scene(truth, 0);
        one.scan.osc = 0.1;
        one.scan.nphi = 2;
        stills.scene[0] = one;
        one.crystal.mosaic[0] = 0;
        one.crystal.ndomains = 1;
        for (int i = 0; i < 3; i++) one.crystal.ncells[i] = 9;
        if (nb_simulator_create(ctx, &one, NULL, NULL, &sim) != NB_OK
            || nb_forward(sim, NULL, &image) != NB_OK)
            abort();
        nb_simulator_free(sim);
        stills.shot[0].target.kind = kinds[k];
        stills.shot[0].target.delta = 30;
        fit = stills_fit(&stills, ctx, &options);
        r = stills_run(fit, NB_OK);
        tap_check(r.value[5].bound == -1 && isinf(r.value[5].error),
                  "mosaic is %g, with an error of %g", r.value[5].value, r.value[5].error);
        for (size_t i = 0; i < 5; i++)
            tap_check(isfinite(r.value[i].error), "%s has an error", r.value[i].param.name);
        nb_fit_free(fit);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

static int wrong_scaling(void)
{
    nb_context *ctx = renders_context(1);
    const nb_fit_options options = {.shared = free_names, .scaling = 4};
    nb_fit *fit;

    stills_make(&stills, ctx, 1, 0, 0);
    tap_check(nb_fit_create(ctx, 1, stills.shot, &options, &fit) == NB_ERR_ARGUMENT
                  && strstr(nb_context_message(ctx), "enum nb_fit_scaling"),
              "%s", nb_context_message(ctx));
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"deviance_expected", deviance_expected},
        {"right_model", right_model},
        {"noise_alone", noise_alone},
        {"lumps", lumps},
        {"bright_noise", bright_noise},
        {"uneven_pixels", uneven_pixels},
        {"restrained_error", restrained_error},
        {"end_by_misfit", end_by_misfit},
        {"bound_beside", bound_beside},
        {"bound_untold", bound_untold},
        {"wrong_scaling", wrong_scaling},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
