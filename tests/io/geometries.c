/*
 * geometries.c - see geometries.h. SPDX-License-Identifier: MIT
 */
#include "io/geometries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "io/experiments.h"
#include "nanobrag_io/geometry/geom.h"
#include "support/files.h"

/* Two panels of an array of 5 x 10; the second is turned by 90 degrees. */
const char geom_text[] = "; two panels\n"
                         "photon_energy = 6199.21\n"
                         "clen = 0.08\n"
                         "res = 10000\n"
                         "p0/min_fs = 0\n"
                         "p0/max_fs = 4\n"
                         "p0/min_ss = 0\n"
                         "p0/max_ss = 4\n"
                         "p0/fs = +1.0x +0.0y\n"
                         "p0/ss = +0.0x +1.0y\n"
                         "p0/corner_x = -5\n"
                         "p0/corner_y = 2.5\n"
                         "coffset = 0.001\n"
                         "p1/min_fs = 5\n"
                         "p1/max_fs = 9\n"
                         "p1/min_ss = 0\n"
                         "p1/max_ss = 3\n"
                         "p1/fs = -y\n"
                         "p1/ss = x\n"
                         "p1/corner_x = 2\n"
                         "p1/corner_y = 8\n";

/* The lines of the log of the last geom_parse_text(). */
char geom_lines[8192];

static void note(void *user, int level, const char *topic, const char *line)
{
    const size_t n = strlen(geom_lines);

    (void)user, (void)topic;
    (void)snprintf(geom_lines + n, sizeof geom_lines - n, "%s%s\n",
                   level == NB_LOG_WARNING ? "warning: " : "note: ", line);
}

int geom_count(const char *what)
{
    int n = 0;

    for (const char *at = geom_lines; (at = strstr(at, what)); at++) n++;
    return n;
}

/* A context whose log is kept. */
nb_context *geom_context(void)
{
    static nb_context *own;
    const nb_context_options options = {.log = note, .threads = 1};

    if (!own && nb_context_create(NB_API_VERSION, &options, &own) != NB_OK) abort();
    return own;
}

nb_status geom_parse_text(const char *from, nb_geometry **out)
{
    geom_lines[0] = '\0';
    return geom_parse(geom_context(), "input", from, strlen(from), out);
}

nb_geometry *geom_parsed(const char *from)
{
    nb_geometry *g = NULL;
    const nb_status status = geom_parse_text(from, &g);

    tap_check(status == NB_OK, "the text is read: %s",
              status == NB_OK ? "yes" : nb_context_message(geom_context()));
    if (status != NB_OK) exit(1);
    return g;
}

/* The text with one part changed. */
nb_geometry *geom_changed(const char *old, const char *by)
{
    char *const other = text_with(geom_text, old, by);
    nb_geometry *const g = geom_parsed(other);

    free(other);
    return g;
}

nb_geometry *geom_sample(const char *path)
{
    nb_geometry *g = NULL;

    geom_lines[0] = '\0';
    if (nb_geom_read(geom_context(), path, &g) != NB_OK) {
        tap_check(0, "%s", nb_context_message(geom_context()));
        exit(1);
    }
    return g;
}

/* A scene with a geometry. */
nb_scene geom_scene(const nb_geometry *g, int convention)
{
    nb_scene s = {.crystal = {.cell = {40, 50, 60, 80, 95, 100},
                              .misset = {10, 20, 30},
                              .ncells = {5, 5, 5},
                              .shape = NB_SHAPE_GAUSS,
                              .default_f = 100},
                  .beam = {.fluence = 1e28},
                  .detector = {.convention = convention},
                  .oversample = 1};

    tap_check(nb_geometry_apply(g, &s) == NB_OK, "the geometry is put into a scene");
    return s;
}

nb_simulator *geom_simulator(const nb_scene *scene)
{
    nb_simulator *sim = NULL;

    geom_lines[0] = '\0';
    if (nb_simulator_create(geom_context(), scene, "", NULL, &sim) != NB_OK) {
        tap_check(0, "%s", nb_context_message(geom_context()));
        exit(1);
    }
    return sim;
}

nb_panel geom_panel_of(nb_simulator *sim, int i)
{
    nb_panel p = {0};

    check_ok(nb_simulator_panel(sim, NULL, i, &p), "panel");
    return p;
}

const char *geom_group_name(const nb_scene *s, int number)
{
    return number > 0 ? s->detector.group[number - 1].name : "";
}
