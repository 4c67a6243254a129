/*
 * test_continuous_truth.c - spots of crystals whose mosaic spread, rotation, spectrum and
 * so on are continuous, compared with sums over everything (truth.h); and these sums with
 * the program's own images where both compute the same, and with themselves.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nanobrag/description.h>

#include "continuous/aimed.h"
#include "continuous/truth.h"
#include "scene/probe.h"
#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

enum { N = AIMED_PIXELS };

/* ---- what the truth is worth ---- */

static void image_of(const nb_scene *scene, int strategy, double *image)
{
    const struct renders_way way = {.strategy = strategy};

    if (!renders_image(scene, &way, image, NULL)) exit(1);
}

static void compare(const char *what, const double *image, const double *truth,
                    double allowed)
{
    const double peak = worst_largest(truth, N);
    struct worst worst = {0};

    worst_add_all(&worst, image, truth, N, peak);
    worst_check(&worst, allowed, "%s, over the peak", what);
}

/* one domain, no spread: every factor of a sample */
static int one_domain(void)
{
    static double image[N], truth[N];
    struct aimed a = {.edge = {300, 400, 500}, .d = 2, .off = 0.7};

    for (int i = 0; i < 6; i++) {
        nb_scene scene = aimed_scene(&a);
        struct truth t;

        scene.crystal.mosaic_model = NB_MOSAIC_DOMAINS;
        scene.scan.nphi = 1;
        scene.detector.point_pixel = i % 2;
        scene.beam.polarization = i > 1 ? 0.6 : 0;
        scene.beam.unpolarised = i == 1;
        if (i == 2) scene.oversample = 3;
        if (i == 3) scene.crystal.b_factor = 20;
        if (i == 4) scene.crystal.shape = NB_SHAPE_GAUSS_STAR;
        if (i == 5) scene.crystal.fudge = 0.7, scene.crystal.scale = 3;
        if (i == 5)
            for (int k = 0; k < 3; k++) scene.crystal.ncells_off[k] = 1 + k;
        truth_of(&scene, &t);
        truth_pixels(&t, truth_coarse, N, aimed_places(), truth);
        image_of(&scene, NB_STRATEGY_REFERENCE, image);
        compare("one domain", image, truth, 1e-10);
        a.osc = 0.3; /* one step in the middle of the range */
        a.at = 0.5;
        a.d += 0.7;
    }
    return TAP_PASS;
}

/* the mean over a few rotations of the crystal and places in phi */
static int few_rotations(void)
{
    static const double turned[3][3] = {{0.3, 0.1, -0.2}, {-0.1, 0.25, 0.3}, {0, 0, -0.4}};
    static double image[N], mean[N], truth[N];
    const struct aimed a = {.edge = {300, 300, 300}, .d = 1.5, .mosaic = {0.3}};
    nb_scene scene = aimed_scene(&a);
    struct truth t;

    truth_of(&scene, &t);
    memset(truth, 0, sizeof truth);
    memset(mean, 0, sizeof mean);
    scene.crystal.mosaic[0] = 0;
    scene.crystal.mosaic_model = NB_MOSAIC_DOMAINS;
    for (int i = 0; i < 3; i++) {
        struct truth_sample sample = {.weight = 1. / 3,
                                      .phi = (10 + 0.1 * i) * PROBE_RADIAN};
        const double length = sqrt(probe_dot(turned[i], turned[i]));
        double rows[3][3], star[3][3];

        for (int k = 0; k < 3; k++) /* in the crystal's axes, in units of the spread */
            sample.z[k] = turned[i][k] / (t.sd[k] * t.way.row[k][k] / PROBE_RADIAN);
        truth_add(&t, &sample, N, aimed_places(), truth);
        /* the same orientation by the axes themselves */
        for (int k = 0; k < 3; k++) {
            double axis[3] = {0, 0, 0};

            for (int j = 0; j < 3; j++)
                for (int m = 0; m < 3; m++) axis[m] += turned[i][j] * t.frame.row[j][m];
            probe_turn(axis, length, t.axes.row[k], rows[k]);
            probe_turn(t.spindle, 10 + 0.1 * i, rows[k], rows[k]);
        }
        probe_dual(rows, star);
        for (int k = 0; k < 9; k++) scene.crystal.matrix[k] = star[k % 3][k / 3];
        memset(scene.crystal.cell, 0, sizeof scene.crystal.cell);
        memset(scene.crystal.rotation, 0, sizeof scene.crystal.rotation);
        scene.scan.phi0 = 0;
        image_of(&scene, NB_STRATEGY_REFERENCE, image);
        for (int k = 0; k < N; k++) mean[k] += image[k] / 3;
    }
    compare("three rotations", mean, truth, 1e-10);
    return TAP_PASS;
}

/* ---- the continuous model ---- */

enum spectrum { NO_SPECTRUM, FLAT, SPIKY, TWO_LINES, TWO_BEAMS };

/* What a scene has besides what aimed.h knows. */
struct row {
    const char *group, *name;
    struct aimed a;
    double allowed; /* of a pixel, over the peak; 0: 1e-4 */
    enum spectrum spectrum;
    int star; /* 1: NB_SHAPE_GAUSS_STAR */
    double ncells_off[3], mosaic_off[3], tail, strain, size; /* size: in pixels */
    size_t every; /* one pixel of so many; 0: all */
    double dispersion, divergence[2], drift[3];
    int parts; /* of phi, integrated one by one */
    double step; /* phi is a sum over steps */
};

static const struct row rows[] = {
    {"isotropic", "0.02 degree, 500 A", .a = {{500, 500, 500}, {0.02}, 2, .off = 0.5}},
    {"isotropic", "0.15, 300 A", .a = {{300, 300, 300}, {0.15}, 1.5, .off = 1}},
    {"isotropic", "0.3, 1000 A", .a = {{1000, 900, 800}, {0.3}, 1, .off = 0.5}},
    {"isotropic", "1, 300 A, d = 1", .a = {{300, 300, 300}, {1}, 1, .off = 1}},
    {"isotropic", "1, 300 A, d = 3", .a = {{300, 300, 300}, {1}, 3, .off = 1}},
    {"isotropic", "1, 500 A, d = 10", .a = {{500, 400, 300}, {1}, 10, .off = 0.5}},
    {"isotropic", "1, 300 A, d = 30", .a = {{300, 300, 300}, {1}, 30, .off = 0.5}},
    {"isotropic", "plates", .a = {{600, 600, 150}, {0.5}, 3, .off = 0.5}},
    {"isotropic", "needles", .a = {{150, 600, 150}, {1}, 1, .off = 0.5}},
    {"anisotropic", "11 : 1 of 1", .a = {{300, 300, 300}, {1, 0.25, 0.09}, 1, .off = 0.5},
     .allowed = 3e-4},
    {"anisotropic", "11 : 1 of 0.3", .a = {{500, 500, 500}, {0.3, 0.1, 0.027}, 2},
     .allowed = 3e-4},
    {"anisotropic", "1 : 0.06 : 0.06", .a = {{300, 400, 300}, {0.06, 1, 0.06}, 1.5},
     .allowed = 3e-4},
    {"anisotropic", "tensor", .a = {{400, 400, 400}, {0.2, 0.1, 0.15}, 1.5},
     .mosaic_off = {0.05, -0.03, 0.06}},
    {"rotation", "0.1 degree, 80 from the spindle",
     .a = {{500, 500, 500}, {0.15}, 1.5, 0.1, 80, 0.5}},
    {"rotation", "0.5, 40", .a = {{500, 500, 500}, {0.15}, 2, 0.5, 40, 0.3}},
    {"rotation", "2, 5", .a = {{500, 400, 300}, {0.3}, 10, 2, 5, 0.5}},
    {"rotation", "2, 5, at its end", .a = {{500, 400, 300}, {0.3}, 10, 2, 5, 1}},
    {"rotation", "2, 80", .a = {{300, 300, 300}, {0.3}, 1.2, 2, 80, 0.6}},
    {"rotation", "2, 40, at its end", .a = {{300, 300, 300}, {1}, 2.5, 2, 40, 0}},
    {"rotation", "no mosaic", .a = {{500, 500, 500}, {0}, 1.5, 0.5, 60, 0.4}},
    {"rotation", "backwards, in parts", .a = {{500, 500, 500}, {0.15}, 2, -0.5, 40, 0.3},
     .parts = 3},
    {"rotation", "a sum over steps", .a = {{500, 500, 500}, {0.15}, 2, 0.5, 40, 0.3},
     .step = 0.1},
    {"slices", "0.1 of 0.5", .a = {{400, 400, 400}, {0.5}, 2, 0.1, 70, 1.5}},
    {"slices", "0.1 of 1, 5", .a = {{300, 300, 300}, {1}, 8, 0.1, 5, 0}},
    {"spectra", "flat 2 %", .a = {{500, 500, 500}, {0.1}, 2, .off = 0.5, .wider = 1.5},
     .spectrum = FLAT},
    {"spectra", "spiky", .a = {{1000, 1000, 1000}, {0.05}, 2, .off = 0.5, .wider = 1.5},
     .spectrum = SPIKY},
    {"spectra", "flat, d = 3, 0.3",
     .a = {{500, 500, 500}, {0.3}, 3, .off = 0.5, .wider = 1.5}, .spectrum = FLAT},
    {"spectra", "flat, d = 3, 1", .a = {{500, 500, 500}, {1}, 3, .off = 0.5, .wider = 1.5},
     .spectrum = FLAT},
    {"spectra", "spiky, d = 5, 0.3",
     .a = {{500, 500, 500}, {0.3}, 5, .off = 0.5, .wider = 1.5}, .spectrum = SPIKY},
    {"spectra", "flat, d = 10, 0",
     .a = {{500, 500, 500}, {0}, 10, .off = 0.5, .wider = 1.5}, .spectrum = FLAT},
    {"spectra", "spiky, d = 30, 0.1",
     .a = {{500, 500, 500}, {0.1}, 30, .off = 0.5, .wider = 1.5}, .spectrum = SPIKY},
    {"spectra", "two lines", .a = {{500, 500, 500}, {0.2}, 1.5}, .spectrum = TWO_LINES},
    {"spectra", "no mosaic", .a = {{500, 500, 500}, {0}, 2, .wider = 1.5},
     .spectrum = SPIKY},
    {"spectra", "two directions", .a = {{500, 500, 500}, {0.2}, 1.5},
     .spectrum = TWO_BEAMS},
    {"dispersion", "0.1 %", .a = {{500, 500, 500}, {0.1}, 1.5}, .dispersion = 0.001},
    {"dispersion", "2 %", .a = {{500, 500, 500}, {0.1}, 2, .wider = 1.5},
     .dispersion = 0.02},
    {"dispersion", "0.5 %, rotated", .a = {{500, 500, 500}, {0.1}, 2, 0.2, 60, 0.4},
     .dispersion = 0.005},
    {"shapes", "off-diagonal N", .a = {{300, 300, 300}, {0.3}, 2, .off = 0.5},
     .ncells_off = {1, -1.5, 2}},
    {"shapes", "gauss_star", .a = {{300, 400, 300}, {0.3}, 2, .off = 0.5}, .star = 1},
    {"divergence", "0.2 mrad", .a = {{500, 500, 500}, {0.3}, 2}, .divergence = {0.2, 0.2}},
    {"divergence", "1 mrad", .a = {{500, 500, 500}, {0.3}, 2}, .divergence = {1, 0.5}},
    {"wide_divergence", "1 mrad rms one way", .a = {{500, 500, 500}, {0.3}, 2},
     .divergence = {3.464, 0}},
    {"wide_divergence", "1 mrad rms", .a = {{500, 500, 500}, {0.3}, 2},
     .divergence = {4, 4}},
    {"costly_divergence", "1 mrad rms, 1 degree",
     .a = {{400, 500, 300}, {1}, 1.5, .off = 0.5}, .divergence = {4, 4}},
    {"wide_divergence", "1.5 mrad rms one way", .a = {{500, 500, 500}, {0.1}, 1.5},
     .divergence = {5.196, 0}},
    {"wide_divergence", "1.5 mrad rms, d = 1", .a = {{500, 500, 500}, {0.3}, 1, .off = 0.5},
     .divergence = {6, 6}},
    {"wide_divergence", "1.5 mrad rms, d = 10", .a = {{500, 500, 500}, {0.3}, 10},
     .divergence = {6, 6}},
    {"costly_divergence", "1 mrad rms, rotated",
     .a = {{500, 500, 500}, {0.3}, 2, 0.5, 60, 0.5}, .divergence = {4, 4}},
    {"costly_divergence", "1.5 mrad rms one way, rotated",
     .a = {{500, 500, 500}, {0.3}, 2, 2, 60, 0.5}, .divergence = {5.196, 0}},
    {"tail", "6 %, 6 times", .a = {{500, 500, 500}, {0.1, 0.04, 0.03}, 2}, .tail = 0.06},
    {"tail", "with rotation", .a = {{500, 500, 500}, {0.1}, 2, 0.5, 60, 0.9}, .tail = 0.2},
    {"strain", "0.1 %", .a = {{500, 500, 500}, {0.1}, 1.5, .off = 0.5}, .strain = 0.001},
    {"strain", "with rotation", .a = {{500, 500, 500}, {0.1}, 1.5, 0.2, 60, 0.5},
     .strain = 0.0005},
    {"size", "0.3 pixels", .a = {{500, 500, 500}, {0.1}, 1.5, .off = 0.5, .wider = 1.5},
     .size = 0.3},
    {"wide_size", "0.8 mrad", .a = {{500, 500, 500}, {0.1}, 1.5, .off = 0.5, .wider = 1.5},
     .size = 1},
    {"wide_size", "1.5 mrad", .a = {{500, 500, 500}, {0.3}, 2, .off = 0.5, .wider = 1.5},
     .size = 1.5},
    {"costly_size", "9 mrad", .a = {{500, 500, 500}, {0.1}, 2, .off = 0.5, .wider = 2},
     .size = 10, .every = 11},
    {"costly_size", "6 mrad, narrow spots",
     .a = {{2000, 2000, 2000}, {0.4}, 2, .off = 0.5, .wider = 2}, .size = 10, .every = 11},
    {"costly_size", "44 mrad", .a = {{500, 500, 500}, {0.1}, 2, .off = 0.5, .wider = 10},
     .size = 10, .every = 29},
    {"costly_size", "9 mrad, with rotation",
     .a = {{500, 500, 500}, {0.1}, 2, 0.1, 60, 0.5, .wider = 2}, .size = 10, .every = 72},
    {"large_size", "9 mrad, of a line", .a = {{500, 500, 500}, {0.1}, 2, .wider = 2},
     .size = 10, .dispersion = 0.005, .every = 72},
    {"costly_size", "9 mrad, two lines", .a = {{500, 500, 500}, {0.1}, 2, .wider = 2},
     .size = 10, .spectrum = TWO_LINES, .every = 72},
    {"turned_size", "0.8 mrad, with rotation",
     .a = {{500, 500, 500}, {0.1}, 2, 0.1, 60, 0.5, .wider = 1.5}, .size = 1},
    {"turned_size", "with rotation",
     .a = {{500, 500, 500}, {0.1}, 2, 0.1, 60, 0.5, .wider = 1.5}, .size = 0.3},
    {"drift", "0.02", .a = {{500, 500, 500}, {0.1}, 2, 1, 60, 0.7},
     .drift = {0.02, -0.01, 0.03}},
    {"combined", "mosaic, rotation and spectrum",
     .a = {{500, 500, 500}, {0.3}, 2, 0.5, 60, 0.5, .wider = 1.5}, .spectrum = SPIKY},
    {"combined", "tensor, rotation, dispersion and divergence",
     .a = {{500, 500, 500}, {0.2, 0.1, 0.15}, 2, 0.5, 60, 0.5}, .dispersion = 0.001,
     .mosaic_off = {0.05, -0.03, 0.06}, .divergence = {0.2, 0}},
};

/* The lines of a spectrum about 1 A. */
static int lines_of(enum spectrum spectrum, nb_source *out)
{
    static const int counts[] = {0, 100, 100, 2, 2};
    const int n = counts[spectrum];
    uint64_t state = 7;

    for (int j = 0; j < n; j++) {
        const double at = (j + 0.5) / n - 0.5;

        out[j] = (nb_source){{1, 0, 0}, 1 / (1 + 0.02 * at), 1};
        if (spectrum == SPIKY) /* random under a bell */
            out[j].weight = exp(-16 * at * at) * -log(probe_uniform(&state));
        if (spectrum >= TWO_LINES) out[j].wavelength = 1 / (1 + 0.002 * at);
        if (spectrum == TWO_BEAMS) out[j].direction[1] = 0.002 * at;
    }
    return n;
}

/* The scene of a row; `lines` is room for a spectrum. */
static nb_scene scene_of(const struct row *row, nb_source *lines)
{
    nb_scene scene = aimed_scene(&row->a);

    scene.crystal.shape = row->star ? NB_SHAPE_GAUSS_STAR : NB_SHAPE_GAUSS;
    memcpy(scene.crystal.ncells_off, row->ncells_off, sizeof row->ncells_off);
    memcpy(scene.crystal.mosaic_off, row->mosaic_off, sizeof row->mosaic_off);
    scene.crystal.mosaic_tail = row->tail;
    scene.crystal.mosaic_tail_width = 6;
    scene.crystal.strain = row->strain;
    scene.crystal.crystal_size = row->size * scene.detector.pixel;
    scene.beam.nsource = lines_of(row->spectrum, lines);
    scene.beam.source = lines;
    scene.beam.dispersion = row->dispersion;
    memcpy(scene.beam.divergence, row->divergence, sizeof row->divergence);
    memcpy(scene.scan.drift, row->drift, sizeof row->drift);
    scene.scan.nphi = row->parts;
    scene.scan.step = row->step;
    scene.given |= row->parts > 0 ? NB_GIVEN_PHI_STEP : 0; /* a step of 0 */
    return scene;
}

/* Check some pixels of a window of n against a finer lattice. */
static void check_truth(const char *name, const struct truth *t, size_t n, const int *place,
                        const double *truth)
{
    const double peak = worst_largest(truth, n);
    struct worst own = {0};
    size_t some = 0;

    for (size_t i = 0; i < n && some < 4; i += 5) {
        double fine;

        if (truth[i] < 0.1 * peak) continue;
        truth_pixels(t, truth_fine, 1, place + 2 * i, &fine);
        worst_add(&own, truth[i], fine, peak);
        some++;
    }
    worst_check(&own, 1e-5, "%s: the truth by a finer lattice, over the peak", name);
}

/* Check n pixels and their sum. */
static void check_model(const char *name, const double *image, const double *truth,
                        size_t n, double allowed, double allowed_sum)
{
    struct worst worst = {0};
    double sum = 0, all = 0;

    worst_add_all(&worst, image, truth, n, worst_largest(truth, n));
    worst_check(&worst, allowed, "%s, over the peak", name);
    for (size_t i = 0; i < n; i++) {
        sum += image[i];
        all += truth[i];
    }
    tap_close("its sum, over the true one", sum / all, 1, allowed_sum);
}

/* Compare the image of a row in double and in float. */
static void compare_row(const struct row *row)
{
    static double truth[N], image[N];
    static nb_source lines[100];
    const nb_scene scene = scene_of(row, lines);
    const double allowed = row->allowed > 0 ? row->allowed : 1e-4;
    const clock_t began = clock();
    static int place[2 * N];
    size_t n = 0;
    struct truth t;

    truth_of(&scene, &t);
    for (size_t i = 0; i<N; i += row->every> 0 ? row->every : 1, n++)
        memcpy(place + 2 * n, aimed_places() + 2 * i, 2 * sizeof *place);
    truth_pixels(&t, truth_coarse, n, place, truth);
    check_truth(row->name, &t, n, place, truth);
    tap_note("%.2g s", (double)(clock() - began) / CLOCKS_PER_SEC);
    for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
         precision++) {
        const struct renders_way way = {.precision = precision};
        const double single = precision == NB_PRECISION_SINGLE ? 1e-5 : 0;
        nb_description d;
        char name[64];

        (void)snprintf(name, sizeof name, "%s%s", row->name, single > 0 ? ", float" : "");
        if (!renders_image(&scene, &way, image, &d)) continue;
        tap_check(d.mosaic_model == NB_MOSAIC_GAUSS, "%s: the model is continuous", name);
        for (size_t i = 0; i < n; i++)
            image[i] = image[place[2 * i] + AIMED_SIDE * place[2 * i + 1]];
        check_model(name, image, truth, n, allowed + single, 1e-4 + single);
    }
}

static int rows_of_case(void)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!strcmp(rows[i].group, tap_running())) compare_row(rows + i);
    return TAP_PASS;
}

/* 20,000 domains drawn at random, each at ten places in phi and one energy at each: the
 * image and the truth differ from their mean by its noise, as parts of them show it. Few of
 * the noise's components are large, so that it may be off by twice itself. */
static int drawn_domains(void)
{
    enum { PARTS = 10 };
    static double image[N], part[PARTS * N], truth[N];
    static nb_source lines[100];
    struct row row = {.a = {.edge = {300, 600, 400},
                            .d = 2,
                            .mosaic = {0.3, 0.1, 0.05},
                            .osc = 0.3,
                            .at = 0.4,
                            .wider = 1.5}};

    for (row.spectrum = NO_SPECTRUM; row.spectrum <= SPIKY; row.spectrum += SPIKY) {
        const nb_scene scene = scene_of(&row, lines);
        double noise = 0, off = 0, true_off = 0;
        struct truth t;

        truth_of(&scene, &t);
        image_of(&scene, NB_STRATEGY_AUTO, image);
        memcpy(truth, image, sizeof truth);
        if (row.spectrum == NO_SPECTRUM)
            truth_pixels(&t, truth_coarse, N, aimed_places(), truth);
        truth_drawn(&t, 20000, 10, PARTS, N, aimed_places(), part);
        for (int i = 0; i < N; i++) {
            double mean = 0;

            for (int k = 0; k < PARTS; k++) mean += part[k * N + i] / PARTS;
            for (int k = 0; k < PARTS; k++)
                noise += pow(part[k * N + i] - mean, 2) / (PARTS * (PARTS - 1));
            off += pow(mean - image[i], 2);
            true_off += pow(mean - truth[i], 2);
        }
        tap_note("noise %.2g of the peak rms", sqrt(noise / N) / worst_largest(image, N));
        tap_close("difference of the image over the noise", sqrt(off / noise), 0, 2);
        tap_close("that of the truth", sqrt(true_off / noise), 0, 2);
    }
    return TAP_PASS;
}

/* the brightest spots of a whole detector, with sub-pixels and the factors of a pixel */
static int whole_detector(void)
{
    enum { SIDE = 512, SPOTS = 6, EDGE = 15 };
    static double image[SIDE * SIDE], truth[EDGE * EDGE], part[EDGE * EDGE];
    nb_scene scene = {
        .crystal = {.cell = {53.91, 23.1, 23.1, 90, 110.4, 90},
                    .misset = {25, 40, 10},
                    .ncells = {8, 18, 18},
                    .shape = NB_SHAPE_GAUSS,
                    .default_f = 100,
                    .mosaic = {0.3},
                    .mosaic_model = NB_MOSAIC_GAUSS,
                    .b_factor = 15},
        .beam = {.wavelength = 1, .fluence = 1e24, .polarization = 0.9},
        .detector = {.distance = 80, .nslow = SIDE, .nfast = SIDE, .pixel = 0.2},
        .scan = {.osc = 1},
        .oversample = 2,
    };
    nb_simulator *sim = probe_make(&scene, NULL);
    nb_array array = nb_array_f64(image, SIDE, SIDE);
    int box[4 * (SPOTS + 1)];
    struct truth t;
    size_t n;

    if (nb_simulator_boxes(sim, NULL, EDGE, SPOTS, box, &n) != NB_OK
        || nb_forward(sim, NULL, &array) != NB_OK)
        abort();
    truth_of(&scene, &t);
    for (int k = 0; k < 4; k++) /* and the direct beam, 0 0 0 */
        box[4 * n + (size_t)k] = SIDE / 2 + (k % 2 ? EDGE : 0) - EDGE / 2;
    for (size_t i = 0; i <= n; i++) {
        int place[2 * EDGE * EDGE];
        size_t pixels = 0;

        for (int s = box[4 * i + 2]; s < box[4 * i + 3]; s++)
            for (int f = box[4 * i]; f < box[4 * i + 1]; f++) {
                place[2 * pixels] = f;
                place[2 * pixels + 1] = s;
                part[pixels++] = image[s * SIDE + f];
            }
        truth_pixels(&t, truth_coarse, pixels, place, truth);
        check_model(i < n ? "a spot" : "the direct beam", part, truth, pixels, 1e-4, 1e-4);
    }
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* The direct beam, 0 0 0, which every energy scatters forward: its lines are drawn one by
 * one. */
static int direct_beam(void)
{
    enum { SIDE = 64, EDGE = 9 };
    static const enum spectrum spectra[] = {FLAT, SPIKY, SPIKY, NO_SPECTRUM};
    static const double osc[] = {0, 0, 0.5, 0}, dispersion[] = {0, 0, 0, 0.01};
    static double image[SIDE * SIDE], truth[EDGE * EDGE], part[EDGE * EDGE];
    static nb_source lines[100];
    int place[2 * EDGE * EDGE];

    for (size_t i = 0; i < COUNT(osc); i++) {
        nb_scene scene = {
            .crystal = {.cell = {53.91, 43.1, 23.1, 90, 110.4, 90},
                        .misset = {25, 40, 10},
                        .ncells = {8, 9, 15},
                        .shape = NB_SHAPE_GAUSS,
                        .default_f = 100,
                        .mosaic = {1},
                        .mosaic_model = NB_MOSAIC_GAUSS},
            .beam = {.source = lines, .fluence = 1e24},
            .detector = {.distance = 80, .nslow = SIDE, .nfast = SIDE, .pixel = 0.05},
            .scan = {.osc = osc[i]},
            .oversample = 2,
        };
        struct truth t;

        scene.beam.nsource = lines_of(spectra[i], lines);
        scene.beam.wavelength = scene.beam.nsource > 0 ? 0 : 1;
        scene.beam.dispersion = dispersion[i];
        image_of(&scene, NB_STRATEGY_AUTO, image);
        truth_of(&scene, &t);
        for (int k = 0; k < EDGE * EDGE; k++) {
            place[2 * k] = SIDE / 2 - EDGE / 2 + k % EDGE;
            place[2 * k + 1] = SIDE / 2 - EDGE / 2 + k / EDGE;
            part[k] = image[place[2 * k + 1] * SIDE + place[2 * k]];
        }
        truth_pixels(&t, truth_coarse, EDGE * EDGE, place, truth);
        check_model("the direct beam", part, truth, EDGE * EDGE, 1e-4, 1e-4);
    }
    return TAP_PASS;
}

/* Images of blocks of a micrometre in crystals of up to 10 mm, as large as are accepted,
 * are numbers, and photons. */
static int sizes(void)
{
    static const double size[] = {0.03, 0.2, 1, 3, 10};
    static double image[N];

    for (size_t i = 0; i < 2 * COUNT(size); i++) {
        const struct aimed a = {.edge = {10000, 10000, 10000},
                                .d = 14,
                                .mosaic = {0.4},
                                .osc = i % 2 ? 0.5 : 0,
                                .spindle = 80,
                                .at = 0.5};
        nb_scene scene = aimed_scene(&a);
        int finite = 1;

        scene.crystal.crystal_size = size[i / 2];
        scene.dmin = 13;
        image_of(&scene, NB_STRATEGY_SPOTS, image);
        for (int k = 0; k < N; k++) finite &= isfinite(image[k]) && image[k] >= 0;
        tap_check(finite && image[N / 2] > 0, "%g mm, %g degree: %g photons in the middle",
                  size[i / 2], scene.scan.osc, image[N / 2]);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"one_domain", one_domain},
        {"few_rotations", few_rotations},
        {"drawn_domains", drawn_domains},
        {"direct_beam", direct_beam},
        {"isotropic", rows_of_case},
        {"anisotropic", rows_of_case},
        {"rotation", rows_of_case},
        {"slices", rows_of_case},
        {"spectra", rows_of_case},
        {"dispersion", rows_of_case},
        {"shapes", rows_of_case},
        {"divergence", rows_of_case},
        {"wide_divergence", rows_of_case},
        {"costly_divergence", rows_of_case},
        {"wide_size", rows_of_case},
        {"large_size", rows_of_case},
        {"costly_size", rows_of_case},
        {"sizes", sizes},
        {"tail", rows_of_case},
        {"strain", rows_of_case},
        {"size", rows_of_case},
        {"drift", rows_of_case},
        {"turned_size", rows_of_case},
        {"whole_detector", whole_detector},
        {"combined", rows_of_case},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
