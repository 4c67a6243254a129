/*
 * mosaic.c - places the mosaic domains once, for a spread of 1, so that the spread can be a
 * parameter (docs/theory.md, 9). SPDX-License-Identifier: MIT
 */
#include "scene/mosaic.h"

#include <math.h>

#include "base/context.h"
#include "scene/linear.h"

/* The variance of a component of the rotation vectors of domains, for a spread of 1: E[(1 -
 * u^2)^(2/3)] / 3 = gamma(1/2) gamma(5/3) / (6 gamma(13/6)). */
static const double cap_variance = 0.24639138659331338;

/* Draws the rotation of a domain from three uniform numbers, as nanoBragg does, for a
 * spread of 1. The axis is uniform on the sphere, and the angle is (1 - r3^2)^(1/3). Each
 * step of the angle is rounded to float. */
static struct scene_domain draw_domain(struct random_stream *random)
{
    const double r1 = 2 * (double)random_uniform(random) - 1;
    const double r2 = 2 * (double)random_uniform(random) - 1;
    const double r3 = 2 * (double)random_uniform(random) - 1;
    const double z = sqrt(1 - r2 * r2);
    struct scene_domain d;

    d.axis[0] = z * sin(LINEAR_PI * r1);
    d.axis[1] = z * cos(LINEAR_PI * r1);
    d.axis[2] = r2;
    d.angle = (double)(float)pow((double)(float)(1 - r3 * r3), (double)(1.0F / 3));
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

/* Starts a stream and draws a uniform rotation from its second to fourth number, by
 * Shoemake's unit quaternion (Graphics Gems III, 1992). The first number is skipped
 * because, over all seeds, it is below 1/32 twice too often: the first entry of the
 * generator's table chooses the entry to draw, and may choose itself. */
static void uniform_rotation(struct random_stream *random, int64_t seed,
                             double rotation[3][3])
{
    double u, t, p, x, y, z, w;

    random_seed(random, seed);
    (void)random_uniform(random);
    u = (double)random_uniform(random);
    t = 2 * LINEAR_PI * (double)random_uniform(random);
    p = 2 * LINEAR_PI * (double)random_uniform(random);
    x = sqrt(1 - u) * sin(t), y = sqrt(1 - u) * cos(t);
    z = sqrt(u) * sin(p), w = sqrt(u) * cos(p);
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

    if (quirk) {
        struct scene_domain d;

        random_seed_quirk(random, seed);
        d = draw_domain(random);
        matrix_of(d.axis, angle_of(&d, 90, 1), u);
    } else
        uniform_rotation(random, seed, u);
    if (u[2][0] * u[2][0] < 1) {
        misset[0] = atan2(u[2][1], u[2][2]);
        misset[1] = atan2(-u[2][0], sqrt(u[2][1] * u[2][1] + u[2][2] * u[2][2]));
        misset[2] = atan2(u[1][0], u[0][0]);
    } else { /* a rotation of 90 degrees about y makes the axes x and z coincide */
        misset[0] = LINEAR_PI;
        misset[1] = LINEAR_PI / 2;
        misset[2] = atan2(u[0][1], -u[1][1]);
    }
    for (int i = 0; i < 3; i++) misset[i] = linear_degree(misset[i]);
}

/* Returns the sum over n domains of the product of components i and j of their rotation
 * vectors. */
static double product(const struct scene_domain *domain, int n, int i, int j)
{
    double sum = 0;

    for (int k = 0; k < n; k++) sum += domain[k].axis[i] * domain[k].axis[j];
    return sum;
}

/* Changes the rotation vectors in `axis` linearly, until their mean is 0 and their
 * covariance is cap_variance times the unit matrix, by the method of Gram and Schmidt over
 * the components. The second pass removes the rounding errors of the first. */
static void balance(struct scene_domain *domain, int n)
{
    for (int i = 0; i < 3; i++)
        for (int pass = 0; pass < 2; pass++) {
            double mean = 0, scale;

            for (int k = 0; k < n; k++) mean += domain[k].axis[i] / n;
            for (int k = 0; k < n; k++) domain[k].axis[i] -= mean;
            for (int j = 0; j < i; j++) {
                const double share = product(domain, n, i, j) / (n * cap_variance);

                for (int k = 0; k < n; k++) domain[k].axis[i] -= share * domain[k].axis[j];
            }
            scale = sqrt(n * cap_variance / product(domain, n, i, i));
            for (int k = 0; k < n; k++) domain[k].axis[i] *= scale;
        }
}

/* Writes n evenly placed rotation vectors for a spread of 1 to `axis` (docs/theory.md, 9).
 * The z of a vector and the fractional parts of multiples of two irrational numbers, the
 * golden ratio and the root of 3, fill a cube evenly; 64-bit integers keep the fractions
 * exact. From four domains on, mean and covariance are then made exact. Two and three
 * domains have the exact mean and sum of variances, and a single domain is not rotated. */
static void fill_cap(struct random_stream *random, int n, struct scene_domain *domain)
{
    const uint64_t golden = 0x9e3779b97f4a7c15U, root = 0xbb67ae8584caa73bU;
    const uint64_t start = (uint64_t)((double)random_uniform(random) * 0x1p64);

    for (int k = 0; k < n; k++) {
        double *v = domain[k].axis;
        double turn = (double)((golden * (uint64_t)k) >> 11) * 0x1p-53;
        double t = (double)((start + root * (uint64_t)k) >> 11) * 0x1p-53;
        double angle = cbrt(4 * t * (1 - t)), z = (2.0 * k + 1) / n - 1;

        if (n < 4) {
            turn = (double)k / n;
            angle = n > 1 ? sqrt(3 * cap_variance) : 0;
            z = 0;
        }
        v[0] = angle * sqrt(1 - z * z) * cos(2 * LINEAR_PI * turn);
        v[1] = angle * sqrt(1 - z * z) * sin(2 * LINEAR_PI * turn);
        v[2] = angle * z;
    }
    if (n >= 4) balance(domain, n);
}

void mosaic_fill(const nb_scene *scene, struct random_stream *random,
                 struct scene_domain *domain)
{
    const int n = scene->crystal.ndomains;
    double rotation[3][3];

    if (scene->quirks & NB_QUIRK_MOSAIC_F32) {
        random_seed_quirk(random, scene->crystal.mosaic_seed);
        for (int i = 0; i < n; i++) domain[i] = draw_domain(random);
        domain[0].angle = 0;
        return;
    }
    uniform_rotation(random, scene->crystal.mosaic_seed, rotation);
    fill_cap(random, n, domain);
    for (int i = 0; i < n; i++) {
        static const double any[3] = {0, 0, 1};
        double v[3];

        for (int j = 0; j < 3; j++) v[j] = linear_dot(rotation[j], domain[i].axis);
        domain[i].angle = linear_norm(v);
        linear_unit(domain[i].angle > 0 ? v : any, domain[i].axis);
    }
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

/* Tests that all principal minors of the matrix are 0 or more, within rounding. */
int mosaic_is_definite(const nb_crystal *c)
{
    const double *t = c->mosaic, *off = c->mosaic_off;
    const double ab = off[0], ac = off[1], bc = off[2];
    const double least = -1e-9 * (t[0] + t[1] + t[2]), size = t[0] + t[1] + t[2];
    const double volume = t[0] * (t[1] * t[2] - bc * bc) - ab * (ab * t[2] - bc * ac)
                          + ac * (ab * bc - t[1] * ac);

    if (linear_is_zero(off)) return 1;
    return t[0] >= 0 && t[1] >= 0 && t[2] >= 0 && t[0] * t[1] - ab * ab >= least * size
           && t[0] * t[2] - ac * ac >= least * size && t[1] * t[2] - bc * bc >= least * size
           && volume >= least * size * size;
}

nb_status mosaic_check(nb_context *ctx, const nb_crystal *c, nb_status refused)
{
    if (mosaic_is_definite(c)) return NB_OK;
    return fail(ctx, refused,
                "-mosaic_tensor %g %g %g %g %g %g is not positive semi-definite: about "
                "some "
                "axis the spread would be negative",
                c->mosaic[0], c->mosaic[1], c->mosaic[2], c->mosaic_off[0],
                c->mosaic_off[1], c->mosaic_off[2]);
}

/* The first spread acts in all directions. The second and third act along their own axes,
 * by their difference from the first. An element off the diagonal couples two axes: it adds
 * the component of v along each of them to the other. */
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
