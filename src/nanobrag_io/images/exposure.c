/*
 * exposure.c - describes the experiment behind an image. SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/images/exposure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "base/context.h"
#include "base/log.h"
#include "scene/detector/attenuation.h"
#include "scene/linear.h"

/* largest cosine between the pixel axes of a flat detector; dxtbx refuses more than 1e-7 */
static const double skew_most = 1e-8;

static int by_wavelength(const void *a, const void *b)
{
    const nb_source *const x = a, *const y = b;

    return (x->wavelength > y->wavelength) - (x->wavelength < y->wavelength);
}

/* Makes a spectrum of n sources. Sources of equal wavelength become one line. */
static nb_status spectrum_of(nb_context *ctx, const nb_source *source, size_t n,
                             struct spectrum *out)
{
    nb_source *const sorted = malloc(n * sizeof *sorted);
    double sum = 0;

    out->wavelength = calloc(n, sizeof *out->wavelength);
    out->weight = calloc(n, sizeof *out->weight);
    if (!sorted || !out->wavelength || !out->weight) {
        free(sorted);
        return fail_memory(ctx, "the spectrum of the beam");
    }
    memcpy(sorted, source, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_wavelength);
    for (size_t i = 0; i < n; i++) {
        if (out->n == 0 || sorted[i].wavelength != out->wavelength[out->n - 1])
            out->wavelength[out->n++] = sorted[i].wavelength;
        out->weight[out->n - 1] += sorted[i].weight;
        sum += sorted[i].weight;
    }
    for (size_t i = 0; i < out->n && sum > 0; i++) out->weight[i] /= sum;
    free(sorted);
    return NB_OK;
}

static double mean_wavelength(const struct spectrum *spectrum)
{
    double sum = 0;

    for (size_t i = 0; i < spectrum->n; i++)
        sum += spectrum->wavelength[i] * spectrum->weight[i];
    return sum;
}

/* Sets the Stokes parameters. Q is the difference of the intensities polarized along x and
 * y, and U the difference along the two diagonals. */
static void set_stokes(const nb_scene *scene, struct exposure *out)
{
    const double k = scene->beam.unpolarised ? 0 : scene->beam.polarization;
    double field[3], length;

    laboratory_turn(&out->laboratory, scene->beam.polarization_axis, field);
    laboratory_nexus(field, field);
    length = field[0] * field[0] + field[1] * field[1];
    out->stokes[0] = 1;
    if (!(length > 0)) return;
    out->stokes[1] = k * (field[0] * field[0] - field[1] * field[1]) / length;
    out->stokes[2] = k * 2 * field[0] * field[1] / length;
}

static void set_beam(const nb_scene *scene, const nb_description *d, struct exposure *out)
{
    const nb_beam *beam = &scene->beam;

    out->seconds = beam->exposure > 0 ? beam->exposure : 1;
    out->fluence = d->fluence;
    out->beam_size = beam->size > 0 ? beam->size : 0.1;
    out->flux = beam->flux > 0
                    ? beam->flux
                    : d->fluence * out->beam_size * out->beam_size * 1e-6 / out->seconds;
    set_stokes(scene, out);
}

static nb_status set_panels(nb_context *ctx, const nb_scene *scene, struct exposure *out)
{
    const int n = out->laboratory.npanel;
    const size_t groups = (size_t)out->laboratory.ngroup;
    struct panel_middle *middle = calloc(groups + 1, sizeof *middle);
    nb_status status = NB_OK;

    out->panel = calloc((size_t)n, sizeof *out->panel);
    out->group = calloc(groups + 1, sizeof *out->group);
    if (!out->panel || !out->group || !middle)
        status = fail_memory(ctx, "the panels of the detector");
    if (status == NB_OK && groups > 0)
        status = panels_middles(ctx, &scene->detector, middle);
    for (int i = 0; i < n && status == NB_OK; i++)
        status = laboratory_panel(ctx, scene, &out->laboratory, middle, i, out->panel + i);
    for (size_t g = 0; g < groups && status == NB_OK; g++)
        laboratory_group(scene, &out->laboratory, middle, (int)g, out->group + g);
    free(middle);
    out->nslow = scene->detector.nslow;
    out->nfast = scene->detector.nfast;
    return status;
}

nb_status exposure_of(nb_context *ctx, const nb_scene *scene, const nb_description *d,
                      const nb_source *source, const struct window *window,
                      struct exposure *out)
{
    memset(out, 0, sizeof *out);
    NB_TRY(laboratory_of(ctx, scene, &out->laboratory));
    NB_TRY(set_panels(ctx, scene, out));
    NB_TRY(spectrum_of(ctx, source, (size_t)d->nsource, &out->spectrum));
    out->wavelength =
        scene->beam.nsource > 0 ? mean_wavelength(&out->spectrum) : scene->beam.wavelength;
    out->window = window;
    out->curved = scene->detector.curved;
    out->hit = d->panel;
    out->distance = d->distance;
    out->beam_fast = d->beam_fast;
    out->beam_slow = d->beam_slow;
    if (d->mu > 0 && d->thickness > 0) {
        out->thickness = d->thickness / 1000;
        out->attenuation = d->mu / 1000;
        out->material = scene->detector.material;
    }
    out->phi = scene->scan.phi0;
    out->width = scene->scan.osc;
    set_beam(scene, d, out);
    return NB_OK;
}

/* Converts a pose from the laboratory to the frame of group g; g = -1 leaves it. */
static struct panel_pose within_group(const struct exposure *exposure, int g,
                                      struct panel_pose pose)
{
    if (g >= 0) panels_within(&exposure->group[g].pose, &pose);
    return pose;
}

struct panel_pose exposure_panel_pose(const struct exposure *exposure, int i)
{
    const struct laboratory_panel *panel = exposure->panel + i;

    return within_group(exposure, panel->group - 1,
                        panels_pose(panel->origin, panel->fast, panel->slow));
}

struct panel_pose exposure_group_pose(const struct exposure *exposure, int g)
{
    return within_group(exposure, exposure->group[g].parent - 1, exposure->group[g].pose);
}

int exposure_sensor(const struct exposure *exposure, int last, double *thickness)
{
    static const double none = 1e-6; /* mm; dxtbx refuses a thickness of 0 */

    *thickness = exposure->thickness > 0 ? exposure->thickness : none;
    if (!(exposure->thickness > 0)) return NB_MATERIAL_SI;
    if (exposure->material != NB_MATERIAL_UNKNOWN && exposure->material <= last)
        return exposure->material;
    return attenuation_nearest(last, exposure->attenuation, exposure->wavelength);
}

void exposure_warn_of_sensor(nb_context *ctx, const char *path,
                             const struct exposure *exposure, int last)
{
    double thickness;
    const int material = exposure_sensor(exposure, last, &thickness);
    const double theirs = attenuation_at(material, exposure->wavelength);

    if (!(exposure->thickness > 0) || fabs(theirs / exposure->attenuation - 1) <= 0.01)
        return;
    log_line(ctx, NB_LOG_WARNING, "format",
             "%s: the sensor is written as %s, for which dxtbx assumes an absorption depth "
             "of %.4g um at this wavelength, but the image was computed with %.4g um; "
             "dxtbx will predict spots slightly off",
             path, attenuation_name(material), 1000 / theirs, 1000 / exposure->attenuation);
}

void exposure_warn_of_upstream(nb_context *ctx, const char *path,
                               const struct exposure *exposure)
{
    const struct laboratory_panel *panel = exposure->panel;
    double normal[3];

    linear_cross(panel->fast, panel->slow, normal);
    if (exposure->laboratory.npanel != 1 || !(panel->origin[2] > 0)
        || !(fabs(normal[2]) > 0.99))
        return;
    log_line(ctx, NB_LOG_WARNING, "format",
             "%s: the detector lies upstream of the crystal, but DIALS will read a "
             "detector downstream; -truth writes the true geometry",
             path);
}

void exposure_turn_forwards(struct exposure *exposure)
{
    double *const spindle = exposure->laboratory.spindle;

    if (!(exposure->width < 0)) return;
    linear_scale(-1, spindle, spindle);
    exposure->phi = -exposure->phi;
    exposure->width = -exposure->width;
}

void exposure_free(struct exposure *exposure)
{
    free(exposure->panel);
    free(exposure->group);
    free(exposure->spectrum.wavelength);
    free(exposure->spectrum.weight);
    free(exposure->scene);
    memset(exposure, 0, sizeof *exposure);
}

nb_status exposure_check_flat(nb_context *ctx, const struct exposure *exposure,
                              const char *format)
{
    if (exposure->curved)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "%s cannot state a curved detector; leave the curvature out, or write "
                    "the photons alone (-floatfile)",
                    format);
    for (int i = 0; i < exposure->laboratory.npanel; i++) {
        const struct laboratory_panel *panel = exposure->panel + i;
        const double skew = fabs(linear_dot(panel->fast, panel->slow));

        if (skew > skew_most)
            return fail(ctx, NB_ERR_UNSUPPORTED,
                        "%s cannot state axes of pixels that are %.6g degrees away from "
                        "right angles; change the vectors, or write the photons alone "
                        "(-floatfile)",
                        format, asin(fmin(skew, 1)) * 57.29577951308232);
    }
    return NB_OK;
}

/* the largest relative difference between frames that counts as rounding */
static const double rounding = 1e-9;

static int is_close(const double *a, const double *b, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= rounding * scale)) return 0;
    return 1;
}

static int has_same_panels(const struct exposure *a, const struct exposure *b)
{
    if (a->laboratory.npanel != b->laboratory.npanel) return 0;
    for (int i = 0; i < a->laboratory.npanel; i++) {
        const struct laboratory_panel *p = a->panel + i, *q = b->panel + i;

        if (!is_close(p->fast, q->fast, 3, 1) || !is_close(p->slow, q->slow, 3, 1)
            || !is_close(p->origin, q->origin, 3, linear_norm(p->origin))
            || p->pixel != q->pixel || p->nfast != q->nfast || p->nslow != q->nslow)
            return 0;
    }
    return 1;
}

/* Returns the sensor's attenuation divided by its material's tabulated attenuation at the
 * wavelength, because frames may differ in wavelength. For an unknown material, returns the
 * attenuation. */
static double relative_attenuation(const struct exposure *exposure)
{
    const double table = attenuation_at(exposure->material, exposure->wavelength);

    return table > 0 ? exposure->attenuation / table : exposure->attenuation;
}

static int has_same_sensor(const struct exposure *a, const struct exposure *b)
{
    const double first = relative_attenuation(a), second = relative_attenuation(b);

    return is_close(&a->thickness, &b->thickness, 1, a->thickness)
           && is_close(&first, &second, 1, first) && a->material == b->material;
}

const char *exposure_changed(const struct exposure *first, const struct exposure *now)
{
    if (!has_same_panels(first, now)) return "the detector has moved";
    if (!is_close(first->laboratory.spindle, now->laboratory.spindle, 3, 1))
        return "the direction of the spindle to the beam has changed";
    if (!has_same_sensor(first, now)) return "the sensor has changed";
    if (first->spectrum.n != now->spectrum.n)
        return "the number of wavelengths has changed";
    return NULL;
}
