/*
 * broad.c - the widths of the spots of a continuous crystal (continuous.h), as variances
 * and covariances (docs/theory.md, 16).
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "scene/continuous/continuous.h"
#include "scene/linear.h"
#include "scene/mosaic.h"
#include "scene/sampling.h"

double continuous_half_range(const nb_scene *scene, const struct scene_fixed *fixed)
{
    if (scene->scan.step != 0) return 0; /* phi is a sum over steps */
    return fabs(sampling_step(&fixed->phi, scene->scan.osc)) / 2;
}

double continuous_divergence_variance(const nb_scene *scene, int i)
{
    const nb_beam *b = &scene->beam;

    if (b->nsource > 0 || b->ndivergence[i] != 1) return 0;
    /* Directions that fill a line or a rectangle evenly have the variance 1/12, directions
     * that fill an ellipse 1/16. */
    return b->square_divergence || b->divergence[1 - i] == 0 || b->ndivergence[1 - i] != 1
               ? 1.0 / 12
               : 1.0 / 16;
}

/* Computes the covariance of the mosaic rotations as coefficients of products of the axes
 * (docs/theory.md, 9). With the reciprocal axes r_i, the spreads T and w_i =
 * MOSAIC_OF_SPREAD T r_i, the coefficients are w_i . w_i for squares and 2 w_i . w_j for
 * mixed products. */
static void spread_of(const nb_scene *scene, const struct crystal_axes *axes,
                      double spread[6])
{
    double frame[3][3], wide[3][3];

    mosaic_frame(axes, frame);
    for (int i = 0; i < 3; i++)
        mosaic_apply(scene, (const double(*)[3])frame, MOSAIC_OF_SPREAD, axes->star[i],
                     wide[i]);
    for (int i = 0; i < 3; i++) {
        const int j = i == 2 ? 1 : 0, k = i == 0 ? 1 : 2; /* ab, ac, bc */

        spread[i] = linear_dot(wide[i], wide[i]);
        spread[3 + i] = 2 * linear_dot(wide[j], wide[k]);
    }
}

/* Adds the covariance of directions that deviate by a random angle of this variance,
 * radian^2; u is the change of the direction per radian. */
static void add_directions(double variance, const double u[3], double divergence[6])
{
    for (int i = 0; i < 3; i++) {
        const int j = i == 2 ? 1 : 0, k = i == 0 ? 1 : 2; /* xy, xz, yz */

        divergence[i] += variance * u[i] * u[i];
        divergence[3 + i] += 2 * variance * u[j] * u[k];
    }
}

static void divergence_of(const nb_scene *scene, const struct scene_fixed *fixed,
                          double divergence[6])
{
    const nb_beam *b = &scene->beam;
    double beam[3], axis[3], vertical[3], along[2][3];

    linear_unit(b->direction, beam);
    linear_unit(b->polarization_axis, axis);
    linear_cross(beam, axis, vertical);
    linear_unit(vertical, vertical);
    linear_cross(vertical, beam, along[0]);
    linear_cross(axis, beam, along[1]);
    for (int i = 0; i < 2; i++) {
        const double width = b->divergence[i] / 1000;

        add_directions(fixed->divergence_variance[i] * width * width, along[i], divergence);
    }
}

void continuous_broad(const nb_scene *scene, const struct scene_fixed *fixed,
                      const struct crystal_axes *axes, struct phys_broad *out)
{
    const nb_crystal *c = &scene->crystal;
    const nb_beam *b = &scene->beam;
    const double middle = scene->scan.phi0 + scene->scan.osc / 2;
    double spindle[3];

    memset(out, 0, sizeof *out);
    out->half_range = linear_radian(continuous_half_range(scene, fixed));
    linear_unit(scene->scan.axis, spindle);
    linear_rotate(spindle, linear_radian(middle), scene->scan.drift, out->spindle);
    linear_add(1, spindle, out->spindle);
    spread_of(scene, axes, out->spread);
    out->tail = c->mosaic_tail;
    out->tail_width = c->mosaic_tail_width;
    out->spacing = c->strain;
    out->size = c->crystal_size / 1000;
    if (b->nsource == 0 && b->ndispersion == 1) out->line = b->dispersion / sqrt(12);
    divergence_of(scene, fixed, out->divergence);
}
