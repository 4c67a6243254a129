/* slit_double.c - see slit.h. SPDX-License-Identifier: MIT */
#include <math.h>

#include "oracle/slit.h"
#include "physics/lattice.h"

/* above/below; the slope comes times the square of the latter */
struct slit slit_double(double v, double n)
{
    const struct phys_slit s = phys_slit(phys_off_zero(v), n);

    return (struct slit){s.above / s.below, s.slope / s.below / s.below, s.dn / s.below};
}
