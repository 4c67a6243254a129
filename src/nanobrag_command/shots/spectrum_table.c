/*
 * spectrum_table.c - reads -spectrum, a table of photon energies and weights. The energies
 * become sources along the beam.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_command/shots/spectrum_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MOST = 10000000 };

static const double ev_angstrom = 12398.42; /* wavelength in A times energy in eV, as in
                                               options.def */

static int failed(struct messages *messages, nb_context *ctx, nb_status status)
{
    return message_status(messages, status, nb_context_message(ctx), 0);
}

/* ---- merging ---- */

static int by_energy(const void *a, const void *b)
{
    const struct line *const x = a, *const y = b;
    return (x->energy > y->energy) - (x->energy < y->energy);
}

/* a bin of energies while lines are added to it */
struct bin {
    double weight, moment; /* sums over its lines of weight, and of weight times energy */
    double first; /* the energy of the first line */
    int single; /* 1: all lines have that energy */
};

static void bin_add(struct bin *bin, double energy, double weight)
{
    if (bin->weight == 0) *bin = (struct bin){.first = energy, .single = 1};
    bin->single = bin->single && energy == bin->first;
    bin->weight += weight;
    bin->moment += weight * energy;
}

/* Append a finished bin to the n lines of `out`, or add it to the last line if the energies
 * are equal. Returns the number of lines. */
static size_t bin_end(struct bin *bin, struct line *out, size_t n)
{
    if (!(bin->weight > 0)) return n;
    const double energy = bin->single ? bin->first : bin->moment / bin->weight;
    if (n > 0 && out[n - 1].energy == energy)
        out[n - 1].weight += bin->weight;
    else
        out[n++] = (struct line){energy, bin->weight};
    bin->weight = 0;
    return n;
}

/* Merge n lines into `bins` bins of equal weight, each at its mean energy. A line may be
 * divided between bins. Returns the number of lines of `out`: fewer than `bins` if one line
 * fills several bins. */
static size_t merge(struct line *lines, size_t n, size_t bins, struct line *out)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += lines[i].weight;
    qsort(lines, n, sizeof *lines, by_energy);
    const double full = sum / (double)bins;
    struct bin bin = {0};
    size_t made = 0, ended = 0;
    for (size_t i = 0; i < n; i++) {
        double left = lines[i].weight;
        /* the last bin is not ended here, so that it also takes what rounding leaves
         * over */
        while (left > 0 && ended + 1 < bins && bin.weight + left >= full) {
            const double part = full - bin.weight;
            bin_add(&bin, lines[i].energy, part);
            made = bin_end(&bin, out, made);
            ended++;
            left -= part;
        }
        if (left > 0) bin_add(&bin, lines[i].energy, left);
    }
    return bin_end(&bin, out, made);
}

/* Merge the lines to -spectrum_bins, if there are more. Returns 0 or the exit status. */
static int shorten(const struct settings *s, struct messages *messages, struct line **lines,
                   size_t *n)
{
    const size_t bins = (size_t)s->spectrum_bins;
    if (bins == 0 || bins >= *n) return 0;
    struct line *const merged = malloc(bins * sizeof *merged);
    if (!merged) return message_failure(messages, "out of memory for %zu energies", bins);
    *n = merge(*lines, *n, bins, merged);
    free(*lines);
    *lines = merged;
    return 0;
}

/* ---- the sources ---- */

int spectrum_set_sources(struct inputs *in, struct settings *s, struct messages *messages,
                         const struct line *lines, size_t n)
{
    double beam[3], sum = 0, mean = 0;
    settings_beam_direction(s, beam);
    in->sources = calloc(n + 1, sizeof *in->sources);
    in->positions = calloc(n + 1, sizeof *in->positions);
    if (!in->sources || !in->positions)
        return message_failure(messages, "out of memory for %zu sources", n);
    for (size_t i = 0; i < n; i++) {
        nb_source *const source = &in->sources[i];
        for (int k = 0; k < 3; k++) {
            in->positions[i][k] = -10 * beam[k];
            source->direction[k] = beam[k];
        }
        source->weight = lines[i].weight;
        source->wavelength = ev_angstrom / lines[i].energy;
        sum += source->weight;
        mean += source->weight * source->wavelength;
    }
    if (!s->given[OPT_LAMBDA] && !s->given[OPT_ENERGY])
        s->scene.beam.wavelength = mean / sum;
    in->nsource = s->scene.beam.nsource = (int)n;
    s->scene.beam.source = in->sources;
    return 0;
}

int spectrum_check_energy(struct messages *messages, const char *file, long at,
                          double energy)
{
    if (energy > 0) return 0;
    return message_usage(messages,
                         "%s, line %ld: the photon energy is %g eV, expected more than 0",
                         file, at, energy);
}

int spectrum_check_weight(struct messages *messages, const char *file, long at,
                          double weight)
{
    if (weight >= 0) return 0;
    return message_usage(messages, "%s, line %ld: the weight is %g, expected 0 or more",
                         file, at, weight);
}

void spectrum_warn_of_units(struct messages *messages, const char *file, double energy)
{
    if (energy < 100)
        message_warning(messages,
                        "%s: photon energies are in eV, and %g eV is a wavelength of %g A; "
                        "if they are in keV, write eV",
                        file, energy, ev_angstrom / energy);
}

/* ---- -spectrum ---- */

/* Read row i of the table. Returns 0 or the exit status. */
static int read_line(const struct settings *s, struct messages *messages,
                     const nb_table *table, size_t i, struct line *out)
{
    const double *const row = nb_table_data(table) + 2 * i;
    const long at = nb_table_line(table, i);
    if (isnan(row[0]) || isnan(row[1]))
        return message_usage(messages,
                             "%s, line %ld: expected two numbers, the photon energy in eV "
                             "and its weight",
                             s->spectrum, at);
    *out = (struct line){row[0], row[1]};
    const int code = spectrum_check_energy(messages, s->spectrum, at, row[0]);
    return code ? code : spectrum_check_weight(messages, s->spectrum, at, row[1]);
}

static int read_lines(const struct settings *s, struct messages *messages,
                      const nb_table *table, struct line *lines)
{
    double sum = 0, most = 0;
    for (size_t i = 0; i < nb_table_rows(table); i++) {
        const int code = read_line(s, messages, table, i, &lines[i]);
        if (code) return code;
        sum += lines[i].weight;
        most = fmax(most, lines[i].energy);
    }
    if (!(sum > 0))
        return message_usage(messages, "%s: the weights add up to %g, expected more than 0",
                             s->spectrum, sum);
    spectrum_warn_of_units(messages, s->spectrum, most);
    return 0;
}

static int read_spectrum(struct inputs *in, struct settings *s, struct messages *messages,
                         nb_context *ctx)
{
    nb_table *table;
    const nb_status status = nb_table_read(ctx, s->spectrum, 2, &table);
    if (status != NB_OK) return failed(messages, ctx, status);
    size_t n = nb_table_rows(table);
    struct line *lines = calloc(n + 1, sizeof *lines);
    if (!lines || n > LINES_MOST) {
        nb_table_free(table);
        free(lines);
        return message_usage(messages, "%s: the table has %zu energies, which are too many",
                             s->spectrum, n);
    }
    int code = read_lines(s, messages, table, lines);
    nb_table_free(table);
    if (!code) code = shorten(s, messages, &lines, &n);
    if (!code) code = spectrum_set_sources(in, s, messages, lines, n);
    free(lines);
    return code;
}

int spectrum_read(struct inputs *in, struct settings *s, struct messages *messages,
                  nb_context *ctx)
{
    return s->spectrum ? read_spectrum(in, s, messages, ctx) : 0;
}
