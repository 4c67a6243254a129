/*
 * test_geom.c - geometry files of CrystFEL: what is read, compared with numbers worked out
 * by hand. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "io/experiments.h"
#include "io/geometries.h"
#include "support/files.h"

/* ---- what is read ---- */

static int plain(void)
{
    nb_geometry *g = geom_parsed(geom_text);
    nb_geometry_info info;
    nb_scene s = geom_scene(g, NB_CONVENTION_XDS);
    nb_simulator *sim = geom_simulator(&s);
    nb_panel p = geom_panel_of(sim, 0), q = geom_panel_of(sim, 1);

    nb_geometry_info_get(g, &info);
    tap_check(info.npanel == 2 && info.ngroup == 0 && info.nslow == 5 && info.nfast == 10
                  && info.masked == 0,
              "2 panels in 5 x 10 pixels, no group, no mask");
    tap_close("pixel", info.pixel, 0.1, 1e-16);
    tap_close("distance", info.distance, 80, EXPERIMENT_LENGTH);
    tap_close("wavelength", info.wavelength, 2, 1e-15);
    tap_check(!info.distance_from && !info.wavelength_from, "no place in a data file");
    tap_check(s.beam.wavelength == info.wavelength && s.detector.pixel == info.pixel
                  && !s.detector.mask,
              "wavelength and pixel are in the scene");
    same_vector("fast 0", p.fast, VECTOR(1, 0, 0), 0);
    same_vector("slow 0", p.slow, VECTOR(0, 1, 0), 0);
    same_vector("corner 0", p.origin, VECTOR(-0.5, 0.25, 80), EXPERIMENT_LENGTH);
    same_vector("fast 1", q.fast, VECTOR(0, -1, 0), 0);
    same_vector("slow 1", q.slow, VECTOR(1, 0, 0), 0);
    same_vector("corner 1", q.origin, VECTOR(0.2, 0.8, 81), EXPERIMENT_LENGTH);
    tap_check(q.nfast == 5 && q.nslow == 4 && q.fast0 == 5 && q.slow0 == 0
                  && !strcmp(q.name, "p1"),
              "p1 has 4 x 5 pixels from fast 5 on");
    tap_check(!geom_lines[0], "nothing is noted: %s", geom_lines);
    nb_simulator_free(sim);
    nb_geometry_free(g);
    return 0;
}

/* (x, y, z) of the file is (z, y, -x) where the beam is +x: the image is the same one. */
static int frames(void)
{
    static const int conventions[] = {NB_CONVENTION_MOSFLM, NB_CONVENTION_DENZO,
                                      NB_CONVENTION_ADXV,   NB_CONVENTION_XDS,
                                      NB_CONVENTION_DIALS,  NB_CONVENTION_CUSTOM};
    nb_geometry *g = geom_parsed(geom_text);

    for (size_t i = 0; i < COUNT(conventions); i++) {
        const nb_scene s = geom_scene(g, conventions[i]);
        nb_simulator *sim = geom_simulator(&s);
        const nb_panel p = geom_panel_of(sim, 0), q = geom_panel_of(sim, 1);
        nb_description d;

        check_ok(nb_simulator_describe(sim, NULL, &d), "describe");
        if (d.beam[0] > 0.5) {
            same_vector("corner 0", p.origin, VECTOR(80, 0.25, 0.5), EXPERIMENT_LENGTH);
            same_vector("fast 0", p.fast, VECTOR(0, 0, -1), 0);
            same_vector("slow 0", p.slow, VECTOR(0, 1, 0), 0);
            same_vector("corner 1", q.origin, VECTOR(81, 0.8, -0.2), EXPERIMENT_LENGTH);
        } else {
            same_vector("corner 0", p.origin, VECTOR(-0.5, 0.25, 80), EXPERIMENT_LENGTH);
            same_vector("corner 1", q.origin, VECTOR(0.2, 0.8, 81), EXPERIMENT_LENGTH);
        }
        nb_simulator_free(sim);
    }
    nb_geometry_free(g);
    return 0;
}

static int numbers_and_units(void)
{
    static const struct {
        const char *old, *by;
        double wavelength, distance; /* A, mm */
    } rows[] = {
        {"6199.21", "6199.21 eV", 2, 80},
        {"6199.21", "6.19921 keV", 2, 80},
        {"6199.21", "0.00619921 MeV", 2, 80},
        {"photon_energy = 6199.21", "wavelength = 1.5 A", 1.5, 80},
        {"photon_energy = 6199.21", "wavelength=1.5e-10 m ; short", 1.5, 80},
        {"photon_energy = 6199.21\n", "", 0, 80},
        {"0.08", "80 mm", 2, 80},
        {"0.08", "0.08 m", 2, 80},
        {"0.08", "+8e-2m", 2, 80},
        {"clen = 0.08\n", "detector_shift_x = 1e-3\ndetector_shift_y = -2 mm\nclen=0.08\n",
         2, 80},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        nb_geometry *g = geom_changed(rows[i].old, rows[i].by);
        nb_geometry_info info;

        nb_geometry_info_get(g, &info);
        tap_close(rows[i].by, info.wavelength, rows[i].wavelength, 1e-15);
        tap_close(rows[i].by, info.distance, rows[i].distance, EXPERIMENT_LENGTH);
        if (strstr(rows[i].by, "shift")) {
            const nb_scene s = geom_scene(g, NB_CONVENTION_XDS);

            same_vector("shifted", s.detector.origin, VECTOR(1, -2, 80), EXPERIMENT_LENGTH);
        }
        tap_check(!geom_lines[0], "nothing is noted: %s", geom_lines);
        nb_geometry_free(g);
    }
    return 0;
}

/* What holds for panels first named after it, pixels of two sizes, clen of each panel. */
static int panels_differ(void)
{
    nb_geometry *g = geom_changed("coffset = 0.001\n", "res = 5000\np0/clen = 90 mm\n"
                                                       "p1/clen = 0.095\np0/res = 10000\n");
    const nb_scene s = geom_scene(g, NB_CONVENTION_XDS);
    nb_geometry_info info;
    nb_simulator *sim = geom_simulator(&s);
    const nb_panel p = geom_panel_of(sim, 0), q = geom_panel_of(sim, 1);

    tap_close("pixel of p0", p.pixel, 0.1, 1e-16);
    tap_close("pixel of p1", q.pixel, 0.2, 1e-16);
    same_vector("corner 0", p.origin, VECTOR(-0.5, 0.25, 90), EXPERIMENT_LENGTH);
    same_vector("corner 1", q.origin, VECTOR(0.4, 1.6, 95), EXPERIMENT_LENGTH);
    nb_simulator_free(sim);
    nb_geometry_free(g);
    g = geom_changed("res = 10000", "pixel_pitch = 0.0001");
    tap_close("pixel_pitch", geom_scene(g, NB_CONVENTION_XDS).detector.pixel, 0.1, 1e-16);
    nb_geometry_free(g);
    g = geom_changed("clen = 0.08\n", "");
    nb_geometry_info_get(g, &info);
    tap_check(info.distance_from && !*info.distance_from, "a text without clen");
    nb_geometry_free(g);
    return 0;
}

/* Numbers that stand in data files are those of the scene. */
static int places_in_data(void)
{
    nb_geometry *g = geom_changed("0.08", "/LCLS/detector_1/EncoderValue mm");
    nb_geometry_info info;
    nb_scene s = {.detector = {.convention = NB_CONVENTION_XDS}};

    nb_geometry_info_get(g, &info);
    tap_check(info.distance_from
                  && !strcmp(info.distance_from, "/LCLS/detector_1/EncoderValue"),
              "clen is at '%s'", info.distance_from ? info.distance_from : "");
    tap_check(nb_geometry_apply(g, &s) == NB_ERR_SCENE && s.detector.npanel == 0,
              "a scene without a distance is refused and not changed");
    s.detector.distance = 123;
    tap_check(nb_geometry_apply(g, &s) == NB_OK && s.detector.distance == 0, "one with it");
    same_vector("origin", s.detector.origin, VECTOR(0, 0, 123), 0);
    nb_geometry_free(g);
    g = geom_changed("clen = 0.08\n", "");
    nb_geometry_info_get(g, &info);
    tap_check(info.distance_from && !*info.distance_from, "no clen");
    tap_check(nb_geometry_apply(g, &(nb_scene){0}) == NB_ERR_SCENE, "is none");
    nb_geometry_free(g);
    g = geom_changed("6199.21", "/LCLS/photon_energy_eV eV");
    nb_geometry_info_get(g, &info);
    tap_check(info.wavelength_from
                  && !strcmp(info.wavelength_from, "/LCLS/photon_energy_eV")
                  && info.wavelength == 0,
              "the energy is in a file");
    s = (nb_scene){0};
    tap_check(nb_geometry_apply(g, &s) == NB_ERR_SCENE, "a scene without a wavelength");
    s.beam.wavelength = 1.25;
    tap_check(nb_geometry_apply(g, &s) == NB_OK && s.beam.wavelength == 1.25,
              "one with it");
    s = (nb_scene){.beam = {.nsource = 3}};
    tap_check(nb_geometry_apply(g, &s) == NB_OK, "one with sources");
    nb_geometry_free(g);
    g = geom_parsed(geom_text);
    s = (nb_scene){.beam = {.wavelength = 1.25}, .detector = {.distance = 99}};
    tap_check(nb_geometry_apply(g, &s) == NB_OK && s.beam.wavelength == 1.25, "it stays");
    same_vector("and so does a distance", s.detector.origin, VECTOR(99, 0, 0), 0);
    nb_geometry_free(g);
    return 0;
}

/* Modules at indices of a third axis, and data of several places, are stacked. */
static int stacked(void)
{
    static const char two[] = "data = /a\n";
    nb_geometry *g = geom_sample(GEOMETRIES "agipd.geom");
    nb_geometry_info info;
    nb_scene s = geom_scene(g, NB_CONVENTION_XDS);

    nb_geometry_info_get(g, &info);
    tap_check(info.npanel == 8 && info.nslow == 512 && info.nfast == 32,
              "4 modules of 128 x 32 are an image of %d x %d", info.nslow, info.nfast);
    for (int i = 0; i < info.npanel; i++)
        tap_check(s.detector.panel[i].slow0 == 64 * i && s.detector.panel[i].fast0 == 0,
                  "%s begins with row %d", s.detector.panel[i].name, 64 * i);
    nb_geometry_free(g);
    g = geom_changed("res = 10000\n", "res = 10000\ndata = /a\np1/data = /b/%/c\n");
    nb_geometry_info_get(g, &info);
    s = geom_scene(g, NB_CONVENTION_XDS);
    tap_check(info.nslow == 10 && s.detector.panel[1].slow0 == 5, "%s and another one",
              two);
    nb_geometry_free(g);
    /* indices 1 and 3 of one axis, 0 of another of two: row 3 of 4 slabs of 2 */
    g = geom_changed("res = 10000\n",
                     "res = 10000\ndim0 = %\ndim1 = 1\ndim2 = 1\ndim3 = ss\n"
                     "dim4 = fs\np1/dim1 = 3\np1/dim2 = 0\n");
    nb_geometry_info_get(g, &info);
    s = geom_scene(g, NB_CONVENTION_XDS);
    tap_check(info.nslow == 8 * 5 && s.detector.panel[0].slow0 == 6 * 5
                  && s.detector.panel[1].slow0 == 3 * 5,
              "fixed axes count like those of an array");
    nb_geometry_free(g);
    return 0;
}

/* ---- groups ---- */

static int groups(void)
{
    nb_geometry *g = geom_sample(JUNGFRAU);
    const nb_scene s = geom_scene(g, NB_CONVENTION_XDS);
    const nb_detector *d = &s.detector;
    double middle[3] = {0, 0, 0}, chain[3] = {0, 0, 0};

    tap_check(d->npanel == 8 && d->ngroup == 10, "2 halves with 4 modules each");
    for (int i = 0; i < 8; i++) {
        const nb_panel_group *own = d->group + d->panel[i].group - 1;

        tap_check(!strcmp(own->name, d->panel[i].name)
                      && !strcmp(geom_group_name(&s, own->parent),
                                 i < 4 ? "left" : "right"),
                  "%s is in its module, which is in its half", d->panel[i].name);
    }
    /* the middle of m1 by its numbers in the file */
    for (int k = 0; k < 2; k++) {
        const double corner[2] = {-1041.75, -539}, fs[2] = {1, -0.000873},
                     ss[2] = {0.000873, 1};

        middle[k] = (corner[k] + 512 * fs[k] + 256 * ss[k]) * 1000 / 13333.3;
    }
    middle[2] = 0.1;
    for (int i = d->panel[1].group; i > 0; i = d->group[i - 1].parent)
        for (int k = 0; k < 3; k++) chain[k] += d->group[i - 1].origin[k];
    /* the file has six decimals of axes, over 512 pixels */
    same_vector("middle of m1", chain, middle, 512 * 0.075 * 1e-6);
    nb_geometry_free(g);
    return 0;
}

static const struct {
    const char *lines; /* behind the panels */
    int ngroup; /* of p0 and p1 */
    const char *of[2];
} groupings[] = {
    {"", 0, {"", ""}},
    {"group_a = p0\ngroup_b = p1\ngroup_all = a,b\n", 2, {"a", "b"}},
    {"group_a = p0 , p1\n", 1, {"a", "a"}},
    {"group_a = p0\ngroup_b = a,p1\n", 2, {"a", "b"}},
    {"group_a = p0\nrigid_group_q = p0,p1\n", 1, {"a", ""}},
    {"rigid_group_q = p0,p1\nrigid_group_a = p1\n", 2, {"q", "a"}},
    {"rigid_group_a = p1\nrigid_group_b = p0\nrigid_group_collection_c = b\n",
     1,
     {"b", ""}},
    {"rigid_group_a = p0,p1\nrigid_group_b = p1,p0\n", 1, {"a", "a"}},
    {"p0/rigid_group = q\np1/rigid_group = q\n", 1, {"q", "q"}},
    {"group_empty =\n", 0, {"", ""}},
};

static int trees(void)
{
    for (size_t i = 0; i < COUNT(groupings); i++) {
        char whole[1024];
        nb_geometry *g;
        nb_scene s;

        (void)snprintf(whole, sizeof whole, "%s%s", geom_text, groupings[i].lines);
        g = geom_parsed(whole);
        s = geom_scene(g, NB_CONVENTION_XDS);
        tap_check(s.detector.ngroup == groupings[i].ngroup, "%d groups of\n%s",
                  s.detector.ngroup, groupings[i].lines);
        for (int k = 0; k < 2; k++)
            tap_check(!strcmp(geom_group_name(&s, s.detector.panel[k].group),
                              groupings[i].of[k]),
                      "p%d is in '%s'", k, groupings[i].of[k]);
        tap_check(!geom_lines[0], "nothing is noted: %s", geom_lines);
        nb_geometry_free(g);
    }
    return 0;
}

/* Of groups that overlap the larger one is kept, then the first. */
static int overlapping_groups(void)
{
    static const char third[] = "p2/min_fs = 0\np2/max_fs = 4\np2/min_ss = 5\n"
                                "p2/max_ss = 9\np2/fs = x\np2/ss = y\np2/corner_x = 9\n"
                                "p2/corner_y = 9\nrigid_group_a = p0,p1\n"
                                "rigid_group_b = p1,p2\nrigid_group_c = p2\n";
    char whole[2048];
    nb_geometry *g;
    nb_scene s;

    (void)snprintf(whole, sizeof whole, "%s%s", geom_text, third);
    g = geom_parsed(whole);
    s = geom_scene(g, NB_CONVENTION_XDS);
    tap_check(s.detector.ngroup == 2
                  && !strcmp(geom_group_name(&s, s.detector.panel[1].group), "a")
                  && !strcmp(geom_group_name(&s, s.detector.panel[2].group), "c"),
              "a and c are kept");
    tap_check(geom_count("warning: ") == 1
                  && geom_count("input, line 31: group b overlaps group a and is left out")
                         == 1,
              "b is not: %s", geom_lines);
    nb_geometry_free(g);
    return 0;
}

/* ---- axes ---- */

static int axes_of_few_digits(void)
{
    nb_geometry *g = geom_changed("+1.0x +0.0y\np0/ss = +0.0x +1.0y",
                                  "+0.999x +0.005y -0.002z\np0/ss = -0.006 x + 0.999 y");
    const nb_scene s = geom_scene(g, NB_CONVENTION_XDS);
    const double *f = s.detector.panel[0].fast, *l = s.detector.panel[0].slow;
    double dot = 0, ff = 0, ll = 0, turned[2] = {0, 0};
    const double given[2][3] = {{0.999, 0.005, -0.002}, {-0.006, 0.999, 0}};

    for (int k = 0; k < 3; k++) {
        dot += f[k] * l[k], ff += f[k] * f[k], ll += l[k] * l[k];
        turned[0] += f[k] * given[0][k], turned[1] += l[k] * given[1][k];
    }
    tap_close("inner product", dot, 0, 1e-15);
    tap_close("length of fast", ff, 1, 1e-15);
    tap_close("length of slow", ll, 1, 1e-15);
    /* each turns by half of the angle that is missing, 0.5 (0.999 (0.006 - 0.005)) */
    tap_close("cosine of fast to the given", turned[0] / sqrt(0.999 * 0.999 + 29e-6),
              cos(0.5 * 0.001 / 0.999), 1e-9);
    tap_close("of slow", turned[1] / sqrt(0.999 * 0.999 + 36e-6), cos(0.5 * 0.001 / 0.999),
              1e-9);
    tap_check(geom_count("note: ") == 1
                  && geom_count("1 of 2 panels are corrected to unit vectors") == 1
                  && geom_count("the vectors of p0 were 0.001 off") == 1,
              "one note: %s", geom_lines);
    nb_geometry_free(g);
    return 0;
}

/* ---- masks ---- */

/* 1 where a pixel of jungfrau.geom is bad, by its lines. */
static int is_bad(int m, int s, int f)
{
    static const double corner[8][2] = {{-1040, -1087},   {-1041.75, -539}, {-1039.75, 8},
                                        {-1038.5, 560.5}, {1045.75, 1100},  {1047.25, 547},
                                        {1046.25, -1.75}, {1046.5, -548}};
    static const double fs[8][2] =
        {{1, 0.000524},         {1, -0.000873},  {1, 0.000349}, {0.999998, 0.001745},
         {-0.999999, 0.001396}, {-1, -0.000698}, {-1, 0},       {-0.999999, -0.001047}};
    const double x = corner[m][0] + f * fs[m][0] - s * fs[m][1];
    const double y = corner[m][1] + f * fs[m][1] + s * fs[m][0];

    if (s == 0 || s == 511 || f == 0 || f == 1023) return 1;
    if (x > -30 && x < 30 && y > -1200 && y < 20) return 1;
    return m == 3 && f >= 512 && f <= 519 && s <= 64;
}

static int masks(void)
{
    nb_geometry *g = geom_sample(JUNGFRAU);
    nb_geometry_info info;
    nb_scene s = geom_scene(g, NB_CONVENTION_XDS);
    size_t bad = 0, wrong = 0;

    for (int row = 0; row < 4096; row++)
        for (int f = 0; f < 1024; f++) {
            const int expected = is_bad(row / 512, row % 512, f);

            bad += (size_t)expected;
            wrong += s.detector.mask[row * 1024 + f] != !expected;
        }
    nb_geometry_info_get(g, &info);
    tap_check(wrong == 0 && bad == info.masked, "%zu pixels are bad, %zu are otherwise",
              bad, wrong);
    nb_geometry_free(g);
    /* a panel that is not to be used, and rows of data of one module */
    g = geom_sample(GEOMETRIES "agipd.geom");
    s = geom_scene(g, NB_CONVENTION_XDS);
    wrong = 0;
    for (int row = 0; row < 512; row++)
        for (int f = 0; f < 32; f++)
            wrong +=
                s.detector.mask[row * 32 + f] != !((row >= 320 && row < 384) || row == 255);
    tap_check(wrong == 0, "%zu pixels of modules are otherwise", wrong);
    nb_geometry_free(g);
    /* beyond the panel, of all panels, of no pixel */
    g = geom_changed(
        "res = 10000\n",
        "res = 10000\nbad1/min_fs = 3\nbad1/max_fs = 1e300\nbad1/min_ss = -1e9\n"
        "bad1/max_ss = 0\nbad2/min_x = -9\nbad2/max_x = 9\nbad2/min_y = 1\n"
        "bad2/max_y = -1\nbad2/panel = p0\np0/no_index = false\np1/no_index = 0\n");
    nb_geometry_info_get(g, &info);
    tap_check(info.masked == 7, "%zu pixels of two panels, 7 expected", info.masked);
    nb_geometry_free(g);
    return 0;
}

/* Numbers of masked pixels, counted by hand. p0 has 5 x 5 pixels with corners at x = -5 to
 * -1 and y = 2.5 to 6.5; p1 has 5 x 4, at x = 2 to 5 and y = 4 to 8. */
static int bad_regions(void)
{
    static const char frames[] = "p1/min_fs = 0\np1/max_fs = 4\np0/dim0 = 0\np1/dim0 = 1\n"
                                 "p0/dim1 = ss\np1/dim1 = ss\np0/dim2 = fs\np1/dim2 = fs\n";
    static const char shift[] = "detector_shift_x = 1e-3\ndetector_shift_y = -2 mm\n";
    static const char lab[] = "bad/min_x = -5\nbad/max_x = -2\nbad/min_y = 2.5\n"
                              "bad/max_y = 4.6\n";
    static const char moved[] = "bad/min_x = 5\nbad/max_x = 8\nbad/min_y = -17.5\n"
                                "bad/max_y = -15.4\n";
    static const char both[] = "bad/min_x = -3\nbad/max_x = 4\nbad/min_y = 3\n"
                               "bad/max_y = 6\n";
    static const char data[] = "bad/min_fs = 0\nbad/max_fs = 1\nbad/min_ss = 0\n"
                               "bad/max_ss = 2\n";
    static const struct {
        const char *lines[3];
        size_t masked;
        int warnings;
    } cases[] = {
        {{lab}, 4, 0},
        {{lab, shift}, 0, 0},
        {{moved, shift}, 4, 0},
        {{both}, 2 * 3 + 2 * 2, 0},
        {{data}, 6, 0},
        {{data, frames}, 12, 1},
        {{data, frames, "bad/dim0 = 1\n"}, 6, 0},
        {{data, frames, "bad/dim0 = 2\n"}, 0, 0},
        {{data, frames, "bad/panel = p1\n"}, 6, 0},
        {{data, "bad/max_fs = 2.9\n"}, 9, 0},
        {{both, "bad/panel = p1\n"}, 4, 0},
        {{both, frames, "bad/dim0 = 0\n"}, 6, 0},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char lines[1024] = "p1/corner_y = 8\n";
        nb_geometry_info info;
        nb_geometry *g;

        for (size_t k = 0; k < 3 && cases[i].lines[k]; k++)
            (void)snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "%s",
                           cases[i].lines[k]);
        g = geom_changed("p1/corner_y = 8\n", lines);
        nb_geometry_info_get(g, &info);
        tap_check(info.masked == cases[i].masked
                      && geom_count("warning") == cases[i].warnings,
                  "case %zu: %zu pixels, %zu expected; %d warnings, %d expected: %s", i,
                  info.masked, cases[i].masked, geom_count("warning"), cases[i].warnings,
                  geom_lines);
        nb_geometry_free(g);
    }
    return 0;
}

static int null_arguments(void)
{
    nb_geometry *g = geom_parsed(geom_text);
    nb_geometry_info info = {.npanel = 7};
    nb_scene s = {0};

    tap_check(nb_geom_read(NULL, "a", &g) == NB_ERR_ARGUMENT, "no context");
    nb_geometry_free(g);
    g = geom_parsed(geom_text);
    check_refused(nb_geom_read(ctx, NULL, &(nb_geometry *){NULL}), NB_ERR_ARGUMENT, "path",
                  "");
    tap_check(nb_geom_read(ctx, "a", NULL) == NB_ERR_ARGUMENT, "no result");
    check_refused(nb_geom_read(ctx, in_folder("none"), &(nb_geometry *){NULL}), NB_ERR_FILE,
                  "none", "");
    tap_check(nb_geometry_apply(NULL, &s) == NB_ERR_ARGUMENT, "no geometry");
    tap_check(nb_geometry_apply(g, NULL) == NB_ERR_ARGUMENT, "no scene");
    nb_geometry_info_get(NULL, &info);
    nb_geometry_info_get(g, NULL);
    tap_check(info.npanel == 7, "nothing is written");
    nb_geometry_free(NULL);
    nb_geometry_free(g);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"plain", plain},
        {"frames", frames},
        {"numbers_and_units", numbers_and_units},
        {"panels_differ", panels_differ},
        {"places_in_data", places_in_data},
        {"stacked", stacked},
        {"groups", groups},
        {"trees", trees},
        {"overlapping_groups", overlapping_groups},
        {"axes_of_few_digits", axes_of_few_digits},
        {"masks", masks},
        {"bad_regions", bad_regions},
        {"null_arguments", null_arguments},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
