/*
 * ewald.h - reflections near the Ewald sphere: how far a spot reaches in reciprocal space,
 * and the list of candidates for a group of orientations.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_EWALD_H
#define NB_KERNELS_SPOTS_EWALD_H

#include "physics/detector_plane.h"
#include "physics/frame.h"
#include "physics/spec.h"

/* a reflection, and the rows of sub-pixels that its spots may reach */
struct candidate {
    float h, k, l;
    float low, high;
};

/* Radius in reciprocal space beyond which a spot is below `share` of its peak, 1/A; at most
 * what the cell about a reciprocal lattice point reaches. */
double ewald_radius(const struct phys_frame *frame, struct phys_spec spec, double share);

/* The largest change of an index within such a radius. */
double ewald_widest(const struct phys_frame *frame, double radius);

/* a*, b*, c* of rows a, b, c; returns the volume of the cell, A^3. */
double ewald_stars(const double *axes, double *stars);

/* what the candidates of a group of sources and orientations have in common */
struct ewald {
    double radius; /* of a spot */
    struct phys_detector_plane front, back; /* first and last layer */
    double rows, columns; /* of sub-pixels */
    double towards[3], cone; /* the detector's middle; largest angle to it, radian */
    /* the sources */
    double k[3], wave; /* mean of the incident wave vectors and of their lengths, 1/A */
    double tilt, spread; /* largest angle to the mean, difference from the mean length */
    double shift; /* largest difference from the mean wave vector */
    double qmax; /* of the detector, 1/A */
    /* the orientations */
    double stars[9]; /* of the first */
    double rotation; /* largest turn from the first, radian */
    double low[3], high[3]; /* of h, k, l */
    double skew; /* sum of |a||a*|: 3 or more; how much sums of index times star cancel */
};

/* The detector; the next two add the sources and the orientations. */
struct ewald ewald_of(const struct phys_frame *frame, double radius);

/* Sources first .. first + n - 1 of the frame differ by at most `turn` from the first, in
 * radian and in wavelength over wavelength: how many (1 .. all), and the group. */
int ewald_sources(struct ewald *ewald, const struct phys_frame *frame, int first,
                  double rotation);

/* Orientations first .. first + n - 1 turn by at most `turn` from the first: how many
 * (1 .. most), and the group. */
int ewald_orientations(struct ewald *ewald, const struct phys_frame *frame, int first,
                       int most, double rotation);

/* Reflections that one source and one orientation bring within a radius of the detector's
 * part of the sphere, about. */
double ewald_hits(const struct ewald *ewald, double radius);

/* How many rows (h, k) there are to look at. */
double ewald_rows(const struct ewald *ewald);

/* How many candidates with index h, low[0] .. high[0], there can be at most; cheap. */
size_t ewald_room(const struct ewald *ewald, double h);

/* Write those there are; returns how many. */
size_t ewald_h_layer(const struct ewald *ewald, double h, struct candidate *out);

#endif
