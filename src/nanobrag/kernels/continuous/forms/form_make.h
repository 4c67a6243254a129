/*
 * form_make.h - makes a form (form.h) from the reflection and the covariances of its block
 * and of the rotations. Also the adjoint and the tangent of this step.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_FORM_MAKE_H
#define NB_KERNELS_CONTINUOUS_FORM_MAKE_H

#include "kernels/continuous/forms/form.h"

/* The numbers that a form is made from. Every member is a double that can change. The same
 * struct holds cotangents: the derivatives of an objective by each member. */
struct form_of {
    double q0[3]; /* the reflection, 1/A */
    double block[6]; /* covariance Cb of a block and of all that widens it, 1/A^2 */
    double spread[6]; /* covariance S of the rotations, radian^2 */
    double height; /* log of a block's peak, the factor of exp(-g K g/2) */
    double b; /* B of isotropic displacement, A^2 */
};

enum { FORM_OF_NUMBERS = (int)(sizeof(struct form_of) / sizeof(double)) };

/* Makes the form. */
void form_make(const struct form_of *of, struct form *out);

/* Adds to `to` the cotangents of the numbers that the form was made from, given the
 * cotangents of the form. */
void form_make_adjoint(const struct form_of *of, const struct form *form,
                       const struct form *bar, struct form_of *to);

/* form_make_known() computes the numbers that all changes of a form need (form_tangent.h);
 * form_make_tangent() writes the change of the form along a change of the numbers it is
 * made from. */
struct form_known;
void form_make_tangent(const struct form_of *of, const struct form *form,
                       const struct form_of *dot, struct form *out);
void form_make_known(const struct form_of *of, const struct form *form,
                     struct form_known *out);

/* Returns the determinant of a symmetric matrix and writes its inverse. */
double form_inverse(const double m[6], double out[6]);

#endif
