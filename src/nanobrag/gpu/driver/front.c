/*
 * front.c - sends the parameters of launches and the lists of a frame to the device in one
 * copy (struct gpu_front).
 *
 * SPDX-License-Identifier: MIT
 */
#include <assert.h>
#include <string.h>

#include "gpu/driver/gpu_scene.h"

static size_t lists_bytes(const struct gpu_front *front)
{
    size_t bytes = 0;

    for (int i = 0; i < FRONT_LISTS; i++) bytes += front->lists[i];
    return bytes;
}

nb_status gpu_begin(nb_context *ctx, struct gpu_scene *scene)
{
    scene->front.turn = 0; /* no launch of an earlier call is under way */
    scene->graphs.paused = 0;
    return scene->gpu->driver->use(ctx, scene->gpu->device, scene->stream);
}

/* Returns 1 if the lists equal the lists in pinned memory. */
static int is_same(const struct gpu_front *front, const struct gpu_span lists[FRONT_LISTS])
{
    const unsigned char *at = front->pinned.memory + front->room;

    for (int i = 0; i < FRONT_LISTS; i++) {
        if (front->lists[i] != lists[i].bytes
            || memcmp(at, lists[i].at, lists[i].bytes) != 0)
            return 0;
        at += lists[i].bytes;
    }
    return 1;
}

nb_status gpu_front_lists(nb_context *ctx, struct gpu_scene *scene, size_t room,
                          const struct gpu_span lists[FRONT_LISTS])
{
    struct gpu_front *front = &scene->front;
    const gpu_address before = scene->parameters.address;
    unsigned char *at;
    size_t bytes;

    if (room > front->room) {
        gpu_front_forget(scene);
        front->room = (room + FRONT_BYTES - 1) / FRONT_BYTES * FRONT_BYTES;
    }
    bytes = front->room;
    for (int i = 0; i < FRONT_LISTS; i++) bytes += lists[i].bytes;
    NB_TRY(gpu_reserve(ctx, scene->gpu, &scene->parameters, bytes));
    if (front->there && scene->parameters.address == before && is_same(front, lists))
        return NB_OK;
    gpu_front_forget(scene);
    NB_TRY(gpu_pin(ctx, scene->gpu, &front->pinned,
                   bytes + (size_t)(FRONT_TURNS - 1) * front->room));
    at = front->pinned.memory + front->room;
    for (int i = 0; i < FRONT_LISTS; i++) {
        memcpy(at, lists[i].at, lists[i].bytes);
        front->lists[i] = lists[i].bytes;
        at += lists[i].bytes;
    }
    front->pending = 1;
    return NB_OK;
}

gpu_address gpu_list(const struct gpu_scene *scene, int which)
{
    gpu_address address = scene->parameters.address + scene->front.room;

    for (int i = 0; i < which; i++) address += scene->front.lists[i];
    return address;
}

nb_status gpu_send_parameters(nb_context *ctx, struct gpu_scene *scene,
                              const void *parameters, size_t bytes)
{
    struct gpu_front *front = &scene->front;
    const struct gpu *gpu = scene->gpu;
    const gpu_address to = scene->parameters.address;
    const size_t room = front->room, lists = lists_bytes(front);
    unsigned char *from = front->pinned.memory;

    assert(bytes <= room && (front->turn == 0 || !front->pending));
    if (front->turn > 0) from += lists + (size_t)front->turn * room;
    front->turn = (front->turn + 1) % FRONT_TURNS;
    memcpy(from, parameters, bytes);
    /* One copy sends both, unless too much space lies between parameters and lists. */
    if (front->pending && room - bytes <= FRONT_BYTES)
        bytes = room + lists;
    else if (front->pending)
        NB_TRY(gpu->driver->send(ctx, gpu->device, to + room, from + room, lists));
    NB_TRY(gpu->driver->send(ctx, gpu->device, to, from, bytes));
    front->there |= front->pending;
    front->pending = 0;
    return NB_OK;
}

void gpu_front_forget(struct gpu_scene *scene)
{
    scene->front.there = scene->front.pending = 0;
}
