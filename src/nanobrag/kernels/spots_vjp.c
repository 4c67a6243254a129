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
#include "kernels/spots_vjp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/bands.h"
#include "kernels/grid.h"
#include "physics/step.h"

/* of the headway goes to the image that comes first, where there is one */
static const double image_share = 0.4;

struct run {
    struct headway *headway;
    const struct kernel_set *kernels;
    struct job job; /* its photons are the Bragg sums */
    const struct pull *pull;
    struct adjoint_work *adjoint;
    struct spots_work *work;
    struct spots_trial trial;
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
           && f->b_factor == 0 && !f->amorphous_in_samples;
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
    const int threads = bands_threads(&run->job, (double)count * TILE_PIXELS);

#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int chunk = 0; chunk < chunks; chunk++)
        for (int t = chunk; t < count; t += chunks) {
            const struct tile tile = grid_tile(&run->job, t);

            if (grid_rendered(&run->job, &tile) > 0) step(run, &tile, chunk);
        }
    (void)threads; /* unused without OpenMP */
}

static const struct puller *puller_of(const struct run *run)
{
    return run->trial.single ? run->kernels->pull_single : run->kernels->pull_precise;
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

    if (!run->pull->linear) grid_collect(&run->job, tile, sums);
    if (run->pull->linear || !spots_is_dark(run->job.frame, tile, sums))
        puller_of(run)->weigh(&run->job, tile, run->factor, run->pull, sums, weight,
                              photons);
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
        if (!run->pull->linear)
            adjoint->value[chunk] += pull_tile(run->pull, &run->job, tile, sums, bar, NULL);
        return;
    }
    adjoint->value[chunk] += puller_of(run)->close(&run->job, tile, run->factor, run->pull,
                                                   sums, adjoint->bar + chunk, photons);
    adjoint->peak[chunk] =
        fmax(adjoint->peak[chunk], grid_largest(&run->job, tile, photons));
}

/* ---- bands ---- */

/* the sums of a pair to all that they depend on; `scale`: of the weights */
static void hand_back(const struct canvas *canvas, const struct pairing *pair, double scale,
                      const struct paint_sums *s, struct phys_slope *bar)
{
    const struct phys_orientation *at = canvas->frame->orientation + pair->orientation;
    struct phys_source *source = bar->source + pair->index;
    struct phys_turn *turn = bar->turn + pair->orientation;
    const double weight = scale * pair->weight, unit = pair->source->inverse_wavelength;
    double along = 0;

    turn->weight += scale * pair->source->weight * s->f2;
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
        frame_back_turn(a, q, turn);
    }
    source->inverse_wavelength += along / unit;
    bar->b_factor -= weight * unit * unit * s->square / 2;
}

static void pair_back(const void *user, int chunk, const struct canvas *canvas,
                      const struct pairing *pair, const struct reflections *list, int *hits)
{
    const struct run *run = user;
    const struct kernel_set *k = run->kernels;
    const int single = run->trial.single;
    const struct painter *painter = single ? k->paint_single : k->paint_precise;
    const struct repainter *back = single ? k->repaint_single : k->repaint_precise;
    struct phys_slope *bar = run->adjoint->bar + chunk;
    const struct paint_pull pull = {run->work->weight, run->most, 1 / run->most,
                                    run->job.spec.lookup, bar->f};
    const double weight = run->most * pair->weight;
    struct paint_sums sums;
    const int n = painter->scan(pair, list, hits);

    if (n == 0) return;
    back->spots[run->job.spec.shape](canvas, pair, list, hits, n, &pull, &sums);
    hand_back(canvas, pair, run->most, &sums, bar);
    frame_back_crystal(run->job.spec, weight, sums.crystal, bar);
    frame_back_places(canvas->frame, canvas->layer, canvas->depth, weight, &sums.at, bar);
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

    if (!run->pull->linear)
        NB_TRY(spots_paint(run->headway, run->kernels, &run->job, &run->trial, image_share,
                           run->work));
    grid_blank(&weights);
    for (int i = 0; i < adjoint->chunks; i++) adjoint->peak[i] = adjoint->value[i] = 0;
    each_tile(run, weigh_step);
    *peak = largest(adjoint->chunks, adjoint->peak);
    run->most = largest(adjoint->chunks, adjoint->value);
    if (!(run->most > 0)) run->most = 1;
    return NB_OK;
}

/* the adjoint with weights that are known. *peak: of the image */
static nb_status pull_sums(struct run *run, double *peak)
{
    const double begin = run->pull->linear ? 0 : image_share;
    const struct bands bands = {
        .job = &run->job,
        .radius = run->trial.radius,
        .bragg = run->pull->linear ? run->work->sums : NULL,
        .begin = begin,
        .share = 1 - begin,
        .chunks = run->adjoint->chunks,
        .pair = pair_back,
        .user = run,
        .work = run->work,
    };

    blank_all(run->adjoint);
    NB_TRY(bands_run(run->headway, &bands));
    each_tile(run, close_step);
    *peak = largest(run->adjoint->chunks, run->adjoint->peak);
    return NB_OK;
}

static nb_status all_back(struct run *run)
{
    double peak;

    if (run->pull->linear) {
        do {
            NB_TRY(weigh_sums(run, &peak));
            NB_TRY(pull_sums(run, &peak));
        } while (spots_again(&run->job, peak, &run->trial));
        return NB_OK;
    }
    do NB_TRY(weigh_sums(run, &peak));
    while (spots_again(&run->job, peak, &run->trial));
    return pull_sums(run, &peak);
}

nb_status spots_vjp(nb_context *ctx, const struct kernel_set *kernels,
                    const struct job *job, const struct pull *pull,
                    struct adjoint_work *adjoint, struct spots_work *work)
{
    struct headway headway;
    struct run run = {&headway,
                      kernels,
                      *job,
                      pull,
                      adjoint,
                      work,
                      spots_first(kernels, job),
                      phys_constant_factor(job->spec, job->frame),
                      0};

    if (!can_paint(job)) return adjoint_run(ctx, kernels, job, pull, adjoint, work);
    if (!grow_images(work, job->frame)) return fail_memory(ctx, "an adjoint");
    run.job.photons = work->sums;
    headway_start(&headway, ctx, job);
    if (grid_is_empty(job))
        blank_all(adjoint);
    else
        NB_TRY(all_back(&run));
    adjoint_fold(adjoint);
    return headway_end(&headway);
}
