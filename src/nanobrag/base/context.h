/*
 * context.h - the members of a context, and the two ways to return a failure: fail() where
 * it is found, NB_TRY() where it is passed on.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_CONTEXT_H
#define NB_BASE_CONTEXT_H

#include <stdint.h>

#include <nanobrag/context.h>

#include "base/env.h"

enum { CONTEXT_MESSAGE = 1024, CONTEXT_THREADS_MOST = 1024 };

struct gpu;
struct gpu_driver;

struct nb_context {
    nb_context_options options;
    struct env env; /* environment variables, read when the context was made */
    int threads;
    /* kernel launches; launches that compiled mode planned */
    uint64_t launches, compiled_launches;
    uint64_t fallbacks; /* calls of context_fall_back() */
    char fallback[CONTEXT_MESSAGE / 2]; /* message of the last fallback */
    /* the device asked for: NB_DEVICE_CPU, NB_DEVICE_CUDA or NB_DEVICE_AUTO; its number */
    int device, device_id;
    const struct gpu_driver *driver; /* operations of a device; NULL: those of CUDA */
    /* file name of the library NVRTC; NULL: the name that CUDA gives it */
    const char *nvrtc;
    struct gpu *gpu; /* the device; NULL until it is first needed */
    void (*close_gpu)(struct gpu *gpu); /* closes the device; NULL until one is opened */
    /* why the device cannot be used; "" unless that failed */
    char no_gpu[CONTEXT_MESSAGE / 2];
    struct plan_cache *plans; /* plans of compiled mode (compile/cache.c); NULL: none yet */
    char message[CONTEXT_MESSAGE];
};

/* Returns from the calling function with the status of `call` unless it is NB_OK. `call`
 * has set the message. */
#define NB_TRY(call)                                                                       \
    do {                                                                                   \
        const nb_status s_ = (call);                                                       \
        if (s_ != NB_OK) return s_;                                                        \
    } while (0)

/* Stores the message of a failure in the context and returns `status`, which must not be
 * NB_OK. */
nb_status fail(nb_context *ctx, nb_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the option `compile`, or NB_COMPILE_OFF if the environment turns it off. */
int context_compile(const nb_context *ctx);

/* Counts and logs a fallback: a feature is not available, and the call continues without
 * it. Returns NB_OK, or NB_ERR_UNSUPPORTED with NANOBRAG_STRICT=1. */
nb_status context_fall_back(nb_context *ctx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns NB_ERR_MEMORY with the message that there is no memory for `what`. */
nb_status fail_memory(nb_context *ctx, const char *what);

#endif
