/*
 * shots.c - the tables of -shots and -spectra, and their rows as values of the parameters.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_program/shots/shots.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "nanobrag_program/derivatives/run_derivatives.h"
#include "nanobrag_program/fit/fit_run.h"
#include "nanobrag_program/shots/spectrum_table.h"

static const char weights[] = "source_weight"; /* what -spectra sets */

int shots_asked(const struct settings *s)
{
    return s->fit.shots && !fit_asked(s);
}

/* ---- reading ---- */

static int failed(struct run *run, nb_status status)
{
    return message_status(run->messages, status, nb_context_message(run->ctx), 0);
}

/* Read -shots_range a:b, which counts rows from 1, both ends included. */
static int read_range(struct run *run, int rows)
{
    const char *const text = run->s->shots_range;
    struct shots *const shots = run->shots;
    int first = 1, last = rows, end = 0;
    shots->n = rows;
    if (!text) return 0;
    if (sscanf(text, "%9d:%9d%n", &first, &last, &end) != 2 || text[end] || first < 1
        || last < first)
        return message_usage(run->messages,
                             "-shots_range %s: expected a:b, the first and the last row, "
                             "counted from 1",
                             text);
    if (last > rows)
        return message_usage(run->messages, "-shots_range %s: %s has %d rows", text,
                             run->s->fit.shots, rows);
    shots->first = first - 1;
    shots->n = last - first + 1;
    return 0;
}

int shots_read(struct run *run)
{
    enum { ROWS_MOST = 100000000 };
    struct settings *const s = run->s;
    if (!shots_asked(s)) return 0;
    struct shots *const shots = run->shots = calloc(1, sizeof *shots);
    if (!shots) return message_failure(run->messages, "out of memory for %s", s->fit.shots);
    nb_status status = nb_table_read_titled(run->ctx, s->fit.shots, &shots->table);
    if (status == NB_OK && s->spectra)
        status = nb_table_read_titled(run->ctx, s->spectra, &shots->spectra);
    if (status != NB_OK) return failed(run, status);
    const size_t rows = nb_table_rows(shots->table);
    if (rows > ROWS_MOST)
        return message_usage(run->messages, "%s: %zu rows are too many", s->fit.shots,
                             rows);
    if (shots->spectra && nb_table_rows(shots->spectra) != rows)
        return message_usage(run->messages,
                             "%s has %zu rows of weights, but %s has %zu shots; expected a "
                             "spectrum for each",
                             s->spectra, nb_table_rows(shots->spectra), s->fit.shots, rows);
    const int code = read_range(run, (int)rows);
    s->images = shots->n;
    s->first = shots->first;
    s->given[OPT_IMAGES] = 1; /* files are numbered */
    s->scene.scan.osc = 0;
    s->scene.given |= NB_GIVEN_OSC;
    return code;
}

const char *shots_title(const struct run *run)
{
    return run->shots ? nb_table_title(run->shots->table) : NULL;
}

/* ---- parameters ---- */

/* Append the places of the parameters that a list names. */
static int add_places(struct run *run, int option, const char *list)
{
    struct shots *const shots = run->shots;
    struct selection found;
    int code = params_select(&run->params, run->messages, run->ctx, run->sim, list, &found);
    size_t *const place =
        code ? NULL
             : realloc(shots->place, (shots->nplace + found.n) * sizeof *shots->place);
    if (!code && !place)
        code = message_failure(run->messages, "out of memory for %s", run->s->fit.shots);
    if (place) shots->place = place;
    for (size_t k = 0; k < found.n && !code; k++) {
        const size_t at = found.at[k];
        const char *const name = run->params.at[at].name;
        if (run->params.set[at])
            code = message_usage(run->messages, "-param and -shots both set %s", name);
        for (size_t i = 0; i < shots->nplace && !code; i++)
            if (shots->place[i] == at)
                code =
                    message_usage(run->messages, "%s: %s is named twice",
                                  option == OPT_SHOTS ? run->s->fit.shots : run->s->spectra,
                                  name);
        shots->place[shots->nplace++] = at;
    }
    free(found.at);
    return code;
}

static int place_columns(struct run *run)
{
    struct shots *const shots = run->shots;
    const int columns = nb_table_columns(shots->table);
    const int code = add_places(run, OPT_SHOTS, nb_table_title(shots->table));
    if (code || shots->nplace == (size_t)columns) return code;
    return message_usage(run->messages,
                         "%s: the first line names %zu parameters, but the rows have %d "
                         "numbers",
                         run->s->fit.shots, shots->nplace, columns);
}

/* Number k of the row of a shot: those of -shots, then those of -spectra. */
static double number_of(const struct shots *shots, int row, size_t k)
{
    const size_t n = (size_t)nb_table_columns(shots->table);
    const size_t m = (size_t)nb_table_columns(shots->spectra);
    return k < n ? nb_table_data(shots->table)[(size_t)row * n + k]
                 : nb_table_data(shots->spectra)[(size_t)row * m + k - n];
}

/* Write the numbers of a row, over what the scan of -expt has at its angle. */
static void write_row(const struct run *run, int row, double *x)
{
    const struct shots *const shots = run->shots;
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < shots->nplace; k++)
            x[shots->place[k]] = number_of(shots, row, k);
        if (i == 0) experiment_at(run, x);
    }
}

/* Refuse numbers outside the bounds of their parameters. */
static int check_row(struct run *run, int row)
{
    const struct shots *const shots = run->shots;
    for (size_t k = 0; k < shots->nplace; k++) {
        const nb_param *const p = &run->params.at[shots->place[k]];
        const double value = number_of(shots, row, k);
        const int first = k < (size_t)nb_table_columns(shots->table);
        if (value >= p->lower && value <= p->upper) continue;
        return message_usage(run->messages, "%s, line %ld: %s is %g, expected %g to %g",
                             first ? run->s->fit.shots : run->s->spectra,
                             nb_table_line(first ? shots->table : shots->spectra,
                                           (size_t)row),
                             p->name, value, p->lower, p->upper);
    }
    return 0;
}

int shots_place(struct run *run)
{
    struct shots *const shots = run->shots;
    if (!shots) return 0;
    shots->nplace = 0;
    int code = place_columns(run);
    if (!code && shots->spectra) code = add_places(run, OPT_SPECTRA, weights);
    for (int i = 0; i < shots->n && !code; i++) code = check_row(run, shots->first + i);
    if (!code) write_row(run, shots->first, run->params.x);
    return code;
}

/* 1 where a file of an image states its geometry by run->description. */
static int is_described(const struct settings *s)
{
    return s->out[OUT_INT] || s->out[OUT_NOISE] || s->out[OUT_PNG]
           || (s->out[OUT_IMAGE] && image_format(s) == IMAGE_SMV);
}

int shots_set(struct run *run, int i)
{
    write_row(run, run->shots->first + i, run->params.x);
    if (!is_described(run->s)) return 0;
    nb_status status = nb_simulator_resolved(run->sim, run->params.x, &run->resolved);
    if (status == NB_OK)
        status = nb_simulator_describe(run->sim, run->params.x, &run->description);
    return status == NB_OK ? 0 : failed(run, status);
}

double *shots_rows(const struct run *run, int row, int n)
{
    const size_t m = run->params.n;
    double *const rows = malloc((size_t)n * m * sizeof *rows);
    for (int i = 0; rows && i < n; i++) {
        memcpy(rows + (size_t)i * m, run->params.x, m * sizeof *rows);
        write_row(run, row + i, rows + (size_t)i * m);
    }
    return rows;
}

void shots_free(struct run *run)
{
    if (!run->shots) return;
    nb_table_free(run->shots->table);
    nb_table_free(run->shots->spectra);
    free(run->shots->place);
    free(run->shots);
    run->shots = NULL;
}
