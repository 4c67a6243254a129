/*
 * reference.c - double, one pixel after the other: the oracle of every other kernel, the
 * path of gradcheck and of uncompiled runs. Compiled without contraction.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>

#include "kernels/kernels.h"
#include "kernels/variants.h"
#include "physics/pixel.h"

static inline void run(struct phys_spec spec, const struct phys_frame *frame,
                       const struct tile *tile, double *photons)
{
    const struct phys_view view = phys_view(frame);

    for (int i = 0; i < tile->width * tile->height; i++) {
        const int s = tile->slow + i / tile->width, f = tile->fast + i % tile->width;

        photons[i] = 0;
        if (s < frame->nslow && f < frame->nfast)
            photons[i] = phys_finish(frame, phys_pixel(spec, frame, &view, s, f));
    }
}

#define VARIANT VARIANT_FUNCTION
#include "kernels/variants.def"
#undef VARIANT

const struct kernels kernels_reference = {
    "reference",
    NULL,
    {
#define VARIANT(shape, lookup) [PHYS_##shape][PHYS_##lookup] = shape##_##lookup,
#include "kernels/variants.def"
#undef VARIANT
    },
};
