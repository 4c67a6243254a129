/*
 * closed_forms.h - textbook formulas of what physics/ computes, in long double: the truth
 * with which its values and derivatives are compared. They are written for clarity, not for
 * speed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_CLOSED_FORMS_H
#define NB_TESTS_CLOSED_FORMS_H

#define CLOSED_PI 3.14159265358979323846264338327950288L

/* A value and its derivative. */
struct closed {
    long double f, df;
};

/* Returns (1 - pi t cot(pi t))/t^2 for u = t^2, |t| <= 1/2. */
long double closed_cot_rest(long double u);

/* Returns sin(pi n v)/sin(pi v) for |v| <= 1/2. */
struct closed closed_slit(long double v, long double n);

/* Returns 3 (sin x - x cos x)/x^3 for u = (x/pi)^2, which may be slightly negative. */
struct closed closed_sphere(long double u);

/* Write the Lagrange weights of the nodes -1, 0, 1, 2 at any t. */
void closed_cubic(long double t, long double weight[4]);

#endif
