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

int tiles_first_thread(void)
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

int tiles_rendered(const struct job *job, const struct tile *tile)
{
    return deliver(job, tile, NULL);
}

void tiles_collect(const struct job *job, const struct tile *tile, double *photons)
{
    const int last_slow = min_int(tile->slow + tile->height, job->frame->nslow);
    const int last_fast = min_int(tile->fast + tile->width, job->frame->nfast);

    memset(photons, 0, sizeof *photons * (size_t)(tile->width * tile->height));
    for (int s = tile->slow; s < last_slow; s++)
        memcpy(photons + (s - tile->slow) * tile->width,
               job->photons + (size_t)s * (size_t)job->frame->nfast + (size_t)tile->fast,
               sizeof *photons * (size_t)(last_fast - tile->fast));
}

double tiles_deliver(const struct job *job, const struct tile *tile, const double *photons)
{
    const int last_slow = min_int(tile->slow + tile->height, job->frame->nslow);
    const int last_fast = min_int(tile->fast + tile->width, job->frame->nfast);
    double largest = 0;

    for (int s = tile->slow; s < last_slow; s++)
        for (int f = tile->fast; f < last_fast; f++) {
            const double value = photons[(s - tile->slow) * tile->width + f - tile->fast];
            const int shown = is_rendered(job, s, f);

            job->photons[(size_t)s * (size_t)job->frame->nfast + (size_t)f] =
                shown ? value : 0;
            if (shown && value > largest) largest = value;
        }
    return largest;
}

/* tiles along the fast axis, from that of the first pixel */
static int tiles_across(const struct job *job)
{
    return (job->roi[1] + TILE_FAST - 1) / TILE_FAST - job->roi[0] / TILE_FAST;
}

int tiles_count(const struct job *job)
{
    const int slow0 = job->roi[2] / TILE_SLOW;

    return tiles_across(job) * ((job->roi[3] + TILE_SLOW - 1) / TILE_SLOW - slow0);
}

struct tile tiles_at(const struct job *job, int i)
{
    const int across = tiles_across(job);
    const struct tile tile = {(job->roi[0] / TILE_FAST + i % across) * TILE_FAST,
                              (job->roi[2] / TILE_SLOW + i / across) * TILE_SLOW, TILE_FAST,
                              TILE_SLOW};

    return tile;
}

static double sum_rendered(const struct job *job, const struct tile *tile,
                           const double *values)
{
    double sum = 0;

    for (int s = tile->slow; s < tile->slow + tile->height && s < job->roi[3]; s++)
        for (int f = tile->fast; f < tile->fast + tile->width && f < job->roi[1]; f++)
            if (is_rendered(job, s, f))
                sum += values[(s - tile->slow) * tile->width + f - tile->fast];
    return sum;
}

/* how a tile is to be computed: so many divisions in float, or IN_DOUBLE; and what
 * rounding then leaves */
static int divisions(const struct kernel_set *kernels, const struct job *job,
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

        if (tiles_rendered(job, &part) == 0) continue;
        use->forward[shape][lookup](job->frame, &part, photons);
        (void)deliver(job, &part, photons);
    }
}

double tiles_solid_angle(const struct kernels *kernels, const struct job *job, int threads,
                         double *rows)
{
    const int count = tiles_count(job), across = count > 0 ? tiles_across(job) : 1;
    double sum = 0;

    (void)threads; /* unused without OpenMP */
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int row = 0; row < count / across; row++) {
        rows[row] = 0;
        for (int t = row * across; t < (row + 1) * across; t++) {
            const struct tile tile = tiles_at(job, t);
            double omega[TILE_PIXELS];

            kernels->omega(job->frame, &tile, omega);
            rows[row] += sum_rendered(job, &tile, omega);
        }
    }
    for (int row = 0; row < count / across; row++) sum += rows[row];
    return sum;
}

struct tiles_summary tiles_survey(const struct kernel_set *kernels, const struct job *job)
{
    const struct rounding rounding = rounding_of(job->frame, job->spec);
    const int count = tiles_count(job);
    struct tiles_summary sum = {0};

    for (int t = 0; t < count; t++) {
        const struct tile tile = tiles_at(job, t);
        double left;
        int n;

        if (tiles_rendered(job, &tile) == 0) continue;
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
    const int count = tiles_count(job);
    atomic_int done = 0, stop = 0;

    memset(job->photons, 0,
           sizeof *job->photons * (size_t)job->frame->nslow * (size_t)job->frame->nfast);
#pragma omp parallel for schedule(dynamic)                                                 \
    num_threads(min_int(ctx->threads, count > 0 ? count : 1))
    for (int t = 0; t < count; t++) {
        const struct tile tile = tiles_at(job, t);

        if (atomic_load(&stop)) continue;
        compute(kernels, job, &rounding, &tile);
        atomic_fetch_add(&done, 1);
        if (ctx->options.progress && tiles_first_thread() && atomic_load(&done) < count
            && ctx->options.progress(ctx->options.user,
                                     (double)atomic_load(&done) / count))
            atomic_store(&stop, 1);
    }
    if (ctx->options.progress && !atomic_load(&stop)
        && ctx->options.progress(ctx->options.user, 1))
        atomic_store(&stop, 1);
    if (atomic_load(&stop)) return fail(ctx, NB_ERR_CANCELLED, "stopped on request");
    return NB_OK;
}
