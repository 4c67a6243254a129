/*
 * closed_forms.h - textbook formulas of what physics/ computes, in long double: the truth
 * that its values and slopes are held against. Written for clarity, not for speed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_CLOSED_FORMS_H
#define NB_TESTS_CLOSED_FORMS_H

#define CLOSED_PI 3.14159265358979323846264338327950288L

/* a value and its slope */
struct closed {
    long double f, df;
};

/* (1 - pi t cot(pi t))/t^2 of u = t^2, |t| <= 1/2 */
long double closed_cot_rest(long double u);

/* sin(pi n v)/sin(pi v), |v| <= 1/2 */
struct closed closed_slit(long double v, long double n);

/* 3 (sin x - x cos x)/x^3 of u = (x/pi)^2; u may be slightly negative */
struct closed closed_sphere(long double u);

/* Lagrange weights of the nodes -1, 0, 1, 2 at t, any t */
void closed_cubic(long double t, long double weight[4]);

#endif
