/*
 * pixel_mask.h - makes a mask of an image from the rectangles on its panels that files call
 * bad or untrusted. SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_GEOMETRY_PIXEL_MASK_H
#define NB_IO_GEOMETRY_PIXEL_MASK_H

#include <stddef.h>
#include <stdint.h>

#include <nanobrag/context.h>

struct pixel_mask {
    uint8_t *pixel; /* 0: masked, else 1 (nslow x nfast) */
    int nfast;
    size_t masked; /* number of masked pixels */
};

/* the place of a panel in the image */
struct pixel_rectangle {
    int slow0, fast0, nslow, nfast;
};

/* Makes a mask of an image, with no pixel masked. `name` is the file's, for messages. */
nb_status pixel_mask_begin(nb_context *ctx, const char *name, int nslow, int nfast,
                           struct pixel_mask *mask);

/* Masks a rectangle of a panel, given by rows and columns of the panel, last ones
 * included. Parts beyond the panel are ignored. Returns 1 if the panel has pixels in the
 * rectangle. */
int pixel_mask_part(struct pixel_mask *mask, const struct pixel_rectangle *panel,
                    double slow0, double slow1, double fast0, double fast1);

/* Returns the pixels, which the caller frees; NULL if no pixel is masked. */
uint8_t *pixel_mask_end(struct pixel_mask *mask);

#endif
