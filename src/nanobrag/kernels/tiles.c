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
#include "kernels/grid.h"
#include "kernels/kernels.h"
#include "kernels/rounding.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* a tile is divided twice at most: into quarters of 16 x 4 and of 8 x 2 pixels */
enum { MOST_DIVISIONS = 2, IN_DOUBLE = -1 };

int tiles_first_thread(void)
{
#ifdef _OPENMP
    return omp_get_thread_num() == 0;
#else
    return 1;
#endif
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* how a tile is to be computed: so many divisions in float, or IN_DOUBLE; and what
 * rounding then leaves */
static int divisions(const struct kernel_set *kernels, const struct job *job,
                     const struct rounding *rounding, const struct tile *tile, double *left)
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

static void compute(const struct kernel_set *kernels, const struct job *job,
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

        if (grid_rendered(job, &part) == 0) continue;
        use->forward[shape][lookup](job->frame, &part, photons);
        (void)grid_deliver(job, &part, photons);
    }
}

double tiles_solid_angle(const struct kernels *kernels, const struct job *job, int threads,
                         double *rows)
{
    const int count = grid_count(job), across = count > 0 ? grid_across(job) : 1;
    double sum = 0;

    (void)threads; /* unused without OpenMP */
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int row = 0; row < count / across; row++) {
        rows[row] = 0;
        for (int t = row * across; t < (row + 1) * across; t++) {
            const struct tile tile = grid_tile(job, t);
            double omega[TILE_PIXELS];

            kernels->omega(job->frame, &tile, omega);
            rows[row] += grid_sum(job, &tile, omega);
        }
    }
    for (int row = 0; row < count / across; row++) sum += rows[row];
    return sum;
}

struct tiles_summary tiles_survey(const struct kernel_set *kernels, const struct job *job)
{
    const struct rounding rounding = rounding_of(job->frame, job->spec);
    const int count = grid_count(job);
    struct tiles_summary sum = {0};

    for (int t = 0; t < count; t++) {
        const struct tile tile = grid_tile(job, t);
        double left;
        int n;

        if (grid_rendered(job, &tile) == 0) continue;
        n = divisions(kernels, job, &rounding, &tile, &left);
        sum.tiles++;
        sum.divided += n > 0;
        sum.precise += n == IN_DOUBLE;
        sum.rounding = fmax(sum.rounding, left);
    }
    return sum;
}

nb_status tiles_forward(nb_context *ctx, const struct kernel_set *kernels,
                        const struct job *job)
{
    const struct rounding rounding = rounding_of(job->frame, job->spec);
    const int count = grid_count(job);
    atomic_int done = 0, stop = 0;

    grid_blank(job);
#pragma omp parallel for schedule(dynamic)                                                 \
    num_threads(min_int(ctx->threads, count > 0 ? count : 1))
    for (int t = 0; t < count; t++) {
        const struct tile tile = grid_tile(job, t);

        if (atomic_load(&stop)) continue;
        compute(kernels, job, &rounding, &tile);
        atomic_fetch_add(&done, 1);
        if (ctx->options.progress && tiles_first_thread() && atomic_load(&done) < count
            && ctx->options.progress(ctx->options.user, (double)atomic_load(&done) / count))
            atomic_store(&stop, 1);
    }
    if (ctx->options.progress && !atomic_load(&stop)
        && ctx->options.progress(ctx->options.user, 1))
        atomic_store(&stop, 1);
    if (atomic_load(&stop)) return fail(ctx, NB_ERR_CANCELLED, "stopped on request");
    return NB_OK;
}
