/*
 * frame_flags.h - properties of a frame, as bits, on which a kernel compiled at run time
 * may rely. A bit is set only if the property holds. Kernels compiled with the library have
 * no bits set. If the bits are a literal, the compiler removes every test of them; no
 * arithmetic depends on them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_FRAME_FLAGS_H
#define NB_GPU_TEXT_FRAME_FLAGS_H

#include "physics/pixel.h"

enum gpu_frame_flags {
    FLAG_ONE_SAMPLE = 1, /* one sample per pixel */
    FLAG_ONE_LAYER = 2, /* one layer of the sensor */
    FLAG_ONE_SOURCE = 4,
    FLAG_ONE_PART = 8, /* one part per tile: gpu_parameters.parts is 1 */
    FLAG_SAME_SOURCES = 16, /* phys_differs_by_source() is 0 */
    FLAG_NO_WEIGHTS = 32, /* phys_differs_by_sample() is 0 */
    FLAG_ALL = 63
};

/* Returns all flags that are true of a frame whose tiles have `parts` parts along each
 * axis. */
PHYS_FN unsigned frame_flags_of(const struct phys_frame *frame, int parts)
{
    unsigned known = 0;

    if (frame->oversample == 1) known |= FLAG_ONE_SAMPLE;
    if (frame->nlayers == 1) known |= FLAG_ONE_LAYER;
    if (frame->nsource == 1) known |= FLAG_ONE_SOURCE;
    if (parts == 1) known |= FLAG_ONE_PART;
    if (!phys_differs_by_source(frame)) known |= FLAG_SAME_SOURCES;
    if (!phys_differs_by_sample(frame)) known |= FLAG_NO_WEIGHTS;
    return known;
}

#endif
