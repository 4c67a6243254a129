/*
 * shots.c - reads the tables of -shots and -spectra, and sets parameters to one of their
 * rows.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_command/shots/shots.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "nanobrag_command/shots/spectrum_table.h"

static const char weights[] = "source_weight"; /* the parameters that -spectra sets */

int shots_asked(const struct settings *s)
{
    return s->fit.shots && !fit_asked(s);
}

/* ---- reading ---- */

static int failed(struct command *command, nb_status status)
{
    return message_status(command->messages, status, nb_context_message(command->ctx), 0);
}

/* Read -shots_range a:b. Rows count from 1, and row b is included. Returns 0 or the exit
 * status. */
static int read_range(struct command *command, int rows)
{
    const char *const text = command->s->shots_range;
    struct shots *const shots = command->shots;
    int first = 1, last = rows, end = 0;
    shots->n = rows;
    if (!text) return 0;
    if (sscanf(text, "%9d:%9d%n", &first, &last, &end) != 2 || text[end] || first < 1
        || last < first)
        return message_usage(command->messages,
                             "-shots_range %s: expected a:b, the first and the last row, "
                             "counted from 1",
                             text);
    if (last > rows)
        return message_usage(command->messages, "-shots_range %s: %s ends at row %d", text,
                             command->s->fit.shots, rows);
    shots->first = first - 1;
    shots->n = last - first + 1;
    return 0;
}

int shots_read(struct command *command)
{
    enum { ROWS_MOST = 100000000 };
    struct settings *const s = command->s;
    if (!shots_asked(s)) return 0;
    struct shots *const shots = command->shots = calloc(1, sizeof *shots);
    if (!shots)
        return message_failure(command->messages, "out of memory for %s", s->fit.shots);
    nb_status status = nb_table_read_titled(command->ctx, s->fit.shots, &shots->table);
    if (status == NB_OK && s->spectra)
        status = nb_table_read_titled(command->ctx, s->spectra, &shots->spectra);
    if (status != NB_OK) return failed(command, status);
    const size_t rows = nb_table_rows(shots->table);
    if (rows > ROWS_MOST)
        return message_usage(command->messages,
                             "%s: the table has %zu rows, which are too many", s->fit.shots,
                             rows);
    if (shots->spectra && nb_table_rows(shots->spectra) != rows)
        return message_usage(command->messages,
                             "the number of rows of weights in %s is %zu, but the number "
                             "of shots in %s is %zu; expected one row for each shot",
                             s->spectra, nb_table_rows(shots->spectra), s->fit.shots, rows);
    const int code = read_range(command, (int)rows);
    s->images = shots->n;
    s->first = shots->first;
    s->given[OPT_IMAGES] = 1; /* so that the names of files get numbers */
    s->scene.scan.osc = 0;
    s->scene.given |= NB_GIVEN_OSC;
    return code;
}

const char *shots_title(const struct command *command)
{
    return command->shots ? nb_table_title(command->shots->table) : NULL;
}

/* ---- parameters ---- */

/* Append the indices in x of the parameters in a list of names. `option` tells which table
 * names them, for messages. Returns 0 or the exit status. */
static int add_places(struct command *command, int option, const char *list)
{
    struct shots *const shots = command->shots;
    struct selection found;
    int code = params_select(&command->params, command->messages, command->ctx,
                             command->sim, list, &found);
    size_t *const place =
        code ? NULL
             : realloc(shots->place, (shots->nplace + found.n) * sizeof *shots->place);
    if (!code && !place)
        code = message_failure(command->messages, "out of memory for %s",
                               command->s->fit.shots);
    if (place) shots->place = place;
    for (size_t k = 0; k < found.n && !code; k++) {
        const size_t at = found.at[k];
        const char *const name = command->params.at[at].name;
        if (command->params.set[at])
            code =
                message_usage(command->messages,
                              "-param and -shots both set %s; leave it out of one", name);
        for (size_t i = 0; i < shots->nplace && !code; i++)
            if (shots->place[i] == at)
                code = message_usage(command->messages, "%s: %s is named twice",
                                     option == OPT_SHOTS ? command->s->fit.shots
                                                         : command->s->spectra,
                                     name);
        shots->place[shots->nplace++] = at;
    }
    free(found.at);
    return code;
}

static int place_columns(struct command *command)
{
    struct shots *const shots = command->shots;
    const int columns = nb_table_columns(shots->table);
    const int code = add_places(command, OPT_SHOTS, nb_table_title(shots->table));
    if (code || shots->nplace == (size_t)columns) return code;
    return message_usage(command->messages,
                         "%s: the first line names %zu parameter%s, but each row has %d "
                         "number%s; make both the same",
                         command->s->fit.shots, shots->nplace,
                         shots->nplace == 1 ? "" : "s", columns, columns == 1 ? "" : "s");
}

/* Returns number k of a row. The columns of -shots come first, then the columns of
 * -spectra. */
static double number_of(const struct shots *shots, int row, size_t k)
{
    const size_t n = (size_t)nb_table_columns(shots->table);
    const size_t m = (size_t)nb_table_columns(shots->spectra);
    return k < n ? nb_table_data(shots->table)[(size_t)row * n + k]
                 : nb_table_data(shots->spectra)[(size_t)row * m + k - n];
}

/* Write the numbers of a row to x. experiment_at() needs the row's phi, but overwrites
 * numbers that the row states as well; so they are written again afterwards. */
static void write_row(const struct command *command, int row, double *x)
{
    const struct shots *const shots = command->shots;
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < shots->nplace; k++)
            x[shots->place[k]] = number_of(shots, row, k);
        if (i == 0) experiment_at(command, x);
    }
}

/* Refuse numbers of a row outside the bounds of their parameters. Returns 0 or the exit
 * status. */
static int check_row(struct command *command, int row)
{
    const struct shots *const shots = command->shots;
    for (size_t k = 0; k < shots->nplace; k++) {
        const nb_param *const p = &command->params.at[shots->place[k]];
        const double value = number_of(shots, row, k);
        const int first = k < (size_t)nb_table_columns(shots->table);
        if (value >= p->lower && value <= p->upper) continue;
        return message_usage(command->messages, "%s, line %ld: %s is %g, expected %g to %g",
                             first ? command->s->fit.shots : command->s->spectra,
                             nb_table_line(first ? shots->table : shots->spectra,
                                           (size_t)row),
                             p->name, value, p->lower, p->upper);
    }
    return 0;
}

int shots_place(struct command *command)
{
    struct shots *const shots = command->shots;
    if (!shots) return 0;
    shots->nplace = 0;
    int code = place_columns(command);
    if (!code && shots->spectra) code = add_places(command, OPT_SPECTRA, weights);
    for (int i = 0; i < shots->n && !code; i++) code = check_row(command, shots->first + i);
    if (!code) write_row(command, shots->first, command->params.x);
    return code;
}

/* Returns 1 if a file is written whose header states the geometry by
 * command->description. */
static int is_described(const struct settings *s)
{
    return s->out[OUT_INT] || s->out[OUT_NOISE] || s->out[OUT_PNG]
           || (s->out[OUT_IMAGE] && image_format(s) == IMAGE_SMV);
}

int shots_set(struct command *command, int i)
{
    write_row(command, command->shots->first + i, command->params.x);
    if (!is_described(command->s)) return 0;
    nb_status status =
        nb_simulator_resolved(command->sim, command->params.x, &command->resolved);
    if (status == NB_OK)
        status =
            nb_simulator_describe(command->sim, command->params.x, &command->description);
    return status == NB_OK ? 0 : failed(command, status);
}

double *shots_rows(const struct command *command, int row, int n)
{
    const size_t m = command->params.n;
    double *const rows = malloc((size_t)n * m * sizeof *rows);
    for (int i = 0; rows && i < n; i++) {
        memcpy(rows + (size_t)i * m, command->params.x, m * sizeof *rows);
        write_row(command, row + i, rows + (size_t)i * m);
    }
    return rows;
}

void shots_free(struct command *command)
{
    if (!command->shots) return;
    nb_table_free(command->shots->table);
    nb_table_free(command->shots->spectra);
    free(command->shots->place);
    free(command->shots);
    command->shots = NULL;
}
