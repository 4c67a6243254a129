/*
 * mosaic.c - tangents of the rotation and the weight of a domain. With NB_QUIRK_MOSAIC_F32
 * the rounding of the angle to float is left out of the tangents.
 *
 * SPDX-License-Identifier: MIT
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

void mosaic_apply_tangent(const nb_scene *scene, const nb_scene *dot,
                          const struct mosaic_change *frame, double factor,
                          const double v[3], const double v_dot[3], double out[3])
{
    const double *spread = scene->crystal.mosaic, *spread_dot = dot->crystal.mosaic;
    const double *off = scene->crystal.mosaic_off, *off_dot = dot->crystal.mosaic_off;
    const int others = mosaic_is_anisotropic(scene);
    double along[3], along_dot[3];

    linear_scale(linear_radian(spread_dot[0]) * factor, v, out);
    linear_add(linear_radian(spread[0]) * factor, v_dot, out);
    for (int k = 0; k < 3; k++) {
        along[k] = linear_dot(frame->at[k], v);
        along_dot[k] = linear_dot_tangent(frame->at[k], frame->dot[k], v, v_dot);
    }
    for (int k = 1; k < 3 && others; k++) {
        const double more = linear_radian(spread[k] - spread[0]) * factor;
        const double more_dot = linear_radian(spread_dot[k] - spread_dot[0]) * factor;

        linear_add_tangent(more * along[k], more_dot * along[k] + more * along_dot[k],
                           frame->at[k], frame->dot[k], out);
    }
    for (int i = 0; i < 3; i++) {
        const int j = i == 2 ? 1 : 0, k = i == 0 ? 1 : 2; /* ab, ac, bc */
        const double more = linear_radian(off[i]) * factor;
        const double more_dot = linear_radian(off_dot[i]) * factor;

        linear_add_tangent(more * along[k], more_dot * along[k] + more * along_dot[k],
                           frame->at[j], frame->dot[j], out);
        linear_add_tangent(more * along[j], more_dot * along[j] + more * along_dot[j],
                           frame->at[k], frame->dot[k], out);
    }
}

void mosaic_rotation_tangent(const nb_scene *scene, const nb_scene *dot,
                             const struct mosaic_change *frame,
                             const struct scene_domain *domain, double rotation[3])
{
    const double spread_dot = linear_radian(dot->crystal.mosaic[0]);
    static const double still[3] = {0, 0, 0};
    double vector[3], vector_dot[3];

    if (!mosaic_is_anisotropic(scene)) {
        linear_scale(spread_dot * domain->angle, domain->axis, rotation);
        return;
    }
    mosaic_apply(scene, (const double(*)[3])frame->at, domain->angle, domain->axis, vector);
    mosaic_apply_tangent(scene, dot, frame, domain->angle, domain->axis, still, vector_dot);
    linear_rotation_tangent(vector, vector_dot, rotation);
}

double mosaic_weight_tangent(const nb_scene *scene, const nb_scene *dot, int d, double mean,
                             double mean_dot)
{
    const double *list_dot = dot->crystal.domain_weight;

    if (!list_dot) return 0;
    return (list_dot[d] - mosaic_weight(scene, d, mean) * mean_dot) / mean;
}
