/*
 * ewald.h - reflections near the Ewald sphere: how far a spot reaches in reciprocal space,
 * and the list of candidates for a group of orientations.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_EWALD_H
#define NB_KERNELS_EWALD_H

#include "physics/frame.h"
#include "physics/screen.h"
#include "physics/spec.h"

/* a reflection, and the rows of sub-pixels that its spots may reach */
struct candidate {
    float h, k, l;
    float low, high;
};

/* Radius in reciprocal space beyond which a spot is below `share` of its peak, 1/A; at most
 * what the cell about a reciprocal lattice point reaches. */
double ewald_radius(const struct phys_frame *frame, struct phys_spec spec, double share);

/* a*, b*, c* of rows a, b, c; returns the volume of the cell, A^3. */
double ewald_stars(const double *axes, double *stars);

/* what the candidates of a group have in common */
struct ewald {
    double stars[9]; /* of the group's first orientation */
    double radius; /* of a spot */
    double turn; /* largest turn of an orientation of the group from the first, radian */
    double k[3], wave; /* mean of the incident wave vectors and of their lengths, 1/A */
    double tilt, spread; /* largest angle to the mean, difference from the mean length */
    double shift; /* largest difference from the mean wave vector */
    double qmax; /* of the detector, 1/A */
    double limit[3]; /* of |h|, |k|, |l| */
    double skew; /* sum of |a||a*|: 3 or more; how much sums of index times star cancel */
    struct phys_screen front, back; /* first and last layer */
    double rows, columns; /* of sub-pixels */
};

/* The sources of a frame and its detector; ewald_group() adds the orientations. */
struct ewald ewald_of(const struct phys_frame *frame, double radius);

/* Orientations first .. first + n - 1 of the frame turn by at most `turn` from the first:
 * how many (1 .. most), and the group. */
int ewald_group(struct ewald *ewald, const struct phys_frame *frame, int first, int most,
                double turn);

/* How many candidates with index h there can be at most; cheap. */
size_t ewald_room(const struct ewald *ewald, int h);

/* Write those there are; returns how many. */
size_t ewald_layer(const struct ewald *ewald, int h, struct candidate *out);

#endif
