/*
 * cuda_library.h - the functions of libcuda, CUDA's driver, that this library calls. They
 * are found while the program runs, so that nothing of CUDA is needed to build it.
 * tests/gpu/cuda_header.c compares the declarations with cuda.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DRIVER_CUDA_LIBRARY_H
#define NB_GPU_DRIVER_CUDA_LIBRARY_H

#include <stddef.h>

#include "base/context.h"

typedef unsigned cuda_result; /* 0: success */
typedef int cuda_device;
typedef unsigned long long cuda_pointer;
typedef struct CUctx_st *cuda_context;
typedef struct CUmod_st *cuda_module;
typedef struct CUfunc_st *cuda_function;
typedef struct CUstream_st *cuda_stream;
typedef struct CUevent_st *cuda_event;
typedef struct CUgraph_st *cuda_graph;
typedef struct CUgraphExec_st *cuda_graph_exec;

/* The values of cuda.h that are used here. */
enum {
    CUDA_OUT_OF_MEMORY = 2, /* values of cuda_result */
    CUDA_NO_DEVICE = 100,
    CUDA_PROCESSORS = 16, /* attributes of a device */
    CUDA_CAPABILITY_MAJOR = 75,
    CUDA_CAPABILITY_MINOR = 76,
    CUDA_MEMORY_TYPE = 2, /* attributes of a pointer */
    CUDA_IS_MANAGED = 8,
    CUDA_DEVICE_ORDINAL = 9,
    CUDA_DEVICE_MEMORY = 2, /* a type of memory */
    /* attribute of a device: largest number of resident threads */
    CUDA_THREADS_OF_PROCESSOR = 39,
    CUDA_LOCAL_BYTES = 3, /* attribute of a function: bytes per thread */
    CUDA_STREAM_NON_BLOCKING = 1,
    CUDA_EVENT_WITHOUT_TIME = 2,
    CUDA_CAPTURE_RELAXED = 2,
    CUDA_CAPTURING_NOTHING = 0, /* states of a stream */
    CUDA_CAPTURE_THREAD_LOCAL = 1,
    CUDA_LOG_BUFFER = 5, /* options of loading a module */
    CUDA_LOG_BUFFER_BYTES = 6
};

/* The size of a launch, named and laid out as in cuda.h. */
struct CUlaunchConfig_st {
    unsigned grid[3], block[3];
    unsigned shared; /* bytes of memory in addition to the kernel's own */
    cuda_stream stream;
    void *attributes;
    unsigned nattributes;
};

/* The functions: member of struct cuda_library, symbol in libcuda, parameters. */
#define CUDA_FUNCTIONS(X)                                                                  \
    X(error_name, cuGetErrorName, (cuda_result, const char **))                            \
    X(error_text, cuGetErrorString, (cuda_result, const char **))                          \
    X(init, cuInit, (unsigned))                                                            \
    X(driver_version, cuDriverGetVersion, (int *))                                         \
    X(device_count, cuDeviceGetCount, (int *))                                             \
    X(device_get, cuDeviceGet, (cuda_device *, int))                                       \
    X(device_name, cuDeviceGetName, (char *, int, cuda_device))                            \
    X(device_attribute, cuDeviceGetAttribute, (int *, unsigned, cuda_device))              \
    X(device_memory, cuDeviceTotalMem_v2, (size_t *, cuda_device))                         \
    X(context_retain, cuDevicePrimaryCtxRetain, (cuda_context *, cuda_device))             \
    X(context_release, cuDevicePrimaryCtxRelease_v2, (cuda_device))                        \
    X(context_push, cuCtxPushCurrent_v2, (cuda_context))                                   \
    X(context_pop, cuCtxPopCurrent_v2, (cuda_context *))                                   \
    X(module_load, cuModuleLoadDataEx,                                                     \
      (cuda_module *, const void *, unsigned, unsigned *, void **))                        \
    X(module_function, cuModuleGetFunction, (cuda_function *, cuda_module, const char *))  \
    X(module_unload, cuModuleUnload, (cuda_module))                                        \
    X(stream_create, cuStreamCreate, (cuda_stream *, unsigned))                            \
    X(stream_wait, cuStreamSynchronize, (cuda_stream))                                     \
    X(stream_context, cuStreamGetCtx, (cuda_stream, cuda_context *))                       \
    X(stream_destroy, cuStreamDestroy_v2, (cuda_stream))                                   \
    X(capturing, cuStreamIsCapturing, (cuda_stream, unsigned *))                           \
    X(exchange_mode, cuThreadExchangeStreamCaptureMode, (unsigned *))                      \
    X(stream_wait_event, cuStreamWaitEvent, (cuda_stream, cuda_event, unsigned))           \
    X(event_create, cuEventCreate, (cuda_event *, unsigned))                               \
    X(event_record, cuEventRecord, (cuda_event, cuda_stream))                              \
    X(event_wait, cuEventSynchronize, (cuda_event))                                        \
    X(event_destroy, cuEventDestroy_v2, (cuda_event))                                      \
    X(pinned_allocate, cuMemHostAlloc, (void **, size_t, unsigned))                        \
    X(pinned_release, cuMemFreeHost, (void *))                                             \
    X(function_attribute, cuFuncGetAttribute, (int *, unsigned, cuda_function))            \
    X(memory_allocate, cuMemAlloc_v2, (cuda_pointer *, size_t))                            \
    X(memory_release, cuMemFree_v2, (cuda_pointer))                                        \
    X(pointer_attribute, cuPointerGetAttribute, (void *, unsigned, cuda_pointer))          \
    X(upload, cuMemcpyHtoDAsync_v2, (cuda_pointer, const void *, size_t, cuda_stream))     \
    X(download, cuMemcpyDtoHAsync_v2, (void *, cuda_pointer, size_t, cuda_stream))         \
    X(zero, cuMemsetD8Async, (cuda_pointer, unsigned char, size_t, cuda_stream))           \
    X(launch, cuLaunchKernelEx,                                                            \
      (const struct CUlaunchConfig_st *, cuda_function, void **, void **))

/* Functions of graphs. A member is NULL if the library lacks the function. */
#define CUDA_GRAPH_FUNCTIONS(X)                                                            \
    X(function_load, cuFuncLoad, (cuda_function)) /* since CUDA 12.4 */                    \
    X(capture_begin, cuStreamBeginCapture_v2, (cuda_stream, unsigned))                     \
    X(capture_end, cuStreamEndCapture, (cuda_stream, cuda_graph *))                        \
    X(graph_instantiate, cuGraphInstantiateWithFlags,                                      \
      (cuda_graph_exec *, cuda_graph, unsigned long long))                                 \
    X(graph_launch, cuGraphLaunch, (cuda_graph_exec, cuda_stream))                         \
    X(graph_exec_destroy, cuGraphExecDestroy, (cuda_graph_exec))                           \
    X(graph_destroy, cuGraphDestroy, (cuda_graph))

struct cuda_library {
    void *handle;
/* NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define CUDA_MEMBER(name, symbol, parameters) cuda_result(*name) parameters;
    CUDA_FUNCTIONS(CUDA_MEMBER)
    CUDA_GRAPH_FUNCTIONS(CUDA_MEMBER)
#undef CUDA_MEMBER
};

/* Open the library of this name. Errors: NB_ERR_UNSUPPORTED if the library or one of its
 * functions is missing, functions of graphs excepted. Closing leaves the library mapped,
 * because threads of the driver may go on running. */
nb_status cuda_library_open(nb_context *ctx, const char *name, struct cuda_library *out);
void cuda_library_close(struct cuda_library *library);

/* Returns NB_OK if `result` is success. Otherwise sets a message with the action `doing`
 * and the driver's text for the result. The status is then NB_ERR_MEMORY if there was no
 * memory, else `status`. */
nb_status cuda_check(nb_context *ctx, const struct cuda_library *library, nb_status status,
                     cuda_result result, const char *doing, ...)
    __attribute__((format(printf, 5, 6)));

#endif
