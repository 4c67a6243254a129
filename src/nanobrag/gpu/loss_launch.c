/*
 * loss_launch.c - see loss_launch.h. Strips of tiles are computed as in image_launch.c,
 * each tile to its own sum; after the last strip, launches of the kernel `sum` add up all
 * tiles.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/loss_launch.h"

#include <stddef.h>

#include "base/progress.h"
#include "gpu/image_launch.h"
#include "gpu/strips.h"
#include "gpu/text/loss_parameters.h"
#include "gpu/upload.h"
#include "kernels/rounding.h"

/* the parameters of all launches of a strip */
struct block {
    struct gpu_loss_parameters loss;
    struct gpu_sums sums;
};

_Static_assert(sizeof(struct block) <= (size_t)FRONT_BYTES, "sent at once");

struct loss_run {
    nb_context *ctx;
    struct gpu_scene *scene;
    const struct job *job;
    struct gpu_layout layout;
    struct gpu_kernel kernel; /* that computes the image */
    struct block block;
};

/* Compute a strip; after the last of them, the sum of all tiles. */
static nb_status run_strip(void *user, const struct gpu_strip *strip)
{
    struct loss_run *run = user;
    const struct gpu_layout *l = &run->layout;
    struct gpu_scene *s = run->scene;
    const unsigned tiles = (unsigned)strip->tiles;
    struct gpu_loss_parameters *loss = &run->block.loss;
    struct gpu_sequence sequence = {"loss",
                                    2,
                                    {{run->kernel, tiles * (unsigned)l->segments, 0, 0},
                                     {{GPU_LOSS, 0, 0, l->single, NULL}, tiles, 0, 0}}};

    if (strip->is_last)
        gpu_add_sums(&run->block.sums, l->single, offsetof(struct block, sums), &sequence);
    loss->image.first_slow = strip->slow;
    loss->image.down = strip->down;
    loss->totals = gpu_totals_of(s, &run->block.sums, l, strip);
    NB_TRY(gpu_run_with(run->ctx, s, run->job, &sequence, &run->block, sizeof run->block));
    return strip->is_last ? NB_OK : s->gpu->driver->wait(run->ctx, s->gpu->device);
}

static nb_status run_all(struct progress *progress, struct gpu_scene *s,
                         const struct job *job, int single, const struct gpu_loss_job *loss,
                         double out[LOSS_LENGTH])
{
    struct loss_run run = {.ctx = progress->ctx, .scene = s, .job = job};
    const struct gpu_driver *driver = s->gpu->driver;
    struct block *block = &run.block;

    run.layout = gpu_layout_of(&s->gpu->properties, job, single, 0);
    NB_TRY(gpu_send_target(run.ctx, s, job, loss, &block->loss.target));
    NB_TRY(gpu_plan_sums(run.ctx, s, &run.layout, LOSS_LENGTH, 0, &block->sums));
    NB_TRY(image_prepare(run.ctx, s, job, &run.layout, &block->loss.image, &run.kernel));
    progress_part(progress, 0, 1, gpu_strips_of(&run.layout));
    NB_TRY(gpu_run_strips(progress, s->gpu, job, &run.layout, run_strip, &run));
    NB_TRY(driver->download(run.ctx, s->gpu->device, out, gpu_sum_of(&block->sums),
                            LOSS_LENGTH * sizeof *out));
    return driver->wait(run.ctx, s->gpu->device);
}

nb_status gpu_loss(struct progress *progress, struct gpu_scene *scene,
                   const struct job *job, int single, const struct gpu_loss_job *loss,
                   double *value)
{
    struct job alone = *job; /* the photons are not fetched */
    double out[LOSS_LENGTH] = {0};

    alone.photons = NULL;
    progress_start(progress, job->planned);
    if (!image_is_empty(job)) {
        NB_TRY(gpu_begin(progress->ctx, scene));
        NB_TRY(run_all(progress, scene, &alone, single, loss, out));
        if (gpu_may_lose(job, single) && rounding_is_lost(job, out[LOSS_BRIGHTEST]))
            NB_TRY(run_all(progress, scene, &alone, 0, loss, out));
    }
    NB_TRY(progress_end(progress));
    *value = out[LOSS_VALUE];
    return NB_OK;
}
