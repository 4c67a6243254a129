/*
 * displacement.h - the isotropic displacement of the atoms. It multiplies every sample by
 * exp(-2 B (sin(theta)/lambda)^2) = exp(-B q^2/2) (docs/theory.md, 1). This file has the
 * factor, its derivatives, and every other function that reads B.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_DISPLACEMENT_H
#define NB_PHYSICS_DISPLACEMENT_H

#include "frame_tangent.h"
#include "trig.h"
#include "vec3.h"

/* The index of dL/dB in the array that phys_numbers() returns; L is the objective, the
 * scalar whose gradient is computed. */
enum { PHYS_AT_DISPLACEMENT = PHYS_AT_b_factor };

/* Returns 1 if the displacement factor can differ from 1. */
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

/* Returns the largest exponent -B |q'|^2/2 over all scattering vectors q' up to length q.
 * The exponent is above 0 if B is negative, which makes spots brighter. */
PHYS_FN double phys_displacement_most(const struct phys_frame *frame, double q)
{
    return frame->b_factor < 0 ? -0.5 * frame->b_factor * q * q : 0;
}

/* Returns the derivative of F^2 D by the direction of a sample, where D is the displacement
 * factor. f2 is F^2 and `slope` its derivative. Either all three include the factor D or
 * none does. `way` is the scattering vector times the wavelength, `unit` 1/wavelength. */
PHYS_FN struct phys_vec3 phys_displacement_slope(real b, real unit, struct phys_vec3 way,
                                                 real f2, struct phys_vec3 slope)
{
    return phys_axpy(-b * (unit * unit) * f2, way, slope);
}

/* Returns dL/dB of a sample, or of a sum over samples. f2_bar_q2 is the product of F^2, its
 * cotangent and the squared length of the scattering vector. */
PHYS_FN real phys_displacement_vjp(real f2_bar_q2)
{
    return -f2_bar_q2 / 2;
}

#endif
