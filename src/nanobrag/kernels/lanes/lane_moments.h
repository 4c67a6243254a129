/*
 * lane_moments.h - sums over the lanes of a tile: their cotangents of a pair of
 * source and orientation, on a source, on the crystal and on the place of the tile.
 * Compiled once per instruction set and precision, with lanes_vjp.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_MOMENTS_H
#define NB_KERNELS_LANES_LANE_MOMENTS_H

#include "kernels/lanes/lane_types.h"

/* w F^2, w times the slopes of F^2 in h, k, l, and these times x, y, z */
struct pair_moments {
    real f2, slope[3], by[3][3];
};

/* of the slopes in the direction, along the scattering vector too; of the share of the
 * source; of F^2 times the square of the scattering vector */
struct source_moments {
    real x, y, z, along, share, square;
};

/* cotangents of the place of a sample, and their moments about the tile's middle */
struct place_moments {
    real place[3], fast[3], slow[3], r;
};

struct moments {
    struct pair_moments (*pair)(const struct lanes *l, const struct cotangent *p);

    /* `mid`: scattering vector of the middle times the wavelength */
    struct source_moments (*source)(const struct lanes *l, const struct cotangent *p,
                                    struct phys_vec3 mid);

    /* out[k] = sum of w crystal[k], k < n */
    void (*crystal)(const struct lanes *l, const struct cotangent *p, int n, double *out);

    /* `radial`: 1 where the distance depends on the place */
    struct place_moments (*place)(const struct lanes *l, const struct cotangent *p,
                                  real radial);

    /* photons_bar times the factors that all samples of a pixel share and their sum */
    double (*photons)(const struct lanes *l, const struct cotangent *p);

    double (*product)(int n, const double *a, const double *b);

    double (*total)(int n, const real *a);

    /* to[place[i]] += scale a[i] b[i] */
    void (*scatter)(int n, const int *place, const real *a, const real *b, double scale,
                    double *to);
};

/* what the place of the sample of lane i gets from its direction, and from its distance
 * where `radial` is 1; `mid`: direction of the tile's middle */
PHYS_FN struct phys_vec3 lane_place_bar(const struct lanes *l, const struct cotangent *p,
                                        int i, struct phys_vec3 mid, real per_r,
                                        real radial)
{
    const struct phys_vec3 d = phys_vec3(mid.x + l->x[i], mid.y + l->y[i], mid.z + l->z[i]);
    const struct phys_vec3 d_bar = phys_vec3(p->dx[i], p->dy[i], p->dz[i]);
    const real per = per_r / l->ratio[i];
    const real along = radial * p->r[i] - per * phys_dot(d, d_bar);

    return phys_axpy(along, d, phys_scale(per, d_bar));
}

#define MOMENTS_JOINED(kernels) kernels##_moments
#define MOMENTS_OF(kernels)     MOMENTS_JOINED(kernels)
#define MOMENTS                 MOMENTS_OF(KERNELS)
extern const struct moments MOMENTS;

#endif
