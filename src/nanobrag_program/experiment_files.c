/*
 * experiment_files.c - -expt and -xparm: files that state the geometry of an experiment, as
 * defaults for the options that do; -truth, the geometry of the run for DIALS.
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

#include "nanobrag_program/run.h"
#include "nanobrag_program/share/share.h"
#include "nanobrag_program/shots/shots.h"

/* ---- reading ---- */

/* Split FILE:N, unless there is a file of the whole name. *number is N, 0 without one;
 * *file is to be freed. Returns 0 or the exit status. */
static int split_number(struct messages *messages, const char *text, char **file,
                        int *number)
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
    /* without a file before the colon, the whole is the name that is not found */
    const int known = stat(*file, &st) == 0;
    (*file)[colon - text] = ':';
    if (!known) return 0;
    return message_usage(messages,
                         "-expt %s: '%s' is no number of an experiment; they count from 0, "
                         "as in %.*s:0",
                         text, colon + 1, (int)(colon - text), text);
}

static int read_file(const struct settings *s, struct messages *messages, nb_context *ctx,
                     int alone, nb_experiment *out)
{
    nb_status status;
    if (s->expt) {
        char *file;
        int number;
        const int code = split_number(messages, s->expt, &file, &number);
        status = code    ? NB_OK
                 : alone ? nb_expt_read(ctx, file, number, out)
                         : nb_expt_read_lattices(ctx, file, number, out);
        free(file);
        if (code) return code;
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

/* Take the image of the scan at the angle of -img, else the first. Returns its number, from
 * 0 on. */
static int choose_image(struct settings *s, struct messages *messages, const char *img,
                        const nb_experiment *from)
{
    const nb_scan *const scan = &from->scene.scan;
    const char *const file = s->expt ? s->expt : s->xparm;
    if (!s->inherited.has_phi || from->images < 2 || scan->osc == 0) return 0;
    const double whole = 360 / fabs(scan->osc);
    const double from_start = (s->inherited.phi - scan->phi0) / scan->osc;
    const double i = from_start - whole * floor((from_start + 0.5) / whole);
    if (i >= from->images - 0.5) {
        message_warning(messages,
                        "%s: its angle of %g degree lies outside the scan of %s, %g to %g "
                        "degree, whose first image is taken",
                        img, s->inherited.phi, file, scan->phi0,
                        scan->phi0 + from->images * scan->osc);
        return 0;
    }
    s->scene.scan.phi0 = s->inherited.phi;
    return (int)floor(i + 0.5);
}

int experiment_inherit(struct settings *s, struct messages *messages, nb_context *ctx,
                       const struct event_list *events, nb_experiment *out)
{
    s->expt = events_text(events, OPT_EXPT);
    s->xparm = events_text(events, OPT_XPARM);
    if (!s->expt && !s->xparm) return 0;
    int alone = 0;
    for (size_t i = 0; i < events->n; i++) alone |= events->at[i].option == OPT_NOLATTICES;
    const int code = read_file(s, messages, ctx, alone, out);
    if (code) return code;
    experiment_take(s, out);
    const char *const img = events_text(events, OPT_IMG);
    const int image = choose_image(s, messages, img, out);
    if (image > 0)
        message_note(messages, "%s: of its scan this is image %d of %d, by the angle of %s",
                     s->expt ? s->expt : s->xparm, image + 1, out->images, img);
    else if (out->images > 1 && !events_text(events, OPT_IMAGES))
        message_note(messages,
                     "%s: its scan has %d images, of which this is the first; "
                     "-images %d makes all",
                     s->expt ? s->expt : s->xparm, out->images, out->images);
    return 0;
}

/* ---- what changes during the scan ---- */

/* The numbers of a scene that can change, with their parameters. */
static const struct {
    unsigned found; /* the model that they belong to */
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
};
enum { PARTS = sizeof parts / sizeof *parts };

/* 1 where an option states the numbers of a part, or the scene has no such parameters. */
static int part_is_fixed(const struct settings *s, int k)
{
    const int by_option[PARTS] = {s->matrix != NULL, s->matrix || s->given[OPT_CELL],
                                  s->given[OPT_BEAM_VECTOR] > 0,
                                  s->given[OPT_LAMBDA] || s->given[OPT_ENERGY]
                                      || s->scene.beam.nsource > 0,
                                  s->given[OPT_SPINDLE] > 0};
    return by_option[k];
}

int experiment_begin(struct run *run)
{
    nb_scene probe = run->s->scene;
    const unsigned found =
        nb_scan_points_set(run->inputs.experiment.points, 0, ~0U, &probe, NULL);
    *run->changing = 0;
    for (int k = 0; k < PARTS; k++) {
        if (!(found & parts[k].found) || part_is_fixed(run->s, k)) continue;
        const size_t n = strlen(run->changing);
        (void)snprintf(run->changing + n, sizeof run->changing - n, "%s%s",
                       n > 0 ? "," : "", parts[k].group);
    }
    experiment_set(run, run->s->scene.scan.phi0, &run->s->scene);
    return lattices_begin(run);
}

/* The value of a number that changes, and its place in x; params.n: it has none. */
static double *value_of(const struct run *run, int k, int i, nb_scene *scene, size_t *place)
{
    *place = 0;
    while (*place < run->params.n
           && strcmp(run->params.at[*place].name, parts[k].name[i]) != 0)
        ++*place;
    return (double *)(void *)((char *)scene + parts[k].at) + i;
}

int experiment_set(const struct run *run, double phi, nb_scene *scene)
{
    const nb_experiment *const from = &run->inputs.experiment;
    const nb_scan *const scan = &from->scene.scan;
    nb_scene before = *scene;
    int beyond;
    size_t place;
    if (!*run->changing) return 0;
    (void)nb_scan_points_set(from->points, phi + scene->scan.osc / 2, ~0U, scene, &beyond);
    for (int k = 0; k < PARTS; k++)
        for (int i = 0; i < parts[k].n; i++) {
            double *const now = value_of(run, k, i, scene, &place);
            const double stated = *value_of(run, k, i, &before, &place);
            if (part_is_fixed(run->s, k)
                || (place < run->params.n && run->params.set[place]))
                *now = stated;
        }
    if (beyond)
        message_warning(run->messages,
                        "an image lies outside the scan of %s, %g to %g degree: what "
                        "changes during the scan is for it as at the nearest end",
                        run->s->expt, scan->phi0, scan->phi0 + from->images * scan->osc);
    return 1;
}

void experiment_at(const struct run *run, double *x)
{
    nb_scene scene = run->s->scene;
    size_t place;
    if (!experiment_set(run, x[run->params.phi0], &scene)) return;
    for (int k = 0; k < PARTS; k++)
        for (int i = 0; i < parts[k].n && strstr(run->changing, parts[k].group); i++) {
            const double value = *value_of(run, k, i, &scene, &place);
            if (place < run->params.n && !run->params.set[place]) x[place] = value;
        }
    lattices_in_x(run, x[run->params.phi0], x);
}

/* ---- writing ---- */

/* The kind of image that the experiment names; -1: none is written. */
static int named_kind(const struct settings *s)
{
    static const int kinds[] = {OUT_IMAGE, OUT_NOISE, OUT_INT};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (s->out[kinds[i]]) return kinds[i];
    return -1;
}

/* 1 where that kind is SMV, with its pedestal and 16 bits. */
static int is_smv(const struct settings *s, int kind)
{
    return kind >= 0 && (kind != OUT_IMAGE || image_format(s) == IMAGE_SMV);
}

int truth_default(struct run *run)
{
    static const char ending[] = "_truth.expt";
    struct settings *const s = run->s;
    if (s->truth || s->given[OPT_NOTRUTH] || !s->out[OUT_IMAGE] || s->explain
        || s->gradcheck || image_format(s) == IMAGE_SMV || image_format(s) == IMAGE_UNKNOWN
        || !option_listed(nb_features(), "cjson"))
        return 0;
    char *const name = output_name_of(s, OUT_IMAGE, 0);
    if (!name) return message_failure(run->messages, "out of memory");
    const char *const base = output_base(name);
    const char *end = output_extension(name);
    /* numbers that this run gives are left out; others may tell runs apart */
    const int numbers = s->given[OPT_IMAGES] && image_format(s) != IMAGE_NXMX;
    while (numbers && end > base && strchr("0123456789_", end[-1])) end--;
    const size_t n = (size_t)(end - name);
    run->truth_name = malloc(n + sizeof ending);
    if (run->truth_name) {
        memcpy(run->truth_name, name, n);
        /* a name of digits alone leaves no stem */
        const size_t without = end > base ? 0 : 1;
        memcpy(run->truth_name + n, ending + without, sizeof ending - without);
    }
    free(name);
    if (!run->truth_name) return message_failure(run->messages, "out of memory");
    if (outputs_are_input(run, run->truth_name))
        return message_usage(run->messages,
                             "%s is an input, and -imagefile %s writes the experiment of "
                             "its images there; give -truth another name, or -notruth",
                             run->truth_name, s->out[OUT_IMAGE]);
    s->truth = run->truth_name;
    return 0;
}

/* The absolute path of a file in a folder that exists, to be freed; NULL: there is no
 * memory. */
static char *absolute(const char *name)
{
    const char *const base = output_base(name);
    char *const folder = base > name ? strdup(name) : strdup(".");
    if (folder && base > name) folder[base - name] = 0;
    char *const whole = folder ? realpath(folder, NULL) : NULL;
    const size_t size = whole ? strlen(whole) + strlen(base) + 2 : 0;
    char *const out = whole ? malloc(size) : NULL;
    if (out) snprintf(out, size, "%s/%s", strcmp(whole, "/") == 0 ? "" : whole, base);
    free(folder);
    free(whole);
    return out;
}

/* Why dxtbx could not find the images by a template of the name of the first one; NULL: it
 * can. It sorts names as text, and its own first number is 1. */
static const char *not_found_by(const char *path, const char *digits, size_t n, int images)
{
    char last[16];
    if (strchr(path, '#')) return "a # in its path, which stands for digits there";
    if (n == 0) return "no digits before its ending, by which images are found";
    if (atoi(digits) == 0) return "the number 0, where images are counted from 1";
    snprintf(last, sizeof last, "%d", atoi(digits) + (images > 0 ? images - 1 : 0));
    if (strlen(last) > n)
        return "too few digits for the last number, where names are sorted";
    return NULL;
}

/* How dxtbx names the images: by a template with '#' for the digits of the first one, or by
 * the one file of NXmx. To be freed; NULL where it would not find them, which is said. */
static char *template_of(const struct run *run, int kind, int images, int *first)
{
    const struct settings *s = run->s;
    char *const name = output_name_of(s, kind, -s->first);
    char *const out = name ? absolute(name) : NULL;
    const char *const digits = out ? output_digits(out) : NULL;
    const size_t n = out ? (size_t)(output_extension(out) - digits) : 0;
    const int whole = kind == OUT_IMAGE && image_format(s) == IMAGE_NXMX;
    const char *const why = !out    ? NULL
                            : whole ? not_found_by(out, "1", 1, 1)
                                    : not_found_by(out, digits, n, images);
    if (why)
        message_warning(run->messages,
                        "%s names no images for DIALS: %s has %s; a name such as "
                        "image_0001 "
                        "is found",
                        s->truth, name, why);
    free(name);
    if (!out || (whole && !why)) return out;
    if (why) {
        free(out);
        return NULL;
    }
    *first = atoi(digits);
    memset(out + (digits - out), '#', n);
    return out;
}

const char *inputs_space_group(const struct inputs *in)
{
    return in->crystal.noperator > 0 ? in->crystal.space_group : in->experiment.space_group;
}

const char *experiment_not_flat(const struct run *run)
{
    const nb_description *const d = &run->description;
    double cosine = 0;
    for (int i = 0; i < 3; i++) cosine += d->fast[i] * d->slow[i];
    return run->resolved.detector.curved ? "is curved"
           : fabs(cosine) > 1e-8         ? "has axes that are not at right angles"
                                         : NULL;
}

int truth_check(struct run *run)
{
    struct settings *const s = run->s;
    const char *const why = experiment_not_flat(run);
    if (!s->truth || !why) return 0;
    if (!run->truth_name)
        return message_usage(run->messages,
                             "-truth %s: the detector %s, which .expt cannot say; leave it "
                             "out",
                             s->truth, why);
    message_warning(run->messages,
                    "%s is not written: the detector %s, which .expt cannot say", s->truth,
                    why);
    s->truth = NULL;
    return 0;
}

/* x at the scan points of n images, to be freed; NULL: no memory. */
static double *scan_points(const struct run *run, int n)
{
    const nb_scan *const scan = &run->resolved.scan;
    const size_t m = run->params.n, phi0 = run->params.phi0;
    double *const rows = malloc(((size_t)n + 1) * m * sizeof *rows);
    for (int i = 0; rows && i <= n; i++) {
        double *const x = rows + (size_t)i * m;
        memcpy(x, run->params.x, m * sizeof *x);
        x[phi0] = scan->phi0 + (i - 0.5) * scan->osc; /* its middle is the scan point */
        experiment_at(run, x);
    }
    return rows;
}

/* Set the x of each shot or scan point, and that of the first image. Returns 0 or the exit
 * status. */
static int set_rows(struct run *run, nb_expt_options *options, double **rows)
{
    const int turns = run->resolved.scan.osc != 0 && *run->changing && !run->shots;
    const int points = turns && !strstr(run->changing, "beam_direction")
                       && !strstr(run->changing, "spindle");
    *rows = NULL;
    if (!run->shots) {
        run->params.x[run->params.phi0] = run->resolved.scan.phi0;
        experiment_at(run, run->params.x);
    }
    if (turns && !points)
        message_warning(run->messages,
                        "%s has the models of the first image: it does not say that the "
                        "beam or the goniometer changes during the scan",
                        run->s->truth);
    if (!run->shots && !points) return 0;
    *rows =
        points ? scan_points(run, options->images) : shots_rows(run, 0, options->images);
    if (!*rows)
        return message_failure(run->messages, "out of memory for %s", run->s->truth);
    if (points)
        options->scan_points = *rows;
    else
        options->shots = *rows;
    return 0;
}

/* How many pixels the file of the detector calls bad. */
static size_t masked_pixels(const struct run *run)
{
    const nb_detector *const d = &run->inputs.experiment.scene.detector;
    const uint8_t *const mask = run->inputs.experiment.mask;
    nb_geometry_info info = {0};
    nb_geometry_info_get(run->inputs.geometry, &info);
    for (size_t i = 0; mask && i < (size_t)d->nfast * (size_t)d->nslow; i++)
        info.masked += !mask[i];
    return info.masked;
}

/* Write the experiment, and say what it lacks. */
static int write_experiment(const struct run *run, nb_simulator *sim, const double *x,
                            const nb_expt_options *options)
{
    const struct settings *const s = run->s;
    const nb_status status = nb_expt_write(sim, x, s->truth, options);
    if (status != NB_OK)
        return message_status(run->messages, status, nb_context_message(run->ctx), 1);
    lattices_warn(run, sim, x);
    const size_t masked = masked_pixels(run);
    if (masked > 0)
        message_note(run->messages,
                     "%s does not have the bad regions of %s, %zu pixels; give -mask "
                     "beside -expt",
                     s->truth, s->geom ? s->geom : s->expt, masked);
    return 0;
}

int truth_write_fit(const struct run *run, nb_simulator *sim, const double *x)
{
    const nb_expt_options options = {.space_group = inputs_space_group(&run->inputs)};
    return write_experiment(run, sim, x, &options);
}

int truth_write(struct run *run)
{
    const struct settings *s = run->s;
    const int kind = named_kind(s);
    /* the jobs of an array write the same file, of all shots */
    const int part = run->shots && !share_is_whole(run);
    nb_expt_options options = {.images = part ? share_total(run) : run->done,
                               .first = 1,
                               .space_group = inputs_space_group(&run->inputs)};
    char *const files =
        kind >= 0 ? template_of(run, kind, options.images, &options.first) : NULL;
    options.files = files;
    options.fast_along_x = is_smv(s, kind) || image_format(s) == IMAGE_CBF;
    if (is_smv(s, kind)) { /* 65535 counts stand for what is beyond */
        options.pedestal = s->adc;
        options.trusted[0] = -s->adc;
        options.trusted[1] = 65534 - s->adc;
    } else if (kind >= 0 && !(image_format(s) == IMAGE_NXMX && s->plain)) {
        options.trusted[1] = INT32_MAX - 1; /* as the files state it */
    }
    double *rows;
    int code = set_rows(run, &options, &rows);
    if (!code) code = write_experiment(run, run->sim, run->params.x, &options);
    free(rows);
    free(files);
    return code;
}
