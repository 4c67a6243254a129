/* progress.c - see progress.h. SPDX-License-Identifier: MIT */
#include "kernels/progress.h"

#ifdef _OPENMP
#include <omp.h>
#endif

void progress_passes(nb_context *ctx, int passes)
{
    ctx->pass = 0;
    ctx->passes = passes;
}

void progress_share(nb_context *ctx, double from, double share)
{
    ctx->share_from = from;
    ctx->share = share;
}

void progress_start(struct progress *progress, nb_context *ctx, const struct job *job)
{
    progress->ctx = ctx;
    ctx->launches++;
    ctx->compiled_launches += job->planned != 0;
    progress->base = progress->step = 0;
    progress->told = ctx->goes_on ? ctx->told : 0;
    ctx->goes_on = 0;
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

    const nb_context *ctx = progress->ctx;
    double all;

    if (!options->progress) return;
    if (fraction > progress->told) progress->told = fraction; /* the first thread's alone */
    progress->ctx->told = progress->told;
    all = ctx->passes > 1 ? (ctx->pass + progress->told) / ctx->passes : progress->told;
    if (ctx->share > 0) all = ctx->share_from + ctx->share * all;
    if (options->progress(options->user, all)) atomic_store(&progress->stop, 1);
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

int progress_asked(struct progress *progress)
{
    if (is_first_thread()) tell(progress, progress->told);
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
    nb_context *ctx = progress->ctx;

    if (!progress_stopped(progress)) tell(progress, 1);
    if (ctx->pass + 1 < ctx->passes) ctx->pass++;
    return progress_check(progress);
}
