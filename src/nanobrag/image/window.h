/*
 * window.h - which pixels of an image count.
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

/* A pixel inside the ROI is rendered, that is, not masked. */
static inline int window_shows(const struct window *window, int s, int f)
{
    return !window->mask || window->mask[(size_t)s * (size_t)window->nfast + (size_t)f];
}

#endif
