/*
 * derive.c - the tangent of the frame, in the order of scene/derive.c, and the tangents of
 * the orientations.
 *
 * The axes of an orientation are M Q A: the axes A of the cell, the rotation Q by the drift
 * and then about the spindle, and the rotation M of the domain. If the tangents of M and Q
 * are the rotation vectors m and q, d axes = (m + M q) x axes. The axes of an anisotropic
 * mosaic spread turn with Q, so M then depends on Q. A strain adds multiples of the axes of
 * A to each other. Rotations leave these multiples as they are, so one strain serves all
 * orientations.
 *
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

/* Returns 1 if the tangent `dot` changes the rotation or the weight of single orientations.
 * A rotation of all orientations alike is part of the strain. With an anisotropic mosaic
 * spread, a strain changes the rotations of the domains too. */
static int changes_orientations(const nb_scene *scene, const nb_scene *dot,
                                const double strain[9])
{
    const nb_scan *scan = &dot->scan;
    const double *spread = dot->crystal.mosaic;
    int any = dot->crystal.domain_weight || !linear_is_zero(scan->axis) || scan->phi0 != 0
              || scan->osc != 0 || scan->step != 0 || !linear_is_zero(spread)
              || !linear_is_zero(dot->crystal.mosaic_off) || !linear_is_zero(scan->drift)
              || scan->drift_phi != 0;

    for (int i = 0; i < 9; i++) any |= mosaic_is_anisotropic(scene) && strain[i] != 0;
    return any;
}

/* The rotation Q of phi step i: by the rotation vector `drift`, then by `angle` about the
 * unit vector `spindle`. `spun` is its tangent, as a rotation vector. All are in radian. */
struct turn {
    double drift[3], spindle[3], angle, spun[3];
};

static struct turn turn_at(const nb_scene *scene, const nb_scene *dot,
                           const struct scene_fixed *fixed, int i)
{
    const nb_scan *scan = &scene->scan, *scan_dot = &dot->scan;
    const double away = sampling_phi(scene, fixed, i) - scan->drift_phi;
    const double phi_dot = sampling_phi_tangent(scene, dot, fixed, i);
    struct turn t;
    double spindle_dot[3], drift_dot[3], drifted[3];

    t.angle = linear_radian(sampling_phi(scene, fixed, i));
    linear_unit(scan->axis, t.spindle);
    linear_unit_tangent(scan->axis, scan_dot->axis, spindle_dot);
    rotation_tangent(t.spindle, t.angle, spindle_dot, linear_radian(phi_dot), t.spun);
    sampling_drift(scene, fixed, i, t.drift);
    linear_scale(linear_radian(away), scan_dot->drift, drift_dot);
    linear_add(linear_radian(phi_dot - scan_dot->drift_phi), scan->drift, drift_dot);
    if (linear_is_zero(drift_dot)) return t;
    linear_rotation_tangent(t.drift, drift_dot, drifted);
    linear_rotate(t.spindle, t.angle, drifted, drifted);
    linear_add(1, drifted, t.spun);
    return t;
}

/* Rotates the vectors of mosaic_frame() by the rotation of a phi step, and computes the
 * tangents of the rotated vectors. */
static struct mosaic_change turn_spread(const struct mosaic_change *spread,
                                        const struct turn *t)
{
    struct mosaic_change turned;

    for (int i = 0; i < 3; i++) {
        double moved[3];

        linear_rotate_by_vector(t->drift, spread->at[i], turned.at[i]);
        linear_rotate_by_vector(t->drift, spread->dot[i], turned.dot[i]);
        linear_rotate(t->spindle, t->angle, turned.at[i], turned.at[i]);
        linear_rotate(t->spindle, t->angle, turned.dot[i], turned.dot[i]);
        linear_cross(t->spun, turned.at[i], moved);
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

    if (!changes_orientations(scene, dot, out->strain)) {
        memset(out->rotation, 0,
               (size_t)scene->scan.nphi * (size_t)ndomains * sizeof *out->rotation);
        return;
    }
    for (int d = 0; d < ndomains; d++) {
        double rotation[3][3], domain_dot[3];

        for (int p = 0; p < scene->scan.nphi; p++) {
            struct phys_rotation *change =
                out->rotation + (size_t)p * (size_t)ndomains + (size_t)d;
            const struct turn t = turn_at(scene, dot, fixed, p);

            if (turns || p == 0) {
                const struct mosaic_change turned = turn_spread(&spread, &t);

                mosaic_rotation(scene, (const double(*)[3])turned.at, fixed->domain + d,
                                rotation);
                mosaic_rotation_tangent(scene, dot, &turned, fixed->domain + d, domain_dot);
            }
            for (int j = 0; j < 3; j++)
                change->by[j] = domain_dot[j] + linear_dot(rotation[j], t.spun);
            change->weight = mosaic_weight_tangent(scene, dot, d, mean, mean_dot);
        }
    }
}

void scene_derive_tangent(const nb_scene *scene, const nb_scene *dot,
                          const struct scene_fixed *fixed, const struct crystal_axes *axes,
                          const struct phys_frame *frame, struct phys_frame_tangent *out)
{
    crystal_tangent(scene, dot, axes, out);
    continuous_tangent(scene, dot, fixed, axes, out);
    detector_tangent(scene, dot, fixed, out);
    beam_tangent(scene, dot, fixed, out);
    derive_orientations_tangent(scene, dot, fixed, axes, out);
    background_tangent(scene, dot, frame, out);
}
