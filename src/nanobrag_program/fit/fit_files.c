/*
 * fit_files.c - writes the files of -geomout and -truth with the values that a fit found.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_program/fit/fit_run.h"

char *fit_names_of(const nb_fit_result *result, int64_t shot, double **x)
{
    char *const names = calloc(result->nvalue + 1, sizeof result->value->param.name + 1);
    char *end = names;
    double *to = *x = calloc(result->nvalue + 1, sizeof **x);
    for (size_t i = 0; names && to && i < result->nvalue; i++) {
        const nb_fit_value *const value = result->value + i;
        if ((value->shot >= 0 && value->shot != shot)
            || strcmp(value->param.group, "F") == 0)
            continue;
        end += sprintf(end, "%s%s", end > names ? "," : "", value->param.name);
        *to++ = value->value;
    }
    if (to) return names;
    free(names);
    return NULL;
}

int fit_files_write(struct run *run, const nb_fit_result *result)
{
    const char *const geom = run->command.s->geomout;
    double *x;
    char *const names = fit_names_of(result, 0, &x);
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
