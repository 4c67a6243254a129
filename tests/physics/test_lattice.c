/*
 * test_lattice.c - lattice factor and structure factor compared with the sums and integrals
 * that define them.
 *
 * SPDX-License-Identifier: MIT
 */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include <nanobrag/description.h>

#include "physics/lattice.h"
#include "scene/probe.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

/* Where no other reason is given, a tolerance is 3 to 20 times the rounding that is
 * measured: a few eps (2.2e-16) of the numbers that meet in a sum. */

static struct phys_lattice lattice_at(int shape, double n, const double h[3])
{
    const struct phys_spec spec = {shape, PHYS_CONSTANT, 0, 0};
    struct phys_frame frame = {0};
    struct phys_crystal c;

    for (int i = 0; i < 3; i++) {
        frame.ncells[i] = n;
        frame.metric[i] = n * n;
    }
    frame.peak = n * n * n;
    frame.fudge = 1;
    c = phys_crystal(&frame);
    return phys_lattice(spec, &c,
                        phys_vec3(h[0] - rint(h[0]), h[1] - rint(h[1]), h[2] - rint(h[2])));
}

static int square_is_a_phase_sum(void)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 17};

    for (size_t k = 0; k < COUNT(sizes); k++) {
        const int n = sizes[k];
        struct worst worst = {0};

        for (int i = 0; i < 500; i++) {
            const double h[3] = {sin(i * 1.7) * 2, sin(i * 2.9) / 8, i * 0.01 - 2};
            long double f = 1;

            for (int axis = 0; axis < 3; axis++) {
                long double complex sum = 0;

                for (int cell = 0; cell < n; cell++)
                    sum += cexpl(2 * 3.14159265358979323846264338L * cell * h[axis] * I);
                f *= cabsl(sum);
            }
            worst_add(&worst, (double)(fabsl((long double)lattice_at(PHYS_SQUARE, n, h).f)),
                      (double)(f), pow(n, 3));
        }
        tap_note("%d cells an edge", n);
        worst_check(&worst, 1e-14, "F_latt over peak");
    }
    return TAP_PASS;
}

/* the Fourier transform of a ball over its volume: 3 times the integral of r sin(x r)/x
 * over the radius, by Simpson */
static long double ball(long double x)
{
    enum { STEPS = 4000 };
    long double sum = 0;

    for (int i = 0; i <= STEPS; i++) {
        const long double r = (long double)i / STEPS;
        const long double sinc =
            x * r < 1e-6L ? 1 - x * r * x * r / 6 : sinl(x * r) / (x * r);

        sum += (i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2) * r * r * sinc;
    }
    return sum / STEPS;
}

static int round_is_a_ball(void)
{
    struct worst worst = {0};

    for (double x = 1e-9; x < 40; x *= 1.13) {
        const double n = 1000, h[3] = {x / PROBE_PI / n, 0, 0};
        const double f = lattice_at(PHYS_ROUND, n, h).f / (n * n * n) / 0.723601254558268;

        worst_add(&worst, (double)(f), (double)(ball(x)), 1);
    }
    worst_check(&worst, 1e-12, "F_latt over peak");
    return TAP_PASS;
}

/* of F_latt^2 over a cube of reciprocal space by midpoints, `half` the half edge */
static double integral(int shape, double n, double half, int steps)
{
    const double step = 2 * half / steps;
    double sum = 0;

    for (int i = 0; i < steps; i++)
        for (int j = 0; j < steps; j++)
            for (int k = 0; k < steps; k++) {
                const double h[3] = {(i + 0.5) * step - half, (j + 0.5) * step - half,
                                     (k + 0.5) * step - half};
                const double f = lattice_at(shape, n, h).f;

                sum += f * f;
            }
    return sum * step * step * step;
}

static int intensity_grows_with_cells(void)
{
    static const double sizes[] = {8, 20, 61};
    const double expected = pow(0.63 * PROBE_PI / 2, 1.5);

    for (size_t i = 0; i < COUNT(sizes); i++) {
        const double n = sizes[i], cells3 = n * n * n;
        const double h[3] = {0.3 / n, 0, 0.2 / n};

        tap_close("square: N^3", integral(PHYS_SQUARE, n, 0.5, 64) / cells3, 1, 1e-12);
        tap_close("gauss over N^3", integral(PHYS_GAUSS, n, 3.5 / n, 60) / cells3, expected,
                  3e-12); /* of the step of the sum: 1.6e-13 measured */
        tap_close("tophat over N^3", integral(PHYS_TOPHAT, n, 0.65 / n, 64) / cells3,
                  4 * PROBE_PI / 3 * pow(0.63, 3), 0.01);
        tap_close("gauss width scales as 1/N", lattice_at(PHYS_GAUSS, n, h).f / cells3,
                  exp(-0.13 / 0.63), 1e-14);
    }
    return TAP_PASS;
}

/* F_latt of 15.8 at the indices that the trace of a pixel reports */
static double lattice_formula(const nb_scene *scene, nb_description *d,
                              const nb_pixel_trace *t)
{
    const double *n = d->ncells,
                 fudge = scene->crystal.fudge > 0 ? scene->crystal.fudge : 1;
    double rho2 = 0, peak = n[0] * n[1] * n[2], g[3] = {0, 0, 0}, f = 1, x, edge = peak;

    for (int i = 0; i < 3; i++) {
        const double delta = t->h[i] - t->hkl[i];

        rho2 += delta * delta * n[i] * n[i];
        edge *= sqrt(probe_dot(d->real_axes[i], d->real_axes[i]));
        f *= sin(PROBE_PI * n[i] * t->h[i]) / sin(PROBE_PI * t->h[i]);
        for (int j = 0; j < 3; j++) g[j] += delta * d->star_axes[i][j];
    }
    x = PROBE_PI * sqrt(fudge * rho2);
    switch (scene->crystal.shape) {
    case NB_SHAPE_SQUARE:
        return f;
    case NB_SHAPE_ROUND:
        return peak * 0.723601254558268 * 3 * (sin(x) / x - cos(x)) / (x * x);
    case NB_SHAPE_GAUSS_STAR:
        return peak * exp(-probe_dot(g, g) * pow(edge, 2.0 / 3) / 0.63 * fudge);
    case NB_SHAPE_GAUSS:
        return peak * exp(-rho2 / 0.63 * fudge);
    default:
        return rho2 * fudge < 0.3969 ? peak : 0;
    }
}

static int shapes_on_the_detector(void)
{
    for (int shape = NB_SHAPE_SQUARE; shape <= NB_SHAPE_GAUSS_STAR; shape++) {
        nb_scene scene = scenes_base();
        nb_simulator *sim;
        nb_description d;
        struct worst worst = {0};
        double lit = 0;

        scene.crystal.shape = shape;
        scene.crystal.ncells[0] = 4, scene.crystal.ncells[2] = 3;
        if (shape == NB_SHAPE_ROUND || shape == NB_SHAPE_TOPHAT) scene.crystal.fudge = 0.4;
        sim = probe_make(&scene, NULL);
        if (nb_simulator_describe(sim, NULL, &d) != NB_OK) abort();
        for (int i = 0; i < 40 * 37; i++) {
            nb_pixel_trace t;
            double f;

            if (nb_simulator_trace(sim, NULL, 0, i / 40, i % 40, &t) != NB_OK) abort();
            f = lattice_formula(&scene, &d, &t);
            lit += f != 0;
            for (int k = 0; k < 3; k++)
                if (!(fabs(t.h[k] - t.hkl[k]) <= 0.5)) worst_fail(&worst);
            worst_add(&worst, t.f_latt, f, d.ncells[0] * d.ncells[1] * d.ncells[2]);
        }
        tap_note("shape %d, %g pixels lit", shape, lit);
        tap_check(lit > 10, "some pixels are lit");
        worst_check(&worst, 1e-12, "F_latt over peak");
        nb_simulator_free(sim);
    }
    return TAP_PASS;
}

/* cubic in each index */
static double cubic(double h, double k, double l)
{
    return (h * h * h - 3 * h + 2) * (0.1 * k * k * k + k * k - 7)
           + (l * l * l - 4 * l * l + 11) * (h - 0.2 * k * k * k) + 300;
}

/* a full box of them, but for those that are left out */
static nb_hkl *cubic_list(int most, int gaps)
{
    static int hkl[13 * 13 * 13][3];
    static double f[13 * 13 * 13];
    nb_hkl *list;
    size_t n = 0;

    for (int h = -most; h <= most; h++)
        for (int k = -most; k <= most; k++)
            for (int l = -most; l <= most; l++) {
                if (gaps && (h + k + l) % 3 == 1) continue;
                hkl[n][0] = h, hkl[n][1] = k, hkl[n][2] = l;
                f[n++] = cubic(h, k, l);
            }
    if (nb_hkl_create(probe_context(), n, hkl[0], f, &list) != NB_OK) abort();
    return list;
}

static double nearest_formula(int most, int gaps, double default_f, const double x[3])
{
    double n[3];

    for (int i = 0; i < 3; i++) {
        n[i] = ceil(x[i] - 0.5);
        if (fabs(n[i]) > most) return default_f;
    }
    if (gaps && (int)(n[0] + n[1] + n[2]) % 3 == 1) return default_f;
    return cubic(n[0], n[1], n[2]);
}

/* F of every pixel's sample against the polynomial inside and the nearest one outside */
static void check_structure_factors(int most, int gaps, int interpolate)
{
    nb_hkl *list = cubic_list(most, gaps);
    nb_scene scene = scenes_base();
    nb_simulator *sim;
    static double found[40 * 37], truth[40 * 37];
    struct worst worst = {0};
    int inside = 0, listed = 0;

    scene.crystal.hkl = list;
    scene.crystal.default_f = 77;
    scene.crystal.interpolate = interpolate;
    sim = probe_make(&scene, NULL);
    for (int i = 0; i < 40 * 37; i++) {
        nb_pixel_trace t;
        double f;
        int fits = interpolate == 2 && most >= 2;

        if (nb_simulator_trace(sim, NULL, 0, i / 40, i % 40, &t) != NB_OK) abort();
        for (int k = 0; k < 3; k++) fits = fits && fabs(t.h[k]) <= most - 2;
        f = fits ? cubic(t.h[0], t.h[1], t.h[2]) : nearest_formula(most, gaps, 77, t.h);
        inside += fits;
        listed += f != 77 && !fits;
        found[i] = t.f_cell;
        truth[i] = f;
    }
    tap_check(interpolate == 1 || most < 2 || inside > 100, "%d pixels inside", inside);
    tap_check(listed > 20 && listed < 40 * 37, "%d pixels take a listed neighbour", listed);
    worst_add_all(&worst, found, truth, 40 * 37, worst_largest(truth, 40 * 37));
    worst_check(&worst, 5e-15, "F over largest");
    nb_simulator_free(sim);
    nb_hkl_free(list);
}

static int tricubic_keeps_cubics(void)
{
    check_structure_factors(5, 0, 2);
    check_structure_factors(4, 0, 2);
    check_structure_factors(1, 0, 2); /* no room for four nodes: nearest everywhere */
    return TAP_PASS;
}

static int nearest_and_default(void)
{
    check_structure_factors(5, 0, 1);
    check_structure_factors(4, 1, 1);
    check_structure_factors(1, 1, 1);
    return TAP_PASS;
}

/* whole images: where F is the polynomial, intensity is F^2 times that of F = 1 */
static int tricubic_image(void)
{
    static double image[40 * 37], one[40 * 37];
    nb_scene scene = scenes_base();
    nb_hkl *list = cubic_list(5, 0);
    nb_simulator *sim;
    struct worst worst = {0};
    double peak;

    scene.crystal.ndomains = scene.scan.nphi = 1;
    scene.crystal.default_f = 1;
    probe_image(&scene, one);
    scene.crystal.default_f = 77;
    scene.crystal.hkl = list;
    scene.crystal.interpolate = 2;
    probe_image(&scene, image);
    peak = probe_peak(image, COUNT(image));
    sim = probe_make(&scene, NULL);
    for (int i = 0; i < 40 * 37; i++) {
        nb_pixel_trace t;
        double f;
        int fits = 1;

        if (nb_simulator_trace(sim, NULL, 0, i / 40, i % 40, &t) != NB_OK) abort();
        for (int k = 0; k < 3; k++) fits = fits && fabs(t.h[k]) <= 3;
        f = fits ? cubic(t.h[0], t.h[1], t.h[2]) : nearest_formula(5, 0, 77, t.h);
        worst_add(&worst, image[i], f * f * one[i], peak);
    }
    worst_check(&worst, 3e-15, "image over peak");
    nb_simulator_free(sim);
    nb_hkl_free(list);
    return TAP_PASS;
}

static int interpolation_rule(void)
{
    nb_scene scene = scenes_base();

    scene.crystal.hkl = scenes_reflections();
    tap_check(probe_describe(&scene).interpolate == 1, "5 cells: nearest");
    scene.crystal.ncells[1] = 2;
    tap_check(probe_describe(&scene).interpolate == 2, "5 x 2 x 5 cells: tricubic");
    scene.crystal.ncells[0] = scene.crystal.ncells[1] = scene.crystal.ncells[2] = 0;
    tap_check(probe_describe(&scene).interpolate == 2, "no cells: tricubic");
    for (int i = 0; i < 3; i++) scene.crystal.size[i] = 1e-4;
    tap_check(probe_describe(&scene).interpolate == 1, "cells from a size: nearest");
    scene.quirks = NB_QUIRK_INTERPOLATE;
    tap_check(probe_describe(&scene).interpolate == 2, "nanoBragg asks before the size");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"square_is_a_phase_sum", square_is_a_phase_sum},
        {"round_is_a_ball", round_is_a_ball},
        {"intensity_grows_with_cells", intensity_grows_with_cells},
        {"shapes_on_the_detector", shapes_on_the_detector},
        {"tricubic_keeps_cubics", tricubic_keeps_cubics},
        {"nearest_and_default", nearest_and_default},
        {"tricubic_image", tricubic_image},
        {"interpolation_rule", interpolation_rule},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
