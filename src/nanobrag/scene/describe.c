/*
 * describe.c - fills nb_description: numbers derived from a scene, in every convention.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include <nanobrag/description.h>

#include "base/context.h"
#include "scene/background.h"
#include "scene/beam.h"
#include "scene/continuous/continuous.h"
#include "scene/crystal.h"
#include "scene/detector/detector.h"
#include "scene/detector/layers.h"
#include "scene/linear.h"
#include "scene/sampling.h"
#include "scene/scene.h"

/* Computes the reciprocal angles from their sines and cosines, clipped to -1 ... 1 as
 * nanoBragg does before it prints the angles. */
static void star_angles(nb_description *out)
{
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        const double product = out->cell_star[j] * out->cell_star[k];
        double sine, cosine;

        out->star_sines[i] = out->cell[i] / out->volume / product;
        out->star_cosines[i] = linear_dot(out->star_axes[j], out->star_axes[k]) / product;
        sine = fmin(fmax(out->star_sines[i], -1), 1);
        cosine = fmin(fmax(out->star_cosines[i], -1), 1);
        out->cell_star[3 + i] = linear_degree(atan2(sine, cosine));
    }
}

static void describe_crystal(const nb_scene *scene, const struct crystal_axes *axes,
                             nb_description *out)
{
    memcpy(out->real_axes, axes->real, sizeof out->real_axes);
    memcpy(out->star_axes, axes->star, sizeof out->star_axes);
    crystal_cell_of(axes->real, out->cell);
    for (int i = 0; i < 3; i++) out->cell_star[i] = linear_norm(axes->star[i]);
    out->volume = axes->volume;
    star_angles(out);
    linear_copy(scene->crystal.misset, out->misset);
    linear_copy(scene->crystal.ncells, out->ncells);
    out->spot_sum = scene->crystal.normalise ? 1 : crystal_spot_sum(scene, axes);
    out->sample_max = crystal_largest_edge(scene, axes);
}

static void describe_centres(nb_description *out)
{
    const double pixel = out->pixel, fast = out->beam_fast, slow = out->beam_slow;

    detector_beam_centre(NB_CONVENTION_ADXV, out->size, pixel, fast, slow, out->adxv);
    detector_beam_centre(NB_CONVENTION_MOSFLM, out->size, pixel, fast, slow, out->mosflm);
    detector_beam_centre(NB_CONVENTION_DENZO, out->size, pixel, fast, slow, out->denzo);
    out->xds_org[0] = out->close_fast / pixel + 0.5;
    out->xds_org[1] = out->close_slow / pixel + 0.5;
}

/* Computes the origin of the detector in the frame of dxtbx, mm. The origin of a single
 * rectangle is turned about the beam until the fast axis points along +x, as readers of SMV
 * and miniCBF expect. */
static void describe_dials(const nb_scene *scene, const struct detector_place *place,
                           nb_description *out)
{
    static const double z[3] = {0, 0, 1};
    double turn[3][3], fast[3];

    beam_turn_to_dxtbx(scene, turn);
    linear_scale(1000, place->pix0, out->dials_origin);
    linear_apply((const double(*)[3])turn, out->dials_origin, out->dials_origin);
    linear_apply((const double(*)[3])turn, place->fast, fast);
    if (scene->detector.npanel == 0)
        linear_rotate(z, -atan2(fast[1], fast[0]), out->dials_origin, out->dials_origin);
}

static void describe_detector(const nb_scene *scene, const struct detector_place *place,
                              nb_description *out)
{
    const nb_detector *d = &scene->detector;

    out->nslow = d->nslow;
    out->nfast = d->nfast;
    out->convention = d->convention;
    out->pivot = place->pivot;
    out->npanel = d->npanel;
    if (d->npanel > 0) {
        const nb_panel *panel = d->panel + out->panel;

        out->pixel = panels_pixel(d, out->panel);
        out->size[0] = panel->nfast * out->pixel;
        out->size[1] = panel->nslow * out->pixel;
    } else {
        out->pixel = d->pixel;
        out->size[0] = d->size[0];
        out->size[1] = d->size[1];
    }
    linear_copy(place->fast, out->fast);
    linear_copy(place->slow, out->slow);
    linear_copy(place->normal, out->normal);
    linear_copy(place->twotheta_axis, out->twotheta_axis);
    linear_scale(1000, place->pix0, out->origin);
    out->distance = 1000 * place->distance;
    out->close_distance = 1000 * place->close;
    out->beam_fast = 1000 * place->beam_fast;
    out->beam_slow = 1000 * place->beam_slow;
    out->close_fast = 1000 * place->close_fast;
    out->close_slow = 1000 * place->close_slow;
    out->xbeam = 1000 * place->xbeam;
    out->ybeam = 1000 * place->ybeam;
    describe_centres(out);
    describe_dials(scene, place, out);
    out->thickness = d->thickness;
    out->mu = d->attenuation == 0     ? -1
              : isinf(d->attenuation) ? 0
                                      : 1e6 / layers_attenuation(scene);
}

static void describe_beam(const nb_scene *scene, const struct detector_place *place,
                          const struct scene_fixed *fixed, nb_description *out)
{
    const nb_beam *b = &scene->beam;

    linear_copy(place->beam, out->beam);
    linear_unit(b->polarization_axis, out->polarization_axis);
    linear_cross(out->beam, out->polarization_axis, out->vertical);
    linear_unit(out->vertical, out->vertical);
    linear_unit(scene->scan.axis, out->spindle);
    out->fluence = b->fluence;
    out->dispersion = b->dispersion;
    out->dispersion_step = sampling_step(&fixed->dispersion, b->dispersion);
    for (int i = 0; i < 2; i++) {
        out->divergence[i] = b->divergence[i] / 1000;
        out->divergence_step[i] =
            sampling_step(&fixed->divergence[i], b->divergence[i]) / 1000;
    }
}

static void describe_counts(const nb_scene *scene, const struct scene_fixed *fixed,
                            nb_description *out)
{
    out->nsource = fixed->nsource;
    out->ngrid = fixed->ngrid;
    out->ndispersion = scene->beam.ndispersion;
    out->nphi = scene->scan.nphi;
    out->ndomains = scene->crystal.ndomains;
    out->mosaic_model = scene->crystal.mosaic_model;
    out->integrated = continuous_integrates(scene);
    out->nlayers = scene->detector.nlayers;
    out->oversample = scene->oversample;
    out->oversample_wanted = fixed->oversample_wanted;
    out->interpolate = fixed->interpolate;
    out->interpolate_auto = fixed->interpolate_auto;
    out->phi_step = sampling_step(&fixed->phi, scene->scan.osc);
    out->layer_step = sampling_step(&fixed->layer, scene->detector.thickness);
    out->layer_depth = layers_derive(scene, fixed).offset * 1e6;
}

nb_status scene_describe(nb_context *ctx, const nb_scene *scene,
                         const struct scene_fixed *fixed, nb_description *out)
{
    struct crystal_axes axes;
    struct detector_scale scale;
    struct detector_place place;

    memset(out, 0, sizeof *out);
    NB_TRY(crystal_derive(ctx, scene, &axes));
    NB_TRY(detector_scale_of(ctx, scene, fixed->middle, beam_shortest(scene), &scale));
    NB_TRY(detector_derive(ctx, scene, fixed->middle, scale.panel, &place));
    describe_crystal(scene, &axes, out);
    out->panel = scale.panel;
    describe_detector(scene, &place, out);
    describe_beam(scene, &place, fixed, out);
    describe_counts(scene, fixed, out);
    out->pixel_reciprocal = scale.reciprocal_pixel;
    out->qmax = scale.qmax;
    if (scene->quirks & NB_QUIRK_WATER)
        out->background_intensity = background_quirk_intensity(scene);
    return NB_OK;
}
