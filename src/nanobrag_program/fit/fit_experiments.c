/*
 * fit_experiments.c - the images that -expt names, each with its experiment, and the boxes
 * of each image by -refl.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_program/fit/fit_run.h"

static int no_memory(const struct run *run)
{
    return message_failure(run->command.messages, "out of memory for the images of a fit");
}

/* Adds the images of an entry. */
static int add_entry(struct run *run, const struct expt_entry *entry,
                     struct fit_sources *out)
{
    size_t n;
    const nb_expt_image *const list = nb_expt_images(run->command.inputs.expt, &n);
    for (size_t i = 0; i < n; i++) {
        const nb_expt_image *const image = list + i;
        const int number = image->experiment - entry->first;
        const int is_lattice =
            image->experiment != image->first && !run->command.s->nolattices;
        if (!*image->file || number < 0 || number >= entry->count
            || (entry->number < 0 ? is_lattice : number != entry->number))
            continue;
        char *const name = malloc(strlen(image->file) + 24);
        if (!name) return no_memory(run);
        (void)sprintf(name, "%s", image->file);
        if (image->frame > 0)
            (void)sprintf(name + strlen(name), ":%lld", (long long)image->frame);
        const int code = fit_sources_add(run, out, name);
        free(name);
        if (code) return code;
        out->at[out->n - 1].experiment = image->experiment;
        out->at[out->n - 1].image = image->image;
    }
    return 0;
}

int fit_experiments_add(struct run *run, struct fit_sources *out)
{
    const struct inputs *const in = &run->command.inputs;
    for (size_t i = 0; i < in->nentry; i++) {
        const size_t before = out->n;
        const int code = add_entry(run, in->entry + i, out);
        if (code) return code;
        if (out->n == before)
            return message_usage(run->command.messages,
                                 "%s names no images; name them by -data or -shots",
                                 in->entry[i].file);
    }
    return 0;
}

/* ---- the experiment of each image ---- */

/* Refuses an experiment whose images turn by another angle. */
static int refuse_turn(struct run *run, int experiment, double osc)
{
    const struct inputs *const in = &run->command.inputs;
    const struct expt_entry *const a = experiment_entry(in, experiment);
    const struct expt_entry *const b = experiment_entry(in, in->expt_number);
    return message_usage(run->command.messages,
                         "%s: experiment %d turns by %g degree for each image, and "
                         "experiment %d of %s by %g; fit them one by one, as %s:%d",
                         a->file, experiment - a->first, osc, in->expt_number, b->file,
                         in->experiment.scene.scan.osc, a->file, experiment - a->first);
}

/* Takes from its experiment where the rotation of an image begins. */
static int place_scan(struct run *run, struct fit_source *source)
{
    const struct inputs *const in = &run->command.inputs;
    nb_experiment own = {0};
    const nb_experiment *from = &in->experiment;
    if (source->experiment != in->expt_number) {
        const nb_status status =
            nb_expt_get(run->command.ctx, in->expt, source->experiment, 0, &own);
        if (status != NB_OK)
            return message_status(run->command.messages, status,
                                  nb_context_message(run->command.ctx), 0);
        const int code = fit_detector_compare(run, source, &own);
        if (code) {
            nb_experiment_clear(&own);
            return code;
        }
        from = &own;
    }
    const nb_scan scan = from->scene.scan, *const first = &in->experiment.scene.scan;
    const int images = from->images;
    nb_experiment_clear(&own);
    if (fabs(scan.osc - first->osc) > 1e-6 * fabs(first->osc)
        || (images > 0) != (in->experiment.images > 0))
        return refuse_turn(run, source->experiment, scan.osc);
    if (scan.osc == 0 || fit_frames_are_stated(run)) return 0;
    return fit_source_begins(source, scan.phi0 + scan.osc * source->image) ? 0
                                                                           : no_memory(run);
}

/* Finds which image of the scan another image is, by the angle where it begins; -1 outside
 * the scan, where no reflection is. */
static void find_image(const struct run *run, struct fit_source *source)
{
    const nb_experiment *const from = &run->command.inputs.experiment;
    source->image = from->scene.scan.osc == 0 || from->images < 1
                        ? run->command.inputs.expt_image
                        : experiment_image_at(from, source->phi0);
}

/* Refuses copies of a file if there are several. */
static int refuse_outputs(struct run *run)
{
    const struct settings *const s = run->command.s;
    const struct expt_entry *const first = run->command.inputs.entry;
    for (size_t i = 1; i < run->command.inputs.nentry; i++) {
        const int is_expt = s->exptout && first[i].first != first->first;
        if (is_expt || (s->reflout && first[i].table != first->table))
            return message_usage(run->command.messages,
                                 "%s copies one file, but there are %s and %s; combine "
                                 "them "
                                 "by dials.combine_experiments, or take -fittable",
                                 is_expt ? "-exptout" : "-reflout",
                                 is_expt ? first->file : first->refl,
                                 is_expt ? first[i].file : first[i].refl);
    }
    return 0;
}

int fit_experiments_place(struct run *run, struct fit_sources *sources)
{
    if (!run->command.inputs.expt) return 0;
    const int refused = refuse_outputs(run);
    if (refused) return refused;
    for (size_t i = 0; i < sources->n; i++) {
        const int code = sources->at[i].image < 0 ? 0 : place_scan(run, sources->at + i);
        if (code) return code;
    }
    fit_detectors_say(run, sources);
    return 0;
}

int fit_experiments_boxes(struct run *run, struct fit_sources *sources)
{
    for (size_t i = 0; uses_reflections(run->command.s) && i < sources->n; i++) {
        struct fit_source *const source = sources->at + i;
        if (source->image < 0) find_image(run, source);
        const int code =
            reflection_boxes(&run->command.inputs, run->command.s, run->command.messages,
                             source->experiment, source->image, &source->boxes);
        if (code) return code;
    }
    return 0;
}
