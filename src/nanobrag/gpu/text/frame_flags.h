/*
 * frame_flags.h - what a kernel that is built at run time knows of its frame, so that it
 * does not ask: bits, each of them said of the frame at hand when it is set. The kernels
 * that were built ahead of time know nothing, 0. As a literal, every test of it folds away;
 * no arithmetic depends on it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_FRAME_FLAGS_H
#define NB_GPU_TEXT_FRAME_FLAGS_H

#include "physics/displacement.h"

enum gpu_frame_flags {
    FLAG_ONE_SAMPLE = 1, /* of a pixel */
    FLAG_ONE_LAYER = 2, /* of the sensor */
    FLAG_ONE_SOURCE = 4,
    FLAG_ONE_PART = 8, /* of a tile */
    FLAG_SAME_SOURCES = 16, /* per_source() is 0 */
    FLAG_NO_WEIGHTS = 32, /* weighs_samples() is 0 */
    FLAG_ALL = 63
};

/* a factor of each source and sample? */
PHYS_FN int per_source(const struct phys_frame *frame)
{
    return frame->dmin > 0 || phys_is_displaced(frame)
           || (frame->each_polar && frame->polarised);
}

/* a factor of each sample, of all sources alike? */
PHYS_FN int weighs_samples(const struct phys_frame *frame)
{
    return frame->each_omega || (frame->layer_mu != 0 && !frame->last_capture);
}

/* all that can be known of a frame whose tiles have so many parts along each axis */
PHYS_FN unsigned frame_flags_of(const struct phys_frame *frame, int parts)
{
    unsigned known = 0;

    if (frame->oversample == 1) known |= FLAG_ONE_SAMPLE;
    if (frame->nlayers == 1) known |= FLAG_ONE_LAYER;
    if (frame->nsource == 1) known |= FLAG_ONE_SOURCE;
    if (parts == 1) known |= FLAG_ONE_PART;
    if (!per_source(frame)) known |= FLAG_SAME_SOURCES;
    if (!weighs_samples(frame)) known |= FLAG_NO_WEIGHTS;
    return known;
}

#endif
