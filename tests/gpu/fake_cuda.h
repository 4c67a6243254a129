/*
 * fake_cuda.h - a libcuda without a GPU, for tests of gpu/driver/cuda.c: a library of its
 * own (fake_cuda.c) that is opened instead of libcuda. Its memory is the host's, it only
 * counts launches, and it fails when and how a test sets it to.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_FAKE_CUDA_H
#define NB_TESTS_FAKE_CUDA_H

#include <stddef.h>

#include "gpu/driver/cuda_library.h"

struct fake_cuda {
    /* properties of the machine */
    int devices, version, major, minor;
    const void *known; /* a pointer that it knows, of this type and on this device */
    unsigned type, managed, ordinal;
    cuda_stream theirs; /* a stream of the caller's in the library's context, or NULL */
    cuda_stream expected; /* the stream for all but captures; NULL: the library's own */
    unsigned capture_status; /* of their stream: 1 while they capture */
    unsigned capture_mode; /* of the caller's thread, which our calls change and restore */
    int local; /* bytes of local memory of a kernel's thread */
    /* failures */
    int fail_at; /* the number of the call that fails, from 1; 0: none */
    const char *fail_in; /* the symbol whose calls all fail; NULL: none */
    cuda_result result; /* the error of those calls */
    const char *jit_log; /* the log of loading a module that fails */
    /* records of the calls */
    int calls;
    const char *last_failed; /* the symbol of the call that failed, or NULL */
    /* those that exist; a context counts as often as it is retained */
    int contexts, streams, modules, memories, graphs, graph_execs, events, pinned;
    int lost; /* those of them in a context that was destroyed */
    int depth; /* contexts pushed and not popped */
    int misuses; /* calls with another context than the library's, or a wrong handle */
    int capturing; /* 1: launches go to a graph, and few other calls are allowed */
    int captured; /* launches of the last graph */
    int pending; /* copies from the device that were not waited for, and not done */
    int waits, loads, looked_up, functions_loaded, launches, graph_launches;
    char kernel[64]; /* of the last launch */
    const void *fatbin; /* of the last module */
    unsigned blocks, images, threads;
    cuda_pointer parameters;
};

typedef struct fake_cuda *fake_cuda_state_function(void);

/* Returns the one state. The library exports this beside CUDA's functions. */
fake_cuda_state_function fake_cuda_state;

#endif
