/*
 * screen.h - which pixels a cone of directions meets: the detector as a flat screen, in
 * double. Everything here errs on the side of more pixels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_SCREEN_H
#define NB_PHYSICS_SCREEN_H

#include "frame.h"
#include "phys.h"

/* one axis of the screen: the unit vector in its plane that is perpendicular to the other
 * axis, and how a coordinate along it counts sub-pixels */
struct phys_edge {
    double along[3];
    double start, per_metre;
};

struct phys_screen {
    struct phys_edge fast, slow;
    double normal[3], distance; /* of the plane, m */
};

PHYS_FN double phys_screen_dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

PHYS_FN struct phys_edge phys_edge(const struct phys_frame *frame, const double *axis,
                                   const double *other, double depth)
{
    const double sub = frame->pixel / frame->oversample;
    const double part =
        phys_screen_dot(axis, other) / phys_screen_dot(other, other);
    double length = 0;
    struct phys_edge e;

    for (int i = 0; i < 3; i++) {
        e.along[i] = axis[i] - part * other[i];
        length += e.along[i] * e.along[i];
    }
    e.start = 0;
    for (int i = 0; i < 3; i++) {
        e.along[i] /= sqrt(length);
        e.start += e.along[i] * (frame->pix0[i] + depth * frame->normal[i]);
    }
    e.per_metre = 1 / (sub * phys_screen_dot(axis, e.along));
    return e;
}

/* the detector at a depth below the front of its sensor */
PHYS_FN struct phys_screen phys_screen(const struct phys_frame *frame, double depth)
{
    struct phys_screen s;

    s.fast = phys_edge(frame, frame->fast, frame->slow, depth);
    s.slow = phys_edge(frame, frame->slow, frame->fast, depth);
    for (int i = 0; i < 3; i++) s.normal[i] = frame->normal[i];
    s.distance = phys_screen_dot(frame->pix0, frame->normal) + depth;
    return s;
}

/* sub-pixel coordinates */
struct phys_range {
    double low, high;
};

/*
 * Where the cone about v whose half angle has sine `sine` meets the screen, along one of
 * its edges. The planes through the crystal that hold the other axis and touch the cone
 * cut the edge at distance x tan(angle +- beta), sin(beta) = sine/rho, where angle is that
 * of v in the plane of normal and edge and rho the length of v/|v| in it. Everything where
 * the cone reaches the horizon, nothing (low > high) behind it.
 */
PHYS_FN struct phys_range phys_screen_range(const struct phys_screen *screen,
                                            const struct phys_edge *edge, const double *v,
                                            double length, double sine)
{
    const double n = phys_screen_dot(v, screen->normal);
    const double e = phys_screen_dot(v, edge->along);
    const double reach = sine * length, reach2 = reach * reach;
    const double rho2 = n * n + e * e;
    struct phys_range r = {-1e9, 1e9};

    if (n <= -reach) {
        r.high = -2e9;
        return r;
    }
    if (rho2 > reach2) {
        const double beta = reach / sqrt(rho2 - reach2), t = e / n;

        if (n > 0 && fabs(t) * beta < 1) {
            const double x = screen->distance * edge->per_metre;
            const double start = edge->start * edge->per_metre;

            r.low = x * (t - beta) / (1 + t * beta) - start;
            r.high = x * (t + beta) / (1 - t * beta) - start;
        }
    }
    return r;
}

#endif
