/*
 * fit_frames.c - finds the phi at which each image of a fit begins: by its header, unless
 * -phi or "phi0" of -shots states it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_program/fit/fit_run.h"

/* Returns 1 if two angles are the same within the six digits of a header. */
static int is_same(double a, double b, double osc)
{
    return fabs(remainder(a - b, 360)) <= 1e-3 * fabs(osc) + 1e-6 * fabs(a);
}

int fit_frames_are_stated(const struct run *run)
{
    int is_set = 0;
    for (size_t i = 0; i < run->command.events->n; i++)
        is_set |= run->command.events->at[i].option == OPT_PARAM
                  && strncmp(run->command.events->at[i].text, "phi0=", 5) == 0;
    return is_set || run->command.s->given[OPT_PHI];
}

/* Reads the phi at which an image begins. Returns 0 if the header has none or cannot be
 * read; the fit reports a file that cannot be read. */
static int read_start(const struct run *run, const struct steady_file *file, double *phi)
{
    nb_measured *image = NULL;
    if (!nb_image_kind(steady_file_path(file))
        || nb_image_read(run->command.ctx, steady_file_path(file), file->frame, &image)
               != NB_OK)
        return 0;
    *phi = image->osc_start;
    nb_measured_free(image);
    return isfinite(*phi);
}

static int sets_phi0(const struct fit_source *source)
{
    const char *const at = source->names ? strstr(source->names, "phi0 ") : NULL;
    return at && (at == source->names || at[-1] == ' ');
}

int fit_source_begins(struct fit_source *source, double phi)
{
    const size_t length = source->names ? strlen(source->names) : 0;
    char *const names = realloc(source->names, length + sizeof "phi0 ");
    double *const values =
        realloc(source->values, (source->nvalue + 1) * sizeof *source->values);
    if (names) source->names = names;
    if (values) source->values = values;
    if (!names || !values) return 0;
    memcpy(names + length, "phi0 ", sizeof "phi0 ");
    values[source->nvalue++] = phi;
    source->phi0 = phi;
    return 1;
}

/* Sets phi0 of an image from its header. If one angle is stated for all images, refuses
 * images whose headers differ instead: `first` is the first image whose header states an
 * angle, first_phi. */
static int take_start(struct run *run, struct fit_source *source, double phi,
                      const struct fit_source *first, double first_phi)
{
    const nb_scan *const scan = &run->command.resolved.scan;
    if (!fit_frames_are_stated(run))
        return fit_source_begins(source, phi)
                   ? 0
                   : message_failure(run->command.messages,
                                     "out of memory for the images of a fit");
    if (is_same(phi, first_phi, scan->osc)) return 0;
    return message_usage(run->command.messages,
                         "-phi gives all images one start angle, but the header of %s has "
                         "%.10g degrees and the header of %s has %.10g degrees; leave out "
                         "-phi, or give \"phi0\" of each image in a list of -shots",
                         first->file, first_phi, source->file, phi);
}

int fit_frames_place(struct run *run, struct fit_sources *sources)
{
    const nb_scan *const scan = &run->command.resolved.scan;
    struct fit_source *first = NULL, *turned = NULL;
    double phi, first_phi = 0;
    size_t n = 0;
    if (scan->osc == 0) return 0;
    for (size_t i = 0; i < sources->n; i++) {
        struct fit_source *const source = sources->at + i;
        if (!source->file || sets_phi0(source) || !read_start(run, &source->steady, &phi))
            continue;
        if (!first) first = source, first_phi = phi;
        const int code = take_start(run, source, phi, first, first_phi);
        if (code) return code;
        if (is_same(source->phi0, scan->phi0, scan->osc)) continue;
        if (!turned) turned = source;
        n++;
    }
    if (turned)
        message_note(run->command.messages,
                     "%s begins at %.10g degrees, as the header says%s, but the scene "
                     "begins at %.10g degrees; -phi or \"phi0\" of -shots overrides "
                     "headers",
                     turned->file, turned->phi0, n > 1 ? " (other images likewise)" : "",
                     scan->phi0);
    return 0;
}
