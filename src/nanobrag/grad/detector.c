/*
 * detector.c - tangents of the detector's members of the frame. It follows the formulas of
 * scene/detector/detector.c one by one, and computes each tangent (_dot) beside its value.
 * Vectors are rotated in place, so a tangent is computed before its value is overwritten.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/detector/detector.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "grad/linear_tangent.h"
#include "grad/tangent.h"
#include "scene/beam.h"
#include "scene/detector/attenuation.h"
#include "scene/detector/layers.h"
#include "scene/sampling.h"

/* A point that gives the position of the unrotated detector, m, and its tangent
 * (scene/detector/detector.c). */
struct anchor {
    int kind; /* NB_PIVOT_BEAM, NB_PIVOT_SAMPLE; -1: pix0 is given */
    double fast, slow;
    double fast_dot, slow_dot;
};

static struct anchor make_anchor(const nb_detector *d, const nb_detector *dot)
{
    struct anchor s = {NB_PIVOT_SAMPLE, 0, 0, 0, 0};

    switch (d->origin_kind) { /* a resolved detector never has NB_ORIGIN_NEAR */
    case NB_ORIGIN_BEAM:
        s.kind = NB_PIVOT_BEAM;
        detector_beam_from_centre(d->convention, d, d->origin, &s.fast, &s.slow);
        detector_beam_from_centre(d->convention, dot, dot->origin, &s.fast_dot,
                                  &s.slow_dot);
        break;
    case NB_ORIGIN_CLOSE:
        s.fast = d->origin[0] / 1000;
        s.slow = d->origin[1] / 1000;
        s.fast_dot = dot->origin[0] / 1000;
        s.slow_dot = dot->origin[1] / 1000;
        break;
    default:
        s.kind = -1;
    }
    return s;
}

/* Computes the anchor of the other kind for the same unrotated detector, and its tangent.
 * `distance` is measured along the beam, m; `at` holds the unrotated vectors, `dot` their
 * tangents. */
static struct anchor other_anchor(const struct detector_place *at,
                                  const struct detector_place *dot, double distance,
                                  double distance_dot, struct anchor s)
{
    const double *f = at->fast, *o = at->normal, *b = at->beam, *l = at->slow;
    const double fs = linear_dot(f, l), bo = linear_dot(b, o);
    const double fs_dot = linear_dot_tangent(f, dot->fast, l, dot->slow);
    const double bo_dot = linear_dot_tangent(b, dot->beam, o, dot->normal);
    const double sign = s.kind == NB_PIVOT_BEAM ? -1 : 1, span = 1 - fs * fs;
    double v[3] = {0, 0, 0}, v_dot[3] = {0, 0, 0}, vf, vl, vf_dot, vl_dot;
    struct anchor t;

    linear_add(sign * s.fast, f, v);
    linear_add(sign * s.slow, l, v);
    linear_add(distance, b, v);
    linear_add_tangent(sign * s.fast, sign * s.fast_dot, f, dot->fast, v_dot);
    linear_add_tangent(sign * s.slow, sign * s.slow_dot, l, dot->slow, v_dot);
    linear_add_tangent(distance, distance_dot, b, dot->beam, v_dot);
    if (s.kind == NB_PIVOT_SAMPLE) {
        linear_add(-distance * bo, o, v);
        linear_add_tangent(-distance * bo, -distance_dot * bo - distance * bo_dot, o,
                           dot->normal, v_dot);
    }
    vf = linear_dot(v, f);
    vl = linear_dot(v, l);
    vf_dot = linear_dot_tangent(v, v_dot, f, dot->fast);
    vl_dot = linear_dot_tangent(v, v_dot, l, dot->slow);
    if (s.kind == NB_PIVOT_BEAM) { /* v = pix0 = -Fb f - Sb s + D b */
        t = (struct anchor){NB_PIVOT_SAMPLE, -vf, -vl, -vf_dot, -vl_dot};
        return t;
    }
    /* v = D b - pix0 in the plane = Fb f + Sb s */
    t.kind = NB_PIVOT_BEAM;
    t.fast = (vf - fs * vl) / span;
    t.slow = (vl - fs * vf) / span;
    t.fast_dot = (vf_dot - fs_dot * vl - fs * vl_dot + 2 * fs * fs_dot * t.fast) / span;
    t.slow_dot = (vl_dot - fs_dot * vf - fs * vf_dot + 2 * fs * fs_dot * t.slow) / span;
    return t;
}

static void unrotated_place(const nb_scene *scene, const nb_scene *dot,
                            struct detector_place *place, struct detector_place *place_dot)
{
    const double(*vectors)[3] = scene->detector.vectors;
    const double(*vectors_dot)[3] = dot->detector.vectors;

    linear_unit(scene->beam.direction, place->beam);
    linear_unit(vectors[0], place->fast);
    linear_unit(vectors[1], place->slow);
    linear_unit(vectors[2], place->normal);
    linear_unit(vectors[3], place->twotheta_axis);
    linear_unit_tangent(scene->beam.direction, dot->beam.direction, place_dot->beam);
    linear_unit_tangent(vectors[0], vectors_dot[0], place_dot->fast);
    linear_unit_tangent(vectors[1], vectors_dot[1], place_dot->slow);
    linear_unit_tangent(vectors[2], vectors_dot[2], place_dot->normal);
    linear_unit_tangent(vectors[3], vectors_dot[3], place_dot->twotheta_axis);
}

/* Returns the distance of the unrotated detector along the beam, m, and writes its
 * tangent. */
static double unrotated_distance(const nb_detector *d, const nb_detector *dot,
                                 const struct detector_place *place,
                                 const struct detector_place *place_dot,
                                 double *distance_dot)
{
    double r = linear_dot(place->beam, place->normal), distance;

    if (d->close_distance == 0) {
        *distance_dot = dot->distance / 1000;
        return d->distance / 1000;
    }
    if (r == 0) r = DBL_MIN;
    distance = d->close_distance / 1000 / r;
    *distance_dot = (dot->close_distance / 1000
                     - distance
                           * linear_dot_tangent(place->beam, place_dot->beam, place->normal,
                                                place_dot->normal))
                    / r;
    return distance;
}

/* Rotates v and its tangent with the detector: about the axes of the laboratory, then by
 * two theta about `axis`. */
static void rotate_with_detector(const nb_detector *d, const nb_detector *dot,
                                 const double axis[3], const double axis_dot[3], double *v,
                                 double *v_dot)
{
    const double angle = linear_radian(d->twotheta);

    linear_rotate_xyz_tangent(d->rotation, dot->rotation, v, v_dot, v_dot);
    linear_rotate_xyz(d->rotation, v, v);
    linear_rotate_tangent(axis, axis_dot, angle, linear_radian(dot->twotheta), v, v_dot,
                          v_dot);
    if (d->twotheta != 0) linear_rotate(axis, angle, v, v);
}

/* Computes pix0, the outer corner of the first pixel, and rotates the vectors of `place`,
 * all with their tangents. */
static void place_origin(const nb_detector *d, const nb_detector *dot,
                         struct detector_place *place, struct detector_place *place_dot)
{
    const double *axis = place->twotheta_axis, *axis_dot = place_dot->twotheta_axis;
    struct anchor s = make_anchor(d, dot);
    double distance, distance_dot;

    if (s.kind >= 0 && s.kind != d->pivot) {
        distance = unrotated_distance(d, dot, place, place_dot, &distance_dot);
        s = other_anchor(place, place_dot, distance, distance_dot, s);
    }
    for (int i = 0; i < 3; i++) place->pix0[i] = place_dot->pix0[i] = 0;
    if (s.kind == NB_PIVOT_SAMPLE) {
        linear_add(-s.fast, place->fast, place->pix0);
        linear_add(-s.slow, place->slow, place->pix0);
        linear_add(place->close, place->normal, place->pix0);
        linear_add_tangent(-s.fast, -s.fast_dot, place->fast, place_dot->fast,
                           place_dot->pix0);
        linear_add_tangent(-s.slow, -s.slow_dot, place->slow, place_dot->slow,
                           place_dot->pix0);
        linear_add_tangent(place->close, place_dot->close, place->normal, place_dot->normal,
                           place_dot->pix0);
        rotate_with_detector(d, dot, axis, axis_dot, place->pix0, place_dot->pix0);
    }
    rotate_with_detector(d, dot, axis, axis_dot, place->fast, place_dot->fast);
    rotate_with_detector(d, dot, axis, axis_dot, place->slow, place_dot->slow);
    rotate_with_detector(d, dot, axis, axis_dot, place->normal, place_dot->normal);
    if (s.kind == NB_PIVOT_BEAM) {
        linear_add(-s.fast, place->fast, place->pix0);
        linear_add(-s.slow, place->slow, place->pix0);
        linear_add(place->distance, place->beam, place->pix0);
        linear_add_tangent(-s.fast, -s.fast_dot, place->fast, place_dot->fast,
                           place_dot->pix0);
        linear_add_tangent(-s.slow, -s.slow_dot, place->slow, place_dot->slow,
                           place_dot->pix0);
        linear_add_tangent(place->distance, place_dot->distance, place->beam,
                           place_dot->beam, place_dot->pix0);
    } else if (s.kind < 0) {
        linear_scale(1e-3, d->origin, place->pix0);
        linear_scale(1e-3, dot->origin, place_dot->pix0);
    }
}

/* Sets distance = close/ratio and its tangent. The tangent is 0 if the beam is parallel to
 * the detector (ratio 0): only a curved surface uses the distance, and there the beam is
 * never parallel. */
static void place_distance(double ratio, double ratio_dot, struct detector_place *place,
                           struct detector_place *place_dot)
{
    place->distance = place->close / (ratio == 0 ? DBL_MIN : ratio);
    place_dot->distance =
        ratio == 0 ? 0 : (place_dot->close - place->distance * ratio_dot) / ratio;
}

/* Computes the members of detector_derive() from which the frame is filled, and their
 * tangents. */
static void derive_position(const nb_scene *scene, const nb_scene *dot,
                            struct detector_place *place, struct detector_place *place_dot)
{
    const nb_detector *d = &scene->detector, *d_dot = &dot->detector;
    double rotated[3], rotated_dot[3], ratio, ratio_dot;

    unrotated_place(scene, dot, place, place_dot);
    linear_rotate_xyz(d->rotation, place->normal, rotated);
    linear_rotate_xyz_tangent(d->rotation, d_dot->rotation, place->normal,
                              place_dot->normal, rotated_dot);
    ratio = linear_dot(place->beam, rotated);
    ratio_dot = linear_dot_tangent(place->beam, place_dot->beam, rotated, rotated_dot);
    if (d->close_distance != 0) {
        place->close = d->close_distance / 1000;
        place_dot->close = d_dot->close_distance / 1000;
    } else {
        const double sign = ratio * d->distance < 0 ? -1 : 1;

        place->close = sign * ratio * d->distance / 1000;
        place_dot->close =
            sign * (ratio_dot * d->distance + ratio * d_dot->distance) / 1000;
    }
    place_distance(ratio, ratio_dot, place, place_dot);
    place_origin(d, d_dot, place, place_dot);

    place->close = linear_dot(place->pix0, place->normal);
    place_dot->close =
        linear_dot_tangent(place->pix0, place_dot->pix0, place->normal, place_dot->normal);
    if (!(scene->quirks & NB_QUIRK_TWOTHETA_DISTANCE)) {
        ratio = linear_dot(place->beam, place->normal);
        ratio_dot = linear_dot_tangent(place->beam, place_dot->beam, place->normal,
                                       place_dot->normal);
    }
    place_distance(ratio, ratio_dot, place, place_dot);
}

/* Returns the tangent of layers_attenuation(), um; `depth` is the value of that
 * function. */
static double attenuation_tangent(const nb_scene *scene, const nb_scene *dot, double depth)
{
    const nb_detector *d = &scene->detector;
    double wavelength, slope;

    if (!(d->attenuation_wavelength > 0)) return dot->detector.attenuation;
    wavelength = beam_wavelength(scene);
    slope = attenuation_slope(d->material, wavelength);
    return depth
           * (dot->detector.attenuation / d->attenuation
              - slope * beam_wavelength_tangent(scene, dot) / wavelength);
}

/* Returns the tangent of layers_derive(). */
static struct layers layers_tangent(const nb_scene *scene, const nb_scene *dot,
                                    const struct scene_fixed *fixed)
{
    const struct layers at = layers_derive(scene, fixed);
    const double depth = layers_attenuation(scene), cosine = scene->detector.layer_cosine;
    struct layers out = {sampling_step_tangent(&fixed->layer, dot->detector.thickness)
                             * 1e-6,
                         0, 0};
    double depth_dot, slope[2];

    if (!(at.step > 0)) return out;
    depth_dot = attenuation_tangent(scene, dot, depth);
    out.mu = at.mu * (out.step / at.step - depth_dot / depth);
    if (scene->quirks & NB_QUIRK_LAYER_STEP) return out;
    out.offset = out.step / 2;
    if (cosine > 0) {
        (void)layers_mean(at.step, depth * 1e-6 * cosine, slope);
        out.offset = slope[0] * out.step + slope[1] * depth_dot * 1e-6 * cosine;
    }
    return out;
}

void detector_tangent(const nb_scene *scene, const nb_scene *dot,
                      const struct scene_fixed *fixed, struct phys_frame_tangent *out)
{
    const nb_detector *d = &scene->detector, *d_dot = &dot->detector;
    const struct layers layers_dot = layers_tangent(scene, dot, fixed);
    struct detector_place place, place_dot;

    if (d->npanel > 0)
        memset(phys_numbers(out), 0, PHYS_PANEL_NUMBERS * sizeof(double));
    else {
        derive_position(scene, dot, &place, &place_dot);
        linear_copy(place_dot.pix0, out->pix0);
        linear_copy(place_dot.fast, out->fast);
        linear_copy(place_dot.slow, out->slow);
        linear_copy(place_dot.normal, out->normal);
        out->pixel = d_dot->pixel / 1000;
        out->distance = place_dot.distance;
        out->close_distance = place_dot.close;
    }
    out->layer_step = layers_dot.step;
    out->layer_offset = layers_dot.offset;
    out->layer_mu = layers_dot.mu;
}
