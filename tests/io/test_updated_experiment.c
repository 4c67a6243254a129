/*
 * test_updated_experiment.c - an .expt that is updated: without a change it keeps its
 * bytes; what has moved is read again as the scene had it, by goniometers of several axes,
 * at scan points, with lattices and with panels in groups; models that experiments share;
 * and what is refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/experiments.h"
#include "nanobrag_io/laboratory.h"
#include "scene/lattices/lattices.h"
#include "scene/probe.h"
#include "support/files.h"
#include "support/worst.h"

/* ---- files ---- */

#define TWO_AXES                                                                           \
    "\"goniometer\": [{\"axes\": [[0.5774, -0.8165, 0], [1, 0, 0], [0, 0.6, 0.8]],"        \
    "\"angles\": [20, -145, 7], \"names\": [\"GON_PHI\", \"GON_OMEGA\", \"ARM\"],"         \
    " \"scan_axis\": 1, \"unused\": [{\"rotation_axis\": [1, 0, 0]}]}]"
#define SETTINGS                                                                           \
    "\"setting_rotation\": [1, 0, 0, 0, 1, 0, 0, 0, 1],"                                   \
    "\"setting_rotation_at_scan_points\": [[1, 0, 0, 0, 1, 0, 0, 0, 1],"                   \
    "[1, 0, 0, 0, 0.8, -0.6, 0, 0.6, 0.8], [1, 0, 0, 0, 0.6, -0.8, 0, 0.8, 0.6]]"
#define TURNED_POINTS                                                                      \
    "\"real_space_a\": [30, 0, 0], \"A_at_scan_points\":"                                  \
    "[[0.033, 0, 0.007, 0, 0.025, 0, 0, 0, 0.02], [0.033, 0.001, 0.007, 0, 0.025, 0, "     \
    "0.0002, 0, 0.02], [0.0331, 0.002, 0.007, 0, 0.025, 0.0001, 0.0004, 0, 0.0201]]"

/* A change of one of the texts of experiments.h; NULL: none. */
static const struct sample {
    const char *name, *text, *old, *changed;
} samples[] = {
    {"one panel", expt_text, NULL, NULL},
    {"panels in groups", expt_panels_text, NULL, NULL},
    {"root that is no laboratory", expt_panels_text, "\"name\": \"all\",",
     "\"name\": \"all\", \"fast_axis\": [0.8, 0.6, 0], \"slow_axis\": [-0.6, 0.8, 0],"
     " \"origin\": [1, 2, -3],"},
    {"lattices that change", expt_split_text, NULL, NULL},
    {"axes", expt_text, "\"goniometer\": [", TWO_AXES ", \"spare\": ["},
    {"settings", expt_text, "\"setting_rotation\": [1, 0, 0, 0, 1, 0, 0, 0, 1]", SETTINGS},
    {"scan points", expt_text, "\"real_space_a\": [30, 0, 0]", TURNED_POINTS},
    {"beams", expt_text, "\"wavelength\": 0.98",
     "\"wavelength\": 0.98, \"s0_at_scan_points\": [[0, 0, -1], [0.03, 0, -1.1], [0.06, 0, "
     "-1]]"},
    {"one panel in a group", expt_text, "ParallaxCorrectionPxMmStrategy\"}}]",
     "ParallaxCorrectionPxMmStrategy\"}}], \"hierarchy\": {\"name\": \"\", \"origin\": [1, "
     "2, -30], \"fast_axis\": [0.8, 0.6, 0], \"slow_axis\": [-0.6, 0.8, 0], \"children\": "
     "[{\"panel\": 0}]}"},
    {"still", expt_text, "\"goniometer\": 0, \"scan\": 0, ", ""},
    {"half the width", expt_text, "\"mosaicity\": 0.05", "\"ML_half_mosaicity_deg\": 0.05"},
    {"mark of the order of bytes", expt_text, "{\"__id__\"", "\xef\xbb\xbf{\"__id__\""},
};

static const char *put_sample(const struct sample *sample)
{
    const char *path = in_folder("in.expt");
    char *scan, *text = text_with(sample->text, sample->old ? sample->old : "{",
                                  sample->old ? sample->changed : "{");

    if (strstr(text, "[11, 40]")) { /* two images */
        scan = text_with(text, "[11, 40]", "[11, 12]");
        free(text);
        text = scan;
    }
    put(path, text, strlen(text));
    free(text);
    return path;
}

/* Completes a scene that a file states in part. */
static nb_scene complete(const nb_experiment *e)
{
    nb_scene s = e->scene;

    s.crystal.default_f = 100;
    for (int i = 0; i < 3; i++) s.crystal.ncells[i] = 5;
    for (int i = 0; i < 6 && !(e->found & NB_FOUND_CRYSTAL); i++)
        s.crystal.cell[i] = (const double[]){50, 60, 70, 90, 100, 90}[i];
    s.crystal.shape = NB_SHAPE_GAUSS;
    s.crystal.mosaic_model = NB_MOSAIC_GAUSS;
    s.beam.fluence = 1e28;
    s.oversample = 1;
    if (e->found & NB_FOUND_DETECTOR) return s;
    s.detector.nfast = s.detector.nslow = 40;
    s.detector.pixel = 1;
    return s;
}

/* Reads an experiment with its lattices. Stops the program if it is refused. */
static nb_scene read_scene(const char *path, int i, double phi, nb_experiment *e)
{
    nb_scene s;

    if (nb_expt_read_lattices(ctx, path, i, e) != NB_OK) {
        printf("not ok %s: %s\n", path, nb_context_message(ctx));
        exit(1);
    }
    s = complete(e);
    if (isnan(phi)) return s;
    s.scan.phi0 = phi;
    (void)nb_scan_points_set(e->points, phi + s.scan.osc / 2, ~0U, &s, NULL);
    nb_scan_points_set_lattices(e->points, phi + s.scan.osc / 2, s.crystal.nlattice,
                                e->lattice);
    return s;
}

/* Updates experiment i of a file to a simulator at x. */
static nb_status update(const char *from, int i, nb_simulator *sim, const double *x,
                        const char *to)
{
    nb_expt_update *u;
    nb_status status = nb_expt_update_begin(ctx, from, &u);

    if (status == NB_OK) status = nb_expt_update_add(u, i, sim, x);
    if (status == NB_OK) status = nb_expt_update_write(u, to);
    nb_expt_update_free(u);
    return status;
}

/* ---- nothing has moved ---- */

static void unchanged(const char *name, const char *from, double phi)
{
    const char *to = in_folder("out.expt");
    nb_experiment e;
    const nb_scene s = read_scene(from, 0, phi, &e);
    nb_simulator *sim = probe_make(&s, "misset cell wavelength");
    size_t n;
    char *bytes = slurp(from, &n);

    check_ok(update(from, 0, sim, NULL, to), name);
    tap_check(holds(to, bytes, n), "%s: the file keeps its bytes", name);
    free(bytes);
    nb_simulator_free(sim);
    nb_experiment_clear(&e);
}

static int keeps_bytes(void)
{
    static const char *const measured[] = {"kapton/indexed.expt", "l_cysteine/indexed.expt",
                                           "l_cysteine/static_01.expt",
                                           "thaumatin/refined.expt"};
    const char *folder = getenv("NANOBRAG_MEASURED_DATA");

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (size_t i = 0; i < COUNT(samples); i++) {
        unchanged(samples[i].name, put_sample(samples + i), NAN);
        if (strcmp(samples[i].name, "still") != 0)
            unchanged(samples[i].name, put_sample(samples + i), 12.75);
    }
    for (size_t i = 0; folder && i < COUNT(measured); i++) {
        char path[1024];

        (void)snprintf(path, sizeof path, "%s/%s", folder, measured[i]);
        unchanged(measured[i], path, NAN);
    }
    return 0;
}

/* ---- something has moved ---- */

/* The numbers that decide on an image, of each lattice. */
enum { NUMBERS_MOST = 200 };
struct numbers {
    size_t n;
    double v[NUMBERS_MOST], size[NUMBERS_MOST];
};

static void add_numbers(struct numbers *to, const double *v, size_t n, double size)
{
    for (size_t i = 0; i < n; i++) {
        to->v[to->n] = v[i];
        to->size[to->n++] = size;
    }
}

static void add_lattice(struct numbers *to, const nb_scene *scene)
{
    struct laboratory l;
    struct laboratory_panel p;
    struct panel_middle middle[8];

    check_ok(laboratory_of(ctx, scene, &l), "the laboratory");
    if (l.ngroup > 0)
        check_ok(panels_middles(ctx, &scene->detector, middle), "the middles");
    add_numbers(to, l.turn[0], 9, 1);
    add_numbers(to, l.polarization_normal, 3, 1);
    add_numbers(to, &l.polarization_fraction, 1, 1);
    add_numbers(to, l.spindle, 3, 1);
    for (int i = 0; i < 3; i++)
        add_numbers(to, l.real_axes[i], 3, sqrt(probe_dot(l.real_axes[i], l.real_axes[i])));
    for (int i = 0; i < l.npanel; i++) {
        check_ok(laboratory_panel(ctx, scene, &l, middle, i, &p), "a panel");
        add_numbers(to, p.fast, 3, 1);
        add_numbers(to, p.slow, 3, 1);
        add_numbers(to, p.origin, 3, sqrt(probe_dot(p.origin, p.origin)));
    }
}

static struct numbers numbers_of(nb_simulator *sim, const double *x)
{
    struct numbers out = {0};
    nb_scene all, one;
    nb_description d;

    check_ok(nb_simulator_resolved(sim, x, &all), "the scene");
    check_ok(nb_simulator_describe(sim, x, &d), "its description");
    for (int i = 0; i < lattices_count(&all); i++) {
        lattices_scene(&all, i, &one);
        add_lattice(&out, &one);
    }
    add_numbers(&out, &all.beam.wavelength, 1, all.beam.wavelength);
    add_numbers(&out, &d.mu, 1, fmax(d.mu, 1));
    add_numbers(&out, all.crystal.mosaic, 1, 1);
    return out;
}

/* Changes all values of these parameters a little, not two alike. */
static void move(nb_simulator *sim, double *x)
{
    nb_param p;

    for (size_t i = 0; nb_simulator_param(sim, i, &p) == NB_OK; i++) {
        const double step = 0.01 + 0.003 * (double)(i % 5);

        x[i] = p.value + (fabs(p.value) > 1 ? step * p.value / 10 : step);
        x[i] = fmin(fmax(x[i], p.lower), p.upper);
    }
}

/* Updates a file to the scene of the image at phi with other values of some parameters,
 * reads it again at an angle, and compares the scene with that of the file before, with the
 * same values. */
static void moved(const struct sample *sample, const char *names, double phi, double again)
{
    const char *from = put_sample(sample), *to = in_folder("out.expt");
    char what[200];
    nb_experiment e, f;
    nb_scene s = read_scene(from, 0, phi, &e);
    nb_simulator *sim = probe_make(&s, names), *other;
    double x[100];
    struct numbers expected, found;
    struct worst w = {0};

    (void)snprintf(what, sizeof what, "%s: %s from %g, read at %g", sample->name, names,
                   phi, again);
    move(sim, x);
    check_ok(update(from, 0, sim, x, to), what);
    nb_simulator_free(sim);
    nb_experiment_clear(&e);

    s = read_scene(from, 0, again, &e);
    sim = probe_make(&s, names);
    move(sim, x);
    expected = numbers_of(sim, x);
    s = read_scene(to, 0, again, &f);
    other = probe_make(&s, NULL);
    found = numbers_of(other, NULL);
    tap_check(found.n == expected.n, "%s: %zu numbers", what, expected.n);
    for (size_t i = 0; i < expected.n && i < found.n; i++)
        worst_add(&w, found.v[i], expected.v[i], expected.size[i]);
    worst_check(&w, 1e-12, "%s: the worst of %zu numbers", what, w.count);
    nb_simulator_free(sim);
    nb_simulator_free(other);
    nb_experiment_clear(&e);
    nb_experiment_clear(&f);
}

static int reads_back(void)
{
    static const char *const crystal[] = {"misset", "cell", "misset cell", "matrix"};
    static const char *const all[] = {"wavelength", "beam_direction", "polarization",
                                      "mosaic"};
    static const char *const panel[] = {"distance", "origin detector_rot",
                                        "close_distance"};
    static const char *const panels[] = {"panel_shift panel_rot", "group_shift",
                                         "group_rot panel_rot", "origin detector_rot",
                                         "group_shift group_rot panel_shift origin"};

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (size_t i = 0; i < COUNT(samples); i++) {
        const int has_panels = samples[i].text == expt_panels_text;
        const int has_beam = samples[i].text != expt_panels_text;
        const int has_panel = samples[i].text == expt_text;
        const int has_axis = has_beam && strcmp(samples[i].name, "still") != 0;

        for (size_t k = 0; k < COUNT(crystal) && has_beam; k++)
            moved(samples + i, crystal[k], NAN, NAN);
        for (size_t k = 0; k < COUNT(all) && has_beam; k++)
            moved(samples + i, all[k], NAN, NAN);
        for (size_t k = 0; k < COUNT(panel) && has_panel; k++)
            moved(samples + i, panel[k], NAN, NAN);
        for (size_t k = 0; k < COUNT(panels) && has_panels; k++)
            moved(samples + i, panels[k], NAN, NAN);
        if (has_axis) moved(samples + i, "spindle", NAN, NAN);
    }
    return 0;
}

/* Images of a scan other than the first, from which the crystals of all images follow. */
static int at_scan_points(void)
{
    static const struct {
        const char *sample, *names;
        double phi, again;
    } rows[] = {
        {"scan points", "misset", 12.75, 12.75},
        {"scan points", "misset", 12.75, 12.5},
        {"scan points", "misset cell", 12.75, 12.75},
        {"scan points", "misset cell", 12.6, 12.6},
        {"settings", "misset cell spindle", 12.75, 12.75},
        {"beams", "beam_direction wavelength misset", 12.75, 12.75},
        {"beams", "misset", 12.75, 12.5},
        {"lattices that change", "misset lattice_misset", 0.5, 0.5},
        {"lattices that change", "misset lattice_misset", 0.5, 0},
        {"lattices that change", "misset cell lattice_cell", 0.5, 0.5},
    };

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t k = 0; k < COUNT(samples); k++)
            if (strcmp(samples[k].name, rows[i].sample) == 0)
                moved(samples + k, rows[i].names, rows[i].phi, rows[i].again);
    return 0;
}

/* The scan points state the drift of the crystal. */
static int drift(void)
{
    static const struct sample points = {"drift", expt_text, "\"real_space_a\": [30, 0, 0]",
                                         TURNED_POINTS};
    static const double turn[3] = {0.02, -0.03, 0.01};
    const char *to = in_folder("out.expt"), *from = put_sample(&points);
    const double rate = sqrt(probe_dot(turn, turn));
    nb_experiment e, f;
    nb_scene s, before, after;
    nb_simulator *sim;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    s = read_scene(from, 0, NAN, &e);
    memcpy(s.scan.drift, turn, sizeof turn);
    s.scan.drift_phi = 10;
    sim = probe_make(&s, NULL);
    check_ok(update(from, 0, sim, NULL, to), "a crystal that drifts");
    before = after = read_scene(to, 0, NAN, &f);
    for (int i = 0; i < 3; i++) { /* at the ends of images the points themselves */
        const double phi = 12.5 + 0.25 * i;
        struct worst w = {0};

        (void)nb_scan_points_set(e.points, phi, ~0U, &before, NULL);
        (void)nb_scan_points_set(f.points, phi, ~0U, &after, NULL);
        for (int k = 0; k < 3; k++) {
            const double *a = before.crystal.matrix + k, *b = after.crystal.matrix + k;
            double expected[3];

            probe_turn(turn, rate * (phi - 10), VECTOR(a[0], a[3], a[6]), expected);
            worst_add_all(&w, VECTOR(b[0], b[3], b[6]), expected, 3, 0.02);
        }
        worst_check(&w, 1e-13, "the axes at %g degree, turned by the drift", phi);
    }
    nb_simulator_free(sim);
    nb_experiment_clear(&e);
    nb_experiment_clear(&f);
    return 0;
}

/* ---- what stays ---- */

static int count_of(const char *text, const char *part)
{
    int n = 0;

    for (; (text = strstr(text, part)) != NULL; text++) n++;
    return n;
}

/* Words that are not JSON stay, as do names, and spaces where nothing moves. */
static int keeps_words(void)
{
    static const char *const kept[] =
        {"\"flux\": NaN, \"transmission\": 1}", "\"trusted_range\": [-Infinity, Infinity]",
         "\"name\": \"a NaN\\\" Infinity\",\n  \"fast_axis\": [1, 0, 0], ",
         "\"space_group_hall_symbol\": \" P 2yb\", \"mosaicity\": 0.05}],\n"};
    const char *from = put_sample(samples), *to = in_folder("out.expt");
    nb_experiment e;
    nb_scene s;
    nb_simulator *sim;
    double x[20];
    char *text;
    size_t n;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    s = read_scene(from, 0, NAN, &e);
    sim = probe_make(&s, "misset wavelength distance");
    move(sim, x);
    check_ok(update(from, 0, sim, x, to), "crystal, beam and detector");
    text = slurp(to, &n);
    for (size_t i = 0; i < COUNT(kept); i++)
        tap_check(count_of(text, kept[i]) == 1, "%s stays", kept[i]);
    free(text);
    check_ok(update(from, 0, sim, x, from), "over the file itself");
    text = slurp(to, &n);
    tap_check(holds(from, text, n), "the same bytes");
    free(text);
    nb_simulator_free(sim);
    nb_experiment_clear(&e);
    return 0;
}

/* Two experiments of two scans that share all other models. */
static const char *put_shared(void)
{
    const char *path = in_folder("in.expt");
    char *one = text_with(expt_text, "\"crystal\": 0}]",
                          "\"crystal\": 0}, {\"beam\": 0, \"detector\": 0, \"goniometer\": "
                          "0, \"scan\": 1, \"crystal\": 0}]");
    char *two =
        text_with(one, "\"batch_offset\": 0}]",
                  "\"batch_offset\": 0}, {\"image_range\": [1, 1], \"oscillation\": "
                  "[0, 0.25]}]");

    put(path, two, strlen(two));
    free(one);
    free(two);
    return path;
}

static void models(const char *what, const char *path, int detectors, int crystals)
{
    size_t n;
    char *text = slurp(path, &n);

    tap_check(count_of(text, "\"panels\"") == detectors, "%s: %d detectors", what,
              detectors);
    tap_check(count_of(text, "\"real_space_a\"") == crystals, "%s: %d crystals", what,
              crystals);
    tap_check(count_of(text, "\"wavelength\"") == 1, "%s: one beam", what);
    free(text);
}

/* The origin and the axis a of an experiment. */
static void state_of(const char *path, int i, double out[2])
{
    nb_experiment e;

    check_ok(nb_expt_read(ctx, path, i, &e), path);
    out[0] = e.scene.detector.close_distance;
    out[1] = e.scene.crystal.matrix[3];
    nb_experiment_clear(&e);
}

static int shared(void)
{
    const char *from = put_shared(), *to = in_folder("out.expt");
    nb_expt_update *u;
    nb_experiment e;
    nb_scene s;
    nb_simulator *sim;
    double x[20], before[2], first[2], second[2];

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    s = read_scene(from, 0, NAN, &e);
    sim = probe_make(&s, "misset distance");
    move(sim, x);
    state_of(from, 0, before);
    check_ok(nb_expt_update_begin(ctx, from, &u), "begin");

    check_ok(nb_expt_update_add(u, 0, sim, x), "the first");
    check_ok(nb_expt_update_write(u, to), "write");
    models("the first changes", to, 2, 2);
    state_of(to, 0, first);
    state_of(to, 1, second);
    tap_check(first[0] != before[0] && first[1] != before[1], "it is the one that moves");
    tap_check(second[0] == before[0] && second[1] == before[1], "and not the second");

    check_ok(nb_expt_update_add(u, 1, sim, x), "the second");
    check_ok(nb_expt_update_write(u, to), "write");
    models("both change alike", to, 1, 1);
    state_of(to, 1, second);
    tap_check(second[0] == first[0] && second[1] == first[1], "both have moved");

    x[0] += 1;
    check_ok(nb_expt_update_add(u, 1, sim, x), "the second");
    check_ok(nb_expt_update_write(u, to), "write");
    models("other crystals of one detector", to, 1, 2);
    state_of(to, 0, second);
    tap_check(second[0] == first[0] && second[1] == first[1], "the first is as before");
    state_of(to, 1, second);
    tap_check(second[0] == first[0] && second[1] != first[1], "the second has its own");

    check_ok(nb_expt_update_add(u, 0, sim, NULL), "the first");
    check_ok(nb_expt_update_add(u, 1, sim, NULL), "the second");
    check_ok(nb_expt_update_write(u, to), "write");
    models("changes taken back", to, 1, 1);
    nb_expt_update_free(u);
    nb_simulator_free(sim);
    nb_experiment_clear(&e);
    return 0;
}

/* ---- what is refused ---- */

static void begin_refused(const char *text, const char *part)
{
    const char *path = in_folder("bad.expt");
    nb_expt_update *u = NULL;

    put(path, text, strlen(text));
    check_refused(nb_expt_update_begin(ctx, path, &u), NB_ERR_FORMAT, path, part);
    tap_check(!u, "no update");
}

/* Refuses scenes that were not made from the file, and leaves no file behind. */
static void refuse_scenes(void)
{
    const char *path = put_sample(samples);
    nb_scene s = probe_gauss(NB_MOSAIC_GAUSS);
    nb_expt_update *u = NULL;
    nb_lattice lattice[2] = {{.scale = 1}, {.scale = 1}};
    nb_simulator *sim = probe_make(&s, NULL);
    nb_experiment e;

    check_ok(nb_expt_update_begin(ctx, path, &u), "begin");
    check_refused(nb_expt_update_add(u, 1, sim, NULL), NB_ERR_ARGUMENT,
                  "there is no experiment 1", path);
    check_refused(nb_expt_update_add(u, 0, NULL, NULL), NB_ERR_ARGUMENT, "sim", "NULL");
    check_refused(nb_expt_update_add(u, 0, sim, NULL), NB_ERR_ARGUMENT,
                  "NB_CONVENTION_DIALS", path);
    check_refused(nb_expt_update_write(u, in_folder("none/a.expt")), NB_ERR_FILE, "none",
                  "cannot");
    nb_simulator_free(sim);
    s = read_scene(put_sample(samples + 1), 0, NAN, &e);
    sim = probe_make(&s, NULL);
    check_refused(nb_expt_update_add(u, 0, sim, NULL), NB_ERR_SCENE, "1 panels", path);
    nb_simulator_free(sim);
    nb_experiment_clear(&e);
    s = read_scene(put_sample(samples), 0, NAN, &e);
    s.crystal.nlattice = 2;
    s.crystal.lattice = lattice;
    sim = probe_make(&s, NULL);
    check_refused(nb_expt_update_add(u, 0, sim, NULL), NB_ERR_SCENE,
                  "0 further crystals, and the scene has 2", path);
    nb_simulator_free(sim);
    nb_experiment_clear(&e);
    nb_expt_update_free(u);
}

static int refused(void)
{
    nb_expt_update *u = NULL;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (size_t n = 0; n < strlen(expt_text) - 3; n += 97) {
        char *cut = text_with(expt_text, "{", "{");

        cut[n] = '\0';
        begin_refused(cut, "not JSON");
        free(cut);
    }
    begin_refused("{\"__id__\": \"DataBlock\"}", "not a list of experiments");
    begin_refused("{\"__id__\": \"ExperimentList\", \"experiment\": []}", "no experiment");
    begin_refused("{\"__id__\": \"ExperimentList\", \"be\\u0061m\": [{}], "
                  "\"experiment\": [{\"beam\": 0}]}",
                  "\"beam\" is not written as DIALS writes it");
    check_refused(nb_expt_update_begin(ctx, in_folder("none"), &u), NB_ERR_FILE, "none",
                  "No such file");
    check_refused(nb_expt_update_begin(ctx, NULL, &u), NB_ERR_ARGUMENT, "path", "NULL");
    check_refused(nb_expt_update_begin(ctx, "a", NULL), NB_ERR_ARGUMENT, "out", "NULL");
    tap_check(nb_expt_update_begin(NULL, "a", &u) == NB_ERR_ARGUMENT
                  && nb_expt_update_add(NULL, 0, NULL, NULL) == NB_ERR_ARGUMENT
                  && nb_expt_update_write(NULL, "a") == NB_ERR_ARGUMENT,
              "NULL is refused");
    nb_expt_update_free(NULL);
    refuse_scenes();
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"keeps_bytes", keeps_bytes},
        {"reads_back", reads_back},
        {"at_scan_points", at_scan_points},
        {"drift", drift},
        {"keeps_words", keeps_words},
        {"shared", shared},
        {"refused", refused},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
