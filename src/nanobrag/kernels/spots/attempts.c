/* attempts.c - repeated attempts at an image's derivatives by lanes.
 * SPDX-License-Identifier: MIT */
#include "kernels/spots/attempts.h"

#include "kernels/grid.h"
#include "kernels/rounding.h"

/* share of the progress that finding the pairs takes */
static const double pairs_share = 0.1;

struct attempts attempts_first(const struct kernel_set *kernels, const struct job *job,
                               struct spots_work *spots)
{
    struct attempts t = {.job = *job, .kernels = *kernels};

    t.work = spots && !grid_is_empty(job) ? spots : NULL;
    t.begin = t.work ? pairs_share : 0;
    t.spot = spots_first(kernels, job, SPOTS_DERIVATIVES);
    t.spot.single = 0; /* attempts_again() decides on the precision of the lanes */
    return t;
}

nb_status attempts_find_pairs(struct progress *progress, struct attempts *attempts)
{
    if (!attempts->work) return NB_OK;
    NB_TRY(reach_find(progress, &attempts->kernels, &attempts->job, &attempts->spot,
                      pairs_share, attempts->work, &attempts->reach));
    attempts->job.reach = &attempts->reach;
    return NB_OK;
}

int attempts_again(struct attempts *attempts, double peak)
{
    if (attempts->kernels.single && rounding_is_lost(&attempts->job, peak)) {
        attempts->kernels.single = NULL;
        return 1;
    }
    return attempts->work && spots_again(&attempts->job, peak, &attempts->spot);
}
