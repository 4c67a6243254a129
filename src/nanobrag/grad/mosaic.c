/*
 * mosaic.c - tangents of the rotation and the weight of a domain. With NB_QUIRK_MOSAIC_F32
 * they are those of the angle before its rounding. SPDX-License-Identifier: MIT
 */
#include "scene/mosaic.h"

#include "grad/linear_tangent.h"
#include "grad/tangent.h"
#include "scene/linear.h"

struct mosaic_change mosaic_frame_tangent(const struct crystal_axes *axes,
                                          const double strain[9])
{
    struct mosaic_change f;
    double a_dot[3] = {0}, c_star_dot[3] = {0};

    mosaic_frame(axes, f.at);
    for (int j = 0; j < 3; j++) {
        linear_add(strain[j], axes->real[j], a_dot);
        linear_add(-strain[3 * j + 2], axes->star[j], c_star_dot);
    }
    linear_unit_tangent(axes->real[0], a_dot, f.dot[0]);
    linear_unit_tangent(axes->star[2], c_star_dot, f.dot[2]);
    linear_cross_tangent(f.at[2], f.dot[2], f.at[0], f.dot[0], f.dot[1]);
    return f;
}

/* Tangent of mosaic_vector(). */
static void mosaic_vector_tangent(const nb_scene *scene, const nb_scene *dot,
                                  const struct mosaic_change *frame,
                                  const struct scene_domain *domain, double out[3])
{
    const double *spread = scene->crystal.mosaic, *spread_dot = dot->crystal.mosaic;

    linear_scale(linear_radian(spread_dot[0]) * domain->angle, domain->axis, out);
    for (int k = 1; k < 3; k++) {
        const double along = linear_dot(frame->at[k], domain->axis);
        const double along_dot = linear_dot(frame->dot[k], domain->axis);
        const double more = linear_radian(spread[k] - spread[0]) * domain->angle;
        const double more_dot =
            linear_radian(spread_dot[k] - spread_dot[0]) * domain->angle;

        linear_add_tangent(more * along, more_dot * along + more * along_dot, frame->at[k],
                           frame->dot[k], out);
    }
}

void mosaic_rotation_tangent(const nb_scene *scene, const nb_scene *dot,
                             const struct mosaic_change *frame,
                             const struct scene_domain *domain, double rotation[3])
{
    const double spread_dot = linear_radian(dot->crystal.mosaic[0]);
    double vector[3], vector_dot[3];

    if (!mosaic_is_anisotropic(scene)) {
        linear_scale(spread_dot * domain->angle, domain->axis, rotation);
        return;
    }
    mosaic_vector(scene, (const double(*)[3])frame->at, domain, vector);
    mosaic_vector_tangent(scene, dot, frame, domain, vector_dot);
    linear_rotation_tangent(vector, vector_dot, rotation);
}

double mosaic_weight_tangent(const nb_scene *scene, const nb_scene *dot, int d, double mean,
                             double mean_dot)
{
    const double *list_dot = dot->crystal.domain_weight;

    if (!list_dot) return 0;
    return (list_dot[d] - mosaic_weight(scene, d, mean) * mean_dot) / mean;
}
