/*
 * truth_view.h - a sample of a pixel by the definitions (docs/theory.md, 1 to 5, 8 and 9).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_TRUTH_VIEW_H
#define NB_TESTS_TRUTH_VIEW_H

#include "continuous/truth.h"

/* The exponent of F_latt^2 at rho = 1 is -4/0.63 times one half. */
#define BLOCK 6.349206349206349

/* One pixel's sub-pixel and one reflection, seen at one phi by one source. The residual of
 * a sample is a vector whose square is minus twice the logarithm of F_latt^2 over its peak:
 * lattice x (scattering vector in `frame`) - whole. */
struct truth_view {
    const struct truth *t;
    struct truth_matrix turn; /* from the laboratory to `frame` as it has turned by phi */
    struct truth_matrix lattice;
    double whole[3];
    struct truth_matrix axes, star; /* a, b, c and a*, b*, c* in `frame` */
    double place[3]; /* of the sub-pixel, m */
    double light[3], energy; /* unit vector; 1/wavelength */
    double across[2][3]; /* across the ray of the reflection */
    double q[3]; /* in `frame`, of the middle of all distributions */
    int steady; /* 1: q does not depend on the normal variables */
};

double truth_dot(const double *a, const double *b);
void truth_cross(const double *a, const double *b, double *out);
void truth_unit(const double *a, double *out);

/* out = m v */
void truth_apply(const struct truth_matrix *m, const double *v, double *out);

/* v turned by the rotation vector w (docs/theory.md, 8) */
void truth_rotate(const double *w, const double *v, double *out);

/* The square root of the sum of the squares of a matrix, and of its inverse: these are at
 * least the largest length of its image of a unit vector, and one over the least. */
double truth_norm(const struct truth_matrix *m);
double truth_norm_of_inverse(const struct truth_matrix *m);

/* Source j, and the sum of the weights of all. */
const nb_source *truth_source(const struct truth *t, int j);
double truth_weights(const struct truth *t);

/* What all pixels and reflections share at one phi and one source; then a sub-pixel of a
 * pixel, and a reflection. */
struct truth_view truth_view_of(const struct truth *t, double phi, const nb_source *source);
void truth_view_pixel(struct truth_view *v, const int *pixel, int sub);
void truth_view_reflection(struct truth_view *v, const double *hkl);

/* The scattering vector in `frame`, at these normal variables. */
void truth_scattering(const struct truth_view *v, const double *z, double *out);

/* out = q as the frame of the domain sees it, which is turned by the first three of z. */
void truth_domain(const struct truth *t, const double *z, const double *q, double *out);

/* Minus twice the logarithm of F_latt^2 over its peak is the square of this. */
void truth_residual(const struct truth_view *v, const double *z, double *r);

/* Photons of a pixel for F_latt^2 at its peak: what is taken once, at its first sub-pixel,
 * over the number of sub-pixels. */
double truth_brightness(const struct truth *t, const int *pixel);

#endif
