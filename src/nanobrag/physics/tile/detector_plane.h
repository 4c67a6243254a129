/*
 * detector_plane.h - the pixels that a cone of directions meets on a flat detector, in
 * double (docs/theory.md, 13). Every estimate errs towards too many pixels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_TILE_DETECTOR_PLANE_H
#define NB_PHYSICS_TILE_DETECTOR_PLANE_H

#include "physics/frame.h"
#include "physics/phys.h"

/* A vector of three doubles. */
struct phys_wide3 {
    double x, y, z;
};

PHYS_FN struct phys_wide3 phys_wide3(double x, double y, double z)
{
    struct phys_wide3 r;

    r.x = x;
    r.y = y;
    r.z = z;
    return r;
}

PHYS_FN double phys_wide_dot(struct phys_wide3 a, struct phys_wide3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

/* One axis of the plane. `along` is the unit vector in the plane that is perpendicular to
 * the other axis. A place at x metres along it has the coordinate (x - start) per_metre, in
 * sub-pixels from the outer corner. */
struct phys_edge {
    struct phys_wide3 along;
    double start, per_metre;
};

struct phys_detector_plane {
    struct phys_edge fast, slow;
    struct phys_wide3 normal;
    double distance; /* distance from the crystal to the plane, m */
};

PHYS_FN struct phys_edge phys_edge(const struct phys_frame *frame, const double *axis,
                                   const double *other, double depth)
{
    const struct phys_wide3 a = phys_wide3(axis[0], axis[1], axis[2]);
    const struct phys_wide3 o = phys_wide3(other[0], other[1], other[2]);
    const struct phys_wide3 corner = phys_wide3(frame->pix0[0] + depth * frame->normal[0],
                                                frame->pix0[1] + depth * frame->normal[1],
                                                frame->pix0[2] + depth * frame->normal[2]);
    const double part = phys_wide_dot(a, o) / phys_wide_dot(o, o);
    struct phys_edge e;
    double length;

    e.along = phys_wide3(a.x - part * o.x, a.y - part * o.y, a.z - part * o.z);
    length = sqrt(phys_wide_dot(e.along, e.along));
    e.along = phys_wide3(e.along.x / length, e.along.y / length, e.along.z / length);
    e.start = phys_wide_dot(e.along, corner);
    e.per_metre = frame->oversample / (frame->pixel * phys_wide_dot(a, e.along));
    return e;
}

/* Returns the unit normal of the plane of the pixels, pointing away from the crystal. The
 * normal can differ from frame->normal, which a user may set. */
PHYS_FN struct phys_wide3 phys_plane_normal(const struct phys_frame *frame)
{
    const double *f = frame->fast, *s = frame->slow, *n = frame->pix0;
    const struct phys_wide3 cross =
        phys_wide3(f[1] * s[2] - f[2] * s[1], f[2] * s[0] - f[0] * s[2],
                   f[0] * s[1] - f[1] * s[0]);
    const double side = phys_wide_dot(cross, phys_wide3(n[0], n[1], n[2])) < 0 ? -1 : 1;
    const double scale = side / sqrt(phys_wide_dot(cross, cross));

    return phys_wide3(scale * cross.x, scale * cross.y, scale * cross.z);
}

/* Returns the plane at a depth below the front of the sensor. */
PHYS_FN struct phys_detector_plane phys_detector_plane(const struct phys_frame *frame,
                                                       double depth)
{
    struct phys_detector_plane s;

    s.fast = phys_edge(frame, frame->fast, frame->slow, depth);
    s.slow = phys_edge(frame, frame->slow, frame->fast, depth);
    s.normal = phys_plane_normal(frame);
    s.distance = phys_wide_dot(phys_wide3(frame->pix0[0] + depth * frame->normal[0],
                                          frame->pix0[1] + depth * frame->normal[1],
                                          frame->pix0[2] + depth * frame->normal[2]),
                               s.normal);
    return s;
}

/* A range of sub-pixel coordinates. */
struct phys_range {
    double low, high;
};

/* Returns the range of sub-pixels along `edge` that a cone meets. The cone has the
 * directions that pass within `reach` of the end of v, a vector towards the plane;
 * per_normal is 1/(v.normal).
 *
 * Two planes through the crystal contain the other axis and touch the cone. They cut the
 * edge at distance x tan(a -+ b), with tan a = t = v.edge/v.normal, tan b = s/sqrt(1 + t^2
 * - s^2) and s = reach/v.normal. Both cuts lie within x s (1 + t^2)/(sqrt(1 + t^2 - s^2) -
 * s |t|) of x t. If the cone reaches the horizon, the range is unbounded. */
PHYS_FN struct phys_range phys_detector_plane_range(const struct phys_detector_plane *plane,
                                                    const struct phys_edge *edge,
                                                    struct phys_wide3 v, double per_normal,
                                                    double reach)
{
    const double x = plane->distance * edge->per_metre;
    const double t = phys_wide_dot(v, edge->along) * per_normal, s = reach * per_normal;
    const double secant2 = 1 + t * t, left2 = secant2 - s * s;
    const double gap = sqrt(left2 > 0 ? left2 : 0) - s * fabs(t);
    const double middle = x * t - edge->start * edge->per_metre;
    const double half = gap > 1e-6 ? x * s * secant2 / gap * (1 + 1e-9) : 1e30;
    struct phys_range r;

    r.low = middle - half;
    r.high = middle + half;
    return r;
}

#endif
