/* vec3.h - vectors of three reals and their arithmetic. SPDX-License-Identifier: MIT */
#ifndef NB_PHYSICS_VEC3_H
#define NB_PHYSICS_VEC3_H

#include "phys.h"

struct phys_vec3 {
    real x, y, z;
};

PHYS_FN struct phys_vec3 phys_vec3(real x, real y, real z)
{
    struct phys_vec3 r;

    r.x = x;
    r.y = y;
    r.z = z;
    return r;
}

/* Converts three doubles to a vector in `real`. */
PHYS_FN struct phys_vec3 phys_load(const double *v)
{
    return phys_vec3((real)v[0], (real)v[1], (real)v[2]);
}

PHYS_FN real phys_dot(struct phys_vec3 a, struct phys_vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

PHYS_FN struct phys_vec3 phys_scale(real s, struct phys_vec3 a)
{
    return phys_vec3(s * a.x, s * a.y, s * a.z);
}

/* Returns s a + b. */
PHYS_FN struct phys_vec3 phys_axpy(real s, struct phys_vec3 a, struct phys_vec3 b)
{
    return phys_vec3(s * a.x + b.x, s * a.y + b.y, s * a.z + b.z);
}

PHYS_FN struct phys_vec3 phys_cross(struct phys_vec3 a, struct phys_vec3 b)
{
    return phys_vec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

#endif
