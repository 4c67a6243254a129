/*
 * cuda.c - a device of CUDA's driver. Its primary context is shared with whatever else uses
 * the device in this process; it is current only during our calls. Work goes to a stream of
 * the device, or to one of the caller.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/driver/cuda.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "gpu/driver/architecture.h"
#include "gpu/driver/cuda_library.h"
#include "gpu/text/block.h"
#include "physics/spec.h"

struct device {
    struct cuda_library library;
    const struct gpu_fatbin *fatbin;
    cuda_device id;
    int ordinal;
    cuda_context context;
    cuda_stream own_stream; /* created by us; launches are captured in it */
    cuda_stream stream; /* in use: ours or the caller's */
    cuda_module modules[FATBIN_MODULES]; /* each is loaded when first used */
    cuda_function functions[FATBIN_MODULES][GPU_WORKS][PHYS_SHAPES][PHYS_LOOKUPS];
    struct gpu_target target; /* the form of the kernels that the device runs */
};

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
    return attribute(ctx, d, CUDA_PROCESSORS, &properties->processors);
}

/* Choose the form of the kernels. Machine code runs under every driver of its major
 * version; PTX needs a driver that is not older than the toolkit. */
static nb_status choose_kernels(nb_context *ctx, struct device *d,
                                const struct gpu_properties *properties, int version)
{
    const struct gpu_fatbin *fatbin = d->fatbin;
    struct gpu_target targets[64];
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
    d->target = targets[at];
    needed = d->target.ptx ? fatbin->toolkit : fatbin->toolkit / 1000 * 1000;
    if (version >= needed) return NB_OK;
    return fail(ctx, NB_ERR_UNSUPPORTED,
                "the driver supports %s; the kernels for %s need CUDA %d.%d",
                properties->driver, properties->name, needed / 1000, needed % 1000 / 10);
}

static nb_status push_context(nb_context *ctx, const struct device *d)
{
    return cuda_check(ctx, &d->library, NB_ERR_DEVICE, d->library.context_push(d->context),
                      "entering the device's context");
}

/* Make the caller's context current again. */
static nb_status pop_context(const struct device *d, nb_status status)
{
    cuda_context ours;

    (void)d->library.context_pop(&ours);
    return status;
}

static nb_status make_stream(nb_context *ctx, struct device *d)
{
    cuda_result result = d->library.context_retain(&d->context, d->id);

    if (result != 0) d->context = NULL;
    NB_TRY(cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "making a context"));
    NB_TRY(push_context(ctx, d));
    result = d->library.stream_create(&d->own_stream, CUDA_STREAM_NON_BLOCKING);
    if (result != 0) d->own_stream = NULL;
    d->stream = d->own_stream;
    return pop_context(d, cuda_check(ctx, &d->library, NB_ERR_DEVICE, result,
                                     "making a stream"));
}

/* Leave the context without reporting failures: while closing nobody reads them. */
static void close_context(struct device *d)
{
    if (d->own_stream) {
        (void)d->library.stream_wait(d->own_stream);
        (void)d->library.stream_destroy(d->own_stream);
    }
    for (int i = 0; i < FATBIN_MODULES; i++)
        if (d->modules[i]) (void)d->library.module_unload(d->modules[i]);
    (void)pop_context(d, NB_OK);
}

static void close_device(void *device)
{
    struct device *d = device;

    if (!d) return;
    if (d->context) {
        if (d->library.context_push(d->context) == 0) close_context(d);
        (void)d->library.context_release(
            d->id); /* also frees what is left in the context, if we used it last */
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
    return make_stream(ctx, d);
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
    const struct cuda_source source = {"libcuda.so.1", &gpu_fatbin};

    return cuda_open(ctx, &source, id, device, properties);
}

/* Refuse a stream of another context, which cannot order our work. */
static nb_status check_stream(nb_context *ctx, struct device *d, cuda_stream stream)
{
    cuda_context its = NULL;
    const cuda_result result = d->library.stream_context(stream, &its);

    NB_TRY(cuda_check(ctx, &d->library, NB_ERR_ARGUMENT, result, "asking about a stream"));
    if (its == d->context) return NB_OK;
    return fail(ctx, NB_ERR_ARGUMENT,
                "the stream is not of the primary context of CUDA device %d", d->ordinal);
}

static nb_status use(nb_context *ctx, void *device, void *stream)
{
    struct device *d = device;
    const cuda_stream wanted = stream ? (cuda_stream)stream : d->own_stream;

    if (wanted == d->stream) return NB_OK;
    if (stream) {
        NB_TRY(push_context(ctx, d));
        NB_TRY(pop_context(d, check_stream(ctx, d, wanted)));
    }
    d->stream = wanted;
    return NB_OK;
}

/* ---- memory ---- */

static nb_status allocate(nb_context *ctx, void *device, size_t bytes, gpu_address *out)
{
    struct device *d = device;
    cuda_pointer address = 0;
    cuda_result result;

    *out = 0;
    NB_TRY(push_context(ctx, d));
    result = d->library.memory_allocate(&address, bytes);
    if (result == 0) *out = address;
    return pop_context(d, cuda_check(ctx, &d->library, NB_ERR_DEVICE, result,
                                     "allocating %zu bytes", bytes));
}

static void release(void *device, gpu_address address)
{
    struct device *d = device;

    if (address == 0 || d->library.context_push(d->context) != 0) return;
    (void)d->library.memory_release(address);
    (void)pop_context(d, NB_OK);
}

static int attribute_of(const struct device *d, unsigned which, gpu_address address,
                        unsigned *out)
{
    *out = 0;
    return d->library.pointer_attribute(out, which, address) == 0;
}

/* Addresses that the driver does not know are ordinary memory of the host. Managed memory
 * counts as the device's wherever it lies at the moment. */
static int owns(void *device, gpu_address address)
{
    struct device *d = device;
    unsigned type, managed, ordinal;
    int ours;

    /* the calls that follow report the failure */
    if (d->library.context_push(d->context) != 0) return 1;
    ours = attribute_of(d, CUDA_MEMORY_TYPE, address, &type);
    if (ours && !(attribute_of(d, CUDA_IS_MANAGED, address, &managed) && managed))
        ours = type == CUDA_DEVICE_MEMORY
               && (!attribute_of(d, CUDA_DEVICE_ORDINAL, address, &ordinal)
                   || (int)ordinal == d->ordinal);
    (void)pop_context(d, NB_OK);
    return ours;
}

/* The copy is waited for, because CUDA does not promise of any asynchronous copy that the
 * host's memory was read on return: ordinary memory may be staged by a thread of the
 * driver, or read by a device that shares the host's page tables. */
static nb_status upload(nb_context *ctx, void *device, gpu_address to, const void *from,
                        size_t bytes)
{
    struct device *d = device;
    cuda_result result;

    if (bytes == 0) return NB_OK;
    NB_TRY(push_context(ctx, d));
    result = d->library.upload(to, from, bytes, d->stream);
    if (result == 0) result = d->library.stream_wait(d->stream);
    return pop_context(d, cuda_check(ctx, &d->library, NB_ERR_DEVICE, result,
                                     "copying %zu bytes to the device", bytes));
}

static nb_status download(nb_context *ctx, void *device, void *to, gpu_address from,
                          size_t bytes)
{
    struct device *d = device;
    cuda_result result;

    if (bytes == 0) return NB_OK;
    NB_TRY(push_context(ctx, d));
    result = d->library.download(to, from, bytes, d->stream);
    return pop_context(d, cuda_check(ctx, &d->library, NB_ERR_DEVICE, result,
                                     "copying %zu bytes from the device", bytes));
}

static nb_status zero(nb_context *ctx, void *device, gpu_address to, size_t bytes)
{
    struct device *d = device;
    cuda_result result;

    if (bytes == 0) return NB_OK;
    NB_TRY(push_context(ctx, d));
    result = d->library.zero(to, 0, bytes, d->stream);
    return pop_context(d, cuda_check(ctx, &d->library, NB_ERR_DEVICE, result,
                                     "setting %zu bytes to 0", bytes));
}

/* ---- kernels ---- */

/* Load a module of code, which `what` describes in messages; NULL where that fails. */
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

/* a kernel that was built at run time, alone in its module */
struct runtime_kernel {
    cuda_module module;
    cuda_function function;
};

static nb_status find_function(nb_context *ctx, struct device *d,
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
    if (!*function)
        result = d->library.module_function(function, d->modules[module],
                                            gpu_kernel_name(kernel));
    if (result != 0) *function = NULL;
    *out = *function;
    return cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "finding the kernel %s",
                      gpu_kernel_name(kernel));
}

static nb_status launch_inside(nb_context *ctx, struct device *d, cuda_stream stream,
                               const struct gpu_launch *launch, gpu_address parameters)
{
    const unsigned images = launch->images > 0 ? launch->images : 1;
    const struct CUlaunchConfig_st config =
        {{launch->blocks, images, 1}, {BLOCK_THREADS, 1, 1}, 0, stream, NULL, 0};
    cuda_pointer argument = parameters + launch->offset;
    void *arguments[] = {&argument};
    cuda_function function;
    cuda_result result;

    NB_TRY(find_function(ctx, d, &launch->kernel, &function));
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

    NB_TRY(push_context(ctx, d));
    return pop_context(d, launch_inside(ctx, d, d->stream, launch, parameters));
}

static nb_status load_runtime_kernel(nb_context *ctx, struct device *d, const void *code,
                                     const char *name,
                                     struct runtime_kernel *runtime_kernel)
{
    cuda_result result;

    NB_TRY(load_code(ctx, d, code, name, &runtime_kernel->module));
    result =
        d->library.module_function(&runtime_kernel->function, runtime_kernel->module, name);
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
    status = push_context(ctx, d);
    if (status == NB_OK)
        status = pop_context(d, load_runtime_kernel(ctx, d, code, name, runtime_kernel));
    if (status == NB_OK)
        *out = runtime_kernel;
    else
        free(runtime_kernel);
    return status;
}

static void unload(void *device, void *loaded)
{
    struct device *d = device;
    struct runtime_kernel *runtime_kernel = loaded;

    if (d->library.context_push(d->context) == 0) {
        (void)d->library.module_unload(runtime_kernel->module);
        (void)pop_context(d, NB_OK);
    }
    free(runtime_kernel);
}

/* ---- graphs ---- */

/* Load a function before launches are captured, when nothing may be loaded: a driver that
 * loads modules lazily may have found a function without loading it. */
static nb_status load_function(nb_context *ctx, struct device *d,
                               const struct gpu_kernel *kernel)
{
    cuda_function function;

    NB_TRY(find_function(ctx, d, kernel, &function));
    if (!d->library.function_load) return NB_OK;
    return cuda_check(ctx, &d->library, NB_ERR_DEVICE, d->library.function_load(function),
                      "loading the kernel %s", gpu_kernel_name(kernel));
}

/* Capture launches in the stream of the device, since not every stream of a caller's can be
 * captured: the default one cannot, and others may be busy. The caller destroys *graph even
 * where this fails; NULL: there is none. */
static nb_status capture(nb_context *ctx, struct device *d,
                         const struct gpu_launch *launches, int n, gpu_address parameters,
                         cuda_graph *graph)
{
    cuda_result result = d->library.capture_begin(d->own_stream, CUDA_CAPTURE_THREAD_LOCAL);
    nb_status status = NB_OK;

    NB_TRY(cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "beginning a capture"));
    for (int i = 0; i < n && status == NB_OK; i++)
        status = launch_inside(ctx, d, d->own_stream, launches + i, parameters);
    /* the capture has to end even where launches failed */
    result = d->library.capture_end(d->own_stream, graph);
    if (result != 0) *graph = NULL;
    if (status != NB_OK) return status;
    return cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "capturing launches");
}

static nb_status record_inside(nb_context *ctx, struct device *d,
                               const struct gpu_launch *launches, int n,
                               gpu_address parameters, cuda_graph_exec *out)
{
    cuda_graph graph = NULL;
    cuda_result result;
    nb_status status = NB_OK;

    for (int i = 0; i < n; i++) NB_TRY(load_function(ctx, d, &launches[i].kernel));
    status = capture(ctx, d, launches, n, parameters, &graph);
    if (status == NB_OK) {
        result = d->library.graph_instantiate(out, graph, 0);
        if (result != 0) *out = NULL;
        status = cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "making a graph");
    }
    if (graph) (void)d->library.graph_destroy(graph);
    return status;
}

static int has_graphs(const struct cuda_library *cuda)
{
    return cuda->capture_begin && cuda->capture_end && cuda->graph_instantiate
           && cuda->graph_launch && cuda->graph_exec_destroy && cuda->graph_destroy;
}

static nb_status record(nb_context *ctx, void *device, const struct gpu_launch *launches,
                        int n, gpu_address parameters, void **recording)
{
    struct device *d = device;
    cuda_graph_exec made = NULL;
    nb_status status;

    *recording = NULL;
    if (!has_graphs(&d->library))
        return fail(ctx, NB_ERR_UNSUPPORTED, "the driver has no functions of graphs");
    NB_TRY(push_context(ctx, d));
    status = pop_context(d, record_inside(ctx, d, launches, n, parameters, &made));
    *recording = made;
    return status;
}

static nb_status replay(nb_context *ctx, void *device, void *recording)
{
    struct device *d = device;
    cuda_result result;

    NB_TRY(push_context(ctx, d));
    result = d->library.graph_launch(recording, d->stream);
    return pop_context(d, cuda_check(ctx, &d->library, NB_ERR_DEVICE, result,
                                     "launching a graph"));
}

static void forget(void *device, void *recording)
{
    struct device *d = device;

    if (!recording || d->library.context_push(d->context) != 0) return;
    (void)d->library.graph_exec_destroy(recording);
    (void)pop_context(d, NB_OK);
}

static nb_status wait_for_all(nb_context *ctx, void *device)
{
    struct device *d = device;
    cuda_result result;

    NB_TRY(push_context(ctx, d));
    result = d->library.stream_wait(d->stream);
    return pop_context(d, cuda_check(ctx, &d->library, NB_ERR_DEVICE, result, "computing"));
}

const struct gpu_driver gpu_cuda = {"cuda",  open_default, close_device, use,      allocate,
                                    release, owns,         upload,       download, zero,
                                    launch,  wait_for_all, load,         unload,   record,
                                    replay,  forget};
