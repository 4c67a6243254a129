/*
 * derive.c - tangents of the orientations, and of all stages in the order of
 * scene/derive.c.
 *
 * The axes of an orientation are M Q A, with the rotation Q about the spindle, the rotation
 * M of the domain and the axes A of the cell. If the tangents of M and Q are the rotation
 * vectors m and q, d axes = (m + M q) x axes. The axes of an anisotropic spread turn with
 * Q, so that M then depends on it. A strain of A is the same matrix in all orientations.
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "grad/linear_tangent.h"
#include "grad/tangent.h"
#include "scene/linear.h"
#include "scene/mosaic.h"
#include "scene/sampling.h"

/* Computes the tangent, as a rotation vector, of the rotation by `angle` about the unit
 * vector k: angle_dot k + sin(angle) k_dot + (1 - cos(angle)) k x k_dot, for k_dot normal
 * to k. */
static void rotation_tangent(const double k[3], double angle, const double k_dot[3],
                             double angle_dot, double rotation[3])
{
    const double half = sin(angle / 2);
    double across[3];

    linear_cross(k, k_dot, across);
    linear_scale(angle_dot, k, rotation);
    linear_add(sin(angle), k_dot, rotation);
    linear_add(2 * half * half, across, rotation);
}

/* Returns 1 if the tangent `dot` rotates or weights orientations differently. A rotation of
 * all of them alike is part of the strain, which rotates them differently only through an
 * anisotropic mosaic spread. */
static int changes_orientations(const nb_scene *scene, const nb_scene *dot,
                                const double strain[9])
{
    const nb_scan *scan = &dot->scan;
    const double *spread = dot->crystal.mosaic;
    int any = dot->crystal.domain_weight || !linear_is_zero(scan->axis) || scan->phi0 != 0
              || scan->osc != 0 || scan->step != 0 || !linear_is_zero(spread);

    for (int i = 0; i < 9; i++) any |= mosaic_is_anisotropic(scene) && strain[i] != 0;
    return any;
}

/* Turns the vectors of the spreads by `angle` about the unit vector k, and their tangents;
 * `spun` is the tangent of this rotation, as a rotation vector. */
static struct mosaic_change turn_spread(const struct mosaic_change *spread,
                                        const double k[3], double angle,
                                        const double spun[3])
{
    struct mosaic_change turned;

    for (int i = 0; i < 3; i++) {
        double moved[3];

        linear_rotate(k, angle, spread->at[i], turned.at[i]);
        linear_rotate(k, angle, spread->dot[i], turned.dot[i]);
        linear_cross(spun, turned.at[i], moved);
        linear_add(1, moved, turned.dot[i]);
    }
    return turned;
}

/* Computes the tangents of all orientations: rotation vectors and weights. */
static void derive_orientations_tangent(const nb_scene *scene, const nb_scene *dot,
                                        const struct scene_fixed *fixed,
                                        const struct crystal_axes *axes,
                                        struct phys_frame_tangent *out)
{
    const int ndomains = scene->crystal.ndomains, turns = mosaic_is_anisotropic(scene);
    const double mean = mosaic_mean_weight(scene);
    const double mean_dot =
        dot->crystal.domain_weight
            ? mosaic_sum_weights(dot->crystal.domain_weight, ndomains) / ndomains
            : 0;
    const struct mosaic_change spread = mosaic_frame_tangent(axes, out->strain);
    double spindle[3], spindle_dot[3];

    if (!changes_orientations(scene, dot, out->strain)) {
        memset(out->rotation, 0,
               (size_t)scene->scan.nphi * (size_t)ndomains * sizeof *out->rotation);
        return;
    }
    linear_unit(scene->scan.axis, spindle);
    linear_unit_tangent(scene->scan.axis, dot->scan.axis, spindle_dot);
    for (int d = 0; d < ndomains; d++) {
        double rotation[3][3], domain_dot[3];

        for (int p = 0; p < scene->scan.nphi; p++) {
            struct phys_rotation *change =
                out->rotation + (size_t)p * (size_t)ndomains + (size_t)d;
            const double phi = linear_radian(sampling_phi(scene, fixed, p));
            const double phi_dot =
                linear_radian(sampling_phi_tangent(scene, dot, fixed, p));
            double spun[3];

            rotation_tangent(spindle, phi, spindle_dot, phi_dot, spun);
            if (turns || p == 0) {
                const struct mosaic_change turned =
                    turn_spread(&spread, spindle, phi, spun);

                mosaic_rotation(scene, (const double(*)[3])turned.at, fixed->domain + d,
                                rotation);
                mosaic_rotation_tangent(scene, dot, &turned, fixed->domain + d, domain_dot);
            }
            for (int j = 0; j < 3; j++)
                change->by[j] = domain_dot[j] + linear_dot(rotation[j], spun);
            change->weight = mosaic_weight_tangent(scene, dot, d, mean, mean_dot);
        }
    }
}

void scene_derive_tangent(const nb_scene *scene, const nb_scene *dot,
                          const struct scene_fixed *fixed, const struct crystal_axes *axes,
                          const struct phys_frame *frame, struct phys_frame_tangent *out)
{
    memset(&out->broad, 0, sizeof out->broad);
    crystal_tangent(scene, dot, axes, out);
    detector_tangent(scene, dot, fixed, out);
    beam_tangent(scene, dot, fixed, out);
    derive_orientations_tangent(scene, dot, fixed, axes, out);
    background_tangent(scene, dot, frame, out);
}
