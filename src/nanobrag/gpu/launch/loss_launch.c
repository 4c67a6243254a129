/*
 * loss_launch.c - computes a loss on a device. Each tile has its own sum. After the last
 * strip of tiles, launches of the kernel `sum` add up all sums. Panels are computed one
 * after the other, and their losses added up in that order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/launch/loss_launch.h"

#include <stddef.h>

#include "base/progress.h"
#include "compile/jit/hot.h"
#include "gpu/launch/layout.h"
#include "gpu/launch/tile_rows.h"
#include "gpu/text/block.h"
#include "gpu/text/loss_parameters.h"
#include "gpu/upload.h"
#include "kernels/rounding.h"

/* The parameters of all launches of a strip. */
struct block {
    struct gpu_loss_parameters loss;
    struct gpu_sums sums;
};

_Static_assert(sizeof(struct block) <= (size_t)FRONT_BYTES, "sent at once");

struct loss_run {
    struct progress *progress;
    nb_context *ctx;
    struct gpu_scene *scene;
    struct gpu_target target; /* target of the whole image */
    struct job job; /* job of the current panel */
    double base, share; /* fractions of the progress: before the panel, of the panel */
    struct gpu_layout layout;
    struct gpu_kernel kernel; /* the kernel that computes Bragg sums */
    struct block block;
};

/* Compute a strip and, after the last strip, the sum over all tiles. */
static nb_status run_strip(void *user, int i)
{
    struct loss_run *run = user;
    const struct gpu_layout *l = &run->layout;
    const struct gpu_strip strip = gpu_strip_at(l, run->job.frame->nslow, i);
    const unsigned tiles = (unsigned)strip.tiles;
    struct gpu_scene *s = run->scene;
    struct gpu_loss_parameters *loss = &run->block.loss;
    struct gpu_sequence sequence = {"loss",
                                    2,
                                    {{run->kernel, tiles * (unsigned)l->segments, 0, 0},
                                     {{GPU_LOSS, 0, 0, l->single, NULL}, tiles, 0, 0}}};

    if (strip.is_last)
        gpu_add_sums(&run->block.sums, l->single, offsetof(struct block, sums), &sequence);
    loss->image.first_slow = strip.slow;
    loss->image.down = strip.down;
    loss->totals = gpu_totals_of(s, &run->block.sums, l, &strip);
    NB_TRY(gpu_run_with(run->ctx, s, &run->job, &sequence, &run->block, sizeof run->block));
    return strip.is_last ? NB_OK : s->gpu->driver->wait(run->ctx, s->gpu->device);
}

static nb_status run_all(struct loss_run *run, int single, double out[LOSS_LENGTH])
{
    struct gpu_scene *s = run->scene;
    const struct gpu_driver *driver = s->gpu->driver;
    const struct job *job = &run->job;
    struct gpu_layout *l = &run->layout;
    struct block *block = &run->block;

    *l = gpu_layout_of(&s->gpu->properties, job, single);
    run->kernel =
        (struct gpu_kernel){GPU_IMAGE, job->spec.shape, job->spec.lookup, l->single, NULL};
    block->loss.target = gpu_target_on(&run->target, job);
    NB_TRY(gpu_plan_sums(run->ctx, s, l, LOSS_LENGTH, 0, &block->sums));
    NB_TRY(gpu_reserve(run->ctx, s->gpu, &s->partial,
                       (size_t)l->strip * (size_t)l->across * (size_t)l->segments
                           * BLOCK_THREADS * sizeof(double)));
    NB_TRY(gpu_send_job(run->ctx, s, job, l, &block->loss.image));
    NB_TRY(hot_kernel(run->ctx, s, job, l, &block->loss.image, &run->kernel));
    progress_part(run->progress, run->base, run->share, gpu_strips_of(l));
    NB_TRY(gpu_run_launches(run->progress, s->gpu, gpu_strips_of(l), run_strip, run));
    NB_TRY(driver->download(run->ctx, s->gpu->device, out, gpu_sum_of(&block->sums),
                            LOSS_LENGTH * sizeof *out));
    return driver->wait(run->ctx, s->gpu->device);
}

/* Add the loss of panel i of an image to *value. */
static nb_status add_panel(struct loss_run *run, const struct job *image, int i, int single,
                           double *value)
{
    double out[LOSS_LENGTH];

    run->job = job_of_panel(image, i);
    if (layout_is_empty(&run->job)) return NB_OK;
    run->base = i * run->share;
    NB_TRY(run_all(run, single, out));
    if (gpu_may_lose(&run->job, run->layout.single)
        && rounding_is_lost(&run->job, out[LOSS_BRIGHTEST]))
        NB_TRY(run_all(run, 0, out));
    *value += out[LOSS_VALUE];
    return NB_OK;
}

nb_status gpu_loss(struct progress *progress, struct gpu_scene *scene,
                   const struct job *job, int single, const struct gpu_loss_job *loss,
                   double *value)
{
    const int panels = window_panels(job->window);
    struct loss_run run = {progress, progress->ctx, scene, .share = 1.0 / panels};
    double sum = 0;

    progress_start(progress, job->planned);
    if (!layout_is_empty(job)) {
        NB_TRY(gpu_begin_image(run.ctx, scene, job));
        NB_TRY(gpu_send_target(run.ctx, scene, job, loss, &run.target));
        scene->graphs.paused = !layout_records(&scene->gpu->properties, job);
        for (int i = 0; i < panels; i++) NB_TRY(add_panel(&run, job, i, single, &sum));
    }
    NB_TRY(progress_end(progress));
    *value = sum;
    return NB_OK;
}
