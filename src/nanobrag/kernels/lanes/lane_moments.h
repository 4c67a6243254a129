/*
 * lane_moments.h - sums of cotangents over the lanes of a tile: for one pair of source and
 * orientation, for one source, or for the place of the tile on the detector. They are
 * called moments because the lanes' offsets from the tile's middle multiply some of them.
 * The file is compiled with lanes_vjp.c, once per instruction set and precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_MOMENTS_H
#define NB_KERNELS_LANES_LANE_MOMENTS_H

#include "kernels/lanes/lane_types.h"
#include "physics/displacement.h"

/* The sums over lanes of w F^2 (f2), of w dF^2/d(h, k, l) (slope), and of each slope times
 * x, y and z (by); w is the cotangent of F^2. */
struct pair_moments {
    real f2, slope[3], by[3][3];
};

/* The terms that one lane adds to the cotangents of a source and of B, or their sums over
 * lanes. */
struct source_terms {
    struct phys_vec3 direction;
    real inverse_wavelength, weight, displacement;
};

/* Sums over lanes: of the cotangents v of the samples' places (place), of v times the
 * offset from the tile's middle along either axis (fast, slow), and of the cotangents of
 * the distances (r). */
struct place_moments {
    real place[3], fast[3], slow[3], r;
};

#ifndef PHYS_SINGLE
/* Sums over simple pixels (lane_pixels.h): place, fast and slow as in place_moments; the
 * cotangents of Kahn's factor K and of the vectors of the polarization; and omega, the
 * cotangent of the solid angle times the solid angle. */
struct pixel_sums {
    double place[3], fast[3], slow[3], kahn, incident[3], e[3], b[3], omega;
};

/* Numbers that all pixels share: Kahn's factor K and the vectors of the first source's
 * polarization, and `power`, the exponent of the distance in the solid angle. */
struct pixel_frame {
    double polarised, kahn, power; /* polarised: 1, or 0 if the polarization is 1 */
    struct phys_vec3 incident, e, b;
};
#endif

struct moments {
    struct pair_moments (*pair)(const struct lanes *l, const struct cotangent *p);

    struct source_terms (*source)(const struct lanes *l, const struct cotangent *p,
                                  const struct phys_source *source);

    /* Writes out[k] = sum over lanes of w a[k], k < count. */
    void (*products)(int n, const real *w, int count, real *const *a, double *out);

    /* Returns the sums over lanes of the cotangents of the samples' places on the detector.
     * `radial` is 1 if the distance from the crystal depends on the place, and 0 on a
     * curved detector, where it is the same for all samples. */
    struct place_moments (*place)(const struct lanes *l, const struct cotangent *p,
                                  real radial);

    double (*product)(int n, const double *a, const double *b);

    double (*total)(int n, const real *a);

    /* Adds scale a[i] b[i] to to[place[i]]. */
    void (*scatter)(int n, const int *place, const real *a, const real *b, double scale,
                    double *to);
#ifndef PHYS_SINGLE
    /* bright[i] is the cotangent of the solid angle times the polarization in pixel i. */
    void (*pixels)(const struct lanes *l, const struct pixel_frame *frame,
                   const double *bright, struct pixel_sums *out);
#endif
};

/* Returns the cotangent of the place of lane i's sample, from the cotangents of its
 * direction and, if `radial` is 1, of its distance. `mid` is the direction of the tile's
 * middle, per_r one over the distance of the middle, 1/m. */
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

/* Returns what lane i adds to the cotangents of a source and of B, from the sums over the
 * orientations. `mid` is the scattering vector of the tile's middle times the wavelength,
 * `unit` one over the wavelength. */
PHYS_FN struct source_terms lane_source_terms(const struct lanes *l,
                                              const struct cotangent *p, int i,
                                              struct phys_vec3 mid, real unit)
{
    const struct phys_vec3 way =
        phys_vec3(mid.x + l->x[i], mid.y + l->y[i], mid.z + l->z[i]);
    const struct phys_vec3 slope = phys_vec3(p->x[i], p->y[i], p->z[i]);
    struct source_terms t;

    t.direction = phys_scale(-p->w[i], slope);
    t.inverse_wavelength = p->w[i] * phys_dot(slope, way) * (1 / unit);
    t.weight = p->objective[i] * p->fall[i] * l->sum[i] * p->polar[i] * l->weight[i];
    t.displacement =
        phys_displacement_vjp(p->w[i] * l->sum[i] * (unit * unit) * phys_dot(way, way));
    return t;
}

#define MOMENTS_JOINED(kernels) kernels##_moments
#define MOMENTS_OF(kernels)     MOMENTS_JOINED(kernels)
#define MOMENTS                 MOMENTS_OF(KERNELS)
extern const struct moments MOMENTS;

#endif
