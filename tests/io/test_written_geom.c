/*
 * test_written_geom.c - geometry files of CrystFEL that are written: read again, panels and
 * images are the same. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "io/experiments.h"
#include "io/geometries.h"
#include "support/files.h"

/* Four tilted panels in two groups, a beam that is tilted, too. */
static void four_panels(nb_scene *s, nb_panel panel[4], nb_panel_group group[2])
{
    const double degree = 3.14159265358979323846 / 180;

    for (int i = 0; i < 2; i++) {
        const double c = cos((3 - 7 * i) * degree), r = sin((3 - 7 * i) * degree);

        group[i] = (nb_panel_group){.origin = {i ? 9 : -9, 1 - i, 60},
                                    .fast = {c, 0, r},
                                    .slow = {0, 1, 0}};
        (void)snprintf(group[i].name, sizeof group[i].name, "q%d", i);
    }
    for (int i = 0; i < 4; i++) {
        const double c = cos((1 + i) * degree), r = sin((1 + i) * degree);

        panel[i] = (nb_panel){.nslow = 40,
                              .nfast = 30,
                              .slow0 = 41 * i,
                              .fast0 = i,
                              .origin = {-6 + 0.1 * i, i % 2 ? 0.3 : -8.7, 0.01 * i},
                              .fast = {c, r, 0},
                              .slow = {-r * c, c * c, r},
                              .rotation = {0.1, 0.2, 0.3 * i},
                              .group = 1 + i / 2};
        (void)snprintf(panel[i].name, sizeof panel[i].name, "p%d", i);
    }
    *s = (nb_scene){.crystal = {.cell = {40, 50, 60, 80, 95, 100},
                                .misset = {10, 20, 30},
                                .ncells = {5, 5, 5},
                                .shape = NB_SHAPE_GAUSS,
                                .default_f = 100},
                    .beam = {.fluence = 1e28, .wavelength = 1.21},
                    .detector = {.convention = NB_CONVENTION_XDS,
                                 .pixel = 0.2,
                                 .npanel = 4,
                                 .panel = panel,
                                 .ngroup = 2,
                                 .group = group},
                    .oversample = 1};
}

static double *image_of(nb_simulator *sim, int n, int m)
{
    double *const pixel = calloc((size_t)n * (size_t)m, sizeof *pixel);
    nb_array array = nb_array_f64(pixel, n, m);

    if (!pixel) abort();
    check_ok(nb_forward(sim, NULL, &array), "image");
    return pixel;
}

/* Compares the panels of two simulators, mm and unit vectors. */
static void same_panels(nb_simulator *a, nb_simulator *b, int n)
{
    double apart = 0, turned = 0;
    int same = 1;

    for (int i = 0; i < n; i++) {
        const nb_panel p = geom_panel_of(a, i), q = geom_panel_of(b, i);

        for (int k = 0; k < 3; k++) {
            apart = fmax(apart, fabs(p.origin[k] - q.origin[k]));
            turned = fmax(turned, fabs(p.fast[k] - q.fast[k]));
            turned = fmax(turned, fabs(p.slow[k] - q.slow[k]));
        }
        same &= p.nslow == q.nslow && p.nfast == q.nfast && p.slow0 == q.slow0
                && p.fast0 == q.fast0 && fabs(p.pixel - q.pixel) < 1e-15;
    }
    tap_promised("corners, mm", apart, 0, 1e-9);
    tap_promised("axes", turned, 0, 1e-9);
    tap_check(same, "sizes and places in the image");
}

static int round_trip(void)
{
    nb_panel panel[4];
    nb_panel_group group[2];
    nb_scene s, again;
    nb_simulator *sim, *back;
    nb_geometry *g;
    nb_geometry_info info;
    double *one, *other, peak = 0, off = 0;

    four_panels(&s, panel, group);
    sim = geom_simulator(&s);
    check_ok(nb_geom_write(sim, NULL, in_folder("four.geom")), "written");
    g = geom_sample(in_folder("four.geom"));
    tap_check(!geom_lines[0], "nothing is noted: %s", geom_lines);
    nb_geometry_info_get(g, &info);
    tap_close("wavelength", info.wavelength, 1.21, 1e-15);
    again = s;
    again.beam.wavelength = 0;
    tap_check(nb_geometry_apply(g, &again) == NB_OK, "applied");
    tap_check(again.detector.ngroup == 2, "two groups");
    for (int i = 0; i < 4; i++)
        tap_check(!strcmp(again.detector.panel[i].name, panel[i].name)
                      && !strcmp(geom_group_name(&again, again.detector.panel[i].group),
                                 group[i / 2].name),
                  "%s is in %s", panel[i].name, group[i / 2].name);
    back = geom_simulator(&again);
    same_panels(sim, back, 4);
    one = image_of(sim, info.nslow, info.nfast);
    other = image_of(back, info.nslow, info.nfast);
    for (int i = 0; i < info.nslow * info.nfast; i++) {
        peak = fmax(peak, one[i]);
        off = fmax(off, fabs(one[i] - other[i]));
    }
    tap_check(peak > 0, "the image has a peak of %g", peak);
    tap_close("image of what was read, of the peak", off / peak, 0, 1e-10);
    /* and so again */
    check_ok(nb_geom_write(back, NULL, in_folder("five.geom")), "written");
    nb_geometry_free(g);
    g = geom_sample(in_folder("five.geom"));
    again.detector.distance = 0;
    tap_check(nb_geometry_apply(g, &again) == NB_OK, "applied");
    nb_simulator_free(back);
    back = geom_simulator(&again);
    same_panels(sim, back, 4);
    nb_simulator_free(back);
    nb_simulator_free(sim);
    nb_geometry_free(g);
    free(one);
    free(other);
    return 0;
}

/* Both sample files: written and read, they are the same, with their groups. */
static int samples_again(void)
{
    static const char *const paths[] = {JUNGFRAU, GEOMETRIES "agipd.geom"};
    static const int conventions[] = {NB_CONVENTION_MOSFLM, NB_CONVENTION_XDS};

    for (int i = 0; i < 4; i++) {
        nb_geometry *g = geom_sample(paths[i / 2]), *h;
        nb_geometry_info info, now;
        const nb_scene s = geom_scene(g, conventions[i % 2]);
        nb_simulator *sim = geom_simulator(&s), *back;
        nb_scene again;

        check_ok(nb_geom_write(sim, NULL, in_folder("again.geom")), "written");
        /* groups of jungfrau.geom are called like panels */
        tap_check(geom_count("note: ") == (i < 2), "names are noted: %s", geom_lines);
        h = geom_sample(in_folder("again.geom"));
        again = geom_scene(h, conventions[i % 2]);
        back = geom_simulator(&again);
        nb_geometry_info_get(g, &info);
        nb_geometry_info_get(h, &now);
        same_panels(sim, back, info.npanel);
        tap_check(now.ngroup == info.ngroup && now.nslow == info.nslow
                      && now.nfast == info.nfast && now.masked == 0,
                  "groups and size, without the mask");
        for (int k = 0; k < info.npanel; k++)
            tap_check(!strcmp(again.detector.panel[k].name, s.detector.panel[k].name), "%s",
                      again.detector.panel[k].name);
        tap_close("clen", now.distance, info.distance, EXPERIMENT_LENGTH);
        nb_simulator_free(back);
        nb_simulator_free(sim);
        nb_geometry_free(g);
        nb_geometry_free(h);
    }
    return 0;
}

/* A rectangle, placed as in nanoBragg under a beam that is tilted, is one panel. */
static int rectangle(void)
{
    const nb_scene s = {.crystal = {.cell = {40}, .default_f = 1},
                        .beam = {.direction = {1, 0.01, -0.02}},
                        .detector = {.nslow = 30,
                                     .nfast = 40,
                                     .pixel = 0.25,
                                     .distance = 70,
                                     .rotation = {1, -2, 3}},
                        .oversample = 1};
    nb_simulator *sim = geom_simulator(&s), *back;
    nb_geometry *g;
    nb_scene again = {.crystal = {.cell = {40}, .default_f = 1},
                      .detector = {.convention = NB_CONVENTION_XDS}};
    nb_description a, b;

    check_ok(nb_geom_write(sim, NULL, in_folder("one.geom")), "written");
    tap_check(!geom_lines[0], "nothing is noted: %s", geom_lines);
    g = geom_sample(in_folder("one.geom"));
    tap_check(nb_geometry_apply(g, &again) == NB_OK && again.detector.npanel == 1
                  && again.detector.ngroup == 0
                  && !strcmp(again.detector.panel[0].name, "p0"),
              "one panel, p0, in no group");
    back = geom_simulator(&again);
    check_ok(nb_simulator_describe(sim, NULL, &a), "describe");
    check_ok(nb_simulator_describe(back, NULL, &b), "describe");
    tap_promised("distance", b.distance, a.distance, 1e-9);
    tap_promised("near point, fast", b.close_fast, a.close_fast, 1e-9);
    tap_promised("near point, slow", b.close_slow, a.close_slow, 1e-9);
    tap_promised("beam, fast", b.beam_fast, a.beam_fast, 1e-9);
    tap_promised("beam, slow", b.beam_slow, a.beam_slow, 1e-9);
    nb_simulator_free(sim);
    nb_simulator_free(back);
    nb_geometry_free(g);
    return 0;
}

/* Names that a .geom cannot have are numbers; pixels of another size have their res. */
static int written_names(void)
{
    static const struct {
        const char *panel, *group, *expected;
    } rows[] = {
        {"p1", "q0", "rigid_group_q0 = p0,p1"},
        {"", "q0", "rigid_group_q0 = p0,p1"},
        {"p0", "q0", "rigid_group_q0 = p0,p1"},
        {"bad", "q0", "rigid_group_q0 = p0,p1"},
        {"a b", "q0", "rigid_group_q0 = p0,p1"},
        {"p1", "p0", "rigid_group_g0 = p0,p1"},
        {"group", "all", "rigid_group_g0 = p0,p1"},
        {"g1", "", "rigid_group_g0 = p0,p1"},
        {"x", "a_collection", "rigid_group_g0 = p0,x"},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        nb_panel panel[4];
        nb_panel_group group[2];
        nb_scene s;
        nb_simulator *sim;
        char *bytes;
        size_t n;

        four_panels(&s, panel, group);
        memset(panel[1].name, 0, sizeof panel[1].name);
        memset(group[0].name, 0, sizeof group[0].name);
        (void)snprintf(panel[1].name, sizeof panel[1].name, "%s", rows[i].panel);
        (void)snprintf(group[0].name, sizeof group[0].name, "%s", rows[i].group);
        panel[3].pixel = 0.1;
        panel[2].group = 0;
        sim = geom_simulator(&s);
        check_ok(nb_geom_write(sim, NULL, in_folder("n.geom")), "written");
        tap_check(geom_count("note: ") == (i > 0), "panel '%s', group '%s': %s",
                  rows[i].panel, rows[i].group, geom_lines);
        bytes = slurp(in_folder("n.geom"), &n);
        tap_check(strstr(bytes, rows[i].expected) != NULL, "%s", rows[i].expected);
        tap_check(strstr(bytes, "\np3/res = 10000\n") != NULL, "p3 has a res of its own");
        tap_check(strstr(bytes, "\nrigid_group_p2 = p2\n") != NULL,
                  "p2, in no group, is a rigid one");
        free(bytes);
        nb_geometry_free(geom_sample(in_folder("n.geom")));
        tap_check(!geom_lines[0], "and is read without a note: %s", geom_lines);
        nb_simulator_free(sim);
    }
    return 0;
}

static int not_written(void)
{
    nb_scene s = {.crystal = {.cell = {40}, .default_f = 1},
                  .detector = {.nslow = 3, .nfast = 3, .curved = 1}};
    nb_simulator *sim = geom_simulator(&s);

    empty_folder();
    tap_check(nb_geom_write(sim, NULL, in_folder("c.geom")) == NB_ERR_UNSUPPORTED
                  && strstr(nb_context_message(geom_context()),
                            ".geom cannot state a curved"),
              "a curved detector: %s", nb_context_message(geom_context()));
    nb_simulator_free(sim);
    s.detector.curved = 0;
    s.detector.vectors[0][1] = 1, s.detector.vectors[1][1] = 1;
    s.detector.vectors[1][2] = 0.1, s.detector.vectors[2][0] = 1;
    sim = geom_simulator(&s);
    tap_check(nb_geom_write(sim, NULL, in_folder("c.geom")) == NB_ERR_UNSUPPORTED
                  && strstr(nb_context_message(geom_context()), "right angles"),
              "skew axes: %s", nb_context_message(geom_context()));
    tap_check(nb_geom_write(sim, NULL, NULL) == NB_ERR_ARGUMENT, "no path");
    tap_check(nb_geom_write(NULL, NULL, "a") == NB_ERR_ARGUMENT, "no simulator");
    nb_simulator_free(sim);
    s = (nb_scene){.crystal = {.cell = {40}, .default_f = 1},
                   .detector = {.nslow = 3, .nfast = 3}};
    sim = geom_simulator(&s);
    tap_check(nb_geom_write(sim, NULL, in_folder("none/c.geom")) == NB_ERR_FILE,
              "no folder: %s", nb_context_message(geom_context()));
    tap_check(count_files(in_folder("")) == 0, "nothing is there");
    nb_simulator_free(sim);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"round_trip", round_trip},   {"samples_again", samples_again},
        {"rectangle", rectangle},     {"written_names", written_names},
        {"not_written", not_written},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
