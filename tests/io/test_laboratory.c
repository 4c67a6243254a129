/*
 * test_laboratory.c - the geometry of scenes in the frame of dxtbx, compared with numbers
 * worked out by hand and with what a rotation of the whole leaves as it is.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <nanobrag/description.h>

#include "nanobrag_io/laboratory.h"
#include "scene/probe.h"
#include "support/tap.h"
#include "support/worst.h"

/* A tolerance is 3 to 20 times the rounding of vectors of length 1, or of mm. */
static const double unit_allowed = 2e-15, mm_allowed = 1e-13;

struct found {
    struct laboratory of;
    struct laboratory_panel panel;
};

static nb_scene plate(int convention)
{
    nb_scene s = {0};

    s.crystal.cell[0] = 40;
    s.crystal.cell[1] = 50;
    s.crystal.cell[2] = 60;
    s.crystal.cell[4] = 100;
    s.crystal.default_f = 1;
    s.detector.nfast = 60;
    s.detector.nslow = 50;
    s.detector.pixel = 0.5;
    s.detector.distance = 70;
    s.detector.convention = convention;
    s.oversample = 1;
    return s;
}

static struct found find(const nb_scene *scene)
{
    const nb_scene resolved = probe_resolve(scene);
    struct found f = {0};

    tap_check(laboratory_of(probe_context(), &resolved, &f.of) == NB_OK, "it has a frame");
    tap_check(f.of.npanel == 1
                  && laboratory_panel(probe_context(), &resolved, &f.of, NULL, 0, &f.panel)
                         == NB_OK,
              "it has one panel");
    return f;
}

static void same(const char *what, const double *found, const double *expected,
                 double allowed)
{
    struct worst w = {0};

    worst_add_all(&w, found, expected, 3, 1);
    worst_check(&w, allowed, "%s is %.9g %.9g %.9g, expected %.9g %.9g %.9g", what,
                found[0], found[1], found[2], expected[0], expected[1], expected[2]);
}

#define VECTOR(...) ((const double[3]){__VA_ARGS__})

/* What each convention's own vectors become. By hand from the table of
 * docs/conventions.md. */
static int conventions(void)
{
    static const struct {
        const char *name;
        double fast[3], slow[3], normal[3], spindle[3];
    } expected[] = {
        {"mosflm", {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {1, 0, 0}},
        {"denzo", {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {1, 0, 0}},
        {"adxv", {-1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {-1, 0, 0}},
        {"xds", {-1, 0, 0}, {0, 1, 0}, {0, 1, 0}, {-1, 0, 0}},
        {"dials", {-1, 0, 0}, {0, 1, 0}, {1, 0, 0}, {0, 1, 0}},
        {"custom", {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {1, 0, 0}},
    };

    for (int i = NB_CONVENTION_MOSFLM; i <= NB_CONVENTION_CUSTOM; i++) {
        nb_scene s = plate(i);
        struct found f;

        s.beam.polarization = 0.5;
        f = find(&s);
        tap_note("%s", expected[i].name);
        same("source", f.of.source, VECTOR(0, 0, 1), 0);
        same("fast axis", f.panel.fast, expected[i].fast, 0);
        same("slow axis", f.panel.slow, expected[i].slow, 0);
        same("spindle", f.of.spindle, expected[i].spindle, 0);
        for (int k = 0; k < 3; k++) /* of a vector and its opposite */
            f.of.polarization_normal[k] = fabs(f.of.polarization_normal[k]);
        same("polarization normal", f.of.polarization_normal, expected[i].normal, 0);
        tap_close("polarization fraction", f.of.polarization_fraction, 0.75, 0);
        tap_close("pixel", f.panel.pixel, 0.5, 0);
        tap_check(f.panel.nfast == 60 && f.panel.nslow == 50, "60 x 50 pixels");
    }
    return 0;
}

/* The direct beam hits 11 mm along fast and 8 mm along slow, at 70 mm. */
static int origins(void)
{
    nb_scene s = plate(NB_CONVENTION_MOSFLM);
    double expected[3];

    s.detector.origin_kind = NB_ORIGIN_BEAM;
    s.detector.origin[0] = 8 - 0.25;
    s.detector.origin[1] = 11 - 0.25;
    same("mosflm's origin", find(&s).panel.origin, VECTOR(-11, 8, -70), mm_allowed);
    memcpy(expected, probe_describe(&s).dials_origin, sizeof expected);
    same("mosflm's origin as described", find(&s).panel.origin, expected, mm_allowed);
    s.detector.convention = NB_CONVENTION_DIALS;
    s.detector.origin[0] = 11;
    s.detector.origin[1] = 8;
    same("dials' origin", find(&s).panel.origin, VECTOR(11, -8, -70), mm_allowed);
    s.detector.convention = NB_CONVENTION_ADXV;
    s.detector.origin[1] = 25 - 8;
    same("adxv's origin", find(&s).panel.origin, VECTOR(11, 8, -70), mm_allowed);
    return 0;
}

/* With a* along x and b* in the x-y plane, c of a monoclinic cell is along z, b along y,
 * and a leans by 10 degrees from x against c. */
static int crystals(void)
{
    const double lean = 10 * PROBE_RADIAN;
    nb_scene s = plate(NB_CONVENTION_MOSFLM);
    struct found f = find(&s);

    same("a", f.of.real_axes[0], VECTOR(-40 * sin(lean), 0, -40 * cos(lean)), mm_allowed);
    same("b", f.of.real_axes[1], VECTOR(0, 50, 0), mm_allowed);
    same("c", f.of.real_axes[2], VECTOR(60, 0, 0), mm_allowed);
    s.detector.convention = NB_CONVENTION_XDS;
    s.crystal.misset[0] = 90; /* y to z, z to -y */
    f = find(&s);
    same("a, turned", f.of.real_axes[0], VECTOR(-40 * cos(lean), 40 * sin(lean), 0),
         mm_allowed);
    same("b, turned", f.of.real_axes[1], VECTOR(0, 0, -50), mm_allowed);
    same("c, turned", f.of.real_axes[2], VECTOR(0, -60, 0), mm_allowed);
    s.crystal.mosaic[0] = 1;
    s.scan.phi0 = 40;
    same("b at phi = 0 in the mean", find(&s).of.real_axes[1], VECTOR(0, 0, -50),
         mm_allowed);
    return 0;
}

/* The vectors of a scene in its own frame and in that of dxtbx, for comparing the lengths
 * and the angles among them. */
enum { BEAM, FAST, SLOW, ORIGIN, SPINDLE, FIELD, A, B, C, VECTORS };

static void vectors_of(const nb_scene *scene, double own[VECTORS][3],
                       double turned[VECTORS][3])
{
    const nb_description d = probe_describe(scene);
    const struct found f = find(scene);

    memcpy(own[BEAM], d.beam, sizeof own[0]);
    memcpy(own[FAST], d.fast, sizeof own[0]);
    memcpy(own[SLOW], d.slow, sizeof own[0]);
    memcpy(own[ORIGIN], d.origin, sizeof own[0]);
    memcpy(own[SPINDLE], d.spindle, sizeof own[0]);
    memcpy(own[FIELD], d.vertical, sizeof own[0]);
    memcpy(own[A], d.real_axes, sizeof d.real_axes);
    for (int i = 0; i < 3; i++) turned[BEAM][i] = -f.of.source[i];
    memcpy(turned[FAST], f.panel.fast, sizeof own[0]);
    memcpy(turned[SLOW], f.panel.slow, sizeof own[0]);
    memcpy(turned[ORIGIN], f.panel.origin, sizeof own[0]);
    memcpy(turned[SPINDLE], f.of.spindle, sizeof own[0]);
    memcpy(turned[FIELD], f.of.polarization_normal, sizeof own[0]);
    memcpy(turned[A], f.of.real_axes, sizeof f.of.real_axes);
}

/* All products of two, and of three vectors, relative to the lengths. */
static void compare_shape(const char *what, const nb_scene *scene)
{
    double own[VECTORS][3], turned[VECTORS][3], across[2][3];
    struct worst w = {0};

    vectors_of(scene, own, turned);
    for (int i = 0; i < VECTORS; i++)
        for (int j = 0; j < VECTORS; j++) {
            const double n = sqrt(probe_dot(own[i], own[i]) * probe_dot(own[j], own[j]));

            worst_add(&w, probe_dot(turned[i], turned[j]), probe_dot(own[i], own[j]), n);
            probe_cross(own[i], own[j], across[0]);
            probe_cross(turned[i], turned[j], across[1]);
            for (int k = 0; k < VECTORS; k++)
                worst_add(&w, probe_dot(turned[k], across[1]), probe_dot(own[k], across[0]),
                          n * sqrt(probe_dot(own[k], own[k])));
        }
    worst_check(&w, unit_allowed, "%s: lengths, angles and hands stay", what);
}

static int beams_off_axis(void)
{
    static const double beams[][3] = {{0.02, -0.03, 1}, {1, 0.1, -0.2}, {0, 0, -1},
                                      {-1, 0, 0},       {0, 3, 0},      {1e-9, 0, 2}};
    char what[64];

    for (int convention = NB_CONVENTION_MOSFLM; convention <= NB_CONVENTION_DIALS;
         convention++)
        for (size_t i = 0; i < COUNT(beams); i++) {
            nb_scene s = plate(convention);

            memcpy(s.beam.direction, beams[i], sizeof beams[i]);
            memcpy(s.detector.vectors[2], beams[i], sizeof beams[i]); /* facing it */
            probe_cross(beams[i], VECTOR(0.3, 0.4, 0.2), s.detector.vectors[0]);
            probe_cross(beams[i], s.detector.vectors[0], s.detector.vectors[1]);
            memcpy(s.beam.polarization_axis, s.detector.vectors[0], sizeof beams[i]);
            s.detector.rotation[1] = 5;
            s.detector.twotheta = 3;
            s.crystal.misset[0] = 12;
            s.crystal.misset[2] = 34;
            (void)snprintf(what, sizeof what, "convention %d, beam %g %g %g", convention,
                           beams[i][0], beams[i][1], beams[i][2]);
            compare_shape(what, &s);
        }
    return 0;
}

/* The turn is the smallest one: an axis at right angles to both beams stays. */
static int smallest_turn(void)
{
    nb_scene s = plate(NB_CONVENTION_XDS);

    s.beam.direction[0] = 0.1;
    s.beam.direction[2] = 1;
    s.scan.axis[1] = 1;
    same("an axis across the turn", find(&s).of.spindle, VECTOR(0, 1, 0), unit_allowed);
    return 0;
}

static int polarizations(void)
{
    nb_scene s = plate(NB_CONVENTION_MOSFLM);

    s.beam.unpolarised = 1;
    s.beam.polarization = 0.9;
    tap_close("fraction without a factor", find(&s).of.polarization_fraction, 0.5, 0);
    s.beam.unpolarised = 0;
    s.beam.polarization = -1;
    tap_close("fraction of K = -1", find(&s).of.polarization_fraction, 0, 0);
    s.beam.polarization = 0;
    s.beam.polarization_axis[0] = 2;
    same("normal where the field lies along the beam", find(&s).of.polarization_normal,
         VECTOR(0, 1, 0), 0);
    return 0;
}

static int other_panels(void)
{
    const nb_scene s = plate(NB_CONVENTION_MOSFLM), resolved = probe_resolve(&s);
    struct found f = find(&s);

    for (int i = -1; i <= 1; i += 2)
        tap_check(laboratory_panel(probe_context(), &resolved, &f.of, NULL, i, &f.panel)
                      == NB_ERR_ARGUMENT,
                  "there is no panel %d", i);
    return 0;
}

static int nexus(void)
{
    double v[3] = {1, 2, 3};

    laboratory_nexus(v, v);
    same("1 2 3 in the frame of NeXus", v, VECTOR(-1, 2, -3), 0);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"conventions", conventions},     {"origins", origins},
        {"crystals", crystals},           {"beams_off_axis", beams_off_axis},
        {"smallest_turn", smallest_turn}, {"polarizations", polarizations},
        {"other_panels", other_panels},   {"nexus", nexus},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
