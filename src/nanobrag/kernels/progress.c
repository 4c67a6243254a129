/* progress.c - see progress.h. SPDX-License-Identifier: MIT */
#include "kernels/progress.h"

#ifdef _OPENMP
#include <omp.h>
#endif

void progress_start(struct progress *progress, nb_context *ctx)
{
    progress->ctx = ctx;
    progress->base = progress->step = progress->told = 0;
    atomic_init(&progress->done, 0);
    atomic_init(&progress->stop, 0);
}

void progress_part(struct progress *progress, double begin, double share, int steps)
{
    progress->base = begin;
    progress->step = share / (steps > 0 ? steps : 1);
    atomic_store(&progress->done, 0);
}

static int is_first_thread(void)
{
#ifdef _OPENMP
    return omp_get_thread_num() == 0;
#else
    return 1;
#endif
}

static void tell(struct progress *progress, double fraction)
{
    const nb_context_options *options = &progress->ctx->options;

    if (!options->progress) return;
    if (fraction > progress->told) progress->told = fraction; /* the first thread's alone */
    if (options->progress(options->user, progress->told)) atomic_store(&progress->stop, 1);
}

void progress_step(struct progress *progress)
{
    const int done = atomic_fetch_add(&progress->done, 1) + 1;
    const double fraction = progress->base + progress->step * done;

    /* all of it is told at the end, by progress_end() */
    if (is_first_thread() && fraction < 1 - 0.5 * progress->step) tell(progress, fraction);
}

int progress_stopped(struct progress *progress)
{
    return atomic_load(&progress->stop);
}

nb_status progress_check(struct progress *progress)
{
    if (progress_stopped(progress))
        return fail(progress->ctx, NB_ERR_CANCELLED, "stopped on request");
    return NB_OK;
}

nb_status progress_end(struct progress *progress)
{
    if (!progress_stopped(progress)) tell(progress, 1);
    return progress_check(progress);
}
