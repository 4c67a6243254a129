/*
 * start_scale.c - the scale from which a fit starts: the photons of the spots in the boxes
 * of -refl over the photons of the model in the same boxes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_program/fit/fit_run.h"

/* Images that are looked at; a spot counts if it is brighter than `least` of its errors. */
enum { IMAGES_MOST = 12 };
static const double least = 3;

/* sums over boxes, and how many count */
struct sums {
    double observed, model;
    size_t boxes;
};

/* Returns 1 if a list of names that are separated by blanks frees the scale. */
static int frees_scale(const char *names)
{
    static const char word[] = "scale";
    for (const char *at = names; at && (at = strstr(at, word)) != NULL; at++)
        if ((at == names || at[-1] == ' ')
            && (at[sizeof word - 1] == 0 || at[sizeof word - 1] == ' '))
            return 1;
    return names && strcmp(names, "*") == 0;
}

static int is_set(const struct run *run)
{
    const struct event_list *const events = run->command.events;
    for (size_t i = 0; i < events->n; i++)
        if (events->at[i].option == OPT_PARAM
            && strncmp(events->at[i].text, "scale=", 6) == 0)
            return 1;
    return 0;
}

/* Adds the boxes of an image. `photons` has room for the image, `spot` for two lists of
 * its boxes. */
static void add_boxes(struct fit_job *job, const nb_shot *shot, const double *x,
                      nb_simulator *sim, double *photons, nb_spot_size *spot,
                      struct sums *sums)
{
    const nb_description *const d = &job->run->command.description;
    const size_t n = shot->scene->detector.nbox;
    nb_array image = nb_array_f64(photons, d->nslow, d->nfast);
    nb_target model = shot->target;
    model.observed = &image;
    model.saturation = 0;
    if (nb_forward(sim, x, &image) != NB_OK
        || nb_spot_sizes_measure(job->loading, shot->scene, &shot->target, spot) != NB_OK
        || nb_spot_sizes_measure(job->loading, shot->scene, &model, spot + n) != NB_OK)
        return;
    for (size_t i = 0; i < n; i++) {
        if (!(spot[i].photons > least * spot[i].error) || !isfinite(spot[n + i].photons))
            continue;
        sums->observed += spot[i].photons;
        sums->model += spot[n + i].photons;
        sums->boxes++;
    }
}

/* Adds image i, unless it cannot be read. Returns 0 without memory. */
static int add_image(struct fit_job *job, const nb_fit_options *by, size_t i,
                     struct sums *sums)
{
    const nb_description *const d = &job->run->command.description;
    nb_shot shot = {0};
    if (by->load(job, (int64_t)i, &shot) != NB_OK) return 1;
    const struct fit_image *const image = fit_image_of(&shot);
    double *const photons = malloc((size_t)d->nfast * (size_t)d->nslow * sizeof *photons);
    nb_spot_size *const spot = calloc(2 * shot.scene->detector.nbox + 1, sizeof *spot);
    if (photons && spot)
        add_boxes(job, &shot, job->sources.at[i].values, image->sim, photons, spot, sums);
    by->unload(job, (int64_t)i, &shot);
    free(spot);
    const int done = photons && spot;
    free(photons);
    return done;
}

int start_scale_find(struct fit_job *job, const nb_fit_options *by)
{
    struct run *const run = job->run;
    struct sums sums = {0, 0, 0};
    const size_t n = job->sources.n < IMAGES_MOST ? job->sources.n : IMAGES_MOST;
    if (!uses_reflections(run->command.s) || !job->sources.at->file
        || run->command.s->fit.fisher || run->command.s->fit.shots || is_set(run)
        || (!frees_scale(job->shared) && !frees_scale(job->own)))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (!add_image(job, by, i * job->sources.n / n, &sums))
            return message_failure(run->command.messages, "out of memory for a fit");
    if (!(sums.observed > 0) || !(sums.model > 0)) return 0;
    job->scale = sums.observed / sums.model;
    message_note(run->command.messages,
                 "the scale starts at %.3g: the photons of %zu spots over the photons of "
                 "the "
                 "model; -param scale= states another start",
                 job->scale, sums.boxes);
    return 0;
}
