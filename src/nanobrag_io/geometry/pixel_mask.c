/* pixel_mask.c - makes a mask of an image from rectangles. SPDX-License-Identifier: MIT */
#include "nanobrag_io/geometry/pixel_mask.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"

nb_status pixel_mask_begin(nb_context *ctx, const char *name, int nslow, int nfast,
                           struct pixel_mask *mask)
{
    const size_t n = (size_t)nslow * (size_t)nfast;

    *mask = (struct pixel_mask){.pixel = malloc(n), .nfast = nfast};
    if (!mask->pixel) return fail_memory(ctx, name);
    memset(mask->pixel, 1, n);
    return NB_OK;
}

int pixel_mask_part(struct pixel_mask *mask, const struct pixel_rectangle *panel,
                    double slow0, double slow1, double fast0, double fast1)
{
    slow0 = fmin(fmax(slow0, 0), panel->nslow), slow1 = fmin(slow1, panel->nslow - 1);
    fast0 = fmin(fmax(fast0, 0), panel->nfast), fast1 = fmin(fast1, panel->nfast - 1);
    for (int s = (int)slow0; s <= slow1; s++)
        for (int f = (int)fast0; f <= fast1; f++) {
            uint8_t *const at = mask->pixel
                                + (size_t)(panel->slow0 + s) * (size_t)mask->nfast
                                + (size_t)(panel->fast0 + f);

            mask->masked += *at;
            *at = 0;
        }
    return slow0 <= slow1 && fast0 <= fast1;
}

uint8_t *pixel_mask_end(struct pixel_mask *mask)
{
    if (mask->masked > 0) return mask->pixel;
    free(mask->pixel);
    return mask->pixel = NULL;
}
