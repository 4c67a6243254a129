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

int fit_experiments_add(struct run *run, struct fit_sources *out)
{
    const struct inputs *const in = &run->command.inputs;
    size_t n;
    const nb_expt_image *const list = nb_expt_images(in->expt, &n);
    for (size_t i = 0; i < n; i++) {
        const nb_expt_image *const image = list + i;
        const int is_lattice =
            image->experiment != image->first && !run->command.s->nolattices;
        if (!*image->file
            || (in->expt_whole ? is_lattice : image->experiment != in->expt_number))
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
    if (out->n > 0) return 0;
    return message_usage(run->command.messages,
                         "%s names no images; name them by -data or -shots",
                         run->command.s->expt);
}

/* ---- the experiment of each image ---- */

static int differ_in(const double a[3], const double b[3])
{
    return a[0] != b[0] || a[1] != b[1] || a[2] != b[2];
}

/* Returns 1 if two experiments state the same detector. */
static int same_detector(const nb_experiment *a, const nb_experiment *b)
{
    const nb_detector *const p = &a->scene.detector, *const q = &b->scene.detector;
    int differ = p->npanel != q->npanel || p->pixel != q->pixel || p->nfast != q->nfast
                 || p->nslow != q->nslow || p->close_distance != q->close_distance
                 || differ_in(p->origin, q->origin);
    for (int i = 0; i < 4; i++) differ |= differ_in(p->vectors[i], q->vectors[i]);
    for (int i = 0; !differ && i < p->npanel; i++)
        differ |= differ_in(p->panel[i].origin, q->panel[i].origin)
                  || differ_in(p->panel[i].fast, q->panel[i].fast)
                  || differ_in(p->panel[i].slow, q->panel[i].slow);
    return !differ;
}

/* Takes from its experiment where the rotation of an image begins. */
static int place_scan(struct run *run, struct fit_source *source, size_t *others)
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
        *others += !same_detector(&own, from);
        from = &own;
    }
    const nb_scan scan = from->scene.scan, *const first = &in->experiment.scene.scan;
    const int images = from->images;
    nb_experiment_clear(&own);
    if (fabs(scan.osc - first->osc) > 1e-6 * fabs(first->osc)
        || (images > 0) != (in->experiment.images > 0))
        return message_usage(run->command.messages,
                             "%s: experiment %d turns by %g degree for each image, and "
                             "experiment %d by %g; fit them one by one, as %s:%d",
                             in->expt_file, source->experiment, scan.osc, in->expt_number,
                             first->osc, in->expt_file, source->experiment);
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

int fit_experiments_place(struct run *run, struct fit_sources *sources)
{
    const struct settings *const s = run->command.s;
    size_t others = 0;
    if (!run->command.inputs.expt) return 0;
    for (size_t i = 0; i < sources->n; i++) {
        const int code =
            sources->at[i].image < 0 ? 0 : place_scan(run, sources->at + i, &others);
        if (code) return code;
    }
    if (others > 0)
        message_warning(run->command.messages,
                        "%s: %zu of %zu images have another detector than experiment %d, "
                        "whose detector is taken for all",
                        s->expt, others, sources->n, run->command.inputs.expt_number);
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
