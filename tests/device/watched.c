/* watched.c - see watched.h. SPDX-License-Identifier: MIT */
#include "device/watched.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/text/parameters.h"

struct watched watched = {.devices = 1};

/* the device behind it, once it was opened */
static void *real;
static struct gpu_properties real_properties;

static int requests; /* since something was waited for last */

/* memory of the host that copies are under way to */
static struct {
    void *to;
    size_t bytes;
} coming[64];
static size_t ncoming;

void watched_reset(void)
{
    const struct watched now = watched;

    memset(&watched, 0, sizeof watched);
    watched.devices = 1;
    watched.bytes = watched.most_bytes = now.bytes;
    watched.devices_open = now.devices_open;
    watched.blocks_held = now.blocks_held;
    watched.pinned = now.pinned;
    watched.recordings_held = now.recordings_held;
    watched.modules_held = now.modules_held;
}

static int fails(void)
{
    return ++watched.calls == watched.fail_at;
}

/* 1 for the call that is to fail for lack of memory, after which the device goes on */
static int lacks_memory(void)
{
    const int failed = fails();

    watched.lacks += (uint64_t)failed;
    return failed;
}

/* Nothing comes back any more of what was asked for: what is there is no number. */
static nb_status device_fault(nb_context *ctx, const char *what)
{
    if (real) NB_TRY(gpu_cuda.wait(ctx, real));
    for (size_t i = 0; i < ncoming; i++) memset(coming[i].to, 0xff, coming[i].bytes);
    ncoming = 0;
    return fail(ctx, NB_ERR_DEVICE, "%s: error 999 of the watched device", what);
}

/* ---- devices ---- */

static nb_status open_device(nb_context *ctx, int id, void **device,
                             struct gpu_properties *properties)
{
    if (id < 0 || id >= watched.devices || fails())
        return fail(ctx, NB_ERR_UNSUPPORTED, "watched device %d: there are %d", id,
                    watched.devices);
    if (!real) NB_TRY(gpu_cuda.open(ctx, 0, &real, &real_properties));
    *properties = real_properties;
    if (watched.memory) properties->memory = watched.memory;
    watched.devices_open++;
    *device = real;
    return NB_OK;
}

int watched_found(char why[256])
{
    static const char name[] = "PTX interpreter";
    nb_context *ctx;
    void *device = NULL;

    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) abort();
    if (!real && gpu_cuda.open(ctx, 0, &device, &real_properties) != NB_OK)
        (void)snprintf(why, 256, "%s", nb_context_message(ctx));
    else
        (void)snprintf(why, 256, "the device is no %s (ctest --preset device)", name);
    nb_context_free(ctx);
    if (device && strcmp(real_properties.name, name) == 0)
        real = device;
    else
        gpu_cuda.close(device);
    return real != NULL;
}

static void close_device(void *device)
{
    watched.devices_open -= device != NULL;
}

static nb_status use(nb_context *ctx, void *device, void *stream)
{
    (void)device;
    if (stream && stream == watched.foreign)
        return fail(ctx, NB_ERR_ARGUMENT, "the stream is not of the watched device");
    watched.stream = stream;
    return NB_OK;
}

static size_t reserved(void *device)
{
    (void)device;
    return 0;
}

/* ---- memory ---- */

/* blocks that are not freed, their sizes beside them */
static struct block {
    gpu_address address;
    size_t bytes;
} blocks[256];

static struct block *block_at(gpu_address address)
{
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (blocks[i].address == address) return blocks + i;
    abort();
}

static nb_status allocate(nb_context *ctx, void *device, size_t bytes, gpu_address *out)
{
    const int full = watched.memory && bytes > watched.memory - watched.bytes;
    const struct block made = {0, bytes};

    (void)device;
    *out = 0;
    if (lacks_memory() || full)
        return fail(ctx, NB_ERR_MEMORY, "the watched device has no %zu bytes left", bytes);
    NB_TRY(gpu_cuda.allocate(ctx, real, bytes, out));
    *block_at(0) = made;
    block_at(0)->address = *out;
    watched.blocks_held++;
    watched.bytes += bytes;
    if (watched.bytes > watched.most_bytes) watched.most_bytes = watched.bytes;
    return NB_OK;
}

static void release(void *device, gpu_address address)
{
    struct block *block = block_at(address);

    (void)device;
    if (!address) return;
    requests = 0;
    ncoming = 0;
    watched.blocks_held--;
    watched.bytes -= block->bytes;
    block->address = 0;
    gpu_cuda.release(real, address);
}

static int owns(void *device, gpu_address address)
{
    (void)device;
    return address != (gpu_address)(uintptr_t)watched.of_host
           && gpu_cuda.owns(real, address);
}

static nb_status pin(nb_context *ctx, void *device, size_t bytes, void **out)
{
    (void)device;
    *out = NULL;
    if (lacks_memory())
        return fail(ctx, NB_ERR_MEMORY, "%zu bytes cannot be pinned", bytes);
    NB_TRY(gpu_cuda.pin(ctx, real, bytes, out));
    watched.pinned++;
    return NB_OK;
}

static void unpin(void *device, void *memory)
{
    (void)device;
    if (!memory) return;
    requests = 0;
    ncoming = 0;
    watched.pinned--;
    gpu_cuda.unpin(real, memory);
}

/* ---- copies ---- */

static void note_upload(size_t bytes)
{
    requests++;
    watched.seen[0] = watched.stream;
    watched.uploads++;
    watched.uploaded += bytes;
}

static void note_download(void *to, size_t bytes)
{
    if (ncoming == sizeof coming / sizeof *coming) abort();
    coming[ncoming].to = to;
    coming[ncoming++].bytes = bytes;
    watched.seen[1] = watched.stream;
    watched.downloads++;
    watched.downloaded += bytes;
}

static nb_status upload(nb_context *ctx, void *device, gpu_address to, const void *from,
                        size_t bytes)
{
    (void)device;
    if (fails()) return device_fault(ctx, "a copy to the device");
    note_upload(bytes);
    return gpu_cuda.upload(ctx, real, to, from, bytes);
}

static nb_status send_pinned(nb_context *ctx, void *device, gpu_address to,
                             const void *from, size_t bytes)
{
    (void)device;
    if (fails()) return device_fault(ctx, "a copy of pinned memory to the device");
    note_upload(bytes);
    return gpu_cuda.send(ctx, real, to, from, bytes);
}

static nb_status download(nb_context *ctx, void *device, void *to, gpu_address from,
                          size_t bytes)
{
    (void)device;
    if (fails()) return device_fault(ctx, "a copy from the device");
    requests++;
    note_download(to, bytes);
    return gpu_cuda.download(ctx, real, to, from, bytes);
}

static nb_status fetch(nb_context *ctx, void *device, int slot, void *to, gpu_address from,
                       size_t bytes)
{
    (void)device;
    if (fails()) return device_fault(ctx, "a copy from the device to pinned memory");
    note_download(to, bytes);
    return gpu_cuda.fetch(ctx, real, slot, to, from, bytes);
}

static nb_status fetched(nb_context *ctx, void *device, int slot)
{
    (void)device;
    if (fails()) return device_fault(ctx, "waiting for a copy");
    watched.overlaps += requests > 0;
    requests = 0;
    return gpu_cuda.fetched(ctx, real, slot);
}

static nb_status zero(nb_context *ctx, void *device, gpu_address to, size_t bytes)
{
    (void)device;
    if (fails()) return device_fault(ctx, "setting memory to 0");
    requests++;
    return gpu_cuda.zero(ctx, real, to, bytes);
}

static nb_status wait(nb_context *ctx, void *device)
{
    (void)device;
    if (fails()) return device_fault(ctx, "waiting");
    requests = 0;
    ncoming = 0;
    watched.seen[3] = watched.stream;
    watched.waits++;
    return gpu_cuda.wait(ctx, real);
}

/* ---- kernels built at run time ---- */

static nb_status load(nb_context *ctx, void *device, const void *code, size_t bytes,
                      const char *name, void **out)
{
    static const char flags[] = "-DGPU_FRAME_FLAGS=";
    const char *at = bytes > 0 ? strstr(code, flags) : NULL;

    (void)device;
    *out = NULL;
    if (fails()) return device_fault(ctx, "loading");
    NB_TRY(gpu_cuda.load(ctx, real, code, bytes, name, out));
    watched.modules_held++;
    watched.known = at ? (unsigned)strtoul(at + sizeof flags - 1, NULL, 10) : 0;
    return NB_OK;
}

static const void *built(void *device, int shape, int lookup, int single)
{
    (void)device;
    return watched.built ? gpu_cuda.built(real, shape, lookup, single) : NULL;
}

static void unload(void *device, void *own)
{
    (void)device;
    watched.modules_held--;
    gpu_cuda.unload(real, own);
}

/* ---- launches ---- */

static void note_launch(const struct gpu_launch *launch)
{
    const struct gpu_kernel *kernel = &launch->kernel;
    const int images = launch->images > 0 ? (int)launch->images : 1;

    requests++;
    watched.seen[2] = watched.stream;
    watched.launches[kernel->work]++;
    if (images > watched.most_images) watched.most_images = images;
    watched.blocks[kernel->work] += (uint64_t)launch->blocks * (uint64_t)images;
    watched.own_launches += kernel->runtime != NULL;
}

/* Copy n bytes from the device at once. */
static void fetch_now(nb_context *ctx, void *to, gpu_address from, size_t n)
{
    if (gpu_cuda.download(ctx, real, to, from, n) != NB_OK
        || gpu_cuda.wait(ctx, real) != NB_OK)
        abort();
}

/* Change the last bit of the first sum of a launch that is not 0. */
static nb_status bend(nb_context *ctx, const struct gpu_launch *launch,
                      gpu_address parameters)
{
    const size_t n = (size_t)launch->blocks * GPU_FAST * GPU_SLOW;
    double *sums = calloc(n, sizeof *sums), sum;
    struct gpu_parameters p;
    size_t i = 0;

    if (!sums) abort();
    fetch_now(ctx, &p, parameters + launch->offset, sizeof p);
    fetch_now(ctx, sums, (gpu_address)(uintptr_t)p.partial, n * sizeof *sums);
    while (i + 1 < n && sums[i] == 0) i++;
    sum = nextafter(sums[i], 0);
    free(sums);
    return gpu_cuda.upload(ctx, real, (gpu_address)(uintptr_t)(p.partial + i), &sum,
                           sizeof sum);
}

static nb_status launch(nb_context *ctx, void *device, const struct gpu_launch *launch,
                        gpu_address parameters)
{
    (void)device;
    if (fails()) return device_fault(ctx, "a launch");
    note_launch(launch);
    NB_TRY(gpu_cuda.launch(ctx, real, launch, parameters));
    return launch->kernel.runtime && watched.bends ? bend(ctx, launch, parameters) : NB_OK;
}

/* ---- recordings ---- */

struct recording {
    void *real;
    gpu_address parameters;
    int n;
    struct gpu_launch launches[];
};

static nb_status record(nb_context *ctx, void *device, const struct gpu_launch *launches,
                        int n, gpu_address parameters, void **out)
{
    struct recording *made;
    nb_status status;

    (void)device;
    *out = NULL;
    if (++watched.records == watched.fail_record) return device_fault(ctx, "a recording");
    made = malloc(sizeof *made + (size_t)n * sizeof *launches);
    if (!made) abort();
    made->parameters = parameters;
    made->n = n;
    memcpy(made->launches, launches, (size_t)n * sizeof *launches);
    status = gpu_cuda.record(ctx, real, launches, n, parameters, &made->real);
    if (status == NB_OK) {
        watched.recordings_held++;
        *out = made;
    } else {
        free(made);
    }
    return status;
}

static nb_status replay(nb_context *ctx, void *device, void *recording)
{
    const struct recording *kept = recording;

    (void)device;
    watched.replays++;
    for (int i = 0; i < kept->n; i++) {
        if (fails()) return device_fault(ctx, "a launch");
        note_launch(kept->launches + i);
    }
    return gpu_cuda.replay(ctx, real, kept->real);
}

static void forget(void *device, void *recording)
{
    struct recording *kept = recording;

    (void)device;
    if (!kept) return;
    watched.recordings_held--;
    gpu_cuda.forget(real, kept->real);
    free(kept);
}

const struct gpu_driver gpu_watched = {.name = "watched",
                                       .open = open_device,
                                       .close = close_device,
                                       .use = use,
                                       .allocate = allocate,
                                       .release = release,
                                       .owns = owns,
                                       .upload = upload,
                                       .download = download,
                                       .pin = pin,
                                       .unpin = unpin,
                                       .send = send_pinned,
                                       .fetch = fetch,
                                       .fetched = fetched,
                                       .zero = zero,
                                       .launch = launch,
                                       .wait = wait,
                                       .load = load,
                                       .built = built,
                                       .unload = unload,
                                       .record = record,
                                       .replay = replay,
                                       .forget = forget,
                                       .reserved = reserved};
