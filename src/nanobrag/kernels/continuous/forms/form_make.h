/*
 * form_make.h - makes a form (form.h) from a reflection and the covariances of its block
 * and of the rotations. The adjoint and the tangent of this step are here, too.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_FORM_MAKE_H
#define NB_KERNELS_CONTINUOUS_FORM_MAKE_H

#include "kernels/continuous/forms/form.h"

/* The numbers from which a form is made. Every member is a double that can change. The same
 * struct holds cotangents: the derivatives of an objective by each member. */
struct form_of {
    double q0[3]; /* the reflection, 1/A */
    double block[6]; /* covariance Cb: K^-1 of a block, plus all that widens it, 1/A^2 */
    double spread[6]; /* covariance S of the rotations, radian^2 */
    double height; /* logarithm of a block's height, 0 unless Cb is wider than K^-1 */
    double b; /* B of isotropic displacement, A^2 */
};

enum { FORM_OF_NUMBERS = (int)(sizeof(struct form_of) / sizeof(double)) };

/* Computes a form from the numbers `of`. */
void form_make(const struct form_of *of, struct form *out);

/* Propagates `bar`, the cotangents of the form, to the numbers from which the form was
 * made, and adds them to `to`. */
void form_make_adjoint(const struct form_of *of, const struct form *form,
                       const struct form *bar, struct form_of *to);

/* form_make_known() computes numbers that all tangents of a form need (form_tangent.h).
 * form_make_tangent() writes the change of the form along a change `dot` of the numbers
 * from which it is made. */
struct form_known;
void form_make_tangent(const struct form_of *of, const struct form *form,
                       const struct form_of *dot, struct form *out);
void form_make_known(const struct form_of *of, const struct form *form,
                     struct form_known *out);

/* Returns the determinant of a symmetric matrix and writes its inverse. */
double form_inverse(const double m[6], double out[6]);

#endif
