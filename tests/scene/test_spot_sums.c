/*
 * test_spot_sums.c - what a spot sums to over all orientations, for each shape: the
 * integral of F_latt^2, by quadrature and in images, compared with docs/theory.md, 5.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "physics/lattice.h"
#include "scene/probe.h"
#include "simulator.h"
#include "support/tap.h"
#include "support/worst.h"

static const char *const names[] = {"square", "round", "gauss", "tophat", "gauss_star"};

/* ---- F_latt of a scene ---- */

/* F_latt as the kernels have it, and the number of cells that it is of */
struct lattice {
    struct phys_spec spec;
    struct phys_crystal crystal;
    double cells;
};

static struct lattice lattice_of(const nb_scene *scene)
{
    static const int shape[] = {PHYS_SQUARE, PHYS_ROUND, PHYS_GAUSS, PHYS_TOPHAT,
                                PHYS_GAUSS};
    const double *n = scene->crystal.ncells, *off = scene->crystal.ncells_off;
    nb_simulator *sim = probe_make(scene, NULL);
    struct lattice l;
    const struct phys_frame *frame;
    nb_scene at_x;

    if (simulator_frame(sim, NULL, &at_x, &frame) != NB_OK) abort();
    memset(&l.spec, 0, sizeof l.spec);
    l.spec.shape = shape[scene->crystal.shape];
    l.crystal = phys_crystal(frame);
    l.cells = n[0] * (n[1] * n[2] - off[2] * off[2])
              - off[0] * (off[0] * n[2] - off[2] * off[1])
              + off[1] * (off[0] * off[2] - n[1] * off[1]);
    nb_simulator_free(sim);
    return l;
}

static double square_at(const struct lattice *l, double h, double k, double m)
{
    const double f = phys_lattice(l->spec, &l->crystal, phys_vec3(h, k, m)).f;

    return f * f;
}

/* by the rule of midpoints, exact for the square shape and good to rounding for a gaussian
 * that is far narrower than the cell */
static double by_grid(const struct lattice *l)
{
    enum { EDGE = 60 };
    double sum = 0;

    for (int i = 0; i < EDGE; i++)
        for (int j = 0; j < EDGE; j++)
            for (int k = 0; k < EDGE; k++)
                sum += square_at(l, (i + 0.5) / EDGE - 0.5, (j + 0.5) / EDGE - 0.5,
                                 (k + 0.5) / EDGE - 0.5);
    return sum / ((double)EDGE * EDGE * EDGE * l->cells);
}

enum { ABSCISSAE = 16 };

/* the nodes and weights of Gauss from 0 to 1, by Newton's method */
static void gauss_nodes(double x[ABSCISSAE], double w[ABSCISSAE])
{
    for (int i = 0; i < ABSCISSAE; i++) {
        double z = cos(PROBE_PI * (i + 0.75) / (ABSCISSAE + 0.5)), slope = 1;

        for (int step = 0; step < 20; step++) {
            double p = 1, before = 0;

            for (int n = 1; n <= ABSCISSAE; n++) {
                const double next = ((2 * n - 1) * z * p - (n - 1) * before) / n;

                before = p;
                p = next;
            }
            slope = ABSCISSAE * (z * p - before) / (z * z - 1);
            z -= p / slope;
        }
        x[i] = (1 - z) / 2;
        w[i] = 1 / ((1 - z * z) * slope * slope);
    }
}

/* how far the tophat reaches along a direction, in indices */
static double reach(const struct lattice *l, double h, double k, double m)
{
    double low = 0, high = 1;

    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;

        if (square_at(l, middle * h, middle * k, middle * m) > 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* by the reach of a tophat in all directions */
static double by_directions(const struct lattice *l)
{
    enum { PIECES = 8, AROUND = 128 };
    double x[ABSCISSAE], w[ABSCISSAE], sum = 0;

    gauss_nodes(x, w);
    for (int i = 0; i < ABSCISSAE * PIECES; i++) {
        const double z = 2 * (i / ABSCISSAE + x[i % ABSCISSAE]) / PIECES - 1,
                     r = sqrt(1 - z * z);

        for (int j = 0; j < AROUND; j++) {
            const double turn = (j + 0.5) / AROUND * 2 * PROBE_PI;
            const double end = reach(l, r * cos(turn), r * sin(turn), z);

            sum += w[i % ABSCISSAE] * end * end * end / 3;
        }
    }
    return square_at(l, 0, 0, 0) * sum * 4 * PROBE_PI / (PIECES * AROUND * l->cells);
}

/* ---- sums of shapes ---- */

static nb_scene scene_of(int shape)
{
    nb_scene s = {0};
    static const double cell[6] = {31, 37, 44, 81, 96, 103};

    memcpy(s.crystal.cell, cell, sizeof cell);
    s.crystal.ncells[0] = 9, s.crystal.ncells[1] = 12, s.crystal.ncells[2] = 10;
    s.crystal.default_f = 1;
    s.crystal.shape = shape;
    s.detector.nfast = s.detector.nslow = 1;
    return s;
}

static void shear(nb_scene *s)
{
    s->crystal.ncells_off[0] = 1.5;
    s->crystal.ncells_off[1] = -2;
    s->crystal.ncells_off[2] = 0.7;
}

/* the sum as it is, as it is described and as it is normalised */
static void check_sum(const char *what, nb_scene scene, double expected, double allowed)
{
    const int is_sharp = scene.crystal.shape == NB_SHAPE_TOPHAT;
    const double described = probe_describe(&scene).spot_sum;
    struct lattice plain = lattice_of(&scene), normalised;

    scene.crystal.normalise = 1;
    normalised = lattice_of(&scene);
    tap_note("%s, %s", names[scene.crystal.shape], what);
    tap_close("as described", described, expected, 1e-15 * fmax(4, 8 * expected));
    tap_close("by quadrature", is_sharp ? by_directions(&plain) : by_grid(&plain), expected,
              allowed * expected);
    tap_close("normalised", is_sharp ? by_directions(&normalised) : by_grid(&normalised), 1,
              allowed);
    tap_close("described then", probe_describe(&scene).spot_sum, 1, 0);
}

static int sums_of_shapes(void)
{
    const double gauss = pow(PROBE_PI * 0.63 / 2, 1.5);
    const double tophat = 4 * PROBE_PI / 3 * pow(0.63, 3);

    check_sum("plain", scene_of(NB_SHAPE_SQUARE), 1, 1e-13);
    for (int shape = NB_SHAPE_GAUSS; shape <= NB_SHAPE_GAUSS_STAR; shape++) {
        const double allowed = shape == NB_SHAPE_TOPHAT ? 1e-12 : 1e-13;
        nb_scene s = scene_of(shape);
        const nb_description d = probe_describe(&s);
        const double *a = d.cell;
        const double skew =
            shape == NB_SHAPE_GAUSS_STAR ? d.volume / (a[0] * a[1] * a[2]) : 1;
        const double sum = (shape == NB_SHAPE_TOPHAT ? tophat : gauss) * skew;

        check_sum("plain", s, sum, allowed);
        s.crystal.fudge = 1.7;
        check_sum("narrow by fudge", s, sum / pow(1.7, 1.5), allowed);
        shear(&s);
        s.crystal.fudge = 0.8;
        check_sum("off-diagonal N, wide by fudge", s, sum / pow(0.8, 1.5), allowed);
    }
    return TAP_PASS;
}

/* ---- what lies beyond the middle between two reflections ---- */

/* over the octant of one cell, which has all for diagonal N, on `pieces` to an edge */
static double by_gauss(const struct lattice *l, int pieces)
{
    double x[ABSCISSAE], w[ABSCISSAE], sum = 0;
    const int n = ABSCISSAE * pieces;

    gauss_nodes(x, w);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                sum += w[i % ABSCISSAE] * w[j % ABSCISSAE] * w[k % ABSCISSAE]
                       * square_at(l, (i / ABSCISSAE + x[i % ABSCISSAE]) / (2 * pieces),
                                   (j / ABSCISSAE + x[j % ABSCISSAE]) / (2 * pieces),
                                   (k / ABSCISSAE + x[k % ABSCISSAE]) / (2 * pieces));
    return sum / ((double)pieces * pieces * pieces * l->cells);
}

static nb_scene cube_of(int shape, double n)
{
    nb_scene s = scene_of(shape);

    for (int i = 0; i < 3; i++) s.crystal.ncells[i] = n;
    s.crystal.normalise = 1;
    return s;
}

/* a gaussian of N cells reaches erf(N/2 sqrt(2/0.63)) of itself along each axis */
static int gauss_of_few_cells(void)
{
    for (int n = 1; n <= 5; n++) {
        const nb_scene s = cube_of(NB_SHAPE_GAUSS, n);
        const struct lattice l = lattice_of(&s);
        const double share = pow(erf(n / 2.0 * sqrt(2 / 0.63)), 3);

        tap_note("%d cells: 1 - %.2g", n, 1 - share);
        tap_close("share within the cell", by_gauss(&l, 2), share, 1e-13);
    }
    return TAP_PASS;
}

/* the fringes of a ball of N cells fall as 1/rho^4: 9 J/(pi^3 N) of it lies outside, with J
 * the integral of 1/(1 + x^2 + y^2)^2 over the face from -1 to 1, and terms of N^-3 */
static int round_tails(void)
{
    const double per_n = 9 * 2 * sqrt(2) * atan(sqrt(0.5)) / pow(PROBE_PI, 3);

    for (int n = 4; n <= 32; n *= 2) {
        const nb_scene s = cube_of(NB_SHAPE_ROUND, n);
        const struct lattice l = lattice_of(&s);
        const double outside = 1 - by_gauss(&l, n < 8 ? 1 : n / 8);

        tap_note("%d cells: %.4g of the spot outside", n, outside);
        tap_close("times N over 0.505, but for 1/N^2", outside * n / per_n, 1,
                  2.0 / (n * n));
    }
    return TAP_PASS;
}

/* ---- images ---- */

/* photons of the reflection (6 0 0) alone, while the crystal turns through all of its cell
 * of reciprocal space, which the detector holds */
static double photons_of(int shape, double fudge, int normalise)
{
    enum { EDGE = 150 };
    static const int hkl[1][3] = {{0, 6, 0}};
    static const double f = 100;
    static double image[EDGE * EDGE];
    nb_scene s = {0};
    nb_hkl *list;
    double sum = 0;

    if (nb_hkl_create(probe_context(), 1, hkl[0], &f, &list) != NB_OK) abort();
    s.crystal.cell[0] = 50;
    for (int i = 0; i < 3; i++) s.crystal.ncells[i] = 12;
    s.crystal.hkl = list;
    s.crystal.interpolate = NB_LOOKUP_NEAREST;
    s.crystal.shape = shape;
    s.crystal.fudge = fudge;
    s.crystal.normalise = normalise;
    s.beam.unpolarised = 1;
    s.beam.wavelength = 1;
    s.scan.phi0 = -12;
    s.scan.osc = 24;
    s.scan.nphi = 150;
    s.detector.distance = 100;
    s.detector.nfast = s.detector.nslow = EDGE;
    s.detector.pixel = 0.2;
    s.oversample = 4;
    probe_image(&s, image);
    for (int i = 0; i < EDGE * EDGE; i++) sum += image[i];
    nb_hkl_free(list);
    return sum;
}

static void check_image(int shape, double fudge, double plain, double normalised,
                        double allowed)
{
    const double square = photons_of(NB_SHAPE_SQUARE, 1, 1);

    tap_note("%s, fudge %g", names[shape], fudge);
    tap_close("photons over those of square blocks",
              photons_of(shape, fudge, 0) / square / plain, 1, allowed);
    tap_close("normalised", photons_of(shape, fudge, 1) / square / normalised, 1, allowed);
}

/* Spots have a breadth, over which the factors of Lorentz and of the solid angle change.
 * Those of a tophat have to be wide, as samples meet or miss its edge. */
static int spots_in_images(void)
{
    const double gauss = 0.984443, tophat = 1.047394, round = 1 - 0.5053 / 12;

    check_image(NB_SHAPE_SQUARE, 0.5, 1, 1, 1e-13);
    check_image(NB_SHAPE_GAUSS, 1, gauss, 1, 4e-4);
    check_image(NB_SHAPE_GAUSS, 0.7, gauss / pow(0.7, 1.5), 1, 4e-4);
    check_image(NB_SHAPE_GAUSS_STAR, 1, gauss, 1, 4e-4);
    check_image(NB_SHAPE_ROUND, 1, round, round, 4e-4);
    check_image(NB_SHAPE_TOPHAT, 0.06, tophat / pow(0.06, 1.5), 1, 5e-3);
    return TAP_PASS;
}

/* ---- refusals ---- */

static int refused(void)
{
    nb_scene s = scene_of(NB_SHAPE_GAUSS);

    s.crystal.normalise = 1;
    s.given |= NB_GIVEN_FUDGE;
    probe_refused(&s, NB_ERR_SCENE, "-normalise on needs a -fudge above 0");
    s.crystal.fudge = 1;
    s.crystal.normalise = 2;
    probe_refused(&s, NB_ERR_ARGUMENT, "-normalise is 2");
    s.crystal.normalise = 1;
    nb_scene_set_profile(&s, NB_PROFILE_NANOBRAGG);
    probe_refused(&s, NB_ERR_SCENE, "-compat nanobragg");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"sums_of_shapes", sums_of_shapes},
        {"gauss_of_few_cells", gauss_of_few_cells},
        {"round_tails", round_tails},
        {"spots_in_images", spots_in_images},
        {"refused", refused},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
