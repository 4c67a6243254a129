/*
 * shots.h - -shots: a table of parameters. Each row makes an image.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_SHOTS_SHOTS_H
#define NB_CLI_SHOTS_SHOTS_H

#include <stddef.h>

#include "nanobrag_command/command.h"

struct shots {
    nb_table *table, *spectra; /* of -shots, and of -spectra or NULL */
    int first, n; /* rows of the table that are made, from 0 on */
    size_t *place; /* of the columns, in x; -shots first, then -spectra */
    size_t nplace;
};

/* 1 when -shots is a table of images to make, not a list of images to fit. */
int shots_asked(const struct settings *s);

/* Read the tables, and set the number of images and of the first one. Returns 0 or the exit
 * status. */
int shots_read(struct command *command);

/* Make the energies of -spectra sources along the beam, once its direction is known
 * (spectra.c). Returns 0 or the exit status. */
int spectra_set(struct command *command);

/* The names that a simulator has to free for the tables, for params_names(); NULL: none. */
const char *shots_title(const struct command *command);

/* Find the columns among the free parameters, check their numbers, and set x to the first
 * shot. Returns 0 or the exit status. */
int shots_place(struct command *command);

/* Set x to the i-th shot that the run makes, and the description to it if the run needs
 * one. Returns 0 or the exit status. */
int shots_set(struct command *command, int i);

/* The parameters of n shots from row `row` of the table on, (n x nparam), to be freed;
 * NULL: no memory. */
double *shots_rows(const struct command *command, int row, int n);

void shots_free(struct command *command);

#endif
