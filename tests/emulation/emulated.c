/* emulated.c - see emulated.h. SPDX-License-Identifier: MIT */
#include "emulation/emulated.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulation/emulated_queue.h"
#include "emulation/jacobian_kernels.h"
#include "gpu/text/block.h"
#include "gpu/text/parameters.h"

struct emulated emulated = {.devices = 1};
const struct jacobian_kernels *emulated_jacobian[2];
unsigned emulated_known;

void emulated_reset(void)
{
    const struct emulated now = emulated;

    memset(&emulated, 0, sizeof emulated);
    emulated.devices = 1;
    emulated.bytes = emulated.most_bytes = now.bytes;
    emulated.devices_open = now.devices_open;
    emulated.blocks_held = now.blocks_held;
    emulated.pinned = now.pinned;
    emulated.recordings_held = now.recordings_held;
    emulated.modules_held = now.modules_held;
}

static int is_to_fail(void)
{
    return ++emulated.calls == emulated.fail_at;
}

/* 1 for the call that is to fail for lack of memory, after which the device goes on */
static int lacks_memory(void)
{
    const int failed = is_to_fail();

    emulated.lacks += (uint64_t)failed;
    return failed;
}

/* 1 for the call that is to fail; nothing comes back any more of what was requested */
static int fails(void)
{
    const int failed = is_to_fail();

    if (failed) queue_run(0);
    return failed;
}

static void *pointer(gpu_address address)
{
    return (void *)(uintptr_t)address;
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
                             struct gpu_properties *properties)
{
    struct device *d;

    if (id < 0 || id >= emulated.devices || fails())
        return fail(ctx, NB_ERR_UNSUPPORTED, "emulated device %d: there are %d", id,
                    emulated.devices);
    d = malloc(sizeof *d);
    if (!d) return fail_memory(ctx, "an emulated device");
    d->id = id;
    memset(properties, 0, sizeof *properties);
    (void)snprintf(properties->name, sizeof properties->name, "emulated %d", id);
    properties->major = 9;
    properties->processors = 4;
    properties->memory = emulated.memory ? emulated.memory : (uint64_t)1 << 32;
    (void)snprintf(properties->driver, sizeof properties->driver, "1.0");
    emulated.opened++;
    emulated.devices_open++;
    *device = d;
    return NB_OK;
}

static void close_device(void *device)
{
    emulated.devices_open -= device != NULL;
    queue_run(1);
    free(device);
}

static nb_status use(nb_context *ctx, void *device, void *stream)
{
    (void)device;
    if (stream && stream == emulated.foreign)
        return fail(ctx, NB_ERR_ARGUMENT, "the stream is not of the emulated device");
    emulated.stream = stream;
    return NB_OK;
}

/* ---- memory ---- */

/* before each block of memory, as long as the strictest alignment */
union head {
    size_t bytes;
    unsigned char workspace[256];
};

static nb_status allocate(nb_context *ctx, void *device, size_t bytes, gpu_address *out)
{
    const int full = emulated.memory && bytes > emulated.memory - emulated.bytes;
    union head *head = NULL;

    (void)device;
    *out = 0;
    if (!lacks_memory() && !full) head = malloc(sizeof *head + bytes);
    if (!head) queue_run(1);
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
    queue_run(1);
    emulated.blocks_held--;
    emulated.bytes -= head[-1].bytes;
    free(head - 1);
}

static int owns(void *device, gpu_address address)
{
    (void)device;
    return address != (gpu_address)(uintptr_t)emulated.of_host;
}

static nb_status upload(nb_context *ctx, void *device, gpu_address to, const void *from,
                        size_t bytes)
{
    (void)device;
    if (fails()) return device_fault(ctx, "a copy to the device");
    emulated.seen[0] = emulated.stream;
    emulated.uploads++;
    emulated.uploaded += bytes;
    queue_upload(pointer(to), from, bytes);
    return NB_OK;
}

static nb_status download(nb_context *ctx, void *device, void *to, gpu_address from,
                          size_t bytes)
{
    (void)device;
    if (fails()) return device_fault(ctx, "a copy from the device");
    emulated.seen[1] = emulated.stream;
    emulated.downloads++;
    emulated.downloaded += bytes;
    queue_copy(QUEUE_BACK, to, pointer(from), bytes);
    return NB_OK;
}

static nb_status zero(nb_context *ctx, void *device, gpu_address to, size_t bytes)
{
    (void)device;
    if (fails()) return device_fault(ctx, "setting memory to 0");
    emulated.zeroed += bytes;
    queue_copy(QUEUE_ZEROS, pointer(to), NULL, bytes);
    return NB_OK;
}

/* ---- pinned memory, which is the heap ---- */

static nb_status pin(nb_context *ctx, void *device, size_t bytes, void **out)
{
    (void)device;
    *out = lacks_memory() ? NULL : malloc(bytes);
    if (!*out) return fail(ctx, NB_ERR_MEMORY, "%zu bytes cannot be pinned", bytes);
    emulated.pinned++;
    return NB_OK;
}

static void unpin(void *device, void *memory)
{
    (void)device;
    if (!memory) return;
    queue_run(1);
    emulated.pinned--;
    free(memory);
}

static nb_status send_pinned(nb_context *ctx, void *device, gpu_address to,
                             const void *from, size_t bytes)
{
    (void)device;
    if (fails()) return device_fault(ctx, "a copy of pinned memory to the device");
    emulated.seen[0] = emulated.stream;
    emulated.uploads++;
    emulated.uploaded += bytes;
    queue_copy(QUEUE_COPY, pointer(to), from, bytes);
    return NB_OK;
}

static nb_status fetch(nb_context *ctx, void *device, int slot, void *to, gpu_address from,
                       size_t bytes)
{
    (void)device;
    if (fails()) return device_fault(ctx, "a copy from the device to pinned memory");
    emulated.seen[1] = emulated.stream;
    emulated.downloads++;
    emulated.downloaded += bytes;
    if (queue_fetch(slot, to, pointer(from), bytes)) return NB_OK;
    return device_fault(ctx, "a slot of copies that is in use");
}

static nb_status fetched(nb_context *ctx, void *device, int slot)
{
    (void)device;
    if (fails()) return device_fault(ctx, "waiting for a copy");
    emulated.overlaps += queue_is_busy();
    queue_run(1);
    queue_finish(slot);
    return NB_OK;
}

static size_t reserved(void *device)
{
    (void)device;
    return 0;
}

/* ---- kernels built at run time: code is the options of a test's NVRTC, a line each ----
 */

struct module {
    unsigned known;
    char precision[8], shape[16], lookup[16], class[16]; /* class "": of images */
};

static const char *after(const char *text, const char *option)
{
    const char *at = strstr(text, option);

    return at ? at + strlen(option) : "";
}

/* Its name for such options; "": none */
static void name_of(const struct module *module, char *out, size_t n)
{
    const char *class = module->class;

    if (!class[0])
        (void)snprintf(out, n, "image_%s_%s", module->shape, module->lookup);
    else if (strcmp(class, "JACOBIAN_F") == 0)
        (void)snprintf(out, n, "f_%s_%s", module->shape, module->lookup);
    else
        (void)snprintf(out, n, "jacobian_%s_%s_%s", module->shape, module->lookup,
                       class + strlen("JACOBIAN_"));
}

/* The kernels of the build are all in one code: the name tells which. */
static int read_built(const char *code, const char *name, struct module *module)
{
    (void)snprintf(module->class, sizeof module->class, "JACOBIAN_FEW");
    return sscanf(code, "built %7s", module->precision) == 1
           && sscanf(name, "jacobian_%15[A-Z]_%15[A-Z]_FEW", module->shape, module->lookup)
                  == 2;
}

static nb_status load(nb_context *ctx, void *device, const void *code, size_t bytes,
                      const char *name, void **out)
{
    struct module *module;
    char expected[80], *text;
    int known;

    (void)device;
    *out = NULL;
    if (fails()) return device_fault(ctx, "loading");
    module = calloc(1, sizeof *module);
    text = calloc(bytes + 1, 1);
    if (!module || !text) abort();
    if (bytes > 0) memcpy(text, code, bytes);
    known =
        bytes == 0
            ? read_built(code, name, module)
            : sscanf(after(text, "-DPHYS_"), "%7s", module->precision) == 1
                  && sscanf(after(text, "-DGPU_ONLY_SHAPE="), "%15s", module->shape) == 1
                  && sscanf(after(text, "-DGPU_ONLY_LOOKUP="), "%15s", module->lookup) == 1
                  && (sscanf(after(text, "-DGPU_FRAME_FLAGS="), "%u", &module->known) == 1
                      || sscanf(after(text, "-DGPU_ONLY_CLASS="), "%15s", module->class)
                             == 1);
    free(text);
    name_of(module, expected, sizeof expected);
    if (!known || strcmp(expected, name) != 0) {
        free(module);
        return device_fault(ctx, "code that is none");
    }
    emulated.modules_held++;
    emulated.known = module->known;
    *out = module;
    return NB_OK;
}

static const void *built(void *device, int shape, int lookup, int single)
{
    static const char *const texts[2] = {"built DOUBLE", "built SINGLE"};

    (void)device;
    (void)shape;
    (void)lookup;
    return emulated.built ? texts[single] : NULL;
}

static void unload(void *device, void *own)
{
    (void)device;
    queue_run(1);
    emulated.modules_held--;
    free(own);
}

/* ---- blocks ---- */

static emulated_block *block_of(const struct gpu_kernel *kernel)
{
    const struct emulated_kernels *all = !kernel->single  ? &emulated_double
                                         : emulated.early ? &emulated_rounding
                                                          : &emulated_single;
    const struct jacobian_kernels *jacobian = emulated_jacobian[kernel->single];

    switch (kernel->work) {
    case GPU_IMAGE:
        return all->image[kernel->shape][kernel->lookup];
    case GPU_FINISH:
        return all->finish;
    case GPU_LOSS:
        return all->loss;
    case GPU_SUM:
        return all->sum;
    case GPU_COUNT:
        return emulated_count;
    case GPU_BRIGHTEST:
        return emulated_brightest;
    case GPU_F:
        return jacobian && kernel->runtime ? jacobian->f[kernel->shape][kernel->lookup]
                                           : NULL;
    default:
        return NULL;
    }
}

/* of derivatives; NULL: none */
static const struct derivative_kernel *jacobian_of(const struct gpu_kernel *kernel)
{
    static const char *const classes[JACOBIAN_KINDS] = {"JACOBIAN_FRAME", "JACOBIAN_TURNED",
                                                        "JACOBIAN_FEW", "JACOBIAN_MANY"};
    const struct jacobian_kernels *jacobian = emulated_jacobian[kernel->single];
    const struct module *module = kernel->runtime;

    for (int i = 0;
         kernel->work == GPU_DERIVATIVES && jacobian && module && i < JACOBIAN_KINDS; i++) {
        const struct derivative_kernel *found =
            &jacobian->jacobian[kernel->shape][kernel->lookup][i];

        if (strcmp(module->class, classes[i]) == 0 && found->block) return found;
    }
    return NULL;
}

/* whether what was loaded is what is to be launched */
static int is_own(const struct gpu_kernel *kernel)
{
    const struct module *module = kernel->runtime;
    const int is_f = strcmp(module->class, "JACOBIAN_F") == 0;
    const enum gpu_work work = !module->class[0] ? GPU_IMAGE
                               : is_f            ? GPU_F
                                                 : GPU_DERIVATIVES;

#define VARIANT(a, b)                                                                      \
    if (kernel->shape == PHYS_##a && kernel->lookup == PHYS_##b)                           \
        return work == kernel->work && strcmp(module->shape, #a) == 0                      \
               && strcmp(module->lookup, #b) == 0                                          \
               && strcmp(module->precision, kernel->single ? "SINGLE" : "DOUBLE") == 0;
#include "kernels/variants.def"
#undef VARIANT
    return 0;
}

/* ---- launches ---- */

/* the last bit of a sum of n blocks, the first that is not 0 */
static void bend(const struct gpu_parameters *p, int n)
{
    for (int i = 0; i < n * BLOCK_THREADS; i++) {
        if (p->partial[i] == 0) continue;
        p->partial[i] = nextafter(p->partial[i], 0);
        return;
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

/* Runs the blocks of a launch. */
static void run(const struct gpu_launch *launch, gpu_address parameters)
{
    const struct gpu_kernel *kernel = &launch->kernel;
    const struct derivative_kernel *jacobian = jacobian_of(kernel);
    emulated_block *block = block_of(kernel);
    const struct gpu_parameters *p = /* of the first image, or another kernel's */
        (const void *)(uintptr_t)(parameters + launch->offset);
    const int images = launch->images > 0 ? (int)launch->images : 1;
    const int blocks = (int)launch->blocks, n = blocks * images;
    const int threads = emulated.threads ? emulated.threads : 1;

    (void)threads; /* no one else's where there is no OpenMP */
    emulated_known = kernel->runtime ? ((const struct module *)kernel->runtime)->known : 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int i = 0; i < n; i++) {
        const int number = numbered(i, n);

        if (jacobian)
            jacobian->block((const void *)p, number);
        else
            block(p + number / blocks, number % blocks);
    }
    emulated_known = 0;
    if (kernel->runtime && emulated.bends) bend(p, n);
}

static nb_status launch(nb_context *ctx, void *device, const struct gpu_launch *launch,
                        gpu_address parameters)
{
    const struct gpu_kernel *kernel = &launch->kernel;
    const int images = launch->images > 0 ? (int)launch->images : 1;
    const int n = (int)launch->blocks * images;

    (void)device;
    if (fails()) return device_fault(ctx, "a launch");
    if ((!block_of(kernel) && !jacobian_of(kernel)) || n <= 0)
        return device_fault(ctx, "a launch of nothing");
    if (images > 1 && kernel->work != GPU_IMAGE && kernel->work != GPU_FINISH)
        return device_fault(ctx, "a launch for several images");
    if (kernel->runtime && !is_own(kernel)) return device_fault(ctx, "a launch of another");
    emulated.seen[2] = emulated.stream;
    emulated.launches[kernel->work]++;
    if (images > emulated.most_images) emulated.most_images = images;
    emulated.blocks[kernel->work] += (uint64_t)n;
    emulated.own_launches += kernel->runtime != NULL;
    queue_launch(run, launch, parameters);
    return NB_OK;
}

static nb_status wait(nb_context *ctx, void *device)
{
    (void)device;
    if (fails()) return device_fault(ctx, "waiting");
    emulated.seen[3] = emulated.stream;
    emulated.waits++;
    queue_run(1);
    for (int i = 0; i < GPU_FETCHES; i++) queue_finish(i);
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
        NB_TRY(launch(ctx, device, kept->launches + i, kept->parameters));
    return NB_OK;
}

static void forget(void *device, void *recording)
{
    (void)device;
    emulated.recordings_held -= recording != NULL;
    free(recording);
}

const struct gpu_driver gpu_emulated = {.name = "emulated",
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
