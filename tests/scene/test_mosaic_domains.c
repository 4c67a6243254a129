/*
 * test_mosaic_domains.c - where mosaic domains lie, those with weights and with an
 * anisotropic spread, and matrices of cell counts that are not diagonal.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "scene/probe.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

/* Where no other reason is given, a tolerance is 3 to 20 times the rounding that is
 * measured: a few eps (2.2e-16) of the numbers that meet in a sum. */

enum { PIXELS = 37 * 40 };

/* a weighted crystal is the weighted mean of crystals of one domain */
static int domain_weights(void)
{
    static double all[PIXELS], one[PIXELS], sum[PIXELS];
    static const double weight[7] = {1, 2.5, 0.3, 0, 1.2, 0.7, -1},
                        alike[6] = {2, 2, 2, 2, 2, 2};
    static const char *const scenes[] = {"base", "gauss_nearest", "each_factor"};

    for (size_t i = 0; i < COUNT(scenes); i++)
        for (int strategy = NB_STRATEGY_REFERENCE; strategy <= NB_STRATEGY_SPOTS;
             strategy++) {
            const nb_options options = {NB_PRECISION_DOUBLE, strategy, 1e-14};
            nb_scene s = scenes_named(SCENES_FEATURES, scenes[i]);
            nb_simulator *sim;
            char what[80];

            if (strategy == NB_STRATEGY_SPOTS && s.crystal.shape == NB_SHAPE_SQUARE)
                continue;
            s.crystal.domain_weight = weight;
            if (nb_simulator_create(probe_context(), &s, "domain_weight", &options, &sim)
                != NB_OK)
                abort();
            probe_forward(sim, NULL, all);
            memset(sum, 0, sizeof sum);
            for (int d = 0; d < 6; d++) {
                double x[6] = {0};

                x[d] = 3;
                probe_forward(sim, x, one);
                for (int k = 0; k < PIXELS; k++) sum[k] += weight[d] / 5.7 * one[k];
            }
            (void)snprintf(what, sizeof what, "%s by strategy %d", scenes[i], strategy);
            tap_close(what, probe_off(all, sum, PIXELS), 0, 4e-15);
            /* domains nearly cancel in a change of weights: 5e-14 measured */
            probe_transposed("change and pull of the weights", sim, weight + 1, 6e-13);
            probe_forward(sim, alike, all);
            nb_simulator_free(sim);
            s.crystal.domain_weight = NULL;
            if (nb_simulator_create(probe_context(), &s, NULL, &options, &sim) != NB_OK)
                abort();
            probe_forward(sim, NULL, one);
            tap_check(bits_same(one, all, sizeof all / sizeof *all),
                      "weights that are alike are none");
            nb_simulator_free(sim);
        }
    return TAP_PASS;
}

static int domain_weights_refused(void)
{
    double weight[2] = {1, -1};
    nb_simulator *sim;
    nb_scene s = scenes_base();

    s.crystal.domain_weight = weight;
    s.crystal.ndomains = 0;
    probe_refused(&s, NB_ERR_ARGUMENT, "crystal.ndomains");
    s.crystal.ndomains = 2;
    probe_refused(&s, NB_ERR_ARGUMENT, "crystal.domain_weight[1] is -1");
    weight[1] = NAN;
    probe_refused(&s, NB_ERR_ARGUMENT, "crystal.domain_weight[1]");
    weight[0] = weight[1] = 0;
    probe_refused(&s, NB_ERR_SCENE, "add up to 0");
    s.crystal.domain_weight = NULL;
    s.crystal.ndomains = 1;
    tap_check(nb_simulator_create(probe_context(), &s, "domain_weight", NULL, &sim)
                  == NB_ERR_ARGUMENT,
              "%s", nb_context_message(probe_context()));
    return TAP_PASS;
}

/* the rotation vector of each domain of a crystal whose phi is 0, radian */
static void vectors_of(const nb_scene *scene, double (*v)[3])
{
    nb_simulator *sim = probe_make(scene, NULL);
    nb_description about = probe_describe(scene);
    double dual[3][3], axes[3][3];

    probe_dual(about.real_axes, dual);
    for (int k = 0; k < scene->crystal.ndomains; k++) {
        double u[3][3] = {{0}}, sine;

        probe_orientation(sim, 0, k, axes);
        for (int i = 0; i < 9; i++)
            for (int j = 0; j < 3; j++) u[i / 3][i % 3] += axes[j][i / 3] * dual[j][i % 3];
        for (int i = 0; i < 3; i++)
            v[k][i] = (u[(i + 2) % 3][(i + 1) % 3] - u[(i + 1) % 3][(i + 2) % 3]) / 2;
        sine = sqrt(probe_dot(v[k], v[k]));
        for (int i = 0; i < 3 && sine > 0; i++) v[k][i] *= asin(sine) / sine;
    }
    nb_simulator_free(sim);
}

/* the largest mean of a component along the crystal's frame, and the largest difference of
 * a covariance from that of the cap, in units of the spreads */
static void add_moments(const nb_scene *scene, double (*v)[3], struct worst *means,
                        struct worst *covariances)
{
    const nb_description about = probe_describe(scene);
    const double variance = tgamma(0.5) * tgamma(5.0 / 3) / tgamma(13.0 / 6) / 6;
    const int n = scene->crystal.ndomains;
    double frame[3][3], spread[3];

    probe_unit(about.real_axes[0], frame[0]);
    probe_unit(about.star_axes[2], frame[2]);
    probe_cross(frame[2], frame[0], frame[1]);
    for (int i = 0; i < 3; i++)
        spread[i] =
            scene->crystal.mosaic[scene->crystal.mosaic[1] > 0 ? i : 0] * PROBE_RADIAN;
    for (int i = 0; i < 3; i++) {
        double mean = 0;

        for (int k = 0; k < n; k++) mean += probe_dot(frame[i], v[k]) / spread[i] / n;
        worst_add(means, mean, 0, 1);
        for (int j = 0; j <= i; j++) {
            double sum = 0;

            for (int k = 0; k < n; k++)
                sum += probe_dot(frame[i], v[k]) * probe_dot(frame[j], v[k])
                       / (spread[i] * spread[j]);
            worst_add(covariances, sum / n, i == j ? variance : 0, variance);
        }
    }
}

/* any number of domains has the mean and the covariance of the cap; two and three have the
 * mean and the sum of the variances */
static int balanced(void)
{
    static const int numbers[] = {4,  5,  6,  7,  8,  9,  10,  11,  13,  17,
                                  20, 25, 31, 50, 60, 99, 100, 201, 400, 1000};
    static const int64_t seeds[] = {0, 1, 7, 2147483646, -5, 9876543210123};
    static double v[1000][3], before[1000][3];
    struct worst means = {0}, covariances = {0}, few = {0}, sums = {0};
    double least = 1, most = 0;
    nb_scene s = scenes_base();

    s.scan.phi0 = s.scan.osc = 0;
    s.scan.nphi = 1;
    for (int way = 0; way < 2; way++) {
        s.crystal.mosaic[0] = 40;
        if (way) s.crystal.mosaic[1] = 25, s.crystal.mosaic[2] = 50;
        for (size_t i = 0; i < COUNT(numbers); i++)
            for (size_t seed = 0; seed < COUNT(seeds); seed++) {
                double moved = 0;

                s.crystal.ndomains = numbers[i];
                s.crystal.mosaic_seed = seeds[seed];
                vectors_of(&s, v);
                add_moments(&s, v, &means, &covariances);
                for (int k = 0; k < numbers[i]; k++) {
                    for (int j = 0; j < 3 && seed > 0; j++)
                        moved = fmax(moved, fabs(v[k][j] - before[k][j]));
                    if (!way)
                        most = fmax(most, sqrt(probe_dot(v[k], v[k])) / 40 / PROBE_RADIAN);
                }
                if (seed > 0) least = fmin(least, moved);
                memcpy(before, v, sizeof v);
            }
    }
    s.crystal.mosaic[1] = s.crystal.mosaic[2] = 0;
    for (int n = 1; n <= 3; n++) {
        struct worst none = {0};
        double sum = 0;

        s.crystal.ndomains = n;
        vectors_of(&s, v);
        add_moments(&s, v, &few, &none);
        for (int k = 0; k < n; k++)
            sum += probe_dot(v[k], v[k]) / n / (40 * 40 * PROBE_RADIAN * PROBE_RADIAN);
        worst_add(&sums, sum, n > 1 ? 0.739174159779940153 : 0, 1);
    }
    worst_check(&means, 1e-14, "mean rotation, of the spread");
    worst_check(&covariances, 2e-14, "covariance of the cap");
    worst_check(&few, 1e-14, "mean rotation of one to three domains");
    worst_check(&sums, 1e-14, "their sum of variances, which is 0 of one");
    tap_check(least > 0.1, "seeds move a domain by %g radian at least", least);
    tap_check(most < 1.1, "the largest rotation is %g of the spread", most);
    return TAP_PASS;
}

/* a few domains stand for many: their image is nearer to that of 2000 than the image of as
 * many of nanoBragg's domains */
static int few_for_many(void)
{
    static const struct {
        int n;
        double nearer, off; /* at least, and at most */
    } rows[] = {{10, 10, 0.006}, {50, 30, 0.001}};
    static double many[PIXELS], image[PIXELS];
    nb_scene s = scenes_named(SCENES_FEATURES, "gauss_nearest");

    s.crystal.ndomains = 2000;
    probe_image(&s, many);
    for (size_t i = 0; i < COUNT(rows); i++) {
        double error[2] = {0, 0}, square = 0;

        s.crystal.ndomains = rows[i].n;
        for (int quirk = 0; quirk < 2; quirk++)
            for (int seed = 1; seed <= 4; seed++) {
                s.quirks = quirk ? NB_QUIRK_MOSAIC_F32 : 0;
                s.crystal.mosaic_seed = 1000 * seed;
                probe_image(&s, image);
                for (int k = 0; k < PIXELS; k++)
                    error[quirk] += (image[k] - many[k]) * (image[k] - many[k]) / 4;
            }
        for (int k = 0; k < PIXELS; k++) square += many[k] * many[k];
        for (int k = 0; k < 2; k++) error[k] = sqrt(error[k] / square);
        tap_close("rms difference", error[0], 0, rows[i].off);
        tap_check(error[1] > rows[i].nearer * error[0], "%d domains: %g times nearer",
                  rows[i].n, error[1] / error[0]);
    }
    return TAP_PASS;
}

/* one spread alone, about this axis: domains turn about it, wherever phi has brought it */
static void one_spread(int axis, double phi0)
{
    nb_scene s = scenes_base();
    const nb_description about = probe_describe(&s);
    double axes[3][3], still[3][3], frame[3][3], star[3];
    struct worst off = {0}, moved = {0};
    nb_simulator *sim;

    for (int k = 0; k < 3; k++) s.crystal.mosaic[k] = k == axis ? 3 : 0;
    s.given |= NB_GIVEN_MOSAIC_AXES;
    s.scan.phi0 = phi0;
    s.scan.osc = 40;
    s.scan.nphi = 2; /* at 10 and 30 degrees */
    sim = probe_make(&s, NULL);
    for (int p = 0; p < 2; p++) {
        const double phi = phi0 + 10 + 20 * p;

        for (int k = 0; k < 3; k++)
            probe_turn(about.spindle, phi, about.real_axes[k], still[k]);
        probe_turn(about.spindle, phi, about.star_axes[2], star);
        probe_unit(still[0], frame[0]);
        probe_unit(star, frame[2]);
        probe_cross(frame[2], frame[0], frame[1]);
        for (int d = 0; d < 6; d++) {
            probe_orientation(sim, p, d, axes);
            for (int k = 0; k < 3; k++) {
                const double *a = still[k];

                worst_add(&off, probe_dot(frame[axis], axes[k]), probe_dot(frame[axis], a),
                          1);
                worst_add(&moved, probe_dot(axes[k], a), probe_dot(a, a), probe_dot(a, a));
            }
        }
    }
    worst_check(&off, 1e-13, "nothing moves along the axis");
    tap_check(moved.error > 1e-4 && isfinite(moved.error), "and the domains turn: %g",
              moved.error);
    nb_simulator_free(sim);
}

/* the spread of a domain about each axis of the crystal is that axis' own */
static int anisotropic_spread(void)
{
    static double one[PIXELS], other[PIXELS];
    nb_scene s = scenes_base();
    nb_simulator *sim;

    for (int axis = 0; axis < 3; axis++) {
        one_spread(axis, -10);
        one_spread(axis, 100);
    }
    sim = probe_make(&s, NULL);
    probe_forward(sim, NULL, one);
    nb_simulator_free(sim);
    s.crystal.mosaic[1] = s.crystal.mosaic[2] = s.crystal.mosaic[0];
    sim = probe_make(&s, "mosaic_axes");
    probe_forward(sim, NULL, other);
    tap_check(bits_same(one, other, sizeof one / sizeof *one),
              "three alike are the isotropic spread");
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* Writes a crystal as the scene of phi0 = -0.75 degree does, in three ways. */
static nb_scene turned_beforehand(const nb_scene *from, int way)
{
    const nb_description about = probe_describe(from);
    const double angle = from->scan.phi0 + 0.75;
    nb_scene s = *from;
    double star[3][3], m[3][3];

    s.scan.phi0 = -0.75;
    for (int i = 0; i < 3; i++) {
        const double lab[3] = {i == 0, i == 1, i == 2};

        probe_turn(about.spindle, angle, about.star_axes[i], star[i]);
        /* column i of the rotation that follows the standard setting */
        probe_turn_xyz(from->crystal.misset, lab, m[i]);
        probe_turn(about.spindle, angle, m[i], m[i]);
    }
    if (way == 0) { /* a rotation vector */
        probe_unit(about.spindle, s.crystal.rotation);
        for (int i = 0; i < 3; i++) s.crystal.rotation[i] *= angle;
    } else if (way == 1) { /* misset angles: m[j][i] = (Rz Ry Rx) row i, column j */
        s.crystal.misset[0] = atan2(m[1][2], m[2][2]) / PROBE_RADIAN;
        s.crystal.misset[1] = asin(-m[0][2]) / PROBE_RADIAN;
        s.crystal.misset[2] = atan2(m[0][1], m[0][0]) / PROBE_RADIAN;
    } else { /* a matrix of a*, b*, c* in columns */
        memset(s.crystal.misset, 0, sizeof s.crystal.misset);
        for (int i = 0; i < 9; i++) s.crystal.matrix[i] = star[i % 3][i / 3];
    }
    return s;
}

/* one crystal is one image, whether phi or its setting has turned it */
static int written_two_ways(void)
{
    static const char *const ways[] = {"a rotation vector", "misset angles", "a matrix"};
    static double one[PIXELS], other[PIXELS];

    for (int anisotropic = 0; anisotropic < 2; anisotropic++)
        for (int strategy = NB_STRATEGY_REFERENCE; strategy <= NB_STRATEGY_SPOTS;
             strategy++) {
            const nb_options options = {NB_PRECISION_DOUBLE, strategy, 1e-14};
            nb_scene s = scenes_named(SCENES_FEATURES, "gauss_nearest");
            nb_simulator *sim;

            s.scan.phi0 = -145;
            if (anisotropic) s.crystal.mosaic[1] = 0.2, s.crystal.mosaic[2] = 1.5;
            if (nb_simulator_create(probe_context(), &s, NULL, &options, &sim) != NB_OK)
                abort();
            probe_forward(sim, NULL, one);
            nb_simulator_free(sim);
            for (int way = 0; way < 3; way++) {
                const nb_scene same = turned_beforehand(&s, way);

                if (nb_simulator_create(probe_context(), &same, NULL, &options, &sim)
                    != NB_OK)
                    abort();
                probe_forward(sim, NULL, other);
                nb_simulator_free(sim);
                tap_close(ways[way], probe_off(other, one, PIXELS), 0, 3e-13);
            }
        }
    return TAP_PASS;
}

/* at zero spread, and where all three agree, slopes are finite and right; weights, because
 * without them domains are balanced, and the slope at zero spread is 0 */
static int anisotropic_limits(void)
{
    static const double weight[6] = {2, 1, 0.5, 1, 0.3, 1.2};
    static double change[PIXELS], up[PIXELS], down[PIXELS];
    const double spreads[][3] = {{0, 0, 0}, {0.3, 0.3, 0.3}, {0, 0.4, 0}};
    const double all[18] = {0.5, 1, -0.3, 1, -2,  0.4, 1,   1,    -0.6,
                            0.3, 1, -1,   2, 0.1, 0.7, 0.6, -0.2, 0.4};
    const double dx[3] = {0.5, 1, 0.3}, h = 1e-5;
    nb_array array = nb_array_f64(change, 37, 40);
    nb_scene s = scenes_base();
    nb_simulator *sim;

    s.crystal.mosaic[1] = s.crystal.mosaic[2] = 0.5;
    s.crystal.domain_weight = weight;
    sim = probe_make(&s, "mosaic_axes");
    for (size_t i = 0; i < COUNT(spreads); i++) {
        double x[3];

        if (nb_jvp(sim, spreads[i], 1, dx, &array) != NB_OK) abort();
        /* spreads cannot be negative: one-sided differences of second order */
        for (int k = 0; k < 3; k++) x[k] = spreads[i][k] + h * dx[k];
        probe_forward(sim, x, up);
        for (int k = 0; k < 3; k++) x[k] = spreads[i][k] + 2 * h * dx[k];
        probe_forward(sim, x, down);
        for (int p = 0; p < PIXELS; p++) up[p] = 4 * up[p] - down[p];
        probe_forward(sim, spreads[i], down);
        for (int p = 0; p < PIXELS; p++) up[p] = (up[p] - 3 * down[p]) / (2 * h);
        tap_close("slope", probe_off(change, up, PIXELS), 0, 5e-8);
    }
    nb_simulator_free(sim);
    s = scenes_named(SCENES_FEATURES, "anisotropic");
    sim = probe_make(&s, "mosaic_axes cell misset rotation ncells_off");
    if (nb_simulator_nparam(sim) != COUNT(all)) abort();
    probe_transposed("change and pull", sim, all, 6e-13);
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* a sheared N is a diagonal one of a crystal with other axes: N = R^T D R for the frame R
 * of a cubic cell turned the other way */
static int sheared_cells(void)
{
    static double one[PIXELS], other[PIXELS];
    static const int shapes[] = {NB_SHAPE_ROUND, NB_SHAPE_GAUSS, NB_SHAPE_TOPHAT};
    const double c = cos(0.3), w = sin(0.3), n[2] = {4, 7};

    for (size_t i = 0; i < COUNT(shapes); i++) {
        nb_scene s = scenes_base();
        double scale;

        memset(s.crystal.cell, 0, sizeof s.crystal.cell);
        memset(s.crystal.misset, 0, sizeof s.crystal.misset);
        s.crystal.shape = shapes[i];
        s.crystal.mosaic[0] = 0;
        s.crystal.ndomains = 1;
        s.crystal.cell[0] = 1.5; /* the beam's spot alone: no other reflection in reach */
        s.detector.rotation[0] = s.detector.rotation[1] = s.detector.twotheta = 0;
        s.scan.phi0 = s.scan.osc = 0;
        s.scan.nphi = 1;
        s.given |= NB_GIVEN_OSC;
        s.crystal.ncells[0] = 5, s.crystal.ncells[1] = n[0], s.crystal.ncells[2] = n[1];
        s.crystal.rotation[0] = 0.3 * 180 / PROBE_PI;
        probe_image(&s, one);
        s.crystal.rotation[0] = 0;
        s.crystal.ncells[1] = c * c * n[0] + w * w * n[1];
        s.crystal.ncells[2] = w * w * n[0] + c * c * n[1];
        s.crystal.ncells_off[2] = c * w * (n[0] - n[1]);
        probe_image(&s, other);
        scale = probe_peak(one, PIXELS);
        tap_check(scale > 0, "shape %d: peak %g", shapes[i], scale);
        tap_close("N of turned axes", probe_off(other, one, PIXELS), 0, 3e-14);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"domain_weights", domain_weights},
        {"domain_weights_refused", domain_weights_refused},
        {"balanced", balanced},
        {"few_for_many", few_for_many},
        {"anisotropic_spread", anisotropic_spread},
        {"written_two_ways", written_two_ways},
        {"anisotropic_limits", anisotropic_limits},
        {"sheared_cells", sheared_cells},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
