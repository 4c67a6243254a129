/*
 * mosaic.c - how a domain turns with the mosaic spread, and what its weight changes by.
 * Under NB_QUIRK_MOSAIC_F32 of the angle before it is rounded. SPDX-License-Identifier: MIT
 */
#include "scene/mosaic.h"

#include "grad/tangent.h"
#include "scene/linear.h"

void mosaic_rotation_tangent(const nb_scene *dot, const struct scene_domain *domain,
                             double turn[3])
{
    const double spread_dot = linear_radian(dot->crystal.mosaic[0]);

    linear_scale(spread_dot * domain->angle, domain->axis, turn);
}

double mosaic_weight_tangent(const nb_scene *scene, const nb_scene *dot, int d, double mean,
                             double mean_dot)
{
    const double *list_dot = dot->crystal.domain_weight;

    if (!list_dot) return 0;
    return (list_dot[d] - mosaic_weight(scene, d, mean) * mean_dot) / mean;
}
