/*
 * test_attacked_scenes.c - random scenes: every strategy and precision lies within its
 * rounding and tolerance of the reference, and an image has the same bits for any number of
 * threads, compiled or not.
 *
 * SPDX-License-Identifier: MIT
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "attack/attack.h"
#include "attack/drawn_scene.h"
#include "kernels/rounding.h"
#include "simulator.h"
#include "support/compiled.h"
#include "support/files.h"
#include "support/worst.h"

/* Returns the photons of a pixel all of whose samples lie on the brightest possible
 * reflection. */
static double brightest_of(nb_simulator *sim)
{
    const struct phys_frame *frame;
    nb_scene scene;
    struct job job;

    if (simulator_frame(sim, NULL, &scene, &frame) != NB_OK) abort();
    job = simulator_job(sim, &scene, frame, NULL);
    return rounding_brightest(&job);
}

/* Renders a scene; `brightest` and `about` may be NULL. */
static nb_status render(nb_context *own, const nb_scene *scene, const nb_options *how,
                        double *image, nb_description *about, double *brightest)
{
    nb_array array = nb_array_f64(image, scene->detector.nslow, scene->detector.nfast);
    nb_simulator *sim = NULL;
    nb_status status = nb_simulator_create(own, scene, NULL, how, &sim);

    if (status == NB_OK) status = nb_forward(sim, NULL, &array);
    if (status == NB_OK && about) status = nb_simulator_describe(sim, NULL, about);
    if (status == NB_OK && brightest) *brightest = brightest_of(sim);
    nb_simulator_free(sim);
    return status;
}

/* The image of the reference. */
struct truth {
    double image[DRAWN_PIXELS];
    /* of which tolerance and rounding are fractions: before the point spread, or after it,
     * which brings in what falls beside the detector */
    double peak;
    double brightest; /* of brightest_of() */
    double transforms; /* what the transforms of a point spread may add */
};

/* Render the truth, and check that it is finite and not negative. Returns 1 if it is. */
static int render_truth(struct attack *attack, const struct drawn_scene *drawn,
                        struct truth *truth)
{
    static const nb_options reference = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0};
    const size_t n = (size_t)drawn->npixel;
    nb_scene sharp = drawn->scene;
    double least = 0, most = 0;
    nb_status status;

    sharp.psf.kind = NB_PSF_NONE;
    sharp.psf.fwhm = sharp.psf.radius = 0;
    status = render(ctx, &sharp, &reference, truth->image, NULL, &truth->brightest);
    truth->peak = worst_largest(truth->image, n);
    if (status == NB_OK && drawn->scene.psf.kind != NB_PSF_NONE)
        status = render(ctx, &drawn->scene, &reference, truth->image, NULL, NULL);
    if (!attack_expect(attack, status == NB_OK, "refused: %s (%s)", nb_context_message(ctx),
                       drawn->text))
        return 0;
    truth->peak = fmax(truth->peak, worst_largest(truth->image, n));
    truth->transforms =
        drawn->scene.psf.kind == NB_PSF_NONE ? 0 : 16 * DBL_EPSILON * truth->brightest;
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, truth->image[i]);
        most = fmax(most, truth->image[i]);
    }
    /* the transforms of a point spread round, and what is dark may become negative */
    return attack_expect(attack,
                         least >= -1e-12 * most - truth->transforms
                             && isfinite(worst_largest(truth->image, n)),
                         "pixels from %g to %g (%s)", least, most, drawn->text);
}

/* Returns the photons by which a pixel may be off. Rounding is estimated for an image that
 * holds a spot. A dark image may lose a larger part of itself: where all pixels lie in a
 * gap of the fringes the slope is many times the value. Below `underflow`, factors that
 * are squared may be 0. */
static double allowed_of(const nb_description *about, const struct truth *truth)
{
    const double underflow = 1e-280;
    const double dropped = about->strategy == NB_STRATEGY_SPOTS ? about->tolerance : 0;
    const double dark = fmin(0.01 * truth->brightest, 1e4 * truth->peak);

    return about->rounding * (truth->peak + dark) + dropped * truth->peak
           + truth->transforms + underflow;
}

static int strategies(void)
{
    static const struct {
        const char *name;
        nb_options options;
    } ways[] = {{"lanes", {NB_PRECISION_DOUBLE, NB_STRATEGY_LANES, 0}},
                {"lanes in float", {NB_PRECISION_SINGLE, NB_STRATEGY_LANES, 0}},
                {"spots", {NB_PRECISION_DOUBLE, NB_STRATEGY_SPOTS, 0}},
                {"spots in float", {NB_PRECISION_SINGLE, NB_STRATEGY_SPOTS, 0}}};
    static double image[DRAWN_PIXELS];
    static struct truth truth;
    static struct drawn_scene drawn;
    struct attack attack = attack_begin(40);
    double used[COUNT(ways)] = {0};
    long images = 0;

    while (attack_next(&attack)) {
        drawn_scene(&attack, &drawn);
        for (size_t i = 0;
             i < COUNT(ways) && (i > 0 || render_truth(&attack, &drawn, &truth)); i++) {
            const nb_status status =
                render(ctx, &drawn.scene, &ways[i].options, image, &drawn.about, NULL);
            struct worst worst = {0};
            double allowed;

            /* the reflections may be too many to be listed */
            if (status == NB_ERR_MEMORY && ways[i].options.strategy == NB_STRATEGY_SPOTS)
                continue;
            if (!attack_expect(&attack, status == NB_OK, "%s: %s (%s)", ways[i].name,
                               nb_context_message(ctx), drawn.text))
                continue;
            allowed = allowed_of(&drawn.about, &truth);
            worst_add_all(&worst, image, truth.image, (size_t)drawn.npixel, allowed);
            images++;
            used[i] = fmax(used[i], worst.error);
            attack_expect(&attack, worst.error <= 1,
                          "%s: %.17g is %.17g, allowed off %.2g, peak %.2g, rounding %.2g "
                          "(%s)",
                          ways[i].name, worst.truth, worst.found, allowed, truth.peak,
                          drawn.about.rounding, drawn.text);
        }
        drawn_scene_free(&drawn);
    }
    for (size_t i = 0; i < COUNT(ways); i++)
        tap_note("%s: at most %.2g of what is allowed", ways[i].name, used[i]);
    tap_note("%ld images", images);
    attack_end(&attack, "scenes by every strategy");
    return TAP_PASS;
}

static int bits(void)
{
    static const int threads[] = {1, 2, 3, 7};
    static double first[DRAWN_PIXELS], image[DRAWN_PIXELS];
    static struct drawn_scene drawn;
    struct attack attack = attack_begin(20);

    while (attack_next(&attack)) {
        nb_options how = {0};

        drawn_scene(&attack, &drawn);
        how.strategy =
            attack_once_in(&attack, 4) ? NB_STRATEGY_REFERENCE : NB_STRATEGY_AUTO;
        if (how.strategy != NB_STRATEGY_REFERENCE) how.precision = attack_below(&attack, 2);
        for (int i = 0; i < 8; i++) {
            nb_context *own =
                compiled_context(i < 4 ? NB_COMPILE_ON : NB_COMPILE_OFF, threads[i % 4]);
            const nb_status status =
                render(own, &drawn.scene, &how, i == 0 ? first : image, NULL, NULL);

            attack_expect(&attack, status == NB_OK, "refused: %s (%s)",
                          nb_context_message(own), drawn.text);
            nb_context_free(own);
            if (i > 0)
                attack_expect(&attack, bits_differ(image, first, (size_t)drawn.npixel) == 0,
                              "%s on %d threads: other bits (strategy %d, precision %d, "
                              "%s)",
                              i < 4 ? "compiled" : "uncompiled", threads[i % 4],
                              how.strategy, how.precision, drawn.text);
        }
        drawn_scene_free(&drawn);
    }
    attack_end(&attack, "scenes on 1, 2, 3 and 7 threads, compiled and not,");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"strategies", strategies}, {"bits", bits}};

    compiled_environment();
    return attack_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
