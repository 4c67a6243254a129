/*
 * integrate_out.c - writes -integrate: the reflections of the images, with intensities that
 * are fitted to the pixels under the profiles of the model.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "nanobrag_program/fit/fit_run.h"

struct integrated {
    struct fit_job *job;
    nb_reflections **table; /* (images) NULL: the image was left out */
    size_t images, fitted, rows; /* numbers of images; of intensities; of reflections */
    double signal; /* sum of J over its standard deviation */
};

static int failed(const struct fit_job *job, nb_status status, const char *message)
{
    progress_line_end(&job->run->progress);
    if (status == NB_ERR_CANCELLED) return EXIT_INTERRUPTED;
    return message_status(job->run->command.messages, status, message, 0);
}

/* Returns an image of -expt; NULL: it is not from there. */
static const nb_expt_image *image_of(const struct fit_job *job,
                                     const struct fit_source *source)
{
    size_t n = 0;
    const nb_expt_image *const list = nb_expt_images(job->run->command.inputs.expt, &n);
    for (size_t i = 0; i < n && source->image >= 0; i++)
        if (list[i].experiment == source->experiment && list[i].image == source->image)
            return list + i;
    return NULL;
}

/* Returns the number of the experiment of lattice k of image i of the fit. Lattices of
 * -lattice have numbers behind all experiments. */
static int experiment_of(const struct fit_job *job, size_t i, int k)
{
    const nb_expt_image *const own = image_of(job, &job->sources.at[i]);
    const int lattices = job->run->command.resolved.crystal.nlattice + 1;
    const int number = (int)i * lattices + k;
    size_t n;
    const nb_expt_image *const list = nb_expt_images(job->run->command.inputs.expt, &n);
    if (!own || k == 0) return own ? own->experiment : number;
    for (size_t j = 0; j < n; j++)
        if (list[j].first == own->first && list[j].image == own->image
            && list[j].experiment != own->experiment && --k == 0)
            return list[j].experiment;
    return nb_expt_count(job->run->command.inputs.expt) + number;
}

/* Sets the numbers of experiments. Without -expt, crystals are numbered through all
 * images. */
static nb_status set_ids(const struct fit_job *job, size_t i, nb_reflections *table)
{
    const size_t rows = nb_reflections_rows(table);
    const int32_t *const lattice = nb_reflections_find(table, "id", NB_COLUMN_INT);
    const size_t lattices = (size_t)job->run->command.resolved.crystal.nlattice + 1;
    /* first the numbers of the lattices, then the numbers of the rows */
    int32_t *const id = malloc((rows + lattices) * sizeof *id);
    if (!id) return NB_ERR_MEMORY;
    for (size_t k = 0; k < lattices; k++) id[k] = experiment_of(job, i, (int)k);
    for (size_t k = 0; k < rows; k++) id[lattices + k] = id[lattice[k]];
    const nb_status status = nb_reflections_set(job->run->command.ctx, table, "id",
                                                NB_COLUMN_INT, id + lattices);
    free(id);
    return status;
}

static void count(struct integrated *all, const nb_reflections *table)
{
    const double *const j =
        nb_reflections_find(table, "intensity.prf.value", NB_COLUMN_DOUBLE);
    const double *const v =
        nb_reflections_find(table, "intensity.prf.variance", NB_COLUMN_DOUBLE);
    const size_t rows = nb_reflections_rows(table);
    all->images++;
    all->rows += rows;
    for (size_t i = 0; i < rows; i++) {
        if (!(v[i] > 0)) continue;
        all->fitted++;
        all->signal += j[i] / sqrt(v[i]);
    }
}

/* Integrates image i with the values of the fit, or of the command line if `result` is
 * NULL. */
static int integrate(struct integrated *all, size_t i, const nb_fit_result *result)
{
    struct fit_job *const job = all->job;
    const struct settings *const s = job->run->command.s;
    nb_context *const ctx = job->run->command.ctx;
    const nb_expt_image *const from = image_of(job, &job->sources.at[i]);
    const int turns = job->run->command.resolved.scan.osc != 0;
    const nb_prediction how = {.least = s->predict_least,
                               .frame = from && turns ? from->array + 0.5 : 0};
    struct fit_image image = {.sim = NULL};
    struct fit_model model;
    int code = fit_model_make(job, i, result, &model);
    nb_status status = NB_OK;
    if (!code) {
        status = fit_image_read(job->run, ctx, &job->sources.at[i], &job->sources.mask,
                                &image, job->why);
        if (status != NB_OK) code = failed(job, status, job->why);
        if (!code && !job->fit) fit_note_image(job, &image, job->sources.at[i].file);
    }
    if (!code) {
        nb_target target = fit_shot_of(job, i, &image).target;
        if (!(model.image.scene.background.water > 0))
            target.background = NB_BACKGROUND_PLANES;
        status = nb_predict(model.sim, model.x, &how, all->table + i);
        if (status == NB_OK)
            status = nb_integrate(model.sim, model.x, &target, NULL, all->table[i]);
        if (status == NB_OK) count(all, all->table[i]);
        if (status == NB_OK) status = set_ids(job, i, all->table[i]);
        if (status == NB_ERR_CANCELLED) {
            nb_reflections_free(all->table[i]);
            all->table[i] = NULL;
        }
        if (status != NB_OK) code = failed(job, status, nb_context_message(ctx));
    }
    fit_image_free(&image);
    fit_model_free(&model);
    return code;
}

/* Gives the experiments of the table their identifiers. */
static nb_status identify(const struct fit_job *job, nb_reflections *table)
{
    size_t n;
    const nb_expt_image *const list = nb_expt_images(job->run->command.inputs.expt, &n);
    nb_status status = NB_OK;
    for (size_t i = 0; i < n && status == NB_OK; i++)
        if (*list[i].identifier && image_of(job, job->sources.at))
            status = nb_reflections_set_identifier(job->run->command.ctx, table,
                                                   list[i].experiment, list[i].identifier);
    return status;
}

static int write_all(const struct integrated *all, int is_part)
{
    struct fit_job *const job = all->job;
    const struct settings *const s = job->run->command.s;
    nb_context *const ctx = job->run->command.ctx;
    nb_reflections *table = NULL;
    nb_status status = nb_reflections_join(ctx, job->sources.n, all->table, &table);
    if (status == NB_OK) status = identify(job, table);
    if (status == NB_OK) status = nb_reflections_write(ctx, s->integrate, table);
    nb_reflections_free(table);
    if (status != NB_OK)
        return message_status(job->run->command.messages, status, nb_context_message(ctx),
                              1);
    if (is_part)
        (void)
            fprintf(stderr,
                    "nanobrag: interrupted; %s has the reflections of %zu of %zu images\n",
                    s->integrate, all->images, job->sources.n);
    else if (!s->quiet)
        printf("integrated   %zu of %zu reflections of %zu image%s, in %s; mean of "
               "J/sigma %.2f\n",
               all->fitted, all->rows, all->images, all->images == 1 ? "" : "s",
               s->integrate, all->fitted > 0 ? all->signal / (double)all->fitted : 0);
    return 0;
}

static int is_one_cell(const nb_crystal *crystal)
{
    return crystal->ncells[0] <= 1 && crystal->ncells[1] <= 1 && crystal->ncells[2] <= 1;
}

int integrate_out_write(struct fit_job *job)
{
    struct run *const run = job->run;
    struct integrated all = {.job = job};
    nb_fit_result result;
    int code = 0;
    if (!run->command.s->integrate) return 0;
    all.table = calloc(job->sources.n + 1, sizeof(nb_reflections *));
    if (!all.table)
        return message_failure(run->command.messages, "out of memory for %s",
                               run->command.s->integrate);
    progress_line_part(&run->progress, "integrated", 0, (int)job->sources.n);
    for (size_t i = 0; i < job->sources.n && !code; i++) {
        const nb_status status = job->fit ? nb_fit_result_get(job->fit, &result) : NB_OK;
        if (progress_line_interrupted()) code = EXIT_INTERRUPTED;
        if (status != NB_OK)
            code = failed(job, status, nb_context_message(run->command.ctx));
        if (!code && job->fit && result.shot[i].left_out && !result.shot[i].is_held_out)
            continue;
        if (!code) code = integrate(&all, i, job->fit ? &result : NULL);
    }
    progress_line_end(&run->progress);
    if (!code && !job->fit) fit_warn_of_images(job);
    if (!code && !job->fit && is_one_cell(&run->command.resolved.crystal))
        message_warning(run->command.messages,
                        "-integrate by blocks of 1 x 1 x 1 cells: an .expt does not state "
                        "their size; give -N, -mosaic and -param scale=, or integrate in "
                        "the "
                        "command of the fit");
    if (!code) code = write_all(&all, 0);
    if (code == EXIT_INTERRUPTED && all.images > 0) (void)write_all(&all, 1);
    if (code == EXIT_INTERRUPTED && all.images == 0)
        (void)fprintf(stderr, "nanobrag: interrupted; %s was not written\n",
                      run->command.s->integrate);
    for (size_t i = 0; i < job->sources.n; i++) nb_reflections_free(all.table[i]);
    free(all.table);
    return code;
}
