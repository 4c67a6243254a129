/*
 * mosaic.c - draws the mosaic domains once, for a spread of 1, so that the spread can be a
 * parameter (docs/theory.md, 9). SPDX-License-Identifier: MIT
 */
#include "scene/mosaic.h"

#include <math.h>

#include "scene/linear.h"

/* Draws a rotation from three uniforms: the axis is uniform on the sphere, and the angle
 * fills a cap evenly. With `quirk` each step of the angle is rounded to float. */
static struct scene_domain draw_domain(struct random_stream *random, int quirk)
{
    const double r1 = 2 * (double)random_uniform(random) - 1;
    const double r2 = 2 * (double)random_uniform(random) - 1;
    const double r3 = 2 * (double)random_uniform(random) - 1;
    const double z = sqrt(1 - r2 * r2);
    struct scene_domain d;

    d.axis[0] = z * sin(LINEAR_PI * r1);
    d.axis[1] = z * cos(LINEAR_PI * r1);
    d.axis[2] = r2;
    if (quirk)
        d.angle = (double)(float)pow((double)(float)(1 - r3 * r3), (double)(1.0F / 3));
    else
        d.angle = cbrt(1 - r3 * r3);
    return d;
}

static double angle_of(const struct scene_domain *domain, double spread, int quirk)
{
    if (quirk) return (double)((float)spread * (float)domain->angle);
    return spread * domain->angle;
}

static void matrix_of(const double axis[3], double angle, double rotation[3][3])
{
    static const double unit[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

    for (int i = 0; i < 3; i++) {
        double column[3];

        linear_rotate(axis, angle, unit[i], column);
        for (int j = 0; j < 3; j++) rotation[j][i] = column[j];
    }
}

static void start_stream(struct random_stream *random, int64_t seed, int quirk)
{
    if (quirk)
        random_seed_quirk(random, seed);
    else
        random_seed(random, seed);
}

/* Draws a uniform rotation from three uniforms, by Shoemake's unit quaternion (Graphics
 * Gems III, 1992). */
static void uniform_rotation(struct random_stream *random, double rotation[3][3])
{
    const double u = (double)random_uniform(random);
    const double t = 2 * LINEAR_PI * (double)random_uniform(random);
    const double p = 2 * LINEAR_PI * (double)random_uniform(random);
    const double x = sqrt(1 - u) * sin(t), y = sqrt(1 - u) * cos(t);
    const double z = sqrt(u) * sin(p), w = sqrt(u) * cos(p);

    rotation[0][0] = 1 - 2 * (y * y + z * z);
    rotation[0][1] = 2 * (x * y - z * w);
    rotation[0][2] = 2 * (x * z + y * w);
    rotation[1][0] = 2 * (x * y + z * w);
    rotation[1][1] = 1 - 2 * (x * x + z * z);
    rotation[1][2] = 2 * (y * z - x * w);
    rotation[2][0] = 2 * (x * z - y * w);
    rotation[2][1] = 2 * (y * z + x * w);
    rotation[2][2] = 1 - 2 * (x * x + y * y);
}

void mosaic_random_misset(int64_t seed, int quirk, struct random_stream *random,
                          double misset[3])
{
    double u[3][3];

    start_stream(random, seed, quirk);
    if (quirk) {
        const struct scene_domain d = draw_domain(random, 1);

        matrix_of(d.axis, angle_of(&d, 90, 1), u);
    } else {
        /* The first number is skipped because, over all seeds, it falls below 1/32 twice
         * too often: the first entry of the table chooses the entry to draw, and may
         * choose itself. */
        (void)random_uniform(random);
        uniform_rotation(random, u);
    }
    if (u[2][0] * u[2][0] < 1) {
        misset[0] = atan2(u[2][1], u[2][2]);
        misset[1] = atan2(-u[2][0], sqrt(u[2][1] * u[2][1] + u[2][2] * u[2][2]));
        misset[2] = atan2(u[1][0], u[0][0]);
    } else { /* at 90 degrees about y, the rotations about x and z have the same axis */
        misset[0] = LINEAR_PI;
        misset[1] = LINEAR_PI / 2;
        misset[2] = atan2(u[0][1], -u[1][1]);
    }
    for (int i = 0; i < 3; i++) misset[i] = linear_degree(misset[i]);
}

void mosaic_fill(const nb_scene *scene, struct random_stream *random,
                 struct scene_domain *domain)
{
    const int quirk = (scene->quirks & NB_QUIRK_MOSAIC_F32) != 0;

    start_stream(random, scene->crystal.mosaic_seed, quirk);
    for (int i = 0; i < scene->crystal.ndomains; i++)
        domain[i] = draw_domain(random, quirk);
    domain[0].angle = 0;
}

void mosaic_frame(const struct crystal_axes *axes, double frame[3][3])
{
    linear_unit(axes->real[0], frame[0]);
    linear_unit(axes->star[2], frame[2]);
    linear_cross(frame[2], frame[0], frame[1]);
}

int mosaic_is_anisotropic(const nb_scene *scene)
{
    return (scene->given & NB_GIVEN_MOSAIC_AXES) != 0;
}

void mosaic_resolve(nb_scene *scene)
{
    double *spread = scene->crystal.mosaic;

    if (mosaic_is_anisotropic(scene) || linear_is_zero(scene->crystal.mosaic_off)) return;
    if (spread[1] == 0 && spread[2] == 0) spread[1] = spread[2] = spread[0];
    scene->given |= NB_GIVEN_MOSAIC_AXES;
}

/* The first spread acts in all directions, the differences of the others along their own,
 * the elements off the diagonal along one for each other. */
void mosaic_apply(const nb_scene *scene, const double frame[3][3], double factor,
                  const double v[3], double out[3])
{
    const double *spread = scene->crystal.mosaic, *off = scene->crystal.mosaic_off;
    const int others = mosaic_is_anisotropic(scene);

    linear_scale(linear_radian(spread[0]) * factor, v, out);
    for (int k = 1; k < 3 && others; k++)
        linear_add(linear_radian(spread[k] - spread[0]) * factor * linear_dot(frame[k], v),
                   frame[k], out);
    for (int i = 0; i < 3; i++) {
        const int j = i == 2 ? 1 : 0, k = i == 0 ? 1 : 2; /* ab, ac, bc */

        if (off[i] == 0) continue;
        linear_add(linear_radian(off[i]) * factor * linear_dot(frame[k], v), frame[j], out);
        linear_add(linear_radian(off[i]) * factor * linear_dot(frame[j], v), frame[k], out);
    }
}

void mosaic_rotation(const nb_scene *scene, const double frame[3][3],
                     const struct scene_domain *domain, double rotation[3][3])
{
    static const double unit[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const int quirk = (scene->quirks & NB_QUIRK_MOSAIC_F32) != 0;
    const double *mosaic = scene->crystal.mosaic;
    const double spread = linear_radian(mosaic[0]);

    if (mosaic_is_anisotropic(scene)
        && (mosaic[1] != mosaic[0] || mosaic[2] != mosaic[0]
            || !linear_is_zero(scene->crystal.mosaic_off))) {
        double vector[3], column[3];

        mosaic_apply(scene, frame, domain->angle, domain->axis, vector);
        for (int i = 0; i < 3; i++) {
            linear_rotate_by_vector(vector, unit[i], column);
            for (int j = 0; j < 3; j++) rotation[j][i] = column[j];
        }
        return;
    }
    matrix_of(domain->axis, angle_of(domain, spread, quirk), rotation);
}

double mosaic_sum_weights(const double *weight, int ndomains)
{
    double sum = 0;

    for (int i = 0; i < ndomains; i++) sum += weight[i];
    return sum;
}

double mosaic_mean_weight(const nb_scene *scene)
{
    const nb_crystal *c = &scene->crystal;

    if (!c->domain_weight) return 1;
    return mosaic_sum_weights(c->domain_weight, c->ndomains) / c->ndomains;
}

double mosaic_weight(const nb_scene *scene, int d, double mean)
{
    return scene->crystal.domain_weight ? scene->crystal.domain_weight[d] / mean : 1;
}
