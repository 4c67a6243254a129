/*
 * spectrum_table.h - photon energies with weights, as the program reads them from files.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_SHOTS_SPECTRUM_TABLE_H
#define NB_CLI_SHOTS_SPECTRUM_TABLE_H

#include <stddef.h>

#include "nanobrag_command/command.h"

/* light of one energy, eV */
struct line {
    double energy, weight;
};

/* Make the lines sources along the beam. The beam takes their mean wavelength if no option
 * states one. Returns 0 or the exit status. */
int spectrum_set_sources(struct inputs *in, struct settings *s, struct messages *messages,
                         const struct line *lines, size_t n);

/* Refuse an energy or a weight of line `at` of a file. Each returns 0 or the exit status.
 */
int spectrum_check_energy(struct messages *messages, const char *file, long at,
                          double energy);
int spectrum_check_weight(struct messages *messages, const char *file, long at,
                          double weight);

/* Warn if the largest energy looks like keV by mistake; the file is still accepted. */
void spectrum_warn_of_units(struct messages *messages, const char *file, double energy);

#endif
