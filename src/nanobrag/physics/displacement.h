/*
 * displacement.h - the isotropic displacement of the atoms, a factor exp(-2 B
 * (sin(theta)/lambda)^2) = exp(-B q^2/2) of every sample (docs/theory.md, 1): its value,
 * its derivatives, and all functions that depend on B.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_DISPLACEMENT_H
#define NB_PHYSICS_DISPLACEMENT_H

#include "frame_tangent.h"
#include "trig.h"
#include "vec3.h"

/* The index of dL/dB among the numbers of a cotangent; L is the objective, the scalar
 * whose gradient is computed. */
enum { PHYS_AT_DISPLACEMENT = PHYS_AT_b_factor };

/* Returns 1 when the factor can differ from 1. */
PHYS_FN int phys_is_displaced(const struct phys_frame *frame)
{
    return frame->b_factor != 0;
}

/* Returns B in `real`, to be read once before a loop over samples. */
PHYS_FN real phys_displacement_b(const struct phys_frame *frame)
{
    return (real)frame->b_factor;
}

PHYS_FN real phys_displacement(real b, real q2)
{
    return phys_exp((real)-0.5 * b * q2); /* e^0 is exactly 1 */
}

/* Returns the largest exponent over all scattering vectors no longer than q. It is above
 * 0 for a negative B, which makes spots brighter. */
PHYS_FN double phys_displacement_most(const struct phys_frame *frame, double q)
{
    return frame->b_factor < 0 ? -0.5 * frame->b_factor * q * q : 0;
}

/* Returns `slope`, the derivative of F^2 by the direction of a sample, plus the factor's
 * part. f2 is F^2 with the factor included; `way` is the scattering vector times the
 * wavelength, and `unit` one over the wavelength. */
PHYS_FN struct phys_vec3 phys_displacement_slope(real b, real unit, struct phys_vec3 way,
                                                 real f2, struct phys_vec3 slope)
{
    return phys_axpy(-b * (unit * unit) * f2, way, slope);
}

/* Returns dL/dB of a sample or of a sum over samples. f2_bar_q2 is the cotangent of F^2,
 * times F^2, times the square of the scattering vector. */
PHYS_FN real phys_displacement_vjp(real f2_bar_q2)
{
    return -f2_bar_q2 / 2;
}

#endif
