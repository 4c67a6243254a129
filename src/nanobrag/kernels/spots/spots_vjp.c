/*
 * spots_vjp.c - the adjoint of an image by spots. The cotangents of each pair of source and
 * orientation come from its spots, visited strip by strip with the cotangent of the Bragg
 * sum of every pixel. All other cotangents come from the pixels, tile by tile.
 *
 * The cotangents of a linear objective do not depend on the photons, so they are known
 * before the first spot is splatted. One visit of the spots then adds cotangents and
 * computes the sums that the tiles need. Any other objective needs an image first, which
 * also decides the radius of the spots; then come the tiles, and the spots again.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/spots/spots_vjp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/floats.h"
#include "kernels/continuous/continuous.h"
#include "kernels/grid.h"
#include "kernels/spots/row_strips.h"
#include "physics/pixel.h"

/* share of the progress that the image takes if it must come first */
static const double image_share = 0.4;

/* One call of spots_vjp(). */
struct run {
    struct progress *progress;
    const struct kernel_set *kernels;
    struct job job; /* job.photons holds the Bragg sums */
    const struct objective *objective;
    struct adjoint_work *adjoint;
    struct spots_work *work;
    struct spots_attempt attempt;
    /* constant factor of the Bragg sums; largest cotangent of a sum */
    double factor, largest_weight;
};

/* All samples of a pixel must have the same factors. Otherwise each factor has slopes of
 * its own, which only the adjoint by lanes supports. Only lanes also compute an
 * interpolated F, and an amorphous material that is evaluated at every sample. */
int spots_vjp_splats(const struct job *job)
{
    const struct phys_frame *f = job->frame;

    if (f->continuous) return 1; /* the nodes of spots have slopes of these factors */
    return job->spec.lookup != PHYS_TRICUBIC && !phys_differs_by_source(f) && !f->each_omega
           && f->layer_mu == 0 && !f->amorphous_in_samples;
}

static int grow_weight(struct spots_work *work, const struct job *job)
{
    const size_t n =
        window_packed(job->window) + 1; /* + 1, so that n is not 0 for an empty window */

    if (n <= work->pixels) return 1;
    free(work->weight);
    work->pixels = 0;
    work->weight = malloc(n * sizeof *work->weight);
    if (work->weight) work->pixels = n;
    return work->weight != NULL;
}

/* ---- tiles ---- */

/* One of the steps that each_tile() runs. `job` is the job of the tile's panel. */
typedef void tile_step(const struct run *run, const struct job *job,
                       const struct tile *tile, int chunk);

/* Runs one step on all tiles, which are assigned to chunks in order. */
static void each_tile(const struct run *run, tile_step *step)
{
    const struct adjoint_work *adjoint = run->adjoint;
    const int count = grid_count(&run->job), chunks = adjoint->chunks;
    const int threads = strips_threads(&run->job, (double)count * TILE_PIXELS);

#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int chunk = 0; chunk < chunks; chunk++) {
        STANDARD_FLOATS;
        const int end = (int)((int64_t)count * (chunk + 1) / chunks);
        int at = 0; /* panel of the previous tile */

        for (int t = (int)((int64_t)count * chunk / chunks); t < end; t++) {
            const struct tile tile = grid_tile(&run->job, t);
            struct job job = job_of_panel(&run->job, tile.panel);

            job.scratch = adjoint_scratch(adjoint);
            if (tile.panel != at) adjoint_leave(adjoint, chunk, at);
            at = tile.panel;
            if (t + 1 < end) {
                const struct tile next = grid_tile(&run->job, t + 1);

                objective_ahead(run->objective, &run->job, &next);
            }
            step(run, &job, &tile, chunk);
        }
        adjoint_leave(adjoint, chunk, at);
    }
    (void)threads; /* unused without OpenMP */
}

/* Returns 0 if no spot reaches a tile. Its sums are 0 then, and they are not stored. */
static int has_spots(const struct run *run, const struct tile *tile)
{
    return !run->job.frame->continuous || run->work->continuous->lit[tile->number];
}

static const struct adjoint_kernels *adjoint_kernels_of(const struct run *run)
{
    return run->attempt.single ? run->kernels->adjoint_single
                               : run->kernels->adjoint_precise;
}

/* Returns a copy of a job, of the image or of a panel, whose photons are the cotangents of
 * the Bragg sums. */
static struct job weights_of(const struct run *run, const struct job *job)
{
    struct job weights = *job;

    weights.shown = NULL; /* pixels in the margin of a point spread have cotangents, too */
    weights.photons = run->work->weight;
    return weights;
}

/* Stores the cotangents of the Bragg sums of a tile. */
static void keep_weights(const struct run *run, const struct job *job,
                         const struct tile *tile, int chunk, const double *weight)
{
    const struct job weights = weights_of(run, job);
    double *most = run->adjoint->most + chunk;

    if (run->job.frame->continuous)
        grid_put(&weights, tile, weight);
    else
        *most = fmax(*most, grid_write(&weights, tile, weight));
}

/* Computes the cotangents of the Bragg sums of a tile for a linear objective. */
static void weigh_step(const struct run *run, const struct job *job,
                       const struct tile *tile, int chunk)
{
    double weight[TILE_PIXELS];

    if (!has_spots(run, tile)) return;
    adjoint_kernels_of(run)->weigh(job, tile, run->factor, run->objective, weight);
    keep_weights(run, job, tile, chunk, weight);
}

/* Computes the photons of a tile from its Bragg sums. The photons are stored where the
 * cotangents of the sums will be. */
static void finish_step(const struct run *run, const struct job *job,
                        const struct tile *tile, int chunk)
{
    const struct job weights = weights_of(run, job);
    double photons[TILE_PIXELS];

    (void)chunk;
    memset(photons, 0, sizeof photons);
    if (has_spots(run, tile)) grid_read(job, tile, photons);
    if (!spots_is_dark(job->frame, tile, photons))
        run->kernels->precise->finish(job->frame, tile, run->factor, photons);
    grid_put(&weights, tile, photons);
}

/* Returns 1 if a tile is known to have no photons before its sums are read. */
static int is_dark(const struct run *run, const struct job *job, const struct tile *tile)
{
    return job->frame->amorphous_scale == 0 && !has_spots(run, tile);
}

/* Adds the cotangents of a tile that do not come from its samples. If the objective is not
 * linear, the cotangents of the tile's Bragg sums are stored. A dark tile has no
 * cotangents, but its pixels contribute to the value of the objective. */
static void close_step(const struct run *run, const struct job *job,
                       const struct tile *tile, int chunk)
{
    struct adjoint_work *adjoint = run->adjoint;
    const int linear = run->objective->linear, dark = is_dark(run, job, tile);
    double sums[TILE_PIXELS], photons[TILE_PIXELS], weight[TILE_PIXELS];

    if (dark && linear) return;
    if (has_spots(run, tile))
        grid_read(job, tile, sums);
    else
        memset(sums, 0, sizeof sums);
    if (!dark && !spots_is_dark(job->frame, tile, sums)) {
        adjoint->value[chunk] +=
            adjoint_kernels_of(run)->close(job, tile, run->factor, run->objective, sums,
                                           adjoint->bar + chunk, linear ? NULL : weight,
                                           photons);
        if (!run->job.frame->continuous)
            adjoint->peak[chunk] =
                fmax(adjoint->peak[chunk], grid_peak(job, tile, photons));
        if (!linear) keep_weights(run, job, tile, chunk, weight);
    } else if (!linear) {
        adjoint->value[chunk] +=
            objective_tile(run->objective, job, tile, sums, photons, NULL);
    }
}

/* ---- strips ---- */

/* Adds the cotangents of the source and of the orientation of a pair, of the strain and of
 * the B factor, from the sums over the pair's samples. `scale` is splat_weights.scale. */
static void add_pair_cotangents(const struct splat_layer *splat_layer,
                                const struct pair *pair, double scale,
                                const struct splat_sums *s, struct phys_frame_tangent *bar)
{
    const struct phys_orientation *at = splat_layer->frame->orientation + pair->orientation;
    struct phys_source *source = bar->source + pair->index;
    struct phys_rotation *rotation = bar->rotation + pair->orientation;
    const double weight = scale * pair->weight, unit = pair->source->inverse_wavelength;
    double along = 0;

    rotation->weight += scale * pair->source->weight * s->f2;
    source->weight += scale * at->weight * s->f2;
    for (int r = 0; r < 3; r++) {
        const double *a = pair->axes + (size_t)3 * (size_t)r;
        double q[3] = {0}; /* sum over samples of slope times scattering vector */

        for (int c = 0; c < 3; c++) {
            const double *star = pair->stars + (size_t)3 * (size_t)c;
            const double moment = weight * s->moment[r][c];

            bar->strain[3 * r + c] += moment;
            for (int i = 0; i < 3; i++) q[i] += moment * star[i];
            source->direction[c] -= weight * unit * s->slope[r] * a[c];
        }
        along += weight * s->moment[r][r];
        frame_adjoint_rotation(a, q, rotation);
    }
    source->inverse_wavelength += along / unit;
    phys_numbers(bar)[PHYS_AT_DISPLACEMENT] +=
        phys_displacement_vjp(weight * unit * unit * s->square);
}

/* Adds the cotangents of one pair from its spots in a strip. */
static void pair_vjp(const void *user, int chunk, const struct splat_layer *splat_layer,
                     const struct pair *pair, const struct reflections *list, int *hits)
{
    const struct run *run = user;
    const struct kernel_set *k = run->kernels;
    const int single = run->attempt.single;
    const struct splat_kernels *splat_kernels = single ? k->splat_single : k->splat_precise;
    const struct splat_vjp_kernels *vjp =
        single ? k->splat_vjp_single : k->splat_vjp_precise;
    struct phys_frame_tangent *bar = run->adjoint->bar + chunk;
    const struct splat_weights weights = {run->work->weight,
                                          run->largest_weight,
                                          1 / run->largest_weight,
                                          run->job.spec.lookup,
                                          bar->f,
                                          (run->job.fixed & PHYS_FIXED_PIXELS) != 0};
    const double weight = run->largest_weight * pair->weight;
    struct splat_sums sums;
    const int n = splat_kernels->scan(pair, list, hits);

    if (n == 0) return;
    vjp->spots[run->job.spec.shape](splat_layer, pair, list, hits, n, &weights, &sums);
    add_pair_cotangents(splat_layer, pair, run->largest_weight, &sums, bar);
    frame_adjoint_crystal(run->job.spec, weight, sums.crystal, bar);
    frame_adjoint_places(splat_layer->frame, splat_layer->layer, splat_layer->depth, weight,
                         &sums.at, bar);
}

static void leave_panel(const void *user, int chunk, int panel)
{
    const struct run *run = user;

    adjoint_leave(run->adjoint, chunk, panel);
}

/* ---- the image ---- */

static double largest(int n, const double *values)
{
    double most = 0;

    for (int i = 0; i < n; i++) most = fmax(most, values[i]);
    return most;
}

static void clear_all(const struct adjoint_work *adjoint)
{
    for (int i = 0; i < adjoint->chunks; i++) adjoint_clear(adjoint, i);
}

static double largest_weight(const struct adjoint_work *adjoint)
{
    const double most = largest(adjoint->chunks, adjoint->most);

    return most > 0 ? most : 1;
}

/* Visits the spots of a continuous crystal, whose size does not depend on the peak of an
 * image. */
static nb_status visit_continuous(struct run *run)
{
    if (run->objective->linear)
        NB_TRY(
            continuous_draw(run->progress, run->kernels, &run->job, run->work->continuous));
    return continuous_back(run->progress, run->kernels, &run->job, run->adjoint,
                           run->work->weight, run->work->continuous);
}

/* Computes the Bragg sums for an objective that needs the photons before it gives
 * cotangents. */
static nb_status splat_spots_first(const struct run *run)
{
    if (run->job.frame->continuous)
        return continuous_draw(run->progress, run->kernels, &run->job,
                               run->work->continuous);
    return spots_splat(run->progress, run->kernels, &run->job, &run->attempt, image_share,
                       run->work);
}

/* Returns 1 when the image needs another attempt. */
static int again(struct run *run)
{
    const struct adjoint_work *adjoint = run->adjoint;

    return !run->job.frame->continuous
           && spots_again(&run->job, largest(adjoint->chunks, adjoint->peak),
                          &run->attempt);
}

/* Visits the spots with the cotangents of the Bragg sums. */
static nb_status visit_spots(struct run *run)
{
    const double begin = run->objective->linear ? 0 : image_share;
    const struct strips strips = {
        .job = &run->job,
        .radius = run->attempt.radius,
        .bragg = run->objective->linear ? run->job.photons : NULL,
        .begin = begin,
        .share = 1 - begin,
        .chunks = run->adjoint->chunks,
        .visit = pair_vjp,
        .leave = leave_panel,
        .user = run,
        .work = run->work,
    };

    if (run->job.frame->continuous) return visit_continuous(run);
    run->largest_weight = largest_weight(run->adjoint);
    return strips_run(run->progress, &strips);
}

/* Handles a linear objective: finds the cotangents of the Bragg sums, then visits the spots
 * and splats them, and then finishes the tiles. */
static nb_status linear_steps(struct run *run)
{
    const struct job weights = weights_of(run, &run->job);

    do {
        grid_clear(&weights);
        clear_all(run->adjoint);
        each_tile(run, weigh_step);
        NB_TRY(visit_spots(run));
        each_tile(run, close_step);
    } while (again(run));
    return NB_OK;
}

/* Handles any other objective: computes the image, then the cotangents of the Bragg sums
 * tile by tile, and then visits the spots again. */
static nb_status image_first_steps(struct run *run)
{
    const struct job weights = weights_of(run, &run->job);

    do {
        NB_TRY(splat_spots_first(run));
        if (run->objective->settle) {
            each_tile(run, finish_step);
            run->objective->settle(run->objective->user, run->work->weight);
        }
        grid_clear(&weights);
        clear_all(run->adjoint);
        each_tile(run, close_step);
    } while (again(run));
    return visit_spots(run);
}

nb_status spots_vjp(struct progress *progress, const struct kernel_set *kernels,
                    const struct job *job, const struct objective *objective,
                    struct adjoint_work *adjoint, struct spots_work *work)
{
    struct run run = {progress,
                      kernels,
                      *job,
                      objective,
                      adjoint,
                      work,
                      spots_first(kernels, job, SPOTS_DERIVATIVES),
                      phys_constant_factor(job->spec, job->frame),
                      0};

    if (!spots_vjp_splats(job))
        return adjoint_run(progress, kernels, job, objective, adjoint, work);
    if (!grow_weight(work, job)) return fail_memory(progress->ctx, "an adjoint");
    progress_start(progress, job->planned);
    if (job->frame->continuous && !grid_is_empty(job))
        NB_TRY(continuous_list(progress, kernels, job, work->continuous));
    if (grid_is_empty(job))
        clear_all(adjoint);
    else
        NB_TRY(objective->linear ? linear_steps(&run) : image_first_steps(&run));
    adjoint_sum_chunks(adjoint);
    return progress_end(progress);
}
