/*
 * start_values.c - finds the start values of a fit that no option gives. Spots in the boxes
 * of -refl decide the size of mosaic blocks and the mosaic spread. The background around
 * spots decides the gain, and the corners of boxes the resolution of structure factors.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <nanobrag/description.h>

#include "nanobrag_command/command.h"

/* Images that are looked at, evenly spaced in the list, so that a fit of thousands starts
 * soon. */
enum { IMAGES_MOST = 12 };

/* The gain of a detector that counts photons is 1, whatever else is in the background. A
 * gain is taken if it differs from 1 by more than `other` and by five errors. */
static const double other = 0.25;

/* Blocks start so many times as large as the spots say: a block that starts too small may
 * end in another minimum, while one that starts too large shrinks. `unknown`: where too few
 * spots tell, A. */
static const double larger = 1.25, unknown = 1000;

/* An image of the fit. */
struct image {
    const char *file; /* also FILE:FRAME */
    int64_t frame;
    int experiment, number; /* number: of the image in the scan; -1: by its angle */
};

struct start {
    struct command *command;
    nb_context *ctx; /* without a device, as nothing is computed */
    size_t looked; /* images whose spots are listed */
    nb_spot_size *spot;
    size_t nspot;
    size_t counted; /* images that state no gain */
};

static int no_memory(const struct start *t)
{
    return message_failure(t->command->messages, "out of memory for the start of a fit");
}

/* Returns 1 if -param sets a parameter whose name begins so. */
static int is_set(const struct command *command, const char *name)
{
    const struct event_list *const events = command->events;
    for (size_t i = 0; i < events->n; i++)
        if (events->at[i].option == OPT_PARAM
            && strncmp(events->at[i].text, name, strlen(name)) == 0)
            return 1;
    return 0;
}

static int has_blocks(const struct command *command)
{
    static const int options[] = {OPT_NA,        OPT_NB,     OPT_NC,     OPT_N,
                                  OPT_XTAL_SIZE, OPT_XTAL_X, OPT_XTAL_Y, OPT_XTAL_Z};
    int given = is_set(command, "ncells");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        given |= command->s->given[options[i]] > 0;
    return given;
}

/* Returns 1 if an option or the file of -expt states a mosaic spread. */
static int has_mosaic(const struct command *command)
{
    const struct settings *const s = command->s;
    return s->given[OPT_MOSAIC] || s->given[OPT_MOSAIC_TENSOR] || is_set(command, "mosaic")
           || (s->stated & NB_FOUND_MOSAIC);
}

/* Returns 1 if -expt states a gain of its panels. */
static int has_gain(const struct inputs *in)
{
    return in->experiment.counts && in->experiment.counts->gain != 1;
}

/* ---- the images ---- */

/* Returns 1 if a fit takes this image of -expt, and does not find it as a lattice of
 * another. */
static int is_taken(const struct command *command, const nb_expt_image *image)
{
    const struct expt_entry *const from =
        experiment_entry(&command->inputs, image->experiment);
    if (!*image->file || !from) return 0;
    if (from->number >= 0) return image->experiment - from->first == from->number;
    return image->experiment == image->first || command->s->nolattices;
}

/* Lists the images of -data, or those that -expt names. The caller frees the list; NULL: no
 * memory. */
static struct image *list_images(const struct start *t, size_t *nimage)
{
    const struct inputs *const in = &t->command->inputs;
    const struct event_list *const events = t->command->events;
    size_t n;
    const nb_expt_image *const list = nb_expt_images(in->expt, &n);
    struct image *const out = calloc(events->n + n + 1, sizeof *out);
    *nimage = 0;
    if (!out) return NULL;
    for (size_t i = 0; i < events->n; i++)
        if (events->at[i].option == OPT_DATA)
            out[(*nimage)++] =
                (struct image){events->at[i].text, 0, in->expt_number,
                               in->experiment.scene.scan.osc == 0 ? in->expt_image : -1};
    if (*nimage > 0 || (t->command->s->fit.shots && !in->is_list)) return out;
    for (size_t i = 0; i < n; i++)
        if (is_taken(t->command, list + i))
            out[(*nimage)++] =
                (struct image){list[i].file, list[i].frame > 0 ? list[i].frame : 0,
                               list[i].experiment, list[i].image};
    return out;
}

/* Splits FILE:FRAME, unless a file has the whole name. Returns 0 unless the file is a
 * regular one: a pipe can be read only once. */
static int find_file(char *file, int64_t *frame)
{
    struct stat st;
    char *const colon = strrchr(file, ':');
    if (stat(file, &st) != 0 && colon && colon[1]
        && strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
        *frame = strtoll(colon + 1, NULL, 10);
        *colon = 0;
    }
    return stat(file, &st) == 0 && S_ISREG(st.st_mode);
}

/* Photons and weights of an image, and what its header says. */
struct pixels {
    nb_measured *header; /* NULL: raw numbers */
    double *photons;
    float *weight;
};

static void free_pixels(struct pixels *p)
{
    nb_measured_free(p->header);
    free(p->photons);
    free(p->weight);
}

/* Reads an image of this size. Returns 0 if it cannot be read: the fit says why. */
static int read_pixels(nb_context *ctx, const char *file, int64_t frame, const int count[2],
                       struct pixels *out)
{
    const size_t n = (size_t)count[0] * (size_t)count[1];
    *out = (struct pixels){.photons = malloc(n * sizeof *out->photons),
                           .weight = malloc(n * sizeof *out->weight)};
    if (!out->photons || !out->weight) return 0;
    for (size_t i = 0; i < n; i++) out->weight[i] = 1;
    if (!nb_image_kind(file)) {
        nb_array wide = nb_array_f64(out->photons, count[1], count[0]);
        float *const narrow = malloc(n * sizeof *narrow);
        nb_array single = nb_array_f32(narrow, count[1], count[0]);
        int is_read = narrow && nb_raw_read(ctx, file, &single) == NB_OK;
        for (size_t i = 0; is_read && i < n; i++) out->photons[i] = (double)narrow[i];
        free(narrow);
        return is_read || nb_raw_read(ctx, file, &wide) == NB_OK;
    }
    if (nb_image_read(ctx, file, frame, &out->header) != NB_OK
        || out->header->nfast != count[0] || out->header->nslow != count[1])
        return 0;
    memcpy(out->photons, out->header->pixels, n * sizeof *out->photons);
    for (size_t i = 0; out->header->mask && i < n; i++)
        out->weight[i] = out->header->mask[i];
    return 1;
}

/* Turns counts into photons, and gives pixels that the fit ignores no weight. Returns the
 * photons of a full pixel; 0: not known. */
static double count_photons(const struct settings *s, size_t n, struct pixels *p)
{
    double pedestal = p->header ? p->header->pedestal : 0;
    double gain = p->header ? p->header->gain : 1;
    double full = p->header ? p->header->overload : s->fit.saturation;
    if (p->header && s->given[OPT_PEDESTAL]) pedestal = s->fit.pedestal;
    if (p->header && s->given[OPT_GAIN]) gain = s->fit.gain;
    if (p->header && s->given[OPT_SATURATION]) full = s->fit.saturation;
    const double least = s->fit.loss == NB_LOSS_POISSON ? 0
                         : s->fit.loss == NB_LOSS_READOUT && s->fit.readout > 0
                             ? -6 * s->fit.readout
                             : -INFINITY;
    for (size_t i = 0; i < n; i++) {
        p->photons[i] = (p->photons[i] - pedestal) / gain;
        if (!(p->photons[i] >= least)) p->weight[i] = 0;
    }
    return isfinite(full) ? fmax((full - pedestal) / gain, 0) : 0;
}

/* Gives pixels no weight that -data_mask marks. */
static void apply_mask(const struct start *t, const int count[2], struct pixels *p)
{
    const char *const file = t->command->s->fit.data_mask;
    const size_t n = (size_t)count[0] * (size_t)count[1];
    struct pixels mask = {NULL};
    struct stat st;
    if (file && stat(file, &st) == 0 && S_ISREG(st.st_mode)
        && read_pixels(t->ctx, file, 0, count, &mask))
        for (size_t i = 0; i < n; i++)
            if (mask.photons[i] == 0 || isnan(mask.photons[i]) || !(mask.weight[i] > 0))
                p->weight[i] = 0;
    free_pixels(&mask);
}

/* ---- the spots ---- */

/* Adds the spots in the boxes of an image. Returns 0 or the exit status. */
static int measure_image(struct start *t, const struct image *image, struct pixels *p,
                         double saturation)
{
    struct command *const command = t->command;
    int number = image->number;
    if (number < 0 && p->header && isfinite(p->header->osc_start))
        number = experiment_image_at(&command->inputs.experiment, p->header->osc_start);
    if (number < 0) return 0;
    struct reflection_boxes boxes;
    int code = reflection_boxes(&command->inputs, command->s, command->messages,
                                image->experiment, number, &boxes);
    nb_scene scene = command->s->scene;
    scene.detector.box = boxes.box;
    scene.detector.nbox = boxes.n;
    scene.crystal.hkl = NULL;
    scene.crystal.default_f = 1;
    int count[2];
    settings_pixels(command->s, count);
    const nb_array observed = nb_array_f64(p->photons, count[1], count[0]);
    const nb_array weight = nb_array_f32(p->weight, count[1], count[0]);
    const nb_target target = {.observed = &observed,
                              .weight = &weight,
                              .saturation = saturation};
    nb_spot_size *const more =
        code ? NULL : realloc(t->spot, (t->nspot + boxes.n + 1) * sizeof *more);
    if (more) t->spot = more;
    if (!code && !more) code = no_memory(t);
    if (!code && boxes.n > 0
        && nb_spot_sizes_measure(t->ctx, &scene, &target, t->spot + t->nspot) == NB_OK) {
        t->nspot += boxes.n;
        t->looked++;
        t->counted += p->header && !p->header->has_gain && !has_gain(&command->inputs);
    }
    reflection_boxes_free(&boxes);
    return code;
}

static int look_at(struct start *t, const struct image *image)
{
    struct pixels p = {NULL};
    int64_t frame = image->frame;
    int count[2], code = 0;
    if (!image->file) return 0;
    settings_pixels(t->command->s, count);
    char *const file = strdup(image->file);
    if (!file) return no_memory(t);
    if (find_file(file, &frame) && read_pixels(t->ctx, file, frame, count, &p)) {
        const double full =
            count_photons(t->command->s, (size_t)count[0] * (size_t)count[1], &p);
        apply_mask(t, count, &p);
        code = measure_image(t, image, &p, full);
    }
    free_pixels(&p);
    free(file);
    return code;
}

/* ---- the values ---- */

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* Starts from blocks of this edge, A. */
static void set_blocks(struct command *command, double edge)
{
    struct settings *const s = command->s;
    nb_crystal *const crystal = &s->scene.crystal;
    const double *const cell = crystal->cell[0] > 0
                                   ? crystal->cell
                                   : command->inputs.experiment.scene.crystal.cell;
    for (int i = 0; i < 3; i++) {
        const double one = cell[i] > 0 ? cell[i] : cell[0];
        crystal->ncells[i] = s->ncells[i] = fmax(1, rint(edge / one));
    }
}

/* Takes the sizes of blocks and the mosaic spread that are not given. */
static void take_sizes(const struct start *t, const nb_start *start)
{
    struct command *const command = t->command;
    struct settings *const s = command->s;
    const double *const n = s->ncells;
    const int blocks = !has_blocks(command), mosaic = !has_mosaic(command);
    const int are_known = start->spots > 0;
    char text[2][160] = {"", ""};
    if (blocks) set_blocks(command, are_known ? larger * start->block : unknown);
    if (blocks && !are_known)
        message_warning(command->messages,
                        "too few bright spots in the boxes of %s tell the size of mosaic "
                        "blocks, so the fit starts from %g A, which are %g %g %g cells; "
                        "give -Na, -Nb and -Nc",
                        s->refl, unknown, n[0], n[1], n[2]);
    if (!are_known || (!blocks && !mosaic)) return;
    if (blocks)
        (void)snprintf(text[0], sizeof *text, "-Na %g -Nb %g -Nc %g", n[0], n[1], n[2]);
    if (mosaic) s->scene.crystal.mosaic[0] = start->mosaic;
    if (mosaic) (void)snprintf(text[1], sizeof *text, "-mosaic %.3g", start->mosaic);
    message_note(command->messages,
                 "the fit starts from %s%s%s, by the sizes of %lld spots on %zu image%s",
                 text[0], blocks && mosaic ? " " : "", text[1], (long long)start->spots,
                 t->looked, plural(t->looked));
}

/* Takes the gain if no image states one, and no option. */
static void take_gain(const struct start *t, const nb_start *start)
{
    struct settings *const s = t->command->s;
    const double off = fabs(start->gain - 1);
    if (s->given[OPT_GAIN] || t->counted < t->looked || start->boxes == 0
        || !(off > other && off > 5 * start->gain_error))
        return;
    s->fit.found_gain = start->gain;
    message_note(t->command->messages,
                 "the fit takes -gain %.3g, with an error of %.1g: the images state no "
                 "gain, "
                 "and this is the variance of the background of %lld boxes over its mean",
                 start->gain, start->gain_error, (long long)start->boxes);
}

static int find_values(struct start *t)
{
    nb_start start;
    size_t all;
    int code = 0;
    struct image *const image = list_images(t, &all);
    if (!image) return no_memory(t);
    const size_t n = all < IMAGES_MOST ? all : IMAGES_MOST;
    for (size_t i = 0; i < n && !code; i++) code = look_at(t, image + i * all / n);
    free(image);
    if (code || t->looked == 0) return code;
    if (nb_spot_sizes_start(t->ctx, t->nspot, t->spot, &start) != NB_OK)
        return no_memory(t);
    take_sizes(t, &start);
    take_gain(t, &start);
    return 0;
}

/* ---- the resolution ---- */

/* Returns |q| at the outer corner of pixel (fast, slow) of the image, 1/A. */
static double q_at(const nb_panel *p, const nb_source *source, double fast, double slow)
{
    double ray[3], length = 0, beam = 0, both = 0;
    for (int i = 0; i < 3; i++) {
        ray[i] = p->origin[i] + p->pixel * (fast - p->fast0) * p->fast[i]
                 + p->pixel * (slow - p->slow0) * p->slow[i];
        length += ray[i] * ray[i];
        beam += source->direction[i] * source->direction[i];
        both += ray[i] * source->direction[i];
    }
    const double cosine = fmin(fmax(both / sqrt(length * beam), -1), 1);
    return sqrt(2 * (1 - cosine)) / source->wavelength;
}

/* Returns the largest |q| at a corner of a box, 1/A; 0: it is not known. */
static double largest_q(nb_simulator *sim, const struct reflection_boxes *boxes)
{
    nb_panel panel = {.nfast = 0};
    nb_description d;
    nb_source source;
    double most = 0;
    int which = -1;
    if (nb_simulator_source(sim, NULL, 0, &source, NULL) != NB_OK
        || nb_simulator_describe(sim, NULL, &d) != NB_OK)
        return 0;
    for (size_t i = 0; i < boxes->n; i++) {
        const int *const box = boxes->box + 4 * i;
        for (int tried = 0;
             !(box[0] >= panel.fast0 && box[1] <= panel.fast0 + panel.nfast
               && box[2] >= panel.slow0 && box[3] <= panel.slow0 + panel.nslow);
             tried++) {
            which = which + 1 < d.npanel ? which + 1 : 0;
            if (tried > d.npanel || nb_simulator_panel(sim, NULL, which, &panel) != NB_OK)
                return 0;
            if (!(panel.pixel > 0)) panel.pixel = d.pixel;
        }
        for (int k = 0; k < 4; k++)
            most = fmax(most, q_at(&panel, &source, box[k % 2], box[k < 2 ? 2 : 3]));
    }
    return most;
}

/* Finds the resolution to which the boxes of a fit reach, for the F of -pdb. The detector
 * may move in the fit, and images may have other wavelengths, so there is a margin. Returns
 * 0 or the exit status. */
static int find_resolution(const struct start *t)
{
    static const double margin = 1.05;
    struct command *const command = t->command;
    struct settings *const s = command->s;
    struct reflection_boxes boxes;
    nb_scene scene = s->scene;
    nb_simulator *sim = NULL;
    int code = 0;
    if (!s->pdb || s->given[OPT_DMIN] || s->fmtz || s->integrate || s->predict) return 0;
    scene.crystal.default_f = 1;
    if (nb_simulator_create(t->ctx, &scene, "", NULL, &sim) != NB_OK) return 0;
    for (size_t i = 0; i < command->inputs.nentry && !code; i++) {
        code = reflection_boxes(&command->inputs, s, command->messages,
                                command->inputs.entry[i].first, ANY_IMAGE, &boxes);
        if (!code) s->fit.boxes_q = fmax(s->fit.boxes_q, margin * largest_q(sim, &boxes));
        reflection_boxes_free(&boxes);
    }
    if (s->fit.boxes_q > 0)
        message_note(command->messages,
                     "F are calculated to %.3g A, a little beyond the boxes of %s; -dmin "
                     "states another resolution",
                     1 / s->fit.boxes_q, s->refl);
    nb_simulator_free(sim);
    return code;
}

int start_values_find(struct command *command)
{
    const struct settings *const s = command->s;
    const nb_context_options options = {.threads = 1,
                                        .device = NB_DEVICE_CPU,
                                        .compile = NB_COMPILE_OFF};
    struct start t = {.command = command};
    if ((!s->fit.shared && !s->fit.own) || command->scene_only || !uses_reflections(s)
        || s->fit.fisher || s->fit.fisher_scan)
        return 0;
    const nb_status status = nb_context_create(NB_API_VERSION, &options, &t.ctx);
    if (status != NB_OK) return message_status(command->messages, status, "", 0);
    int code = find_resolution(&t);
    if (!code && !(has_blocks(command) && has_mosaic(command) && s->given[OPT_GAIN]))
        code = find_values(&t);
    nb_context_free(t.ctx);
    free(t.spot);
    return code;
}
