/*
 * layers.c - decides number and depths of the layers of a sensor.
 *
 * A ray at the angle t to the normal is captured at depths z with the density exp(-z/(A cos
 * t)), where A is the attenuation depth. Its spot is displaced from the place where the ray
 * enters, by tan(t) times the mean depth. So a layer places spots exactly at only one
 * angle, whose cosine is layer_cosine. At all other angles thinner layers have a smaller
 * error.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/detector/layers.h"

#include <math.h>

#include "base/context.h"
#include "base/log.h"
#include "scene/beam.h"
#include "scene/detector/attenuation.h"
#include "scene/sampling.h"

enum { LAYERS_MOST = 100, ANGLES = 32 };

/* Largest error allowed in the place of a spot, at any angle of the detector, in pixels. */
static const double most_off = 0.02;

/* Largest spread allowed for a spot by the depths within one layer, in pixels. The value is
 * the standard deviation of a pixel, a square of edge 1, so that the copies of a sharp spot
 * from neighbouring layers leave no gap. */
static const double most_spread = 0.28867513459481287;

/* ---- one layer ---- */

double layers_mean(double step, double depth, double slope[2])
{
    /* g(u) = 1/u - 1/(exp(u) - 1). Up to u = 1/2, where the two terms nearly cancel, a
     * series with Bernoulli's numbers is used; the first omitted term is 2e-17 of g at u =
     * 1/2. */
    static const double series[] = {-1.0 / 12,         1.0 / 720,
                                    -1.0 / 30240,      1.0 / 1209600,
                                    -1.0 / 47900160,   691.0 / 1307674368000,
                                    -1.0 / 74724249600};
    const double u = step / depth;
    double g = 0.5, dg = 0, power = 1;

    if (u > 0.5) {
        const double rest = 1 / expm1(u);

        g = 1 / u - rest;
        dg = rest * (1 + rest) - 1 / (u * u);
    } else
        for (int i = 0; i < (int)(sizeof series / sizeof *series); i++) {
            dg += (2 * i + 1) * series[i] * power;
            g += series[i] * power * u;
            power *= u * u;
        }
    slope[0] = g + u * dg;
    slope[1] = -u * u * dg;
    return step * g;
}

/* Returns the standard deviation of the depths at which one layer captures photons. */
static double deviation(double step, double depth)
{
    const double u = step / depth, s = sinh(u / 2);

    if (u < 1e-2) return step / sqrt(12); /* relative error 1e-6 */
    return depth * sqrt(1 - u * u / (4 * s * s));
}

/* ---- the rule ---- */

/* Returns the largest error in the place of a spot over all angles of a detector, with
 * layers of thickness `step`. *spread becomes the largest spread that the depths within
 * such a layer give a spot. Both are lengths along the detector, in the unit of `depth`. */
static double worst_angle(double step, double depth, double cosine, double steepest,
                          double *spread)
{
    double off = 0, slope[2];
    const double at = layers_mean(step, depth * cosine, slope);

    *spread = 0;
    for (int i = 1; i <= ANGLES; i++) {
        const double tangent = steepest * i / ANGLES;
        const double along = depth / sqrt(1 + tangent * tangent);

        off = fmax(off, tangent * fabs(layers_mean(step, along, slope) - at));
        *spread = fmax(*spread, tangent * deviation(step, along));
    }
    return off;
}

/* Returns the number of layers that the detector needs, and sets the cosine at which they
 * are exact. Let x = 1/cos(t) - 1, from 0 to x_most on the detector. The error of a spot's
 * place is proportional to (x - x_exact) tan(t). Its largest value is least for x_exact =
 * 3/4 x_most. */
static int count_by_rule(nb_context *ctx, const nb_detector *d, double depth,
                         const struct detector_scale *scale, double *cosine)
{
    const double steepest = d->curved ? 0 : scale->steepest;
    const double pixel = scale->finest * 1e6; /* um */
    double off = 0, spread = 0;

    *cosine = 1 / (1 + 0.75 * (sqrt(1 + steepest * steepest) - 1));
    for (int n = 1; n <= LAYERS_MOST; n++) {
        off = worst_angle(d->thickness / n, depth, *cosine, steepest, &spread);
        if (off <= most_off * pixel && spread <= most_spread * pixel) return n;
    }
    log_line(ctx, NB_LOG_WARNING, "detector",
             "the sensor would need more than %d layers: at the largest angle, spots lie "
             "up to %.2g pixel from their place and lack %.2g pixel of their width "
             "(-detector_thicksteps)",
             LAYERS_MOST, off / pixel, spread / pixel);
    return LAYERS_MOST;
}

/* ---- the scene ---- */

/* Returns the attenuation depth at `wavelength`, over the attenuation depth at the
 * wavelength for which it is given; 0 if either is not known. */
static double factor_from(const nb_detector *d, double wavelength)
{
    const double there = attenuation_at(d->material, d->attenuation_wavelength);
    const double here = attenuation_at(d->material, wavelength);

    return there > 0 && here > 0 ? there / here : 0;
}

/* Converts the attenuation depth to the wavelength of the scene. */
static void resolve_attenuation(nb_context *ctx, nb_scene *scene)
{
    nb_detector *d = &scene->detector;
    const double wavelength = beam_wavelength(scene), stated = d->attenuation_wavelength;
    const double factor = factor_from(d, wavelength);

    if (stated != 0 && stated != wavelength && factor > 0) {
        log_line(ctx, NB_LOG_NOTE, "detector",
                 "the attenuation depth of %s is %.4g um at %.6g A, so the run takes %.4g "
                 "um at %.6g A (-detector_abs)",
                 attenuation_name(d->material), d->attenuation, stated,
                 d->attenuation * factor, wavelength);
        d->attenuation *= factor;
    } else if (stated != 0 && stated != wavelength)
        log_line(ctx, NB_LOG_WARNING, "detector",
                 "the attenuation depth of the sensor is kept at %.4g um, the value at "
                 "%.6g A and not at %.6g A: %s; give -detector_abs",
                 d->attenuation, stated, wavelength,
                 d->material == NB_MATERIAL_UNKNOWN
                     ? "the material is not Si, CdTe or GaAs"
                     : "the table of the material covers 1 to 100 keV");
    d->attenuation_wavelength =
        attenuation_at(d->material, wavelength) > 0 ? wavelength : 0;
}

/* Decides the layers as nanoBragg does. Returns the thickness of a layer over the thickness
 * of the sensor. */
static double resolve_quirk(nb_context *ctx, nb_detector *d)
{
    const int by_rule = d->nlayers == 0;

    d->layer_cosine = d->attenuation_wavelength = 0;
    if (d->attenuation == 0) {
        d->attenuation = d->thickness;
        log_line(ctx, NB_LOG_WARNING, "detector",
                 "setting detector attenuation depth to %g um", d->attenuation);
    }
    if (d->nlayers < 2) d->nlayers = 2;
    return by_rule ? 0.5 : 1.0 / (d->nlayers - 1);
}

nb_status layers_resolve(nb_context *ctx, nb_scene *scene,
                         const struct detector_scale *scale, struct scene_steps *steps)
{
    nb_detector *d = &scene->detector;

    steps->ratio = steps->absolute = 0;
    if (d->thickness == 0 || isinf(d->attenuation)) {
        d->thickness = 0; /* nothing is absorbed: there is no sensor model */
        d->nlayers = 1;
        d->layer_cosine = 0;
        return NB_OK;
    }
    if (scene->quirks & NB_QUIRK_LAYER_STEP) {
        steps->ratio = resolve_quirk(ctx, d);
        return NB_OK;
    }
    if (d->attenuation == 0)
        return fail(ctx, NB_ERR_SCENE,
                    "a sensor of %g um needs an attenuation depth; give -detector_abs",
                    d->thickness);
    resolve_attenuation(ctx, scene);
    if (d->nlayers == 0)
        d->nlayers = count_by_rule(ctx, d, d->attenuation, scale, &d->layer_cosine);
    steps->ratio = 1.0 / d->nlayers;
    return NB_OK;
}

double layers_attenuation(const nb_scene *scene)
{
    const nb_detector *d = &scene->detector;
    double factor = 0;

    if (d->attenuation_wavelength > 0) factor = factor_from(d, beam_wavelength(scene));
    return factor > 0 ? d->attenuation * factor : d->attenuation;
}

struct layers layers_derive(const nb_scene *scene, const struct scene_fixed *fixed)
{
    const nb_detector *d = &scene->detector;
    const double depth = layers_attenuation(scene) * 1e-6;
    struct layers out = {sampling_step(&fixed->layer, d->thickness) * 1e-6, 0, 0};
    double slope[2];

    if (!(out.step > 0)) return out;
    out.mu = out.step / depth;
    /* nanoBragg puts a layer at the depth of its front */
    if (scene->quirks & NB_QUIRK_LAYER_STEP) return out;
    out.offset = d->layer_cosine > 0 ? layers_mean(out.step, depth * d->layer_cosine, slope)
                                     : out.step / 2;
    return out;
}
