/* emulated.c - see emulated.h. SPDX-License-Identifier: MIT */
#include "support/emulated.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct emulated emulated = {.devices = 1};

void emulated_reset(void)
{
    const struct emulated now = emulated;

    memset(&emulated, 0, sizeof emulated);
    emulated.devices = 1;
    emulated.bytes = emulated.most_bytes = now.bytes;
    emulated.devices_open = now.devices_open;
    emulated.blocks_held = now.blocks_held;
    emulated.recordings_held = now.recordings_held;
}

/* 1 for the call that is to fail */
static int fails(void)
{
    return ++emulated.calls == emulated.fail_at;
}

static nb_status device_fault(nb_context *ctx, const char *what)
{
    return fail(ctx, NB_ERR_DEVICE, "%s: error 999 of the emulated device", what);
}

/* ---- devices ---- */

/* all that a device is */
struct device {
    int id;
};

static nb_status open_device(nb_context *ctx, int id, void **device,
                             struct gpu_facts *facts)
{
    struct device *d;

    if (id < 0 || id >= emulated.devices || fails())
        return fail(ctx, NB_ERR_UNSUPPORTED, "emulated device %d: there are %d", id,
                    emulated.devices);
    d = malloc(sizeof *d);
    if (!d) return fail_memory(ctx, "an emulated device");
    d->id = id;
    memset(facts, 0, sizeof *facts);
    (void)snprintf(facts->name, sizeof facts->name, "emulated %d", id);
    facts->major = 9;
    facts->processors = 4;
    facts->memory = emulated.memory ? emulated.memory : (uint64_t)1 << 32;
    (void)snprintf(facts->driver, sizeof facts->driver, "1.0");
    emulated.opened++;
    emulated.devices_open++;
    *device = d;
    return NB_OK;
}

static void close_device(void *device)
{
    emulated.devices_open -= device != NULL;
    free(device);
}

/* ---- memory ---- */

/* before each block of memory, as long as the strictest alignment */
union head {
    size_t bytes;
    unsigned char room[256];
};

static nb_status allocate(nb_context *ctx, void *device, size_t bytes, gpu_address *out)
{
    const int full = emulated.memory && bytes > emulated.memory - emulated.bytes;
    union head *head = NULL;

    (void)device;
    *out = 0;
    if (!fails() && !full) head = malloc(sizeof *head + bytes);
    if (!head)
        return fail(ctx, NB_ERR_MEMORY, "the emulated device has no %zu bytes left", bytes);
    head->bytes = bytes;
    memset(head + 1, 0xff, bytes); /* no number */
    emulated.allocations++;
    emulated.blocks_held++;
    emulated.bytes += bytes;
    if (emulated.bytes > emulated.most_bytes) emulated.most_bytes = emulated.bytes;
    *out = (gpu_address)(uintptr_t)(head + 1);
    return NB_OK;
}

static void release(void *device, gpu_address address)
{
    union head *head = (union head *)(uintptr_t)address;

    (void)device;
    if (!head) return;
    emulated.blocks_held--;
    emulated.bytes -= head[-1].bytes;
    free(head - 1);
}

static nb_status upload(nb_context *ctx, void *device, gpu_address to, const void *from,
                        size_t bytes)
{
    (void)device;
    if (fails()) return device_fault(ctx, "a copy to the device");
    if (bytes) memcpy((void *)(uintptr_t)to, from, bytes);
    emulated.uploads++;
    emulated.uploaded += bytes;
    return NB_OK;
}

static nb_status download(nb_context *ctx, void *device, void *to, gpu_address from,
                          size_t bytes)
{
    (void)device;
    if (fails()) return device_fault(ctx, "a copy from the device");
    if (bytes) memcpy(to, (const void *)(uintptr_t)from, bytes);
    emulated.downloads++;
    emulated.downloaded += bytes;
    return NB_OK;
}

/* ---- launches ---- */

static emulated_block *block_of(const struct gpu_kernel *kernel)
{
    const struct emulated_kernels *all =
        kernel->single ? &emulated_single : &emulated_double;

    switch (kernel->work) {
    case GPU_IMAGE:
        return all->image[kernel->shape][kernel->lookup];
    case GPU_FINISH:
        return all->finish;
    default:
        return NULL;
    }
}

/* The block that runs as number i of n. Shuffled: i times a number that has no divisor in
 * common with n, from somewhere on. */
static int numbered(int i, int n)
{
    static const int primes[] = {7919, 104729, 611953};
    int k = 0;

    if (emulated.order == EMULATED_REVERSED) return n - 1 - i;
    if (emulated.order != EMULATED_SHUFFLED) return i;
    while (k < 2 && n % primes[k] == 0) k++;
    return (int)(((long long)i * primes[k] + n / 3) % n);
}

static nb_status launch(nb_context *ctx, void *device, const struct gpu_kernel *kernel,
                        unsigned blocks, gpu_address parameters)
{
    emulated_block *block = block_of(kernel);
    const void *p = (const void *)(uintptr_t)parameters;
    const int n = (int)blocks, threads = emulated.threads ? emulated.threads : 1;

    (void)device;
    (void)threads; /* no one else's where there is no OpenMP */
    if (fails()) return device_fault(ctx, "a launch");
    if (!block || n <= 0) return device_fault(ctx, "a launch of nothing");
    emulated.launches[kernel->work]++;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int i = 0; i < n; i++) block(p, numbered(i, n));
    return NB_OK;
}

static nb_status wait(nb_context *ctx, void *device)
{
    (void)device;
    if (fails()) return device_fault(ctx, "waiting");
    emulated.waits++;
    return NB_OK;
}

/* ---- recordings ---- */

struct recording {
    gpu_address parameters;
    int n;
    struct gpu_launch launches[];
};

static nb_status record(nb_context *ctx, void *device, const struct gpu_launch *launches,
                        int n, gpu_address parameters, void **out)
{
    struct recording *made = NULL;

    (void)device;
    *out = NULL;
    if (++emulated.records != emulated.fail_record)
        made = malloc(sizeof *made + (size_t)n * sizeof *launches);
    if (!made) return device_fault(ctx, "a recording");
    made->parameters = parameters;
    made->n = n;
    memcpy(made->launches, launches, (size_t)n * sizeof *launches);
    emulated.recordings_held++;
    *out = made;
    return NB_OK;
}

static nb_status replay(nb_context *ctx, void *device, void *recording)
{
    const struct recording *kept = recording;

    emulated.replays++;
    for (int i = 0; i < kept->n; i++)
        NB_TRY(launch(ctx, device, &kept->launches[i].kernel, kept->launches[i].blocks,
                      kept->parameters));
    return NB_OK;
}

static void forget(void *device, void *recording)
{
    (void)device;
    emulated.recordings_held -= recording != NULL;
    free(recording);
}

const struct gpu_driver gpu_emulated = {"emulated", open_device, close_device, allocate,
                                        release,    upload,      download,     launch,
                                        wait,       record,      replay,       forget};
