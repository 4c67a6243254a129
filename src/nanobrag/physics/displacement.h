/*
 * displacement.h - the isotropic displacement of the atoms, exp(-2 B (sin(theta)/lambda)^2)
 * = exp(-B q^2/2): a factor of every sample, its slope, and all that is asked about B.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_DISPLACEMENT_H
#define NB_PHYSICS_DISPLACEMENT_H

#include "frame_tangent.h"
#include "trig.h"
#include "vec3.h"

/* where dL/dB lies among the numbers of a cotangent */
enum { PHYS_AT_DISPLACEMENT = PHYS_AT_b_factor };

/* 1 where the factor differs from 1 */
PHYS_FN int phys_is_displaced(const struct phys_frame *frame)
{
    return frame->b_factor != 0;
}

/* B in `real`, for phys_displacement(): once before a loop over samples */
PHYS_FN real phys_displacement_b(const struct phys_frame *frame)
{
    return (real)frame->b_factor;
}

PHYS_FN real phys_displacement(real b, real q2)
{
    return phys_exp((real)-0.5 * b * q2); /* e^0 is 1 to the bit */
}

/* the exponent at its largest where scattering vectors are no longer than q: a negative B
 * makes spots brighter */
PHYS_FN double phys_displacement_most(const struct phys_frame *frame, double q)
{
    return frame->b_factor < 0 ? -0.5 * frame->b_factor * q * q : 0;
}

/* f2 is F^2 of a sample, displaced, and `slope` its slope in the direction of the sample:
 * the factor's part is added to it. `way`: the scattering vector times the wavelength;
 * unit: one over the wavelength */
PHYS_FN void phys_displacement_slope(real b, real unit, struct phys_vec3 way, real f2,
                                     struct phys_vec3 *slope)
{
    *slope = phys_axpy(-b * (unit * unit) * f2, way, *slope);
}

/* dL/dB of a sample, or of a sum over samples, where f2_bar_q2 is the cotangent of F^2,
 * times F^2, times the square of the scattering vector */
PHYS_FN real phys_displacement_vjp(real f2_bar_q2)
{
    return -f2_bar_q2 / 2;
}

#endif
