/* windows.h - windows of images that a test makes. SPDX-License-Identifier: MIT */
#ifndef NB_TESTS_WINDOWS_H
#define NB_TESTS_WINDOWS_H

#include <stdlib.h>

#include "base/window.h"

/* Returns the window of an ROI and a mask, which may be NULL; ends the program if there is
 * no memory. Free it with window_free(). */
static inline struct window windows_make(int nslow, int nfast, const uint8_t *mask,
                                         int fast0, int fast1, int slow0, int slow1)
{
    const struct window_pixels pixels = {.nslow = nslow,
                                         .nfast = nfast,
                                         .roi = {fast0, fast1, slow0, slow1},
                                         .mask = mask};
    struct window window;

    if (!window_make(&pixels, &window)) abort();
    return window;
}

#endif
