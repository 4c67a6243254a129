/*
 * scale.c - computes struct detector_scale, the sizes of a detector in reciprocal space.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "base/context.h"
#include "scene/detector/detector.h"
#include "scene/linear.h"

/* Returns one over the size of a pixel in reciprocal space, A. */
static double reciprocal_pixel(const nb_scene *scene, const struct detector_place *place)
{
    double farthest = 0, p[3];

    for (int i = 0; i < 4; i++) {
        detector_corner(place, i, p);
        farthest = fmax(farthest, linear_norm(p));
    }
    return scene->beam.wavelength * fmin(fabs(place->distance), farthest) / place->pixel;
}

/* Returns the largest |q| of a corner at the shortest wavelength, 1/A. */
static double largest_q(const struct detector_place *place, double shortest)
{
    double largest = 0, p[3];

    for (int i = 0; i < 4; i++) {
        detector_corner(place, i, p);
        linear_unit(p, p);
        linear_add(-1, place->beam, p);
        largest = fmax(largest, linear_norm(p) / shortest);
    }
    return largest;
}

/* Returns the largest tangent of the angle between the ray to a corner and the normal. */
static double steepest(const struct detector_place *place)
{
    double largest = 0, p[3], across[3];

    for (int i = 0; i < 4; i++) {
        detector_corner(place, i, p);
        linear_cross(p, place->normal, across);
        largest = fmax(largest, linear_norm(across) / fabs(linear_dot(p, place->normal)));
    }
    return largest;
}

/* Returns the distance in the detector's plane from the direct beam to a rectangle, m: 0 if
 * the beam meets it, infinite if the plane lies upstream. */
static double beam_misses(const struct detector_place *place)
{
    const double fast = place->nfast * place->pixel, slow = place->nslow * place->pixel;
    const double f = fmax(fmax(-place->beam_fast, place->beam_fast - fast), 0);
    const double s = fmax(fmax(-place->beam_slow, place->beam_slow - slow), 0);

    return place->distance > 0 ? hypot(f, s) : INFINITY;
}

nb_status detector_scale_of(nb_context *ctx, const nb_scene *scene,
                            const struct panel_middle *middle, double shortest,
                            struct detector_scale *out)
{
    double nearest = INFINITY;

    *out = (struct detector_scale){.reciprocal_pixel = INFINITY,
                                   .finest = INFINITY,
                                   .downstream = -INFINITY};
    for (int i = 0; i < detector_panels(&scene->detector); i++) {
        struct detector_place place;

        NB_TRY(detector_derive(ctx, scene, middle, i, &place));
        out->reciprocal_pixel =
            fmin(out->reciprocal_pixel, reciprocal_pixel(scene, &place));
        out->qmax = fmax(out->qmax, largest_q(&place, shortest));
        for (int k = 0; k < 4; k++) {
            double corner[3];

            detector_corner(&place, k, corner);
            out->downstream = fmax(out->downstream, linear_dot(corner, place.beam));
        }
        out->steepest = fmax(out->steepest, steepest(&place));
        out->finest = fmin(out->finest, place.pixel);
        if (beam_misses(&place) < nearest) {
            nearest = beam_misses(&place);
            out->panel = i;
        }
    }
    return NB_OK;
}
