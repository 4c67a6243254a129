/*
 * layout.c - divides a job into tiles and strips on a device, and refuses jobs that cost
 * too much.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/launch/layout.h"

#include <limits.h>
#include <math.h>

#include "gpu/text/block.h"
#include "gpu/upload.h"
#include "kernels/grid.h"
#include "kernels/rounding.h"

_Static_assert(GPU_FAST *GPU_SLOW == (int)BLOCK_THREADS, "a thread for each pixel");

int layout_is_empty(const struct job *job)
{
    return job->roi[1] <= job->roi[0] || job->roi[3] <= job->roi[2] || grid_is_empty(job);
}

int gpu_may_lose(const struct job *job, int single)
{
    return single && job->spec.shape == PHYS_GAUSS;
}

double layout_share(const struct gpu_properties *properties, const struct job *job,
                    const struct gpu_layout *l)
{
    const double sums = (double)l->across * l->segments * BLOCK_THREADS;
    const double photons = (double)job->frame->nfast * GPU_SLOW;

    return gpu_share_of_row(properties, job, l, (sums + photons) * sizeof(double), 1);
}

int layout_rows(double share, int down)
{
    const double rows = 1 / share;

    return rows < 1 ? 1 : rows < down ? (int)rows : down;
}

/* A row of tiles is the smallest launch. A row is refused if it costs more than this many
 * launches may cost, in time or in memory. */
static const double too_much = 8;

static int segments_of(const struct phys_frame *frame)
{
    return (int)ceil(gpu_pairs_of(frame) / SEGMENT);
}

const char *gpu_refuses(const struct gpu_properties *properties, const struct job *job,
                        int single)
{
    if (gpu_pairs_of(job->frame) > INT_MAX - SEGMENT)
        return "there are more pairs of source and orientation than a device can count";
    for (int i = 0; i < window_panels(job->window); i++) {
        const struct job panel = job_of_panel(job, i);
        const struct gpu_layout l = {.single = single,
                                     .across = divide_up(panel.frame->nfast, GPU_FAST),
                                     .segments = segments_of(panel.frame)};

        if (layout_share(properties, &panel, &l) > too_much)
            return "a row of tiles alone would take too long, or too much memory, on the "
                   "device";
    }
    return NULL;
}

static int float_serves(const struct job *job, const struct rounding *rounding, int parts)
{
    return rounding_single_anywhere(rounding, GPU_FAST / parts, GPU_SLOW / parts)
           <= job->tolerance;
}

struct gpu_layout gpu_layout_of(const struct gpu_properties *properties,
                                const struct job *job, int single)
{
    const struct rounding rounding = rounding_of(job->frame, job->spec);
    const int *roi = job->roi;
    struct gpu_layout l;

    l.parts = single && !float_serves(job, &rounding, 1) ? 2 : 1;
    l.single = single && float_serves(job, &rounding, l.parts);
    if (!l.single) l.parts = 1;
    l.first_fast = roi[0] / GPU_FAST * GPU_FAST;
    l.first_slow = roi[2] / GPU_SLOW * GPU_SLOW;
    l.across = divide_up(roi[1] - l.first_fast, GPU_FAST);
    l.down = divide_up(roi[3] - l.first_slow, GPU_SLOW);
    l.segments = segments_of(job->frame);
    l.strip = layout_rows(layout_share(properties, job, &l), l.down);
    return l;
}

int layout_records(const struct gpu_properties *properties, const struct job *job)
{
    /* a panel may need four recordings: of the strips and of the last strip, for two
     * kernels */
    enum { FEW = GPU_RECORDINGS / 4 };
    const int panels = window_panels(job->window);
    struct gpu_layout first = {0};

    for (int i = 0; i < panels && panels > FEW; i++) {
        const struct job panel = job_of_panel(job, i);
        const struct gpu_layout l = gpu_layout_of(properties, &panel, 0);

        if (layout_is_empty(&panel)) continue;
        if (first.down == 0) first = l;
        if (l.across != first.across || l.down != first.down) return 0;
    }
    return 1;
}
