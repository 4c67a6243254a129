/*
 * spot_rows.h - the rows of a tile's Jacobian from the samples of its spots.
 *
 * All samples of a spot belong to one reflection. With x the indices counted from it, F^2
 * depends on the frame through x^T G x, G the metric, and along a tangent the change of
 * F^2 is a quadratic form in x, whose coefficients are the spot's. So a sample costs ten
 * products for each tangent; eight tangents are processed at a time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_ROWS_SPOT_ROWS_H
#define NB_KERNELS_SPOTS_ROWS_SPOT_ROWS_H

#include <stddef.h>

#include "kernels/derivatives/tile_jacobian.h"

/* A spot of one pair of source and orientation: the rectangle of samples that it covers in
 * a tile, counted from the tile's corner. There is no sensor, so there is one layer. */
struct tile_spot {
    int source, orientation, hkl[3];
    unsigned short tile; /* number of the tile in its row of tiles */
    unsigned short fast, slow, width, height;
};

enum { ROW_BLOCK = 8 };

/* A block of tangents along which the sums of F^2 change, apart from changes of the
 * samples' places. Each array has one number per tangent. */
struct row_block {
    int n, which[ROW_BLOCK]; /* numbers of the tangents */
    int turns, shines; /* turns: 1 if an orientation rotates; shines: 1 if a weight, a
                          source, fudge or B changes */
    double strain[9][ROW_BLOCK], metric[6][ROW_BLOCK];
    double fudge[ROW_BLOCK], b_factor[ROW_BLOCK];
};

/* The changes of a sample's place along a tangent: place + f fast + s slow for a sample f
 * and s sub-pixels from the detector's corner, m. */
struct row_place {
    int which;
    double place[3], fast[3], slow[3];
};

/* The changes of the factors that a pixel takes once. relative: relative change of the
 * spots' photons. more: change of row_tangents.scale. amorphous: change of the amorphous
 * photons over solid angle and polarization, for a constant F. kahn, source: changes of the
 * numbers from which the polarization is computed; polar: 1 if any of them is not 0. */
struct row_factor {
    int which;
    double relative, more, amorphous, kahn, polar;
    struct phys_source source;
};

/* How the indices of an orientation change by a rotation: turn[3 i + j] is axis i
 * times reciprocal axis j, a cross product. */
struct row_turn {
    double turn[9][3];
};

/* The numbers that all tiles share. */
struct row_tangents {
    const struct tangents *along;
    int nblocks, nplaces, nfactors;
    int moments; /* 1: several samples of a pixel, and the detector turns or is enlarged */
    struct row_block *block; /* (nblocks) */
    struct row_place *place; /* (nplaces) */
    struct row_factor *factor; /* (nfactors) */
    struct row_turn *turn; /* (orientations) */
    double scale; /* photons of a sum of F^2, without solid angle and polarization */
    double least; /* share of a spot's peak below which a sample is left out */
};

/* Numbers of a pixel besides the tangents' numbers: its sum of F^2, the cotangents of its
 * samples' places, and the moments of these cotangents. */
enum { ROW_OWN = 1, ROW_PLACE = 3, ROW_MOMENTS = 9 };

/* The spots of a tile. */
struct spot_list {
    const struct tile_spot *spot; /* spots of this tile and of other tiles */
    const unsigned *which; /* (n) numbers of the tile's spots */
    size_t n;
};

/* Computes the photons of a part of a tile from the samples of its spots, and change[d
 * TILE_PIXELS + i] along each tangent; the amorphous material is left out. Adds to
 * `columns` unless NULL, and stops early when they are full. `workspace` is as in
 * tile_jacobian(). */
typedef void spot_rows(const struct job *job, const struct tile *part,
                       const struct row_tangents *of, const struct spot_list *spots,
                       void *workspace, struct columns *columns, double *photons,
                       double *change);

#define SPOT_ROWS_JOINED(kernels) kernels##_spot_rows
#define SPOT_ROWS_OF(kernels)     SPOT_ROWS_JOINED(kernels)
#define SPOT_ROWS                 SPOT_ROWS_OF(KERNELS_IN_DOUBLE)
#ifdef KERNELS_IN_DOUBLE
extern spot_rows SPOT_ROWS;
#endif

#endif
