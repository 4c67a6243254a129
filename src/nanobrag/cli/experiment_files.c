/*
 * experiment_files.c - -expt and -xparm: files that state the geometry of an experiment, as
 * defaults for the options that do; -truth, the geometry of the run for DIALS.
 *
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/run.h"

/* ---- reading ---- */

/* Split FILE:N, unless there is a file of the whole name. Returns N, 0 without one; *file
 * is to be freed. */
static int split_number(const char *text, char **file)
{
    enum { DIGITS_MOST = 8 };
    struct stat st;
    const char *const colon = strrchr(text, ':');
    const size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    *file = strdup(text);
    if (!*file || digits == 0 || digits > DIGITS_MOST || colon[1 + digits] || colon == text
        || stat(text, &st) == 0)
        return 0;
    (*file)[colon - text] = 0;
    return atoi(colon + 1);
}

static int read_file(const struct settings *s, struct messages *messages, nb_context *ctx,
                     nb_experiment *out)
{
    nb_status status;
    if (s->expt) {
        char *file;
        const int i = split_number(s->expt, &file);
        if (!file) return message_failure(messages, "out of memory");
        status = nb_expt_read(ctx, file, i, out);
        free(file);
    } else {
        status = nb_xparm_read(ctx, s->xparm, out);
    }
    return status == NB_OK ? 0
                           : message_status(messages, status, nb_context_message(ctx), 0);
}

static void set_vector(struct settings *s, int which, const double *v)
{
    memcpy(s->vector[which], v, sizeof s->vector[which]);
    s->vector_given[which] = 1;
}

static void set_detector(struct settings *s, const nb_detector *from)
{
    const int count[2] = {from->nfast, from->nslow};
    struct pair *const org = &s->inherited.org;
    s->pixel = from->pixel;
    for (int i = 0; i < 2; i++) {
        s->npixel[i] = count[i];
        s->size[i] = s->pixel * count[i];
        org->value[i] = from->origin[i] / s->pixel + 0.5;
        org->given[i] = 1;
    }
    set_vector(s, VECTOR_FAST, from->vectors[0]);
    set_vector(s, VECTOR_SLOW, from->vectors[1]);
    set_vector(s, VECTOR_NORMAL, from->vectors[2]);
    s->inherited.any = s->inherited.ours = 1;
    s->inherited.has_close = 1;
    s->inherited.close_distance = from->close_distance;
    s->inherited.has_distance = s->inherited.has_twotheta = 0;
    s->inherited.beam.given[0] = s->inherited.beam.given[1] = 0;
}

/* Set what the file states; the options are applied later. */
static void set_all(struct settings *s, const nb_experiment *from)
{
    static const double forward[3] = {0, 0, 1};
    const nb_scene *scene = &from->scene;
    const unsigned found = from->found;
    s->stated = found;
    s->frame = scene->detector.convention;
    set_vector(s, VECTOR_BEAM, found & NB_FOUND_BEAM ? scene->beam.direction : forward);
    if (found & NB_FOUND_BEAM) s->scene.beam.wavelength = scene->beam.wavelength;
    if (found & NB_FOUND_POLARIZATION) {
        s->scene.beam.polarization = scene->beam.polarization;
        set_vector(s, VECTOR_POLAR, scene->beam.polarization_axis);
    }
    if (found & NB_FOUND_DETECTOR) set_detector(s, &scene->detector);
    if (found & NB_FOUND_SENSOR) {
        s->thickness = scene->detector.thickness;
        s->depth = scene->detector.attenuation;
    }
    if (found & NB_FOUND_AXIS) set_vector(s, VECTOR_SPINDLE, scene->scan.axis);
    if (found & NB_FOUND_SCAN) {
        s->scene.scan.phi0 = scene->scan.phi0;
        s->scene.scan.osc = scene->scan.osc;
        s->scene.given |= NB_GIVEN_OSC;
    }
    if (found & NB_FOUND_CRYSTAL) {
        memcpy(s->scene.crystal.matrix, scene->crystal.matrix,
               sizeof scene->crystal.matrix);
        memcpy(s->scene.crystal.cell, scene->crystal.cell, sizeof scene->crystal.cell);
    }
    if (found & NB_FOUND_MOSAIC) s->scene.crystal.mosaic[0] = scene->crystal.mosaic[0];
}

int experiment_inherit(struct settings *s, struct messages *messages, nb_context *ctx,
                       const struct event_list *events, nb_experiment *out)
{
    s->expt = events_text(events, OPT_EXPT);
    s->xparm = events_text(events, OPT_XPARM);
    if (s->expt && s->xparm)
        return message_usage(messages,
                             "-expt and -xparm both state an experiment; leave one out");
    if (!s->expt && !s->xparm) return 0;
    const int code = read_file(s, messages, ctx, out);
    if (code) return code;
    set_all(s, out);
    if (out->images > 1 && !events_text(events, OPT_IMAGES))
        message_note(messages,
                     "%s: its scan has %d images, of which this is the first; "
                     "-images %d makes all",
                     s->expt ? s->expt : s->xparm, out->images, out->images);
    if (out->count > 1 && s->expt && !strchr(s->expt, ':'))
        message_note(messages, "%s: of its %d experiments the first is taken (:0)", s->expt,
                     out->count);
    return 0;
}

/* ---- writing ---- */

/* The image files that the experiment names: those with noise, else the scaled ones. */
static const char *image_pattern(const struct settings *s)
{
    return s->out[OUT_NOISE] ? s->out[OUT_NOISE] : s->out[OUT_INT];
}

/* The digits that count the images in the name of the first one: where they begin, and how
 * many they are; 0: none. They are the last ones before the extension. */
static size_t counting_digits(const char *name, const char **begin)
{
    enum { DIGITS_MOST = 9 }; /* as in output_name() */
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name, *dot = strrchr(base, '.');
    const char *end = dot && dot > base ? dot : base + strlen(base);
    *begin = end;
    while (*begin > base && isdigit((unsigned char)(*begin)[-1])
           && end - *begin < DIGITS_MOST)
        --*begin;
    return (size_t)(end - *begin);
}

/* Turn the name of the first image into an absolute template with '#' for its digits, to be
 * freed. Returns NULL where it has none, or where there is no memory. */
static char *template_of(const char *name, int *first)
{
    const char *digits;
    const size_t n = counting_digits(name, &digits);
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name;
    char *folder = strdup(slash ? name : "."), *whole = NULL, *out = NULL;
    if (folder && slash) folder[slash == name ? 1 : slash - name] = 0;
    if (folder && n > 0) whole = realpath(folder, NULL);
    const size_t size = whole ? strlen(whole) + strlen(base) + 2 : 0;
    if (whole) out = malloc(size);
    if (out) {
        snprintf(out, size, "%s/%s", strcmp(whole, "/") == 0 ? "" : whole, base);
        memset(out + strlen(out) - strlen(digits), '#', n);
        *first = atoi(digits);
    }
    free(folder);
    free(whole);
    return out;
}

/* The space group of the file with the cell, else that of -expt; "": not known. */
static const char *space_group(const struct inputs *in)
{
    return in->crystal.noperator > 0 ? in->crystal.space_group : in->experiment.space_group;
}

int truth_write(struct run *run)
{
    const struct settings *s = run->s;
    const char *const pattern = image_pattern(s);
    char *const name = pattern ? output_name(pattern, 0, s->given[OPT_IMAGES]) : NULL;
    nb_expt_options options = {.images = s->images,
                               .first = 1,
                               .space_group = space_group(&run->inputs),
                               .pedestal = pattern ? s->adc : 0};
    char *const files = name ? template_of(name, &options.first) : NULL;
    options.files = files;
    if (pattern) { /* 65535 counts stand for what is beyond */
        options.trusted[0] = -s->adc;
        options.trusted[1] = 65534 - s->adc;
    }
    run->params.x[run->params.phi0] = run->resolved.scan.phi0;
    const nb_status status = nb_expt_write(run->sim, run->params.x, s->truth, &options);
    free(files);
    free(name);
    return status == NB_OK
               ? 0
               : message_status(run->messages, status, nb_context_message(run->ctx), 1);
}
