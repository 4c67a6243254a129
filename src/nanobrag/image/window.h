/*
 * window.h - the pixels of an image that are rendered: those inside the ROI and not masked.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_WINDOW_H
#define NB_IMAGE_WINDOW_H

#include <stddef.h>
#include <stdint.h>

struct window {
    int nslow, nfast;
    int roi[4]; /* fast0 fast1 slow0 slow1, ends excluded, clipped to the image */
    const uint8_t *mask; /* nslow x nfast, 0 = skipped; NULL: none */
};

/* Returns 1 if a pixel inside the ROI is not masked. */
static inline int window_shows(const struct window *window, int s, int f)
{
    return !window->mask || window->mask[(size_t)s * (size_t)window->nfast + (size_t)f];
}

#endif
