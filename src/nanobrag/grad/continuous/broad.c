/*
 * broad.c - tangents of the widths of a continuous crystal. It follows the formulas of
 * scene/continuous/broad.c one by one, and computes each tangent (_dot) beside its value.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "grad/linear_tangent.h"
#include "grad/tangent.h"
#include "scene/continuous/continuous.h"
#include "scene/mosaic.h"
#include "scene/sampling.h"

static double half_range_tangent(const nb_scene *scene, const nb_scene *dot,
                                 const struct scene_fixed *fixed)
{
    const double step = sampling_step(&fixed->phi, scene->scan.osc);
    const double step_dot = sampling_step_tangent(&fixed->phi, dot->scan.osc);

    if (scene->scan.step != 0) return 0;
    return copysign(linear_radian(step_dot) / 2, step * step_dot);
}

static void spindle_tangent(const nb_scene *scene, const nb_scene *dot, double out[3])
{
    const nb_scan *scan = &scene->scan, *scan_dot = &dot->scan;
    double spindle[3], spindle_dot[3];

    linear_unit(scan->axis, spindle);
    linear_unit_tangent(scan->axis, scan_dot->axis, spindle_dot);
    linear_rotate_tangent(spindle, spindle_dot, linear_radian(scan->phi0 + scan->osc / 2),
                          linear_radian(scan_dot->phi0 + scan_dot->osc / 2), scan->drift,
                          scan_dot->drift, out);
    linear_add(1, spindle_dot, out);
}

static void spread_tangent(const nb_scene *scene, const nb_scene *dot,
                           const struct crystal_axes *axes, const double strain[9],
                           double spread[6])
{
    const struct mosaic_change frame = mosaic_frame_tangent(axes, strain);
    double wide[3][3], wide_dot[3][3];

    for (int i = 0; i < 3; i++) {
        double star_dot[3] = {0, 0, 0};

        for (int j = 0; j < 3; j++) linear_add(-strain[3 * j + i], axes->star[j], star_dot);
        mosaic_apply(scene, (const double(*)[3])frame.at, MOSAIC_OF_SPREAD, axes->star[i],
                     wide[i]);
        mosaic_apply_tangent(scene, dot, &frame, MOSAIC_OF_SPREAD, axes->star[i], star_dot,
                             wide_dot[i]);
    }
    for (int i = 0; i < 3; i++) {
        const int j = i == 2 ? 1 : 0, k = i == 0 ? 1 : 2; /* ab, ac, bc */

        spread[i] = 2 * linear_dot(wide[i], wide_dot[i]);
        spread[3 + i] =
            2 * (linear_dot(wide[j], wide_dot[k]) + linear_dot(wide_dot[j], wide[k]));
    }
}

static void add_directions_tangent(double variance, double variance_dot, const double u[3],
                                   const double u_dot[3], double divergence[6])
{
    for (int i = 0; i < 3; i++) {
        const int j = i == 2 ? 1 : 0, k = i == 0 ? 1 : 2; /* xy, xz, yz */

        divergence[i] += variance_dot * u[i] * u[i] + 2 * variance * u[i] * u_dot[i];
        divergence[3 + i] += 2 * variance_dot * u[j] * u[k]
                             + 2 * variance * (u_dot[j] * u[k] + u[j] * u_dot[k]);
    }
}

static void divergence_tangent(const nb_scene *scene, const nb_scene *dot,
                               const struct scene_fixed *fixed, double divergence[6])
{
    const nb_beam *b = &scene->beam, *b_dot = &dot->beam;
    const struct beam_vectors s = beam_vectors_of(b, b_dot);
    double along[2][3], along_dot[2][3];

    linear_cross(s.vertical, s.beam, along[0]);
    linear_cross_tangent(s.vertical, s.vertical_dot, s.beam, s.beam_dot, along_dot[0]);
    linear_cross(s.axis, s.beam, along[1]);
    linear_cross_tangent(s.axis, s.axis_dot, s.beam, s.beam_dot, along_dot[1]);
    for (int i = 0; i < 2; i++) {
        const double v = fixed->divergence_variance[i], width = b->divergence[i] / 1000;
        const double width_dot = b_dot->divergence[i] / 1000;

        add_directions_tangent(v * width * width, 2 * v * width * width_dot, along[i],
                               along_dot[i], divergence);
    }
}

void continuous_tangent(const nb_scene *scene, const nb_scene *dot,
                        const struct scene_fixed *fixed, const struct crystal_axes *axes,
                        struct phys_frame_tangent *out)
{
    const nb_crystal *c_dot = &dot->crystal;
    const nb_beam *b = &scene->beam;
    struct phys_broad *broad = &out->broad;

    memset(broad, 0, sizeof *broad);
    if (!continuous_is_on(scene)) return;
    broad->half_range = half_range_tangent(scene, dot, fixed);
    spindle_tangent(scene, dot, broad->spindle);
    spread_tangent(scene, dot, axes, out->strain, broad->spread);
    broad->tail = c_dot->mosaic_tail;
    broad->tail_width = c_dot->mosaic_tail_width;
    broad->spacing = c_dot->strain;
    broad->size = c_dot->crystal_size / 1000;
    if (b->nsource == 0 && b->ndispersion == 1)
        broad->line = dot->beam.dispersion / sqrt(12);
    divergence_tangent(scene, dot, fixed, broad->divergence);
}
