/*
 * predictions.c - writes -predict: the reflections of the images of a run.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "nanobrag_program/run.h"

int predictions_add(struct run *run, int i)
{
    const struct settings *const s = run->command.s;
    const int scans = run->command.resolved.scan.osc != 0;
    const nb_prediction how = {.least = s->predict_least,
                               .id = scans
                                         ? 0
                                         : i * (1 + run->command.resolved.crystal.nlattice),
                               .frame = scans ? i + 0.5 : 0};
    if (!s->predict) return 0;
    if (!run->predicted)
        run->predicted = calloc((size_t)s->images, sizeof(nb_reflections *));
    if (!run->predicted)
        return message_failure(run->command.messages, "out of memory for %s", s->predict);
    const nb_status status =
        nb_predict(run->command.sim, run->command.params.x, &how, run->predicted + i);
    if (status == NB_OK) return 0;
    return message_status(run->command.messages, status,
                          nb_context_message(run->command.ctx), 0);
}

int predictions_write(struct run *run)
{
    const struct settings *const s = run->command.s;
    nb_context *const ctx = run->command.ctx;
    nb_reflections *all = NULL;
    if (!run->predicted) return 0;
    nb_status status = nb_reflections_join(ctx, (size_t)run->done, run->predicted, &all);
    if (status == NB_OK) status = nb_reflections_write(ctx, s->predict, all);
    if (status == NB_OK && !s->quiet)
        printf("predicted  %zu reflections, in %s\n", nb_reflections_rows(all), s->predict);
    nb_reflections_free(all);
    if (status == NB_OK) return 0;
    return message_status(run->command.messages, status, nb_context_message(ctx), 1);
}

void predictions_free(struct run *run)
{
    for (int i = 0; run->predicted && i < run->command.s->images; i++)
        nb_reflections_free(run->predicted[i]);
    free(run->predicted);
}
