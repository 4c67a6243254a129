/*
 * linear_tangent.h - tangents of the functions of scene/linear.h. X_tangent() is the
 * tangent of X() and takes the tangent of each argument after that argument. `out` may be
 * one of the tangents passed, but not one of the values.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GRAD_LINEAR_TANGENT_H
#define NB_GRAD_LINEAR_TANGENT_H

#include "scene/linear.h"

static inline double linear_dot_tangent(const double *a, const double *a_dot,
                                        const double *b, const double *b_dot)
{
    return linear_dot(a_dot, b) + linear_dot(a, b_dot);
}

static inline void linear_cross_tangent(const double *a, const double *a_dot,
                                        const double *b, const double *b_dot, double *out)
{
    double left[3], right[3];

    linear_cross(a_dot, b, left);
    linear_cross(a, b_dot, right);
    linear_add(1, left, right);
    linear_copy(right, out);
}

/* out += d(s a) */
static inline void linear_add_tangent(double s, double s_dot, const double *a,
                                      const double *a_dot, double *out)
{
    linear_add(s_dot, a, out);
    linear_add(s, a_dot, out);
}

/* out = (a_dot - u (u . a_dot))/|a| with u = a/|a|; 0 for a zero vector */
static inline void linear_unit_tangent(const double *a, const double *a_dot, double *out)
{
    const double n = linear_norm(a), inverse = n > 0 ? 1 / n : 0;
    double unit[3], r[3];

    linear_scale(inverse, a, unit);
    linear_copy(a_dot, r);
    linear_add(-linear_dot(unit, a_dot), unit, r);
    linear_scale(inverse, r, out);
}

/* Computes the tangent of linear_rotate(). k has length 1, and k_dot is normal to k. */
static inline void linear_rotate_tangent(const double *k, const double *k_dot, double angle,
                                         double angle_dot, const double *v,
                                         const double *v_dot, double *out)
{
    const double c = cos(angle), s = sin(angle), kv = linear_dot(k, v);
    const double along = (1 - c) * kv;
    const double along_dot =
        (1 - c) * linear_dot_tangent(k, k_dot, v, v_dot) + s * angle_dot * kv;
    double across[3], across_dot[3], r[3];

    linear_cross(k, v, across);
    linear_cross_tangent(k, k_dot, v, v_dot, across_dot);
    linear_scale(-s * angle_dot, v, r);
    linear_add(c, v_dot, r);
    linear_add_tangent(s, c * angle_dot, across, across_dot, r);
    linear_add_tangent(along, along_dot, k, k_dot, r);
    linear_copy(r, out);
}

/* Computes the tangent of linear_rotate_xyz(). If an angle is 0, v itself is not rotated,
 * but a change of that angle still moves v. */
static inline void linear_rotate_xyz_tangent(const double degree[3],
                                             const double degree_dot[3], const double *v,
                                             const double *v_dot, double *out)
{
    static const double axis[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static const double still[3] = {0, 0, 0};
    double r[3], r_dot[3];

    linear_copy(v, r);
    linear_copy(v_dot, r_dot);
    for (int i = 0; i < 3; i++) {
        linear_rotate_tangent(axis[i], still, linear_radian(degree[i]),
                              linear_radian(degree_dot[i]), r, r_dot, r_dot);
        if (degree[i] != 0) linear_rotate(axis[i], linear_radian(degree[i]), r, r);
    }
    linear_copy(r_dot, out);
}

/* Computes the tangent, as a rotation vector, of the rotation by the vector r
 * (docs/theory.md, 8): a r_dot + b r x r_dot + c r (r . r_dot) with t = |r|, a = sin t/t,
 * b = (1 - cos t)/t^2 and c = (t - sin t)/t^3. For small t, c is a series of 8 terms with a
 * remainder below 1e-19. */
static inline void linear_rotation_tangent(const double r[3], const double r_dot[3],
                                           double rotation[3])
{
    const double t2 = linear_dot(r, r), t = sqrt(t2), half = sin(t / 2);
    const double a = t > 0 ? sin(t) / t : 1, b = t > 0 ? 2 * (half / t) * (half / t) : 0.5;
    double c = 0, across[3];

    if (t2 < 0.5)
        for (int k = 7; k >= 0; k--) c = (1 - t2 * c) / ((2 * k + 2) * (2 * k + 3));
    else
        c = (t - sin(t)) / (t * t2);
    linear_cross(r, r_dot, across);
    linear_scale(a, r_dot, rotation);
    linear_add(b, across, rotation);
    linear_add(c * linear_dot(r, r_dot), r, rotation);
}

static inline void linear_rotate_by_vector_tangent(const double r[3], const double r_dot[3],
                                                   const double *v, const double *v_dot,
                                                   double *out)
{
    double rotation[3], at[3], by_rotation[3], to[3];

    linear_rotation_tangent(r, r_dot, rotation);
    linear_rotate_by_vector(r, v, at);
    linear_rotate_by_vector(r, v_dot, to);
    linear_cross(rotation, at, by_rotation);
    linear_add(1, by_rotation, to);
    linear_copy(to, out);
}

#endif
