/*
 * spots_vjp.c - see spots_vjp.h. Three steps: what the number at the end changes by with
 * the Bragg sum of every pixel (tile by tile); the spots once more, each handing that back
 * to its pair (band by band); and what does not come from the samples (tile by tile).
 *
 * A pull that does not depend on the photons is known before the first spot is painted, and
 * the sums come out of the second step; any other needs an image first.
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
 * an F interpolated in every sample, and for nanoBragg's ways of taking factors. */
static int can_paint(const struct job *job)
{
    const struct phys_frame *f = job->frame;

    return job->spec.lookup != PHYS_TRICUBIC && !f->each_omega
           && !(f->each_polar && f->polarised) && f->layer_mu == 0 && !(f->dmin > 0)
           && f->b_factor == 0 && !f->amorphous_in_samples
           && f->surface != PHYS_CURVED_QUIRK;
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
    const int threads = bands_threads(run->headway->ctx, (double)count * TILE_PIXELS);

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

static int is_dark(const struct run *run, const struct tile *tile, const double *sums)
{
    if (run->job.frame->amorphous_scale != 0) return 0;
    for (int i = 0; i < tile->width * tile->height; i++)
        if (sums[i] != 0) return 0;
    return 1;
}

/* what pulls on the sums of a tile, into the image of weights */
static void weigh_step(const struct run *run, const struct tile *tile, int chunk)
{
    double sums[TILE_PIXELS] = {0}, weight[TILE_PIXELS];
    struct job weights = run->job;

    if (!run->pull->linear) grid_collect(&run->job, tile, sums);
    if (!run->pull->linear && is_dark(run, tile, sums))
        memset(weight, 0, sizeof weight);
    else
        puller_of(run)->weigh(&run->job, tile, run->factor, run->pull, sums, weight);
    weights.photons = run->work->weight;
    run->adjoint->peak[chunk] =
        fmax(run->adjoint->peak[chunk], grid_deliver(&weights, tile, weight));
}

static void close_step(const struct run *run, const struct tile *tile, int chunk)
{
    struct adjoint_work *adjoint = run->adjoint;
    double sums[TILE_PIXELS], photons[TILE_PIXELS], bar[TILE_PIXELS];
    double peak = adjoint->peak[chunk];

    grid_collect(&run->job, tile, sums);
    if (is_dark(run, tile, sums)) { /* nothing to hand back, but no photons may count */
        if (!run->pull->linear)
            adjoint->value[chunk] += pull_tile(run->pull, &run->job, tile, sums, bar, NULL);
        return;
    }
    adjoint->value[chunk] += puller_of(run)->close(&run->job, tile, run->factor, run->pull,
                                                   sums, adjoint->bar + chunk, photons);
#pragma omp simd reduction(max : peak)
    for (int i = 0; i < tile->width * tile->height; i++) {
        const double size = fabs(photons[i]);

        peak = size > peak ? size : peak;
    }
    adjoint->peak[chunk] = peak;
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
        turn->by[0] += a[1] * q[2] - a[2] * q[1];
        turn->by[1] += a[2] * q[0] - a[0] * q[2];
        turn->by[2] += a[0] * q[1] - a[1] * q[0];
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

static double largest_peak(const struct adjoint_work *adjoint)
{
    double peak = 0;

    for (int i = 0; i < adjoint->chunks; i++) peak = fmax(peak, adjoint->peak[i]);
    return peak;
}

/* one trial; *peak: of the image */
static nb_status try_back(struct run *run, double *peak)
{
    const struct bands bands = {&run->job,
                                run->trial.radius,
                                run->pull->linear ? run->work->sums : NULL,
                                run->adjoint->chunks,
                                pair_back,
                                run,
                                run->work};

    for (int i = 0; i < run->adjoint->chunks; i++) adjoint_blank(run->adjoint, i);
    if (!run->pull->linear)
        NB_TRY(spots_paint(run->headway, run->kernels, &run->job, &run->trial, run->work));
    each_tile(run, weigh_step);
    run->most = largest_peak(run->adjoint);
    for (int i = 0; i < run->adjoint->chunks; i++) run->adjoint->peak[i] = 0;
    if (!(run->most > 0)) run->most = 1;
    NB_TRY(bands_run(run->headway, &bands));
    each_tile(run, close_step);
    *peak = largest_peak(run->adjoint);
    return NB_OK;
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
    double peak;

    if (!can_paint(job)) return adjoint_run(ctx, kernels, job, pull, adjoint);
    if (!grow_images(work, job->frame)) return fail_memory(ctx, "an adjoint");
    run.job.photons = work->sums;
    headway_start(&headway, ctx);
    do {
        NB_TRY(try_back(&run, &peak));
    } while (spots_again(job, peak, &run.trial));
    adjoint_fold(adjoint);
    return headway_end(&headway);
}
