/*
 * test_start_values.c - spots of an image that is drawn here, pixel by pixel, and start
 * values by lists of spots whose widths are written down.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "support/files.h"
#include "support/renders.h"
#include "support/tap.h"

enum { SIDE = 120, BOXES = 4 };
static const double pi = 3.14159265358979324, pixel = 0.2, distance = 80, wavelength = 1.5;
static double photons[SIDE * SIDE];
static float weight[SIDE * SIDE];

/* Four spots on the axes through the beam, which meets the middle of the image. */
static const struct {
    double at[2]; /* pixel */
    double variance[2]; /* fast, slow, pixel^2 */
    int box[4];
} spots[BOXES] = {{{100.3, 60.4}, {2.0, 3.0}, {92, 109, 52, 69}},
                  {{59.7, 102.2}, {1.2, 0.7}, {52, 68, 94, 111}},
                  {{22.0, 60.0}, {4.0, 1.0}, {12, 32, 51, 69}},
                  {{60.0, 30.5}, {0.5, 0.5}, {52, 68, 22, 39}}};

/* Returns how much of a normal distribution lies within one pixel. */
static double share(double middle, double variance, int i)
{
    const double w = sqrt(2 * variance);

    return (erf((i + 1 - middle) / w) - erf((i - middle) / w)) / 2;
}

/* Checks a number to a share of what is expected. */
static void near(const char *name, double measured, double expected, double allowed)
{
    tap_close(name, measured / expected, 1, allowed);
}

static nb_scene make_scene(void)
{
    static int box[4 * BOXES];
    nb_scene scene = {.crystal = {.cell = {50}, .default_f = 1},
                      .beam = {.wavelength = wavelength},
                      .detector = {.nfast = SIDE,
                                   .nslow = SIDE,
                                   .pixel = pixel,
                                   .distance = distance,
                                   .convention = NB_CONVENTION_DIALS,
                                   .origin_kind = NB_ORIGIN_CLOSE,
                                   .origin = {SIDE * pixel / 2, SIDE * pixel / 2},
                                   .box = box,
                                   .nbox = BOXES},
                      .oversample = 1};

    for (int k = 0; k < BOXES; k++) memcpy(box + 4 * k, spots[k].box, sizeof spots[k].box);
    return scene;
}

/* Draws spots of so many photons on a background that rises along both axes. */
static void draw(double bright)
{
    for (int s = 0; s < SIDE; s++)
        for (int f = 0; f < SIDE; f++) {
            double *const p = photons + s * SIDE + f;

            *p = 20 + 0.05 * f - 0.03 * s;
            weight[s * SIDE + f] = 1;
            for (int k = 0; k < BOXES; k++)
                *p += bright * share(spots[k].at[0], spots[k].variance[0], f)
                      * share(spots[k].at[1], spots[k].variance[1], s);
        }
}

static nb_status measure(nb_spot_size *found, double saturation)
{
    const nb_scene scene = make_scene();
    const nb_array observed = nb_array_f64(photons, SIDE, SIDE);
    const nb_array weights = nb_array_f32(weight, SIDE, SIDE);
    const nb_target target = {.observed = &observed,
                              .weight = &weights,
                              .saturation = saturation};

    return nb_spot_sizes_measure(ctx, &scene, &target, found);
}

static int widths(void)
{
    nb_spot_size found[BOXES];

    draw(1e4);
    renders_require(ctx, measure(found, 0));
    for (int k = 0; k < BOXES; k++) {
        const int axis = fabs(spots[k].at[0] - SIDE / 2.) > 5 ? 0 : 1; /* it lies on */
        const double off =
            pixel * hypot(spots[k].at[0] - SIDE / 2., spots[k].at[1] - SIDE / 2.);
        const double angle = atan2(off, distance), ray = hypot(off, distance);
        const double unit = pow(pixel / (ray * wavelength), 2);
        const double across = unit * spots[k].variance[1 - axis];
        const double along = unit * spots[k].variance[axis] * pow(cos(angle), 2);

        near("1/d", found[k].q, 2 * sin(angle / 2) / wavelength, 1e-3);
        near("two theta", found[k].two_theta, angle * 180 / pi, 1e-3);
        near("photons", found[k].photons, 1e4, 0.01);
        near("background", found[k].background,
             20 + 0.05 * spots[k].at[0] - 0.03 * spots[k].at[1], 0.02);
        /* a narrow spot is known to a part of the pixel's own variance */
        near("tangential", found[k].tangential, across, k == 3 ? 0.05 : 0.02);
        near("radial", found[k].radial, along, k == 3 ? 0.05 : 0.02);
        tap_check(found[k].variance < 0.1, "a smooth background has variance %g",
                  found[k].variance);
    }
    return TAP_PASS;
}

/* Pixels that are full or masked, and a box without a spot. */
static int spoiled(void)
{
    nb_spot_size found[BOXES], clean[BOXES];

    draw(1e4);
    renders_require(ctx, measure(clean, 0));
    weight[60 * SIDE + 100] = 0;
    photons[60 * SIDE + 100] = NAN;
    weight[(spots[1].box[2] + 1) * SIDE + spots[1].box[0] + 1] = 0;
    photons[30 * SIDE + 60] = 3e4;
    renders_require(ctx, measure(found, 2.9e4));
    tap_check(isnan(found[0].tangential), "a masked pixel in the spot: no width");
    near("one in a corner of the box does not count", found[1].tangential,
         clean[1].tangential, 1e-3);
    tap_check(isnan(found[3].radial), "a full pixel: no width");
    tap_check(found[2].radial == clean[2].radial, "others are as before");
    for (int i = 0; i < SIDE * SIDE; i++) photons[i] = 7;
    renders_require(ctx, measure(found, 0));
    tap_check(fabs(found[0].photons) < 1e-6 && isnan(found[0].tangential),
              "no spot has no width");
    for (int i = 0; i < SIDE * SIDE; i++) weight[i] = 0;
    renders_require(ctx, measure(found, 0));
    tap_check(isnan(found[0].background) && found[0].pixels == 0, "all pixels are masked");
    return TAP_PASS;
}

/* ---- start values ---- */

enum { MANY = 60 };

/* Lists spots of blocks of 700 A with a mosaic spread of 0.2 degree standard deviation and
 * a strain of 0.001, with a little scatter. */
static void list(nb_spot_size *spot, double block, double turn, double strain)
{
    for (int i = 0; i < MANY; i++) {
        const double q = 0.1 + 0.4 * i / MANY, theta = asin(q * wavelength / 2);
        const double size = 0.63 / 4 / (block * block), wobble = 1 + 0.05 * cos(7. * i);

        spot[i] =
            (nb_spot_size){.q = q,
                           .two_theta = 2 * theta * 180 / pi,
                           .photons = 1000,
                           .error = 40,
                           .background = 10 + i % 5,
                           .variance = 3 * (10 + i % 5) * wobble,
                           .pixels = 100,
                           .tangential = wobble * (size + pow(turn * pi / 180 * q, 2)),
                           .radial =
                               wobble * (size + pow(strain * q, 2)) / pow(cos(theta), 2)};
    }
}

static int sizes(void)
{
    static const double per_spread = 0.49637826966267715; /* docs/theory.md, 9 */
    nb_spot_size spot[MANY];
    nb_start start;

    list(spot, 700, 0.2, 0.001);
    renders_require(ctx, nb_spot_sizes_start(ctx, MANY, spot, &start));
    tap_check(start.spots == MANY && start.boxes == MANY, "all %d spots", MANY);
    near("block", start.block, 700, 0.05);
    near("mosaic spread", start.mosaic, 0.2 / per_spread, 0.05);
    near("strain", start.strain, 0.001, 0.1);
    near("gain", start.gain, 3, 0.03);
    tap_check(start.gain_error > 0 && start.gain_error < 0.1 && start.block_error > 0
                  && start.block_error < 50,
              "errors %g, %g", start.gain_error, start.block_error);
    /* spots that are far off leave, and weak ones do not count */
    for (int i = 0; i < MANY; i += 10) spot[i].tangential *= 50;
    for (int i = 5; i < MANY; i += 10) {
        spot[i].photons = 100;
        spot[i].radial *= 50;
    }
    renders_require(ctx, nb_spot_sizes_start(ctx, MANY, spot, &start));
    tap_check(start.spots == MANY - MANY / 10, "%d are bright", (int)start.spots);
    near("block", start.block, 700, 0.05);
    near("mosaic spread", start.mosaic, 0.2 / per_spread, 0.05);
    /* no mosaic spread: a start above 0 that is less than can be told */
    list(spot, 700, 0, 0);
    renders_require(ctx, nb_spot_sizes_start(ctx, MANY, spot, &start));
    near("block alone", start.block, 700, 0.05);
    tap_check(start.mosaic > 0 && start.mosaic < 0.05, "mosaic spread %g", start.mosaic);
    return TAP_PASS;
}

static int too_few(void)
{
    nb_spot_size spot[MANY];
    nb_start start;

    list(spot, 700, 0.2, 0.001);
    renders_require(ctx, nb_spot_sizes_start(ctx, 7, spot, &start));
    tap_check(start.spots == 0 && isnan(start.block) && isnan(start.mosaic)
                  && start.boxes == 0 && isnan(start.gain),
              "seven spots tell nothing");
    for (int i = 0; i < MANY; i++) spot[i].photons = 7 * spot[i].error;
    renders_require(ctx, nb_spot_sizes_start(ctx, MANY, spot, &start));
    tap_check(start.spots == MANY, "weak spots count if there are no others");
    for (int i = 0; i < MANY; i++) spot[i].tangential = spot[i].background = NAN;
    renders_require(ctx, nb_spot_sizes_start(ctx, MANY, spot, &start));
    tap_check(start.spots == 0 && start.boxes == 0, "no widths");
    renders_require(ctx, nb_spot_sizes_start(ctx, 0, NULL, &start));
    tap_check(start.spots == 0, "no spots");
    return TAP_PASS;
}

static int null_arguments(void)
{
    const nb_scene scene = make_scene();
    const nb_target target = {.observed = NULL};
    nb_spot_size spot[BOXES];
    nb_start start;

    tap_check(nb_spot_sizes_measure(NULL, &scene, &target, spot) == NB_ERR_ARGUMENT
                  && nb_spot_sizes_measure(ctx, NULL, &target, spot) == NB_ERR_ARGUMENT
                  && nb_spot_sizes_measure(ctx, &scene, &target, spot) == NB_ERR_ARGUMENT
                  && nb_spot_sizes_start(NULL, 0, NULL, &start) == NB_ERR_ARGUMENT
                  && nb_spot_sizes_start(ctx, 1, NULL, &start) == NB_ERR_ARGUMENT
                  && nb_spot_sizes_start(ctx, 0, spot, NULL) == NB_ERR_ARGUMENT,
              "NULL is refused");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"widths", widths},
                                            {"spoiled", spoiled},
                                            {"sizes", sizes},
                                            {"too_few", too_few},
                                            {"null_arguments", null_arguments}};

    return files_main(argc, argv, cases, COUNT(cases));
}
