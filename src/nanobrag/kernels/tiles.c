/*
 * tiles.c - threads share the tiles of an image. A pixel is computed whole by one thread,
 * so any number of them gives the same bits. In float, a tile whose rounding would pass the
 * tolerance is divided, and if that is not enough done in double.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/context.h"
#include "kernels/kernels.h"
#include "kernels/rounding.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* a tile is divided twice at most: into quarters of 16 x 4 and of 8 x 2 pixels */
enum { MOST_DIVISIONS = 2, IN_DOUBLE = -1 };

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
    const int last_slow = min_int(tile->slow + tile->height, job->frame->nslow);
    const int last_fast = min_int(tile->fast + tile->width, job->frame->nfast);
    int count = 0;

    for (int s = tile->slow; s < last_slow; s++)
        for (int f = tile->fast; f < last_fast; f++) {
            if (!is_rendered(job, s, f)) continue;
            count++;
            if (photons)
                job->photons[(size_t)s * (size_t)job->frame->nfast + (size_t)f] =
                    photons[(s - tile->slow) * tile->width + f - tile->fast];
        }
    return count;
}

/* how a tile is to be computed: so many divisions in float, or IN_DOUBLE; and what
 * rounding then leaves */
static int divisions(const struct kernel_pair *kernels, const struct job *job,
                     const struct rounding *rounding, const struct tile *tile,
                     double *left)
{
    struct tile part = *tile;

    *left = rounding_double(rounding);
    if (!kernels->single) return IN_DOUBLE;
    for (int n = 0; n <= MOST_DIVISIONS; n++) {
        const double single = rounding_single(rounding, &part);

        if (single <= job->tolerance) {
            *left = single;
            return n;
        }
        part.width /= 2;
        part.height /= 2;
    }
    return IN_DOUBLE;
}

static void compute(const struct kernel_pair *kernels, const struct job *job,
                    const struct rounding *rounding, const struct tile *tile)
{
    const int shape = job->spec.shape, lookup = job->spec.lookup;
    double photons[TILE_PIXELS], left;
    const int n = divisions(kernels, job, rounding, tile, &left);
    const int parts = n == IN_DOUBLE ? 1 : 1 << n;
    const struct kernels *use = n == IN_DOUBLE ? kernels->precise : kernels->single;

    for (int i = 0; i < parts * parts; i++) {
        const int width = tile->width / parts, height = tile->height / parts;
        const struct tile part = {tile->fast + i % parts * width,
                                  tile->slow + i / parts * height, width, height};

        if (deliver(job, &part, NULL) == 0) continue;
        use->forward[shape][lookup](job->frame, &part, photons);
        (void)deliver(job, &part, photons);
    }
}

/* the tiles that a job touches */
struct grid {
    int fast0, slow0, nfast, n;
};

static struct grid grid_of(const struct job *job)
{
    struct grid g;

    g.fast0 = job->roi[0] / TILE_FAST;
    g.slow0 = job->roi[2] / TILE_SLOW;
    g.nfast = (job->roi[1] + TILE_FAST - 1) / TILE_FAST - g.fast0;
    g.n = g.nfast * ((job->roi[3] + TILE_SLOW - 1) / TILE_SLOW - g.slow0);
    return g;
}

static struct tile tile_of(const struct grid *g, int i)
{
    const struct tile tile = {(g->fast0 + i % g->nfast) * TILE_FAST,
                              (g->slow0 + i / g->nfast) * TILE_SLOW, TILE_FAST, TILE_SLOW};

    return tile;
}

struct tiles_summary tiles_survey(const struct kernel_pair *kernels, const struct job *job)
{
    const struct rounding rounding = rounding_of(job->frame, job->spec);
    const struct grid grid = grid_of(job);
    struct tiles_summary sum = {0};

    for (int t = 0; t < grid.n; t++) {
        const struct tile tile = tile_of(&grid, t);
        double left;
        int n;

        if (deliver(job, &tile, NULL) == 0) continue;
        n = divisions(kernels, job, &rounding, &tile, &left);
        sum.tiles++;
        sum.divided += n > 0;
        sum.precise += n == IN_DOUBLE;
        sum.rounding = fmax(sum.rounding, left);
    }
    return sum;
}

nb_status tiles_forward(nb_context *ctx, const struct kernel_pair *kernels,
                        const struct job *job)
{
    const struct rounding rounding = rounding_of(job->frame, job->spec);
    const struct grid grid = grid_of(job);
    atomic_int done = 0, stop = 0;

    memset(job->photons, 0,
           sizeof *job->photons * (size_t)job->frame->nslow * (size_t)job->frame->nfast);
#pragma omp parallel for schedule(dynamic)                                                 \
    num_threads(min_int(ctx->threads, grid.n > 0 ? grid.n : 1))
    for (int t = 0; t < grid.n; t++) {
        const struct tile tile = tile_of(&grid, t);

        if (atomic_load(&stop)) continue;
        compute(kernels, job, &rounding, &tile);
        atomic_fetch_add(&done, 1);
        if (ctx->options.progress && is_first_thread() && atomic_load(&done) < grid.n
            && ctx->options.progress(ctx->options.user,
                                     (double)atomic_load(&done) / grid.n))
            atomic_store(&stop, 1);
    }
    if (ctx->options.progress && !atomic_load(&stop)
        && ctx->options.progress(ctx->options.user, 1))
        atomic_store(&stop, 1);
    if (atomic_load(&stop)) return fail(ctx, NB_ERR_CANCELLED, "stopped on request");
    return NB_OK;
}
