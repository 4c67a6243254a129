/*
 * pixel_position.h - from a place on the detector to its direction, solid angle and
 * captured fraction (docs/theory.md, 2 and 3).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_PIXEL_POSITION_H
#define NB_PHYSICS_PIXEL_POSITION_H

#include "frame.h"
#include "trig.h"
#include "vec3.h"

/* The detector in `real`, converted once per kernel. */
struct phys_detector {
    struct phys_vec3 pix0, fast, slow, normal, beam;
    real sub; /* edge of a sub-pixel, m */
    real area; /* area of a pixel, m^2; 1 for a point pixel */
    real distance, close_distance;
    real layer_step, layer_offset, layer_mu;
    int surface, point_pixel;
};

PHYS_FN struct phys_detector phys_detector(const struct phys_frame *frame)
{
    struct phys_detector d;

    d.pix0 = phys_load(frame->pix0);
    d.fast = phys_load(frame->fast);
    d.slow = phys_load(frame->slow);
    d.normal = phys_load(frame->normal);
    d.beam = phys_load(frame->beam);
    d.sub = (real)(frame->pixel / frame->oversample);
    d.area = frame->point_pixel ? 1 : (real)(frame->pixel * frame->pixel);
    d.distance = (real)frame->distance;
    d.close_distance = (real)frame->close_distance;
    d.layer_step = (real)frame->layer_step;
    d.layer_offset = (real)frame->layer_offset;
    d.layer_mu = (real)frame->layer_mu;
    d.surface = frame->surface;
    d.point_pixel = frame->point_pixel;
    return d;
}

/* The position of a sample, seen from the crystal. */
struct phys_point {
    struct phys_vec3 d; /* unit vector */
    real r; /* distance, m */
};

/* Returns v rotated about the unit vector k by the angle pi times `angle_per_pi`, by
 * Rodrigues' formula. */
PHYS_FN struct phys_vec3 phys_rotate(struct phys_vec3 k, real angle_per_pi,
                                     struct phys_vec3 v)
{
    const real c = phys_cospi(angle_per_pi), s = phys_sinpi(angle_per_pi);

    return phys_axpy(c, v,
                     phys_axpy(s, phys_cross(k, v),
                               phys_scale((1 - c) * phys_dot(k, v), k)));
}

/* Returns the position of a place on the flat detector relative to the crystal, m. `fast`
 * and `slow` are its offsets from the outer corner of the first pixel, in sub-pixels;
 * `depth` is its depth below the front of the sensor, m. */
PHYS_FN struct phys_vec3 phys_flat(const struct phys_detector *det, real fast, real slow,
                                   real depth)
{
    return phys_axpy(det->sub * fast, det->fast,
                     phys_axpy(det->sub * slow, det->slow,
                               phys_axpy(depth, det->normal, det->pix0)));
}

/* Returns the direction and distance of a place, on a flat or a curved detector. */
PHYS_FN struct phys_point phys_point(const struct phys_detector *det, real fast, real slow,
                                     real depth)
{
    const struct phys_vec3 flat = phys_flat(det, fast, slow, depth);
    struct phys_vec3 p = flat;
    struct phys_point point;
    real inverse;

    if (det->surface == PHYS_CURVED_QUIRK) {
        /* nanoBragg's curved detector: two rotations by the laboratory components of the
         * flat position */
        const real per_pi = 1 / (det->distance * PHYS_PI);

        p = phys_rotate(det->fast, flat.z * per_pi,
                        phys_rotate(det->slow, flat.y * per_pi,
                                    phys_scale(det->distance, det->beam)));
    }
    inverse = 1 / sqrt(phys_dot(p, p));
    point.d = phys_scale(inverse, p);
    point.r = det->surface == PHYS_CURVED ? det->distance : phys_dot(p, p) * inverse;
    return point;
}

/* An offset from the outer corner of the first pixel, in sub-pixels. */
struct phys_sub {
    real fast, slow;
};

/* Returns the middle of sub-pixel `sub` of pixel (f, s). A pixel has n x n sub-pixels, fast
 * innermost; sub = -1 stands for the middle of the pixel. */
PHYS_FN struct phys_sub phys_sub(int n, int s, int f, int sub)
{
    const int row = sub < 0 ? 0 : sub / n, column = sub < 0 ? 0 : sub - n * row;
    const real half = sub < 0 ? (real)0.5 * (real)n : (real)0.5;
    struct phys_sub place;

    place.fast = (real)f * (real)n + (real)column + half;
    place.slow = (real)s * (real)n + (real)row + half;
    return place;
}

/* Returns the position of the middle of a sub-pixel, numbered as in phys_sub(), at a
 * depth. */
PHYS_FN struct phys_point phys_sub_pixel(const struct phys_detector *det, int n, int s,
                                         int f, int sub, real depth)
{
    const struct phys_sub place = phys_sub(n, s, f, sub);

    return phys_point(det, place.fast, place.slow, depth);
}

/* Returns the solid angle of a pixel, sr; for a point pixel, the solid angle per area,
 * sr/m^2. */
PHYS_FN real phys_solid_angle(const struct phys_detector *det, struct phys_point point)
{
    const real r2 = 1 / (point.r * point.r);
    const real oblique =
        det->point_pixel || det->surface == PHYS_CURVED ? 1 : det->close_distance / point.r;

    return det->area * r2 * oblique;
}

/* The derivatives of the solid angle by the distance r of the sample, by the close
 * distance of the detector and by the area of a pixel. */
struct phys_omega_slopes {
    real dr, dclose, darea;
};

/* Returns the derivatives for a sample at distance r with solid angle omega. If omega is
 * multiplied by a cotangent, the derivatives are, too. */
PHYS_FN struct phys_omega_slopes phys_solid_angle_scaled(const struct phys_detector *det,
                                                         real r, real omega)
{
    const int square =
        det->point_pixel || det->surface == PHYS_CURVED; /* omega ~ 1/r^2, else 1/r^3 */
    struct phys_omega_slopes s;

    s.dr = (square ? -2 : -3) * omega / r;
    s.dclose = square ? 0 : omega / det->close_distance;
    s.darea = omega / det->area;
    return s;
}

/* Returns the fraction of the photons absorbed in layer t (0, 1, ...) of the sensor; 1
 * without a sensor. */
PHYS_FN real phys_capture(const struct phys_detector *det, struct phys_point point, real t)
{
    const real cosine = det->surface == PHYS_CURVED ? 1 : phys_dot(point.d, det->normal);
    const real path =
        det->layer_mu / cosine; /* path through a layer, in absorption lengths */

    return det->layer_mu == 0 ? 1 : phys_exp(-t * path) * phys_fall(path);
}

/* The derivatives of the captured fraction by the cosine d . normal and by layer_mu, the
 * absorption in a layer. dcosine is 0 on a curved detector, whose normal is the direction
 * d; both are 0 without a sensor. */
struct phys_capture_slopes {
    real dcosine, dmu;
};

PHYS_FN struct phys_capture_slopes phys_capture_slopes(const struct phys_detector *det,
                                                       struct phys_point point, real t)
{
    const int curved = det->surface == PHYS_CURVED;
    const real cosine = curved ? 1 : phys_dot(point.d, det->normal);
    const real path = det->layer_mu / cosine; /* in absorption lengths */
    const real slope = phys_exp(-t * path) * (1 - (t + 1) * phys_fall(path));
    const real sensor = det->layer_mu == 0 ? 0 : 1, tilted = curved ? 0 : sensor;
    struct phys_capture_slopes s;

    s.dmu = sensor * slope / cosine;
    s.dcosine = tilted * -slope * path / cosine;
    return s;
}

#endif
