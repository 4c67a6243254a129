/*
 * shots.h - the table of -shots: each row holds values of parameters and makes one image.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_SHOTS_SHOTS_H
#define NB_CLI_SHOTS_SHOTS_H

#include <stddef.h>

#include "nanobrag_command/command.h"

struct shots {
    nb_table *table, *spectra; /* tables of -shots; of -spectra, or NULL */
    int first, n; /* the rows to make: number of the first, from 0 on, and how many */
    size_t *place; /* index in x of each column, of -shots first, then of -spectra */
    size_t nplace;
};

/* Returns 1 if -shots is a table of images to make; with a fit it lists observed images
 * instead. */
int shots_asked(const struct settings *s);

/* Read the tables. Set the number of images, and the row of the first. Returns 0 or the
 * exit status. */
int shots_read(struct command *command);

/* Make each energy of -spectra a source along the beam (spectra.c). The direction of the
 * beam must be known. Returns 0 or the exit status. */
int spectra_set(struct command *command);

/* Returns the names of the parameters in the table of -shots, for params_names(); NULL
 * without the option. */
const char *shots_title(const struct command *command);

/* Find which parameters the columns are, check that all numbers are within bounds, and set
 * x to the first row. Returns 0 or the exit status. */
int shots_place(struct command *command);

/* Set x to the i-th row that is made, and command->description as well if a file needs it.
 * Returns 0 or the exit status. */
int shots_set(struct command *command, int i);

/* Returns the parameters of n rows, from `row` of the table on, as an array (n x nparam)
 * that the caller frees; NULL: no memory. */
double *shots_rows(const struct command *command, int row, int n);

void shots_free(struct command *command);

#endif
