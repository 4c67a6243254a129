/*
 * test_written_experiment.c - experiments that are written: read again they give the same
 * image, whatever the convention and the direction of the beam; what they say besides; and
 * what cannot be written.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/experiments.h"
#include "nanobrag_io/experiment/models.h"
#include "scene/probe.h"
#include "support/files.h"
#include "support/worst.h"

enum { FAST = 40, SLOW = 37, PIXELS = FAST * SLOW };

static nb_scene base(void)
{
    return (nb_scene){.crystal = {.cell = {50, 60, 70, 90, 100, 90},
                                  .ncells = {5, 5, 5},
                                  .shape = NB_SHAPE_GAUSS,
                                  .misset = {10, 20, 30},
                                  .default_f = 100},
                      .beam = {.polarization = 0.7, .fluence = 1e28, .wavelength = 1.1},
                      .detector = {.nfast = FAST, .nslow = SLOW, .pixel = 2},
                      .scan = {.phi0 = 12, .osc = 0.7, .nphi = 3},
                      .oversample = 2};
}

static nb_status write_scene(const nb_scene *scene, const nb_expt_options *options,
                             const char *path)
{
    nb_simulator *sim = probe_make(scene, NULL);
    const nb_status status = nb_expt_write(sim, NULL, path, options);

    nb_simulator_free(sim);
    return status;
}

/* The scene with what the file states in place of its own. */
static nb_scene take(const nb_scene *scene, const nb_experiment *e)
{
    const nb_detector *from = &e->scene.detector;
    nb_scene s = *scene;

    memcpy(s.crystal.cell, e->scene.crystal.cell, sizeof s.crystal.cell);
    memcpy(s.crystal.matrix, e->scene.crystal.matrix, sizeof s.crystal.matrix);
    memset(s.crystal.misset, 0, sizeof s.crystal.misset);
    memset(s.crystal.rotation, 0, sizeof s.crystal.rotation);
    s.beam.wavelength = e->scene.beam.wavelength;
    s.beam.polarization = e->scene.beam.polarization;
    memcpy(s.beam.direction, e->scene.beam.direction, sizeof s.beam.direction);
    memcpy(s.beam.polarization_axis, e->scene.beam.polarization_axis,
           sizeof s.beam.polarization_axis);
    s.detector = *from;
    s.scan.phi0 = e->scene.scan.phi0;
    s.scan.osc = e->scene.scan.osc;
    memcpy(s.scan.axis, e->scene.scan.axis, sizeof s.scan.axis);
    s.given |= e->scene.given;
    return s;
}

/* Writes the scene, reads it again, and compares the images. */
static void back(const char *what, const nb_scene *scene)
{
    static double first[PIXELS], again[PIXELS];
    const char *path = in_folder("a.expt");
    struct worst w = {0};
    nb_experiment e;
    nb_scene s;

    if (write_scene(scene, NULL, path) != NB_OK) {
        tap_check(0, "%s: %s", what, nb_context_message(probe_context()));
        return;
    }
    check_ok(read_uncounted(ctx, path, 0, &e), what);
    s = take(scene, &e);
    probe_image(scene, first);
    probe_image(&s, again);
    worst_add_all(&w, again, first, PIXELS, probe_peak(first, PIXELS));
    /* rounding of numbers near 1 and near 100 mm, as the slopes of spots enlarge it */
    worst_check(&w, 2e-12, "%s: the image, of its peak", what);
}

static int round_trip(void)
{
    char what[64];

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (int convention = NB_CONVENTION_MOSFLM; convention <= NB_CONVENTION_CUSTOM;
         convention++) {
        nb_scene s = base();

        s.detector.convention = convention;
        (void)snprintf(what, sizeof what, "convention %d", convention);
        back(what, &s);
        s.detector.rotation[0] = 3;
        s.detector.rotation[1] = -4;
        s.detector.twotheta = 11;
        (void)snprintf(what, sizeof what, "convention %d, tilted", convention);
        back(what, &s);
        for (int i = 0; i < 3; i++)
            s.beam.direction[i] = convention == NB_CONVENTION_MOSFLM
                                          || convention == NB_CONVENTION_DENZO
                                          || convention == NB_CONVENTION_CUSTOM
                                      ? ((const double[3]){1, 0.04, -0.03})[i]
                                      : ((const double[3]){0.04, -0.03, 1})[i];
        (void)snprintf(what, sizeof what, "convention %d, beam off its axis", convention);
        back(what, &s);
        s.scan.osc = 0;
        s.scan.nphi = 0;
        (void)snprintf(what, sizeof what, "convention %d, still", convention);
        back(what, &s);
    }
    return 0;
}

/* The material of the sensor, and for which wavelength its attenuation is stated. */
static int sensors(void)
{
    static const char *const names[] = {"Ge", "Si", "CdTe", "GaAs"};
    nb_experiment e;
    struct expt_request to = {.out = &e};

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    check_ok(expt_parse(ctx, "input", expt_text, strlen(expt_text), &to), "the text");
    tap_check(e.scene.detector.material == NB_MATERIAL_UNKNOWN, "no material");
    tap_close("wavelength", e.scene.detector.attenuation_wavelength, 0.98, 0);
    nb_experiment_clear(&e);
    for (int i = 0; i < (int)COUNT(names); i++) {
        char text[64], *whole;

        (void)snprintf(text, sizeof text, "\"material\": \"%s\", \"mu\": 4.0", names[i]);
        whole = text_with(expt_text, "\"mu\": 4.0", text);
        check_ok(expt_parse(ctx, "input", whole, strlen(whole), &to), "with a material");
        free(whole);
        tap_check(e.scene.detector.material == i, "%s", names[i]);
        nb_experiment_clear(&e);
    }
    return 0;
}

static int other_scenes(void)
{
    nb_scene s = base();
    nb_experiment e;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    s.detector.thickness = 300;
    s.detector.attenuation = 200;
    back("a sensor", &s);
    s.detector.material = NB_MATERIAL_CDTE;
    s.detector.attenuation_wavelength = 0.9; /* it is written for 1.1 A */
    back("a sensor of a material", &s);
    check_ok(read_uncounted(ctx, in_folder("a.expt"), 0, &e), "read");
    tap_check(e.scene.detector.material == NB_MATERIAL_CDTE, "its name");
    s = base();
    s.scan.axis[0] = 0.1;
    s.scan.axis[1] = 1;
    s.scan.osc = -2;
    back("a spindle of its own, backwards", &s);
    s = base();
    s.crystal.rotation[1] = 5;
    s.beam.polarization_axis[1] = 1;
    s.beam.polarization_axis[2] = 0.3;
    back("a rotation vector and a field of its own", &s);
    return 0;
}

/* The spread comes back; the domains of another orientation are others. */
static int mosaic(void)
{
    const char *path = in_folder("m.expt");
    nb_scene s = base();
    nb_experiment e;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    s.crystal.mosaic[0] = 0.4;
    s.crystal.ndomains = 3;
    check_ok(write_scene(&s, NULL, path), "a mosaic crystal");
    check_ok(read_uncounted(ctx, path, 0, &e), "it");
    tap_check((e.found & NB_FOUND_MOSAIC) != 0, "it is mosaic");
    tap_close("spread", e.scene.crystal.mosaic[0], 0.4, 2e-16);
    s.crystal.ndomains = 1;
    check_ok(write_scene(&s, NULL, path), "a single domain");
    check_ok(read_uncounted(ctx, path, 0, &e), "it");
    tap_check((e.found & NB_FOUND_MOSAIC) == 0, "it is not");
    s = base();
    s.crystal.mosaic[0] = s.crystal.mosaic[1] = 0.3;
    s.crystal.mosaic[2] = 0.6;
    check_ok(write_scene(&s, NULL, path), "three spreads");
    check_ok(read_uncounted(ctx, path, 0, &e), "they");
    tap_close("their root of mean square", e.scene.crystal.mosaic[0], sqrt(0.18), 2e-16);
    return 0;
}

static int contains(const char *path, const char *part)
{
    size_t n;
    char *text = slurp(path, &n);
    const int found = strstr(text, part) != NULL;

    free(text);
    return found;
}

static int images(void)
{
    const char *path = in_folder("i.expt");
    nb_expt_options options = {.images = 5,
                               .first = 3,
                               .files = "/a/b_###.img",
                               .pedestal = 10,
                               .trusted = {-10, 500}};
    nb_scene s = base();
    nb_experiment e;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    check_ok(write_scene(&s, &options, path), "a sweep");
    check_ok(read_uncounted(ctx, path, 0, &e), "it");
    tap_check(e.count == 1 && e.images == 5, "%d experiment of %d images", e.count,
              e.images);
    tap_check(contains(path, "\"/a/b_###.img\"") && contains(path, "[3, 7]")
                  && contains(path, "[-10, 500]") && !contains(path, "single_file"),
              "template, range, trusted range");
    options.files = "/a/all.h5";
    check_ok(write_scene(&s, &options, path), "a sweep in one file");
    tap_check(contains(path, "\"/a/all.h5\"") && contains(path, "[2, 3, 4, 5, 6]"),
              "the places in the file");
    s.scan.osc = s.scan.nphi = 0;
    check_ok(write_scene(&s, &options, path), "stills in one file");
    tap_check(contains(path, "\"/a/all.h5\"") && contains(path, "[6]"), "their places");
    options.files = "/a/b_###.img";
    check_ok(write_scene(&s, &options, path), "stills");
    check_ok(read_uncounted(ctx, path, 4, &e), "the last");
    tap_check(e.count == 5 && e.images == 0 && contains(path, "\"/a/b_007.img\"")
                  && !contains(path, "rotation_axis"),
              "%d experiments without a scan", e.count);
    check_ok(write_scene(&s, NULL, path), "no images");
    tap_check(!contains(path, "\"imageset\":\t0") && !contains(path, "ImageSet"),
              "no set of images");
    return 0;
}

/* shots: each experiment has the image of its own x */
static int shots(void)
{
    enum { SHOTS = 4, NPARAM = 3 };
    static const char *const path_name = "shots.expt";
    static const double x[SHOTS][NPARAM] = {{1, 1.1, 90},
                                            {-20, 1.1, 90},
                                            {3, 1.2, 90},
                                            {40, 1.2, 95}};
    static double first[PIXELS], again[PIXELS];
    const nb_expt_options options = {.images = SHOTS, .shots = x[0], .files = "/a/s.nxs"};
    nb_scene s = base();
    nb_simulator *sim;
    struct worst w = {0};
    nb_experiment e;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    sim = probe_make(&s, "misset_z wavelength distance");
    tap_check(nb_expt_write(sim, NULL, in_folder(path_name), &options) == NB_ERR_ARGUMENT
                  && strstr(nb_context_message(probe_context()), "shots are stills"),
              "a rotation: '%s'", nb_context_message(probe_context()));
    nb_simulator_free(sim);
    s.scan.osc = s.scan.nphi = 0;
    sim = probe_make(&s, "misset_z wavelength distance");
    check_ok(nb_expt_write(sim, NULL, in_folder(path_name), &options), "shots");
    for (int i = 0; i < SHOTS; i++) {
        nb_array image = nb_array_f64(first, SLOW, FAST);
        nb_scene own;

        check_ok(nb_forward(sim, x[i], &image), "the image of a shot");
        check_ok(read_uncounted(ctx, in_folder(path_name), i, &e), "its experiment");
        own = take(&s, &e);
        probe_image(&own, again);
        worst_add_all(&w, again, first, PIXELS, probe_peak(first, PIXELS));
        tap_check(e.count == SHOTS && e.images == 0 && e.scene.beam.wavelength == x[i][1],
                  "shot %d of %d: wavelength %g expected %g", i, e.count,
                  e.scene.beam.wavelength, x[i][1]);
    }
    worst_check(&w, 2e-12, "the images of shots, of their peak");
    nb_simulator_free(sim);
    return 0;
}

static void cannot(const char *what, const nb_scene *scene, const nb_expt_options *options,
                   nb_status expected, const char *part)
{
    const char *path = in_folder("none.expt");
    const nb_status status = write_scene(scene, options, path);
    size_t n;

    tap_check(status == expected
                  && strstr(nb_context_message(probe_context()), part) != NULL,
              "%s: status %d, '%s'", what, status, nb_context_message(probe_context()));
    free(slurp(path, &n));
    tap_check(n == 0, "and there is no file");
}

/* With fast_along_x the whole is turned about the beam. */
static int fast_along_x(void)
{
    const char *path = in_folder("x.expt");
    const nb_expt_options options = {.fast_along_x = 1};

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (int convention = NB_CONVENTION_MOSFLM; convention <= NB_CONVENTION_CUSTOM;
         convention++) {
        static double first[PIXELS], again[PIXELS];
        struct worst image = {0}, axis = {0};
        nb_scene s = base(), read;
        nb_experiment e;

        s.detector.convention = convention;
        s.detector.rotation[2] = 7; /* about the beam, or about the slow axis */
        s.detector.rotation[0] = 5;
        check_ok(write_scene(&s, &options, path), "an experiment");
        check_ok(read_uncounted(ctx, path, 0, &e), "it");
        worst_add(&axis, e.scene.detector.vectors[0][1], 0, 1);
        worst_check(&axis, 1e-15, "convention %d: the fast axis across x", convention);
        tap_check(e.scene.detector.vectors[0][0] < -0.9, "and along -x, +x of dxtbx");
        read = take(&s, &e);
        probe_image(&s, first);
        probe_image(&read, again);
        worst_add_all(&image, again, first, PIXELS, probe_peak(first, PIXELS));
        worst_check(&image, 2e-12, "convention %d: the image, of its peak", convention);
    }
    return 0;
}

static int space_groups(void)
{
    const char *path = in_folder("g.expt");
    const nb_scene s = base();
    nb_expt_options options = {.space_group = "C 1 2 1"};
    nb_experiment e;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    check_ok(write_scene(&s, NULL, path), "no group");
    tap_check(contains(path, "\"P 1\""), "it is P 1");
    check_ok(write_scene(&s, &options, path), "C 1 2 1");
    tap_check(contains(path, has_feature("gemmi") ? "\"C 2y\"" : "\"P 1\""),
              "its Hall symbol");
    if (!has_feature("gemmi")) return 0;
    check_ok(read_uncounted(ctx, path, 0, &e), "it");
    tap_check(!strcmp(e.space_group, "C 1 2 1"), "it comes back: %s", e.space_group);
    options.space_group = "Q 1";
    cannot("an unknown group", &s, &options, NB_ERR_ARGUMENT, "'Q 1' is unknown");
    return 0;
}

/* Hall symbols as cctbx writes them, with a change of basis where it has no other. */
static int hall_symbols(void)
{
    static const struct {
        const char *hall, *name;
    } rows[] = {
        {" P 2yb", "P 1 21 1"},
        {"  C   2y ", "C 1 2 1"},
        {"C_2y", "C 1 2 1"},
        {" C 2y (x,y,-x+z)", "I 1 2 1"},
        {" P 2 2ab (z,x,y)", "P 2 21 21"},
        {" R 3 (-y+z,x+z,-x+y+z)", "R 3:R"},
        {" R 3", "R 3:H"},
        {"P 4nw 2abw", "P 43 21 2"},
        {"P 2 (x,y", ""},
        {"P 2 )(", ""},
        {"P 2 (111111111x,y,z)", ""},
        {"P 2 (q,y,z)", ""},
        {"P 5", ""},
        {"P 2'1", ""},
        {"", ""},
    };
    const char *path = in_folder("h.expt");
    const nb_scene s = base();
    nb_experiment e;

    if (!has_feature("cjson") || !has_feature("gemmi"))
        return tap_skip("no cJSON, or no gemmi");
    for (size_t i = 0; i < COUNT(rows); i++) {
        char symbol[64], *text, *changed;
        size_t n;

        check_ok(write_scene(&s, NULL, path), "an experiment");
        text = slurp(path, &n);
        (void)snprintf(symbol, sizeof symbol, "\"%s\"", rows[i].hall);
        changed = text_with(text, "\"P 1\"", symbol);
        put(path, changed, strlen(changed));
        free(text);
        free(changed);
        check_ok(read_uncounted(ctx, path, 0, &e), rows[i].hall);
        tap_check(!strcmp(e.space_group, rows[i].name), "'%s' is '%s', expected '%s'",
                  rows[i].hall, e.space_group, rows[i].name);
    }
    return 0;
}

static int refused(void)
{
    const nb_expt_options negative = {.images = -1}, wrong_first = {.first = -1};
    nb_scene s = base();

    if (!has_feature("cjson")) {
        cannot("without cJSON", &s, NULL, NB_ERR_UNSUPPORTED, "cJSON");
        return 0;
    }
    cannot("-1 images", &s, &negative, NB_ERR_ARGUMENT, "-1 images");
    cannot("from -1 on", &s, &wrong_first, NB_ERR_ARGUMENT, "number -1");
    s.detector.curved = 1;
    cannot("a curved detector", &s, NULL, NB_ERR_UNSUPPORTED, "curved");
    s = base();
    s.detector.vectors[0][1] = 0.1;
    s.detector.vectors[0][2] = 1;
    cannot("oblique axes", &s, NULL, NB_ERR_UNSUPPORTED, "right angles");
    s = base();
    tap_check(write_scene(&s, NULL, NULL) == NB_ERR_ARGUMENT, "no path");
    tap_check(write_scene(&s, NULL, in_folder("none/a.expt")) == NB_ERR_FILE, "no folder");
    return 0;
}

/* What DIALS cannot know is a warning. */
static int warned(void)
{
    nb_scene s = base();

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    s.beam.unpolarised = 1;
    probe_forget();
    check_ok(write_scene(&s, NULL, in_folder("w.expt")), "without polarization");
    tap_check(strstr(probe_log(), "-nopolar") != NULL, "it is a warning");
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"round_trip", round_trip},
        {"sensors", sensors},
        {"other_scenes", other_scenes},
        {"mosaic", mosaic},
        {"images", images},
        {"shots", shots},
        {"fast_along_x", fast_along_x},
        {"space_groups", space_groups},
        {"hall_symbols", hall_symbols},
        {"refused", refused},
        {"warned", warned},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
