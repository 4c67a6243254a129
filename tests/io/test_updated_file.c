/*
 * test_updated_file.c - the file of an .expt that is updated: words and names that stay,
 * models that experiments share, what is refused, and damaged files.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/experiments.h"
#include "io/updates.h"
#include "scene/probe.h"
#include "support/files.h"

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
    const char *from = put_sample(update_samples), *to = in_folder("out.expt");
    nb_experiment e;
    nb_scene s;
    nb_simulator *sim;
    double x[20];
    char *text;
    size_t n;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    s = read_scene(from, 0, NAN, &e);
    sim = probe_make(&s, "misset wavelength distance");
    move_values(sim, x);
    check_ok(update_file(from, 0, sim, x, to), "crystal, beam and detector");
    text = slurp(to, &n);
    for (size_t i = 0; i < COUNT(kept); i++)
        tap_check(count_of(text, kept[i]) == 1, "%s stays", kept[i]);
    free(text);
    check_ok(update_file(from, 0, sim, x, from), "over the file itself");
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
    move_values(sim, x);
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
    const char *path = put_sample(update_samples);
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
    s = read_scene(put_sample(update_samples + 1), 0, NAN, &e);
    sim = probe_make(&s, NULL);
    check_refused(nb_expt_update_add(u, 0, sim, NULL), NB_ERR_SCENE, "1 panels", path);
    nb_simulator_free(sim);
    nb_experiment_clear(&e);
    s = read_scene(put_sample(update_samples), 0, NAN, &e);
    s.crystal.nlattice = 2;
    s.crystal.lattice = lattice;
    sim = probe_make(&s, NULL);
    check_refused(nb_expt_update_add(u, 0, sim, NULL), NB_ERR_SCENE,
                  "0 further crystals, but the number of further lattices in the scene is "
                  "2",
                  path);
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

/* Puts words of other files, or other bytes, at some places of a text. */
static void spoil(char *text, size_t n, uint64_t *state)
{
    static const char *const words[] = {"[",  "]",     "{",    "}",         ",",    ":",
                                        "\"", "null",  "NaN",  "1e999",     "-1",   "{}",
                                        "[]", "\\u00", "true", "\"panel\"", "1e-9", " "};
    const int times = 1 + (int)(4 * probe_uniform(state));

    for (int i = 0; i < times; i++) {
        const char *word = words[(size_t)(COUNT(words) * probe_uniform(state))];
        const size_t length = strlen(word);
        const size_t at = (size_t)((double)(n - length) * probe_uniform(state));

        for (size_t k = 0; k < length; k++) text[at + k] = word[k];
    }
}

/* A damaged file is refused in one line, or written as a file that is read again. */
static int damaged(void)
{
    enum { TIMES = 150 };
    uint64_t state = 20261128;
    int written = 0, bad = 0;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    for (size_t i = 0; i < UPDATE_SAMPLES; i++) {
        const char *whole = put_sample(update_samples + i), *path = in_folder("bad.expt");
        size_t n;
        char *text = slurp(whole, &n), *copy = malloc(n);
        nb_experiment e;
        nb_scene s = read_scene(whole, 0, NAN, &e);
        nb_simulator *sim = probe_make(&s, "misset wavelength");
        double x[20];

        move_values(sim, x);
        for (int k = 0; k < TIMES && copy; k++) {
            nb_expt_update *u = NULL;
            nb_status status;

            memcpy(copy, text, n);
            spoil(copy, n, &state);
            put(path, copy, n);
            status = update_file(path, 0, sim, x, in_folder("out.expt"));
            bad += status != NB_OK && strchr(nb_context_message(ctx), '\n');
            if (status != NB_OK) continue;
            written++;
            status = nb_expt_update_begin(ctx, in_folder("out.expt"), &u);
            bad += status != NB_OK;
            nb_expt_update_free(u);
        }
        free(copy);
        free(text);
        nb_simulator_free(sim);
        nb_experiment_clear(&e);
    }
    tap_check(bad == 0, "%d of %d damaged files went wrong", bad,
              TIMES * (int)UPDATE_SAMPLES);
    tap_check(written > TIMES / 10, "%d were written", written);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"keeps_words", keeps_words},
        {"shared", shared},
        {"refused", refused},
        {"damaged", damaged},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
