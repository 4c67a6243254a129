/*
 * layout.h - the tiles of a job on a device, which all launches share (gpu_layout_of() and
 * gpu_refuses() are in gpu.h).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_LAUNCH_LAYOUT_H
#define NB_GPU_LAUNCH_LAYOUT_H

#include "gpu/gpu.h"
#include "gpu/text/parameters.h"

/* Returns a / b, rounded up. */
static inline int divide_up(int a, int b)
{
    return (a + b - 1) / b;
}

/* Returns 1 if a job renders no pixel. */
int layout_is_empty(const struct job *job);

/* layout_share() returns the cost of a row of an image's tiles, as a fraction of the limit
 * of one launch. layout_rows() returns how many of `down` rows of this cost a launch
 * computes, at least one. */
double layout_share(const struct gpu_properties *properties, const struct job *job,
                    const struct gpu_layout *l);
int layout_rows(double share, int down);

/* Returns 1 if the launches for a loss or derivatives of an image may be recorded as
 * graphs. Returns 0 for many panels that differ in their tiles: each has launches of its
 * own, and not so many recordings are kept. */
int layout_records(const struct gpu_properties *properties, const struct job *job);

#endif
