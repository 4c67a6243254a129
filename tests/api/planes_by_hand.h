/*
 * planes_by_hand.h - planes of background in boxes by another way than the library's: each
 * loss is made least in long double with its own formulas, a bound as a logarithmic barrier
 * that is taken away step by step, and the matrix is that of columns made orthogonal to
 * the planes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_PLANES_BY_HAND_H
#define NB_TESTS_PLANES_BY_HAND_H

#include <stddef.h>
#include <stdint.h>

#include <nanobrag/nanobrag.h>

/* What a loss is made of: images of nfast x nslow pixels. */
struct hand_scene {
    int nfast, nslow;
    const double *image, *observed, *weight; /* dense; weight: NULL: 1 */
    const uint8_t *mask; /* NULL: none */
    const int (*box)[4];
    int nbox;
    nb_target target; /* the numbers of it; its arrays do not matter */
};

/* Returns the box that a pixel belongs to, below 0 for none. */
int hand_owner(const struct hand_scene *h, int s, int f);

/* Returns the least loss of one box; its plane goes to `plane` (3), photons and
 * photons/pixel. */
double hand_least(const struct hand_scene *h, int box, double *plane);

/* Returns the loss of one box with a plane; or of a pixel with so many photons, whose slope
 * and curvature may be asked for. */
double hand_loss(const struct hand_scene *h, int box, const double *plane);
double hand_pixel(const struct hand_scene *h, int s, int f, double photons, double *slope,
                  double *curvature);

/* Returns the photons of a plane at a pixel; those below 1e-12 of the plane's size are 0
 * where it may not be negative. */
double hand_photons(const struct hand_scene *h, int box, const double *plane, int s, int f);

/* Subtracts from the n columns of a Jacobian (n x pixels), times the root of the curvature,
 * their parts along the planes (nbox x 3) that are free. */
void hand_orthogonal(const struct hand_scene *h, const double *planes, size_t n,
                     double *columns);

#endif
