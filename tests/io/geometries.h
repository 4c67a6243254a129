/*
 * geometries.h - a small geometry file of CrystFEL for tests, copies of it in which one
 * part is another, and what is made of them, in a context whose log is kept.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_GEOMETRIES_H
#define NB_TESTS_GEOMETRIES_H

#include <nanobrag/nanobrag.h>

#define GEOMETRIES TEST_DATA_DIR "/geometries/"
#define JUNGFRAU   TEST_DATA_DIR "/../../examples/data/jungfrau.geom"

/* Two panels of an array of 5 x 10 pixels; the second is turned by 90 degrees. */
extern const char geom_text[];

/* The lines of the log since the last text, sample or simulator. */
extern char geom_lines[8192];

/* Returns how often the log has a text. */
int geom_count(const char *what);

nb_context *geom_context(void);

/* Parses a text; the file is called "input". */
nb_status geom_parse_text(const char *from, nb_geometry **out);

/* Each of these ends the program if it fails. Returns the geometry of a text, of geom_text
 * with one part changed, or of a file. */
nb_geometry *geom_parsed(const char *from);
nb_geometry *geom_changed(const char *old, const char *by);
nb_geometry *geom_sample(const char *path);

/* Returns a scene with a geometry, and its simulator. */
nb_scene geom_scene(const nb_geometry *g, int convention);
nb_simulator *geom_simulator(const nb_scene *scene);
nb_panel geom_panel_of(nb_simulator *sim, int i);

/* Returns the name of the group of a number as in nb_panel, "" for none. */
const char *geom_group_name(const nb_scene *s, int number);

#endif
