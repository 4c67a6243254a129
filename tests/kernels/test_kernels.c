/*
 * test_kernels.c - every instruction set, precision and strategy compared with the
 * reference kernel on every scene; threads, ROI and mask must not change a bit.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "kernels/kernels.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum { NFAST = 40, NSLOW = 37, PIXELS = NFAST * NSLOW };

static const struct renders_way reference = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0,
                                             1, NULL};

/* all ways but the reference */
static const struct {
    const char *name;
    struct renders_way way;
} ways[] = {
    {"lanes in double", {NB_PRECISION_DOUBLE, NB_STRATEGY_LANES, 0, 1, NULL}},
    {"lanes in float", {NB_PRECISION_SINGLE, NB_STRATEGY_LANES, 0, 1, NULL}},
    {"spots in double", {NB_PRECISION_DOUBLE, NB_STRATEGY_SPOTS, 0, 1, NULL}},
    {"spots in float", {NB_PRECISION_SINGLE, NB_STRATEGY_SPOTS, 0, 1, NULL}},
};

/* ---- against the reference ---- */

/* Do the scene's factors leave a picture with contrast? On a flat one the coefficient of
 * correlation compares rounding with rounding. */
static int has_contrast(const double *image)
{
    double low = image[0], high = image[0];

    for (int i = 0; i < PIXELS; i++) {
        low = fmin(low, image[i]);
        high = fmax(high, image[i]);
    }
    return high - low > 0.1 * high;
}

/* of the peak, for the worst pixel: rounding, or what is promised of floats and spots */
static void check_scene(const char *name, const nb_scene *scene,
                        const struct renders_way *way)
{
    static double truth[PIXELS], image[PIXELS];
    nb_description about;
    struct renders_gap gap;
    double estimate;

    if (!renders_image(scene, &reference, truth, NULL)
        || !renders_image(scene, way, image, &about))
        return;
    gap = renders_compare(image, truth, PIXELS);
    tap_check(gap.peak > 0 && has_contrast(truth), "%s has a picture: peak %g", name,
              gap.peak);
    if (way->precision == NB_PRECISION_DOUBLE && way->strategy == NB_STRATEGY_LANES)
        tap_close(name, gap.worst, 0, renders_allowed(scene));
    else
        tap_promised(name, gap.worst, 0,
                     (way->precision == NB_PRECISION_SINGLE ? 1e-5 : 1e-12)
                         + (way->strategy == NB_STRATEGY_SPOTS ? about.tolerance : 0));
    if (way->precision == NB_PRECISION_SINGLE)
        tap_promised("1 - correlation", gap.uncorrelated, 0, 1e-10);
    /* what spots drop comes on top */
    estimate = about.rounding + (about.strategy == NB_STRATEGY_SPOTS ? about.tolerance : 0);
    tap_check(gap.worst <= estimate, "%s: off %.2g estimated %.2g", name, gap.worst,
              estimate);
    tap_check(!way->isa || strcmp(about.kernel, way->isa) == 0, "%s: ran on %s", name,
              about.kernel);
}

static int agree(const char *isa, size_t which)
{
    struct renders_way way = ways[which].way;
    struct named_scene named;

    if (!kernels_lanes(isa).precise)
        return tap_skip("this processor, or this build, lacks the instruction set %s", isa);
    way.isa = isa;
    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++) {
        check_scene(named.name, &named.scene, &way);
    }
    return TAP_PASS;
}

#define CASES_OF(isa)                                                                      \
    static int lanes_##isa(void)                                                           \
    {                                                                                      \
        return agree(#isa, 0);                                                             \
    }                                                                                      \
    static int float_##isa(void)                                                           \
    {                                                                                      \
        return agree(#isa, 1);                                                             \
    }                                                                                      \
    static int spots_##isa(void)                                                           \
    {                                                                                      \
        return agree(#isa, 2);                                                             \
    }                                                                                      \
    static int spots_float_##isa(void)                                                     \
    {                                                                                      \
        return agree(#isa, 3);                                                             \
    }

CASES_OF(v2)
CASES_OF(v3)
CASES_OF(v4)
CASES_OF(base)
CASES_OF(scalar)

/* pi N |h| roundings of h are all that a long crystal at a high index may cost */
static int lanes_far_out(void)
{
    static double truth[PIXELS], image[PIXELS];
    nb_scene scene = scenes_base();

    for (int i = 0; i < 3; i++) scene.crystal.ncells[i] = 300;
    scene.crystal.cell[2] = 400;
    scene.detector.distance = 30;
    if (renders_image(&scene, &reference, truth, NULL)
        && renders_image(&scene, &ways[0].way, image, NULL))
        tap_close("300 cells", renders_compare(image, truth, PIXELS).worst, 0,
                  renders_allowed(&scene));
    return TAP_PASS;
}

/* ---- the same bits ---- */
static int same(const double *a, const double *b)
{
    return bits_same(a, b, PIXELS);
}

static int threads_same_bits(void)
{
    static const int threads[] = {2, 3, 5};
    static double one[PIXELS], many[PIXELS];
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++)
        for (size_t w = 0; w < COUNT(ways); w++) {
            struct renders_way way = ways[w].way;

            if (!renders_image(&named.scene, &way, one, NULL)) continue;
            for (size_t t = 0; t < COUNT(threads); t++) {
                way.threads = threads[t];
                if (renders_image(&named.scene, &way, many, NULL))
                    tap_check(same(one, many), "%s, %s: %d threads give the bits of one",
                              named.name, ways[w].name, threads[t]);
            }
        }
    return TAP_PASS;
}

static int inside(const nb_scene *scene, int slow, int fast)
{
    const int *roi = scene->detector.roi;

    return fast >= roi[0] && fast < roi[1] && slow >= roi[2] && slow < roi[3];
}

/* a part of the image, which holds its brightest spots, against the whole; `shows`: a mask
 * or NULL */
static void check_part(const char *name, nb_scene scene, const struct renders_way *way,
                       const uint8_t *shows)
{
    static double whole[PIXELS], part[PIXELS];
    int differ = 0, dark = 0, lit = 0;

    if (!renders_image(&scene, way, whole, NULL)) return;
    scene.detector.mask = shows;
    if (!shows) {
        scene.detector.roi[0] = 5, scene.detector.roi[1] = 23;
        scene.detector.roi[2] = 7, scene.detector.roi[3] = 30;
    } else
        scene.detector.roi[1] = NFAST, scene.detector.roi[3] = NSLOW;
    if (!renders_image(&scene, way, part, NULL)) return;
    for (int s = 0; s < NSLOW; s++)
        for (int f = 0; f < NFAST; f++) {
            const int at = NFAST * s + f;
            const int rendered = inside(&scene, s, f) && (!shows || shows[at]);

            differ += rendered && memcmp(whole + at, part + at, sizeof *whole) != 0;
            dark += !rendered && part[at] != 0;
            lit += rendered && part[at] != 0;
        }
    tap_check(differ == 0 && lit > 0, "%s: %d of %d pixels differ from the whole image",
              name, differ, lit);
    tap_check(dark == 0, "%s: %d pixels that are not rendered are not 0", name, dark);
}

static int roi_same_bits(void)
{
    for (int shape = NB_SHAPE_SQUARE; shape <= NB_SHAPE_GAUSS_STAR; shape++)
        for (size_t w = 0; w < COUNT(ways); w++) {
            nb_scene scene = scenes_base();
            char name[80];

            scene.crystal.shape = shape;
            (void)snprintf(name, sizeof name, "shape %d, %s", shape, ways[w].name);
            check_part(name, scene, &ways[w].way, NULL);
        }
    return TAP_PASS;
}

static int mask_same_bits(void)
{
    static uint8_t shows[PIXELS];

    for (int i = 0; i < PIXELS; i++) shows[i] = i % 7 != 0;
    for (int shape = NB_SHAPE_SQUARE; shape <= NB_SHAPE_GAUSS_STAR; shape++)
        for (size_t w = 0; w < COUNT(ways); w++) {
            nb_scene scene = scenes_base();
            char name[80];

            scene.crystal.shape = shape;
            scene.background.water = w % 2 ? 100 : 0;
            (void)snprintf(name, sizeof name, "shape %d, %s", shape, ways[w].name);
            check_part(name, scene, &ways[w].way, shows);
        }
    return TAP_PASS;
}

/* a cropped image equals the crop: what lies around the ROI, and under the mask, gives its
 * light to the pixels beside it */
static int roi_point_spread(void)
{
    static double whole[PIXELS], part[PIXELS];
    static uint8_t mask[PIXELS];

#ifndef NANOBRAG_FFTW
    return tap_skip("this build has no FFTW");
#endif
    for (int i = 0; i < PIXELS; i++) mask[i] = i % 7 != 0;
    for (size_t w = 0; w < COUNT(ways); w++) {
        nb_scene scene = scenes_base();
        struct worst worst = {0};
        double peak;

        scene.crystal.shape = NB_SHAPE_GAUSS;
        scene.psf.kind = NB_PSF_GAUSS;
        scene.psf.fwhm = 1.2;
        if (!renders_image(&scene, &ways[w].way, whole, NULL)) continue;
        scene.detector.mask = mask;
        scene.detector.roi[0] = 5, scene.detector.roi[1] = 23;
        scene.detector.roi[2] = 7, scene.detector.roi[3] = 30;
        if (!renders_image(&scene, &ways[w].way, part, NULL)) continue;
        peak = worst_largest(whole, PIXELS);
        for (int i = 0; i < PIXELS; i++)
            if (inside(&scene, i / NFAST, i % NFAST) && mask[i])
                worst_add(&worst, part[i], whole[i], peak);
        /* the rounding of the transforms */
        worst_check(&worst, 4e-15, "%s", ways[w].name);
        tap_check(part[NFAST * 14] == 0 && part[0] == 0, "masked and outside pixels are 0");
    }
    return TAP_PASS;
}

/* ---- images in float32 ---- */

/* the photons of a way, rounded once, whatever the way */
static int float32_is_rounded(void)
{
    static double wide[PIXELS];
    static float narrow[PIXELS];
    nb_context *ctx;
    struct named_scene named;

    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) abort();
    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++)
        for (size_t w = 0; w < COUNT(ways); w++) {
            const nb_options options = {ways[w].way.precision, ways[w].way.strategy, 0};
            nb_array a = nb_array_f64(wide, NSLOW, NFAST);
            nb_array b = nb_array_f32(narrow, NSLOW, NFAST);
            nb_simulator *sim;
            int differ = 0, ok;

            for (int k = 0; k < PIXELS; k++) narrow[k] = NAN;
            if (nb_simulator_create(ctx, &named.scene, NULL, &options, &sim) != NB_OK)
                abort();
            ok = nb_forward(sim, NULL, &a) == NB_OK && nb_forward(sim, NULL, &b) == NB_OK;
            for (int k = 0; k < PIXELS; k++) differ += narrow[k] != (float)wide[k];
            tap_check(ok && differ == 0, "%s, %s: %d pixels differ", named.name,
                      ways[w].name, differ);
            nb_simulator_free(sim);
        }
    nb_context_free(ctx);
    return TAP_PASS;
}

#define NAMED(name)                                                                        \
    {                                                                                      \
#name, name                                                                        \
    }
#define NAMED_OF(isa)                                                                      \
    NAMED(lanes_##isa), NAMED(float_##isa), NAMED(spots_##isa), NAMED(spots_float_##isa)

/* nanoBragg's curved detector puts pixels far from where a flat tile has them: whether they
 * look up F inside the list may not be judged by the tile */
static int curved_quirk_and_list(void)
{
    static const struct renders_way lanes = {NB_PRECISION_DOUBLE, NB_STRATEGY_LANES, 0, 1,
                                             NULL};
    char name[64];

    for (int i = 0; i < 16; i++) {
        nb_scene scene = scenes_base();

        scene.quirks = NB_QUIRK_ALL;
        scene.crystal.hkl = scenes_reflections();
        scene.crystal.interpolate = i % 2 ? NB_LOOKUP_TRICUBIC : NB_LOOKUP_NEAREST;
        scene.detector.curved = 1;
        scene.detector.convention = NB_CONVENTION_DIALS;
        scene.detector.distance = 60 + 10 * i;
        (void)snprintf(name, sizeof name, "curved at %g mm, interpolation %d",
                       scene.detector.distance, i % 2);
        check_scene(name, &scene, &lanes);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        NAMED_OF(v2),
        NAMED_OF(v3),
        NAMED_OF(v4),
        NAMED_OF(base),
        NAMED_OF(scalar),
        NAMED(lanes_far_out),
        NAMED(curved_quirk_and_list),
        NAMED(threads_same_bits),
        NAMED(roi_same_bits),
        NAMED(mask_same_bits),
        NAMED(roi_point_spread),
        NAMED(float32_is_rounded),
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
