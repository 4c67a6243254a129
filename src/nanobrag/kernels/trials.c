/* trials.c - see trials.h. SPDX-License-Identifier: MIT */
#include "kernels/trials.h"

#include "kernels/grid.h"
#include "kernels/rounding.h"

/* of the headway goes to finding the pairs, where that is done */
static const double pairs_share = 0.1;

struct trials trials_first(const struct kernel_set *kernels, const struct job *job,
                           struct spots_work *spots)
{
    struct trials t = {.job = *job, .kernels = *kernels};

    t.work = spots && !grid_is_empty(job) ? spots : NULL;
    t.begin = t.work ? pairs_share : 0;
    t.spot = spots_first(kernels, job);
    t.spot.single = 0; /* the lanes' precision is decided here */
    return t;
}

nb_status trials_pairs(struct headway *headway, struct trials *t)
{
    if (!t->work) return NB_OK;
    NB_TRY(
        live_find(headway, &t->kernels, &t->job, &t->spot, pairs_share, t->work, &t->live));
    t->job.live = &t->live;
    return NB_OK;
}

int trials_again(struct trials *t, double peak)
{
    if (t->kernels.single && rounding_is_lost(&t->job, peak)) {
        t->kernels.single = NULL;
        return 1;
    }
    return t->work && spots_again(&t->job, peak, &t->spot);
}
