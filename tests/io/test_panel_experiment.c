/*
 * test_panel_experiment.c - detectors of several panels in experiments of DIALS: what is
 * written is read again, under every convention and in its groups; and what is refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "io/experiments.h"
#include "nanobrag_io/experiment/models.h"
#include "scene/probe.h"
#include "support/files.h"
#include "support/tiled.h"
#include "support/worst.h"

static nb_scene scene_of(struct tiled *t, int moved)
{
    nb_scene s = tiled_scene();

    s.beam.wavelength = 1.1;
    tiled_detector(t, moved, &s);
    return s;
}

static void write_scene(const nb_scene *scene, const char *path)
{
    nb_simulator *sim = probe_make(scene, NULL);

    check_ok(nb_expt_write(sim, NULL, path, NULL), "write");
    nb_simulator_free(sim);
}

/* Returns a scene with the detector, beam and crystal of an experiment. */
static nb_scene take(const nb_scene *scene, const nb_experiment *e)
{
    nb_scene s = *scene;

    s.detector = e->scene.detector;
    s.beam.wavelength = e->scene.beam.wavelength;
    s.beam.polarization = e->scene.beam.polarization;
    memcpy(s.beam.direction, e->scene.beam.direction, sizeof s.beam.direction);
    memcpy(s.beam.polarization_axis, e->scene.beam.polarization_axis,
           sizeof s.beam.polarization_axis);
    memcpy(s.crystal.cell, e->scene.crystal.cell, sizeof s.crystal.cell);
    memcpy(s.crystal.matrix, e->scene.crystal.matrix, sizeof s.crystal.matrix);
    memset(s.crystal.misset, 0, sizeof s.crystal.misset);
    memcpy(s.scan.axis, e->scene.scan.axis, sizeof s.scan.axis);
    return s;
}

/* Checks size, place in the image and name of panel i of both detectors, and returns how
 * far its origins and axes are apart. */
static double off_by(nb_simulator *a, nb_simulator *b, int i)
{
    nb_panel p, q;
    struct worst off = {0};

    check_ok(nb_simulator_panel(a, NULL, i, &p), "panel");
    check_ok(nb_simulator_panel(b, NULL, i, &q), "panel");
    worst_add_all(&off, q.origin, p.origin, 3, 1);
    worst_add_all(&off, q.fast, p.fast, 3, 1);
    worst_add_all(&off, q.slow, p.slow, 3, 1);
    tap_check(p.nslow == q.nslow && p.nfast == q.nfast && p.slow0 == q.slow0
                  && p.fast0 == q.fast0,
              "panel %d: size and place", i);
    tap_close("its pixel", q.pixel, p.pixel, 0);
    if (*p.name) tap_check(strcmp(p.name, q.name) == 0, "its name: %s", q.name);
    return off.error;
}

/* Panels, groups and the image come back. */
static int round_trip(void)
{
    static double first[TILED_PIXELS], again[TILED_PIXELS];

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (int moved = 0; moved < 2; moved++) {
        struct tiled t;
        const nb_scene scene = scene_of(&t, moved);
        const char *path = in_folder("panels.expt");
        struct worst w = {0};
        nb_experiment e;
        nb_simulator *a, *b;
        nb_scene s;

        write_scene(&scene, path);
        check_ok(nb_expt_read(ctx, path, 0, &e), "read");
        tap_check(e.geometry != NULL && e.scene.detector.npanel == TILED_PANELS
                      && e.scene.detector.ngroup == TILED_GROUPS,
                  "%d panels in %d groups", e.scene.detector.npanel,
                  e.scene.detector.ngroup);
        for (int g = 0; g < TILED_GROUPS; g++)
            tap_check(e.scene.detector.group[g].parent == t.group[g].parent,
                      "the parent of group %d is %d", g, t.group[g].parent);
        for (int i = 0; i < TILED_PANELS; i++)
            tap_check(e.scene.detector.panel[i].group == t.panel[i].group,
                      "the group of panel %d is %d", i, t.panel[i].group);
        s = take(&scene, &e);
        a = probe_make(&scene, NULL);
        b = probe_make(&s, NULL);
        for (int i = 0; i < TILED_PANELS; i++)
            tap_close("origin and axes, mm", off_by(a, b, i), 0, 1e-12);
        probe_image(&scene, first);
        probe_image(&s, again);
        worst_add_all(&w, again, first, TILED_PIXELS, probe_peak(first, TILED_PIXELS));
        worst_check(&w, 2e-12, "the image, of its peak");
        if (!moved) /* a move of a group moves what it moved before */
            for (int g = 0; g < TILED_GROUPS; g++) {
                nb_panel_group *group = (nb_panel_group *)e.scene.detector.group + g;
                double most = 0;

                t.group[g].rotation[0] = group->rotation[0] = 1;
                t.group[g].shift[1] = group->shift[1] = 0.2;
                nb_simulator_free(a);
                nb_simulator_free(b);
                a = probe_make(&scene, NULL);
                b = probe_make(&s, NULL);
                for (int i = 0; i < TILED_PANELS; i++) most = fmax(most, off_by(a, b, i));
                tap_close("with a move of a group", most, 0, 1e-12);
            }
        nb_simulator_free(a);
        nb_simulator_free(b);
        nb_experiment_clear(&e);
    }
    return 0;
}

/* Under a convention whose beam is +x, and with a beam off the axis, the written experiment
 * is turned as a whole: the image stays. */
static int conventions(void)
{
    static double first[TILED_PIXELS], again[TILED_PIXELS];
    static const int list[] = {NB_CONVENTION_XDS, NB_CONVENTION_MOSFLM};
    struct tiled t;
    nb_scene scene = scene_of(&t, 0);

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    /* the random rotations of domains are about axes of the laboratory */
    scene.crystal.mosaic[0] = 0;
    scene.crystal.ndomains = 1;
    for (size_t k = 0; k < COUNT(list); k++) {
        const char *path = in_folder("turned.expt");
        struct worst w = {0};
        nb_geometry *geometry;
        nb_panel_counts *counts;
        nb_experiment e;
        nb_scene s = scene;

        write_scene(&scene, path);
        check_ok(nb_expt_read(ctx, path, 0, &e), "read");
        geometry = e.geometry;
        counts = e.counts;
        /* the geometry alone, in the frame of the convention */
        s.detector.convention = list[k];
        check_ok(nb_geometry_apply(geometry, &s), "apply");
        if (k == 0) memcpy(s.beam.direction, VECTOR(0.02, -0.01, 1), sizeof(double[3]));
        if (k == 1) memcpy(s.beam.direction, VECTOR(1, -0.01, -0.02), sizeof(double[3]));
        probe_image(&s, first);
        write_scene(&s, path);
        check_ok(nb_expt_read(ctx, path, 0, &e), "read again");
        s = take(&s, &e);
        probe_image(&s, again);
        worst_add_all(&w, again, first, TILED_PIXELS, probe_peak(first, TILED_PIXELS));
        worst_check(&w, 2e-11, "convention %d: the image, of its peak", list[k]);
        nb_geometry_free(geometry);
        free(counts);
        nb_experiment_clear(&e);
    }
    return 0;
}

/* The geometry of an experiment has its distance, and ends what was of another image. */
static int applied(void)
{
    static const int box[4] = {1, 3, 1, 3};
    struct tiled t;
    const nb_scene scene = scene_of(&t, 0);
    const char *path = in_folder("applied.expt");
    nb_scene other = {.detector = {.convention = NB_CONVENTION_DIALS, .distance = 100}};
    nb_experiment e;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    write_scene(&scene, path);
    check_ok(nb_expt_read(ctx, path, 0, &e), "read");
    tap_check(nb_geometry_apply(e.geometry, &other) == NB_ERR_SCENE
                  && other.detector.npanel == 0 && other.detector.distance == 100,
              "a distance beside it is refused, and the scene stays");
    other.detector.distance = 0;
    other.detector.roi[1] = other.detector.roi[3] = 7;
    other.detector.box = box;
    other.detector.nbox = 1;
    check_ok(nb_geometry_apply(e.geometry, &other), "apply");
    tap_check(other.detector.npanel == TILED_PANELS && other.detector.roi[1] == 0
                  && other.detector.nbox == 0 && !other.detector.box,
              "region and boxes end");
    nb_experiment_clear(&e);
    memset(&e, 0xff, sizeof e);
    tap_check(nb_expt_read(ctx, in_folder("missing.expt"), 0, &e) == NB_ERR_FILE
                  && !e.geometry && e.found == 0,
              "after an error there is nothing to free");
    return 0;
}

/* A stack has no places, and a detector of one panel is a rectangle. */
static int stacked_and_single(void)
{
    struct tiled t;
    nb_scene scene = scene_of(&t, 0);
    const char *path = in_folder("single.expt");
    nb_experiment e;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (int i = 0; i < TILED_PANELS; i++) t.panel[i].slow0 = t.panel[i].fast0 = 0;
    scene.detector.nslow = scene.detector.nfast = 0;
    write_scene(&scene, path);
    check_ok(nb_expt_read(ctx, path, 0, &e), "read");
    tap_check(e.scene.detector.nslow == 50 + 45 + 60 + 41 + 72
                  && e.scene.detector.nfast == 70,
              "a stack of %d x %d", e.scene.detector.nslow, e.scene.detector.nfast);
    nb_experiment_clear(&e);
    scene.detector.npanel = 1;
    scene.detector.ngroup = 0;
    write_scene(&scene, path);
    check_ok(nb_expt_read(ctx, path, 0, &e), "read");
    tap_check(!e.geometry && e.scene.detector.npanel == 0 && e.scene.detector.nslow == 50,
              "one panel is a rectangle");
    nb_experiment_clear(&e);
    return 0;
}

/* Replaces `from` in a file by `to`, once. */
static void edit(const char *path, const char *from, const char *to)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    const size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    char *at;

    if (file) (void)fclose(file);
    text[n] = 0;
    at = strstr(text, from);
    if (!at) tap_check(0, "there is no %s in %s", from, path);
    file = fopen(path, "w");
    if (!at || !file) return;
    (void)fprintf(file, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    (void)fclose(file);
}

static int refused(void)
{
    static const struct {
        const char *from, *to, *words;
        nb_status status;
    } rows[] = {
        {"\"image_size\":\t[64,", "\"image_size\":\t[6400000,", "\"image_size\"",
         NB_ERR_FORMAT},
        {"\"raw_image_offset\":\t[80,", "\"raw_image_offset\":\t[-1,",
         "\"raw_image_offset\"", NB_ERR_FORMAT},
        {"\"raw_image_offset\":\t[80, 3]", "\"raw_image_offset\":\t[80000000, 30000]",
         "need an image", NB_ERR_UNSUPPORTED},
        {"\"panel\":\t3", "\"panel\":\t2", "names panel 2 twice", NB_ERR_FORMAT},
        {"\"panel\":\t3", "\"plane\":\t3", "panel 3 is in no group", NB_ERR_FORMAT},
        {"\"panel\":\t3", "\"panel\":\t5", "names panel 5, but", NB_ERR_FORMAT},
        {"\"name\":\t\"p1\",",
         "\"name\":\t\"p1\", \"slow_axis\": [0.1, 1, 0], \"fast_axis\": [1, 0, 0],",
         "axes of panel 1 are not at right angles", NB_ERR_FORMAT},
        {"\"name\":\t\"q0\",",
         "\"name\":\t\"q0\", \"slow_axis\": [0.1, 1, 0], \"fast_axis\": [1, 0, 0],",
         "axes of group 0 are not at right angles", NB_ERR_FORMAT},
    };
    struct tiled t;
    const nb_scene scene = scene_of(&t, 0);

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *path = in_folder("wrong.expt");
        nb_experiment e;

        write_scene(&scene, path);
        edit(path, rows[i].from, rows[i].to);
        check_refused(nb_expt_read(ctx, path, 0, &e), rows[i].status, rows[i].words,
                      "wrong.expt");
        tap_check(!e.geometry, "and nothing is left to free");
    }
    return 0;
}

/* Gain, pedestal and trusted range of each panel. */
static int counts(void)
{
    static const nb_panel_counts expected[2] = {{2.5, 10, -1, 60000},
                                                {1, 0, -INFINITY, INFINITY}};
    char *stated, *text, *wrong;
    nb_experiment e;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    stated = text_with(expt_panels_text, "\"name\": \"p0\"",
                       "\"gain\": 2.5, \"pedestal\": 10, \"trusted_range\": [-1, 60000]");
    text = text_with(stated, "\"name\": \"p1\"", "\"gain\": -1, \"trusted_range\": [3, 3]");
    check_ok(expt_parse(ctx, "a.expt", text, strlen(text),
                        &(struct expt_request){0, &e, 0}),
             "counts");
    for (int i = 0; i < 2; i++)
        tap_check(e.counts && memcmp(e.counts + i, expected + i, sizeof *expected) == 0,
                  "panel %d", i);
    nb_experiment_clear(&e);
    tap_check(!e.counts, "cleared");
    wrong = text_with(stated, "2.5", "true");
    check_refused(expt_parse(ctx, "a.expt", wrong, strlen(wrong),
                             &(struct expt_request){0, &e, 0}),
                  NB_ERR_FORMAT, "\"gain\"", "gain");
    free(stated);
    free(text);
    free(wrong);
    return 0;
}

static int warnings;

static void count_warning(void *user, int level, const char *topic, const char *line)
{
    (void)user, (void)topic;
    warnings +=
        level == NB_LOG_WARNING && strstr(line, "stacked in the order of the file") != NULL;
}

/* Writes an NXmx of a scene without pixels to speak of. */
static void write_nxmx(const nb_scene *scene, const char *path)
{
    static int32_t counts[TILED_PIXELS];
    const nb_array image = nb_array_i32(counts, TILED_NSLOW, TILED_NFAST);
    const nb_nxmx_options how = {.type = NB_TYPE_INT, .bits = 32};
    nb_simulator *sim = probe_make(scene, NULL);
    nb_nxmx *nxmx = NULL;

    check_ok(nb_nxmx_create(sim, path, &how, &nxmx), "create");
    check_ok(nb_nxmx_append(nxmx, NULL, &image), "append");
    check_ok(nb_nxmx_close(nxmx), "close");
    nb_simulator_free(sim);
}

/* Other names of panels change nothing: the panels are the modules in the order of their
 * names, which dxtbx keeps. Changes the file, and changes it back. */
static void other_names(const char *expt, const struct tiled *t)
{
    static const char *const names[TILED_PANELS] = {"z", "d", "a", "d", "/x"};
    char from[TILED_PANELS][80], to[TILED_PANELS][80];
    nb_experiment e;

    for (int i = 0; i < TILED_PANELS; i++) {
        (void)snprintf(from[i], sizeof *from,
                       "\"name\": \"/entry/instrument/detector/module%d\"", i);
        (void)snprintf(to[i], sizeof *to, "\"name\": \"%s\", \"was\": %d", names[i], i);
        edit(expt, from[i], to[i]);
    }
    check_ok(nb_expt_read(ctx, expt, 0, &e), "read");
    for (int i = 0; i < TILED_PANELS; i++) {
        const nb_panel *p = e.scene.detector.panel + i;

        tap_check(p->slow0 == t->panel[i].slow0 && p->fast0 == t->panel[i].fast0,
                  "%s begins at %d %d", p->name, p->slow0, p->fast0);
    }
    nb_experiment_clear(&e);
    for (int i = 0; i < TILED_PANELS; i++) edit(expt, to[i], from[i]);
}

/* As dxtbx reads NXmx: panels have the names of modules and no places, which the file of
 * the images has. Without it they are stacked, with a warning. */
static int places_of_nxmx(void)
{
    static const char *const names[] = {"p0", "p1", "panel2", "fine", "p4"};
    const nb_context_options options = {.log = count_warning, .threads = 1};
    const char *expt = in_folder("places.expt");
    nb_context *logged = NULL;
    struct tiled t;
    const nb_scene scene = scene_of(&t, 0);
    nb_simulator *sim;
    nb_experiment e;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    if (!has_feature("hdf5")) return tap_skip("this build has no HDF5");
    check_ok(nb_context_create(NB_API_VERSION, &options, &logged), "context");
    sim = probe_make(&scene, NULL);
    check_ok(nb_expt_write(sim, NULL, expt, &(nb_expt_options){.files = "places.nxs"}),
             "write");
    nb_simulator_free(sim);
    for (int i = 0; i < TILED_PANELS; i++) {
        char from[32], to[80];

        (void)snprintf(from, sizeof from, "\"name\":\t\"%s\"", names[i]);
        (void)snprintf(to, sizeof to, "\"name\": \"/entry/instrument/detector/module%d\"",
                       i);
        edit(expt, from, to);
        edit(expt, "\"raw_image_offset\":", "\"offset\":");
    }
    check_ok(nb_expt_read(logged, expt, 0, &e), "read without the images");
    tap_check(warnings == 1 && e.scene.detector.nslow == 50 + 45 + 60 + 41 + 72,
              "a stack, with a warning");
    nb_experiment_clear(&e);
    write_nxmx(&scene, in_folder("places.nxs"));
    check_ok(nb_expt_read(logged, expt, 0, &e), "read");
    tap_check(warnings == 1 && e.scene.detector.nslow == TILED_NSLOW
                  && e.scene.detector.nfast == TILED_NFAST,
              "an image of %d x %d", e.scene.detector.nslow, e.scene.detector.nfast);
    for (int i = 0; i < TILED_PANELS; i++) {
        const nb_panel *p = e.scene.detector.panel + i;

        tap_check(p->slow0 == t.panel[i].slow0 && p->fast0 == t.panel[i].fast0
                      && strncmp(p->name, "module", 6) == 0,
                  "%s begins at %d %d", p->name, p->slow0, p->fast0);
    }
    nb_experiment_clear(&e);
    other_names(expt, &t);
    edit(expt, "\"image_size\":\t[64,", "\"image_size\":\t[63,");
    check_refused(nb_expt_read(ctx, expt, 0, &e), NB_ERR_FORMAT, "63 x", "places.nxs");
    nb_context_free(logged);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"round_trip", round_trip}, {"conventions", conventions},
        {"applied", applied},       {"stacked_and_single", stacked_and_single},
        {"refused", refused},       {"places_of_nxmx", places_of_nxmx},
        {"counts", counts},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
