/*
 * fit_image.c - reads an observed image: of any kind that nb_image_read() knows, with
 * pedestal, gain and overload from options, else from the panels of -expt, else from its
 * header; or raw floats in photons.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "nanobrag_program/fit/fit_run.h"

/* ---- counts ---- */

/* how the counts of a panel become photons: (count - pedestal)/gain */
struct counting {
    double pedestal, gain, overload;
    double low, high; /* smallest and largest count that is trusted */
    int area[4]; /* of the panel in the image, as in nb_detector.box */
};

/* Returns the counting of panel i. */
static struct counting counting_of(const struct run *run, const nb_measured *image,
                                   const nb_panel_counts *counts, int i,
                                   const nb_detector *d)
{
    const struct settings *const s = run->command.s;
    const nb_panel *const panel = d->npanel > 0 ? d->panel + i : NULL;
    struct counting c = {.pedestal = image->pedestal,
                         .gain = !image->has_gain && s->fit.found_gain > 0
                                     ? s->fit.found_gain
                                     : image->gain,
                         .overload = image->overload,
                         .low = -INFINITY,
                         .high = INFINITY,
                         .area = {0, image->nfast, 0, image->nslow}};
    if (panel)
        memcpy(c.area,
               (int[]){panel->fast0, panel->fast0 + panel->nfast, panel->slow0,
                       panel->slow0 + panel->nslow},
               sizeof c.area);
    if (counts) {
        /* 0 and 1 are what DIALS writes where it knows nothing */
        if (counts[i].pedestal != 0) c.pedestal = counts[i].pedestal;
        if (counts[i].gain != 1) c.gain = counts[i].gain;
        c.low = counts[i].low;
        c.high = counts[i].high;
    }
    if (s->given[OPT_PEDESTAL]) c.pedestal = s->fit.pedestal;
    if (s->given[OPT_GAIN]) c.gain = s->fit.gain;
    if (s->given[OPT_SATURATION]) c.overload = s->fit.saturation, c.high = INFINITY;
    return c;
}

static double photons_of(const struct counting *c, double count)
{
    return (count - c->pedestal) / c->gain;
}

/* Returns the counts that -expt states for its panels; NULL: none for this detector. */
static const nb_panel_counts *stated_counts(const struct run *run,
                                            const struct fit_image *image)
{
    if (run->command.s->geom) return NULL;
    return image->own.counts ? image->own.counts : run->command.inputs.experiment.counts;
}

/* ---- files ---- */

static nb_status failed(nb_context *ctx, const struct steady_file *file, nb_status status,
                        char why[FIT_WHY])
{
    steady_file_message(file, nb_context_message(ctx), why, FIT_WHY);
    return status;
}

static nb_status wrong_size(const struct run *run, const char *path, int nfast, int nslow,
                            char why[FIT_WHY])
{
    (void)snprintf(why, FIT_WHY,
                   "%s: the image has %d x %d pixels but the detector has %d x %d; %s",
                   path, nfast, nslow, run->command.description.nfast,
                   run->command.description.nslow,
                   run->command.inputs.geometry ? "give the geometry file of this image"
                                                : "set -detpixels_f and -detpixels_s");
    return NB_ERR_SHAPE;
}

static nb_status no_memory(const char *path, char why[FIT_WHY])
{
    (void)snprintf(why, FIT_WHY, "out of memory for %s", path);
    return NB_ERR_MEMORY;
}

/* Reads an image with a header, which must have the detector's size. The caller frees
 * *out. */
static nb_status read_measured(const struct run *run, nb_context *ctx,
                               const struct steady_file *file, nb_measured **out,
                               char why[FIT_WHY])
{
    const nb_description *d = &run->command.description;
    nb_status status = nb_image_read(ctx, steady_file_path(file), file->frame, out);
    if (status != NB_OK) return failed(ctx, file, status, why);
    if ((*out)->nfast == d->nfast && (*out)->nslow == d->nslow) return NB_OK;
    status = wrong_size(run, file->name, (*out)->nfast, (*out)->nslow, why);
    nb_measured_free(*out);
    *out = NULL;
    return status;
}

/* ---- headers that contradict the scene ---- */

static int is_off(double a, double b, double share)
{
    return fabs(a - b) > share * fabs(b);
}

/* Returns the distance between a beam centre in a header and the scene's, mm. The distance
 * is the least over all ways of counting: from either side, with the axes exchanged, from
 * the corner or the middle of a pixel; and a header may mean the nearest point instead. */
static double centre_off(const nb_description *d, double x, double y)
{
    const double across = d->pixel * d->nfast, down = d->pixel * d->nslow;
    const double fast[] = {d->beam_fast, d->close_fast},
                 slow[] = {d->beam_slow, d->close_slow};
    double least = INFINITY;
    for (int i = 0; i < 8; i++) {
        const double f = i & 1 ? across - fast[i / 4] : fast[i / 4];
        const double s = i & 2 ? down - slow[i / 4] : slow[i / 4];
        least = fmin(least, fmin(hypot(x - f, y - s), hypot(x - s, y - f)));
    }
    return least;
}

/* Returns 1 if the header begins more than half an image from the start of the scene's
 * rotation. */
static int is_turned(const nb_measured *header, const nb_scan *scan)
{
    return scan->osc != 0
           && fabs(remainder(header->osc_start - scan->phi0, 360)) > 0.5 * fabs(scan->osc);
}

/* Writes to `out` where the header contradicts the scene by so much that the start of a fit
 * cannot be right. Nothing is off a number that the header does not state, NaN. */
static void find_mismatch(const nb_measured *header, const struct fit_image *image,
                          const nb_description *d, char out[FIT_MISMATCH])
{
    const double wavelength = image->scene.beam.wavelength;
    const nb_scan *const scan = &image->scene.scan;
    const double x = header->beam_x, y = header->beam_y;
    if (is_off(header->pixel_fast, d->pixel, 0.001))
        (void)snprintf(out, FIT_MISMATCH, "a pixel of %g mm but the scene has %g mm",
                       header->pixel_fast, d->pixel);
    else if (is_off(header->wavelength, wavelength, 0.002))
        (void)snprintf(out, FIT_MISMATCH, "a wavelength of %g A but the scene has %g A",
                       header->wavelength, wavelength);
    else if (is_off(header->distance, d->distance, 0.02)
             && is_off(header->distance, d->close_distance, 0.02))
        (void)snprintf(out, FIT_MISMATCH, "a distance of %g mm but the scene has %g mm",
                       header->distance, d->distance);
    else if (is_turned(header, scan))
        (void)snprintf(out, FIT_MISMATCH,
                       "a start at %g degrees but the scene has %g degrees",
                       header->osc_start, scan->phi0);
    else if (header->osc_range != 0 /* unknown */
             && is_off(fabs(header->osc_range), fabs(scan->osc), 0.01))
        (void)snprintf(out, FIT_MISMATCH,
                       "a rotation by %g degrees but the scene has %g degrees",
                       header->osc_range, scan->osc);
    else if (image->scene.detector.npanel < 2 /* of several, it may be from any corner */
             && isfinite(x) && isfinite(y) && centre_off(d, x, y) > fmax(5 * d->pixel, 1))
        (void)snprintf(out, FIT_MISMATCH,
                       "a beam centre at %g, %g mm but the scene has %g, %g mm from the "
                       "corner",
                       x, y, d->beam_fast, d->beam_slow);
}

/* ---- images ---- */

/* Gives every pixel of an image a weight of 1, unless they have weights. */
static nb_status make_weights(const struct run *run, struct fit_image *out,
                              char why[FIT_WHY])
{
    const nb_description *d = &run->command.description;
    const size_t n = (size_t)d->nfast * (size_t)d->nslow;
    if (out->weight) return NB_OK;
    out->weight = malloc(n * sizeof *out->weight);
    if (!out->weight) return no_memory("the mask of an image", why);
    for (size_t i = 0; i < n; i++) out->weight[i] = 1;
    out->weights = nb_array_f32(out->weight, d->nslow, d->nfast);
    return NB_OK;
}

/* the weight of a pixel outside the limits of its panel, until count() has counted it */
static const float untrusted = -1;

/* Converts the pixels of a panel. Leaves out pixels outside its limits and, if `is_alone`
 * is 0, full pixels: another panel is full at other photons. */
static nb_status convert_panel(const struct run *run, const nb_measured *image,
                               const struct counting *c, int is_alone,
                               struct fit_image *out, char why[FIT_WHY])
{
    const uint8_t *const own = out->own.scene.detector.mask; /* untrusted rectangles */
    const double high =
        !is_alone && c->overload <= c->high ? nextafter(c->overload, -INFINITY) : c->high;
    for (int slow = c->area[2]; slow < c->area[3]; slow++)
        for (int fast = c->area[0]; fast < c->area[1]; fast++) {
            const size_t at = (size_t)slow * (size_t)image->nfast + (size_t)fast;
            const double count = image->pixels[at];
            const int is_bad = (image->mask && !image->mask[at]) || (own && !own[at]);
            out->photons[at] = (float)photons_of(c, count);
            if (!is_bad && !(count < c->low || count > high)) continue;
            const nb_status status = make_weights(run, out, why);
            if (status != NB_OK) return status;
            out->weight[at] = is_bad ? 0 : untrusted;
        }
    return NB_OK;
}

/* Converts counts to photons, panel by panel. */
static nb_status convert(const struct run *run, const char *path, const nb_measured *image,
                         struct fit_image *out, char why[FIT_WHY])
{
    const nb_detector *const d = &out->scene.detector;
    const nb_panel_counts *const counts = stated_counts(run, out);
    const struct counting first = counting_of(run, image, counts, 0, d);
    int is_alone = 1;
    nb_status status = NB_OK;
    for (int i = 1; i < d->npanel; i++) {
        const struct counting c = counting_of(run, image, counts, i, d);
        is_alone &= c.pedestal == first.pedestal && c.gain == first.gain;
    }
    for (int i = 0; i < (d->npanel > 0 ? d->npanel : 1) && status == NB_OK; i++) {
        const struct counting c = counting_of(run, image, counts, i, d);
        if (!(c.overload > c.pedestal)) {
            (void)snprintf(why, FIT_WHY,
                           "%s: the saturation of %g counts is not above the pedestal of "
                           "%g counts; correct -saturation or -pedestal",
                           path, c.overload, c.pedestal);
            return NB_ERR_FORMAT;
        }
        status = convert_panel(run, image, &c, is_alone, out, why);
    }
    if (is_alone && isfinite(first.overload))
        out->saturation = (double)(float)photons_of(&first, first.overload);
    return status;
}

/* Reads an image with a header into photons, and gives weight 0 to its bad pixels. */
static nb_status read_counts(const struct run *run, nb_context *ctx,
                             const struct fit_source *source, struct fit_image *out,
                             char why[FIT_WHY])
{
    nb_description own;
    nb_measured *image;
    nb_status status = read_measured(run, ctx, &source->steady, &image, why);
    if (status != NB_OK) return status;
    status = convert(run, source->file, image, out, why);
    if (status == NB_OK) {
        out->is_counts = 1;
        if (nb_simulator_describe(out->sim, source->values, &own) == NB_OK)
            find_mismatch(image, out, &own, out->mismatch);
    }
    nb_measured_free(image);
    return status;
}

/* Reads raw floats of 4 or 8 bytes as floats of 4 bytes. */
static nb_status read_raw(const struct run *run, nb_context *ctx,
                          const struct steady_file *file, float *pixels, char why[FIT_WHY])
{
    const char *const path = steady_file_path(file);
    const nb_description *d = &run->command.description;
    const size_t n = (size_t)d->nfast * (size_t)d->nslow;
    nb_array single = nb_array_f32(pixels, d->nslow, d->nfast);
    if (nb_raw_read(ctx, path, &single) == NB_OK) return NB_OK;
    (void)failed(ctx, file, NB_ERR_FORMAT, why);
    double *wide = malloc(n * sizeof *wide);
    if (!wide) return no_memory(file->name, why);
    nb_array both = nb_array_f64(wide, d->nslow, d->nfast);
    const nb_status status = nb_raw_read(ctx, path, &both);
    for (size_t i = 0; status == NB_OK && i < n; i++) pixels[i] = (float)wide[i];
    free(wide);
    return status;
}

static nb_status read_photons(const struct run *run, nb_context *ctx,
                              const struct fit_source *source, struct fit_image *out,
                              char why[FIT_WHY])
{
    if (nb_image_kind(steady_file_path(&source->steady)))
        return read_counts(run, ctx, source, out, why);
    out->saturation = run->command.s->fit.saturation;
    return read_raw(run, ctx, &source->steady, out->photons, why);
}

/* Gives weight 0 to pixels that are 0 or NaN in the mask. */
static nb_status read_mask(const struct run *run, nb_context *ctx,
                           const struct steady_file *mask, struct fit_image *out,
                           char why[FIT_WHY])
{
    const nb_description *d = &run->command.description;
    const size_t n = (size_t)d->nfast * (size_t)d->nslow;
    if (!mask->name) return NB_OK;
    nb_measured *image = NULL;
    float *const raw = malloc(n * sizeof *raw);
    nb_status status = raw ? make_weights(run, out, why) : no_memory(mask->name, why);
    if (status == NB_OK)
        status = nb_image_kind(steady_file_path(mask))
                     ? read_measured(run, ctx, mask, &image, why)
                     : read_raw(run, ctx, mask, raw, why);
    for (size_t i = 0; status == NB_OK && i < n; i++) {
        const double value = image ? image->pixels[i] : (double)raw[i];
        if (value == 0 || isnan(value) || (image && image->mask && !image->mask[i]))
            out->weight[i] = 0;
    }
    nb_measured_free(image);
    free(raw);
    return status;
}

/* ---- checks ---- */

/* Returns the smallest number of photons that a pixel of the data can have. Smaller values
 * come from gaps between modules or a wrong pedestal. Read-out noise makes values negative,
 * but hardly by six standard deviations. */
static double least_photons(const struct run *run)
{
    if (run->command.s->fit.loss == NB_LOSS_POISSON) return 0;
    return run->command.s->fit.loss == NB_LOSS_READOUT && run->command.s->fit.readout > 0
               ? -6 * run->command.s->fit.readout
               : -INFINITY;
}

/* Returns a byte for each pixel, which is 1 if the pixel is rendered. The caller frees the
 * bytes; NULL: no memory. */
static uint8_t *rendered_pixels(const struct run *run, const struct fit_image *image)
{
    const nb_description *d = &run->command.description;
    const nb_detector *detector = &image->scene.detector;
    const size_t n = (size_t)d->nfast * (size_t)d->nslow, nbox = detector->nbox;
    const int *const roi = detector->roi;
    uint8_t *marks = calloc(n, 1);
    for (size_t i = 0; marks && i < (nbox > 0 ? nbox : 1); i++) {
        const int *const box = nbox > 0 ? detector->box + 4 * i : roi;
        for (int slow = box[2]; slow < box[3]; slow++)
            for (int fast = box[0]; fast < box[1]; fast++) {
                const size_t at = (size_t)slow * (size_t)d->nfast + (size_t)fast;
                marks[at] = fast >= roi[0] && fast < roi[1] && slow >= roi[2]
                            && slow < roi[3] && (!detector->mask || detector->mask[at]);
            }
    }
    return marks;
}

/* Gives weight 0 to pixels below least_photons(), and counts in out->negative those that
 * are rendered. */
static nb_status leave_out_negative(const struct run *run, const uint8_t *rendered,
                                    struct fit_image *out, char why[FIT_WHY])
{
    const nb_description *d = &run->command.description;
    const size_t n = (size_t)d->nfast * (size_t)d->nslow;
    const double least = least_photons(run);
    for (size_t i = 0; i < n; i++) {
        if (!(out->photons[i] < least) || (out->weight && !(out->weight[i] > 0))) continue;
        const nb_status status = make_weights(run, out, why);
        if (status != NB_OK) return status;
        out->weight[i] = 0;
        out->negative += rendered[i];
    }
    return NB_OK;
}

/* Counts the rendered pixels with weight, and refuses one that is NaN or infinite. */
static nb_status count(const struct run *run, const char *path, const uint8_t *rendered,
                       struct fit_image *out, char why[FIT_WHY])
{
    const nb_description *d = &run->command.description;
    const size_t n = (size_t)d->nfast * (size_t)d->nslow;
    for (size_t i = 0; i < n; i++) {
        if (out->weight && out->weight[i] == untrusted) {
            out->weight[i] = 0;
            out->untrusted += rendered[i];
        }
        if ((out->weight && out->weight[i] == 0) || !rendered[i]) continue;
        if (!isfinite(out->photons[i])) {
            (void)snprintf(why, FIT_WHY,
                           "%s: pixel fast %d slow %d is %g, expected a number of photons; "
                           "mask the pixel by -data_mask",
                           path, (int)(i % (size_t)d->nfast), (int)(i / (size_t)d->nfast),
                           (double)out->photons[i]);
            return NB_ERR_FORMAT;
        }
        const int is_full = out->saturation > 0 && out->photons[i] >= out->saturation;
        out->saturated += is_full;
        out->counted += !is_full;
    }
    if (out->counted > 0) return NB_OK;
    (void)snprintf(why, FIT_WHY, "%s: %s", path,
                   out->saturated > 0
                       ? "every pixel that is not masked is saturated; check -saturation"
                   : out->negative > 0
                       ? "every pixel that is not masked is below 0 photons; "
                         "check -pedestal"
                   : out->untrusted > 0
                       ? "every pixel that is not masked is outside the trusted_range; "
                         "check the .expt, or give -saturation"
                       : "every pixel is masked");
    return NB_ERR_FORMAT;
}

/* Leaves out pixels below least_photons(), and counts the remaining ones. */
static nb_status count_pixels(const struct run *run, const char *path,
                              struct fit_image *out, char why[FIT_WHY])
{
    uint8_t *const rendered = rendered_pixels(run, out);
    if (!rendered) {
        (void)snprintf(why, FIT_WHY, "out of memory for %s", path);
        return NB_ERR_MEMORY;
    }
    nb_status status = leave_out_negative(run, rendered, out, why);
    if (status == NB_OK) status = count(run, path, rendered, out, why);
    free(rendered);
    return status;
}

/* Sets masked pixels that are NaN or infinite to 0, because 0 times such a number is
 * NaN. */
static void blank_masked(const struct run *run, struct fit_image *out)
{
    const nb_description *d = &run->command.description;
    const size_t n = (size_t)d->nfast * (size_t)d->nslow;
    for (size_t i = 0; i < n; i++)
        if (!isfinite(out->photons[i])) out->photons[i] = 0;
}

/* ---- scenes ---- */

static nb_status resolve(const struct run *run, nb_context *ctx, const nb_scene *base,
                         const struct fit_source *source, struct fit_image *out)
{
    const nb_status status =
        nb_simulator_create(ctx, base, source->names, &run->command.s->how, &out->sim);
    return status == NB_OK ? nb_simulator_resolved(out->sim, source->values, &out->scene)
                           : status;
}

/* Makes the scene of an image, with the crystal and beam of an experiment of -expt for its
 * phi. */
static nb_status resolve_at(const struct run *run, nb_context *ctx,
                            const nb_experiment *from, nb_scene *base,
                            const struct fit_source *source, struct fit_image *out,
                            char why[FIT_WHY])
{
    nb_status status = resolve(run, ctx, base, source, out);
    if (status != NB_OK) return status;
    if (!experiment_set(&run->command, from, out->scene.scan.phi0, base)) return NB_OK;
    nb_lattice *const list = lattices_at(&run->command, from, out->scene.scan.phi0, base);
    nb_simulator_free(out->sim);
    out->sim = NULL;
    if (!list) return no_memory("the lattices of an image", why);
    status = resolve(run, ctx, base, source, out);
    free(list);
    return status;
}

/* Makes the scene of an image, with boxes and experiment of its own if it has them. */
static nb_status make_scene(const struct run *run, nb_context *ctx,
                            const struct fit_source *source, struct fit_image *out,
                            char why[FIT_WHY])
{
    const struct inputs *const in = &run->command.inputs;
    const struct expt_entry *const entry = experiment_entry(in, source->experiment);
    nb_scene base = run->command.resolved;
    const nb_experiment *from = &in->experiment;
    nb_status status = NB_OK;
    *why = '\0';
    if (source->boxes.box && source->boxes.n == 0) {
        (void)snprintf(why, FIT_WHY,
                       "%s: no reflection of %s is indexed on this image, which is "
                       "experiment %d",
                       source->file ? source->file : "the scene", entry->refl,
                       source->experiment - entry->first);
        return NB_ERR_FORMAT;
    }
    if (source->boxes.box) {
        base.detector.box = source->boxes.box;
        base.detector.nbox = source->boxes.n;
    }
    if (source->experiment != in->expt_number) {
        status = nb_expt_get(ctx, in->expt, source->experiment, !run->command.s->nolattices,
                             &out->own);
        from = &out->own;
    }
    if (status == NB_OK && source->has_detector)
        fit_detector_take(&out->own, &base.detector);
    if (status == NB_OK) status = resolve_at(run, ctx, from, &base, source, out, why);
    return status == NB_OK || *why ? status : failed(ctx, &source->steady, status, why);
}

nb_status fit_image_read(const struct run *run, nb_context *ctx,
                         const struct fit_source *source, const struct steady_file *mask,
                         struct fit_image *out, char why[FIT_WHY])
{
    const nb_description *d = &run->command.description;
    nb_status status;
    memset(out, 0, sizeof *out);
    status = make_scene(run, ctx, source, out, why);
    if (status != NB_OK || !source->file) return status;
    out->photons = calloc((size_t)d->nfast * (size_t)d->nslow, sizeof *out->photons);
    if (!out->photons) return no_memory(source->file, why);
    out->observed = nb_array_f32(out->photons, d->nslow, d->nfast);
    status = read_photons(run, ctx, source, out, why);
    if (status == NB_OK) status = read_mask(run, ctx, mask, out, why);
    if (status == NB_OK) status = count_pixels(run, source->file, out, why);
    if (status == NB_OK) blank_masked(run, out);
    nb_experiment_clear(&out->own);
    return status;
}

void fit_image_free(struct fit_image *image)
{
    nb_simulator_free(image->sim);
    free(image->photons);
    free(image->weight);
    nb_experiment_clear(&image->own);
    memset(image, 0, sizeof *image);
}

struct fit_image *fit_image_of(const nb_shot *loaded)
{
    /* the image contains the scene as a member */
    return (struct fit_image *)((char *)(uintptr_t)loaded->scene
                                - offsetof(struct fit_image, scene));
}
