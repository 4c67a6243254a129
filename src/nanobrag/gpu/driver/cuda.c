/*
 * cuda.c - a device of CUDA's driver. All users of the device in this process share its
 * primary context, which is current only during calls of this library. Work goes to a
 * stream of our own or to a stream of the caller.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/driver/cuda.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "gpu/driver/architecture.h"
#include "gpu/driver/cuda_device.h"
#include "gpu/text/block.h"

/* ---- opening ---- */

static nb_status find_device(nb_context *ctx, struct device *d, int id)
{
    const struct cuda_library *cuda = &d->library;
    cuda_result result = cuda->init(0);
    int count = 0;

    if (result != CUDA_NO_DEVICE) {
        NB_TRY(cuda_check(ctx, cuda, NB_ERR_UNSUPPORTED, result, "starting the driver"));
        result = cuda->device_count(&count);
        NB_TRY(cuda_check(ctx, cuda, NB_ERR_DEVICE, result, "counting the devices"));
    }
    if (count == 0)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "the CUDA driver is installed, but there is no device");
    if (id < 0 || id >= count)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "CUDA device %d does not exist: there are %d, numbered from 0", id,
                    count);
    d->ordinal = id;
    result = cuda->device_get(&d->id, id);
    return cuda_check(ctx, cuda, NB_ERR_DEVICE, result, "finding device %d", id);
}

static nb_status attribute(nb_context *ctx, const struct device *d, unsigned which,
                           int *out)
{
    const cuda_result result = d->library.device_attribute(out, which, d->id);

    return cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "reading attribute %u",
                      which);
}

static nb_status read_properties(nb_context *ctx, struct device *d,
                                 struct gpu_properties *properties, int *version)
{
    const struct cuda_library *cuda = &d->library;
    size_t memory = 0;
    cuda_result result = cuda->driver_version(version);

    NB_TRY(cuda_check(ctx, cuda, NB_ERR_DEVICE, result, "reading the driver's version"));
    (void)snprintf(properties->driver, sizeof properties->driver, "CUDA %d.%d",
                   *version / 1000, *version % 1000 / 10);
    result = cuda->device_name(properties->name, (int)sizeof properties->name, d->id);
    NB_TRY(cuda_check(ctx, cuda, NB_ERR_DEVICE, result, "reading the device's name"));
    result = cuda->device_memory(&memory, d->id);
    NB_TRY(cuda_check(ctx, cuda, NB_ERR_DEVICE, result, "reading the device's memory"));
    properties->memory = memory;
    NB_TRY(attribute(ctx, d, CUDA_CAPABILITY_MAJOR, &properties->major));
    NB_TRY(attribute(ctx, d, CUDA_CAPABILITY_MINOR, &properties->minor));
    NB_TRY(attribute(ctx, d, CUDA_PROCESSORS, &properties->processors));
    NB_TRY(attribute(ctx, d, CUDA_THREADS_OF_PROCESSOR, &d->resident));
    d->resident *= properties->processors;
    properties->version = *version;
    return NB_OK;
}

/* Choose the form of the kernels, and check the driver's version. Machine code runs under
 * every driver of its major version; PTX needs a driver that is not older than the
 * toolkit. */
static nb_status choose_kernels(nb_context *ctx, struct device *d,
                                struct gpu_properties *properties, int version)
{
    const struct gpu_fatbin *fatbin = d->fatbin;
    struct gpu_code targets[64];
    const int n =
        architecture_read(fatbin->targets, targets, sizeof targets / sizeof *targets);
    const int at =
        architecture_choose(targets, n, 10 * properties->major + properties->minor);
    int needed;

    if (at < 0)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "%s is of compute capability %d.%d; this build's kernels are for %s",
                    properties->name, properties->major, properties->minor,
                    fatbin->targets);
    d->target = properties->code = targets[at];
    needed = d->target.ptx ? fatbin->toolkit : fatbin->toolkit / 1000 * 1000;
    if (version >= needed) return NB_OK;
    return fail(ctx, NB_ERR_UNSUPPORTED,
                "the driver supports %s; the kernels for %s need CUDA %d.%d",
                properties->driver, properties->name, needed / 1000, needed % 1000 / 10);
}

cuda_result cuda_enter(struct device *d)
{
    cuda_context ours;
    cuda_result result = d->library.context_push(d->context);

    if (result != 0) return result;
    d->capture_mode = CUDA_CAPTURE_RELAXED;
    result = d->library.exchange_mode(&d->capture_mode);
    if (result != 0) (void)d->library.context_pop(&ours);
    return result;
}

nb_status cuda_push(nb_context *ctx, struct device *d)
{
    return cuda_check(ctx, &d->library, NB_ERR_DEVICE, cuda_enter(d),
                      "entering the device's context");
}

nb_status cuda_pop(struct device *d, nb_status status)
{
    cuda_context ours;

    (void)d->library.exchange_mode(&d->capture_mode);
    (void)d->library.context_pop(&ours);
    return status;
}

/* Retain the primary context once more, for the whole process. Otherwise it would be
 * destroyed with all loaded kernels when its last user releases it, and the next user would
 * have to make it again, which takes tenths of a second. */
static void hold_context(struct device *d)
{
    enum { DEVICES = 64 };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int held[DEVICES];
    cuda_context context;

    if (d->ordinal >= DEVICES) return;
    (void)pthread_mutex_lock(&lock);
    if (!held[d->ordinal])
        held[d->ordinal] = d->library.context_retain(&context, d->id) == 0;
    (void)pthread_mutex_unlock(&lock);
}

static nb_status make_stream(nb_context *ctx, struct device *d)
{
    cuda_result result = d->library.context_retain(&d->context, d->id);

    if (result != 0) d->context = NULL;
    NB_TRY(cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "making a context"));
    NB_TRY(cuda_push(ctx, d));
    result = d->library.stream_create(&d->own_stream, CUDA_STREAM_NON_BLOCKING);
    if (result != 0) d->own_stream = NULL;
    d->stream = d->own_stream;
    return cuda_pop(d,
                    cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "making a stream"));
}

/* Leave the context without reporting failures, which nobody reads during a close. */
static void close_context(struct device *d)
{
    cuda_close_copies(d);
    if (d->own_stream) {
        (void)d->library.stream_wait(d->own_stream);
        (void)d->library.stream_destroy(d->own_stream);
    }
    for (int i = 0; i < FATBIN_MODULES; i++)
        if (d->modules[i]) (void)d->library.module_unload(d->modules[i]);
    (void)cuda_pop(d, NB_OK);
}

static void close_device(void *device)
{
    struct device *d = device;

    if (!d) return;
    if (d->context) {
        if (cuda_enter(d) == 0) close_context(d);
        /* If the library is the last user, this also frees all memory in the context. */
        (void)d->library.context_release(d->id);
    }
    cuda_library_close(&d->library);
    free(d);
}

static nb_status open_in_steps(nb_context *ctx, const struct cuda_source *source, int id,
                               struct device *d, struct gpu_properties *properties)
{
    int version = 0;

    memset(properties, 0, sizeof *properties);
    NB_TRY(cuda_library_open(ctx, source->library, &d->library));
    NB_TRY(find_device(ctx, d, id));
    NB_TRY(read_properties(ctx, d, properties, &version));
    NB_TRY(choose_kernels(ctx, d, properties, version));
    NB_TRY(make_stream(ctx, d));
    if (source->stays) hold_context(d);
    return NB_OK;
}

nb_status cuda_open(nb_context *ctx, const struct cuda_source *source, int id,
                    void **device, struct gpu_properties *properties)
{
    struct device *d;
    nb_status status;

    *device = NULL;
    if (!source->fatbin->modules[0])
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "this build has no kernels for GPUs: it was made without nvcc");
    d = calloc(1, sizeof *d);
    if (!d) return fail_memory(ctx, "a CUDA device");
    d->fatbin = source->fatbin;
    status = open_in_steps(ctx, source, id, d, properties);
    if (status == NB_OK)
        *device = d;
    else
        close_device(d);
    return status;
}

static nb_status open_default(nb_context *ctx, int id, void **device,
                              struct gpu_properties *properties)
{
    const struct cuda_source source = {"libcuda.so.1", &gpu_fatbin, 1};

    return cuda_open(ctx, &source, id, device, properties);
}

/* Refuse a stream of another context, which cannot order our work, and a stream that is
 * being captured: our calls wait for their results, which a capture forbids. */
static nb_status check_stream(nb_context *ctx, struct device *d, cuda_stream stream)
{
    cuda_context its = NULL;
    unsigned capturing = CUDA_CAPTURING_NOTHING;
    cuda_result result = d->library.stream_context(stream, &its);

    NB_TRY(cuda_check(ctx, &d->library, NB_ERR_ARGUMENT, result, "asking about a stream"));
    if (its != d->context)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "the stream is not of the primary context of CUDA device %d",
                    d->ordinal);
    result = d->library.capturing(stream, &capturing);
    NB_TRY(cuda_check(ctx, &d->library, NB_ERR_ARGUMENT, result,
                      "asking whether a stream is being captured"));
    if (capturing == CUDA_CAPTURING_NOTHING) return NB_OK;
    return fail(ctx, NB_ERR_ARGUMENT,
                "the stream is being captured into a graph, which cannot hold calls that "
                "wait for their results; call before or after the capture");
}

static nb_status use(nb_context *ctx, void *device, void *stream)
{
    struct device *d = device;

    if (stream) { /* in each call, because a capture may have begun */
        NB_TRY(cuda_push(ctx, d));
        NB_TRY(cuda_pop(d, check_stream(ctx, d, stream)));
    }
    d->stream = stream ? (cuda_stream)stream : d->own_stream;
    return NB_OK;
}

/* ---- kernels ---- */

/* Load a module of code; `what` describes it in messages. *out is NULL if that fails. */
static nb_status load_code(nb_context *ctx, const struct device *d, const void *code,
                           const char *what, cuda_module *out)
{
    char log[CONTEXT_MESSAGE / 4] = "";
    unsigned options[] = {CUDA_LOG_BUFFER, CUDA_LOG_BUFFER_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    const cuda_result result = d->library.module_load(out, code, 2, options, values);

    if (result == 0) return NB_OK;
    *out = NULL;
    log[strcspn(log, "\n")] = '\0';
    return cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "loading %s%s%s", what,
                      log[0] ? ", " : "", log);
}

static int module_of(const struct gpu_kernel *kernel)
{
    if (kernel->work == GPU_COUNT || kernel->work == GPU_BRIGHTEST)
        return FATBIN_NOISE_MODULE;
    return kernel->single ? FATBIN_SINGLE_MODULE : FATBIN_DOUBLE_MODULE;
}

static nb_status load_module(nb_context *ctx, struct device *d, int module)
{
    static const char *const names[FATBIN_MODULES] = {"the kernels in double",
                                                      "the kernels in float",
                                                      "the kernels of noise"};

    if (d->modules[module]) return NB_OK;
    if (d->target.ptx)
        log_line(ctx, NB_LOG_INFO, "gpu", "the driver compiles kernels for this device");
    return load_code(ctx, d, d->fatbin->modules[module], names[module],
                     &d->modules[module]);
}

/* A kernel that was built at run time, alone in its module. */
struct runtime_kernel {
    cuda_module module;
    cuda_function function;
};

/* Record in d->local the local memory of a kernel that is about to be used. */
static cuda_result note_local(struct device *d, cuda_function function)
{
    int local = 0;
    const cuda_result result =
        d->library.function_attribute(&local, CUDA_LOCAL_BYTES, function);

    if (result == 0 && local > d->local) d->local = local;
    return result;
}

static size_t reserved(void *device)
{
    const struct device *d = device;

    return (size_t)d->local * (size_t)d->resident;
}

nb_status cuda_function_of(nb_context *ctx, struct device *d,
                           const struct gpu_kernel *kernel, cuda_function *out)
{
    const int image = kernel->work == GPU_IMAGE, module = module_of(kernel);
    cuda_function *function = &d->functions[module][kernel->work][image ? kernel->shape : 0]
                                           [image ? kernel->lookup : 0];
    cuda_result result = 0;

    if (kernel->runtime) {
        *out = ((const struct runtime_kernel *)kernel->runtime)->function;
        return NB_OK;
    }
    NB_TRY(load_module(ctx, d, module));
    if (!*function) {
        result = d->library.module_function(function, d->modules[module],
                                            gpu_kernel_name(kernel));
        if (result == 0) result = note_local(d, *function);
    }
    if (result != 0) *function = NULL;
    *out = *function;
    return cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "finding the kernel %s",
                      gpu_kernel_name(kernel));
}

nb_status cuda_launch_in(nb_context *ctx, struct device *d, cuda_stream stream,
                         const struct gpu_launch *launch, gpu_address parameters)
{
    const unsigned images = launch->images > 0 ? launch->images : 1;
    const struct CUlaunchConfig_st config =
        {{launch->blocks, images, 1}, {BLOCK_THREADS, 1, 1}, 0, stream, NULL, 0};
    cuda_pointer argument = parameters + launch->offset;
    void *arguments[] = {&argument};
    cuda_function function;
    cuda_result result;

    NB_TRY(cuda_function_of(ctx, d, &launch->kernel, &function));
    result = d->library.launch(&config, function, arguments, NULL);
    return cuda_check(ctx, &d->library, NB_ERR_DEVICE, result,
                      "launching %llu blocks of %s",
                      (unsigned long long)launch->blocks * images,
                      gpu_kernel_name(&launch->kernel));
}

static nb_status launch(nb_context *ctx, void *device, const struct gpu_launch *launch,
                        gpu_address parameters)
{
    struct device *d = device;

    NB_TRY(cuda_push(ctx, d));
    return cuda_pop(d, cuda_launch_in(ctx, d, d->stream, launch, parameters));
}

static nb_status load_runtime_kernel(nb_context *ctx, struct device *d, const void *code,
                                     const char *name,
                                     struct runtime_kernel *runtime_kernel)
{
    cuda_result result;

    NB_TRY(load_code(ctx, d, code, name, &runtime_kernel->module));
    result =
        d->library.module_function(&runtime_kernel->function, runtime_kernel->module, name);
    if (result == 0) result = note_local(d, runtime_kernel->function);
    if (result == 0) return NB_OK;
    (void)d->library.module_unload(runtime_kernel->module);
    return cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "finding the kernel %s",
                      name);
}

static nb_status load(nb_context *ctx, void *device, const void *code, size_t bytes,
                      const char *name, void **out)
{
    struct device *d = device;
    struct runtime_kernel *runtime_kernel = calloc(1, sizeof *runtime_kernel);
    nb_status status;

    (void)bytes; /* the code contains its length */
    *out = NULL;
    if (!runtime_kernel) return fail_memory(ctx, "a kernel");
    status = cuda_push(ctx, d);
    if (status == NB_OK)
        status = cuda_pop(d, load_runtime_kernel(ctx, d, code, name, runtime_kernel));
    if (status == NB_OK)
        *out = runtime_kernel;
    else
        free(runtime_kernel);
    return status;
}

static const void *built(void *device, int shape, int lookup, int single)
{
    const struct device *d = device;

    return d->fatbin->few[single][shape][lookup];
}

static void unload(void *device, void *loaded)
{
    struct device *d = device;
    struct runtime_kernel *runtime_kernel = loaded;

    if (cuda_enter(d) == 0) {
        (void)d->library.module_unload(runtime_kernel->module);
        (void)cuda_pop(d, NB_OK);
    }
    free(runtime_kernel);
}

static nb_status wait_for_all(nb_context *ctx, void *device)
{
    struct device *d = device;
    cuda_result result;

    NB_TRY(cuda_push(ctx, d));
    result = d->library.stream_wait(d->stream);
    if (result == 0 && d->fetching) result = d->library.stream_wait(d->copies);
    if (result == 0) d->fetching = 0;
    return cuda_pop(d, cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "computing"));
}

const struct gpu_driver gpu_cuda = {.name = "cuda",
                                    .open = open_default,
                                    .close = close_device,
                                    .use = use,
                                    .allocate = cuda_allocate,
                                    .release = cuda_release,
                                    .owns = cuda_owns,
                                    .upload = cuda_upload,
                                    .download = cuda_download,
                                    .pin = cuda_pin,
                                    .unpin = cuda_unpin,
                                    .send = cuda_send,
                                    .fetch = cuda_fetch,
                                    .fetched = cuda_fetched,
                                    .zero = cuda_zero,
                                    .launch = launch,
                                    .wait = wait_for_all,
                                    .load = load,
                                    .built = built,
                                    .unload = unload,
                                    .record = cuda_record,
                                    .replay = cuda_replay,
                                    .forget = cuda_forget,
                                    .reserved = reserved};
