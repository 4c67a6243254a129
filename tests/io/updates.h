/*
 * updates.h - files of experiments that tests update, and scenes that are made from them.
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_UPDATES_H
#define NB_TESTS_UPDATES_H

#include <nanobrag/nanobrag.h>

/* A change of one of the texts of experiments.h; old is NULL: none. */
struct update_sample {
    const char *name, *text, *old, *changed;
};
enum { UPDATE_SAMPLES = 12 };
extern const struct update_sample update_samples[UPDATE_SAMPLES];

/* Writes the file of a sample, whose scan has two images at most. Returns its path. */
const char *put_sample(const struct update_sample *sample);

/* Reads an experiment with its lattices, at the image that starts at phi (NAN: the first),
 * and completes its scene. Ends the program if the file is refused. */
nb_scene read_scene(const char *path, int i, double phi, nb_experiment *e);

/* Updates experiment i of a file to a simulator at x. */
nb_status update_file(const char *from, int i, nb_simulator *sim, const double *x,
                      const char *to);

/* Writes values of the free parameters that are a little off, not two alike. */
void move_values(nb_simulator *sim, double *x);

#endif
