/*
 * test_water.c - amorphous material in the beam: the formula pixel by pixel, and its
 * independence of all else.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>

#include <nanobrag/description.h>

#include "scene/probe.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

/* Where no other reason is given, a tolerance is 3 to 20 times the rounding that is
 * measured: a few eps (2.2e-16) of the numbers that meet in a sum. */

enum { PIXELS = 40 * 37 };

static nb_pixel_trace trace(nb_simulator *sim, int i)
{
    nb_pixel_trace t;

    if (nb_simulator_trace(sim, NULL, 0, i / 40, i % 40, &t) != NB_OK) abort();
    return t;
}

/* F^2 r_e^2 fluence molecules, per omega, polarization and capture */
static double water_of(double um, double density, double mw, double fluence, double f)
{
    const double w = um * 1e-6;

    return f * f * 7.94079248018965e-30 * fluence * w * w * w * 1e6 * density
           * 6.02214179e23 / mw;
}

/* every pixel is that formula with the factors its trace reports */
static void check_water(const char *what, const nb_scene *scene, double expected)
{
    static double image[PIXELS];
    nb_simulator *sim = probe_make(scene, NULL);
    struct worst worst = {0};

    probe_image(scene, image);
    for (int i = 0; i < PIXELS; i++) {
        const nb_pixel_trace t = trace(sim, i);

        worst_add(&worst, image[i] / (t.omega * t.polarization) / expected, 1, 1);
    }
    worst_check(&worst, 3e-14, "%s", what);
    nb_simulator_free(sim);
}

static int water(void)
{
    static double image[PIXELS], once[PIXELS];
    const double standard = 1 / 7.94079248018965e-30;
    nb_scene s = scenes_base();

    s.crystal.default_f = 0;
    probe_image(&s, image);
    tap_check(probe_peak(image, PIXELS) == 0, "without -water nothing");
    s.background.water = 250;
    check_water("as the formula says", &s, water_of(250, 1, 18, standard, 2.57));
    s.beam.fluence = 3 * standard;
    check_water("3 x fluence", &s, 3 * water_of(250, 1, 18, standard, 2.57));
    s.background.water = 500;
    check_water("twice as thick: 8 x", &s, 24 * water_of(250, 1, 18, standard, 2.57));
    s.background.density = 1.3;
    s.background.molecular_weight = 40;
    check_water("density and molecular weight", &s,
                water_of(500, 1.3, 40, 3 * standard, 2.57));
    s.scan.nphi = 7;
    s.crystal.ndomains = 4;
    s.crystal.scale = 9;
    s.crystal.b_factor = 30;
    check_water("phi steps, domains, B and scale do not matter", &s,
                water_of(500, 1.3, 40, 3 * standard, 2.57));
    /* a smooth background is taken at the centre of a pixel, so that it does not move */
    s.oversample = 1;
    probe_image(&s, once);
    for (s.oversample = 2; s.oversample < 6; s.oversample++)
        for (int each = 0; each < 2; each++) {
            s.oversample_polar = s.oversample_omega = each;
            probe_image(&s, image);
            tap_close("nor does oversampling", probe_off(image, once, PIXELS), 0, 1e-14);
        }
    return TAP_PASS;
}

static double table_f(double x)
{
    return 4 - 30 * x + 900 * x * x - 5000 * x * x * x;
}

static int water_table(void)
{
    static double constant[PIXELS], image[PIXELS];
    static const double flat[] = {0, 2.57, 0.01, 2.57, 0.05, 2.57, 0.3, 2.57, 0.4, 2.57};
    struct worst worst = {0};
    double cubic[24];
    int ends = 0;
    nb_scene s = scenes_base();
    nb_simulator *sim;

    s.crystal.default_f = 0;
    s.background.water = 250;
    probe_image(&s, constant);
    s.background.stol = flat;
    s.background.nstol = 5;
    probe_image(&s, image);
    tap_close("a flat table is the constant", probe_off(image, constant, PIXELS), 0, 1e-14);
    for (int i = 0; i < 12; i++) { /* 0.02 to 0.1, unevenly spaced */
        cubic[2 * i] = 0.02 + 0.06 * i / 11 + 0.02 * (i * i) / 121;
        cubic[2 * i + 1] = table_f(cubic[2 * i]);
    }
    s.background.stol = cubic;
    s.background.nstol = 12;
    sim = probe_make(&s, NULL);
    probe_image(&s, image);
    for (int i = 0; i < PIXELS; i++) {
        const double stol = trace(sim, i).stol;
        const double f = table_f(fmin(fmax(stol, 0.02), 0.1)) / 2.57;

        ends += stol < 0.02 || stol > 0.1;
        worst_add(&worst, image[i] / (f * f * constant[i]), 1, 1);
    }
    tap_check(ends > 5 && ends < PIXELS / 2, "%d pixels beyond the table", ends);
    worst_check(&worst, 3e-14, "a cubic is followed, clamped at its ends");
    nb_simulator_free(sim);
    s.background.water = 0;
    probe_refused(&s, NB_ERR_SCENE, "-water");
    return TAP_PASS;
}

/* I_bg is divided by the steps and meets r_e^2 fluence twice */
static int quirk_of_water(void)
{
    static double three[PIXELS], five[PIXELS];
    nb_scene s = scenes_base();
    struct worst worst = {0};
    nb_simulator *a, *b;

    s.crystal.default_f = 0;
    s.background.water = 250;
    s.quirks = NB_QUIRK_WATER;
    s.beam.fluence = 2 / 7.94079248018965e-30;
    s.oversample = 3;
    a = probe_make(&s, NULL);
    probe_image(&s, three);
    s.oversample = 5;
    b = probe_make(&s, NULL);
    probe_image(&s, five);
    for (int i = 0; i < PIXELS; i++) {
        const nb_pixel_trace t = trace(a, i), u = trace(b, i);
        const double x = three[i] / (t.omega * t.polarization);
        const double y = five[i] / (u.omega * u.polarization);
        /* 2 phi steps x 6 domains x 9 sub-pixels; fluence twice too large, squared */
        const double z = 4 * water_of(250, 1, 18, 1 / 7.94079248018965e-30, 2.57) / 108;

        worst_add(&worst, x / y, 25.0 / 9, 25.0 / 9);
        worst_add(&worst, x, z, z);
    }
    worst_check(&worst, 5e-14, "factor 25/9 between 5 x and 3 x, and its size");
    nb_simulator_free(a);
    nb_simulator_free(b);
    return TAP_PASS;
}

static void image_by(const nb_scene *scene, int strategy, double *image)
{
    const nb_options options = {.strategy = strategy};
    nb_array array = nb_array_f64(image, 37, 40);
    nb_simulator *sim;

    if (nb_simulator_create(probe_context(), scene, NULL, &options, &sim) != NB_OK) abort();
    if (nb_forward(sim, NULL, &array) != NB_OK) abort();
    nb_simulator_free(sim);
}

/* Beyond dmin nanoBragg's polarization keeps the value it starts with: 0, and with it the
 * water is gone, or 1 where -nopolar switched it off, and the water stays. */
static int quirk_of_dmin(void)
{
    static const int strategies[] = {NB_STRATEGY_REFERENCE, NB_STRATEGY_LANES};

    for (size_t k = 0; k < 2 * COUNT(strategies); k++) {
        static double cut[PIXELS], uncut[PIXELS];
        struct worst worst = {0};
        nb_scene s = scenes_base();
        const int off = k % 2 == 1, strategy = strategies[k / 2];

        s.crystal.default_f = 0;
        s.background.water = 250;
        s.quirks = NB_QUIRK_DMIN_POLAR | NB_QUIRK_WATER;
        s.beam.unpolarised = off;
        image_by(&s, strategy, uncut);
        s.dmin = 1e6; /* every sample lies beyond it */
        image_by(&s, strategy, cut);
        for (int i = 0; i < PIXELS; i++)
            worst_add(&worst, cut[i], off ? uncut[i] : 0, uncut[i]);
        worst_check(&worst, 0, "water beyond dmin, strategy %d, polarization %s", strategy,
                    off ? "off" : "on");
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"water", water},
        {"water_table", water_table},
        {"quirk_of_water", quirk_of_water},
        {"quirk_of_dmin", quirk_of_dmin},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
