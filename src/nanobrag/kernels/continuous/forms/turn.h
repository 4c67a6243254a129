/*
 * turn.h - rotations of places by the phi of a step, and their adjoint.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_TURN_H
#define NB_KERNELS_CONTINUOUS_TURN_H

#include "kernels/continuous/forms/form.h"

/* Coefficients of a rotation by -z about w, p - z s1 w x p + z^2 s2 w x (w x p). They are
 * sin(a)/a and (1 - cos(a))/a^2 by their series in a = z |w|, which is below 0.3 here. */
struct turn {
    double s1, s2, ds1, ds2; /* ds1, ds2: derivatives by a^2 */
};

FORM_FN struct turn turn_of(double a2)
{
    struct turn t;

    t.s1 = 1 - a2 * (1. / 6 - a2 * (1. / 120 - a2 * (1. / 5040 - a2 * (1. / 362880))));
    t.s2 = 0.5 - a2 * (1. / 24 - a2 * (1. / 720 - a2 * (1. / 40320 - a2 * (1. / 3628800))));
    t.ds1 = -1. / 6 + a2 * (1. / 60 - a2 * (1. / 1680 - a2 * (1. / 90720)));
    t.ds2 = -1. / 24 + a2 * (1. / 360 - a2 * (1. / 13440 - a2 * (1. / 907200)));
    return t;
}

FORM_FN struct form_vector turned(struct form_vector w, double z, struct form_vector p)
{
    const struct turn t = turn_of(z * z * form_dot(w, w));
    const struct form_vector c = form_cross(w, p);

    return form_axpy(z * z * t.s2, form_cross(w, c), form_axpy(-z * t.s1, c, p));
}

struct turn_bars {
    struct form_vector p, w;
};

/* Returns the cotangents of w and of p, the vector before the turn, given p_bar, the
 * cotangent of the turned vector. */
FORM_FN struct turn_bars turn_back(struct form_vector w, double z, struct form_vector p,
                                   struct form_vector p_bar)
{
    const struct turn t = turn_of(z * z * form_dot(w, w));
    const struct form_vector c = form_cross(w, p), e = form_cross(w, c);
    const struct form_vector e_bar = form_scale(z * z * t.s2, p_bar);
    const struct form_vector c_bar = form_axpy(-z * t.s1, p_bar, form_cross(e_bar, w));
    const double s1_bar = -z * form_dot(p_bar, c), s2_bar = z * z * form_dot(p_bar, e);
    const double a2_bar = s1_bar * t.ds1 + s2_bar * t.ds2;
    const struct turn_bars bars = {form_axpy(1, form_cross(c_bar, w), p_bar),
                                   form_axpy(2 * z * z * a2_bar, w,
                                             form_axpy(1, form_cross(c, e_bar),
                                                       form_cross(p, c_bar)))};

    return bars;
}

#endif
