/*
 * loss_launch.c - see loss_launch.h. Strips of tiles are computed as in image_launch.c,
 * each tile to its own sum; after the last strip, launches of the kernel `sum` add up all
 * tiles.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/loss_launch.h"

#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "compile/jit/hot.h"
#include "gpu/image_launch.h"
#include "gpu/text/loss_parameters.h"
#include "gpu/upload.h"
#include "kernels/rounding.h"

enum { MOST_SUMS = GPU_SEQUENCE - 2 }; /* SUM_FAN^6 exceeds any number of tiles */

/* the parameters of all launches of a strip */
struct block {
    struct gpu_loss_parameters loss;
    struct gpu_sum_parameters sums[MOST_SUMS];
};

struct run {
    nb_context *ctx;
    struct gpu_scene *scene;
    const struct job *job;
    struct gpu_layout layout;
    struct gpu_kernel kernel; /* that computes the image */
    struct block block;
    gpu_address totals; /* sums of the tiles */
    gpu_address result; /* where the last sum goes */
    int sums;
};

/* ---- sums ---- */

static int sums_after(int rows)
{
    return (rows + SUM_FAN - 1) / SUM_FAN;
}

/* The address of a row of sums, as a pointer for the kernels' parameters. */
static double *row_at(gpu_address totals, size_t row)
{
    return (double *)(uintptr_t)(totals + row * LOSS_LENGTH * sizeof(double));
}

/* Plan the sums that reduce the rows of all tiles to one row; the rows of each level follow
 * those of the one before. */
static nb_status plan_sums(struct run *run)
{
    const int tiles = run->layout.across * run->layout.down;
    size_t from = 0, rows = (size_t)tiles;

    for (int n = tiles; n > 1; n = sums_after(n)) rows += (size_t)sums_after(n);
    NB_TRY(gpu_reserve(run->ctx, run->scene->gpu, &run->scene->totals,
                       rows * LOSS_LENGTH * sizeof(double)));
    run->totals = run->scene->totals.address;
    for (int n = tiles; n > 1; n = sums_after(n)) {
        struct gpu_sum_parameters *sum = run->block.sums + run->sums++;

        sum->from = row_at(run->totals, from);
        from += (size_t)n;
        sum->to = row_at(run->totals, from);
        sum->count = n;
        sum->length = LOSS_LENGTH;
    }
    run->result = (gpu_address)(uintptr_t)row_at(run->totals, from);
    return NB_OK;
}

static void add_sums(const struct run *run, struct gpu_sequence *sequence)
{
    for (int i = 0; i < run->sums; i++) {
        struct gpu_launch *launch = sequence->launches + sequence->n++;

        launch->kernel.work = GPU_SUM;
        launch->kernel.single = run->layout.single;
        launch->blocks = (unsigned)sums_after(run->block.sums[i].count);
        launch->offset =
            offsetof(struct block, sums) + (size_t)i * sizeof(struct gpu_sum_parameters);
    }
}

/* ---- launches ---- */

/* Compute the rows of tiles from number `first` on; after the last of them, the sum of all.
 */
static nb_status run_strip(struct run *run, int first)
{
    const struct gpu_layout *l = &run->layout;
    struct gpu_scene *s = run->scene;
    const int last = first + l->strip >= l->down;
    const int down = last ? l->down - first : l->strip;
    const unsigned tiles = (unsigned)(down * l->across);
    struct gpu_loss_parameters *loss = &run->block.loss;
    struct gpu_sequence sequence = {"loss",
                                    2,
                                    {{run->kernel, tiles * (unsigned)l->segments, 0, 0},
                                     {{GPU_LOSS, 0, 0, l->single, NULL}, tiles, 0, 0}}};

    if (last) add_sums(run, &sequence);
    loss->image.first_slow = l->first_slow + first * GPU_SLOW;
    loss->image.down = down;
    loss->totals = row_at(run->totals, (size_t)first * (size_t)l->across);
    NB_TRY(gpu_put(run->ctx, s->gpu, &s->parameters, &run->block, sizeof run->block));
    NB_TRY(gpu_run(run->ctx, s, run->job, &sequence));
    return last ? NB_OK : s->gpu->driver->wait(run->ctx, s->gpu->device);
}

static nb_status prepare(struct run *run, const struct gpu_loss_job *loss)
{
    const struct job *job = run->job;
    struct gpu_scene *s = run->scene;

    NB_TRY(gpu_reserve(run->ctx, s->gpu, &s->parameters, sizeof run->block));
    NB_TRY(image_prepare(run->ctx, s, job, &run->layout, &run->block.loss.image));
    NB_TRY(gpu_send_target(run->ctx, s, job, loss, &run->block.loss.target));
    NB_TRY(plan_sums(run));
    run->kernel.work = GPU_IMAGE;
    run->kernel.shape = job->spec.shape;
    run->kernel.lookup = job->spec.lookup;
    run->kernel.single = run->layout.single;
    return hot_kernel(run->ctx, s, job, &run->layout, &run->block.loss.image, &run->kernel);
}

static nb_status run_all(struct progress *progress, struct gpu_scene *s,
                         const struct job *job, int single, const struct gpu_loss_job *loss,
                         double out[LOSS_LENGTH])
{
    struct run run = {.ctx = progress->ctx, .scene = s, .job = job};
    const struct gpu_driver *driver = s->gpu->driver;
    int strips;

    run.layout = gpu_layout_of(&s->gpu->properties, job, single, 0);
    strips = (run.layout.down + run.layout.strip - 1) / run.layout.strip;
    NB_TRY(prepare(&run, loss));
    progress_part(progress, 0, 1, strips);
    for (int i = 0; i < strips && !progress_stopped(progress); i++) {
        NB_TRY(run_strip(&run, i * run.layout.strip));
        progress_step(progress);
    }
    NB_TRY(progress_check(progress));
    NB_TRY(driver->download(run.ctx, s->gpu->device, out, run.result,
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
    if (job->roi[1] > job->roi[0] && job->roi[3] > job->roi[2]) {
        NB_TRY(gpu_begin(progress->ctx, scene));
        NB_TRY(run_all(progress, scene, &alone, single, loss, out));
        if (gpu_needs_photons(job, single) && rounding_is_lost(job, out[LOSS_BRIGHTEST]))
            NB_TRY(run_all(progress, scene, &alone, 0, loss, out));
    }
    NB_TRY(progress_end(progress));
    *value = out[LOSS_VALUE];
    return NB_OK;
}
