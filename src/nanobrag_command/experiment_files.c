/*
 * experiment_files.c - reads -expt and -xparm. Their experiments state geometry and crystal
 * where no option does.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <nanobrag/description.h>

#include "nanobrag_command/command.h"
#include "nanobrag_command/shots/shots.h"

/* ---- reading ---- */

int experiment_split(struct messages *messages, const char *text, char **file, int *number)
{
    enum { DIGITS_MOST = 8 };
    struct stat st;
    const char *const colon = strrchr(text, ':');
    *number = 0;
    *file = strdup(text);
    if (!*file) return message_failure(messages, "out of memory");
    if (!colon || colon == text || stat(text, &st) == 0) return 0;
    (*file)[colon - text] = 0;
    const size_t digits = strspn(colon + 1, "0123456789");
    if (digits > 0 && digits <= DIGITS_MOST && !colon[1 + digits]) {
        *number = atoi(colon + 1);
        return 0;
    }
    /* if no file has the name before the colon, the reader reports the whole name */
    const int known = stat(*file, &st) == 0;
    (*file)[colon - text] = ':';
    if (!known) return 0;
    return message_usage(messages,
                         "-expt %s: '%s' is not the number of an experiment; give a whole "
                         "number from 0 on, as in %.*s:0",
                         text, colon + 1, (int)(colon - text), text);
}

static int read_file(const struct settings *s, struct messages *messages, nb_context *ctx,
                     int alone, struct inputs *in)
{
    nb_status status;
    if (in->nentry > 0) {
        const int code = experiments_open(s, messages, ctx, in);
        if (code) return code;
        status = nb_expt_get(ctx, in->expt, in->expt_number, !alone, &in->experiment);
    } else {
        status = nb_xparm_read(ctx, s->xparm, &in->experiment);
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
    s->inherited.has_distance = 0;
    s->inherited.has_twotheta = from->twotheta != 0;
    s->inherited.twotheta = from->twotheta;
    if (from->twotheta != 0) set_vector(s, VECTOR_TWOTHETA, from->vectors[3]);
    s->inherited.beam.given[0] = s->inherited.beam.given[1] = 0;
}

void experiment_take(struct settings *s, const nb_experiment *from)
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
    if (found & NB_FOUND_DETECTOR && !from->geometry) set_detector(s, &scene->detector);
    if (found & NB_FOUND_SENSOR) {
        s->thickness = scene->detector.thickness;
        s->depth = scene->detector.attenuation;
        s->scene.detector.attenuation_wavelength = scene->detector.attenuation_wavelength;
        s->scene.detector.material = scene->detector.material;
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
        s->scene.crystal.nlattice = scene->crystal.nlattice;
        s->scene.crystal.lattice = scene->crystal.lattice;
    }
    if (found & NB_FOUND_MOSAIC) s->scene.crystal.mosaic[0] = scene->crystal.mosaic[0];
}

int experiment_image_at(const nb_experiment *from, double phi)
{
    const nb_scan *const scan = &from->scene.scan;
    const double whole = 360 / fabs(scan->osc), from_start = (phi - scan->phi0) / scan->osc;
    const double i = from_start - whole * floor((from_start + 0.5) / whole);
    return i < from->images - 0.5 ? (int)floor(i + 0.5) : -1;
}

/* If -img states a phi inside the scan, start there; otherwise start at the first image.
 * Returns the number of the image, from 0 on. */
static int choose_image(struct settings *s, struct messages *messages, const char *img,
                        const nb_experiment *from)
{
    const nb_scan *const scan = &from->scene.scan;
    const char *const file = s->expt ? s->expt : s->xparm;
    if (!s->inherited.has_phi || from->images < 2 || scan->osc == 0) return 0;
    const int i = experiment_image_at(from, s->inherited.phi);
    if (i < 0) {
        message_warning(messages,
                        "%s: the header's angle of %g degrees lies outside the scan of %s, "
                        "%g to %g degrees; the first image of the scan is taken",
                        img, s->inherited.phi, file, scan->phi0,
                        scan->phi0 + from->images * scan->osc);
        return 0;
    }
    s->scene.scan.phi0 = s->inherited.phi;
    return i;
}

int experiment_is_data(const struct inputs *in, const struct event_list *events)
{
    int is_fit = 0;
    for (size_t i = 0; i < events->n; i++) {
        const int option = events->at[i].option;
        if (option == OPT_DATA || (option == OPT_SHOTS && !in->is_list)
            || option == OPT_FISHER || option == OPT_FISHER_SCAN)
            return 0;
        is_fit |= option == OPT_FIT || option == OPT_FIT_EACH;
    }
    return is_fit;
}

int experiment_inherit(struct settings *s, struct messages *messages, nb_context *ctx,
                       const struct event_list *events, struct inputs *in)
{
    nb_experiment *const out = &in->experiment;
    s->expt = events_text(events, OPT_EXPT);
    s->xparm = events_text(events, OPT_XPARM);
    int alone = 0, code = experiments_list(s, messages, events, in);
    if (code) return code;
    if (!s->expt && !s->xparm) return 0;
    for (size_t i = 0; i < events->n; i++) alone |= events->at[i].option == OPT_NOLATTICES;
    code = read_file(s, messages, ctx, alone, in);
    if (code) return code;
    experiment_take(s, out);
    const char *const img = events_text(events, OPT_IMG);
    const int image = in->expt_image = choose_image(s, messages, img, out);
    if (image > 0)
        message_note(messages,
                     "%s: the run makes image %d of the %d in the scan, at the angle in "
                     "the header of %s",
                     s->expt ? s->expt : s->xparm, image + 1, out->images, img);
    else if (out->images > 1 && !events_text(events, OPT_IMAGES)
             && !experiment_is_data(in, events))
        message_note(messages,
                     "%s: the scan has %d images and the run makes the first; -images %d "
                     "makes all",
                     s->expt ? s->expt : s->xparm, out->images, out->images);
    return 0;
}

/* ---- quantities that change during the scan ---- */

/* The quantities that a scan can change: where they stand in the scene, and their
 * parameters. */
static const struct {
    unsigned found; /* the bit of the model that the quantity belongs to */
    const char *group;
    int n;
    size_t at;
    const char *name[9];
} parts[] = {
    {NB_FOUND_CRYSTAL,
     "matrix",
     9,
     offsetof(nb_scene, crystal.matrix),
     {"a_star_x", "b_star_x", "c_star_x", "a_star_y", "b_star_y", "c_star_y", "a_star_z",
      "b_star_z", "c_star_z"}},
    {NB_FOUND_CRYSTAL,
     "cell",
     6,
     offsetof(nb_scene, crystal.cell),
     {"cell_a", "cell_b", "cell_c", "cell_alpha", "cell_beta", "cell_gamma"}},
    {NB_FOUND_BEAM,
     "beam_direction",
     3,
     offsetof(nb_scene, beam.direction),
     {"beam_x", "beam_y", "beam_z"}},
    {NB_FOUND_BEAM, "wavelength", 1, offsetof(nb_scene, beam.wavelength), {"wavelength"}},
    {NB_FOUND_AXIS,
     "spindle",
     3,
     offsetof(nb_scene, scan.axis),
     {"spindle_x", "spindle_y", "spindle_z"}},
    {NB_FOUND_MOSAIC, "mosaic", 1, offsetof(nb_scene, crystal.mosaic), {"mosaic"}},
    {NB_FOUND_POLARIZATION,
     "polarization",
     1,
     offsetof(nb_scene, beam.polarization),
     {"polarization"}},
    {NB_FOUND_POLARIZATION,
     "polarization_axis",
     3,
     offsetof(nb_scene, beam.polarization_axis),
     {"polarization_x", "polarization_y", "polarization_z"}},
};
enum { PARTS = sizeof parts / sizeof *parts };

/* Returns 1 if an option states quantity k of `parts`, or if the scene has no parameters
 * for it because it has a list of sources. */
static int part_is_fixed(const struct settings *s, int k)
{
    const int by_option[PARTS] = {s->matrix != NULL,
                                  s->matrix || s->given[OPT_CELL],
                                  s->given[OPT_BEAM_VECTOR] > 0,
                                  s->given[OPT_LAMBDA] || s->given[OPT_ENERGY]
                                      || s->scene.beam.nsource > 0,
                                  s->given[OPT_SPINDLE] > 0,
                                  s->given[OPT_MOSAIC] || s->given[OPT_MOSAIC_TENSOR],
                                  s->given[OPT_POLAR] || s->given[OPT_NOPOLAR],
                                  s->given[OPT_POLAR_VECTOR] > 0};
    return by_option[k];
}

int experiment_begin(struct command *command)
{
    nb_scene probe = command->s->scene;
    const unsigned found =
        nb_scan_points_set(command->inputs.experiment.points, 0, ~0U, &probe, NULL);
    *command->changing = 0;
    for (int k = 0; k < PARTS; k++) {
        if (!(found & parts[k].found) || part_is_fixed(command->s, k)) continue;
        const size_t n = strlen(command->changing);
        (void)snprintf(command->changing + n, sizeof command->changing - n, "%s%s",
                       n > 0 ? "," : "", parts[k].group);
    }
    experiment_set(command, &command->inputs.experiment, command->s->scene.scan.phi0,
                   &command->s->scene);
    return lattices_begin(command);
}

/* Returns number i of quantity k of `parts` in the scene. *place is its index in x, or
 * params.n if it is no parameter. */
static double *value_of(const struct command *command, int k, int i, nb_scene *scene,
                        size_t *place)
{
    *place = 0;
    while (*place < command->params.n
           && strcmp(command->params.at[*place].name, parts[k].name[i]) != 0)
        ++*place;
    return (double *)(void *)((char *)scene + parts[k].at) + i;
}

/* Set crystal and beam of another experiment, which experiment_set() corrects for options.
 */
static void set_other(const struct settings *s, const nb_experiment *from, nb_scene *scene)
{
    const nb_crystal *const crystal = &from->scene.crystal;
    for (int k = 0; k < PARTS; k++)
        if (from->found & parts[k].found)
            memcpy((char *)scene + parts[k].at, (const char *)&from->scene + parts[k].at,
                   (size_t)parts[k].n * sizeof(double));
    if (s->nlattice > 0 || s->matrix) return;
    scene->crystal.nlattice = crystal->nlattice;
    scene->crystal.lattice = crystal->lattice;
}

int experiment_set(const struct command *command, const nb_experiment *from, double phi,
                   nb_scene *scene)
{
    const nb_scan *const scan = &from->scene.scan;
    const int is_other = from != &command->inputs.experiment;
    nb_scene before = *scene;
    int beyond;
    size_t place;
    if (!is_other && !*command->changing) return 0;
    if (is_other) set_other(command->s, from, scene);
    (void)nb_scan_points_set(from->points, phi + scene->scan.osc / 2, ~0U, scene, &beyond);
    for (int k = 0; k < PARTS; k++)
        for (int i = 0; i < parts[k].n; i++) {
            double *const now = value_of(command, k, i, scene, &place);
            const double stated = *value_of(command, k, i, &before, &place);
            if (part_is_fixed(command->s, k)
                || (place < command->params.n && command->params.set[place]))
                *now = stated;
        }
    if (beyond)
        message_warning(command->messages,
                        "an image lies outside the scan of %s, %g to %g degrees; the image "
                        "gets the values at the nearest end of the scan",
                        command->s->expt, scan->phi0,
                        scan->phi0 + from->images * scan->osc);
    return 1;
}

void experiment_at(const struct command *command, double *x)
{
    nb_scene scene = command->s->scene;
    size_t place;
    if (!experiment_set(command, &command->inputs.experiment, x[command->params.phi0],
                        &scene))
        return;
    for (int k = 0; k < PARTS; k++)
        for (int i = 0; i < parts[k].n && strstr(command->changing, parts[k].group); i++) {
            const double value = *value_of(command, k, i, &scene, &place);
            if (place < command->params.n && !command->params.set[place]) x[place] = value;
        }
    lattices_in_x(command, x[command->params.phi0], x);
}

const char *inputs_space_group(const struct inputs *in)
{
    return in->crystal.noperator > 0 ? in->crystal.space_group : in->experiment.space_group;
}
