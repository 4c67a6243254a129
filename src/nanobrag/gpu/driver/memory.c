/* memory.c - buffers on a device: see scene.h. SPDX-License-Identifier: MIT */
#include "gpu/driver/scene.h"

void gpu_drop(struct gpu *gpu, struct gpu_buffer *buffer)
{
    if (buffer->address) gpu->driver->release(gpu->device, buffer->address);
    buffer->address = 0;
    buffer->bytes = 0;
}

nb_status gpu_reserve(nb_context *ctx, struct gpu *gpu, struct gpu_buffer *buffer,
                      size_t bytes)
{
    if (bytes <= buffer->bytes) return NB_OK;
    gpu_drop(gpu, buffer);
    NB_TRY(gpu->driver->allocate(ctx, gpu->device, bytes, &buffer->address));
    buffer->bytes = bytes;
    return NB_OK;
}

nb_status gpu_put(nb_context *ctx, struct gpu *gpu, struct gpu_buffer *buffer,
                  const void *from, size_t bytes)
{
    NB_TRY(gpu_reserve(ctx, gpu, buffer, bytes));
    return gpu->driver->upload(ctx, gpu->device, buffer->address, from, bytes);
}

nb_status gpu_begin(nb_context *ctx, const struct gpu_scene *scene)
{
    return scene->gpu->driver->use(ctx, scene->gpu->device, scene->stream);
}
