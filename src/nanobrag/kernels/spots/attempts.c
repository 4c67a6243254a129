/* attempts.c - see attempts.h. SPDX-License-Identifier: MIT */
#include "kernels/spots/attempts.h"

#include "kernels/grid.h"
#include "kernels/rounding.h"

/* of the progress goes to finding the pairs, where that is done */
static const double pairs_share = 0.1;

struct attempts attempts_first(const struct kernel_set *kernels, const struct job *job,
                               struct spots_work *spots)
{
    struct attempts t = {.job = *job, .kernels = *kernels};

    t.work = spots && !grid_is_empty(job) ? spots : NULL;
    t.begin = t.work ? pairs_share : 0;
    t.spot = spots_first(kernels, job);
    t.spot.single = 0; /* the lanes' precision is decided here */
    return t;
}

nb_status attempts_pairs(struct progress *progress, struct attempts *t)
{
    if (!t->work) return NB_OK;
    NB_TRY(reach_find(progress, &t->kernels, &t->job, &t->spot, pairs_share, t->work,
                      &t->reach));
    t->job.reach = &t->reach;
    return NB_OK;
}

int attempts_again(struct attempts *t, double peak)
{
    if (t->kernels.single && rounding_is_lost(&t->job, peak)) {
        t->kernels.single = NULL;
        return 1;
    }
    return t->work && spots_again(&t->job, peak, &t->spot);
}
