/*
 * memory.c - buffers on a device, and workspaces on the host for copies (gpu_scene.h).
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "gpu/driver/gpu_scene.h"

void gpu_drop(struct gpu *gpu, struct gpu_buffer *buffer)
{
    if (buffer->address) gpu->driver->release(gpu->device, buffer->address);
    memset(buffer, 0, sizeof *buffer);
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

nb_status gpu_put_changed(nb_context *ctx, struct gpu *gpu, struct gpu_buffer *buffer,
                          const void *from, size_t bytes)
{
    uint64_t digest[2];

    gpu_digest(from, bytes, digest);
    if (buffer->sent == bytes && bytes > 0
        && memcmp(buffer->digest, digest, sizeof digest) == 0)
        return NB_OK;
    buffer->sent = 0;
    NB_TRY(gpu_put(ctx, gpu, buffer, from, bytes));
    buffer->sent = bytes;
    memcpy(buffer->digest, digest, sizeof digest);
    return NB_OK;
}

nb_status gpu_pin(nb_context *ctx, struct gpu *gpu, struct gpu_pinned *pinned, size_t bytes)
{
    void *memory;

    if (bytes <= pinned->bytes) return NB_OK;
    gpu_unpin(gpu, pinned);
    NB_TRY(gpu->driver->pin(ctx, gpu->device, bytes, &memory));
    pinned->memory = memset(memory, 0, bytes);
    pinned->bytes = bytes;
    return NB_OK;
}

void gpu_unpin(struct gpu *gpu, struct gpu_pinned *pinned)
{
    gpu->driver->unpin(gpu->device, pinned->memory);
    pinned->memory = NULL;
    pinned->bytes = 0;
}

void gpu_workspace_drop(struct gpu_workspace *workspace)
{
    free(workspace->memory);
    workspace->memory = NULL;
    workspace->bytes = 0;
}

void *gpu_workspace(nb_context *ctx, struct gpu_workspace *workspace, size_t bytes,
                    const char *what)
{
    if (workspace->memory && bytes <= workspace->bytes) return workspace->memory;
    gpu_workspace_drop(workspace);
    workspace->memory = huge_pages_alloc(bytes > 0 ? bytes : 1);
    if (workspace->memory)
        workspace->bytes = bytes;
    else if (what)
        (void)fail_memory(ctx, what);
    return workspace->memory;
}
