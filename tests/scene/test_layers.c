/*
 * test_layers.c - the layers of a sensor: where they lie, how many there are, what the
 * spots of deep sensors show, and how the attenuation follows the wavelength. The truth is
 * the law of absorption, integrated here, or an image of very many layers.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "scene/detector/layers.h"
#include "scene/probe.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

/* of what is captured between 0 and `step`, by Simpson's rule */
struct moments {
    double mean, deviation;
};

static struct moments integrate(double step, double depth, int panels)
{
    const long double end = fmin(step / depth, 60), wide = end / panels;
    long double sum[3] = {0};

    for (int i = 0; i <= panels; i++) {
        const long double x = i * wide, weight = i % panels == 0 ? 1 : i % 2 ? 4 : 2;
        long double term = weight * expl(-x);

        for (int k = 0; k < 3; k++, term *= x) sum[k] += term;
    }
    sum[1] /= sum[0];
    sum[2] /= sum[0];
    return (struct moments){(double)(depth * sum[1]),
                            (double)(depth * sqrtl(sum[2] - sum[1] * sum[1]))};
}

static struct moments capture(double step, double depth)
{
    return integrate(step, depth, 2000); /* to 2e-8 */
}

static int mean_depth(void)
{
    struct worst mean = {0}, slopes = {0};

    for (double u = 1e-7; u < 1e4; u *= 1.3) {
        const double depth = 3, step = u * depth, h = 1e-3;
        const double at = layers_mean(step, depth, (double[2]){0});
        double slope[2];

        (void)layers_mean(step, depth, slope);
        worst_add(&mean, at / integrate(step, depth, 40000).mean, 1, 1);
        /* the mean is homogeneous of degree 1 */
        worst_add(&slopes, (slope[0] * step + slope[1] * depth) / at, 1, 1);
        for (int k = 0; k < 2; k++) {
            double side[4], slope_at[2];

            for (int i = 0; i < 4; i++) {
                const double by = 1 + h * (i < 2 ? i - 2 : i - 1);

                side[i] = layers_mean(step * (k == 0 ? by : 1), depth * (k == 1 ? by : 1),
                                      slope_at);
            }
            /* a difference of fourth order, whose error is h^4/30 of the value */
            worst_add(&slopes,
                      slope[k]
                          - (side[0] - 8 * side[1] + 8 * side[2] - side[3])
                                / (12 * h * (k == 0 ? step : depth)),
                      0, at / (k == 0 ? step : depth));
        }
    }
    worst_check(&mean, 2e-12, "mean depth of capture"); /* Simpson's rule */
    worst_check(&slopes, 1e-11, "its slopes");
    return TAP_PASS;
}

/* ---- the number of layers ---- */

/* a plate whose corner is far off the normal: half-edges of 100 pixels around the near
 * point */
static nb_scene plate(double thickness, double attenuation, double pixel, double steepest)
{
    nb_scene s = {0};

    s.crystal.cell[0] = 40;
    s.crystal.default_f = 1;
    for (int i = 0; i < 3; i++) s.crystal.ncells[i] = 3;
    s.detector.convention = NB_CONVENTION_XDS;
    s.detector.nfast = s.detector.nslow = 200;
    s.detector.pixel = pixel;
    s.detector.distance = 100 * sqrt(2) * pixel / steepest;
    s.detector.thickness = thickness;
    s.detector.attenuation = attenuation;
    s.oversample = 1;
    return s;
}

/* the largest errors of n layers between the normal and the corner, in pixels */
static struct moments faults(const nb_scene *s, double steepest, double cosine, int n)
{
    const nb_detector *d = &s->detector;
    const double step = d->thickness / n, at = capture(step, d->attenuation * cosine).mean;
    struct worst mean = {0}, deviation = {0};

    for (int i = 1; i <= 200; i++) {
        const double tangent = steepest * i / 200;
        const struct moments m =
            capture(step, d->attenuation / sqrt(1 + tangent * tangent));
        const double scale = tangent / (d->pixel * 1000);

        worst_add(&mean, scale * m.mean, scale * at, 1);
        worst_add(&deviation, scale * m.deviation, 0, 1);
    }
    return (struct moments){mean.error, deviation.error};
}

/* enough layers, and not one more */
static int number_of_layers(void)
{
    static const struct {
        const char *name;
        double thickness, attenuation, pixel, steepest;
    } rows[] = {
        {"silicon, 12 keV, Pilatus", 320, 250, 0.172, 1},
        {"silicon, 12 keV, Jungfrau", 320, 250, 0.075, 1},
        {"CdTe, 20 keV", 1000, 76.2, 0.172, 0.516},
        {"CdTe, 12 keV", 750, 21, 0.075, 0.8},
        {"CdTe, 60 keV", 1000, 246, 0.075, 1.2},
        {"a phosphor", 40, 30, 0.089, 0.8},
        {"the normal alone", 1000, 76.2, 0.172, 0.01},
        {"a wide angle", 320, 250, 0.172, 4},
    };
    int several = 0;

    for (size_t i = 0; i < COUNT(rows); i++) {
        const nb_scene scene =
            plate(rows[i].thickness, rows[i].attenuation, rows[i].pixel, rows[i].steepest);
        const nb_scene r = probe_resolve(&scene);
        const nb_description d = probe_describe(&scene);
        const int n = r.detector.nlayers;
        const double cosine = r.detector.layer_cosine;
        const struct moments here = faults(&scene, rows[i].steepest, cosine, n);
        const struct moments less =
            faults(&scene, rows[i].steepest, cosine, n > 1 ? n - 1 : 1);

        several += n > 1;
        tap_check(here.mean <= 0.02 && here.deviation <= 0.2887,
                  "%s, %d layers: spots %.4f pixel out, %.3f narrower", rows[i].name, n,
                  here.mean, here.deviation);
        tap_check(n == 1 || less.mean > 0.0199 || less.deviation > 0.2885,
                  "one less: %.4f and %.3f", less.mean, less.deviation);
        tap_close("depth of the first, um", d.layer_depth,
                  capture(rows[i].thickness / n, rows[i].attenuation * cosine).mean,
                  1e-7 * rows[i].thickness);
    }
    tap_check(several >= 4, "%d of them need more than one layer", several);
    return TAP_PASS;
}

static int other_layers(void)
{
    nb_scene s = plate(320, 250, 0.172, 1);

    s.detector.nlayers = 4;
    tap_close("layers that are given lie in their middles", probe_describe(&s).layer_depth,
              40, 1e-12);
    s.detector.layer_cosine = 1;
    tap_close("or at the mean depth of capture", probe_describe(&s).layer_depth,
              capture(80, 250).mean, 1e-10);
    s.detector.nlayers = 0;
    s.detector.curved = 1;
    tap_check(probe_resolve(&s).detector.nlayers == 1, "a curved detector needs one");
    tap_close("at the mean depth along the normal", probe_describe(&s).layer_depth,
              capture(320, 250).mean, 1e-10);
    s = plate(5e4, 1e4, 0.01, 1);
    probe_forget();
    tap_check(probe_resolve(&s).detector.nlayers == 100, "there are at most 100");
    tap_check(strstr(probe_log(), "more than 100 layers") != NULL, "said: %s", probe_log());
    s = plate(320, INFINITY, 0.172, 1);
    s.detector.nlayers = 5;
    tap_check(probe_resolve(&s).detector.nlayers == 1, "no sensor, one layer");
    return TAP_PASS;
}

/* ---- spots ---- */

enum { EDGE = 60 };

/* centroid in pixels, and sum, of an image */
struct spot {
    double fast, slow, sum;
};

static struct spot spot_of(const nb_scene *scene)
{
    static double image[EDGE * EDGE];
    struct spot out = {0, 0, 0};

    probe_image(scene, image);
    for (int i = 0; i < EDGE * EDGE; i++) {
        out.sum += image[i];
        out.fast += image[i] * (i % EDGE + 0.5);
        out.slow += image[i] * (i / EDGE + 0.5);
    }
    out.fast /= out.sum;
    out.slow /= out.sum;
    return out;
}

/* one reflection, in the middle of a small plate that `steepest` describes along fast */
static nb_scene one_spot(double steepest, nb_hkl **list)
{
    static const double f = 1000;
    nb_scene s = {0};
    nb_crystal *c = &s.crystal;
    int hkl[3];

    /* so few cells that its profile is sampled finely */
    c->cell[0] = c->cell[1] = c->cell[2] = 60;
    c->cell[3] = c->cell[4] = c->cell[5] = 90;
    c->misset[0] = 20, c->misset[1] = 30, c->misset[2] = 40;
    for (int i = 0; i < 3; i++) c->ncells[i] = 5;
    c->shape = NB_SHAPE_GAUSS;
    c->default_f = 1;
    s.detector.convention = NB_CONVENTION_XDS;
    s.detector.nfast = s.detector.nslow = EDGE;
    s.detector.pixel = 0.1;
    s.detector.distance = 60;
    s.detector.origin_kind = NB_ORIGIN_CLOSE;
    s.detector.origin[0] = EDGE * 0.05 - 60 * steepest;
    s.detector.origin[1] = EDGE * 0.05;
    s.oversample = 6;
    if (!renders_aim(&s, EDGE / 2, EDGE / 2, 0, hkl)) abort();
    if (nb_hkl_create(probe_context(), 1, hkl, &f, list) != NB_OK) abort();
    c->hkl = *list;
    c->interpolate = NB_LOOKUP_NEAREST;
    c->default_f = 0;
    return s;
}

/* A spot moves by the mean depth of capture times the tangent, and shows the part of the
 * light that the sensor captures; many layers agree. */
static int spots_of_deep_sensors(void)
{
    static const double sensors[][2] = {{320, 250}, {1000, 76.2}, {750, 21}};
    struct worst law = {0}, brute = {0}, part = {0}, middle = {0};

    for (int k = 0; k < 4; k++) {
        const double steepest = 0.3 * (k + 1);
        nb_hkl *list;
        nb_scene s = one_spot(steepest, &list);
        const struct spot bare = spot_of(&s);
        const double along = (bare.fast - EDGE * 0.5) * 0.1 / 60 + steepest;
        const double cosine = 1 / sqrt(1 + along * along);

        for (size_t i = 0; i < COUNT(sensors); i++) {
            const double mean = capture(sensors[i][0], sensors[i][1] * cosine).mean;
            const double right = bare.fast + mean / 1000 * along / 0.1;
            struct spot at;

            s.detector.thickness = sensors[i][0];
            s.detector.attenuation = sensors[i][1];
            at = spot_of(&s);
            worst_add(&law, at.fast, right, 1);
            worst_add(&part, at.sum / bare.sum,
                      1 - exp(-sensors[i][0] / sensors[i][1] / cosine), 1);
            s.detector.nlayers = 150;
            worst_add(&brute, at.fast, spot_of(&s).fast, 1);
            s.detector.nlayers = 1;
            worst_add(&middle, spot_of(&s).fast, right, 1);
            s.detector.nlayers = 0;
        }
        nb_hkl_free(list);
    }
    /* the solid angle changes with the depth: three times 50 um over 60 mm */
    worst_check(&part, 0.005, "captured part");
    worst_check(&law, 0.02, "place of the spot, pixels");
    worst_check(&brute, 0.02, "with 150 layers, pixels");
    tap_check(middle.error > 1, "one layer in the middle is %.2g pixels out", middle.error);
    return TAP_PASS;
}

/* ---- attenuation ---- */

/* attenuation depth of a resolved scene, um */
static double depth_of(const nb_scene *scene)
{
    return 1e6 / probe_describe(scene).mu;
}

/* 1/mm, as dxtbx 3.12 prints them */
static const double at_1[] = {0, 4.207985875566818, 48.11463840098675, 80.07998629661657};
static const double at_half[] = {0, 0.5700486566882856, 7.4492529402964305,
                                 12.545501229942914};

static int other_wavelengths(void)
{
    static const double two[][2] = {{0.4, 1}, {0.6, 1}};
    nb_source source[2] = {{{0, 0, 1}, 0, 0}, {{0, 0, 1}, 0, 0}};
    nb_scene s = plate(300, 200, 0.1, 0.5), r;

    s.detector.attenuation_wavelength = 1;
    for (int m = NB_MATERIAL_SI; m <= NB_MATERIAL_GAAS; m++) {
        s.detector.material = m;
        s.beam.wavelength = 1;
        probe_forget();
        tap_close("what is stated stays", depth_of(&s), 200, 1e-13);
        tap_check(*probe_log() == 0, "without a word: %s", probe_log());
        s.beam.wavelength = 0.5;
        tap_close("at another wavelength", depth_of(&s), 200 * at_1[m] / at_half[m], 1e-10);
        tap_check(strstr(probe_log(), "at 0.5 A") != NULL, "said: %s", probe_log());
    }
    for (int i = 0; i < 2; i++) {
        source[i].wavelength = two[i][0];
        source[i].weight = two[i][1];
    }
    s.beam.nsource = 2;
    s.beam.source = source;
    s.beam.wavelength = 1;
    tap_close("that of a list is its mean", depth_of(&s), 200 * at_1[3] / at_half[3],
              1e-10);
    s.beam.nsource = 0;
    r = probe_resolve(&s);
    tap_check(r.detector.attenuation == 200 && r.detector.attenuation_wavelength == 1,
              "the resolved scene states it for its wavelength");
    s.beam.wavelength = 0.5;
    s.detector.material = NB_MATERIAL_UNKNOWN;
    probe_forget();
    tap_close("an unknown material keeps it", depth_of(&s), 200, 1e-13);
    tap_check(strstr(probe_log(), "not Si, CdTe or GaAs") != NULL, "said: %s", probe_log());
    s.detector.material = NB_MATERIAL_SI;
    s.beam.wavelength = 0.05;
    probe_forget();
    tap_close("so it does beyond the table", depth_of(&s), 200, 1e-13);
    tap_check(strstr(probe_log(), "100 keV") != NULL, "said: %s", probe_log());
    return TAP_PASS;
}

/* the parameters follow: at x the description is that of a fresh scene */
static int at_other_parameters(void)
{
    static const char names[] = "thickness attenuation wavelength";
    static const double x[] = {400, 180, 0.5};
    nb_scene s = plate(300, 200, 0.1, 0.5), r;
    nb_simulator *sim;
    nb_description d;
    double depth;

    s.detector.material = NB_MATERIAL_CDTE;
    s.beam.wavelength = 1;
    r = probe_resolve(&s);
    sim = probe_make(&s, names);
    if (nb_simulator_describe(sim, x, &d) != NB_OK) abort();
    depth = 180 * at_1[2] / at_half[2];
    tap_close("attenuation", 1e6 / d.mu, depth, 1e-9);
    tap_close("depth of the layer", d.layer_depth,
              capture(400.0 / r.detector.nlayers, depth * r.detector.layer_cosine).mean,
              1e-8);
    nb_simulator_free(sim);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"mean_depth", mean_depth},
        {"number_of_layers", number_of_layers},
        {"other_layers", other_layers},
        {"spots_of_deep_sensors", spots_of_deep_sensors},
        {"other_wavelengths", other_wavelengths},
        {"at_other_parameters", at_other_parameters},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
