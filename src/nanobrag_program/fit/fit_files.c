/*
 * fit_files.c - writes the files of -geomout and -truth with the values that a fit found.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_program/fit/fit_run.h"

/* Returns 1 for a value of the fit that belongs to the first image and is no structure
 * factor. */
static int is_of_first(const nb_fit_value *value)
{
    return value->shot <= 0 && strcmp(value->param.group, "F") != 0;
}

/* Returns the names of the values for which is_of_first() is 1, separated by commas, and
 * stores the values in x. The caller frees the names; NULL: no memory. */
static char *names_of(const nb_fit_result *result, double *x)
{
    char *const names = calloc(result->nvalue + 1, sizeof result->value->param.name + 1);
    char *end = names;
    for (size_t i = 0; names && i < result->nvalue; i++) {
        const nb_fit_value *const value = result->value + i;
        if (!is_of_first(value)) continue;
        end += sprintf(end, "%s%s", end > names ? "," : "", value->param.name);
        *x++ = value->value;
    }
    return names;
}

int fit_files_write(struct run *run, const nb_fit_result *result)
{
    const char *const geom = run->command.s->geomout;
    double *const x = calloc(result->nvalue + 1, sizeof *x);
    char *const names = x ? names_of(result, x) : NULL;
    nb_simulator *sim = NULL;
    int code =
        names ? 0 : message_failure(run->command.messages, "out of memory for the fit");
    if (!code) {
        nb_status status = nb_simulator_create(run->command.ctx, &run->command.resolved,
                                               names, &run->command.s->how, &sim);
        if (status == NB_OK && geom) status = nb_geom_write(sim, x, geom);
        if (status != NB_OK)
            code = message_status(run->command.messages, status,
                                  nb_context_message(run->command.ctx), 1);
    }
    if (!code && run->command.s->truth) code = truth_write_fit(run, sim, x);
    nb_simulator_free(sim);
    free(names);
    free(x);
    return code;
}
