/*
 * test_crystal.c - cell, orientation, random orientations and mosaic domains compared with
 * their textbook definitions.
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

static const double cells[][6] = {
    {32.1, 38.7, 43.9, 81, 96, 103}, {50, 50, 50, 60, 60, 60},  {61, 61, 61, 109, 109, 109},
    {40, 52, 63, 90, 107.3, 90},     {78, 78, 37, 90, 90, 120}, {31, 42, 57, 90, 90, 90},
    {20, 90, 300, 75, 88, 66},
};

static nb_scene scene_of(const double cell[6])
{
    nb_scene s = {0};

    memcpy(s.crystal.cell, cell, sizeof s.crystal.cell);
    s.crystal.default_f = 1;
    s.detector.nfast = s.detector.nslow = 1;
    return s;
}

/* lengths and angles of the reciprocal cell, and the volume, by the textbook */
static double reciprocal(const double c[6], double star[6])
{
    double cs[3], sn[3], v;

    for (int i = 0; i < 3; i++) {
        cs[i] = cos(c[3 + i] * PROBE_RADIAN);
        sn[i] = sin(c[3 + i] * PROBE_RADIAN);
    }
    v = c[0] * c[1] * c[2]
        * sqrt(1 - cs[0] * cs[0] - cs[1] * cs[1] - cs[2] * cs[2]
               + 2 * cs[0] * cs[1] * cs[2]);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;

        star[i] = c[j] * c[k] * sn[i] / v;
        star[3 + i] = acos((cs[j] * cs[k] - cs[i]) / (sn[j] * sn[k])) / PROBE_RADIAN;
    }
    return v;
}

static void check_six(const char *name, const double *a, const double *b)
{
    struct worst worst = {0};

    for (int i = 0; i < 6; i++) worst_add(&worst, a[i], b[i], fabs(b[i]));
    worst_check(&worst, 7e-15, "%s", name);
}

static int cell_comes_back(void)
{
    static const double misset[3] = {12, -33, 171};

    for (size_t i = 0; i < COUNT(cells); i++) {
        nb_scene scene = scene_of(cells[i]);
        nb_description d = probe_describe(&scene);
        struct worst off = {0};
        double star[6], turned[3], volume = reciprocal(cells[i], star);
        nb_description m;

        tap_note("cell %zu", i);
        check_six("six numbers", d.cell, cells[i]);
        check_six("six reciprocal ones", d.cell_star, star);
        tap_close("volume", d.volume / volume, 1, 5e-15);
        tap_check(d.star_axes[0][1] == 0 && d.star_axes[0][2] == 0 && d.star_axes[0][0] > 0
                      && d.star_axes[1][2] == 0 && d.star_axes[1][1] > 0,
                  "a* along x, b* in the x-y plane");
        tap_close("c*_z is 1/c", d.star_axes[2][2] * cells[i][2], 1, 4e-15);
        memcpy(scene.crystal.misset, misset, sizeof misset);
        m = probe_describe(&scene);
        check_six("six numbers after misset", m.cell, cells[i]);
        for (int k = 0; k < 3; k++) {
            probe_turn_xyz(misset, d.star_axes[k], turned);
            for (int j = 0; j < 3; j++)
                worst_add(&off, turned[j], m.star_axes[k][j], 1 / cells[i][0]);
        }
        worst_check(&off, 1e-14, "misset turns about x, then y, then z");
    }
    return TAP_PASS;
}

/* a* b* c* as the columns of a matrix */
static void set_matrix(nb_scene *scene, double star[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) scene->crystal.matrix[3 * i + j] = star[j][i];
}

static void check_duality(const char *name, const nb_description *d, double allowed)
{
    struct worst worst = {0};

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            worst_add(&worst, probe_dot(d->real_axes[i], d->star_axes[j]), i == j, 1);
    worst_check(&worst, allowed, "%s", name);
}

static int axes_are_dual(void)
{
    double star[3][3] = {{0.031, -0.002, 0.004}, {0.003, 0.025, -0.006}, {0, 0.002, 0.021}};
    double expected[3][3];

    for (size_t i = 0; i < COUNT(cells); i++) {
        nb_scene scene = scene_of(cells[i]);
        nb_description d = probe_describe(&scene);

        check_duality("of a cell", &d, 7e-15);
    }
    for (int hand = 1; hand >= -1; hand -= 2) {
        nb_scene scene = scene_of(cells[0]);
        nb_description d;

        memset(scene.crystal.cell, 0, sizeof scene.crystal.cell);
        for (int j = 0; j < 3; j++) star[2][j] *= hand;
        set_matrix(&scene, star);
        probe_dual(star, expected);
        d = probe_describe(&scene);
        check_duality("of a matrix", &d, 4e-15);
        tap_close("a, b, c", probe_off(d.real_axes[0], expected[0], 9), 0, 1e-15);
        tap_check(d.volume * hand > 0, "hand %d: volume %g", hand, d.volume);
    }
    return TAP_PASS;
}

static int matrix_with_cell(void)
{
    static const double misset[3] = {-40, 25, 117}, other[6] = {30, 40, 50, 84, 93, 99};
    nb_scene scene = scene_of(cells[0]), turned = scene_of(cells[0]);
    nb_description a, b;
    double across[3];

    memcpy(turned.crystal.misset, misset, sizeof misset);
    a = probe_describe(&turned);
    set_matrix(&scene, a.star_axes);
    b = probe_describe(&scene);
    tap_close("a matrix of that very cell stays",
              probe_off(b.star_axes[0], a.star_axes[0], 9), 0, 2e-15);
    memcpy(scene.crystal.cell, other, sizeof other);
    b = probe_describe(&scene);
    check_six("another cell: its six numbers", b.cell, other);
    probe_cross(a.star_axes[0], b.star_axes[0], across);
    tap_close("a* keeps its direction", sqrt(probe_dot(across, across)), 0, 1e-18);
    probe_cross(a.star_axes[0], a.star_axes[1], across);
    tap_close("b* stays in the plane", probe_dot(across, b.star_axes[1]), 0, 1e-17);
    tap_check(probe_dot(a.star_axes[1], b.star_axes[1]) > 0
                  && probe_dot(across, b.star_axes[2]) > 0,
              "and on its side");
    memset(scene.crystal.matrix, 0, sizeof scene.crystal.matrix);
    scene.crystal.matrix[0] = scene.crystal.matrix[1] = 0.01;
    scene.crystal.matrix[8] = 0.01;
    probe_refused(&scene, NB_ERR_UNIT_CELL, "parallel");
    return TAP_PASS;
}

/* -c* and reflections (h, k, -l): the same crystal */
static int left_handed_matrix(void)
{
    enum { MOST = 8 };
    static double right[40 * 37], left[40 * 37];
    static int hkl[17 * 17 * 17][3];
    static double f[17 * 17 * 17];
    nb_scene scene = scenes_base();
    nb_description d;
    nb_hkl *mirrored;
    size_t n = 0;

    scene.crystal.hkl = scenes_reflections();
    scene.crystal.interpolate = 2;
    probe_image(&scene, right);
    d = probe_describe(&scene);
    for (int h = -MOST; h <= MOST; h++)
        for (int k = -MOST; k <= MOST; k++)
            for (int l = -MOST; l <= MOST; l++)
                if (nb_hkl_get(scene.crystal.hkl, h, k, l, &f[n]))
                    hkl[n][0] = h, hkl[n][1] = k, hkl[n++][2] = -l;
    if (nb_hkl_create(probe_context(), n, hkl[0], f, &mirrored) != NB_OK) abort();
    for (int j = 0; j < 3; j++) d.star_axes[2][j] *= -1;
    memset(scene.crystal.cell, 0, sizeof scene.crystal.cell);
    memset(scene.crystal.misset, 0, sizeof scene.crystal.misset);
    set_matrix(&scene, d.star_axes);
    scene.crystal.hkl = mirrored;
    probe_image(&scene, left);
    tap_close("image over peak", probe_off(left, right, COUNT(left)), 0, 2e-13);
    nb_hkl_free(mirrored);
    return TAP_PASS;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* orientations from seeds that lie `apart`: are they evenly spread? */
static void check_uniform(uint64_t apart)
{
    enum { SEEDS = 20000 };
    static const double unit[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static double angle[SEEDS];
    double mean = 0, ks = 0, first[9] = {0}, second[9] = {0}, sigma = 1 / sqrt(SEEDS);

    for (int i = 0; i < SEEDS; i++) {
        nb_scene scene = scene_of(cells[5]);
        double r[3][3], trace = 0;
        nb_description d;

        scene.crystal.random_misset = 1;
        scene.crystal.misset_seed = (int64_t)((uint64_t)(i + 1) * apart);
        d = probe_describe(&scene);
        for (int k = 0; k < 3; k++) {
            probe_turn_xyz(d.misset, unit[k], r[k]);
            trace += r[k][k];
            for (int j = 0; j < 3; j++) {
                first[3 * k + j] += r[k][j] / SEEDS;
                second[3 * k + j] += r[k][j] * r[k][j] / SEEDS;
            }
        }
        angle[i] = acos(fmin(fmax((trace - 1) / 2, -1), 1));
        mean += angle[i] / SEEDS;
    }
    qsort(angle, SEEDS, sizeof *angle, ascending);
    for (int i = 0; i < SEEDS; i++) /* density (1 - cos)/pi */
        ks = fmax(ks, fabs((angle[i] - sin(angle[i])) / PROBE_PI - (i + 0.5) / SEEDS));
    tap_close("mean rotation, degree", mean / PROBE_RADIAN, 126.476, 4 * 37 * sigma);
    tap_close("Kolmogorov-Smirnov distance of the angles", ks, 0, 1.95 * sigma);
    for (int i = 0; i < 9; i++) {
        tap_close("mean of a matrix element", first[i], 0, 4 * 0.577 * sigma);
        tap_close("mean of its square", second[i], 1.0 / 3, 4 * 0.298 * sigma);
    }
}

static int random_misset_is_uniform(void)
{
    check_uniform(1);
    check_uniform(0x9e3779b97f4a7c15U);
    return TAP_PASS;
}

/* rotation of domain j against the crystal, from their axes */
static void domain_rotation(nb_simulator *sim, nb_description *about, int j, double u[3][3])
{
    double dual[3][3], axes[3][3];

    probe_orientation(sim, 0, j, axes);
    probe_dual(about->real_axes, dual); /* sum over i of axis_i (x) dual_i */
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++) {
            u[row][column] = 0;
            for (int i = 0; i < 3; i++) u[row][column] += axes[i][row] * dual[i][column];
        }
}

static double rotation_vector(double u[3][3], double v[3])
{
    double sine;

    for (int i = 0; i < 3; i++)
        v[i] = (u[(i + 2) % 3][(i + 1) % 3] - u[(i + 1) % 3][(i + 2) % 3]) / 2;
    sine = sqrt(probe_dot(v, v));
    for (int i = 0; i < 3 && sine > 0; i++) v[i] *= asin(sine) / sine;
    return asin(sine) / PROBE_RADIAN;
}

/* by default domains fill a cap of the spread evenly */
static int mosaic_cap(void)
{
    enum { DOMAINS = 4000 };
    const double filled = tgamma(0.5) * tgamma(4.0 / 3) / tgamma(0.5 + 4.0 / 3) / 2;
    nb_scene scene = scene_of(cells[0]);
    nb_description untilted = probe_describe(&scene), tilted;
    nb_simulator *one, *three;
    struct worst linear = {0}, mean_axis = {0};
    double u[3][3], v[3], w[3], mean = 0, most = 0, axis[3] = {0, 0, 0};

    scene.crystal.mosaic[0] = 1;
    scene.crystal.ndomains = DOMAINS;
    one = probe_make(&scene, NULL);
    scene.crystal.mosaic[0] = 3;
    scene.crystal.misset_seed = 5; /* a misset draws from a stream of its own */
    scene.crystal.random_misset = 1;
    three = probe_make(&scene, NULL);
    tilted = probe_describe(&scene);
    for (int j = 0; j < DOMAINS; j++) {
        double angle;

        domain_rotation(one, &untilted, j, u);
        angle = rotation_vector(u, v);
        mean += angle / DOMAINS;
        most = fmax(most, angle);
        for (int i = 0; i < 3; i++) axis[i] += v[i] / PROBE_RADIAN / angle / DOMAINS;
        domain_rotation(three, &tilted, j, u);
        (void)rotation_vector(u, w);
        for (int i = 0; i < 3; i++) worst_add(&linear, w[i], 3 * v[i], 1);
    }
    worst_check(&linear, 4e-15, "three times the spread, three times the rotation");
    tap_close("mean angle over spread", mean, filled, 1e-4);
    tap_check(most <= 1.001 && most > 0.99, "largest angle %g of 1 degree", most);
    worst_add_all(&mean_axis, axis, (const double[3]){0, 0, 0}, 3, 1);
    worst_check(&mean_axis, 5e-4, "mean axis");
    nb_simulator_free(one);
    nb_simulator_free(three);
    return TAP_PASS;
}

/* domains of nanoBragg are drawn as it draws them */
static int mosaic_of_nanobragg(void)
{
    /* drawn by nanoBragg, default seed, spread 1 degree */
    static const double known[2][9] = {{0.999863685922, -0.0159487716601, 0.00427156378103,
                                        0.0159528481004, 0.999872320169, -0.000921952516486,
                                        -0.00425631437833, 0.000989970449528,
                                        0.999990451828},
                                       {0.999965744385, 0.0056663083388, 0.00603349034652,
                                        -0.00573367427545, 0.999920758686, 0.011207199805,
                                        -0.00596950879511, -0.0112414099639,
                                        0.999918994552}};
    nb_scene scene = scene_of(cells[0]);
    nb_simulator *sim;
    nb_description d = probe_describe(&scene);
    double u[3][3];

    scene.quirks = NB_QUIRK_MOSAIC_F32;
    scene.crystal.mosaic[0] = 1;
    scene.crystal.ndomains = 3;
    sim = probe_make(&scene, NULL);
    probe_orientation(sim, 0, 0, u);
    tap_close("the first domain is undisturbed", probe_off(u[0], d.real_axes[0], 9), 0,
              1e-15);
    for (int j = 1; j < 3; j++) {
        domain_rotation(sim, &d, j, u);
        tap_close("known domain", probe_off(u[0], known[j - 1], 9), 0, 1e-8);
    }
    nb_simulator_free(sim);
    return TAP_PASS;
}

static void check_cells(const nb_scene *scene, double a, double b, double c)
{
    const nb_description d = probe_describe(scene);

    tap_check(d.ncells[0] == a && d.ncells[1] == b && d.ncells[2] == c,
              "%g %g %g cells, expected %g %g %g", d.ncells[0], d.ncells[1], d.ncells[2], a,
              b, c);
}

static int cells_from_sizes(void)
{
    nb_scene scene = scene_of(cells[5]); /* 31 42 57 A */

    check_cells(&scene, 1, 1, 1);
    scene.crystal.ncells[0] = 7.5;
    scene.crystal.size[1] = 1e-4; /* 1000 A: 23.8 cells */
    check_cells(&scene, 7.5, 24, 1);
    for (int i = 0; i < 3; i++) scene.crystal.size[i] = 0.02; /* 2e5 A */
    check_cells(&scene, ceil(2e5 / 31), ceil(2e5 / 42), ceil(2e5 / 57));
    probe_forget();
    scene.beam.size = 0.001; /* 1e4 A: clips b and c alone */
    check_cells(&scene, ceil(2e5 / 31), ceil(1e4 / 42), ceil(1e4 / 57));
    tap_check(strstr(probe_log(), "clipped") != NULL, "a warning tells so");
    scene.beam.size = -1;
    check_cells(&scene, ceil(2e5 / 31), ceil(2e5 / 42), ceil(2e5 / 57));
    scene.beam.size = 0; /* 0.1 mm */
    for (int i = 0; i < 3; i++) scene.crystal.size[i] = 0.2;
    check_cells(&scene, ceil(2e6 / 31), ceil(1e6 / 42), ceil(1e6 / 57));
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"cell_comes_back", cell_comes_back},
        {"axes_are_dual", axes_are_dual},
        {"matrix_with_cell", matrix_with_cell},
        {"left_handed_matrix", left_handed_matrix},
        {"random_misset_is_uniform", random_misset_is_uniform},
        {"mosaic_cap", mosaic_cap},
        {"mosaic_of_nanobragg", mosaic_of_nanobragg},
        {"cells_from_sizes", cells_from_sizes},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
