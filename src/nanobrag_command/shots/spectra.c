/*
 * spectra.c - reads -spectra: photon energies in the first line, which all shots share, and
 * a line of weights for each shot.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_command/shots/shots.h"
#include "nanobrag_command/shots/spectrum_table.h"

/* Read the energies of the first line, eV, into `lines`. Returns 0 or the exit status. */
static int read_energies(const struct settings *s, struct messages *messages,
                         const nb_table *table, struct line *lines)
{
    static const char between[] = " \t,;:!";
    const int n = nb_table_columns(table);
    char *const title = strdup(nb_table_title(table)), *rest = NULL;
    int found = 0, code = 0;
    double most = 0;
    if (!title) return message_failure(messages, "out of memory for %s", s->spectra);
    for (char *word = strtok_r(title, between, &rest); word && !code;
         word = strtok_r(NULL, between, &rest)) {
        double energy = 0;
        if (!parse_real(word, &energy) || !(energy > 0))
            code = message_usage(messages,
                                 "%s: the first line holds '%.40s'; expected photon "
                                 "energies in eV, more than 0",
                                 s->spectra, word);
        else if (found < n)
            lines[found] = (struct line){energy, 0};
        most = fmax(most, energy);
        found++;
    }
    free(title);
    if (!code && found != n)
        code = message_usage(messages,
                             "%s: the number of energies in the first line is %d, but the "
                             "number of weights in the next is %d; expected a weight for "
                             "each energy",
                             s->spectra, found, n);
    if (!code) spectrum_warn_of_units(messages, s->spectra, most);
    return code;
}

static int check_weights(const struct settings *s, struct messages *messages,
                         const nb_table *table, size_t i)
{
    const int n = nb_table_columns(table);
    const double *const row = nb_table_data(table) + i * (size_t)n;
    double sum = 0;
    for (int k = 0; k < n; k++) {
        const int code =
            spectrum_check_weight(messages, s->spectra, nb_table_line(table, i), row[k]);
        if (code) return code;
        sum += row[k];
    }
    if (sum > 0) return 0;
    return message_usage(messages,
                         "%s, line %ld: the weights add up to %g, expected more than 0",
                         s->spectra, nb_table_line(table, i), sum);
}

int spectra_set(struct command *command)
{
    struct settings *const s = command->s;
    const nb_table *const table = command->shots ? command->shots->spectra : NULL;
    if (!table) return 0;
    const size_t n = (size_t)nb_table_columns(table);
    struct line *const lines = calloc(n, sizeof *lines);
    if (!lines)
        return message_failure(command->messages, "out of memory for %zu energies", n);
    int code = read_energies(s, command->messages, table, lines);
    for (size_t i = 0; i < nb_table_rows(table) && !code; i++)
        code = check_weights(s, command->messages, table, i);
    /* start with the weights of the first shot */
    const double *const row = nb_table_data(table) + (size_t)command->shots->first * n;
    for (size_t k = 0; k < n && !code; k++) lines[k].weight = row[k];
    if (!code)
        code = spectrum_set_sources(&command->inputs, s, command->messages, lines, n);
    free(lines);
    return code;
}
