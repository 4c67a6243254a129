/*
 * spot_rows.h - the rows of a tile's Jacobian from the samples of its spots.
 *
 * All samples of a spot belong to one reflection. Let x be the indices of a sample, counted
 * from it. F^2 depends on the frame through x^T G x, where G is the metric. Its derivative
 * along a tangent is a quadratic form in x with coefficients that belong to the spot. So a
 * sample costs ten products for each tangent; eight tangents are processed at a time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_ROWS_SPOT_ROWS_H
#define NB_KERNELS_SPOTS_ROWS_SPOT_ROWS_H

#include <stddef.h>

#include "kernels/derivatives/tile_jacobian.h"

/* The rectangle of samples that a spot of one pair of source and orientation covers in a
 * tile, counted from the tile's corner. There is no sensor here, so there is one layer. */
struct tile_spot {
    int source, orientation, hkl[3];
    unsigned short tile; /* number of the tile within its row of tiles */
    unsigned short fast, slow, width, height; /* sub-pixels */
};

enum { ROW_BLOCK = 8 };

/* A block of tangents that change the sums of F^2 by other numbers than the places of the
 * samples. Each array has one number per tangent. */
struct row_block {
    int n, which[ROW_BLOCK]; /* indices of the tangents */
    int turns, shines; /* 1 if an orientation rotates; 1 if a weight, a source, fudge or B
                          changes */
    double strain[9][ROW_BLOCK], metric[6][ROW_BLOCK];
    double fudge[ROW_BLOCK], b_factor[ROW_BLOCK];
};

/* The change of a sample's place along a tangent, m: place + f fast + s slow for a sample f
 * and s sub-pixels from the detector's corner. */
struct row_place {
    int which;
    double place[3], fast[3], slow[3];
};

/* The change of the factors of a pixel along a tangent. relative: relative change of the
 * photons of spots. more: change of row_tangents.scale. amorphous: change of the amorphous
 * photons over solid angle and polarization, for a constant F. kahn, source: changes of the
 * numbers from which the polarization is computed; polar: 1 if any of these is not 0. */
struct row_factor {
    int which;
    double relative, more, amorphous, kahn, polar;
    struct phys_source source;
};

/* How the indices of an orientation change by a rotation vector w: index i changes by the
 * sum over j of w . turn[3 i + j] times index j. turn is axis i x reciprocal axis j. */
struct row_turn {
    double turn[9][3];
};

/* The numbers of the tangents that all tiles of a panel share. */
struct row_tangents {
    const struct tangents *along;
    int nblocks, nplaces, nfactors;
    int moments; /* 1: pixels have several samples, which a tangent rotates or scales */
    struct row_block *block; /* (nblocks) */
    struct row_place *place; /* (nplaces) */
    struct row_factor *factor; /* (nfactors) */
    struct row_turn *turn; /* (orientations) */
    /* photons per unit of a sum of F^2, without solid angle and polarization */
    double scale;
    double least; /* share of a spot's peak below which a sample is left out */
};

/* How many numbers a pixel has apart from the tangents: ROW_OWN for its sum of F^2,
 * ROW_PLACE for the cotangents of its samples' places, or ROW_MOMENTS with the moments of
 * these. */
enum { ROW_OWN = 1, ROW_PLACE = 3, ROW_MOMENTS = 9 };

/* The spots of a tile. */
struct spot_list {
    const struct tile_spot *spot; /* spots of this tile and of other tiles */
    const unsigned *which; /* (n) indices of the tile's spots in `spot` */
    size_t n;
};

/* Computes the photons of a part of a tile from the samples of its spots, and change[d
 * TILE_PIXELS + i] of pixel i along tangent d, without the amorphous material. Adds to
 * `columns` unless NULL, and returns early if they are full. `workspace` has
 * jacobian_workspace_size() bytes. */
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
