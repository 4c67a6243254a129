/*
 * pixel_mask.h - a mask of an image that is made of rectangles on its panels, which files
 * call bad or untrusted. SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_GEOMETRY_PIXEL_MASK_H
#define NB_IO_GEOMETRY_PIXEL_MASK_H

#include <stddef.h>
#include <stdint.h>

#include <nanobrag/context.h>

struct pixel_mask {
    uint8_t *pixel; /* 0: masked, else 1 (nslow x nfast) */
    int nfast;
    size_t masked; /* pixels that are 0 */
};

/* Where a panel lies in the image. */
struct pixel_rectangle {
    int slow0, fast0, nslow, nfast;
};

/* Makes a mask of an image with no pixel masked; `name` is the file's, for messages. */
nb_status pixel_mask_begin(nb_context *ctx, const char *name, int nslow, int nfast,
                           struct pixel_mask *mask);

/* Masks the pixels of a panel in a range of its own rows and columns, ends included, that
 * may reach beyond it. Returns 1 if there are any. */
int pixel_mask_part(struct pixel_mask *mask, const struct pixel_rectangle *panel,
                    double slow0, double slow1, double fast0, double fast1);

/* Returns the pixels, to be freed; NULL where none is masked. */
uint8_t *pixel_mask_end(struct pixel_mask *mask);

#endif
