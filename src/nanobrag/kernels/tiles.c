/*
 * tiles.c - the loop over the tiles of an image, which threads share. One thread computes a
 * whole pixel, so the bits do not depend on the number of threads. If rounding in float
 * would exceed the tolerance, a tile is divided; if that is not enough, it is computed in
 * double.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "base/progress.h"
#include "kernels/grid.h"
#include "kernels/kernels.h"
#include "kernels/rounding.h"

/* A tile is divided at most twice, into quarters of 16 x 4 and then of 8 x 2 pixels. */
enum { MOST_DIVISIONS = 2 };

int tiles_divisions(const struct kernel_set *kernels, const struct job *job,
                    const struct rounding *rounding, const struct tile *tile, double *left)
{
    *left = rounding_double(rounding);
    if (!kernels->single) return TILE_IN_DOUBLE;
    for (int n = 0; n <= MOST_DIVISIONS; n++) {
        const double single = rounding_single(rounding, tile, 1 << n);

        if (single <= job->tolerance) {
            *left = single;
            return n;
        }
    }
    return TILE_IN_DOUBLE;
}

/* Computes the photons of one tile and returns its brightest pixel, photons. */
static double compute_tile(struct progress *progress, const struct kernel_set *kernels,
                           const struct job *image, const struct rounding *rounding,
                           const struct tile *tile)
{
    const struct job panel = job_of_panel(image, tile->panel), *job = &panel;
    const int shape = job->spec.shape, lookup = job->spec.lookup;
    double photons[TILE_PIXELS], left, peak = 0;
    const int n = tiles_divisions(kernels, job, rounding, tile, &left);
    const int parts = n == TILE_IN_DOUBLE ? 1 : 1 << n;
    const struct kernels *use = n == TILE_IN_DOUBLE ? kernels->precise : kernels->single;
    tile_forward *single_orientation =
        job->spec.single_orientation ? use->single_orientation[shape][lookup] : NULL;
    tile_forward *forward =
        single_orientation ? single_orientation : use->forward[shape][lookup];

    for (int i = 0; i < parts * parts; i++) {
        const struct tile part = grid_part(tile, parts, i);

        if (grid_rendered(&part) == 0) continue;
        forward(progress, job->frame, &part, photons);
        if (progress_stopped(progress)) break;
        peak = fmax(peak, grid_write(job, &part, photons));
    }
    return peak;
}

double tiles_solid_angle(const struct kernels *kernels, const struct job *job, int threads,
                         double *rows)
{
    const struct window *w = job->window;
    double sum = 0;

    (void)threads; /* unused without OpenMP */
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int row = 0; row < w->nrow; row++) {
        STANDARD_FLOATS;
        rows[row] = 0;
        for (int span = w->row[row]; span < w->row[row + 1]; span++) {
            const int first = w->span[span].first;
            const int n = (w->span[span].end - w->span[span].fast) / TILE_FAST;

            for (int t = first; t < first + n; t++) {
                const struct tile tile = grid_tile(job, t);
                double omega[TILE_PIXELS];

                kernels->omega(job->frame, &tile, omega);
                rows[row] += grid_sum(&tile, omega);
            }
        }
    }
    for (int row = 0; row < w->nrow; row++) sum += rows[row];
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

        n = tiles_divisions(kernels, job, &rounding, &tile, &left);
        sum.tiles++;
        sum.divided += n > 0;
        sum.precise += n == TILE_IN_DOUBLE;
        sum.rounding = fmax(sum.rounding, left);
    }
    return sum;
}

/* Computes the photons of all tiles of a job; *brightest becomes the brightest pixel. */
static nb_status compute_tiles(const struct kernel_set *kernels, const struct job *job,
                               struct progress *progress, double *brightest)
{
    const struct rounding rounding = rounding_of(job->frame, job->spec);
    const int count = grid_count(job);
    const int threads = min_int(job->schedule.threads, count > 0 ? count : 1);
    const int block = job->schedule.block;
    double peak = 0;

    progress_part(progress, 0, 1, count);
#pragma omp parallel for schedule(dynamic, block) num_threads(threads) reduction(max : peak)
    for (int t = 0; t < count; t++) {
        STANDARD_FLOATS;
        const struct tile tile = grid_tile(job, t);

        if (progress_stopped(progress)) continue;
        peak = fmax(peak, compute_tile(progress, kernels, job, &rounding, &tile));
        progress_step(progress);
    }
    (void)threads, (void)block; /* unused without OpenMP */
    *brightest = peak;
    return progress_check(progress);
}

nb_status tiles_forward(struct progress *progress, const struct kernel_set *kernels,
                        const struct job *job)
{
    double peak;

    progress_start(progress, job->planned);
    grid_clear(job);
    if (job->dark) memset(job->dark, 0, (size_t)grid_count(job));
    NB_TRY(compute_tiles(kernels, job, progress, &peak));
    if (kernels->single && rounding_is_lost(job, peak)) {
        struct kernel_set precise = *kernels;

        precise.single = NULL;
        NB_TRY(compute_tiles(&precise, job, progress, &peak));
    }
    return progress_end(progress);
}
