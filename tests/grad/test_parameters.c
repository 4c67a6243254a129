/*
 * test_parameters.c - names of parameters that are members of a list, and structure factors
 * as parameters.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nanobrag/description.h>

#include "grad/grad.h"
#include "scene/probe.h"
#include "scene/reflections/symmetry.h"
#include "simulator.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

/* Where no other reason is given, a tolerance is 3 to 20 times the rounding that is
 * measured: a few eps (2.2e-16) of the numbers that meet in a sum. */

enum { FAST = 40, SLOW = 37, PIXELS = FAST * SLOW };

/* that the names give these parameters, in this order */
static void check_names(const nb_scene *scene, const char *names, const char *expected)
{
    nb_simulator *sim = probe_make(scene, names);
    char found[1000] = "";
    size_t used = 0;
    nb_param p;

    for (size_t i = 0; i < nb_simulator_nparam(sim) && used < 900; i++) {
        if (nb_simulator_param(sim, i, &p) != NB_OK) abort();
        used += (size_t)snprintf(found + used, sizeof found - used, "%s%s",
                                 i > 0 ? " " : "", p.name);
    }
    tap_check(strcmp(found, expected) == 0, "%s: %s", names, found);
    nb_simulator_free(sim);
}

static void check_refused(const nb_scene *scene, const char *names, const char *clause)
{
    nb_simulator *sim;
    const nb_status status = nb_simulator_create(probe_context(), scene, names, NULL, &sim);
    const char *message = nb_context_message(probe_context());

    tap_check(status == NB_ERR_ARGUMENT && !sim && strstr(message, clause), "%s: %s", names,
              message);
    nb_simulator_free(sim);
}

static nb_hkl *list_of(size_t n, const int (*hkl)[3], const double *f)
{
    nb_hkl *list;

    if (nb_hkl_create(probe_context(), n, hkl[0], f, &list) != NB_OK) abort();
    return list;
}

static int names_of_lists(void)
{
    static const int hkl[3][3] = {{1, 0, 0}, {-1, 2, -3}, {0, 0, 5}};
    static const double f[3] = {1, 0, -3};
    nb_scene s = scenes_named(SCENES_FEATURES, "list_of_sources");
    nb_hkl *list = list_of(3, hkl, f);

    s.crystal.hkl = list;
    check_names(&s, "source_weight[2]", "source_weight[2]");
    check_names(&s, "source_weight[ 1 ],scale", "source_weight[1] scale");
    check_names(&s, "source_weight source_wavelength[*]",
                "source_weight[0] source_weight[1] source_weight[2] source_wavelength[0] "
                "source_wavelength[1] source_wavelength[2]");
    check_names(&s, "F[*]", "F[-1,2,-3] F[0,0,5] F[1,0,0]");
    check_names(&s, "F", "F[-1,2,-3] F[0,0,5] F[1,0,0]");
    check_names(&s, "scale,F[1,0,0] F[ 0, 0, 5],fluence",
                "scale F[1,0,0] F[0,0,5] fluence");
    check_names(&s, "source_weight[1]; source_weight, F[1,0,0]; F",
                "source_weight[1] source_weight[0] source_weight[2] F[1,0,0] F[-1,2,-3] "
                "F[0,0,5]");
    check_refused(&s, "scale scale; scale", "scale is named twice");
    check_refused(&s, "source_weight[3]", "end at 2");
    check_refused(&s, "source_weight[-1]", "end at 2");
    check_refused(&s, "source_weight[1.5]", "expected source_weight[i]");
    check_refused(&s, "source_weight[1", "expected source_weight[i]");
    check_refused(&s, "source_weight[1]x", "expected source_weight[i]");
    check_refused(&s, "source_weight[]", "expected source_weight[i]");
    check_refused(&s, "source_weight[1] source_weight", "source_weight[1] is named twice");
    check_refused(&s, "source_direction[1]", "there is no parameter");
    check_refused(&s, "scale[1]", "scale has no index");
    check_refused(&s, "scale[*]", "scale has no index");
    check_refused(&s, "F[1,0]", "expected F[h,k,l]");
    check_refused(&s, "F[1,0,0,0]", "expected F[h,k,l]");
    check_refused(&s, "F[0,0,0]", "not listed");
    check_refused(&s, "F[99999999999,0,0]", "not listed");
    check_refused(&s, "F[1,0,0] F[*]", "F[1,0,0] is named twice");
    s = scenes_base();
    check_refused(&s, "source_weight", "a list of sources");
    check_refused(&s, "F[*]", "a list of reflections");
    nb_hkl_free(list);
    return TAP_PASS;
}

/* ---- structure factors ---- */

/* all listed ones of a scene at x against a scene with such a list */
static void check_f(const char *name, int precision)
{
    static double at_x[PIXELS], fresh[PIXELS], before[PIXELS], after[PIXELS];
    const nb_options options = {precision, NB_STRATEGY_AUTO, 0};
    nb_scene s = scenes_named(SCENES_FEATURES, name), resolved;
    nb_simulator *sim, *second;
    uint64_t state = 5;
    size_t n, wrong = 0;
    double *x;

    if (nb_simulator_create(probe_context(), &s, "default_f F[*] scale", &options, &sim)
        != NB_OK)
        abort();
    n = nb_simulator_nparam(sim);
    x = calloc(n, sizeof *x);
    tap_check(nb_simulator_ndense(sim) == 2 && n > 1000,
              "%s: %zu parameters, %zu are not F", name, n, nb_simulator_ndense(sim));
    for (size_t i = 0; i < n; i++) {
        nb_param p;
        double listed = 0;
        int at[3];

        if (nb_simulator_param(sim, i, &p) != NB_OK) abort();
        x[i] = i == 7 ? 0 : 150 * probe_uniform(&state);
        if (sscanf(p.name, "F[%d,%d,%d]", at, at + 1, at + 2) != 3) continue;
        wrong += !nb_hkl_get(s.crystal.hkl, at[0], at[1], at[2], &listed)
                 || p.value != listed || p.scale != fmax(1, fabs(listed));
    }
    tap_check(wrong == 0, "values and scales: %zu are wrong", wrong);
    probe_forward(sim, NULL, before);
    probe_forward(sim, x, at_x);
    if (nb_simulator_resolved(sim, x, &resolved) != NB_OK
        || nb_simulator_create(probe_context(), &resolved, NULL, &options, &second)
               != NB_OK)
        abort();
    probe_forward(second, NULL, fresh);
    tap_check(bits_same(at_x, fresh, sizeof fresh / sizeof *fresh),
              "a scene with that list (%.2g apart)", probe_off(at_x, fresh, PIXELS));
    tap_check(probe_off(at_x, before, PIXELS) > 0.1, "it shows");
    probe_forward(sim, NULL, after);
    tap_check(bits_same(before, after, sizeof before / sizeof *before),
              "nothing is remembered");
    if (nb_simulator_resolved(sim, NULL, &resolved) != NB_OK) abort();
    nb_simulator_free(second);
    second = probe_make(&resolved, "F");
    tap_check(nb_simulator_nparam(second) == n - 2, "what is not listed stays so");
    nb_simulator_free(second);
    nb_simulator_free(sim);
    free(x);
}

static int structure_factors(void)
{
    check_f("square_nearest", NB_PRECISION_DOUBLE);
    check_f("square_tricubic", NB_PRECISION_DOUBLE);
    check_f("gauss_nearest", NB_PRECISION_DOUBLE);
    check_f("square_nearest", NB_PRECISION_SINGLE);
    return TAP_PASS;
}

/* the image is a quadratic form in F, so that a central difference is exact */
static int change_with_f(void)
{
    static double change[PIXELS], up[PIXELS], down[PIXELS], x[6000], dx[6000];

    for (int tricubic = 0; tricubic < 2; tricubic++) {
        const nb_scene s =
            scenes_named(SCENES_FEATURES, tricubic ? "round_tricubic" : "square_nearest");
        nb_simulator *sim = probe_make(&s, "F");
        nb_array array = nb_array_f64(change, SLOW, FAST);
        uint64_t state = 6;
        double forwards = 0, backwards = 0, *bar_x, *bar_f;
        nb_param p;

        for (size_t i = 0; i < nb_simulator_nparam(sim); i++) {
            if (nb_simulator_param(sim, i, &p) != NB_OK) abort();
            dx[i] = probe_uniform(&state) - 0.5;
            x[i] = p.value + dx[i];
        }
        probe_forward(sim, x, up);
        for (size_t i = 0; i < nb_simulator_nparam(sim); i++) x[i] -= 2 * dx[i];
        probe_forward(sim, x, down);
        for (int i = 0; i < PIXELS; i++) up[i] = (up[i] - down[i]) / 2;
        if (nb_jvp(sim, NULL, 1, dx, &array) != NB_OK) abort();
        tap_close("tangent in all F", probe_off(change, up, PIXELS), 0, 4e-13);

        bar_x = calloc(nb_simulator_nparam(sim), sizeof *bar_x);
        bar_f = calloc(hkl_box_size(&sim->hkl), sizeof *bar_f);
        memset(sim->box, 0, hkl_box_size(&sim->hkl) * sizeof *sim->box);
        (void)params_write_f(&sim->params, dx, sim->box, NULL);
        for (size_t i = 0; i < hkl_box_size(&sim->hkl); i++) {
            bar_f[i] = probe_uniform(&state) - 0.5;
            forwards += bar_f[i] * sim->box[i];
        }
        params_gather_f(&sim->params, bar_f, bar_x);
        for (size_t i = 0; i < nb_simulator_nparam(sim); i++) backwards += bar_x[i] * dx[i];
        tap_close("to the box and back", forwards / backwards, 1, 1e-14);
        free(bar_x);
        free(bar_f);
        /* 1500 products in another order: 2e-15 measured */
        probe_transposed("the adjoint of that", sim, dx, 1e-14);
        nb_simulator_free(sim);
        sim = probe_make(&s, "misset F[1,0,2] default_f F[-3,1,1] F[0,1,2] scale");
        probe_transposed("among others", sim, dx, 1e-14);
        nb_simulator_free(sim);
    }
    return TAP_PASS;
}

/* no step takes time as the square of their number */
static int many_structure_factors(void)
{
    enum { SIDE = 60, N = SIDE * SIDE * SIDE };
    int(*hkl)[3] = calloc(N, sizeof *hkl);
    double *f = calloc(N, sizeof *f);
    char *names = malloc((size_t)N * 16), *end = names;
    nb_scene s = scenes_base();
    const clock_t start = clock();
    nb_simulator *sim;
    nb_hkl *list;
    nb_param p;

    for (int i = 0; i < N; i++) {
        hkl[i][0] = i / SIDE / SIDE, hkl[i][1] = i / SIDE % SIDE, hkl[i][2] = i % SIDE;
        f[i] = i;
        end += sprintf(end, "F[%d,%d,%d] ", hkl[i][2], hkl[i][0], hkl[i][1]);
    }
    list = list_of(N, (const int(*)[3])hkl, f);
    s.crystal.hkl = list;
    s.detector.nfast = s.detector.nslow = 4;
    sim = probe_make(&s, names);
    for (size_t i = 0; i < nb_simulator_nparam(sim); i++)
        if (nb_simulator_param(sim, i, &p) != NB_OK) abort();
    tap_check(nb_simulator_nparam(sim) == N && p.value == N - 1, "%zu parameters",
              nb_simulator_nparam(sim));
    tap_note("in %.2f s", (double)(clock() - start) / CLOCKS_PER_SEC);
    nb_simulator_free(sim);
    nb_hkl_free(list);
    free(names);
    free(f);
    free(hkl);
    return TAP_PASS;
}

/* ---- symmetry ---- */

/* the orders of the point groups, and that they keep the length of a scattering vector */
static int point_groups(void)
{
    static const struct {
        const char *rotations, *laue;
        int order, system;
    } cases[] = {
        {"1", "-1", 1, NB_SYSTEM_TRICLINIC},       {"2", "2/m", 2, NB_SYSTEM_MONOCLINIC},
        {"222", "mmm", 4, NB_SYSTEM_ORTHORHOMBIC}, {"4", "4/m", 4, NB_SYSTEM_TETRAGONAL},
        {"422", "4/mmm", 8, NB_SYSTEM_TETRAGONAL}, {"3", "-3", 3, NB_SYSTEM_HEXAGONAL},
        {"32", "-3m", 6, NB_SYSTEM_HEXAGONAL},     {"6", "6/m", 6, NB_SYSTEM_HEXAGONAL},
        {"622", "6/mmm", 12, NB_SYSTEM_HEXAGONAL}, {"23", "m-3", 12, NB_SYSTEM_CUBIC},
        {"432", "m-3m", 24, NB_SYSTEM_CUBIC},
    };
    static const double cell[] = {30, 40, 50, 80, 100, 95};

    for (size_t i = 0; i < COUNT(cases); i++) {
        static struct symmetry rotations, laue;
        nb_scene s = scenes_base();
        nb_description d;
        struct worst off = {0};
        int determinants = 0;

        for (int k = 0; k < 6; k++) /* what the system leaves free */
            s.crystal.cell[k] = symmetry_leader(cases[i].system, k) == k ? cell[k] : 0;
        s.crystal.system = cases[i].system;
        d = probe_describe(&s);
        symmetry_operators(cases[i].rotations, &rotations);
        symmetry_operators(cases[i].laue, &laue);
        for (int n = 0; n < laue.n; n++) {
            const int(*m)[3] = (const int(*)[3])laue.matrix[n];
            const double at[3] = {3, -1, 2};
            double q[3] = {0}, turned[3] = {0};

            for (int k = 0; k < 3; k++)
                for (int x = 0; x < 3; x++) {
                    q[x] += at[k] * d.star_axes[k][x];
                    for (int j = 0; j < 3; j++)
                        turned[x] += m[k][j] * at[j] * d.star_axes[k][x];
                }
            worst_add(&off, probe_dot(turned, turned) / probe_dot(q, q), 1, 1);
            determinants += m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
                            - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
                            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
        }
        tap_check(rotations.n == cases[i].order && laue.n == 2 * cases[i].order
                      && determinants == 0,
                  "%s has %d rotations, %s %d operations, half of them rotations",
                  cases[i].rotations, rotations.n, cases[i].laue, laue.n);
        worst_check(&off, 1e-14, "they keep lengths");
    }
    return TAP_PASS;
}

/* equivalents are one parameter: values, images and gradients */
static int tied_structure_factors(void)
{
    static const int hkl[6][3] = {{1, 0, 2},  {0, 1, -2}, {0, 1, 2},
                                  {-1, 1, 2}, {2, 0, 0},  {-1, 0, -2}};
    static const double f[6] = {10, 20, 30, 60, 7, 50};
    static double own[PIXELS], fresh[PIXELS];
    nb_scene s = scenes_base(), resolved;
    nb_hkl *list = list_of(6, hkl, f);
    nb_simulator *sim;
    nb_param p;
    double x[2], found;

    s.crystal.cell[0] = s.crystal.cell[1] = 37, s.crystal.cell[3] = s.crystal.cell[4] = 90;
    s.crystal.cell[5] = 120;
    s.crystal.hkl = list;
    check_names(&s, "F", "F[-1,0,-2] F[-1,1,2] F[0,1,-2] F[0,1,2] F[1,0,2] F[2,0,0]");
    s.crystal.point_group = "3"; /* h k l, k i l, i h l */
    check_names(&s, "F", "F[-1,0,-2] F[-1,1,2] F[0,1,2] F[2,0,0]");
    s.crystal.point_group = "32"; /* 321: k h -l */
    check_names(&s, "F", "F[-1,0,-2] F[0,1,2] F[2,0,0]");
    check_names(&s, "F[1,0,2] F[0,1,2]", "F[-1,0,-2] F[0,1,2]");
    check_refused(&s, "F[1,0,2] F[0,1,-2]", "F[-1,0,-2] is named twice");
    check_refused(&s, "F[-1,0,2]", "not listed");
    s.crystal.point_group = "-3m"; /* Friedel too */
    check_names(&s, "F", "F[-1,0,-2] F[0,1,2] F[2,0,0]");
    s.crystal.point_group = "622";
    check_names(&s, "F", "F[-1,0,-2] F[2,0,0]");
    s.crystal.point_group = "3m";
    probe_refused(&s, NB_ERR_ARGUMENT, "'3m'");

    s.crystal.point_group = "-3m";
    sim = probe_make(&s, "scale F[1,0,2]");
    tap_check(nb_simulator_nparam(sim) == 2 && nb_simulator_ndense(sim) == 1,
              "two parameters, one is not F");
    if (nb_simulator_param(sim, 1, &p) != NB_OK) abort();
    tap_close("the mean of its equivalents", p.value, (10 + 20 + 60 + 50) / 4.0, 0);
    x[0] = 1.5;
    x[1] = 33;
    probe_forward(sim, x, own);
    if (nb_simulator_resolved(sim, x, &resolved) != NB_OK) abort();
    for (int i = 0; i < 6; i++) {
        const double expected = i == 2 || i == 4 ? f[i] : 33;

        (void)nb_hkl_get(resolved.crystal.hkl, hkl[i][0], hkl[i][1], hkl[i][2], &found);
        tap_check(found == expected, "%d %d %d: %g", hkl[i][0], hkl[i][1], hkl[i][2],
                  found);
    }
    probe_image(&resolved, fresh);
    tap_check(bits_same(own, fresh, sizeof own / sizeof *own), "the image of that list");
    probe_transposed("one parameter, four reflections", sim, x, 1e-14);
    nb_simulator_free(sim);
    nb_hkl_free(list);
    return TAP_PASS;
}

/* what a crystal system leaves free, and what it refuses */
static int crystal_systems(void)
{
    static const struct {
        int system;
        double cell[6]; /* as given */
        const char *names, *resolved;
    } cases[] = {
        {NB_SYSTEM_NONE,
         {30},
         "cell_a cell_b cell_c cell_alpha cell_beta cell_gamma",
         "30 30 30 90 90 90"},
        {NB_SYSTEM_TRICLINIC,
         {30, 40, 50, 80},
         "cell_a cell_b cell_c cell_alpha cell_beta cell_gamma",
         "30 40 50 80 90 90"},
        {NB_SYSTEM_MONOCLINIC,
         {30, 40, 50, 0, 100},
         "cell_a cell_b cell_c cell_beta",
         "30 40 50 90 100 90"},
        {NB_SYSTEM_ORTHORHOMBIC,
         {30, 40, 50, 90},
         "cell_a cell_b cell_c",
         "30 40 50 90 90 90"},
        {NB_SYSTEM_TETRAGONAL, {30, 30.00001, 50}, "cell_a cell_c", "30 30 50 90 90 90"},
        {NB_SYSTEM_HEXAGONAL, {30, 0, 50}, "cell_a cell_c", "30 30 50 90 90 120"},
        {NB_SYSTEM_RHOMBOHEDRAL, {30, 0, 0, 75}, "cell_a cell_alpha", "30 30 30 75 75 75"},
        {NB_SYSTEM_CUBIC, {30}, "cell_a", "30 30 30 90 90 90"},
    };
    nb_scene s = scenes_base(), resolved;
    const double x = 33;
    nb_simulator *sim;

    for (size_t i = 0; i < COUNT(cases); i++) {
        char found[100];
        const double *c = resolved.crystal.cell;

        memcpy(s.crystal.cell, cases[i].cell, sizeof s.crystal.cell);
        s.crystal.system = cases[i].system;
        check_names(&s, "cell", cases[i].names);
        resolved = probe_resolve(&s);
        (void)snprintf(found, sizeof found, "%.9g %.9g %.9g %.9g %.9g %.9g", c[0], c[1],
                       c[2], c[3], c[4], c[5]);
        tap_check(strcmp(found, cases[i].resolved) == 0, "%s", found);
    }
    sim = probe_make(&s, "cell_a"); /* cubic */
    if (nb_simulator_resolved(sim, &x, &resolved) != NB_OK) abort();
    tap_check(resolved.crystal.cell[2] == 33, "c follows a");
    nb_simulator_free(sim);
    check_refused(&s, "cell_b", "cell_b is free, but a cubic crystal ties it to cell_a");
    check_refused(&s, "cell_gamma", "cell_gamma is free, but a cubic crystal fixes it");
    s.crystal.cell[1] = 31;
    probe_refused(&s, NB_ERR_SCENE,
                  "b of the unit cell is 31, but in a cubic crystal it is 30");
    s.crystal.cell[1] = 0;
    s.crystal.cell[5] = 120;
    probe_refused(&s, NB_ERR_SCENE, "gamma of the unit cell is 120");
    memset(s.crystal.cell, 0, sizeof s.crystal.cell);
    s.crystal.matrix[0] = s.crystal.matrix[4] = s.crystal.matrix[8] = 0.03;
    probe_refused(&s, NB_ERR_SCENE, "a cubic crystal needs a unit cell");
    s.crystal.system = NB_SYSTEM_CUBIC + 1;
    probe_refused(&s, NB_ERR_ARGUMENT, "crystal.system");
    return TAP_PASS;
}

/* the rotation vector against a turn about its axis, after the misset */
static int rotation_vector(void)
{
    const double vectors[][3] = {{0, 0, 0},      {1e-200, 0, 0}, {1e-9, 2e-9, -1e-9},
                                 {20, -35, 5},   {0, 0, 180},    {300, 200, -100},
                                 {0, 359.999, 0}};

    for (size_t i = 0; i < COUNT(vectors); i++) {
        const double *v = vectors[i];
        nb_scene s = scenes_base();
        const nb_description before = probe_describe(&s);
        struct worst off = {0};
        nb_description d;

        memcpy(s.crystal.rotation, v, sizeof s.crystal.rotation);
        d = probe_describe(&s);
        for (int k = 0; k < 3; k++) {
            const double angle = sqrt(probe_dot(v, v));
            double turned[3];

            memcpy(turned, before.real_axes[k], sizeof turned);
            if (angle > 0) probe_turn(v, angle, before.real_axes[k], turned);
            for (int j = 0; j < 3; j++) worst_add(&off, turned[j], d.real_axes[k][j], 1);
        }
        worst_check(&off, 4e-13, "turned about its axis");
    }
    return TAP_PASS;
}

/* ---- directions and lists at x ---- */

/* x that leaves a direction or the light without a value */
static int nothing_left(void)
{
    static double image[PIXELS];
    static const struct {
        const char *scene, *names, *clause;
        double x[3];
    } cases[] = {
        {"base", "beam_direction", "the beam has no direction", {0, 0, 0}},
        {"base", "spindle", "the spindle has no direction", {0, 0, 0}},
        {"base", "polarization_axis", "lies along the beam", {2, 0, 0}},
        {"list_of_sources", "source_weight", "add up to 0", {0, 0, 0}},
        {"list_of_sources",
         "source_x[2] source_y[2] source_z[2]",
         "source 3 has no direction",
         {0, 0, 0}},
    };
    nb_array array = nb_array_f64(image, SLOW, FAST);

    for (size_t i = 0; i < COUNT(cases); i++) {
        const nb_scene s = scenes_named(SCENES_FEATURES, cases[i].scene);
        nb_simulator *sim = probe_make(&s, cases[i].names);

        tap_check(nb_forward(sim, cases[i].x, &array) == NB_ERR_SCENE
                      && strstr(nb_context_message(probe_context()), cases[i].clause),
                  "%s: %s", cases[i].names, nb_context_message(probe_context()));
        nb_simulator_free(sim);
    }
    return TAP_PASS;
}

/* only the direction of a direction counts */
static int any_length(void)
{
    static const char *const names[] = {"beam_direction", "spindle", "polarization_axis"};
    static double one[PIXELS], other[PIXELS];
    const nb_scene s = scenes_base();

    for (size_t i = 0; i < COUNT(names); i++) {
        nb_simulator *sim = probe_make(&s, names[i]);
        nb_array array = nb_array_f64(other, SLOW, FAST);
        const double x[3] = {0.9, -0.05, 0.1};
        double longer[3];

        for (int k = 0; k < 3; k++) longer[k] = 4 * x[k];
        probe_forward(sim, x, one);
        probe_forward(sim, longer, other);
        tap_close(names[i], probe_off(other, one, PIXELS), 0, 1e-13);
        if (nb_jvp(sim, x, 1, x, &array) != NB_OK) abort();
        tap_close("along itself", probe_peak(other, PIXELS) / probe_peak(one, PIXELS), 0,
                  1e-14); /* 8e-16 measured */
        nb_simulator_free(sim);
    }
    return TAP_PASS;
}

/* ---- a distance that is stated along the normal ---- */

/* The image of a tilted rectangle at a distance along its normal, with the point nearest to
 * the crystal given, by a simulator with this free name and value; and its derivative. */
static double tilted(const char *name, double close, const double *x, double *image,
                     double *slope)
{
    nb_scene scene = scenes_base();
    nb_array out = nb_array_f64(image, scene.detector.nslow, scene.detector.nfast);
    nb_array dot = nb_array_f64(slope, scene.detector.nslow, scene.detector.nfast);
    const double one = 1;
    nb_description d;
    nb_simulator *sim;

    scene.detector.close_distance = close;
    scene.detector.origin_kind = NB_ORIGIN_CLOSE;
    scene.detector.pivot = NB_PIVOT_SAMPLE;
    scene.detector.twotheta = 0;
    scene.detector.origin[0] = 31;
    scene.detector.origin[1] = 12;
    scene.beam.direction[0] = 1;
    scene.beam.direction[1] = 0.1;
    scene.beam.direction[2] = -0.3;
    sim = probe_make(&scene, name);
    if (nb_simulator_describe(sim, x, &d) != NB_OK || nb_forward(sim, x, &out) != NB_OK)
        abort();
    if (slope && nb_jvp(sim, x, 1, &one, &dot) != NB_OK) abort();
    nb_simulator_free(sim);
    return d.distance;
}

/* One panel of an .expt says its distance along its normal. Its `distance` is the one along
 * the beam, and moves it along its normal: the beam is longer by 1/cosine. */
static int distance_of_normal(void)
{
    enum { PIXELS_MOST = 64 * 64 };
    static double image[3][PIXELS_MOST], slope[2][PIXELS_MOST];
    const nb_scene scene = scenes_base();
    const int n = scene.detector.nslow * scene.detector.nfast;
    const double close = 80, distance = tilted(NULL, close, NULL, image[0], NULL);
    const double cosine = close / distance, moved = distance + 1.5;
    struct worst same = {0}, along = {0}, slopes = {0};
    double brightest, steepest;

    if (n > PIXELS_MOST) abort();
    tap_check(cosine < 0.99, "cosine %g", cosine);
    brightest = worst_largest(image[0], (size_t)n);
    (void)tilted("distance", close, &distance, image[1], slope[0]);
    (void)tilted("close_distance", close, &close, image[2], slope[1]);
    steepest = worst_largest(slope[1], (size_t)n);
    worst_add_all(&same, image[1], image[0], (size_t)n, brightest);
    for (int i = 0; i < n; i++)
        worst_add(&slopes, slope[0][i], cosine * slope[1][i], steepest);
    (void)tilted("distance", close, &moved, image[1], slope[0]);
    (void)tilted(NULL, moved * cosine, NULL, image[0], NULL);
    worst_add_all(&along, image[1], image[0], (size_t)n, brightest);
    /* the two distances differ by rounding, which fringes of a crystal magnify */
    worst_check(&same, 1e-12, "image at its own distance");
    worst_check(&along, 1e-12, "image farther along the normal");
    worst_check(&slopes, 1e-11, "derivative, by that along the normal");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"names_of_lists", names_of_lists},
        {"structure_factors", structure_factors},
        {"change_with_f", change_with_f},
        {"many_structure_factors", many_structure_factors},
        {"point_groups", point_groups},
        {"tied_structure_factors", tied_structure_factors},
        {"crystal_systems", crystal_systems},
        {"rotation_vector", rotation_vector},
        {"nothing_left", nothing_left},
        {"any_length", any_length},
        {"distance_of_normal", distance_of_normal},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
