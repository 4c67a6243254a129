/*
 * lane_moments.h - sums over the lanes of a tile: what they pull together on a pair of
 * source and orientation, on a source, on the crystal and on the place of the tile.
 * Compiled once per instruction set and precision, with lanes_vjp.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANE_MOMENTS_H
#define NB_KERNELS_LANE_MOMENTS_H

#include "kernels/lane_types.h"

#define NAME_JOINED(kernels, name) kernels##_##name
#define NAME_OF(kernels, name)     NAME_JOINED(kernels, name)
#define pair_sums                  NAME_OF(KERNELS, pair_sums)
#define source_sums                NAME_OF(KERNELS, source_sums)
#define crystal_sums               NAME_OF(KERNELS, crystal_sums)
#define place_sums                 NAME_OF(KERNELS, place_sums)
#define photon_sum                 NAME_OF(KERNELS, photon_sum)
#define product_sum                NAME_OF(KERNELS, product_sum)

/* w F^2, w times the slopes of F^2 in h, k, l, and these times x, y, z */
struct pair_moments {
    real f2, slope[3], by[3][3];
};
struct pair_moments pair_sums(const struct lanes *l, const struct pulled *p);

/* of the slopes in the direction, along the scattering vector too; of the share of the
 * source; of F^2 times the square of the scattering vector. `mid`: that of the middle, per
 * 1/wavelength */
struct source_moments {
    real x, y, z, along, share, square;
};
struct source_moments source_sums(const struct lanes *l, const struct pulled *p,
                                  struct phys_vec3 mid);

/* out[k] = sum of w crystal[k], k < n */
void crystal_sums(const struct lanes *l, const struct pulled *p, int n, real *out);

/* cotangents of the place of a sample, and their moments about the tile's middle; `radial`:
 * 1 where the distance depends on the place */
struct place_moments {
    real place[3], fast[3], slow[3], r;
};
struct place_moments place_sums(const struct lanes *l, const struct pulled *p, real radial);

/* photons_bar times the factors that all samples of a pixel share and their sum */
double photon_sum(const struct lanes *l, const struct pulled *p);

double product_sum(int n, const double *a, const double *b);

#endif
