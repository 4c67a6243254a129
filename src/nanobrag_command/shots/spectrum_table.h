/*
 * spectrum_table.h - photon energies with weights, as files state them, become sources.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_SHOTS_SPECTRUM_TABLE_H
#define NB_CLI_SHOTS_SPECTRUM_TABLE_H

#include <stddef.h>

#include "nanobrag_command/command.h"

/* light of one photon energy, eV, with its weight */
struct line {
    double energy, weight;
};

/* Make a source along the beam of each line. If no option states the wavelength of the
 * beam, it becomes the weighted mean. Returns 0 or the exit status. */
int spectrum_set_sources(struct inputs *in, struct settings *s, struct messages *messages,
                         const struct line *lines, size_t n);

/* Refuse an energy, eV, of 0 or less, or a weight below 0, in line `at` of a file. Each
 * returns 0 or the exit status. */
int spectrum_check_energy(struct messages *messages, const char *file, long at,
                          double energy);
int spectrum_check_weight(struct messages *messages, const char *file, long at,
                          double weight);

/* Warn if the largest energy, eV, is so small that the file probably means keV. */
void spectrum_warn_of_units(struct messages *messages, const char *file, double energy);

#endif
