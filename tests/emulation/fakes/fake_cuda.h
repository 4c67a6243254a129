/*
 * fake_cuda.h - a libcuda without a GPU, for tests of gpu/driver/cuda.c: a library of its
 * own (fake_cuda.c), opened in libcuda's place. Its memory is the host's, a launch is only
 * noted, and it fails when and how it is told.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_FAKE_CUDA_H
#define NB_TESTS_FAKE_CUDA_H

#include <stddef.h>

#include "gpu/driver/cuda_library.h"

struct fake_cuda {
    /* what the machine is like */
    int devices, version, major, minor;
    const void *known; /* a pointer that it knows: of this type, on this device */
    unsigned type, managed, ordinal;
    cuda_stream theirs; /* a stream of the caller's in our context, or NULL */
    cuda_stream expected; /* where all but captures is to go; NULL: the library's own */
    /* how it fails */
    int fail_at; /* which call, from 1 on; 0: none */
    const char *fail_in; /* or the symbol whose every call fails; NULL: none */
    cuda_result result; /* with this */
    const char *jit_log; /* what loading a module that fails has to say */
    /* what was done */
    int calls;
    const char *last_failed; /* the symbol of the call that failed, or NULL */
    int contexts, streams, modules, memories, graphs, graph_execs; /* that live */
    int lost; /* of these in a context that went */
    int depth; /* contexts pushed and not popped */
    int misuses; /* calls that need our context and had another, or a wrong handle */
    int capturing; /* launches go to a graph, and little else is allowed */
    int captured; /* launches of the last graph */
    int waits, loads, looked_up, functions_loaded, launches, graph_launches;
    char kernel[64]; /* of the last launch */
    const void *fatbin; /* of the last module */
    unsigned blocks, images, threads;
    cuda_pointer parameters;
};

typedef struct fake_cuda *fake_cuda_state_function(void);

/* What the library exports beside CUDA's functions: the one state. */
fake_cuda_state_function fake_cuda_state;

#endif
