/*
 * tiles.c - threads share the tiles of an image. A pixel is computed whole by one thread,
 * so any number of them gives the same bits. SPDX-License-Identifier: MIT
 */
#include <stdatomic.h>
#include <string.h>

#include "base/context.h"
#include "kernels/kernels.h"

#ifdef _OPENMP
#include <omp.h>
#endif

static int is_first_thread(void)
{
#ifdef _OPENMP
    return omp_get_thread_num() == 0;
#else
    return 1;
#endif
}

static int is_rendered(const struct job *job, int s, int f)
{
    return f >= job->roi[0] && f < job->roi[1] && s >= job->roi[2] && s < job->roi[3]
           && (!job->mask || job->mask[(size_t)s * (size_t)job->frame->nfast + (size_t)f]);
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* write the rendered pixels of a tile; returns how many, without photons only counts */
static int deliver(const struct job *job, const struct tile *tile, const double *photons)
{
    const int last_slow = min_int(tile->slow + TILE_SLOW, job->frame->nslow);
    const int last_fast = min_int(tile->fast + TILE_FAST, job->frame->nfast);
    int count = 0;

    for (int s = tile->slow; s < last_slow; s++)
        for (int f = tile->fast; f < last_fast; f++) {
            if (!is_rendered(job, s, f)) continue;
            count++;
            if (photons)
                job->photons[(size_t)s * (size_t)job->frame->nfast + (size_t)f] =
                    photons[(s - tile->slow) * TILE_FAST + f - tile->fast];
        }
    return count;
}

nb_status tiles_forward(nb_context *ctx, const struct kernels *kernels,
                        const struct job *job)
{
    tile_forward *const forward = kernels->forward[job->spec.shape][job->spec.lookup];
    const int fast0 = job->roi[0] / TILE_FAST, slow0 = job->roi[2] / TILE_SLOW;
    const int nfast = (job->roi[1] + TILE_FAST - 1) / TILE_FAST - fast0;
    const int nslow = (job->roi[3] + TILE_SLOW - 1) / TILE_SLOW - slow0;
    const int ntiles = nfast * nslow;
    atomic_int done = 0, stop = 0;

    memset(job->photons, 0,
           sizeof *job->photons * (size_t)job->frame->nslow * (size_t)job->frame->nfast);
#pragma omp parallel for schedule(dynamic)                                                 \
    num_threads(min_int(ctx->threads, ntiles > 0 ? ntiles : 1))
    for (int t = 0; t < ntiles; t++) {
        const struct tile tile = {(fast0 + t % nfast) * TILE_FAST,
                                  (slow0 + t / nfast) * TILE_SLOW};
        double photons[TILE_PIXELS];

        if (atomic_load(&stop)) continue;
        if (deliver(job, &tile, NULL) > 0) {
            forward(job->frame, &tile, photons);
            (void)deliver(job, &tile, photons);
        }
        atomic_fetch_add(&done, 1);
        if (ctx->options.progress && is_first_thread() && atomic_load(&done) < ntiles
            && ctx->options.progress(ctx->options.user,
                                     (double)atomic_load(&done) / ntiles))
            atomic_store(&stop, 1);
    }
    if (ctx->options.progress && !atomic_load(&stop)
        && ctx->options.progress(ctx->options.user, 1))
        atomic_store(&stop, 1);
    if (atomic_load(&stop)) return fail(ctx, NB_ERR_CANCELLED, "stopped on request");
    return NB_OK;
}
