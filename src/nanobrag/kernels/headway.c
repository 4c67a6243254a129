/* headway.c - see headway.h. SPDX-License-Identifier: MIT */
#include "kernels/headway.h"

#ifdef _OPENMP
#include <omp.h>
#endif

void headway_passes(nb_context *ctx, int passes)
{
    ctx->pass = 0;
    ctx->passes = passes;
}

void headway_share(nb_context *ctx, double from, double share)
{
    ctx->share_from = from;
    ctx->share = share;
}

void headway_start(struct headway *headway, nb_context *ctx, const struct job *job)
{
    headway->ctx = ctx;
    ctx->launches++;
    ctx->compiled_launches += job->planned != 0;
    headway->base = headway->step = 0;
    headway->told = ctx->goes_on ? ctx->told : 0;
    ctx->goes_on = 0;
    atomic_init(&headway->done, 0);
    atomic_init(&headway->stop, 0);
}

void headway_part(struct headway *headway, double begin, double share, int steps)
{
    headway->base = begin;
    headway->step = share / (steps > 0 ? steps : 1);
    atomic_store(&headway->done, 0);
}

static int is_first_thread(void)
{
#ifdef _OPENMP
    return omp_get_thread_num() == 0;
#else
    return 1;
#endif
}

static void tell(struct headway *headway, double fraction)
{
    const nb_context_options *options = &headway->ctx->options;

    const nb_context *ctx = headway->ctx;
    double all;

    if (!options->progress) return;
    if (fraction > headway->told) headway->told = fraction; /* the first thread's alone */
    headway->ctx->told = headway->told;
    all = ctx->passes > 1 ? (ctx->pass + headway->told) / ctx->passes : headway->told;
    if (ctx->share > 0) all = ctx->share_from + ctx->share * all;
    if (options->progress(options->user, all)) atomic_store(&headway->stop, 1);
}

void headway_step(struct headway *headway)
{
    const int done = atomic_fetch_add(&headway->done, 1) + 1;
    const double fraction = headway->base + headway->step * done;

    /* all of it is told at the end, by headway_end() */
    if (is_first_thread() && fraction < 1 - 0.5 * headway->step) tell(headway, fraction);
}

int headway_stopped(struct headway *headway)
{
    return atomic_load(&headway->stop);
}

int headway_asked(struct headway *headway)
{
    if (is_first_thread()) tell(headway, headway->told);
    return headway_stopped(headway);
}

nb_status headway_check(struct headway *headway)
{
    if (headway_stopped(headway))
        return fail(headway->ctx, NB_ERR_CANCELLED, "stopped on request");
    return NB_OK;
}

nb_status headway_end(struct headway *headway)
{
    nb_context *ctx = headway->ctx;

    if (!headway_stopped(headway)) tell(headway, 1);
    if (ctx->pass + 1 < ctx->passes) ctx->pass++;
    return headway_check(headway);
}
