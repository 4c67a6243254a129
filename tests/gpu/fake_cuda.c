/*
 * fake_cuda.c - a libcuda without a GPU: a library that exports the symbols that cuda.c
 * looks up. With FAKE_OLD it lacks cuMemcpyDtoHAsync_v2, with FAKE_PLAIN all functions of
 * graphs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/fake_cuda.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
    INVALID_VALUE = 1,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    NOT_FOUND = 500,
    CAPTURE_UNSUPPORTED = 900
};

struct CUfunc_st {
    char name[64];
    int loaded; /* by cuFuncLoad() or a launch: modules are loaded lazily */
};

static struct fake_cuda state;
static struct CUfunc_st functions[64];
static void *memory[16];
static char context, stream, copies, module; /* handles are their addresses */

#define CONTEXT ((cuda_context)(void *)&context)
#define STREAM  ((cuda_stream)(void *)&stream)
#define COPIES  ((cuda_stream)(void *)&copies) /* the second stream that is made */
#define MODULE  ((cuda_module)(void *)&module)

/* the prototypes are those that cuda.c calls by */
#define PROTOTYPE(name, symbol, parameters) cuda_result symbol parameters;
CUDA_FUNCTIONS(PROTOTYPE)
CUDA_GRAPH_FUNCTIONS(PROTOTYPE)
#undef PROTOTYPE

struct fake_cuda *fake_cuda_state(void)
{
    return &state;
}

struct CUevent_st {
    cuda_stream stream; /* in which it was recorded last */
};

static struct CUevent_st events[8];

/* copies from the device, which are done as late as they may be */
static struct {
    void *to;
    cuda_pointer from;
    size_t bytes;
    cuda_stream stream;
} pending[8];

/* Do the copies of a stream; NULL: of all. */
static void finish_copies(cuda_stream of)
{
    int left = 0;

    for (int i = 0; i < state.pending; i++)
        if (!of || pending[i].stream == of)
            memcpy(pending[i].to, (const void *)(uintptr_t)pending[i].from,
                   pending[i].bytes);
        else
            pending[left++] = pending[i];
    state.pending = left;
}

/* what the call of `symbol` is told to return */
static cuda_result told(const char *symbol)
{
    state.calls++;
    if (state.calls != state.fail_at
        && (!state.fail_in || strcmp(state.fail_in, symbol) != 0))
        return 0;
    state.last_failed = symbol;
    return state.result;
}

/* a call inside of a context, with a handle that must be the one we gave */
static cuda_result inside(const char *symbol, int good)
{
    const int waits = strcmp(symbol, "cuLaunchKernelEx") != 0
                      && strcmp(symbol, "cuStreamEndCapture") != 0;

    if (state.capturing && waits) good = 0;
    if (state.capture_mode != CUDA_CAPTURE_RELAXED) good = 0;
    if (state.depth == 1 && state.contexts > 0 && good) return told(symbol);
    state.misuses++;
    return INVALID_CONTEXT;
}

cuda_result cuGetErrorName(cuda_result result, const char **out)
{
    *out = result == CUDA_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
           : result == 719              ? "CUDA_ERROR_LAUNCH_FAILED"
                                        : NULL;
    return *out ? 0 : INVALID_VALUE;
}

cuda_result cuGetErrorString(cuda_result result, const char **out)
{
    *out = result == CUDA_OUT_OF_MEMORY ? "out of memory"
           : result == 719              ? "unspecified launch failure"
                                        : NULL;
    return *out ? 0 : INVALID_VALUE;
}

cuda_result cuInit(unsigned flags)
{
    if (flags != 0) state.misuses++;
    return told("cuInit");
}

cuda_result cuDriverGetVersion(int *out)
{
    *out = state.version;
    return told("cuDriverGetVersion");
}

cuda_result cuDeviceGetCount(int *out)
{
    *out = state.devices;
    return told("cuDeviceGetCount");
}

cuda_result cuDeviceGet(cuda_device *out, int ordinal)
{
    if (ordinal < 0 || ordinal >= state.devices) return INVALID_DEVICE;
    *out = 100 + ordinal; /* a device is not its ordinal */
    return told("cuDeviceGet");
}

cuda_result cuDeviceGetName(char *name, int length, cuda_device device)
{
    (void)snprintf(name, (size_t)length, "fake device %d", device - 100);
    return told("cuDeviceGetName");
}

cuda_result cuDeviceGetAttribute(int *out, unsigned which, cuda_device device)
{
    const struct {
        unsigned which;
        int value;
    } attributes[] = {{CUDA_PROCESSORS, 7},
                      {CUDA_THREADS_OF_PROCESSOR, 2048},
                      {CUDA_CAPABILITY_MAJOR, state.major},
                      {CUDA_CAPABILITY_MINOR, state.minor}};

    if (device < 100 || device >= 100 + state.devices) return INVALID_DEVICE;
    for (size_t i = 0; i < COUNT(attributes); i++)
        if (attributes[i].which == which) *out = attributes[i].value;
    return told("cuDeviceGetAttribute");
}

cuda_result cuDeviceTotalMem_v2(size_t *out, cuda_device device)
{
    (void)device;
    *out = (size_t)3 << 30;
    return told("cuDeviceTotalMem_v2");
}

cuda_result cuDevicePrimaryCtxRetain(cuda_context *out, cuda_device device)
{
    const cuda_result result = told("cuDevicePrimaryCtxRetain");

    if (device < 100 || device >= 100 + state.devices) return INVALID_DEVICE;
    *out = CONTEXT; /* which is no context when it fails */
    if (result == 0) state.contexts++;
    return result;
}

static void forget(size_t i)
{
    free(memory[i]);
    memory[i] = NULL;
}

/* what releases does so even when told to fail */
cuda_result cuDevicePrimaryCtxRelease_v2(cuda_device device)
{
    if (device < 100 || state.contexts == 0) state.misuses++;
    if (state.depth != 0) state.misuses++;
    state.contexts--;
    if (state.contexts > 0) return told("cuDevicePrimaryCtxRelease_v2");
    state.lost += state.streams + state.modules + state.memories + state.graphs
                  + state.graph_execs + state.events + state.pinned;
    state.streams = state.modules = state.memories = 0;
    state.graphs = state.graph_execs = state.events = state.pinned = 0;
    state.pending = 0;
    for (size_t i = 0; i < COUNT(memory); i++) forget(i);
    return told("cuDevicePrimaryCtxRelease_v2");
}

cuda_result cuCtxPushCurrent_v2(cuda_context ours)
{
    const cuda_result result = told("cuCtxPushCurrent_v2");

    if (ours != CONTEXT || state.contexts == 0) state.misuses++;
    if (result == 0) state.depth++;
    return result;
}

cuda_result cuCtxPopCurrent_v2(cuda_context *out)
{
    if (state.depth == 0) state.misuses++;
    *out = CONTEXT;
    state.depth--;
    return told("cuCtxPopCurrent_v2");
}

cuda_result cuThreadExchangeStreamCaptureMode(unsigned *mode)
{
    const unsigned before = state.capture_mode;

    state.capture_mode = *mode;
    *mode = before;
    return told("cuThreadExchangeStreamCaptureMode");
}

/* the type is the real function's NOLINTBEGIN(readability-non-const-parameter) */
cuda_result cuModuleLoadDataEx(cuda_module *out, const void *fatbin, unsigned n,
                               unsigned *options, void **values)
/* NOLINTEND(readability-non-const-parameter) */
{
    const cuda_result result = inside("cuModuleLoadDataEx", fatbin != NULL);

    *out = MODULE;
    state.loads++;
    state.fatbin = fatbin;
    if (n != 2 || options[0] != CUDA_LOG_BUFFER || options[1] != CUDA_LOG_BUFFER_BYTES)
        state.misuses++;
    else if (result != 0 && state.jit_log)
        (void)snprintf(values[0], (size_t)(uintptr_t)values[1], "%s", state.jit_log);
    if (result == 0) state.modules++;
    return result;
}

cuda_result cuModuleGetFunction(cuda_function *out, cuda_module from, const char *name)
{
    const cuda_result result = inside("cuModuleGetFunction", from == MODULE);
    struct CUfunc_st *f = &functions[state.looked_up % (int)COUNT(functions)];

    state.looked_up++;
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    f->loaded = 0;
    *out = f;
    return result;
}

cuda_result cuModuleUnload(cuda_module which)
{
    state.modules--;
    return inside("cuModuleUnload", which == MODULE);
}

cuda_result cuStreamCreate(cuda_stream *out, unsigned flags)
{
    const cuda_result result = inside("cuStreamCreate", flags == CUDA_STREAM_NON_BLOCKING);

    *out = state.streams == 0 ? STREAM : COPIES;
    if (result == 0) state.streams++;
    return result;
}

static int is_expected(cuda_stream which)
{
    return which == (state.expected ? state.expected : STREAM);
}

cuda_result cuStreamSynchronize(cuda_stream which)
{
    const cuda_result result =
        inside("cuStreamSynchronize", is_expected(which) || which == COPIES);

    state.waits += which != COPIES;
    if (result == 0) finish_copies(which);
    return result;
}

cuda_result cuStreamIsCapturing(cuda_stream which, unsigned *out)
{
    *out = which == state.theirs ? state.capture_status : 0;
    return inside("cuStreamIsCapturing", 1);
}

cuda_result cuEventCreate(cuda_event *out, unsigned flags)
{
    const cuda_result result = inside("cuEventCreate", flags == CUDA_EVENT_WITHOUT_TIME);

    *out = &events[state.events % (int)COUNT(events)];
    if (result == 0) state.events++;
    return result;
}

cuda_result cuEventRecord(cuda_event event, cuda_stream on)
{
    event->stream = on;
    return inside("cuEventRecord", is_expected(on) || on == COPIES);
}

cuda_result cuEventSynchronize(cuda_event event)
{
    const cuda_result result = inside("cuEventSynchronize", event->stream != NULL);

    if (result == 0) finish_copies(event->stream);
    return result;
}

cuda_result cuStreamWaitEvent(cuda_stream which, cuda_event event, unsigned flags)
{
    return inside("cuStreamWaitEvent",
                  which == COPIES && event->stream != COPIES && flags == 0);
}

cuda_result cuEventDestroy_v2(cuda_event event)
{
    state.events--;
    return inside("cuEventDestroy_v2", event != NULL);
}

/* Pinned memory belongs to the context: what its owner could not release, because the
 * context could not be entered, goes with the process and is no leak. */
static void *pinned[64];

static void replace_pinned(const void *old, void *new)
{
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++)
        if (pinned[i] == old) {
            pinned[i] = new;
            return;
        }
}

cuda_result cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    const cuda_result result = inside("cuMemHostAlloc", bytes > 0 && flags == 0);

    *out = NULL;
    if (result != 0) return result;
    *out = malloc(bytes > 0 ? bytes : 1);
    replace_pinned(NULL, *out);
    state.pinned++;
    return 0;
}

cuda_result cuMemFreeHost(void *address)
{
    finish_copies(NULL);
    replace_pinned(address, NULL);
    free(address);
    state.pinned--;
    return inside("cuMemFreeHost", 1);
}

cuda_result cuFuncGetAttribute(int *out, unsigned which, cuda_function function)
{
    *out = state.local;
    return inside("cuFuncGetAttribute", which == CUDA_LOCAL_BYTES && function != NULL);
}

cuda_result cuStreamGetCtx(cuda_stream which, cuda_context *out)
{
    *out =
        which == STREAM || which == state.theirs ? CONTEXT : (cuda_context)(void *)&state;
    return inside("cuStreamGetCtx", 1);
}

cuda_result cuStreamDestroy_v2(cuda_stream which)
{
    state.streams--;
    return inside("cuStreamDestroy_v2", which == STREAM || which == COPIES);
}

static size_t place_of(const void *what)
{
    for (size_t i = 0; i < COUNT(memory); i++)
        if (memory[i] == what) return i;
    abort();
}

cuda_result cuMemAlloc_v2(cuda_pointer *out, size_t bytes)
{
    const cuda_result result = inside("cuMemAlloc_v2", bytes > 0);
    size_t i;

    *out = 0xbad;
    if (result != 0) return result;
    i = place_of(NULL);
    memory[i] = malloc(bytes > 0 ? bytes : 1);
    *out = (cuda_pointer)(uintptr_t)memory[i];
    state.memories++;
    return 0;
}

cuda_result cuMemFree_v2(cuda_pointer address)
{
    finish_copies(NULL); /* freeing memory waits for the device */
    forget(place_of((const void *)(uintptr_t)address)); // NOLINT(performance-no-int-to-ptr)
    state.memories--;
    return inside("cuMemFree_v2", 1);
}

cuda_result cuPointerGetAttribute(void *out, unsigned which, cuda_pointer pointer)
{
    const cuda_result result = inside("cuPointerGetAttribute", 1);
    const unsigned value = which == CUDA_MEMORY_TYPE  ? state.type
                           : which == CUDA_IS_MANAGED ? state.managed
                                                      : state.ordinal;

    if (result != 0 || pointer != (cuda_pointer)(uintptr_t)state.known)
        return INVALID_VALUE;
    memcpy(out, &value, sizeof value);
    return 0;
}

cuda_result cuMemcpyHtoDAsync_v2(cuda_pointer to, const void *from, size_t bytes,
                                 cuda_stream on)
{
    const cuda_result result = inside("cuMemcpyHtoDAsync_v2", is_expected(on) && bytes > 0);

    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (result == 0) memcpy((void *)(uintptr_t)to, from, bytes);
    return result;
}

cuda_result cuMemsetD8Async(cuda_pointer to, unsigned char value, size_t bytes,
                            cuda_stream on)
{
    const cuda_result result = inside("cuMemsetD8Async", is_expected(on) && bytes > 0);

    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (result == 0) memset((void *)(uintptr_t)to, value, bytes);
    return result;
}

#ifndef FAKE_OLD
cuda_result cuMemcpyDtoHAsync_v2(void *to, cuda_pointer from, size_t bytes, cuda_stream on)
{
    const int room = state.pending < (int)COUNT(pending);
    const cuda_result result =
        inside("cuMemcpyDtoHAsync_v2",
               (is_expected(on) || on == COPIES) && bytes > 0 && room);

    if (result != 0) return result;
    pending[state.pending].to = to;
    pending[state.pending].from = from;
    pending[state.pending].bytes = bytes;
    pending[state.pending].stream = on;
    state.pending++;
    return 0;
}
#endif

static int is_row(const unsigned extent[3])
{
    return extent[1] == 1 && extent[2] == 1;
}

cuda_result cuLaunchKernelEx(const struct CUlaunchConfig_st *config, cuda_function function,
                             void **arguments, void **extra)
{
    const int plain = config->grid[1] > 0 && config->grid[2] == 1 && is_row(config->block)
                      && config->shared == 0 && config->nattributes == 0 && !extra;
    const int there =
        state.capturing ? config->stream == STREAM : is_expected(config->stream);
    const cuda_result result = inside("cuLaunchKernelEx", there && plain);

    if (result != 0) return result;
    if (state.capturing && !function->loaded) { /* nothing may be loaded meanwhile */
        state.misuses++;
        return CAPTURE_UNSUPPORTED;
    }
    function->loaded = 1;
    if (state.capturing)
        state.captured++;
    else
        state.launches++;
    (void)snprintf(state.kernel, sizeof state.kernel, "%s", function->name);
    state.blocks = config->grid[0];
    state.images = config->grid[1];
    state.threads = config->block[0];
    memcpy(&state.parameters, arguments[0], sizeof state.parameters);
    return 0;
}

#ifndef FAKE_PLAIN
static char graph, graph_exec;

#define GRAPH ((cuda_graph)(void *)&graph)
#define EXEC  ((cuda_graph_exec)(void *)&graph_exec)

cuda_result cuFuncLoad(cuda_function function)
{
    const cuda_result result = inside("cuFuncLoad", function != NULL);

    state.functions_loaded++;
    if (result == 0) function->loaded = 1;
    return result;
}

cuda_result cuStreamBeginCapture_v2(cuda_stream which, unsigned mode)
{
    const cuda_result result =
        inside("cuStreamBeginCapture_v2",
               which == STREAM && mode == CUDA_CAPTURE_THREAD_LOCAL && !state.capturing);

    if (result != 0) return result;
    state.capturing = 1;
    state.captured = 0;
    return 0;
}

/* the capture is over even when it fails */
cuda_result cuStreamEndCapture(cuda_stream which, cuda_graph *out)
{
    const cuda_result result =
        inside("cuStreamEndCapture", which == STREAM && state.capturing);

    state.capturing = 0;
    *out = GRAPH; /* which is no graph when it fails */
    if (result == 0) state.graphs++;
    return result;
}

cuda_result cuGraphInstantiateWithFlags(cuda_graph_exec *out, cuda_graph from,
                                        unsigned long long flags)
{
    const cuda_result result =
        inside("cuGraphInstantiateWithFlags", from == GRAPH && flags == 0);

    *out = EXEC;
    if (result == 0) state.graph_execs++;
    return result;
}

cuda_result cuGraphLaunch(cuda_graph_exec which, cuda_stream on)
{
    const cuda_result result = inside("cuGraphLaunch", which == EXEC && is_expected(on));

    if (result == 0) state.graph_launches++;
    return result;
}

cuda_result cuGraphExecDestroy(cuda_graph_exec which)
{
    state.graph_execs--;
    return inside("cuGraphExecDestroy", which == EXEC);
}

cuda_result cuGraphDestroy(cuda_graph which)
{
    state.graphs--;
    return inside("cuGraphDestroy", which == GRAPH);
}
#endif
