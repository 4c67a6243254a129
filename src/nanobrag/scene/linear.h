/*
 * linear.h - vectors of three numbers and their rotations, in double, for the host.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_LINEAR_H
#define NB_SCENE_LINEAR_H

#include <math.h>

#define LINEAR_PI 3.14159265358979323846

static inline double linear_radian(double degree)
{
    return degree * (LINEAR_PI / 180);
}

static inline double linear_degree(double radian)
{
    return radian * (180 / LINEAR_PI);
}

static inline double linear_dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline double linear_norm(const double *a)
{
    return sqrt(linear_dot(a, a));
}

static inline int linear_is_zero(const double *a)
{
    return a[0] == 0 && a[1] == 0 && a[2] == 0;
}

static inline void linear_copy(const double *a, double *out)
{
    out[0] = a[0];
    out[1] = a[1];
    out[2] = a[2];
}

static inline void linear_cross(const double *a, const double *b, double *out)
{
    const double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2];
    const double z = a[0] * b[1] - a[1] * b[0];

    out[0] = x;
    out[1] = y;
    out[2] = z;
}

static inline void linear_scale(double s, const double *a, double *out)
{
    out[0] = s * a[0];
    out[1] = s * a[1];
    out[2] = s * a[2];
}

/* out += s a */
static inline void linear_add(double s, const double *a, double *out)
{
    out[0] += s * a[0];
    out[1] += s * a[1];
    out[2] += s * a[2];
}

/* out = a/|a|; 0 for a zero vector */
static inline void linear_unit(const double *a, double *out)
{
    const double n = linear_norm(a);

    linear_scale(n > 0 ? 1 / n : 0, a, out);
}

/* Rotates v by `angle` (radian) about the unit vector k, by Rodrigues' formula. */
static inline void linear_rotate(const double *k, double angle, const double *v,
                                 double *out)
{
    const double c = cos(angle), s = sin(angle);
    const double along = (1 - c) * linear_dot(k, v);
    double across[3], r[3];

    linear_cross(k, v, across);
    linear_scale(c, v, r);
    linear_add(s, across, r);
    linear_add(along, k, r);
    linear_copy(r, out);
}

/* Rotates v about the laboratory's x, then y, then z, by angles in degree. */
static inline void linear_rotate_xyz(const double degree[3], const double *v, double *out)
{
    static const double axis[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double r[3];

    linear_copy(v, r);
    for (int i = 0; i < 3; i++)
        if (degree[i] != 0) linear_rotate(axis[i], linear_radian(degree[i]), r, r);
    linear_copy(r, out);
}

/* out = m v; m is stored by rows */
static inline void linear_apply(const double m[3][3], const double v[3], double out[3])
{
    const double x[3] = {v[0], v[1], v[2]};

    for (int i = 0; i < 3; i++) out[i] = linear_dot(m[i], x);
}

/* Rotates the columns of m by `angle` (radian) about the unit vector k. */
static inline void linear_rotate_columns(const double k[3], double angle, double m[3][3])
{
    for (int j = 0; j < 3; j++) {
        double column[3] = {m[0][j], m[1][j], m[2][j]};

        linear_rotate(k, angle, column, column);
        for (int i = 0; i < 3; i++) m[i][j] = column[i];
    }
}

/* Rotates the columns of m by the smallest rotation that takes the unit vector `from` to
 * `to`, which lies along z. If `from` is opposite to `to`, this is half a turn about y. */
static inline void linear_rotate_to_z(const double from[3], const double to[3],
                                      double m[3][3])
{
    const double along = linear_dot(from, to);
    double axis[3], angle;

    linear_cross(from, to, axis);
    if (linear_is_zero(axis)) {
        for (int i = 0; i < 3 && along < 0; i += 2) linear_scale(-1, m[i], m[i]);
        return;
    }
    angle = atan2(linear_norm(axis), along);
    linear_unit(axis, axis);
    linear_rotate_columns(axis, angle, m);
}

/* Rotates v by the rotation vector r: about r by the angle |r|, radian. */
static inline void linear_rotate_by_vector(const double r[3], const double *v, double *out)
{
    const double t = linear_norm(r), half = sin(t / 2);
    const double a = t > 0 ? sin(t) / t : 1, b = t > 0 ? 2 * (half / t) * (half / t) : 0.5;
    double once[3], twice[3], to[3];

    linear_cross(r, v, once);
    linear_cross(r, once, twice);
    linear_copy(v, to);
    linear_add(a, once, to);
    linear_add(b, twice, to);
    linear_copy(to, out);
}

#endif
