/*
 * anchor.h - Miller indices counted from the indices of a nearby point, the anchor. The
 * whole part of the anchor's indices is kept apart, so that only the fraction and its
 * change are computed in `real`. This preserves digits in float; in double it affects only
 * the last ones (docs/theory.md, 13).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_TILE_ANCHOR_H
#define NB_PHYSICS_TILE_ANCHOR_H

#include "physics/scattering.h"

/* The indices of a point are whole + fraction + axes . step, where `step` leads from the
 * anchor to the point. */
struct phys_anchor {
    struct phys_axes axes;
    struct phys_vec3 whole, fraction;
};

/* Returns the anchor at q = 0, for which steps are scattering vectors. */
PHYS_FN struct phys_anchor phys_anchor_none(const double *rows)
{
    struct phys_anchor a;

    a.axes = phys_axes(rows);
    a.whole = a.fraction = phys_vec3(0, 0, 0);
    return a;
}

/* Returns the whole number nearest to x, in double; halves round down, as in
 * phys_nearest(). */
PHYS_FN double phys_anchor_whole(double x)
{
    return ceil(x - 0.5);
}

/* Returns the anchor at scattering vector q. `unit` is the factor from a step to a
 * change of q: 1/wavelength for steps of the direction, 1 for steps of q. */
PHYS_FN struct phys_anchor phys_anchor_at(const double *rows, const double *q, double unit)
{
    const double h = rows[0] * q[0] + rows[1] * q[1] + rows[2] * q[2];
    const double k = rows[3] * q[0] + rows[4] * q[1] + rows[5] * q[2];
    const double l = rows[6] * q[0] + rows[7] * q[1] + rows[8] * q[2];
    const double nh = phys_anchor_whole(h), nk = phys_anchor_whole(k),
                 nl = phys_anchor_whole(l);
    struct phys_anchor a;

    a.axes.a =
        phys_vec3((real)(unit * rows[0]), (real)(unit * rows[1]), (real)(unit * rows[2]));
    a.axes.b =
        phys_vec3((real)(unit * rows[3]), (real)(unit * rows[4]), (real)(unit * rows[5]));
    a.axes.c =
        phys_vec3((real)(unit * rows[6]), (real)(unit * rows[7]), (real)(unit * rows[8]));
    a.whole = phys_vec3((real)nh, (real)nk, (real)nl);
    a.fraction = phys_vec3((real)(h - nh), (real)(k - nk), (real)(l - nl));
    return a;
}

/* Returns the indices at `step` from the anchor, less the whole part of the anchor. The
 * order of the sum lets a compiler contract each index to three fused operations. */
PHYS_FN struct phys_vec3 phys_anchor_indices(const struct phys_anchor *a,
                                             struct phys_vec3 step)
{
    const struct phys_axes x = a->axes;

    return phys_vec3(a->fraction.x + x.a.x * step.x + x.a.y * step.y + x.a.z * step.z,
                     a->fraction.y + x.b.x * step.x + x.b.y * step.y + x.b.z * step.z,
                     a->fraction.z + x.c.x * step.x + x.c.y * step.y + x.c.z * step.z);
}

/* Returns a limit, just below 1/2: if an index is further than this from its nearest whole
 * number, float cannot tell which whole number is nearest. The rounding error grows with
 * `reach`, the distance of the indices from the anchor's, summed over h, k and l. */
PHYS_FN real phys_anchor_halfway(real reach)
{
    return (real)0.5 - (real)2.5e-7 * reach;
}

#endif
