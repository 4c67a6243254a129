/*
 * test_sampling.c - the number and position of the steps of phi, divergence, dispersion and
 * mosaicity, and the values that are refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "scene/probe.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

/* Where no other reason is given, a tolerance is 3 to 20 times the rounding that is
 * measured: a few eps (2.2e-16) of the numbers that meet in a sum. */

static nb_scene still(void)
{
    nb_scene s = {0};

    s.crystal.cell[0] = 40;
    s.crystal.default_f = 1;
    for (int i = 0; i < 3; i++) s.crystal.ncells[i] = 5;
    s.detector.nfast = s.detector.nslow = 20;
    s.detector.pixel = 2;
    return s;
}

/* the angles are those by which the crystal turned about the spindle (z of MOSFLM) */
static void check_phi(const nb_scene *scene, int n, double first, double step)
{
    nb_simulator *sim = probe_make(scene, NULL);
    nb_scene upright = still();
    const nb_description at_zero = probe_describe(&upright);
    struct worst worst = {0};
    nb_description d;

    if (nb_simulator_describe(sim, NULL, &d) != NB_OK) abort();
    tap_check(d.nphi == n, "%d steps, expected %d", d.nphi, n);
    for (int t = 0; t < n && d.nphi == n; t++) {
        double axes[3][3], turned[3];

        probe_orientation(sim, t, 0, axes);
        for (int i = 0; i < 3; i++) {
            probe_turn(d.spindle, first + t * step, at_zero.real_axes[i], turned);
            for (int j = 0; j < 3; j++) worst_add(&worst, axes[i][j], turned[j], 1);
        }
    }
    worst_check(&worst, 1e-13, "axes, A");
    nb_simulator_free(sim);
}

static nb_scene scan(double phi0, double osc, int nphi, double step)
{
    nb_scene s = still();

    s.scan.phi0 = phi0;
    s.scan.osc = osc;
    s.scan.nphi = nphi;
    s.scan.step = step;
    return s;
}

static int phi_steps(void)
{
    nb_scene s = scan(30, 0, 0, 0);

    check_phi(&s, 1, 30, 0);
    s = scan(30, 6, 3, 0); /* mid-steps */
    check_phi(&s, 3, 31, 2);
    s = scan(30, 6, 1, 0); /* one is one */
    check_phi(&s, 1, 33, 0);
    s = scan(30, 0, 1, 0);
    check_phi(&s, 1, 30, 0);
    s = scan(30, -6, 3, 0); /* backwards */
    check_phi(&s, 3, 29, -2);
    s = scan(30, 6, 0, 1.5);
    check_phi(&s, 4, 30.75, 1.5);
    s = scan(30, 0.3, 0, 0.1); /* 0.3/0.1 is a hair below 3 */
    check_phi(&s, 3, 30.05, 0.1);
    s = scan(30, 0.7, 0, 0.1); /* and 0.7/0.1 a hair above 7, or not */
    check_phi(&s, 7, 30.05, 0.1);
    s = scan(30, 6, 4, 1.5);
    check_phi(&s, 4, 30.75, 1.5);
    s = scan(30, 0, 0, 0);
    s.given = NB_GIVEN_OSC; /* a still */
    check_phi(&s, 1, 30, 0);
    s = scan(30, 0, 3, 0);
    probe_refused(&s, NB_ERR_SCENE, "-osc");
    s = scan(30, 6, 3, 1);
    probe_refused(&s, NB_ERR_SCENE, "leave one of");
    s = scan(30, 6, 1, 1);
    probe_refused(&s, NB_ERR_SCENE, "leave one of");
    return TAP_PASS;
}

/* n = ceil(5 osc L q), 1 to 1000 */
static int phi_steps_by_rule(void)
{
    static const double ranges[] = {1e-9, 0.2, 2, -2, 60};

    for (size_t i = 0; i < COUNT(ranges); i++) {
        const nb_scene s = scan(0, ranges[i], 0, 0);
        nb_description d;
        double edge = 5 * 40, q = 0, n;

        probe_forget();
        d = probe_describe(&s);
        for (int corner = 0; corner < 4; corner++) {
            double p[3], cosine;

            for (int j = 0; j < 3; j++)
                p[j] = d.origin[j] + (corner & 1) * 40 * d.fast[j]
                       + (corner >> 1) * 40 * d.slow[j];
            cosine = probe_dot(p, d.beam) / sqrt(probe_dot(p, p));
            q = fmax(q, 2 * sin(acos(cosine) / 2)); /* 1 A */
        }
        tap_close("largest |q|", d.qmax, q, 2e-15);
        n = ceil(5 * fabs(ranges[i]) * PROBE_RADIAN * edge * q);
        tap_check(d.nphi == fmin(fmax(n, 1), 1000), "%d steps for %g degrees, rule %g",
                  d.nphi, ranges[i], n);
        tap_check((strstr(probe_log(), "would need") != NULL) == (n > 1000),
                  "a warning above 1000 only");
        tap_check(strstr(probe_log(), d.nphi == 1 ? "1 phi step for" : "phi steps for")
                      != NULL,
                  "the count is told");
    }
    return TAP_PASS;
}

/* a step at phi = 0 exactly is the unrotated crystal, also under nanoBragg's rules */
static int phi_of_zero(void)
{
    nb_scene s = scan(-3, 6, 3, 0);

    check_phi(&s, 3, -2, 2);
    s.quirks = NB_QUIRK_STEP_RULES;
    check_phi(&s, 3, -3, 2);
    s = scan(0, 6, 3, 0);
    s.quirks = NB_QUIRK_STEP_RULES;
    check_phi(&s, 3, 0, 2);
    s = scan(0, 6, 0, 0);
    s.quirks = NB_QUIRK_STEP_RULES; /* table 6.1 */
    check_phi(&s, 2, 0, 3);
    s = scan(0, 0, 5, 0);
    s.quirks = NB_QUIRK_STEP_RULES;
    check_phi(&s, 5, 0, 0.2);
    s = scan(0, 0, 5, 2);
    s.quirks = NB_QUIRK_STEP_RULES;
    check_phi(&s, 2, 0, 2);
    s = scan(0, 7, 0, 2);
    s.quirks = NB_QUIRK_STEP_RULES;
    check_phi(&s, 4, 0, 2);
    return TAP_PASS;
}

/* the sources of a scene against the grid they should make, in mrad */
static void check_grid(const nb_scene *scene, const int n[2], const double step[2],
                       int round)
{
    nb_simulator *sim = probe_make(scene, NULL);
    struct worst worst = {0};
    double range[2];
    nb_description d;
    int count = 0;

    if (nb_simulator_describe(sim, NULL, &d) != NB_OK) abort();
    for (int k = 0; k < 2; k++) range[k] = d.divergence[k] * 1000;
    for (int h = 0; h < n[0]; h++)
        for (int v = 0; v < n[1]; v++) {
            const double x[2] = {step[0] * (h - (n[0] - 1) / 2.0),
                                 step[1] * (v - (n[1] - 1) / 2.0)};
            double q = 0, deviation[2], expected[3];
            nb_source source;

            for (int k = 0; k < 2; k++)
                if (range[k] > 0)
                    q += (x[k] * x[k] - (n[k] % 2 ? 0 : step[k] * step[k] / 4))
                         / (range[k] * range[k]);
            if (round && 4 * q > 1.1) continue;
            if (nb_simulator_source(sim, NULL, count++, &source, deviation) != NB_OK) {
                tap_check(0, "source %d is missing", count);
                continue;
            }
            probe_turn(d.polarization_axis, x[1] / 1000 / PROBE_RADIAN, d.beam, expected);
            probe_turn(d.vertical, x[0] / 1000 / PROBE_RADIAN, expected, expected);
            for (int k = 0; k < 3; k++)
                worst_add(&worst, source.direction[k], expected[k], 1);
            for (int k = 0; k < 2; k++) worst_add(&worst, deviation[k], x[k] / 1000, 1);
        }
    tap_check(d.nsource == count && d.ngrid == count, "%d sources, expected %d", d.nsource,
              count);
    worst_check(&worst, 1e-15, "directions, radian");
    nb_simulator_free(sim);
}

static nb_scene divergent(int nh, int nv, double rh, double rv)
{
    nb_scene s = still();

    s.beam.ndivergence[0] = nh, s.beam.ndivergence[1] = nv;
    s.beam.divergence[0] = rh, s.beam.divergence[1] = rv;
    return s;
}

static int divergence_grid(void)
{
    /* square, elliptic, thin; counts of 12.2 where nanoBragg was run */
    static const struct {
        int n[2];
        double range[2];
        int round, square;
    } grids[] = {{{4, 4}, {3, 3}, 12, 16}, {{5, 5}, {4, 4}, 13, 25},
                 {{2, 2}, {1, 1}, 4, 4},   {{4, 4}, {3, 9}, 12, 16},
                 {{1, 4}, {0, 2}, 4, 4},   {{1, 5}, {1, 4}, 5, 5}};

    for (size_t i = 0; i < COUNT(grids); i++) {
        const int *n = grids[i].n;
        nb_scene s = divergent(n[0], n[1], grids[i].range[0], grids[i].range[1]);
        double step[2];

        for (int k = 0; k < 2; k++) step[k] = n[k] > 1 ? grids[i].range[k] / (n[k] - 1) : 0;
        check_grid(&s, n, step, 1);
        tap_check(probe_describe(&s).nsource == grids[i].round, "%d x %d, round: %d", n[0],
                  n[1], grids[i].round);
        s.beam.square_divergence = 1;
        check_grid(&s, n, step, 0);
        tap_check(probe_describe(&s).nsource == grids[i].square, "%d x %d, square: %d",
                  n[0], n[1], grids[i].square);
    }
    return TAP_PASS;
}

static int divergence_rules(void)
{
    const int two[2] = {2, 1}, four[2] = {4, 1}, one[2] = {1, 1};
    const double step2[2] = {3, 0}, step1[2] = {1, 0}, none[2] = {0, 0};
    nb_scene s = divergent(0, 0, 3, 0); /* a range alone: its two ends */

    check_grid(&s, two, step2, 1);
    s = divergent(1, 0, 3, 0);
    check_grid(&s, one, none, 1);
    s = divergent(0, 0, 3.5, 0); /* range and step: ceil, centred */
    s.beam.divergence_step[0] = 1;
    s.beam.square_divergence = 1;
    check_grid(&s, four, step1, 0);
    s = divergent(4, 0, 3, 0); /* all three, in agreement */
    s.beam.divergence_step[0] = 1;
    check_grid(&s, four, step1, 1);
    s.beam.ndivergence[0] = 6;
    probe_refused(&s, NB_ERR_SCENE, "leave one of");
    s.beam.ndivergence[0] = 1;
    probe_refused(&s, NB_ERR_SCENE, "leave one of");
    s = divergent(3, 0, 0, 0);
    probe_refused(&s, NB_ERR_SCENE, "-hdivrange");
    s = divergent(0, 3, 0, 0);
    probe_refused(&s, NB_ERR_SCENE, "-vdivrange");
    s.quirks = NB_QUIRK_STEP_RULES; /* 1 radian */
    tap_close("nanoBragg: a count alone, range", probe_describe(&s).divergence[1], 1,
              1e-15);
    s.beam.ndivergence[0] = 3;
    tap_check(probe_describe(&s).nsource == 4, "3 x 3 of them: 4 points");
    return TAP_PASS;
}

static int dispersion_grid(void)
{
    for (int n = 1; n <= 5; n++) {
        nb_scene s = divergent(2, 1, 3, 0);
        nb_simulator *sim;
        struct worst worst = {0};

        s.beam.wavelength = 1.3;
        s.beam.dispersion = 0.04;
        s.beam.ndispersion = n;
        sim = probe_make(&s, NULL);
        for (int i = 0; i < 2 * n; i++) { /* directions outside, wavelengths inside */
            const double step = n > 1 ? 0.04 / (n - 1) : 0;
            nb_source source;

            if (nb_simulator_source(sim, NULL, i, &source, NULL) != NB_OK) abort();
            worst_add(&worst, source.wavelength, 1.3 * (1 + step * (i % n - (n - 1) / 2.0)),
                      1);
            worst_add(&worst, source.weight, 0.5 / n, 1);
        }
        worst_check(&worst, 1e-15, "wavelengths, A");
        nb_simulator_free(sim);
    }
    {
        nb_scene s = still();

        s.beam.dispersion = 0.04;
        tap_check(probe_describe(&s).nsource == 2, "a range alone: two wavelengths");
        s.beam.ndispersion = 3;
        s.beam.dispersion = 0;
        probe_refused(&s, NB_ERR_SCENE, "-dispersion");
        s.beam.dispersion = 2;
        probe_refused(&s, NB_ERR_SCENE, "wavelength");
    }
    return TAP_PASS;
}

static int mosaic_rules(void)
{
    nb_scene s = still();

    tap_check(probe_describe(&s).ndomains == 1, "nothing: 1 domain");
    s.crystal.mosaic[0] = 0.5;
    tap_check(probe_describe(&s).ndomains == 10, "a spread alone: 10");
    s.crystal.ndomains = 1;
    tap_check(probe_describe(&s).ndomains == 1, "1 is 1");
    s.crystal.mosaic[0] = 0;
    s.crystal.ndomains = 4;
    probe_refused(&s, NB_ERR_SCENE, "-mosaic");
    return TAP_PASS;
}

static int source_lists(void)
{
    nb_source list[2] = {{{1, 0, 0}, 1, 1}, {{1, 0.01, 0}, 1, 2}};
    nb_scene s = still();

    s.beam.nsource = 2;
    s.beam.source = list;
    tap_check(probe_describe(&s).nsource == 2 && probe_describe(&s).ngrid == 0,
              "two given sources");
    list[0].weight = -1;
    probe_refused(&s, NB_ERR_SCENE, "weight");
    list[0].weight = list[1].weight = 0;
    probe_refused(&s, NB_ERR_SCENE, "add up to");
    list[0].weight = 1;
    list[1].wavelength = 0;
    probe_refused(&s, NB_ERR_SCENE, "wavelength");
    list[1].wavelength = 1;
    list[1].direction[0] = list[1].direction[1] = 0;
    probe_refused(&s, NB_ERR_SCENE, "direction");
    list[1].direction[0] = NAN;
    probe_refused(&s, NB_ERR_ARGUMENT, "finite");
    return TAP_PASS;
}

/* 3 L/(lambda distance/pixel), and the lengths of the beam */
static int oversampling_rule(void)
{
    nb_scene s = still();
    nb_description d = probe_describe(&s);

    tap_check(d.oversample == (int)ceil(3 * 200 / (1 * 100 / 2.0)), "oversample %d",
              d.oversample);
    s.beam.wavelength = 0.5;
    s.detector.twotheta = 40; /* about the direct beam: its distance stays */
    d = probe_describe(&s);
    tap_check(d.oversample == (int)ceil(3 * 200 / (0.5 * 100 / 2.0)), "oversample %d",
              d.oversample);
    tap_close("distance", d.distance, 100, 1e-13);
    tap_close("close distance", d.close_distance, 100 * cos(40 * PROBE_RADIAN), 1e-13);
    s.quirks = NB_QUIRK_TWOTHETA_DISTANCE;
    tap_close("nanoBragg's distance", probe_describe(&s).distance,
              100 * cos(40 * PROBE_RADIAN), 1e-13);
    s.oversample = 7;
    tap_check(probe_describe(&s).oversample == 7, "7 is 7");
    s.beam.flux = 1e12, s.beam.exposure = 0.1, s.beam.size = 0.05;
    tap_close("fluence from flux", probe_describe(&s).fluence / (1e11 / 2.5e-9), 1, 4e-15);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"phi_steps", phi_steps},
        {"phi_steps_by_rule", phi_steps_by_rule},
        {"phi_of_zero", phi_of_zero},
        {"divergence_grid", divergence_grid},
        {"divergence_rules", divergence_rules},
        {"dispersion_grid", dispersion_grid},
        {"mosaic_rules", mosaic_rules},
        {"source_lists", source_lists},
        {"oversampling_rule", oversampling_rule},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
