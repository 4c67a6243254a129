/*
 * mosaic.c - how a domain turns with the mosaic spread. Under NB_QUIRK_MOSAIC_F32 of the
 * angle before it is rounded. SPDX-License-Identifier: MIT
 */
#include "grad/tangent.h"
#include "scene/linear.h"

void mosaic_rotation_tangent(const nb_scene *dot, const struct scene_domain *domain,
                             double turn[3])
{
    const double spread_dot = linear_radian(dot->crystal.mosaic[0]);

    linear_scale(spread_dot * domain->angle, domain->axis, turn);
}
