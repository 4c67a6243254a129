/*
 * device_memory.c - opens and closes the device of a context, and frees the memory that a
 * simulator has on it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "compile/jit/built_kernels.h"
#include "gpu/derivatives/derivatives.h"

nb_status gpu_open(nb_context *ctx, const struct gpu_driver *driver, int id,
                   struct gpu **out)
{
    struct gpu *gpu = calloc(1, sizeof *gpu);
    nb_status status;

    *out = NULL;
    if (!gpu) return fail_memory(ctx, "a device");
    gpu->ctx = ctx;
    gpu->driver = driver;
    gpu->id = id;
    status = driver->open(ctx, id, &gpu->device, &gpu->properties);
    if (status != NB_OK) {
        free(gpu);
        return status;
    }
    *out = gpu;
    return NB_OK;
}

void gpu_close(struct gpu *gpu)
{
    if (gpu) {
        registry_close(gpu, &gpu->hot);
        registry_close(gpu, &gpu->derivative_kernels);
        gpu->driver->close(gpu->device);
    }
    free(gpu);
}

static const size_t buffers[] = {
    offsetof(struct gpu_scene, parameters), offsetof(struct gpu_scene, f),
    offsetof(struct gpu_scene, stol),       offsetof(struct gpu_scene, mask),
    offsetof(struct gpu_scene, partial),    offsetof(struct gpu_scene, photons),
    offsetof(struct gpu_scene, tangents),   offsetof(struct gpu_scene, totals),
    offsetof(struct gpu_scene, change),     offsetof(struct gpu_scene, sum_bar),
    offsetof(struct gpu_scene, f_counts),   offsetof(struct gpu_scene, inputs[0]),
    offsetof(struct gpu_scene, inputs[1]),  offsetof(struct gpu_scene, inputs[2]),
    offsetof(struct gpu_scene, tallies),    offsetof(struct gpu_scene, count_parameters),
    offsetof(struct gpu_scene, pixels),     offsetof(struct gpu_scene, counts),
    offsetof(struct gpu_scene, peaks),      offsetof(struct gpu_scene, shown),
    offsetof(struct gpu_scene, f_single),
};

enum { BUFFERS = sizeof buffers / sizeof *buffers };

void gpu_scene_drop(struct gpu_scene *scene)
{
    char *base = (char *)scene;

    gpu_forget(scene);
    for (int i = 0; i < BUFFERS; i++)
        gpu_drop(scene->gpu, (struct gpu_buffer *)(void *)(base + buffers[i]));
    gpu_workspace_drop(&scene->staged);
    gpu_workspace_drop(&scene->order);
    gpu_workspace_drop(&scene->counted);
    gpu_workspace_drop(&scene->views);
    gpu_workspace_drop(&scene->plan);
    gpu_unpin(scene->gpu, &scene->front.pinned);
    gpu_unpin(scene->gpu, &scene->strips);
    memset(&scene->front, 0, sizeof scene->front);
    scene->f_sent = 0;
}

void gpu_derivatives_drop(struct gpu_scene *scene)
{
    struct gpu_buffer *const of_derivatives[] = {&scene->tangents,  &scene->totals,
                                                 &scene->change,    &scene->sum_bar,
                                                 &scene->f_counts,  &scene->inputs[0],
                                                 &scene->inputs[1], &scene->inputs[2]};

    for (size_t i = 0; i < sizeof of_derivatives / sizeof of_derivatives[0]; i++)
        gpu_drop(scene->gpu, of_derivatives[i]);
}

size_t gpu_scene_bytes(const struct gpu_scene *scene)
{
    const char *base = (const char *)scene;
    size_t bytes = scene->gpu ? scene->gpu->driver->reserved(scene->gpu->device) : 0;

    bytes += scene->front.pinned.bytes + scene->strips.bytes;
    bytes += scene->staged.bytes + scene->order.bytes + scene->counted.bytes;
    bytes += scene->views.bytes + scene->plan.bytes;
    for (int i = 0; i < BUFFERS; i++)
        bytes += ((const struct gpu_buffer *)(const void *)(base + buffers[i]))->bytes;
    return bytes;
}
