/*
 * test_updated_experiment.c - an .expt that is updated: without a change it keeps its
 * bytes; what has moved is read again as the scene had it, by goniometers of several axes,
 * at scan points, with lattices and with panels in groups.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/experiments.h"
#include "io/updates.h"
#include "nanobrag_io/laboratory.h"
#include "scene/lattices/lattices.h"
#include "scene/probe.h"
#include "support/files.h"
#include "support/worst.h"

/* ---- nothing has moved ---- */

static void unchanged(const char *name, const char *from, double phi)
{
    const char *const to = in_folder("out.expt"), *const copy = in_folder("in.expt");
    nb_experiment e;
    const nb_scene s = read_scene(from, 0, phi, &e);
    nb_simulator *sim = probe_make(&s, "misset cell wavelength");
    size_t n;
    char *bytes = slurp(from, &n);

    put(copy, bytes, n); /* in one folder, relative names of images stay */
    check_ok(update_file(copy, 0, sim, NULL, to), name);
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
    for (size_t i = 0; i < UPDATE_SAMPLES; i++) {
        unchanged(update_samples[i].name, put_sample(update_samples + i), NAN);
        if (strcmp(update_samples[i].name, "still") != 0)
            unchanged(update_samples[i].name, put_sample(update_samples + i), 12.75);
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

/* Updates a file to the scene of the image at phi with other values of some parameters,
 * reads it again at an angle, and compares the scene with that of the file before, with the
 * same values. */
static void moved(const struct update_sample *sample, const char *names, double phi,
                  double again)
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
    move_values(sim, x);
    check_ok(update_file(from, 0, sim, x, to), what);
    nb_simulator_free(sim);
    nb_experiment_clear(&e);

    s = read_scene(from, 0, again, &e);
    sim = probe_make(&s, names);
    move_values(sim, x);
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
    for (size_t i = 0; i < UPDATE_SAMPLES; i++) {
        const int has_panels = update_samples[i].text == expt_panels_text;
        const int has_beam = update_samples[i].text != expt_panels_text;
        const int has_panel = update_samples[i].text == expt_text;
        const int has_axis = has_beam && strcmp(update_samples[i].name, "still") != 0;

        for (size_t k = 0; k < COUNT(crystal) && has_beam; k++)
            moved(update_samples + i, crystal[k], NAN, NAN);
        for (size_t k = 0; k < COUNT(all) && has_beam; k++)
            moved(update_samples + i, all[k], NAN, NAN);
        for (size_t k = 0; k < COUNT(panel) && has_panel; k++)
            moved(update_samples + i, panel[k], NAN, NAN);
        for (size_t k = 0; k < COUNT(panels) && has_panels; k++)
            moved(update_samples + i, panels[k], NAN, NAN);
        if (has_axis) moved(update_samples + i, "spindle", NAN, NAN);
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
        for (size_t k = 0; k < UPDATE_SAMPLES; k++)
            if (strcmp(update_samples[k].name, rows[i].sample) == 0)
                moved(update_samples + k, rows[i].names, rows[i].phi, rows[i].again);
    return 0;
}

/* The scan points state the drift of the crystal. */
static int drift(void)
{
    static const double turn[3] = {0.02, -0.03, 0.01};
    const char *to = in_folder("out.expt"), *from = put_sample(update_samples + 6);
    const double rate = sqrt(probe_dot(turn, turn));
    nb_experiment e, f;
    nb_scene s, before, after;
    nb_simulator *sim;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    s = read_scene(from, 0, NAN, &e);
    memcpy(s.scan.drift, turn, sizeof turn);
    s.scan.drift_phi = 10;
    sim = probe_make(&s, NULL);
    check_ok(update_file(from, 0, sim, NULL, to), "a crystal that drifts");
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

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"keeps_bytes", keeps_bytes},
        {"reads_back", reads_back},
        {"at_scan_points", at_scan_points},
        {"drift", drift},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
