/*
 * image_batch.c - gathers images, and computes them as views that share launches.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/launch/image_batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/progress.h"
#include "gpu/launch/layout.h"
#include "gpu/launch/views.h"
#include "gpu/upload.h"

static size_t lists_bytes(const struct phys_frame *frame)
{
    struct gpu_span lists[FRONT_LISTS];

    gpu_lists_of(frame, lists);
    return lists[0].bytes + lists[1].bytes;
}

int gpu_batch_limit(const struct gpu_scene *scene, const struct job *job)
{
    const struct gpu_properties *properties = &scene->gpu->properties;
    struct gpu_layout l;
    double share;

    if (scene->f_varies || layout_is_empty(job) || job->window->npanel > 0) return 1;
    l = gpu_layout_of(properties, job, 0);
    share = layout_share(properties, job, &l) * l.down
            + (double)(lists_bytes(job->frame) + sizeof(struct gpu_parameters))
                  / gpu_launch_memory(properties);
    return share * GPU_MOST_IMAGES < 1 ? GPU_MOST_IMAGES : (int)(1 / share);
}

nb_status gpu_batch_reserve(nb_context *ctx, const struct job *job, int capacity,
                            struct gpu_batch *batch)
{
    const size_t n = (size_t)capacity, lists = n * lists_bytes(job->frame);

    batch->n = 0;
    if (capacity <= batch->capacity) return NB_OK;
    gpu_batch_drop(batch);
    batch->frames = calloc(n, sizeof *batch->frames);
    batch->images = calloc(n, sizeof *batch->images);
    batch->lists = calloc(1, lists);
    if (!batch->frames || !batch->images || !batch->lists) {
        gpu_batch_drop(batch);
        return fail_memory(ctx, "a batch of images");
    }
    batch->capacity = capacity;
    batch->bytes = n * (sizeof *batch->frames + sizeof *batch->images) + lists;
    return NB_OK;
}

void gpu_batch_drop(struct gpu_batch *batch)
{
    free(batch->frames);
    free(batch->images);
    free(batch->lists);
    memset(batch, 0, sizeof *batch);
}

static int is_there(const nb_array *image)
{
    return image->device != NB_DEVICE_CPU;
}

int gpu_batch_accepts(const struct gpu_batch *batch, const nb_array *image)
{
    return batch->n == 0
           || (batch->n < batch->capacity && is_there(image) == batch->on_device);
}

void gpu_batch_add(struct gpu_batch *batch, const struct phys_frame *frame,
                   const nb_array *image)
{
    struct gpu_span lists[FRONT_LISTS];
    struct phys_frame *copy = batch->frames + batch->n;
    unsigned char *to = batch->lists + (size_t)batch->n * lists_bytes(frame);

    gpu_lists_of(frame, lists);
    memcpy(to, lists[0].at, lists[0].bytes);
    memcpy(to + lists[0].bytes, lists[1].at, lists[1].bytes);
    *copy = *frame;
    copy->source = (const void *)to;
    copy->orientation = (const void *)(to + lists[0].bytes);
    batch->images[batch->n] = *image;
    batch->on_device = is_there(image);
    batch->done = 0;
    batch->n++;
}

nb_status gpu_batch_run(struct progress *progress, struct gpu_scene *scene,
                        const struct job *job, int single, struct gpu_batch *batch)
{
    const size_t lists = lists_bytes(batch->frames);
    struct image_run run = {progress, progress->ctx, scene, .single = single};
    struct job one = *job;

    progress_start(progress, job->planned);
    NB_TRY(gpu_begin_image(run.ctx, scene, job));
    gpu_lists_of(batch->frames, run.lists);
    run.lists[1].bytes += (size_t)(batch->n - 1) * lists; /* lists of images 1 .. n - 1 */
    NB_TRY(views_reserve(&run, job, batch->n));
    for (int i = 0; i < batch->n; i++) {
        one.frame = batch->frames + i;
        views_add(&run, &one, batch->images + i, (size_t)i * lists);
        if (!batch->on_device) array_zero(batch->images + i);
    }
    NB_TRY(views_run(&run));
    batch->done = 1;
    return progress_end(progress);
}
