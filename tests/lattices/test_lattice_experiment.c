/*
 * test_lattice_experiment.c - the crystals of one image in an .expt: which experiments are
 * lattices and what they state, what is refused, and lattices that are written and read
 * again, of sweeps, stills and crystals that change during the scan.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/experiments.h"
#include "nanobrag_io/experiment/models.h"
#include "scene/mosaic.h"
#include "scene/probe.h"
#include "support/files.h"
#include "support/worst.h"

/* ---- what is read ---- */

#define SHARED "\"beam\": 0, \"detector\": 0, \"goniometer\": 0, \"scan\": 0"
#define OTHER  SHARED ", \"crystal\": 1"
#define TURNED                                                                             \
    "\"real_space_a\": [0, 30, 0], \"real_space_b\": [-40, 0, 0],"                         \
    "\"real_space_c\": [0, -10, 51]"
#define GROUP " , \"space_group_hall_symbol\": \" P 2yb\""

/* The .expt with further experiments, further crystals and, in place of `old`, `changed`.
 */
static char *split(const char *experiments, const char *crystals, const char *old,
                   const char *changed)
{
    static char with[2][4096];
    char *first, *second, *third;

    (void)snprintf(with[0], sizeof with[0], "\"crystal\": 0}, %s]", experiments);
    (void)snprintf(with[1], sizeof with[1], "\"mosaicity\": 0.05}, %s]", crystals);
    first = text_with(expt_text, "\"crystal\": 0}]", with[0]);
    second = text_with(first, "\"mosaicity\": 0.05}]", with[1]);
    third = text_with(second, old, changed);
    free(first);
    free(second);
    return third;
}

static nb_status parse(const char *text, int i, nb_experiment *e)
{
    struct expt_request to = {i, e, 1};

    probe_forget();
    return expt_parse(probe_context(), "input", text, strlen(text), &to);
}

/* A check: a matrix has these real axes, in our frame. */
static void has_axes(const char *what, const double matrix[9], const double axes[3][3])
{
    struct worst w = {0};
    double star[3][3], real[3][3];

    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) star[j][k] = matrix[3 * k + j];
    probe_dual(star, real);
    for (int i = 0; i < 3; i++) worst_add_all(&w, real[i], axes[i], 3, 1);
    worst_check(&w, EXPERIMENT_LENGTH, "%s: a, b and c, A", what);
}

static const double first_axes[3][3] = {{-30, 0, 0}, {0, 40, 0}, {10, 0, -50}};
static const double turned_axes[3][3] = {{0, 30, 0}, {40, 0, 0}, {0, -10, -51}};

static int two(void)
{
    static const double cell[3] = {30, 40, 51.971145840};
    char *text = split("{" OTHER "}", "{" TURNED GROUP "}", "a NaN", "a NaN");
    nb_experiment e;

    if (!has_feature("cjson")) return free(text), tap_skip("this build has no cJSON");
    check_ok(parse(text, 0, &e), "two crystals");
    tap_check(e.count == 2 && e.scene.crystal.nlattice == 1
                  && e.scene.crystal.lattice == e.lattice,
              "%d experiments, %d further lattice", e.count, e.scene.crystal.nlattice);
    has_axes("the first", e.scene.crystal.matrix, first_axes);
    has_axes("the second", e.lattice[0].matrix, turned_axes);
    for (int i = 0; i < 3; i++) tap_close("cell", e.lattice[0].cell[i], cell[i], 1e-8);
    tap_check(e.lattice[0].scale == 1 && e.lattice[0].misset[0] == 0, "scale 1, misset 0");
    nb_experiment_clear(&e);
    tap_check(!e.lattice, "it is freed");
    check_ok(parse(text, 1, &e), "the second in front");
    has_axes("the first", e.scene.crystal.matrix, turned_axes);
    has_axes("the second", e.lattice[0].matrix, first_axes);
    nb_experiment_clear(&e);
    check_ok(expt_parse(ctx, "input", text, strlen(text), &(struct expt_request){0, &e, 0}),
             "one alone");
    tap_check(e.scene.crystal.nlattice == 0 && !e.lattice, "it has no lattices");
    nb_experiment_clear(&e);
    free(text);
    return 0;
}

/* A cell that is that of the crystal is common, and the goniometer turns all. */
static int common(void)
{
    static const double axes[3][3] = {{-30, 0, 0}, {0, 0, 40}, {10, 50, 0}};
    char *text = split("{" OTHER "}",
                       "{\"real_space_a\": [30, 0, 0], \"real_space_b\": [0, 40, 0],"
                       "\"real_space_c\": [-10, 0, 50]" GROUP "}",
                       "\"fixed_rotation\": [1, 0, 0, 0, 1, 0, 0, 0, 1]",
                       "\"fixed_rotation\": [1, 0, 0, 0, 0, 1, 0, -1, 0]");
    nb_experiment e;

    if (!has_feature("cjson")) return free(text), tap_skip("this build has no cJSON");
    check_ok(parse(text, 0, &e), "a common cell");
    for (int i = 0; i < 6; i++)
        tap_check(e.lattice[0].cell[i] == 0, "cell[%d] is %g, expected 0", i,
                  e.lattice[0].cell[i]);
    has_axes("by the goniometer", e.lattice[0].matrix, axes);
    nb_experiment_clear(&e);
    free(text);
    return 0;
}

static const char *const no_change = "a NaN";

static const struct {
    const char *what, *experiments, *old, *changed;
    int lattices;
    const char *said; /* NULL: nothing is logged */
} relations[] = {
    {"no imageset, the same scan", "{" OTHER "}", "a NaN", "a NaN", 1, NULL},
    {"two more", "{" OTHER "}, {" SHARED ", \"crystal\": 2}", "a NaN", "a NaN", 2, NULL},
    {"the same crystal", "{" SHARED ", \"crystal\": 0}", "a NaN", "a NaN", 0, NULL},
    {"no crystal", "{" SHARED "}", "a NaN", "a NaN", 0, NULL},
    {"null for no crystal", "{" SHARED ", \"crystal\": null}", "a NaN", "a NaN", 0, NULL},
    {"no scan", "{\"beam\": 0, \"detector\": 0, \"goniometer\": 0, \"crystal\": 1}",
     "a NaN", "a NaN", 0, NULL},
    {"stills without images", "{\"beam\": 0, \"detector\": 0, \"crystal\": 1}",
     "\"goniometer\": 0, \"scan\": 0, \"crystal\": 0", "\"crystal\": 0", 0, NULL},
    {"stills of one image",
     "{\"beam\": 0, \"detector\": 0, \"imageset\": 2, \"crystal\": 1}",
     "\"goniometer\": 0, \"scan\": 0, \"crystal\": 0", "\"imageset\": 2, \"crystal\": 0", 1,
     NULL},
    {"another image", "{\"imageset\": 1, " OTHER "}", "\"scan\": 0,",
     "\"scan\": 0, \"imageset\": 0,", 0, NULL},
    {"an image, and none", "{" OTHER "}", "\"scan\": 0,", "\"scan\": 0, \"imageset\": 0,",
     0, NULL},
    {"another scan, without images",
     "{\"beam\": 0, \"detector\": 0, \"goniometer\": 0, \"scan\": 1, \"crystal\": 1}",
     "\"batch_offset\": 0}", "\"batch_offset\": 0}, {\"image_range\": [41, 70]}", 0, NULL},
    {"another part of the scan",
     "{\"imageset\": 0, \"beam\": 0, \"detector\": 0, \"goniometer\": 0, \"scan\": 1, "
     "\"crystal\": 1}",
     "\"scan\": 0,", "\"scan\": 0, \"imageset\": 0,", 0, NULL},
    {"a copy of the beam",
     "{\"beam\": 1, \"detector\": 0, \"goniometer\": 0, \"scan\": 0, \"crystal\": 1}",
     "\"transmission\": 1}",
     "\"transmission\": 1}, {\"direction\": [0, 0, 2], \"wavelength\": 0.98,"
     "\"polarization_normal\": [0, 1, 0], \"polarization_fraction\": 0.95,"
     "\"transmission\": 1, \"flux\": null}",
     1, NULL},
    {"another beam",
     "{\"beam\": 1, \"detector\": 0, \"goniometer\": 0, \"scan\": 0, \"crystal\": 1}",
     "\"transmission\": 1}",
     "\"transmission\": 1}, {\"direction\": [0, 0, 2], \"wavelength\": 0.99}", 0,
     "experiments 0 and 1 have the same image, but not the same beam"},
    {"no such detector",
     "{\"beam\": 0, \"detector\": 7, \"goniometer\": 0, \"scan\": 0, \"crystal\": 1}",
     "a NaN", "a NaN", 0, "not the same detector"},
    {"no goniometer", "{\"beam\": 0, \"detector\": 0, \"scan\": 0, \"crystal\": 1}",
     "a NaN", "a NaN", 0, "not the same goniometer"},
    {"no object",
     "7, "
     "{" OTHER "}",
     "a NaN", "a NaN", 1, NULL},
};

static int which(void)
{
    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (size_t i = 0; i < COUNT(relations); i++) {
        char *text = split(relations[i].experiments,
                           "{" TURNED GROUP ", \"mosaicity\": 0.05}, {" TURNED GROUP
                           ", \"mosaicity\": 0.0503}",
                           relations[i].old, relations[i].changed);
        const char *said = relations[i].said;
        nb_experiment e;

        check_ok(parse(text, 0, &e), relations[i].what);
        tap_check(e.scene.crystal.nlattice == relations[i].lattices
                      && (said ? strstr(probe_log(), said) != NULL
                               : strstr(probe_log(), "experiments") == NULL),
                  "%s: %d lattices, expected %d; '%s'", relations[i].what,
                  e.scene.crystal.nlattice, relations[i].lattices, probe_log());
        nb_experiment_clear(&e);
        free(text);
    }
    return 0;
}

static int spreads(void)
{
    char *text = split("{" OTHER "}", "{" TURNED GROUP ", \"mosaicity\": 0.1}", no_change,
                       no_change);
    nb_experiment e;

    if (!has_feature("cjson")) return free(text), tap_skip("this build has no cJSON");
    check_ok(parse(text, 0, &e), "two spreads");
    tap_check(strstr(probe_log(), "the lattices have mosaic spreads of") != NULL,
              "they are told: '%s'", probe_log());
    nb_experiment_clear(&e);
    free(text);
    return 0;
}

/* ---- what changes during the scan ---- */

#define A0 "[0.03, 0, 0, 0, 0.025, 0, 0, 0, 0.02]"
#define A1 "[0.03, 0.001, 0, 0, 0.025, 0, 0, 0, 0.02]"
#define A2 "[0.03, 0.003, 0, 0, 0.025, 0, 0, 0, 0.02]"

static int changing(void)
{
    char *text = split("{" OTHER "}",
                       "{" TURNED GROUP ", \"A_at_scan_points\": [" A0 ", " A1 ", " A2 "]}",
                       "[11, 40]", "[11, 12]");
    char *both = text_with(text, "\"mosaicity\": 0.05}",
                           "\"A_at_scan_points\": [" A2 ", " A1 ", " A0 "]}");
    nb_lattice l = {.scale = 3};
    nb_experiment e;

    if (!has_feature("cjson"))
        return free(text), free(both), tap_skip("this build has no cJSON");
    check_ok(parse(text, 0, &e), "one changes");
    tap_check(strstr(probe_log(), "lattices that change during the scan is 1") != NULL,
              "it is told: '%s'", probe_log());
    tap_close("in the first image", e.lattice[0].matrix[1], -0.0005, 1e-15);
    nb_experiment_clear(&e);
    check_ok(parse(both, 0, &e), "both change");
    tap_close("in the first image", e.lattice[0].matrix[1], -0.0005, 1e-15);
    tap_close("the crystal", e.scene.crystal.matrix[1], -0.002, 1e-15);
    nb_scan_points_set_lattices(e.points, 12.5 + 1.5 * 0.25, 1, &l);
    tap_close("in the second", l.matrix[1], -0.002, 1e-15);
    tap_check(l.scale == 3 && l.cell[0] > 0, "scale %g, cell %g", l.scale, l.cell[0]);
    nb_scan_points_set_lattices(NULL, 12.5, 1, &l);
    tap_close("nothing is set", l.matrix[1], -0.002, 1e-15);
    nb_experiment_clear(&e);
    free(text);
    free(both);
    return 0;
}

/* A beam that changes is that of the image: lattices that do not change have the crystal's
 * cell still. */
static int changing_beam(void)
{
    char *text = split("{" OTHER "}",
                       "{\"real_space_a\": [30, 0, 0], \"real_space_b\": [0, 40, 0],"
                       "\"real_space_c\": [-10, 0, 50]" GROUP "}",
                       "[11, 40]", "[11, 12]");
    char *moving = text_with(text, "\"wavelength\": 0.98",
                             "\"wavelength\": 0.98, \"s0_at_scan_points\": [[0, 0, -1], "
                             "[0.03, 0, -0.94], [0.03, 0, -0.94]]");
    nb_experiment e;

    if (!has_feature("cjson"))
        return free(text), free(moving), tap_skip("this build has no cJSON");
    check_ok(parse(moving, 0, &e), "a beam that changes");
    tap_check(e.points != NULL && e.scene.crystal.nlattice == 1, "it does");
    for (int i = 0; i < 6; i++)
        tap_check(e.lattice[0].cell[i] == 0, "cell[%d] is %g, expected 0", i,
                  e.lattice[0].cell[i]);
    nb_experiment_clear(&e);
    free(text);
    free(moving);
    return 0;
}

/* A beam or goniometer that changes gives no lattice a cell of its own; and a lattice
 * stands still where the crystal does. */
static int others_change(void)
{
    static const char *const turn[2][2] =
        {{"\"wavelength\": 0.98", "\"wavelength\": 0.98, \"s0_at_scan_points\": "
                                  "[[0, 0, -1], [0.03, 0, -1], [0.06, 0, -1]]"},
         {"\"setting_rotation\": [1, 0, 0, 0, 1, 0, 0, 0, 1]",
          "\"setting_rotation_at_scan_points\": [[1, 0, 0, 0, 1, 0, 0, 0, 1], "
          "[1, 0, 0, 0, 0.8, -0.6, 0, 0.6, 0.8], [1, 0, 0, 0, 0, -1, 0, 1, 0]]"}};
    char *text = split("{" OTHER "}, {" SHARED ", \"crystal\": 2}",
                       "{\"real_space_a\": [0, 30, 0], \"real_space_b\": [-40, 0, 0],"
                       "\"real_space_c\": [0, -10, 50]" GROUP "}, "
                       "{" TURNED GROUP ", \"A_at_scan_points\": [" A0 ", " A1 ", " A2 "]}",
                       "[11, 40]", "[11, 12]");

    for (int i = 0; has_feature("cjson") && i < 2; i++) {
        char *whole = text_with(text, turn[i][0], turn[i][1]);
        nb_experiment e;

        check_ok(parse(whole, 0, &e), turn[i][0]);
        for (int when = 0; when < 2; when++) {
            tap_check(e.lattice[0].cell[0] == 0, "%s: cell %.17g, expected 0", turn[i][0],
                      e.lattice[0].cell[0]);
            nb_scan_points_set_lattices(e.points, 12.5 + 1.5 * 0.25, 2, e.lattice);
        }
        tap_check(e.lattice[1].cell[0] > 0, "one has its own");
        tap_check((i == 0)
                      == !!strstr(probe_log(), "lattices that change during the scan is 1"),
                  "which stands still is told: '%s'", probe_log());
        if (i == 0) tap_close("it does", e.lattice[1].matrix[1], -0.0005, 1e-15);
        nb_experiment_clear(&e);
        free(whole);
    }
    free(text);
    return has_feature("cjson") ? 0 : tap_skip("this build has no cJSON");
}

/* ---- what is refused ---- */

static const struct {
    const char *experiments, *crystals;
    nb_status status;
    const char *part;
} wrongs[] = {
    {"{" OTHER "}", "{" TURNED ", \"space_group_hall_symbol\": \" P 2y\"}",
     NB_ERR_UNSUPPORTED, "the space groups are P 1 21 1 and P 1 2 1"},
    {"{" OTHER "}", "{" TURNED "}", NB_ERR_UNSUPPORTED, "P 1 21 1 and ?"},
    {"{" OTHER "}", "{}", NB_ERR_FORMAT, "\"real_space_a\" of the crystal of experiment 1"},
    {"{" OTHER "}",
     "{\"real_space_a\": [1, 0, 0], \"real_space_b\": [2, 0, 0],"
     "\"real_space_c\": [0, 0, 1]" GROUP "}",
     NB_ERR_FORMAT, "lie in a plane"},
    {"{" SHARED ", \"crystal\": 3}", "{}", NB_ERR_FORMAT, "experiment 1 names a crystal"},
    {"{" SHARED ", \"crystal\": \"c.json\"}", "{}", NB_ERR_UNSUPPORTED, "another file"},
    {"{" OTHER "}", "{" TURNED GROUP ", \"A_at_scan_points\": [" A0 "]}", NB_ERR_FORMAT,
     "of the crystal of experiment 1 is 1"},
};

static int refused(void)
{
    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (size_t i = 0; i < COUNT(wrongs); i++) {
        char *text = split(wrongs[i].experiments, wrongs[i].crystals, no_change, no_change);
        const int known = has_feature("gemmi") || !strstr(wrongs[i].part, "P 1 ");
        nb_experiment e;
        const nb_status status = parse(text, 0, &e);

        tap_check(!known
                      || (status == wrongs[i].status
                          && strstr(nb_context_message(probe_context()), wrongs[i].part)),
                  "status %d expected %d, '%s'", status, wrongs[i].status,
                  nb_context_message(probe_context()));
        tap_check(!known || (e.found == 0 && !e.lattice), "nothing is left");
        nb_experiment_clear(&e);
        free(text);
    }
    return 0;
}

/* Returns an .expt of n crystals, to be released with free(). */
static char *crowd(int n)
{
    static const char one[] = "{" SHARED ", \"crystal\": 0000}, ";
    const size_t size = strlen(expt_text) + (size_t)n * (sizeof one + 200);
    char *experiments = calloc(size, 1), *crystals = calloc(size, 1), *text, *whole;
    size_t at = 0, place = 0;

    if (!experiments || !crystals) exit(1);
    at += (size_t)snprintf(experiments, size, "\"crystal\": 0}");
    place += (size_t)snprintf(crystals, size, "\"mosaicity\": 0.05}");
    for (int i = 1; i < n; i++) {
        at += (size_t)snprintf(experiments + at, size - at,
                               ", {" SHARED ", \"crystal\": %d}", i);
        place += (size_t)snprintf(crystals + place, size - place, ", {" TURNED GROUP "}");
    }
    text = text_with(expt_text, "\"crystal\": 0}", experiments);
    whole = text_with(text, "\"mosaicity\": 0.05}", crystals);
    free(experiments);
    free(crystals);
    free(text);
    return whole;
}

static int most(void)
{
    char *right = crowd(1001), *wrong = crowd(1002);
    nb_experiment e;

    if (!has_feature("cjson"))
        return free(right), free(wrong), tap_skip("this build has no cJSON");
    check_ok(parse(right, 0, &e), "1001 crystals");
    tap_check(e.scene.crystal.nlattice == 1000, "%d lattices", e.scene.crystal.nlattice);
    has_axes("the last", e.lattice[999].matrix, turned_axes);
    nb_experiment_clear(&e);
    tap_check(parse(wrong, 0, &e) == NB_ERR_UNSUPPORTED
                  && strstr(nb_context_message(probe_context()), "more than 1001 crystals"),
              "1002: '%s'", nb_context_message(probe_context()));
    tap_check(!e.lattice, "nothing is left");
    free(right);
    free(wrong);
    return 0;
}

/* ---- written and read again ---- */

enum { SIDE = 40, PIXELS = SIDE * SIDE };

static nb_scene written(const nb_lattice *lattice, int n)
{
    return (nb_scene){.crystal = {.cell = {50, 60, 70, 90, 100, 90},
                                  .ncells = {5, 5, 5},
                                  .shape = NB_SHAPE_GAUSS,
                                  .misset = {10, 20, 30},
                                  .default_f = 100,
                                  .nlattice = n,
                                  .lattice = lattice},
                      .beam = {.polarization = 0.7, .fluence = 1e28, .wavelength = 1.1},
                      .detector = {.nfast = SIDE, .nslow = SIDE, .pixel = 2},
                      .scan = {.phi0 = 12, .osc = 0.7, .nphi = 3},
                      .oversample = 2};
}

/* Compares the image of x with that of experiment i, at an angle where it changes. */
static void same_image(const char *what, nb_simulator *sim, const double *x,
                       const nb_scene *scene, int i, double phi)
{
    static double first[PIXELS], again[PIXELS];
    nb_array image = nb_array_f64(first, SIDE, SIDE);
    struct worst w = {0};
    nb_scene s = *scene;
    nb_experiment e;

    check_ok(nb_forward(sim, x, &image), what);
    check_ok(nb_expt_read_lattices(ctx, in_folder("l.expt"), i, &e), what);
    tap_check(e.scene.crystal.nlattice == scene->crystal.nlattice, "%s: %d lattices", what,
              e.scene.crystal.nlattice);
    (void)nb_scan_points_set(e.points, phi, ~0U, &e.scene, NULL);
    nb_scan_points_set_lattices(e.points, phi, e.scene.crystal.nlattice, e.lattice);
    memcpy(s.crystal.cell, e.scene.crystal.cell, sizeof s.crystal.cell);
    memcpy(s.crystal.matrix, e.scene.crystal.matrix, sizeof s.crystal.matrix);
    memset(s.crystal.misset, 0, sizeof s.crystal.misset);
    s.crystal.lattice = e.lattice;
    s.detector = e.scene.detector;
    memcpy(s.beam.direction, e.scene.beam.direction, sizeof s.beam.direction);
    memcpy(s.beam.polarization_axis, e.scene.beam.polarization_axis,
           sizeof s.beam.polarization_axis);
    s.scan.phi0 = scene->scan.osc != 0 ? phi - scene->scan.osc / 2 : 0;
    memcpy(s.scan.axis, e.scene.scan.axis, sizeof s.scan.axis);
    probe_image(&s, again);
    worst_add_all(&w, again, first, PIXELS, probe_peak(first, PIXELS));
    worst_check(&w, 2e-12, "%s: the image, of its peak", what);
    nb_experiment_clear(&e);
}

/* The first has the common cell, the second a cell and a matrix of its own. */
static const nb_lattice pair[2] = {{.misset = {11, 20.5, 29},
                                    .rotation = {0.2, 0, 0.1},
                                    .scale = 1},
                                   {.cell = {51, 60.5, 71, 90, 101, 90},
                                    .matrix = {0.02, 0, 0.003, 0, 0.0165, 0, 0, 0, 0.0145},
                                    .misset = {-5, 0, 3},
                                    .scale = 1}};

static int round_trip(void)
{
    static const char *const files[] = {NULL, "/a/s_##.img"};
    nb_scene s = written(pair, 2);
    nb_experiment e;
    char what[64];

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (int still = 0; still < 2; still++)
        for (size_t f = 0; f < COUNT(files); f++) {
            const nb_expt_options options = {.images = 3, .files = files[f]};
            nb_simulator *sim;

            s.scan.osc = still ? 0 : 0.7;
            s.scan.nphi = still ? 0 : 3;
            sim = probe_make(&s, "misset_x lattice_misset_y lattice_cell_a");
            (void)snprintf(what, sizeof what, "%s, files %s", still ? "stills" : "a sweep",
                           files[f] ? files[f] : "none");
            check_ok(nb_expt_write(sim, NULL, in_folder("l.expt"), &options), what);
            same_image(what, sim, NULL, &s, 0, 12.35);
            if (still) same_image(what, sim, NULL, &s, 6, 12.35);
            check_ok(nb_expt_read_lattices(ctx, in_folder("l.expt"), 1, &e), what);
            tap_check(e.count == (still ? 9 : 3) && e.images == (still ? 0 : 3),
                      "%s: %d experiments of %d images", what, e.count, e.images);
            tap_check(e.lattice[0].cell[0] == 0 && e.lattice[1].cell[0] > 50,
                      "%s: a cell of its own only where it has one", what);
            nb_experiment_clear(&e);
            nb_simulator_free(sim);
        }
    return 0;
}

/* Shots and scan points have the lattices of their own x. */
static int rows(void)
{
    enum { NPARAM = 4, N = 3 };
    /* lattice by lattice for a name without an index */
    static const double x[N][NPARAM] = {{10, 20.5, 0, 51},
                                        {10.1, 20.6, 0.3, 51},
                                        {10.3, 20.8, -0.2, 51.5}};
    nb_scene s = written(pair, 2);
    nb_expt_options options = {.images = N, .shots = x[0]};
    nb_simulator *sim;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    s.scan.osc = s.scan.nphi = 0;
    sim = probe_make(&s, "misset_x lattice_misset_y lattice_cell_a[1]");
    check_ok(nb_expt_write(sim, NULL, in_folder("l.expt"), &options), "shots");
    for (int i = 0; i < N; i++) same_image("a shot", sim, x[i], &s, 3 * i, 12);
    nb_simulator_free(sim);
    s = written(pair, 2);
    sim = probe_make(&s, "misset_x lattice_misset_y lattice_cell_a[1]");
    options = (nb_expt_options){.images = N - 1, .scan_points = x[0]};
    check_ok(nb_expt_write(sim, NULL, in_folder("l.expt"), &options), "scan points");
    nb_simulator_free(sim);
    s.scan.phi0 = 12 + 0.7 - 0.35;
    sim = probe_make(&s, "misset_x lattice_misset_y lattice_cell_a[1]");
    same_image("at a scan point", sim, x[1], &s, 0, 12.7);
    nb_simulator_free(sim);
    return 0;
}

/* ---- mosaicity ---- */

/* The profile model of dials.integrate, where the crystal states no mosaicity. */
static int profile(void)
{
    static const struct {
        const char *crystal, *profile;
        double sigma; /* 0: none is found; -1: the file is refused */
    } rows[] = {
        {"", "{\"sigma_b\": 0.02, \"sigma_m\": 0.04}", 0.04},
        {"", "{\"sigma_m\": [0.03, 0.04, 0.08]}", 0.05},
        {", \"mosaicity\": 0.07", "{\"sigma_m\": 0.04}", 0.07},
        {", \"mosaicity\": 0.0", "{\"sigma_m\": 0.04}", 0.04},
        {"", "{\"sigma_m\": 0}", 0},
        {"", "{\"sigma_b\": 0.02}", 0},
        {"", "", 0},
        {"", "{\"sigma_m\": []}", -1},
        {"", "{\"sigma_m\": [0.04, \"x\"]}", -1},
        {"", "{\"sigma_m\": \"x\"}", -1},
    };

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (size_t i = 0; i < COUNT(rows); i++) {
        char changed[200];
        char *named =
            text_with(expt_text, "\"crystal\": 0}", "\"crystal\": 0, \"profile\": 0}");
        char *text;
        nb_experiment e;

        (void)snprintf(changed, sizeof changed, "%s}],\n\"profile\": [%s]", rows[i].crystal,
                       rows[i].profile);
        text = text_with(named, ", \"mosaicity\": 0.05}],\n\"profile\": []", changed);
        if (rows[i].sigma < 0)
            tap_check(parse(text, 0, &e) == NB_ERR_FORMAT
                          && strstr(nb_context_message(probe_context()), "sigma_m"),
                      "refused: %s", nb_context_message(probe_context()));
        else {
            check_ok(parse(text, 0, &e), "the text");
            tap_close(rows[i].profile, e.scene.crystal.mosaic[0],
                      rows[i].sigma / MOSAIC_OF_SPREAD, EXPERIMENT_UNIT);
            tap_check(!(e.found & NB_FOUND_MOSAIC) == (rows[i].sigma == 0), "found %u",
                      e.found);
            nb_experiment_clear(&e);
        }
        free(named);
        free(text);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"profile", profile},
        {"two", two},
        {"common", common},
        {"which", which},
        {"spreads", spreads},
        {"changing", changing},
        {"changing_beam", changing_beam},
        {"others_change", others_change},
        {"refused", refused},
        {"most", most},
        {"round_trip", round_trip},
        {"rows", rows},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
