/* emulated_queue.c - see emulated_queue.h. SPDX-License-Identifier: MIT */
#include "emulation/emulated_queue.h"

#include <stdlib.h>
#include <string.h>

struct request {
    enum queue_kind kind;
    void *to;
    const void *from; /* NULL: from `staged` of the memory below */
    size_t staged, bytes;
    queue_run_launch *run;
    struct gpu_launch launch;
    gpu_address parameters;
};

/* Both only grow, so that the library's own allocations can be counted. */
static struct request *queue;
static size_t queued, capacity;
static unsigned char *staging;
static size_t staged, room;

static struct request fetches[GPU_FETCHES];
static int fetching[GPU_FETCHES];

static void append(const struct request *r)
{
    if (queued == capacity) {
        capacity = 2 * capacity + 256;
        queue = realloc(queue, capacity * sizeof *queue);
        if (!queue) abort();
    }
    queue[queued++] = *r;
}

void queue_upload(void *to, const void *from, size_t bytes)
{
    const struct request r = {.kind = QUEUE_COPY,
                              .to = to,
                              .staged = staged,
                              .bytes = bytes};

    if (bytes == 0) return;
    if (staged + bytes > room) {
        room = 2 * (staged + bytes);
        staging = realloc(staging, room);
        if (!staging) abort();
    }
    memcpy(staging + staged, from, bytes);
    staged += bytes;
    append(&r);
}

void queue_copy(enum queue_kind kind, void *to, const void *from, size_t bytes)
{
    const struct request r = {.kind = kind, .to = to, .from = from, .bytes = bytes};

    if (bytes > 0) append(&r);
}

void queue_launch(queue_run_launch *run, const struct gpu_launch *launch,
                  gpu_address parameters)
{
    const struct request r = {.kind = QUEUE_LAUNCH,
                              .run = run,
                              .launch = *launch,
                              .parameters = parameters};

    append(&r);
}

void queue_run(int back)
{
    for (size_t i = 0; i < queued; i++) {
        const struct request *r = queue + i;

        if (r->kind == QUEUE_LAUNCH)
            r->run(&r->launch, r->parameters);
        else if (r->kind == QUEUE_ZEROS)
            memset(r->to, 0, r->bytes);
        else if (r->kind == QUEUE_COPY || back)
            memcpy(r->to, r->from ? r->from : staging + r->staged, r->bytes);
    }
    queued = staged = 0;
    if (!back) memset(fetching, 0, sizeof fetching);
}

int queue_is_busy(void)
{
    return queued > 0;
}

int queue_fetch(int slot, void *to, const void *from, size_t bytes)
{
    const struct request r = {.to = to, .from = from, .bytes = bytes};

    if (fetching[slot]) return 0;
    fetches[slot] = r;
    fetching[slot] = 1;
    return 1;
}

void queue_finish(int slot)
{
    const struct request *r = fetches + slot;

    if (fetching[slot] && r->bytes > 0) memcpy(r->to, r->from, r->bytes);
    fetching[slot] = 0;
}
