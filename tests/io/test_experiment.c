/*
 * test_experiment.c - what is read from experiments of DIALS, compared with numbers worked
 * out by hand, and what is refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/experiments.h"
#include "nanobrag_io/experiment/models.h"
#include "nanobrag_io/experiment/mosaicity.h"
#include "scene/probe.h"
#include "support/files.h"
#include "support/worst.h"

static nb_status parse(const char *text, int i, nb_experiment *out)
{
    const nb_status status = expt_parse(ctx, "input", text, strlen(text),
                                        &(struct expt_request){.i = i, .out = out});

    free(out->counts); /* so that one rectangle has nothing to free */
    out->counts = NULL;
    return status;
}

/* Reads a text that has to be right. */
static nb_experiment read_text(const char *text)
{
    nb_experiment e;

    check_ok(parse(text, 0, &e), "the text");
    return e;
}

static nb_experiment read_with(const char *old, const char *changed)
{
    char *text = text_with(expt_text, old, changed);
    const nb_experiment e = read_text(text);

    free(text);
    return e;
}

/* ---- reading ---- */

static int plain(void)
{
    const nb_scene *s;
    nb_experiment e;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    e = read_text(expt_text);
    s = &e.scene;
    tap_check(e.found == 255 && e.count == 1 && e.images == 30, "all is found");
    tap_check(s->detector.convention == NB_CONVENTION_DIALS, "the frame is that of dials");
    tap_close("wavelength", s->beam.wavelength, 0.98, 0);
    same_vector("beam", s->beam.direction, VECTOR(0, 0, 1), 0);
    tap_close("Kahn factor", s->beam.polarization, 0.9, EXPERIMENT_UNIT);
    tap_close("electric field along x", fabs(s->beam.polarization_axis[0]), 1, 0);
    same_vector("fast axis", s->detector.vectors[0], VECTOR(-1, 0, 0), 0);
    same_vector("slow axis", s->detector.vectors[1], VECTOR(0, -1, 0), 0);
    same_vector("normal", s->detector.vectors[2], VECTOR(0, 0, 1), 0);
    tap_check(s->detector.origin_kind == NB_ORIGIN_CLOSE
                  && s->detector.pivot == NB_PIVOT_SAMPLE && s->detector.nfast == 60
                  && s->detector.nslow == 50,
              "60 x 50 pixels around the near point");
    same_vector("near point", s->detector.origin, VECTOR(11, 8, 0), EXPERIMENT_LENGTH);
    tap_close("close distance", s->detector.close_distance, 70, EXPERIMENT_LENGTH);
    tap_close("pixel", s->detector.pixel, 0.5, 0);
    tap_close("thickness", s->detector.thickness, 320, EXPERIMENT_LENGTH);
    tap_close("attenuation", s->detector.attenuation, 250, EXPERIMENT_LENGTH);
    same_vector("spindle", s->scan.axis, VECTOR(-1, 0, 0), 0);
    tap_close("phi0", s->scan.phi0, 12.5, 0);
    tap_close("osc", s->scan.osc, 0.25, 0);
    same_crystal(&e, VECTOR(-30, 0, 0), VECTOR(0, 40, 0), VECTOR(10, 0, -50));
    same_vector("edges", s->crystal.cell, VECTOR(30, 40, sqrt(2600)), EXPERIMENT_LENGTH);
    same_vector("angles", s->crystal.cell + 3,
                VECTOR(90, acos(-10 / sqrt(2600)) / PROBE_RADIAN, 90), EXPERIMENT_LENGTH);
    tap_close("mosaic spread", s->crystal.mosaic[0], 0.05 / MOSAIC_OF_SPREAD,
              EXPERIMENT_UNIT);
    tap_check(!strcmp(e.space_group, has_feature("gemmi") ? "P 1 21 1" : ""), "group '%s'",
              e.space_group);
    return 0;
}

/* What may be missing, and what then holds. */
static int missing_members(void)
{
    static const struct {
        const char *old, *changed;
        unsigned lost;
    } rows[] = {
        {"\"beam\": 0,", "", NB_FOUND_BEAM | NB_FOUND_POLARIZATION},
        {"\"detector\": 0,", "", NB_FOUND_DETECTOR | NB_FOUND_SENSOR},
        {"\"goniometer\": 0,", "\"goniometer\": null,", NB_FOUND_AXIS | NB_FOUND_SCAN},
        {"\"scan\": 0,", "", NB_FOUND_SCAN},
        {", \"crystal\": 0", "", NB_FOUND_CRYSTAL | NB_FOUND_MOSAIC},
        {", \"mosaicity\": 0.05", "", NB_FOUND_MOSAIC},
        {"ParallaxCorrectionPxMmStrategy", "SimplePxMmStrategy", NB_FOUND_SENSOR},
        {"\"thickness\": 0.32", "\"thickness\": 1e-6", NB_FOUND_SENSOR},
        {"\"mu\": 4.0", "\"mu\": NaN", NB_FOUND_SENSOR},
        {"\"flux\"", "\"probe\": \"x-ray\", \"flux\"", 0},
    };
    nb_experiment e;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (size_t i = 0; i < COUNT(rows); i++) {
        e = read_with(rows[i].old, rows[i].changed);
        tap_check(e.found == (255 & ~rows[i].lost), "without %s", rows[i].old);
    }
    e = read_with("\"polarization_normal\": [0, 1, 0], \"polarization_fraction\": 0.95,",
                  "");
    tap_close("Kahn factor of dxtbx's own fraction", e.scene.beam.polarization, 0.998,
              EXPERIMENT_UNIT);
    e = read_with("\"mosaicity\": 0.05",
                  "\"ML_half_mosaicity_deg\": 0.06, \"ML_domain_size_ang\": 500");
    tap_close("spread of a top hat", e.scene.crystal.mosaic[0],
              0.06 / sqrt(3) / MOSAIC_OF_SPREAD, EXPERIMENT_UNIT);
    return 0;
}

/* Since dxtbx 3.15 a scan holds the angles of all images. */
static int scans(void)
{
    static const struct {
        const char *text;
        double phi0, osc;
    } rows[] = {
        {"\"properties\": {\"oscillation\": [5, 5.5, 6]}", 5, 0.5},
        {"\"properties\": {\"oscillation\": [5], \"oscillation_width\": 0.25}", 5, 0.25},
        {"\"properties\": {\"oscillation\": [5], \"oscillation_width\": [0.25]}", 5, 0.25},
        {"\"properties\": {\"oscillation\": [5]}", 5, 0},
        {"\"properties\": {}", 0, 0},
        {"\"oscillation\": [-170, -1]", -170, -1},
    };

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (size_t i = 0; i < COUNT(rows); i++) {
        const nb_experiment e = read_with("\"oscillation\": [12.5, 0.25]", rows[i].text);

        tap_close(rows[i].text, e.scene.scan.phi0, rows[i].phi0, 0);
        tap_close("its width", e.scene.scan.osc, rows[i].osc, 0);
        tap_check((e.scene.given & NB_GIVEN_OSC) != 0, "a width of 0 is one");
    }
    return 0;
}

/* Untrusted rectangles: fast and slow of the first pixel, then of the one behind the last.
 */
static int untrusted(void)
{
    static const int bad[][2] = {{1, 2},   {2, 2},   {1, 3},   {2, 3},  {0, 0},
                                 {58, 48}, {59, 48}, {58, 49}, {59, 49}};
    nb_experiment e;
    int masked = 0;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    e = read_with("\"mu\": 4.0", "\"mu\": 4.0, \"mask\": []");
    tap_check(!e.mask && !e.scene.detector.mask, "an empty list masks nothing");
    e = read_with("\"mu\": 4.0", "\"mu\": 4.0, \"mask\": [[1, 2, 3, 4], [-2, -1, 1, 1], "
                                 "[58, 48, 99, 99], [5, 5, 5, 9]]");
    tap_check(e.mask && e.scene.detector.mask == e.mask, "the scene has a mask");
    if (!e.mask) return 0;
    for (size_t i = 0; i < COUNT(bad); i++)
        tap_check(e.mask[60 * bad[i][1] + bad[i][0]] == 0, "fast %d slow %d is masked",
                  bad[i][0], bad[i][1]);
    for (int i = 0; i < 60 * 50; i++) masked += e.mask[i] == 0;
    tap_check(masked == (int)COUNT(bad), "%d pixels are masked", masked);
    nb_experiment_clear(&e);
    tap_check(!e.mask, "it is freed");
    return 0;
}

/* The panel lies in a group in a group; each frame is local to the one around it. */
static int groups(void)
{
    static const double x[] = {1, 0, 0}, z[] = {0, 0, 1};
    static const char hierarchy[] =
        "}], \"hierarchy\": {\"name\": \"all\", \"fast_axis\": [1, 0, 0],\n"
        "\"slow_axis\": [0, 0.8, 0.6], \"origin\": [1, 2, -3], \"children\": [\n"
        "{\"children\": [{\"note\": 1}]},\n"
        "{\"fast_axis\": [0, 1, 0], \"slow_axis\": [-2, 0, 0], \"origin\": [10, 20, 30],\n"
        "\"children\": [{\"panel\": 0}]}]}}],\n";
    /* The outer group is turned about x, the inner one about z. */
    const double outer = atan2(0.6, 0.8) / PROBE_RADIAN, inner = 90;
    double fast[3], slow[3], origin[3];
    nb_experiment e;
    const nb_detector *d;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    e = read_with("}]}],\n", hierarchy);
    d = &e.scene.detector;
    probe_turn(z, inner, x, fast);
    probe_turn(x, outer, fast, fast);
    probe_turn(z, inner, VECTOR(0, -1, 0), slow);
    probe_turn(x, outer, slow, slow);
    probe_turn(z, inner, VECTOR(-11, 8, -70), origin);
    for (int i = 0; i < 3; i++) origin[i] += VECTOR(10, 20, 30)[i];
    probe_turn(x, outer, origin, origin);
    for (int i = 0; i < 3; i++) origin[i] += VECTOR(1, 2, -3)[i];
    same_vector("fast axis", d->vectors[0], VECTOR(-fast[0], fast[1], -fast[2]),
                EXPERIMENT_UNIT);
    same_vector("slow axis", d->vectors[1], VECTOR(-slow[0], slow[1], -slow[2]),
                EXPERIMENT_UNIT);
    tap_close("near point, fast", d->origin[0], -probe_dot(origin, fast),
              EXPERIMENT_LENGTH);
    tap_close("near point, slow", d->origin[1], -probe_dot(origin, slow),
              EXPERIMENT_LENGTH);
    return 0;
}

/* A crystal at phi = 0 is turned by F and then by S, and the axis by S. */
static int goniometers(void)
{
    static const double x[] = {1, 0, 0}, y[] = {0, 1, 0}, z[] = {0, 0, 1};
    static const char plain_one[] = "\"rotation_axis\": [1, 0, 0],\n  \"fixed_rotation\": "
                                    "[1, 0, 0, 0, 1, 0, 0, 0, 1],\n"
                                    "  \"setting_rotation\": [1, 0, 0, 0, 1, 0, 0, 0, 1]";
    static const char matrices[] =
        "\"rotation_axis\": [1, 0, 0], \"fixed_rotation\": [0, -1, 0, 1, 0, 0, 0, 0, 1],"
        "\"setting_rotation\": [0.6, 0, 0.8, 0, 1, 0, -0.8, 0, 0.6]";
    static const char axes[] =
        "\"axes\": [[0, 0, 3], [1, 0, 0], [0, 1, 0], [0, 0, 1]], \"scan_axis\": 1,\n"
        "\"angles\": [90, 77, 53.13010235415598, 0], \"names\": [\"a\", \"b\", \"c\", "
        "\"d\"]";
    const double lean = atan2(0.8, 0.6) / PROBE_RADIAN;
    static const double real[3][3] = {{30, 0, 0}, {0, 40, 0}, {-10, 0, 50}};
    double turned[3][3], axis[3];

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    probe_turn(y, lean, x, axis);
    for (int i = 0; i < 3; i++) {
        probe_turn(z, 90, real[i], turned[i]);
        probe_turn(y, lean, turned[i], turned[i]);
        turned[i][0] = -turned[i][0]; /* to the frame of dials */
        turned[i][2] = -turned[i][2];
    }
    for (int several = 0; several < 2; several++) {
        const nb_experiment e = read_with(plain_one, several ? axes : matrices);

        tap_note("%s", several ? "axes" : "matrices");
        same_vector("axis", e.scene.scan.axis, VECTOR(-axis[0], axis[1], -axis[2]),
                    EXPERIMENT_UNIT);
        same_crystal(&e, turned[0], turned[1], turned[2]);
    }
    return 0;
}

/* Files hold several experiments, which may share models. */
static int which_one(void)
{
    static const char two[] =
        ", \"crystal\": 0}, {\"__id__\": \"Experiment\", \"beam\": 0, \"crystal\": 0}]";
    char *text;
    nb_experiment e;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    text = text_with(expt_text, ", \"crystal\": 0}]", two);
    check_ok(parse(text, 1, &e), "the second");
    tap_check(e.count == 2
                  && e.found
                         == (NB_FOUND_BEAM | NB_FOUND_POLARIZATION | NB_FOUND_CRYSTAL
                             | NB_FOUND_MOSAIC),
              "beam and crystal of the second");
    check_refused(parse(text, 2, &e), NB_ERR_ARGUMENT, "no experiment 2", "holds 2");
    check_refused(parse(text, -1, &e), NB_ERR_ARGUMENT, "no experiment -1", "from 0");
    free(text);
    return 0;
}

/* Reads a text with a scan of two images, and with `changed` for `old`. */
static nb_experiment read_varying(const char *old, const char *changed, const char *said)
{
    char *two = text_with(expt_text, "[11, 40]", "[11, 12]");
    char *text = text_with(two, old, changed);
    nb_experiment e;

    probe_forget();
    check_ok(expt_parse(probe_context(), "input", text, strlen(text),
                        &(struct expt_request){.i = 0, .out = &e}),
             said);
    tap_check(strstr(probe_log(), said) != NULL, "it is said: %s", said);
    free(e.counts);
    e.counts = NULL;
    free(two);
    free(text);
    return e;
}

#define A0 "[0.03, 0, 0, 0, 0.02, 0, 0, 0, 0.01]"
#define A1 "[0.03, 0, 0.002, 0, 0.02, 0, 0, 0, 0.01]"
#define A2 "[0.032, 0, 0.004, 0, 0.02, 0, 0, 0, 0.012]"

/* The middle of an image has the mean of the two scan points beside it; the frame of the
 * scene has x and z of dxtbx reversed. */
static int varying_crystal(void)
{
    static const struct {
        double phi, matrix[9];
        int beyond;
    } rows[] = {
        {12.625, {-0.03, 0, -0.001, 0, 0.02, 0, 0, 0, -0.01}, 0},
        {12.875, {-0.031, 0, -0.003, 0, 0.02, 0, 0, 0, -0.011}, 0},
        {12.875 - 360, {-0.031, 0, -0.003, 0, 0.02, 0, 0, 0, -0.011}, 0},
        {13, {-0.032, 0, -0.004, 0, 0.02, 0, 0, 0, -0.012}, 0},
        {13.125, {-0.032, 0, -0.004, 0, 0.02, 0, 0, 0, -0.012}, 1},
        {12, {-0.03, 0, 0, 0, 0.02, 0, 0, 0, -0.01}, 1},
    };
    nb_experiment e;
    int beyond;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    /* c* turns by atan(0.2) and then by atan(0.2) to atan(1/3), of which half is said */
    e = read_varying("\"mosaicity\": 0.05",
                     "\"A_at_scan_points\": [" A0 ", " A1 ", " A2 "]",
                     "the crystal changes during the scan (A_at_scan_points): each image "
                     "takes the value at its middle, up to 5.7 degrees");
    tap_check(e.points != NULL, "there are scan points");
    for (size_t i = 0; i < COUNT(rows); i++) {
        nb_scene scene = {.crystal = {.cell = {1, 1, 1, 90, 90, 90}}};
        const unsigned set =
            nb_scan_points_set(e.points, rows[i].phi, ~0U, &scene, &beyond);
        struct worst off = {0};

        worst_add_all(&off, scene.crystal.matrix, rows[i].matrix, 9, 1);
        /* some roundings of numbers near 0.03, and of an angle near 360 degree */
        worst_check(&off, 1e-14, "A");
        tap_close("b", scene.crystal.cell[1], 50, EXPERIMENT_LENGTH);
        tap_close("c", scene.crystal.cell[2], 1 / fabs(rows[i].matrix[8]),
                  EXPERIMENT_LENGTH);
        tap_check(set == NB_FOUND_CRYSTAL && beyond == rows[i].beyond,
                  "the crystal is set at %g degree", rows[i].phi);
        if (i == 0)
            tap_check(!memcmp(scene.crystal.matrix, e.scene.crystal.matrix,
                              sizeof scene.crystal.matrix),
                      "the scene is that of the first image");
    }
    tap_check(nb_scan_points_set(e.points, 12, NB_FOUND_BEAM, &e.scene, NULL) == 0,
              "the beam does not change");
    tap_check(nb_scan_points_set(NULL, 12, ~0U, &e.scene, NULL) == 0, "nothing changes");
    nb_scan_points_free(e.points);
    /* the mean of opposite axes is none: the nearer scan point is taken */
    e = read_varying("\"mosaicity\": 0.05",
                     "\"A_at_scan_points\": [" A0
                     ", [-0.03, 0, 0, 0, 0.02, 0, 0, 0, 0.01], " A2 "]",
                     "the crystal changes");
    tap_check(e.scene.crystal.matrix[0] == 0.03 && isfinite(e.scene.crystal.cell[0]),
              "a scene without NaN");
    nb_scan_points_free(e.points);
    return 0;
}

static int varying(void)
{
    const double length = sqrt(0.9 * 0.9 + 0.3 * 0.3);
    nb_experiment e;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    probe_forget();
    check_ok(expt_parse(probe_context(), "input", expt_text, strlen(expt_text),
                        &(struct expt_request){.i = 0, .out = &e}),
             "a crystal that does not change");
    tap_check(!strstr(probe_log(), "changes") && !e.points, "says nothing");
    nb_experiment_clear(&e);
    e = read_varying("\"wavelength\": 0.98",
                     "\"wavelength\": 0.98, \"s0_at_scan_points\": [[0, 0, -1], [0.03, 0, "
                     "-0.94], [0.03, 0, -0.94]]",
                     "the beam changes during the scan (s0_at_scan_points)");
    same_vector("beam", e.scene.beam.direction,
                VECTOR(-0.015 / hypot(0.015, 0.97), 0, 0.97 / hypot(0.015, 0.97)),
                EXPERIMENT_UNIT);
    tap_close("wavelength", e.scene.beam.wavelength, 1 / hypot(0.015, 0.97),
              EXPERIMENT_UNIT);
    nb_scan_points_free(e.points);
    e = read_varying("\"rotation_axis\": [1, 0, 0]",
                     "\"rotation_axis\": [1, 0, 0], \"setting_rotation_at_scan_points\":"
                     "[[1, 0, 0, 0, 1, 0, 0, 0, 1], [0.8, -0.6, 0, 0.6, 0.8, 0, 0, 0, 1],"
                     "[0.8, -0.6, 0, 0.6, 0.8, 0, 0, 0, 1]]",
                     "the goniometer changes");
    same_vector("spindle", e.scene.scan.axis, VECTOR(-0.9 / length, 0.3 / length, 0),
                EXPERIMENT_UNIT);
    /* A of dxtbx has the rows 1/30 0 0, 0 1/40 0 and 1/150 0 1/50 */
    same_vector("row 0 of A", e.scene.crystal.matrix, VECTOR(-0.9 / 30, 0.3 / 40, 0),
                EXPERIMENT_UNIT);
    nb_scan_points_free(e.points);
    e = read_varying("\"rotation_axis\"",
                     "\"setting_rotation_at_scan_points\": [], "
                     "\"rotation_axis\"",
                     "");
    tap_check(!e.points, "an empty list is none");
    return 0;
}

/* ---- what is refused ---- */

static const struct {
    const char *old, *changed;
    nb_status status;
    const char *part;
} wrongs[] = {
    {"\"ExperimentList\"", "\"DataBlock\"", NB_ERR_FORMAT, "ExperimentList"},
    {"\"scaling_model\": []}", "\"scaling_model\": [}", NB_ERR_FORMAT,
     "line 20: the text is not JSON"},
    {"{\"__id__\"", "[\"__id__\"", NB_ERR_FORMAT, "not JSON"},
    {"\"experiment\"", "\"experiments\"", NB_ERR_FORMAT, "no experiment"},
    {"\"beam\": 0", "\"beam\": 1", NB_ERR_FORMAT, "names a beam"},
    {"\"beam\": 0", "\"beam\": -1", NB_ERR_FORMAT, "names a beam"},
    {"\"beam\": 0", "\"beam\": 0.5", NB_ERR_FORMAT, "names a beam"},
    {"\"beam\": 0", "\"beam\": NaN, \"crystal\": \"c.json\"", NB_ERR_UNSUPPORTED,
     "another file"},
    {"\"beam\": [{", "\"beam\": [7, {", NB_ERR_FORMAT, "is not a JSON object"},
    {"[0, 0, 2]", "[0, 0]", NB_ERR_FORMAT, "\"direction\""},
    {"[0, 0, 2]", "[0, 0, NaN]", NB_ERR_FORMAT, "three finite numbers"},
    {"[0, 0, 2]", "[0, 0, 0]", NB_ERR_FORMAT, "the beam is"},
    {"[0, 0, 2]", "[0, 0, 1e999]", NB_ERR_FORMAT, "\"direction\""},
    {"[0, 0, 2]", "[0, 1, 0]", NB_ERR_FORMAT, "electric field"},
    {"\"flux\"", "\"probe\": \"electron\", \"flux\"", NB_ERR_UNSUPPORTED,
     "the probe of the beam is electron; only x-ray is supported"},
    {"\"flux\"", "\"probe\": \"neutron\", \"flux\"", NB_ERR_UNSUPPORTED, "neutron"},
    {"\"flux\"", "\"probe\": 1, \"flux\"", NB_ERR_UNSUPPORTED, "the probe"},
    {"0.98", "0", NB_ERR_FORMAT, "\"wavelength\""},
    {"0.98", "\"one\"", NB_ERR_FORMAT, "a finite number"},
    {"0.95", "1.5", NB_ERR_FORMAT, "\"polarization_fraction\""},
    {"\"fast_axis\": [1, 0, 0]", "\"fast_axis\": [0, 0, 0]", NB_ERR_FORMAT,
     "\"fast_axis\""},
    {"\"slow_axis\": [0, -1, 0]", "\"slow_axis\": [0.1, -1, 0]", NB_ERR_FORMAT,
     "right angles"},
    {"[-11, 8, -70]", "[-11, 8, 0]", NB_ERR_FORMAT, "in the plane of the panel"},
    {"[-11, 8, -70]", "[-11, 8, \"far\"]", NB_ERR_FORMAT, "\"origin\""},
    {"\"mu\": 4.0", "\"mu\": 4.0, \"mask\": [[1, 2, 3]]", NB_ERR_FORMAT, "\"mask\""},
    {"[60, 50]", "[60.5, 50]", NB_ERR_FORMAT, "\"image_size\""},
    {"[60, 50]", "[0, 50]", NB_ERR_FORMAT, "\"image_size\""},
    {"[60, 50]", "[6e9, 50]", NB_ERR_FORMAT, "\"image_size\""},
    {"[0.5, 0.5]", "[0.5, 0.6]", NB_ERR_UNSUPPORTED, "square"},
    {"[0.5, 0.5]", "[0, 0]", NB_ERR_FORMAT, "\"pixel_size\""},
    {"\"panels\": [{", "\"panels\": [{}, {", NB_ERR_FORMAT, "\"image_size\""},
    {"\"panels\"", "\"planes\"", NB_ERR_FORMAT, "\"panels\""},
    {"Strategy\"}}]}", "Strategy\"}}], \"hierarchy\": {\"children\": [{\"panel\": 3}]}}",
     NB_ERR_FORMAT, "names panel 3, but"},
    {"Strategy\"}}]}", "Strategy\"}}], \"hierarchy\": {\"children\": [{}]}}", NB_ERR_FORMAT,
     "panel 0 is in no group"},
    {"Strategy\"}}]}",
     "Strategy\"}}], \"hierarchy\": {\"children\": [{\"panel\": 0}, {\"panel\": 0}]}}",
     NB_ERR_FORMAT, "names panel 0 twice"},
    {"Strategy\"}}]}", "Strategy\"}, \"raw_image_offset\": [0.5, 0]}]}", NB_ERR_FORMAT,
     "\"raw_image_offset\""},
    {"Strategy\"}}]}",
     "Strategy\"}}], \"hierarchy\": {\"fast_axis\": [1, 2], \"children\": []}}",
     NB_ERR_FORMAT, "group of panels"},
    {"\"rotation_axis\": [1, 0, 0]", "\"rotation_axis\": [0, 0, 0]", NB_ERR_FORMAT,
     "axis of rotation"},
    {"\"fixed_rotation\": [1,", "\"fixed_rotation\": [-1,", NB_ERR_FORMAT,
     "a rotation matrix"},
    {"\"setting_rotation\": [1,", "\"setting_rotation\": [", NB_ERR_FORMAT,
     "\"setting_rotation\""},
    {"\"rotation_axis\"", "\"axes\": [], \"rotation_axis\"", NB_ERR_FORMAT, "\"axes\""},
    {"\"rotation_axis\"", "\"axes\": [[1, 0, 0]], \"rotation_axis\"", NB_ERR_FORMAT,
     "\"angles\""},
    {"\"rotation_axis\"",
     "\"axes\": [[1, 0, 0]], \"angles\": [1], \"scan_axis\": 1, \"rotation_axis\"",
     NB_ERR_FORMAT, "\"scan_axis\""},
    {"\"rotation_axis\"",
     "\"axes\": [[0, 0, 0]], \"angles\": [1], \"scan_axis\": 0, \"rotation_axis\"",
     NB_ERR_FORMAT, "\"axes\""},
    {"[11, 40]", "[11, 10]", NB_ERR_FORMAT, "\"image_range\""},
    {"[11, 40]", "[11, 1e12]", NB_ERR_FORMAT, "\"image_range\""},
    {"[12.5, 0.25]", "[12.5]", NB_ERR_FORMAT, "\"oscillation\""},
    {"\"oscillation\": [12.5, 0.25]",
     "\"properties\": {\"oscillation\": [1], \"oscillation_width\": [1, 2]}", NB_ERR_FORMAT,
     "\"oscillation_width\""},
    {"\"oscillation\": [12.5, 0.25]", "\"properties\": {\"oscillation\": [1, \"x\"]}",
     NB_ERR_FORMAT, "\"oscillation\""},
    {"\"real_space_b\"", "\"real_b\"", NB_ERR_FORMAT, "\"real_space_b\""},
    {"[0, 40, 0]", "[60, 0, 0]", NB_ERR_FORMAT, "lie in a plane"},
    {"[0, 40, 0]", "[0, 4e-320, 0]", NB_ERR_FORMAT, "axis b of the crystal"},
    {"[0, 40, 0]", "[0, 1e200, 0]", NB_ERR_FORMAT, "axis b of the crystal"},
    {"\"mosaicity\": 0.05", "\"A_at_scan_points\": [" A0 "]", NB_ERR_FORMAT,
     "\"A_at_scan_points\" of the crystal of experiment 0 is 1, expected 31"},
    {"\"mosaicity\": 0.05", "\"mosaicity\": \"low\"", NB_ERR_FORMAT, "\"mosaicity\""},
};

static int wrong(void)
{
    nb_experiment e;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (size_t i = 0; i < COUNT(wrongs); i++) {
        char *text = text_with(expt_text, wrongs[i].old, wrongs[i].changed);

        check_refused(parse(text, 0, &e), wrongs[i].status, wrongs[i].part, "input");
        tap_check(e.found == 0, "and nothing is found");
        free(text);
    }
    return 0;
}

/* Groups in groups, and JSON in JSON, end somewhere. */
static int deep(void)
{
    enum { GROUPS = 60, NESTED = 5000 };
    static const char begin[] = "Strategy\"}}], \"hierarchy\": ",
                      group[] = "{\"children\": [";
    char *nested = malloc(NESTED + 1), *text;
    char hierarchy[64 * GROUPS + 64];
    size_t n = sizeof begin - 1;
    nb_experiment e;

    if (!has_feature("cjson")) {
        free(nested);
        return tap_skip("this build has no cJSON");
    }
    memcpy(hierarchy, begin, n);
    for (int i = 0; i < GROUPS; i++, n += sizeof group - 1)
        memcpy(hierarchy + n, group, sizeof group);
    n += (size_t)snprintf(hierarchy + n, 32, "{\"panel\": 0}");
    for (int i = 0; i < GROUPS; i++, n += 2) memcpy(hierarchy + n, "]}", 3);
    memcpy(hierarchy + n, "}", 2);
    text = text_with(expt_text, "Strategy\"}}]}", hierarchy);
    check_refused(parse(text, 0, &e), NB_ERR_FORMAT, "nested", "input");
    free(text);
    memset(nested, '[', NESTED);
    nested[NESTED] = '\0';
    check_refused(parse(nested, 0, &e), NB_ERR_FORMAT, "not JSON", "input");
    check_refused(parse("", 0, &e), NB_ERR_FORMAT, "not JSON", "input");
    check_refused(parse("\"\\", 0, &e), NB_ERR_FORMAT, "not JSON", "input");
    free(nested);
    return 0;
}

static int null_arguments(void)
{
    nb_experiment e;

    tap_check(nb_expt_read(NULL, "a", 0, &e) == NB_ERR_ARGUMENT, "no context");
    tap_check(nb_expt_write(NULL, NULL, "a", NULL) == NB_ERR_ARGUMENT, "no simulator");
    if (!has_feature("cjson")) {
        check_refused(nb_expt_read(ctx, "a", 0, &e), NB_ERR_UNSUPPORTED, "cJSON", "");
        return 0;
    }
    check_refused(nb_expt_read(ctx, NULL, 0, &e), NB_ERR_ARGUMENT, "path", "");
    check_refused(nb_expt_read(ctx, "a", 0, NULL), NB_ERR_ARGUMENT, "out", "");
    check_refused(nb_expt_read(ctx, in_folder("none"), 0, &e), NB_ERR_FILE, "none", "");
    return 0;
}

/* ---- mosaicity ---- */

/* The turns of many domains about each axis have the standard deviation that is said. */
static int mosaicity(void)
{
    enum { DOMAINS = 1000 };
    nb_scene s = {.crystal = {.cell = {40, 40, 40, 90, 90, 90},
                              .default_f = 1,
                              .mosaic = {1},
                              .ndomains = DOMAINS},
                  .detector = {.nfast = 4, .nslow = 4},
                  .oversample = 1};
    nb_simulator *sim = probe_make(&s, NULL);
    double squares = 0;

    for (int i = 0; i < DOMAINS; i++) {
        double real[3][3];

        /* b, c and a seen along c, a and b: the sine of the turn about x is that of b
         * towards c, in a small turn */
        probe_orientation(sim, 0, i, real);
        for (int k = 0; k < 3; k++) {
            const int j = (k + 1) % 3, l = (k + 2) % 3;
            const double turn = (real[j][l] - real[l][j]) / 80 / PROBE_RADIAN;

            squares += turn * turn / (3.0 * DOMAINS);
        }
    }
    nb_simulator_free(sim);
    /* the second moments of domains are exact; the turns are not quite small */
    tap_close("standard deviation of the turns about an axis", sqrt(squares),
              MOSAIC_OF_SPREAD, 0.006);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"plain", plain},         {"missing_members", missing_members},
        {"scans", scans},         {"untrusted", untrusted},
        {"groups", groups},       {"goniometers", goniometers},
        {"which_one", which_one}, {"varying_crystal", varying_crystal},
        {"varying", varying},     {"wrong", wrong},
        {"deep", deep},           {"null_arguments", null_arguments},
        {"mosaicity", mosaicity},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
