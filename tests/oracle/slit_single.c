/* slit_single.c - see slit.h. SPDX-License-Identifier: MIT */
#define PHYS_SINGLE

#include <math.h>

#include "oracle/slit.h"
#include "physics/lattice.h"

struct slit slit_single(double v, double n)
{
    const struct phys_slit s = phys_slit(phys_off_zero((float)v), (float)n);

    return (struct slit){s.above / s.below, s.slope / s.below / s.below, s.dn / s.below};
}
