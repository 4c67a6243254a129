/*
 * spots_vjp.c - see spots_vjp.h. Three steps: what the number at the end changes by with
 * the Bragg sum of every pixel (tile by tile); the spots once more, each handing that back
 * to its pair (band by band); and what does not come from the samples (tile by tile).
 *
 * A pull that does not depend on the photons is known before the first spot is painted, and
 * the sums come out of the second step; any other needs an image first, and how far spots
 * must reach is settled on that.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/spots/spots_vjp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/grid.h"
#include "kernels/spots/strips.h"
#include "physics/displacement.h"
#include "physics/step.h"

/* of the progress goes to the image that comes first, where there is one */
static const double image_share = 0.4;

struct run {
    struct progress *progress;
    const struct kernel_set *kernels;
    struct job job; /* its photons are the Bragg sums */
    const struct objective *objective;
    struct adjoint_work *adjoint;
    struct spots_work *work;
    struct spots_attempt attempt;
    double factor, most; /* of the Bragg part; the largest weight of a sum */
};

/* 1 when all samples of a pixel weigh the same. Where they do not, each has a factor with
 * slopes of its own, which lanes know how to hand back and spots do not; the same goes for
 * an F interpolated in every sample, and for an amorphous material seen by every sample. */
static int can_paint(const struct job *job)
{
    const struct phys_frame *f = job->frame;

    return job->spec.lookup != PHYS_TRICUBIC && !f->each_omega
           && !(f->each_polar && f->polarised) && f->layer_mu == 0 && !(f->dmin > 0)
           && !phys_is_displaced(f) && !f->amorphous_in_samples;
}

static int grow_images(struct spots_work *work, const struct phys_frame *frame)
{
    const size_t n = (size_t)frame->nslow * (size_t)frame->nfast;

    if (n <= work->pixels) return 1;
    free(work->sums);
    free(work->weight);
    work->pixels = 0;
    work->sums = malloc(n * sizeof *work->sums);
    work->weight = malloc(n * sizeof *work->weight);
    if (work->sums && work->weight) work->pixels = n;
    return work->pixels > 0; /* what there is will be freed */
}

/* ---- tiles ---- */

typedef void tile_step(const struct run *run, const struct tile *tile, int chunk);

/* a step of all tiles, dealt out as in adjoint.c */
static void each_tile(const struct run *run, tile_step *step)
{
    const struct adjoint_work *adjoint = run->adjoint;
    const int count = grid_count(&run->job), chunks = adjoint->chunks;
    const int threads = strips_threads(&run->job, (double)count * TILE_PIXELS);

#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int chunk = 0; chunk < chunks; chunk++)
        for (int t = chunk; t < count; t += chunks) {
            const struct tile tile = grid_tile(&run->job, t);

            if (grid_rendered(&run->job, &tile) > 0) step(run, &tile, chunk);
        }
    (void)threads; /* unused without OpenMP */
}

static const struct adjoint_kernels *adjoint_kernels_of(const struct run *run)
{
    return run->attempt.single ? run->kernels->adjoint_single
                               : run->kernels->adjoint_precise;
}

/* what pulls on the sums, as an image */
static struct job weights_of(const struct run *run)
{
    struct job weights = run->job;

    weights.photons = run->work->weight;
    return weights;
}

/* that of a tile; the brightest pixel to `peak`, the largest weight to `value` */
static void weigh_step(const struct run *run, const struct tile *tile, int chunk)
{
    double sums[TILE_PIXELS] = {0}, weight[TILE_PIXELS] = {0}, photons[TILE_PIXELS] = {0};
    double *peak = run->adjoint->peak + chunk, *most = run->adjoint->value + chunk;
    const struct job weights = weights_of(run);

    if (!run->objective->linear) grid_collect(&run->job, tile, sums);
    if (run->objective->linear || !spots_is_dark(run->job.frame, tile, sums))
        adjoint_kernels_of(run)->weigh(&run->job, tile, run->factor, run->objective, sums,
                                       weight, photons);
    *peak = fmax(*peak, grid_largest(&run->job, tile, photons));
    *most = fmax(*most, grid_deliver(&weights, tile, weight));
}

static void close_step(const struct run *run, const struct tile *tile, int chunk)
{
    struct adjoint_work *adjoint = run->adjoint;
    double sums[TILE_PIXELS], photons[TILE_PIXELS], bar[TILE_PIXELS];

    grid_collect(&run->job, tile, sums);
    if (spots_is_dark(run->job.frame, tile,
                      sums)) { /* nothing to hand back, but no photons may count */
        if (!run->objective->linear)
            adjoint->value[chunk] +=
                objective_tile(run->objective, &run->job, tile, sums, bar, NULL);
        return;
    }
    adjoint->value[chunk] +=
        adjoint_kernels_of(run)->close(&run->job, tile, run->factor, run->objective, sums,
                                       adjoint->bar + chunk, photons);
    adjoint->peak[chunk] =
        fmax(adjoint->peak[chunk], grid_largest(&run->job, tile, photons));
}

/* ---- bands ---- */

/* the sums of a pair to all that they depend on; `scale`: of the weights */
static void hand_back(const struct splat_area *splat_area, const struct pair *pair,
                      double scale, const struct splat_sums *s,
                      struct phys_frame_tangent *bar)
{
    const struct phys_orientation *at = splat_area->frame->orientation + pair->orientation;
    struct phys_source *source = bar->source + pair->index;
    struct phys_rotation *rotation = bar->rotation + pair->orientation;
    const double weight = scale * pair->weight, unit = pair->source->inverse_wavelength;
    double along = 0;

    rotation->weight += scale * pair->source->weight * s->f2;
    source->weight += scale * at->weight * s->f2;
    for (int r = 0; r < 3; r++) {
        const double *a = pair->axes + (size_t)3 * (size_t)r;
        double q[3] = {0}; /* slopes times the scattering vector */

        for (int c = 0; c < 3; c++) {
            const double *star = pair->stars + (size_t)3 * (size_t)c;
            const double moment = weight * s->moment[r][c];

            bar->strain[3 * r + c] += moment;
            for (int i = 0; i < 3; i++) q[i] += moment * star[i];
            source->direction[c] -= weight * unit * s->slope[r] * a[c];
        }
        along += weight * s->moment[r][r];
        frame_adjoint_turn(a, q, rotation);
    }
    source->inverse_wavelength += along / unit;
    phys_numbers(bar)[PHYS_AT_DISPLACEMENT] +=
        phys_displacement_vjp(weight * unit * unit * s->square);
}

static void pair_back(const void *user, int chunk, const struct splat_area *splat_area,
                      const struct pair *pair, const struct reflections *list, int *hits)
{
    const struct run *run = user;
    const struct kernel_set *k = run->kernels;
    const int single = run->attempt.single;
    const struct splat_kernels *splat_kernels = single ? k->splat_single : k->splat_precise;
    const struct splat_vjp_kernels *back =
        single ? k->splat_vjp_single : k->splat_vjp_precise;
    struct phys_frame_tangent *bar = run->adjoint->bar + chunk;
    const struct splat_weights objective = {run->work->weight, run->most, 1 / run->most,
                                            run->job.spec.lookup, bar->f};
    const double weight = run->most * pair->weight;
    struct splat_sums sums;
    const int n = splat_kernels->scan(pair, list, hits);

    if (n == 0) return;
    back->spots[run->job.spec.shape](splat_area, pair, list, hits, n, &objective, &sums);
    hand_back(splat_area, pair, run->most, &sums, bar);
    frame_adjoint_crystal(run->job.spec, weight, sums.crystal, bar);
    frame_adjoint_places(splat_area->frame, splat_area->layer, splat_area->depth, weight,
                         &sums.at, bar);
}

/* ---- the image ---- */

static double largest(int n, const double *values)
{
    double most = 0;

    for (int i = 0; i < n; i++) most = fmax(most, values[i]);
    return most;
}

static void blank_all(const struct adjoint_work *adjoint)
{
    for (int i = 0; i < adjoint->chunks; i++) adjoint_blank(adjoint, i);
}

/* weights of the sums, which an image must be painted for unless the pull is linear. *peak:
 * of that image */
static nb_status weigh_sums(struct run *run, double *peak)
{
    const struct adjoint_work *adjoint = run->adjoint;
    const struct job weights = weights_of(run);

    if (!run->objective->linear)
        NB_TRY(spots_paint(run->progress, run->kernels, &run->job, &run->attempt,
                           image_share, run->work));
    grid_blank(&weights);
    for (int i = 0; i < adjoint->chunks; i++) adjoint->peak[i] = adjoint->value[i] = 0;
    each_tile(run, weigh_step);
    *peak = largest(adjoint->chunks, adjoint->peak);
    run->most = largest(adjoint->chunks, adjoint->value);
    if (!(run->most > 0)) run->most = 1;
    return NB_OK;
}

/* the adjoint with weights that are known. *peak: of the image */
static nb_status objective_sums(struct run *run, double *peak)
{
    const double begin = run->objective->linear ? 0 : image_share;
    const struct strips strips = {
        .job = &run->job,
        .radius = run->attempt.radius,
        .bragg = run->objective->linear ? run->work->sums : NULL,
        .begin = begin,
        .share = 1 - begin,
        .chunks = run->adjoint->chunks,
        .pair = pair_back,
        .user = run,
        .work = run->work,
    };

    blank_all(run->adjoint);
    NB_TRY(strips_run(run->progress, &strips));
    each_tile(run, close_step);
    *peak = largest(run->adjoint->chunks, run->adjoint->peak);
    return NB_OK;
}

static nb_status all_back(struct run *run)
{
    double peak;

    if (run->objective->linear) {
        do {
            NB_TRY(weigh_sums(run, &peak));
            NB_TRY(objective_sums(run, &peak));
        } while (spots_again(&run->job, peak, &run->attempt));
        return NB_OK;
    }
    do NB_TRY(weigh_sums(run, &peak));
    while (spots_again(&run->job, peak, &run->attempt));
    return objective_sums(run, &peak);
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
                      spots_first(kernels, job),
                      phys_constant_factor(job->spec, job->frame),
                      0};

    if (!can_paint(job))
        return adjoint_run(progress, kernels, job, objective, adjoint, work);
    if (!grow_images(work, job->frame)) return fail_memory(progress->ctx, "an adjoint");
    run.job.photons = work->sums;
    progress_start(progress, job->planned);
    if (grid_is_empty(job))
        blank_all(adjoint);
    else
        NB_TRY(all_back(&run));
    adjoint_fold(adjoint);
    return progress_end(progress);
}
