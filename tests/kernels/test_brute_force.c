/*
 * test_brute_force.c - whole images compared with brute force: a plain re-implementation,
 * means of single samples, binned images, and formulas pixel by pixel.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "kernels/brute_force.h"
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

static void check_oracle(const char *what, const nb_scene *scene)
{
    static double image[PIXELS], plain[PIXELS];

    for (int strategy = NB_STRATEGY_REFERENCE; strategy <= NB_STRATEGY_LANES; strategy++) {
        const nb_options options = {NB_PRECISION_DOUBLE, strategy, 0};
        nb_array array = nb_array_f64(image, 37, 40);
        nb_simulator *sim;

        if (nb_simulator_create(probe_context(), scene, NULL, &options, &sim) != NB_OK
            || nb_forward(sim, NULL, &array) != NB_OK)
            abort();
        oracle_image(scene, sim, plain);
        tap_check(probe_peak(plain, PIXELS) > 0, "%s is not dark", what);
        tap_close(strategy == NB_STRATEGY_LANES ? "lanes" : "reference",
                  probe_off(image, plain, PIXELS), 0, 1e-11);
        nb_simulator_free(sim);
    }
}

static int third_opinion(void)
{
    struct named_scene named;
    nb_scene scene;

    for (size_t i = 0; scenes_at(SCENES_BRUTE_FORCE, i, &named); i++)
        check_oracle(named.name, &named.scene);
    scene =
        scenes_named(SCENES_FEATURES,
                     "grid_of_sources"); /* polarization of the first sample that passes */
    scene.dmin = 9;
    scene.oversample = 3;
    scene.detector.distance = 25;
    check_oracle("dmin", &scene);
    for (int convention = NB_CONVENTION_DENZO; convention <= NB_CONVENTION_CUSTOM;
         convention++) {
        scene = scenes_named(SCENES_FEATURES, "each_factor");
        scene.detector.convention = convention;
        scene.crystal.hkl = scenes_reflections();
        scene.crystal.interpolate = 1;
        scene.oversample_polar = scene.oversample_thick = convention % 2;
        check_oracle("another convention", &scene);
    }
    return TAP_PASS;
}

/* a still of one orientation and one source of a scene */
static nb_scene single(const nb_scene *scene, nb_simulator *sim, const int at[3],
                       nb_source *source)
{
    nb_scene s = *scene;
    double axes[3][3], star[3][3];

    probe_orientation(sim, at[0], at[1], axes);
    probe_dual(axes, star);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) s.crystal.matrix[3 * i + j] = star[j][i];
    memset(s.crystal.cell, 0, sizeof s.crystal.cell);
    memset(s.crystal.misset, 0, sizeof s.crystal.misset);
    memset(s.crystal.mosaic, 0, sizeof s.crystal.mosaic);
    memset(&s.scan, 0, sizeof s.scan);
    s.crystal.ndomains = 1;
    if (nb_simulator_source(sim, NULL, at[2], source, NULL) != NB_OK) abort();
    s.beam.nsource = 1;
    s.beam.source = source;
    return s;
}

/* the weighted mean over all of a scene's samples */
static void check_mean(const char *what, const nb_scene *scene)
{
    static double image[PIXELS], one[PIXELS], mean[PIXELS];
    nb_simulator *sim = probe_make(scene, NULL);
    double weights = 0;
    nb_description d;
    int at[3];

    if (nb_simulator_describe(sim, NULL, &d) != NB_OK) abort();
    memset(mean, 0, sizeof mean);
    for (at[2] = 0; at[2] < d.nsource; at[2]++)
        for (at[0] = 0; at[0] < d.nphi; at[0]++)
            for (at[1] = 0; at[1] < d.ndomains; at[1]++) {
                nb_source source;
                const nb_scene s = single(scene, sim, at, &source);
                const double weight = source.weight;

                if (weight == 0) continue;
                probe_image(&s, one);
                weights += weight;
                for (int i = 0; i < PIXELS; i++) mean[i] += weight * one[i];
            }
    for (int i = 0; i < PIXELS; i++) mean[i] /= weights;
    probe_image(scene, image);
    tap_note("%d sources, %d phi steps, %d domains", d.nsource, d.nphi, d.ndomains);
    tap_close(what, probe_off(image, mean, PIXELS), 0, 8e-13);
    nb_simulator_free(sim);
}

static int mean_of_singles(void)
{
    nb_scene s = scenes_named(SCENES_FEATURES, "list_of_sources");

    s.oversample_polar = 1; /* else the polarization is that of the first source */
    check_mean("list of sources", &s);
    s.crystal.hkl = scenes_reflections();
    s.crystal.interpolate = 1;
    s.crystal.ndomains = 3;
    check_mean("with reflections", &s);
    s.crystal.shape = NB_SHAPE_ROUND;
    s.scan.osc = -3; /* backwards, through phi = 0 */
    s.scan.phi0 = 1.5;
    s.scan.nphi = 3;
    check_mean("round, through phi = 0", &s);
    s = scenes_named(SCENES_FEATURES, "grid_of_sources");
    s.oversample_polar = 1;
    s.crystal.ndomains = 2;
    s.scan.nphi = 1;
    check_mean("grid of sources", &s);
    s.crystal.shape = NB_SHAPE_GAUSS_STAR;
    check_mean("gauss_star", &s);
    return TAP_PASS;
}

static int source_weights(void)
{
    static double both[PIXELS], a[PIXELS], b[PIXELS];
    nb_source list[2] = {{{1, 0, 0}, 1.1, 5}, {{3, 0.02, -0.01}, 1.12, 0}};
    nb_scene s = scenes_base();

    s.oversample_polar = 1;
    s.beam.source = list;
    s.beam.nsource = 1;
    probe_image(&s, a);
    s.beam.nsource = 2;
    probe_image(&s, both);
    tap_close("5:0 is the first alone", probe_off(both, a, PIXELS), 0, 1e-15);
    list[0].weight = 0;
    list[1].weight = 0.1;
    probe_image(&s, b);
    list[0].weight = 1;
    list[1].weight = 3;
    probe_image(&s, both);
    for (int i = 0; i < PIXELS; i++) a[i] = (a[i] + 3 * b[i]) / 4;
    tap_close("1:3 is the weighted mean", probe_off(both, a, PIXELS), 0, 4e-15);
    s.quirks = NB_QUIRK_UNIT_WEIGHTS;
    probe_image(&s, a);
    list[0].weight = list[1].weight = 1;
    s.quirks = 0;
    probe_image(&s, b);
    tap_close("nanoBragg ignores them", probe_off(a, b, PIXELS), 0, 1e-15);
    return TAP_PASS;
}

/* with all factors at each sample, oversampling is binning */
static int oversampling_is_binning(void)
{
    static double image[PIXELS], fine[9 * PIXELS], binned[PIXELS];
    nb_scene s = scenes_named(SCENES_FEATURES, "each_factor");

    s.crystal.hkl = scenes_reflections();
    s.oversample = 3;
    s.detector.origin_kind = NB_ORIGIN_CLOSE;
    s.detector.origin[0] = 7, s.detector.origin[1] = 8;
    probe_image(&s, image);
    s.oversample = 1;
    s.detector.pixel /= 3;
    s.detector.nfast *= 3;
    s.detector.nslow *= 3;
    probe_image(&s, fine);
    memset(binned, 0, sizeof binned);
    for (int i = 0; i < 9 * PIXELS; i++) binned[i / 120 / 3 * 40 + i % 120 / 3] += fine[i];
    tap_close("image over peak", probe_off(image, binned, PIXELS), 0, 6e-13);
    return TAP_PASS;
}

static int thick_flag(void)
{
    static double once[PIXELS], each[PIXELS];
    nb_scene s = scenes_base();

    probe_image(&s, once);
    s.oversample_thick = 1;
    probe_image(&s, each);
    tap_check(bits_same(once, each, sizeof once / sizeof *once),
              "without a sensor it changes nothing");
    s.detector.thickness = 300, s.detector.attenuation = 200, s.detector.nlayers = 4;
    probe_image(&s, each);
    s.oversample_thick = 0;
    probe_image(&s, once);
    tap_check(bits_same(once, each, sizeof once / sizeof *once),
              "nor with one sample a layer");
    s.beam.unpolarised = 1;
    s.oversample = 2;
    probe_image(&s, once);
    s.oversample_polar = 1;
    probe_image(&s, each);
    tap_close("no polarization, nor at each sample", probe_off(each, once, PIXELS), 0,
              1e-15);
    return TAP_PASS;
}

static int dmin_drops_samples(void)
{
    static double all[PIXELS], cut[PIXELS], water[PIXELS];
    nb_scene s = scenes_named(SCENES_FEATURES, "square_nearest");
    nb_simulator *sim;
    struct worst off = {0}, wet = {0};
    int dropped = 0;

    probe_image(&s, all);
    sim = probe_make(&s, NULL);
    s.dmin = 11;
    probe_image(&s, cut);
    for (int i = 0; i < PIXELS; i++) {
        const int beyond = 0.5 / trace(sim, i).stol < 11;

        dropped += beyond;
        worst_add(&off, cut[i], beyond ? 0 : all[i], 1);
    }
    tap_check(dropped > 100 && dropped < PIXELS - 100, "%d pixels dropped", dropped);
    worst_check(&off, 0, "the others stay");
    s.background.water = 500;
    probe_image(&s, cut);
    s.dmin = 0;
    s.crystal.default_f = 0;
    s.crystal.hkl = NULL;
    probe_image(&s, water);
    for (int i = 0; i < PIXELS; i++)
        if (0.5 / trace(sim, i).stol < 11) worst_add(&wet, cut[i] / water[i], 1, 1);
    worst_check(&wet, 1e-15, "water is not dropped");
    nb_simulator_free(sim);
    return TAP_PASS;
}

static int b_factor_and_scale(void)
{
    static double plain[PIXELS], image[PIXELS];
    nb_scene s = scenes_named(SCENES_FEATURES, "square_nearest");
    nb_simulator *sim = probe_make(&s, NULL);
    int garbage = 0;

    for (double b = -15; b <= 45; b += 30) {
        s.crystal.b_factor = 0;
        s.crystal.scale = 0;
        probe_image(&s, plain);
        s.crystal.b_factor = b;
        s.crystal.scale = 1.7;
        probe_image(&s, image);
        for (int i = 0; i < PIXELS; i++) {
            const double stol = trace(sim, i).stol;

            plain[i] *= 1.7 * exp(-2 * b * stol * stol);
        }
        tap_close("exp(-2 B stol^2) times scale", probe_off(image, plain, PIXELS), 0,
                  3e-15);
    }
    s.crystal.b_factor = -1e4; /* the lower bound: absurd, yet no garbage */
    s.beam.wavelength = 0.2;
    s.detector.distance = 10;
    probe_image(&s, image);
    for (int i = 0; i < PIXELS; i++) garbage += !(image[i] >= 0 && image[i] < HUGE_VAL);
    tap_check(garbage == 0, "%d pixels negative or infinite at B = -1e4", garbage);
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* psi = -atan2(d.B, d.E) of section 15.7, and what textbooks give without polarization */
static int polarization(void)
{
    for (int convention = NB_CONVENTION_MOSFLM; convention <= NB_CONVENTION_DIALS;
         convention++) {
        nb_scene s = scenes_base();
        struct worst worst = {0}, textbook = {0};
        nb_description d;
        nb_simulator *sim;

        s.detector.convention = convention;
        s.detector.distance = 8; /* two theta to 60 degrees */
        s.detector.twotheta = 20;
        sim = probe_make(&s, NULL);
        if (nb_simulator_describe(sim, NULL, &d) != NB_OK) abort();
        s.beam.polarization = 0;
        for (int i = 0; i < PIXELS; i++) {
            const nb_pixel_trace t = trace(sim, i);
            double out[3], b[3], e[3], c, psi;

            probe_unit(t.position, out);
            probe_cross(d.polarization_axis, d.beam, b);
            probe_unit(b, b);
            probe_cross(d.beam, b, e);
            psi = -atan2(probe_dot(out, b), probe_dot(out, e));
            c = probe_dot(out, d.beam);
            worst_add(&worst, t.polarization,
                      (1 + c * c - 0.6 * cos(2 * psi) * (1 - c * c)) / 2, 1);
        }
        nb_simulator_free(sim);
        sim = probe_make(&s, NULL);
        for (int i = 0; i < PIXELS; i++) {
            const nb_pixel_trace t = trace(sim, i);
            double out[3], two_theta;

            probe_unit(t.position, out);
            two_theta = acos(probe_dot(out, d.beam));
            worst_add(&textbook, t.polarization, (1 + pow(cos(two_theta), 2)) / 2, 1);
        }
        nb_simulator_free(sim);
        worst_check(&worst, 8e-15, "Kahn factor 0.6");
        worst_check(&textbook, 6e-15, "unpolarised");
    }
    return TAP_PASS;
}

/* mean, rms and the rest by their definitions, and darkness where nothing is rendered */
static int region_mask_statistics(void)
{
    static double image[PIXELS];
    static uint8_t mask[PIXELS];
    nb_array array = nb_array_f64(image, 37, 40);
    nb_scene s = scenes_base();
    double sum = 0, squares = 0, spread = 0, max = 0, lit = 0, solid = 0;
    nb_statistics got;
    nb_simulator *sim;
    int at = 0, n = 0;

    for (int i = 0; i < PIXELS; i++) mask[i] = i % 7 != 3;
    s.detector.mask = mask;
    s.detector.roi[0] = 4, s.detector.roi[1] = 31, s.detector.roi[2] = 9;
    s.detector.roi[3] = 37;
    s.oversample = 3;
    s.background.water = 400; /* no rendered pixel is dark */
    sim = probe_make(&s, NULL);
    if (nb_forward(sim, NULL, &array) != NB_OK
        || nb_statistics_get(sim, NULL, &array, &got) != NB_OK)
        abort();
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < PIXELS; i++) {
            const int f = i % 40, row = i / 40;
            const double value = (double)(float)image[i];

            if (f < 4 || f >= 31 || row < 9 || !mask[i]) {
                lit += image[i] != 0;
                continue;
            }
            lit += image[i] == 0;
            if (pass == 1) {
                spread += (value - sum / n) * (value - sum / n);
                continue;
            }
            n++;
            sum += value;
            squares += value * value;
            solid += trace(sim, i).omega;
            if (value > max) max = value, at = i;
        }
    tap_close("pixels dark that should not be, or lit", lit, 0, 0);
    tap_close("count", (double)got.count, n, 0);
    tap_close("sum", got.sum / sum, 1, 3e-15);
    tap_close("mean", got.mean / (sum / n), 1, 3e-15);
    tap_close("rms", got.rms / sqrt(squares / (n - 1)), 1, 1e-14);
    tap_close("rmsd", got.rmsd / sqrt(spread / (n - 1)), 1, 8e-15);
    tap_close("max", got.max, max, 0);
    tap_close("solid angle", got.solid_angle / solid, 1, 1e-14);
    /* the last sub-pixel of three */
    tap_close("max_fast", got.max_fast, (at % 40 + 2.5 / 3) * 0.44, 4e-14);
    tap_close("max_slow", got.max_slow, (at / 40 + 2.5 / 3) * 0.44, 4e-14);
    nb_simulator_free(sim);
    return TAP_PASS;
}

static double correlation(const double *a, const double *b, int n)
{
    double ma = 0, mb = 0, ab = 0, aa = 0, bb = 0;

    for (int i = 0; i < n; i++) ma += a[i] / n, mb += b[i] / n;
    for (int i = 0; i < n; i++) {
        ab += (a[i] - ma) * (b[i] - mb);
        aa += (a[i] - ma) * (a[i] - ma);
        bb += (b[i] - mb) * (b[i] - mb);
    }
    return ab / sqrt(aa * bb);
}

/* nanoBragg's curved detector is the flat one mirrored about the anti-diagonal */
static int quirk_of_curvature(void)
{
    enum { SIDE = 41 };
    static double flat[SIDE * SIDE], mirrored[SIDE * SIDE], bent[SIDE * SIDE];
    static double curved[SIDE * SIDE];
    nb_scene s = scenes_base();
    struct worst worst = {0};
    nb_simulator *sim;

    s.detector.nfast = s.detector.nslow = SIDE;
    s.detector.distance = 300;
    memset(s.detector.rotation, 0, sizeof s.detector.rotation);
    s.detector.twotheta = 0;
    s.detector.origin_kind = NB_ORIGIN_CLOSE;
    s.detector.origin[0] = s.detector.origin[1] = SIDE * 0.44 / 2;
    s.detector.pixel = 0.44;
    probe_image(&s, flat);
    s.detector.curved = 1;
    probe_image(&s, curved);
    s.quirks = NB_QUIRK_CURVED;
    probe_image(&s, bent);
    for (int i = 0; i < SIDE * SIDE; i++) { /* without the direct beam, which outshines */
        if (hypot(i % SIDE - 20, i / SIDE - 20) < 10) flat[i] = curved[i] = bent[i] = 0;
    }
    for (int i = 0; i < SIDE * SIDE; i++)
        mirrored[i] = flat[(SIDE - 1 - i % SIDE) * SIDE + SIDE - 1 - i / SIDE];
    tap_close("curved against flat", correlation(curved, flat, SIDE * SIDE), 1, 1e-6);
    tap_close("its quirk against the mirrored flat",
              correlation(bent, mirrored, SIDE * SIDE), 1, 1e-4);
    tap_check(correlation(bent, flat, SIDE * SIDE) < 0.9, "and not against the flat: %g",
              correlation(bent, flat, SIDE * SIDE));
    sim = probe_make(&s, NULL);
    for (int i = 0; i < SIDE * SIDE; i++) {
        /* MOSFLM: fast is z, slow is -y; angle = lab component over distance */
        const double fast[3] = {0, 0, 1}, slow[3] = {0, -1, 0}, beam[3] = {0.3, 0, 0};
        const double z = (i % SIDE - SIDE / 2) * 0.44e-3,
                     y = (SIDE / 2 - i / SIDE) * 0.44e-3;
        nb_pixel_trace t;
        double p[3];

        if (nb_simulator_trace(sim, NULL, 0, i / SIDE, i % SIDE, &t) != NB_OK) abort();
        probe_turn(slow, y / 0.3 / PROBE_RADIAN, beam, p);
        probe_turn(fast, z / 0.3 / PROBE_RADIAN, p, p);
        for (int k = 0; k < 3; k++) worst_add(&worst, p[k], t.position[k], 1);
    }
    worst_check(&worst, 1e-15, "two rotations, m");
    nb_simulator_free(sim);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"third_opinion", third_opinion},
        {"mean_of_singles", mean_of_singles},
        {"source_weights", source_weights},
        {"oversampling_is_binning", oversampling_is_binning},
        {"thick_flag", thick_flag},
        {"dmin_drops_samples", dmin_drops_samples},
        {"b_factor_and_scale", b_factor_and_scale},
        {"polarization", polarization},
        {"region_mask_statistics", region_mask_statistics},
        {"quirk_of_curvature", quirk_of_curvature},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
