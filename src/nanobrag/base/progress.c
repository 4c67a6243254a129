/*
 * progress.c - counts the steps of a call and calls the caller's handler.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/progress.h"

#ifdef _OPENMP
#include <omp.h>
#endif

void progress_begin(struct progress *progress, nb_context *ctx)
{
    progress->ctx = ctx;
    progress->handler = ctx->options.progress;
    progress->user = ctx->options.user;
    progress->reported = 0;
    atomic_init(&progress->stop, 0);
    progress_passes(progress, 1);
}

void progress_passes(struct progress *progress, int passes)
{
    progress->pass = 0;
    progress->weight = 1;
    progress->passes = passes > 1 ? passes : 1;
    if (progress->lattices > 1) progress->passes *= progress->lattices;
}

void progress_weigh(struct progress *progress, int weight)
{
    progress->weight = weight;
}

void progress_at(struct progress *progress, int pass, int weight)
{
    progress->pass = pass;
    progress->weight = weight;
}

void progress_start(struct progress *progress, int planned)
{
    progress->ctx->launches++;
    progress->ctx->compiled_launches += planned != 0;
    progress->base = progress->step = 0;
    atomic_init(&progress->done, 0);
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

/* Calls the handler after `fraction` of the pass. Only the first thread may call this. */
static void report(struct progress *progress, double fraction)
{
    const double all = (progress->pass + progress->weight * fraction) / progress->passes;

    if (!progress->handler) return;
    if (all > progress->reported) progress->reported = all;
    if (progress->handler(progress->user, progress->reported))
        atomic_store(&progress->stop, 1);
}

void progress_step(struct progress *progress)
{
    const int done = atomic_fetch_add(&progress->done, 1) + 1;
    const double fraction = progress->base + progress->step * done;

    /* progress_end() reports the end of a pass */
    if (is_first_thread() && fraction < 1 - 0.5 * progress->step)
        report(progress, fraction);
}

int progress_within(struct progress *progress, double share)
{
    const int done = atomic_load(&progress->done);

    if (is_first_thread())
        report(progress, progress->base + progress->step * (done + share));
    return progress_stopped(progress);
}

int progress_stopped(struct progress *progress)
{
    return atomic_load(&progress->stop);
}

int progress_asked(struct progress *progress)
{
    if (is_first_thread()) report(progress, 0);
    return progress_stopped(progress);
}

nb_status progress_check(struct progress *progress)
{
    if (progress_stopped(progress))
        return fail(progress->ctx, NB_ERR_CANCELLED, "stopped on request");
    return NB_OK;
}

nb_status progress_end(struct progress *progress)
{
    if (!progress_stopped(progress)) report(progress, 1);
    if (progress->pass + progress->weight < progress->passes) {
        progress->pass += progress->weight;
        progress->weight = 1;
    }
    return progress_check(progress);
}
