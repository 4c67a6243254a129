/*
 * geometry_out.c - writes the geometry of a run: -truth for DIALS, -geomout for CrystFEL.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "nanobrag_command/shots/shots.h"
#include "nanobrag_program/run.h"
#include "nanobrag_program/share/share.h"

/* Returns the kind of image files (OUT_...) that the file of -truth names; -1 if the run
 * writes no such images. */
static int named_kind(const struct settings *s)
{
    static const int kinds[] = {OUT_IMAGE, OUT_NOISE, OUT_INT};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (s->out[kinds[i]]) return kinds[i];
    return -1;
}

/* Returns 1 if a kind of image files is SMV, whose pixels have a pedestal and 16 bits. */
static int is_smv(const struct settings *s, int kind)
{
    return kind >= 0 && (kind != OUT_IMAGE || image_format(s) == IMAGE_SMV);
}

int truth_default(struct run *run)
{
    static const char ending[] = "_truth.expt";
    struct settings *const s = run->command.s;
    if (s->truth || s->given[OPT_NOTRUTH] || !s->out[OUT_IMAGE] || s->explain
        || s->gradcheck || image_format(s) == IMAGE_SMV || image_format(s) == IMAGE_UNKNOWN
        || !option_listed(nb_features(), "cjson"))
        return 0;
    char *const name = output_name_of(s, OUT_IMAGE, 0);
    if (!name) return message_failure(run->command.messages, "out of memory");
    const char *const base = output_base(name);
    const char *end = output_extension(name);
    /* With -images the name of an image ends with its number, which is cut off. Without
     * -images digits at the end stay, because they may distinguish runs. */
    const int numbers = s->given[OPT_IMAGES] && image_format(s) != IMAGE_NXMX;
    while (numbers && end > base && strchr("0123456789_", end[-1])) end--;
    const size_t n = (size_t)(end - name);
    run->truth_name = malloc(n + sizeof ending);
    if (run->truth_name) {
        memcpy(run->truth_name, name, n);
        /* a name of digits alone would leave only the ending, which then loses its "_" */
        const size_t without = end > base ? 0 : 1;
        memcpy(run->truth_name + n, ending + without, sizeof ending - without);
    }
    free(name);
    if (!run->truth_name) return message_failure(run->command.messages, "out of memory");
    if (outputs_are_input(run, run->truth_name))
        return message_usage(run->command.messages,
                             "%s is an input, but -imagefile %s would write an experiment "
                             "there; give -truth another name, or -notruth",
                             run->truth_name, s->out[OUT_IMAGE]);
    s->truth = run->truth_name;
    return 0;
}

/* Returns the absolute path of a file whose folder exists. The caller frees it; NULL: no
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

/* Returns why dxtbx cannot find images by a template from the name of the first; NULL if it
 * can. dxtbx sorts names as text, and counts from 1. */
static const char *not_found_by(const char *path, const char *digits, size_t n, int images)
{
    char last[16];
    if (strchr(path, '#')) return "a # in the path, which DIALS reads as a digit";
    if (n == 0) return "no digits before the ending, by which DIALS finds images";
    if (atoi(digits) == 0) return "the number 0, but DIALS counts images from 1";
    snprintf(last, sizeof last, "%d", atoi(digits) + (images > 0 ? images - 1 : 0));
    if (strlen(last) > n)
        return "too few digits for the last number, so sorting changes the order";
    return NULL;
}

/* Returns the name of the images for dxtbx: a template with # for the digits, or the file
 * of NXmx. The caller frees it. Returns NULL after a warning if dxtbx would not find the
 * images, and NULL without memory. */
static char *template_of(const struct run *run, int kind, int images, int *first)
{
    const struct settings *s = run->command.s;
    char *const name = output_name_of(s, kind, -s->first);
    char *const out = name ? absolute(name) : NULL;
    const char *const digits = out ? output_digits(out) : NULL;
    const size_t n = out ? (size_t)(output_extension(out) - digits) : 0;
    const int whole = kind == OUT_IMAGE && image_format(s) == IMAGE_NXMX;
    const char *const why = !out    ? NULL
                            : whole ? not_found_by(out, "1", 1, 1)
                                    : not_found_by(out, digits, n, images);
    if (why)
        message_warning(run->command.messages,
                        "%s names no images for DIALS: %s has %s; use a name such as "
                        "image_0001",
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

const char *experiment_not_flat(const struct run *run)
{
    const nb_description *const d = &run->command.description;
    double cosine = 0;
    for (int i = 0; i < 3; i++) cosine += d->fast[i] * d->slow[i];
    return run->command.resolved.detector.curved ? "is curved"
           : fabs(cosine) > 1e-8                 ? "has axes that are not at right angles"
                                                 : NULL;
}

int truth_check(struct run *run)
{
    struct settings *const s = run->command.s;
    const char *const why = experiment_not_flat(run);
    if (!s->truth || !why) return 0;
    if (!run->truth_name)
        return message_usage(run->command.messages,
                             "-truth %s: the detector %s, which .expt cannot state; leave "
                             "-truth out",
                             s->truth, why);
    message_warning(run->command.messages,
                    "%s is not written: the detector %s, which .expt cannot state",
                    s->truth, why);
    s->truth = NULL;
    return 0;
}

/* Returns the parameters at the n + 1 scan points of n images. The caller frees them; NULL:
 * no memory. */
static double *scan_points(const struct run *run, int n)
{
    const nb_scan *const scan = &run->command.resolved.scan;
    const size_t m = run->command.params.n, phi0 = run->command.params.phi0;
    double *const rows = malloc(((size_t)n + 1) * m * sizeof *rows);
    for (int i = 0; rows && i <= n; i++) {
        double *const x = rows + (size_t)i * m;
        memcpy(x, run->command.params.x, m * sizeof *x);
        x[phi0] = scan->phi0 + (i - 0.5) * scan->osc; /* so that the scan point is the
                                                         image's middle */
        experiment_at(&run->command, x);
    }
    return rows;
}

/* Set options->shots or options->scan_points, which *rows owns, and the parameters x of the
 * first image. Returns 0 or the exit status. */
static int set_rows(struct run *run, nb_expt_options *options, double **rows)
{
    const int turns = run->command.resolved.scan.osc != 0 && *run->command.changing
                      && !run->command.shots;
    const int points = turns && !strstr(run->command.changing, "beam_direction")
                       && !strstr(run->command.changing, "spindle");
    *rows = NULL;
    if (!run->command.shots) {
        run->command.params.x[run->command.params.phi0] = run->command.resolved.scan.phi0;
        experiment_at(&run->command, run->command.params.x);
    }
    if (turns && !points)
        message_warning(run->command.messages,
                        "%s has the models of the first image and does not state that the "
                        "beam or the goniometer changes during the scan",
                        run->command.s->truth);
    if (!run->command.shots && !points) return 0;
    *rows = points ? scan_points(run, options->images)
                   : shots_rows(&run->command, 0, options->images);
    if (!*rows)
        return message_failure(run->command.messages, "out of memory for %s",
                               run->command.s->truth);
    if (points)
        options->scan_points = *rows;
    else
        options->shots = *rows;
    return 0;
}

/* Returns the number of pixels that the file of the detector calls bad. */
static size_t masked_pixels(const struct run *run)
{
    const nb_detector *const d = &run->command.inputs.experiment.scene.detector;
    const uint8_t *const mask = run->command.inputs.experiment.mask;
    nb_geometry_info info = {0};
    nb_geometry_info_get(run->command.inputs.geometry, &info);
    for (size_t i = 0; mask && i < (size_t)d->nfast * (size_t)d->nslow; i++)
        info.masked += !mask[i];
    return info.masked;
}

/* Write the file of -truth, and tell which numbers of the scene it lacks. Returns 0 or the
 * exit status. */
static int write_experiment(const struct run *run, nb_simulator *sim, const double *x,
                            const nb_expt_options *options)
{
    const struct settings *const s = run->command.s;
    const nb_status status = nb_expt_write(sim, x, s->truth, options);
    if (status != NB_OK)
        return message_status(run->command.messages, status,
                              nb_context_message(run->command.ctx), 1);
    lattices_warn(&run->command, sim, x);
    const size_t masked = masked_pixels(run);
    if (masked > 0)
        message_note(run->command.messages,
                     "%s does not have the bad regions of %s, %zu pixels; give -mask "
                     "together with -expt",
                     s->truth, s->geom ? s->geom : s->expt, masked);
    return 0;
}

int truth_write_fit(const struct run *run, nb_simulator *sim, const double *x)
{
    const nb_expt_options options = {.space_group =
                                         inputs_space_group(&run->command.inputs)};
    return write_experiment(run, sim, x, &options);
}

int truth_write(struct run *run)
{
    const struct settings *s = run->command.s;
    const int kind = named_kind(s);
    /* jobs of an array all write the same file, with all shots */
    const int part = run->command.shots && !share_is_whole(run);
    nb_expt_options options = {.images = part ? share_total(run) : run->done,
                               .first = 1,
                               .space_group = inputs_space_group(&run->command.inputs)};
    char *const files =
        kind >= 0 ? template_of(run, kind, options.images, &options.first) : NULL;
    options.files = files;
    options.fast_along_x = is_smv(s, kind) || image_format(s) == IMAGE_CBF;
    if (is_smv(s, kind)) { /* 65535 counts stand for an overload */
        options.pedestal = s->adc;
        options.trusted[0] = -s->adc;
        options.trusted[1] = 65534 - s->adc;
    } else if (kind >= 0 && !(image_format(s) == IMAGE_NXMX && s->plain)) {
        options.trusted[1] = INT32_MAX - 1; /* as NXmx and miniCBF files state it */
    }
    double *rows;
    int code = set_rows(run, &options, &rows);
    if (!code)
        code = write_experiment(run, run->command.sim, run->command.params.x, &options);
    free(rows);
    free(files);
    return code;
}

/* ---- -geomout ---- */

int geometry_out_check(const struct run *run)
{
    const struct settings *s = run->command.s;
    const char *const why = experiment_not_flat(run);
    if (!s->geomout || !why) return 0;
    return message_usage(run->command.messages,
                         "-geomout %s: the detector %s, which .geom cannot state; leave "
                         "-geomout out",
                         s->geomout, why);
}

int geometry_out_write(struct run *run)
{
    nb_geometry_info info = {0};
    nb_geometry_info_get(run->command.inputs.geometry, &info);
    if (info.masked > 0)
        message_note(run->command.messages,
                     "%s does not have the bad regions of %s, %zu pixels; append the lines "
                     "that state them",
                     run->command.s->geomout,
                     run->command.s->geom ? run->command.s->geom : run->command.s->expt,
                     info.masked);
    const nb_status status =
        nb_geom_write(run->command.sim, run->command.params.x, run->command.s->geomout);
    if (status == NB_OK) return 0;
    return message_status(run->command.messages, status,
                          nb_context_message(run->command.ctx), 1);
}
