/*
 * image_batch.c - see image_batch.h. The block that goes to the device in one copy holds:
 *
 *   parameters that hot.c may overwrite | parameters (most) | sources, orientations (n)
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/image_batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "compile/jit/hot.h"
#include "gpu/image_launch.h"
#include "gpu/text/block.h"
#include "gpu/text/frame_flags.h"
#include "gpu/upload.h"
#include "kernels/rounding.h"

static size_t sources_bytes(const struct phys_frame *frame)
{
    return (size_t)frame->nsource * sizeof *frame->source;
}

static size_t lists_bytes(const struct phys_frame *frame)
{
    return sources_bytes(frame) + (size_t)frame->norientation * sizeof *frame->orientation;
}

static size_t parameters_bytes(int images)
{
    return (size_t)images * sizeof(struct gpu_parameters);
}

/* the offset of the lists of image i in the block */
static size_t lists_at(const struct gpu_batch *batch, const struct phys_frame *frame, int i)
{
    return parameters_bytes(1 + batch->most) + (size_t)i * lists_bytes(frame);
}

/* ---- gathering ---- */

int gpu_batch_limit(const struct gpu_scene *scene, const struct job *job, int on_device)
{
    if (scene->f_varies || image_is_empty(job) || job->window->npanel > 0) return 1;
    return image_most(&scene->gpu->properties, job, on_device);
}

nb_status gpu_batch_reserve(nb_context *ctx, const struct job *job, int capacity,
                            struct gpu_batch *batch)
{
    const size_t n = (size_t)capacity;
    const size_t block = parameters_bytes(1 + capacity) + n * lists_bytes(job->frame);

    batch->n = batch->done = 0;
    if (capacity <= batch->capacity) return NB_OK;
    gpu_batch_drop(batch);
    batch->frames = calloc(n, sizeof *batch->frames);
    batch->outputs = calloc(n, sizeof *batch->outputs);
    batch->peaks = calloc(n, sizeof *batch->peaks);
    batch->block = calloc(1, block);
    if (!batch->frames || !batch->outputs || !batch->peaks || !batch->block) {
        gpu_batch_drop(batch);
        return fail_memory(ctx, "a batch of images");
    }
    batch->capacity = capacity;
    batch->bytes =
        n * (sizeof *batch->frames + sizeof *batch->outputs + sizeof *batch->peaks) + block;
    return NB_OK;
}

void gpu_batch_drop(struct gpu_batch *batch)
{
    free(batch->frames);
    free(batch->outputs);
    free(batch->peaks);
    free(batch->block);
    free(batch->photons);
    memset(batch, 0, sizeof *batch);
}

static int same_layout(const struct gpu_layout *a, const struct gpu_layout *b)
{
    return a->single == b->single && a->parts == b->parts && a->across == b->across
           && a->down == b->down && a->first_fast == b->first_fast
           && a->first_slow == b->first_slow && a->segments == b->segments;
}

int gpu_batch_accepts(const struct gpu_batch *batch, const struct gpu_scene *scene,
                      const struct job *job, int single, int on_device)
{
    struct gpu_layout layout;

    if (batch->n == 0 || batch->done) return 1;
    layout = gpu_layout_of(&scene->gpu->properties, job, single, on_device);
    return batch->n < batch->most && on_device == batch->on_device
           && same_layout(&layout, &batch->layout)
           && batch->frame_flags == frame_flags_of(job->frame, layout.parts);
}

/* Begin a batch with its first image, which fixes the properties that all share. */
static void begin_batch(struct gpu_batch *batch, const struct gpu_scene *scene,
                        const struct job *job, int single, int on_device)
{
    const int most = gpu_batch_limit(scene, job, on_device);

    batch->n = batch->done = 0;
    batch->most = most < 1 ? 1 : most < batch->capacity ? most : batch->capacity;
    batch->on_device = on_device;
    batch->layout = gpu_layout_of(&scene->gpu->properties, job, single, on_device);
    batch->frame_flags = frame_flags_of(job->frame, batch->layout.parts);
}

void gpu_batch_add(struct gpu_batch *batch, const struct gpu_scene *scene,
                   const struct job *job, int single, const struct gpu_output *out)
{
    const struct phys_frame *frame = job->frame;
    struct phys_frame *copy;
    unsigned char *lists;

    if (batch->n == 0 || batch->done) begin_batch(batch, scene, job, single, out != NULL);
    lists = batch->block + lists_at(batch, frame, batch->n);
    memcpy(lists, frame->source, sources_bytes(frame));
    memcpy(lists + sources_bytes(frame), frame->orientation,
           lists_bytes(frame) - sources_bytes(frame));
    copy = batch->frames + batch->n;
    *copy = *frame;
    copy->source = (const void *)lists;
    copy->orientation = (const void *)(lists + sources_bytes(frame));
    if (out) batch->outputs[batch->n] = *out;
    batch->n++;
}

/* ---- running ---- */

static size_t image_rows(const struct gpu_batch *batch)
{
    return (size_t)(batch->end_slow - batch->layout.first_slow);
}

/* The address on the device of a place in the host's block. */
static const void *device_address(const struct gpu_scene *scene,
                                  const struct gpu_batch *batch, const void *from)
{
    return (
        const void *)(uintptr_t)(scene->parameters.address
                                 + (size_t)((const unsigned char *)from - batch->block));
}

/* The parameters of image i in the host's block. */
static struct gpu_parameters *parameters_of(const struct gpu_batch *batch, int i)
{
    return (struct gpu_parameters *)(void *)(batch->block + parameters_bytes(1 + i));
}

static int may_lose(const struct gpu_batch *batch, const struct job *job)
{
    return gpu_may_lose(job, batch->layout.single);
}

static void describe_image(const struct gpu_scene *scene, const struct job *of_all,
                           struct gpu_batch *batch, int i)
{
    const struct gpu_layout *l = &batch->layout;
    const struct phys_frame *frame = batch->frames + i;
    const size_t blocks = (size_t)l->across * (size_t)l->down * (size_t)l->segments;
    struct gpu_parameters *p = parameters_of(batch, i);
    struct job job = *of_all;

    job.frame = frame;
    image_describe(scene, &job, l, p);
    p->frame.source = device_address(scene, batch, frame->source);
    p->frame.orientation = device_address(scene, batch, frame->orientation);
    p->partial += (size_t)i * blocks * BLOCK_THREADS;
    if (p->photons) p->photons += (size_t)i * image_rows(batch) * (size_t)frame->nfast;
    if (batch->on_device) image_output(batch->outputs + i, p);
    if (may_lose(batch, of_all))
        p->peak = (unsigned long long *)gpu_pointer(&scene->peaks) + i;
}

/* Send all inputs to the device, and reserve memory for the results. */
static nb_status send_batch(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                            struct gpu_batch *batch)
{
    const size_t bytes = lists_at(batch, job->frame, batch->n);
    const size_t before = parameters_bytes(1);

    NB_TRY(image_common(ctx, scene, job, &batch->layout, batch->n));
    if (may_lose(batch, job)) NB_TRY(gpu_clear_peaks(ctx, scene, batch->n));
    NB_TRY(gpu_reserve(ctx, scene->gpu, &scene->parameters, bytes));
    gpu_front_forget(scene); /* the block lies where they were */
    for (int i = 0; i < batch->n; i++) describe_image(scene, job, batch, i);
    return scene->gpu->driver->upload(ctx, scene->gpu->device,
                                      scene->parameters.address + before,
                                      batch->block + before, bytes - before);
}

static nb_status launch_batch(nb_context *ctx, struct gpu_scene *scene,
                              const struct job *job, const struct gpu_batch *batch)
{
    const struct gpu_layout *l = &batch->layout;
    const unsigned tiles = (unsigned)(l->across * l->down), n = (unsigned)batch->n;
    const size_t offset = parameters_bytes(1);
    struct gpu_sequence images =
        {"images",
         2,
         {{{GPU_IMAGE, job->spec.shape, job->spec.lookup, l->single, NULL},
           tiles * (unsigned)l->segments,
           offset,
           n},
          {{GPU_FINISH, 0, 0, l->single, NULL}, tiles, offset, n}}};

    NB_TRY(hot_kernel(ctx, scene, job, l, parameters_of(batch, 0),
                      &images.launches[0].kernel));
    return gpu_run(ctx, scene, job, &images);
}

/* bytes of the photons of all images */
static size_t photons_bytes(const struct gpu_batch *batch)
{
    return (size_t)batch->n * image_rows(batch) * (size_t)batch->frames[0].nfast
           * sizeof *batch->photons;
}

static nb_status make_photons(nb_context *ctx, struct gpu_batch *batch)
{
    const size_t bytes = photons_bytes(batch);

    if (bytes <= batch->photons_bytes) return NB_OK;
    free(batch->photons);
    batch->photons_bytes = 0;
    batch->photons = malloc(bytes);
    if (!batch->photons) return fail_memory(ctx, "photons of a batch of images");
    batch->photons_bytes = bytes;
    return NB_OK;
}

static nb_status fetch_batch(nb_context *ctx, const struct gpu_scene *scene,
                             const struct job *job, const struct gpu_batch *batch)
{
    const struct gpu_driver *driver = scene->gpu->driver;

    if (job->photons)
        NB_TRY(driver->download(ctx, scene->gpu->device, job->photons,
                                scene->photons.address, photons_bytes(batch)));
    if (may_lose(batch, job)) NB_TRY(gpu_fetch_peaks(ctx, scene, batch->n, batch->peaks));
    return driver->wait(ctx, scene->gpu->device);
}

nb_status gpu_batch_run(struct progress *progress, struct gpu_scene *scene,
                        const struct job *job, struct gpu_batch *batch)
{
    const struct gpu_layout *l = &batch->layout;
    const int end = l->first_slow + l->down * GPU_SLOW;
    const int wanted = !batch->on_device;
    struct job first = *job;

    first.frame = batch->frames;
    batch->end_slow = end < job->frame->nslow ? end : job->frame->nslow;
    if (wanted) NB_TRY(make_photons(progress->ctx, batch));
    first.photons = wanted ? batch->photons : NULL;
    progress_start(progress, job->planned);
    progress_part(progress, 0, 1, 1);
    NB_TRY(gpu_begin_image(progress->ctx, scene, job));
    NB_TRY(send_batch(progress->ctx, scene, &first, batch));
    NB_TRY(launch_batch(progress->ctx, scene, &first, batch));
    NB_TRY(fetch_batch(progress->ctx, scene, &first, batch));
    batch->done = 1;
    progress_step(progress);
    return progress_end(progress);
}

/* ---- results ---- */

const double *gpu_batch_photons(const struct gpu_batch *batch, int i)
{
    return batch->photons + (size_t)i * image_rows(batch) * (size_t)batch->frames[i].nfast;
}

int gpu_batch_is_lost(const struct gpu_batch *batch, const struct job *job, int i)
{
    struct job job_of_image = *job;

    job_of_image.frame = batch->frames + i;
    return may_lose(batch, job) && rounding_is_lost(&job_of_image, batch->peaks[i]);
}
