/*
 * expt_out.c - writes -exptout: the file of -expt, with the experiments that were fitted as
 * the fit found them.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_program/fit/fit_run.h"

static int failed(const struct run *run, nb_status status)
{
    return message_status(run->command.messages, status,
                          nb_context_message(run->command.ctx), 0);
}

int fit_model_make(struct fit_job *job, size_t i, const nb_fit_result *result,
                   struct fit_model *out)
{
    struct run *const run = job->run;
    struct fit_source source = job->sources.at[i];
    char why[FIT_WHY];
    *out = (struct fit_model){.sim = NULL};
    source.file = NULL; /* without its pixels */
    if (source.boxes.n == 0) source.boxes.box = NULL; /* the models alone matter */
    nb_status status = fit_image_read(run, run->command.ctx, &source, &job->sources.mask,
                                      &out->image, why);
    if (status != NB_OK) return message_status(run->command.messages, status, why, 0);
    char *const names = result ? fit_names_of(result, (int64_t)i, &out->x) : NULL;
    if (result && !names)
        return message_failure(run->command.messages, "out of memory for the fit");
    status = nb_simulator_create(run->command.ctx, &out->image.scene, names,
                                 &run->command.s->how, &out->sim);
    free(names);
    return status == NB_OK ? 0 : failed(run, status);
}

void fit_model_free(struct fit_model *model)
{
    nb_simulator_free(model->sim);
    free(model->x);
    fit_image_free(&model->image);
}

/* Changes the experiment of image i to its scene before the fit, or for a result to the
 * scene that the fit found. */
static int add_image(struct fit_job *job, size_t i, const nb_fit_result *result)
{
    struct fit_model model;
    int code = fit_model_make(job, i, result, &model);
    if (!code) {
        const nb_status status =
            nb_expt_update_add(job->update, job->sources.at[i].experiment, model.sim,
                               model.x);
        if (status != NB_OK) code = failed(job->run, status);
    }
    fit_model_free(&model);
    return code;
}

int expt_out_begin(struct fit_job *job)
{
    struct run *const run = job->run;
    if (!run->command.s->exptout) return 0;
    const nb_status status =
        nb_expt_update_begin(run->command.ctx, run->command.inputs.entry->file,
                             &job->update);
    if (status != NB_OK) return failed(run, status);
    return add_image(job, 0, NULL);
}

/* Returns 1 if an image before image i belongs to the same experiment and was fitted. */
static int is_known(const struct fit_job *job, const nb_fit_result *result, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (job->sources.at[k].experiment == job->sources.at[i].experiment
            && !result->shot[k].left_out)
            return 1;
    return 0;
}

int expt_out_write(struct fit_job *job, const nb_fit_result *result)
{
    struct run *const run = job->run;
    const char *const path = run->command.s->exptout;
    size_t further = 0;
    for (size_t i = 0; i < job->sources.n; i++) {
        if (result->shot[i].left_out && !result->shot[i].is_held_out) continue;
        const int known = is_known(job, result, i);
        further += known;
        const int code = known ? 0 : add_image(job, i, result);
        if (code) return code;
    }
    if (further > 0 && result->nown > 0)
        message_note(run->command.messages,
                     "%s has one crystal for the images of an experiment: where images "
                     "have "
                     "values of their own, those of the first fitted image",
                     path);
    const nb_status status = nb_expt_update_write(job->update, path);
    if (status == NB_OK) return 0;
    return message_status(run->command.messages, status,
                          nb_context_message(run->command.ctx), 1);
}
