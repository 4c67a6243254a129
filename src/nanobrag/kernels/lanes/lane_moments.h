/*
 * lane_moments.h - sums of cotangents over the lanes of a tile, for one pair of source
 * and orientation, one source, the crystal, or the place of the tile on the detector.
 * They are called moments because some are weighted with the lanes' offsets from the
 * middle. It is compiled with lanes_vjp.c, once per instruction set and precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_MOMENTS_H
#define NB_KERNELS_LANES_LANE_MOMENTS_H

#include "kernels/lanes/lane_types.h"

/* The sums over lanes of w F^2, of w dF^2/d(h, k, l), and of the latter times x, y, z; w
 * is the cotangent of F^2. */
struct pair_moments {
    real f2, slope[3], by[3][3];
};

/* The sums for one source: of w dF^2/d(direction) (x, y, z), of its product with the
 * scattering vector times the wavelength (along), of the cotangent of the source's
 * weight (share), and of w F^2 times the square of that vector (square). */
struct source_moments {
    real x, y, z, along, share, square;
};

/* The sums of the cotangents of the samples' places, of these times the offsets from the
 * tile's middle, and of the cotangents of the distances. */
struct place_moments {
    real place[3], fast[3], slow[3], r;
};

struct moments {
    struct pair_moments (*pair)(const struct lanes *l, const struct cotangent *p);

    /* `mid` is the scattering vector of the middle times the wavelength. */
    struct source_moments (*source)(const struct lanes *l, const struct cotangent *p,
                                    struct phys_vec3 mid);

    /* Writes out[k] = sum of w crystal[k], k < n. */
    void (*crystal)(const struct lanes *l, const struct cotangent *p, int n, double *out);

    /* `radial` is 1 where the distance depends on the place, else 0. */
    struct place_moments (*place)(const struct lanes *l, const struct cotangent *p,
                                  real radial);

    /* Returns the sum of photons_bar times the Bragg sum and the factors evaluated once
     * per pixel. */
    double (*photons)(const struct lanes *l, const struct cotangent *p);

    double (*product)(int n, const double *a, const double *b);

    double (*total)(int n, const real *a);

    /* Adds scale a[i] b[i] to to[place[i]]. */
    void (*scatter)(int n, const int *place, const real *a, const real *b, double scale,
                    double *to);
};

/* Returns the cotangent of the place of lane i's sample, from those of its direction and
 * (if `radial` is 1) of its distance. `mid` is the direction of the tile's middle. */
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
