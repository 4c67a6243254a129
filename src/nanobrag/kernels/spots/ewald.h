/*
 * ewald.h - reflections near the Ewald sphere: how far a spot extends in reciprocal space,
 * and which reflections are candidates for a group of sources and orientations.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_EWALD_H
#define NB_KERNELS_SPOTS_EWALD_H

#include "physics/frame.h"
#include "physics/spec.h"
#include "physics/tile/detector_plane.h"

/* A reflection, and the first and last row of sub-pixels that its spots may reach. */
struct candidate {
    float h, k, l;
    float low, high;
};

/* The ray of a reflection: its scattered wave vectors for all pairs of a group. They lie
 * within `off` of v, in a sphere, 1/A. `tangent` is the length of a tangent from the origin
 * to this sphere; below 0 the origin is inside the sphere. */
struct ewald_ray {
    double v[3], off, tangent;
};

/* Returns the radius in reciprocal space beyond which a spot is below `share` of its peak,
 * 1/A. The radius is at most the distance beyond which all samples belong to other
 * reflections. */
double ewald_radius(const struct phys_frame *frame, struct phys_spec spec, double share);

/* Returns the largest change of a Miller index within a radius (1/A) in reciprocal
 * space. */
double ewald_widest(const struct phys_frame *frame, double radius);

/* Computes a*, b*, c* from the rows a, b, c and returns the volume of the cell, A^3. */
double ewald_stars(const double *axes, double *stars);

/* What decides which reflections are candidates for a group of sources and orientations: a
 * candidate may lie near the Ewald sphere for some pair of the group. */
struct ewald {
    double radius; /* radius of a spot, 1/A */
    double rho2; /* rho^2 of the profile at `radius`; 0 if spots are not narrow (splat.h) */
    /* The detector, or one of its panels. If it has several panels, only the cone is
     * set: */
    int panels;
    struct phys_detector_plane front, back; /* planes of the first and of the last layer */
    double rows, columns; /* numbers of sub-pixels along each edge */
    /* axis of a cone that holds the detector; half-angle, radian */
    double towards[3], cone;
    int everywhere; /* 1: the cone is every direction */
    double cosine, sine; /* cosine and sine of the cone's half-angle */
    /* The sources of the group: */
    double k[3], wave; /* mean of the incident wave vectors and of their lengths, 1/A */
    /* largest angle to the mean, radian; largest deviation from `wave` */
    double tilt, spread;
    double shift; /* largest difference from the mean wave vector, 1/A */
    double qmax; /* largest |q| of the detector, 1/A */
    /* The orientations of the group: */
    double stars[9]; /* a*, b*, c* of the first orientation, 1/A */
    double rotation; /* largest angle between the first and another orientation, radian */
    double low[3], high[3]; /* ranges of h, k, l */
    double skew; /* sum of |a| |a*| over the axes, at least 3; bounds a rounding error */
};

/* Returns a group with only the detector filled in, which has `panels` panels.
 * ewald_sources() and ewald_orientations() fill in the rest. */
struct ewald ewald_of(const struct phys_frame *frames, int panels, struct phys_spec spec,
                      double radius);

/* Returns a copy of a group whose detector is replaced by one panel of it. */
struct ewald ewald_of_panel(const struct ewald *group, const struct phys_frame *frame);

/* Fills in the sources of a group and returns their number n (at least 1). Sources first ..
 * first + n - 1 of the frame differ from the first by at most `rotation`, in angle (radian)
 * and in relative wavelength. */
int ewald_sources(struct ewald *ewald, const struct phys_frame *frame, int first,
                  double rotation);

/* Fills in the orientations of a group and returns their number n (1 .. most). Orientations
 * first .. first + n - 1 are rotated by at most `rotation` (radian) from the first. */
int ewald_orientations(struct ewald *ewald, const struct phys_frame *frame, int first,
                       int most, double rotation);

/* Estimates how many reflections lie within a radius (1/A) of the part of the Ewald sphere
 * that the detector covers, for one source and one orientation. */
double ewald_hits(const struct ewald *ewald, double radius);

/* Returns how many rows (h, k) of reflections must be searched. */
double ewald_rows(const struct ewald *ewald);

/* Returns an upper bound of the number of candidates with index h (low[0] .. high[0]). The
 * bound is quick to find, because no reflection is tested by itself. */
size_t ewald_most_in_layer(const struct ewald *ewald, double h);

/* Writes the candidates with index h to `out` and returns their number. */
size_t ewald_list_layer(const struct ewald *ewald, double h, struct candidate *out);

/* Returns the ray of a candidate. */
struct ewald_ray ewald_ray_of(const struct ewald *ewald, const struct candidate *candidate);

/* Returns 1 if a ray may lie in the cone around the detector or the panel of the group. */
static inline int ewald_is_towards(const struct ewald *e, const struct ewald_ray *ray)
{
    const double *v = ray->v, *to = e->towards;

    if (e->everywhere || ray->tangent < 0) return 1;
    /* the right side is |v| times the cosine of the sum of the half-angles of cone and
     * ray */
    return v[0] * to[0] + v[1] * to[1] + v[2] * to[2]
           >= e->cosine * ray->tangent - e->sine * ray->off;
}

/* Returns 1 if a candidate may reach some row and some column of the detector or the panel,
 * and sets its rows to the rows of sub-pixels that it may reach. If the detector has
 * several panels, candidates have no rows before this call. */
int ewald_reaches(const struct ewald *ewald, const struct ewald_ray *ray,
                  struct candidate *candidate);

#endif
