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
    uint64_t launches, compiled_launches; /* kernel launches, and launches by a plan */
    uint64_t fallbacks; /* calls of context_fall_back() */
    char fallback[CONTEXT_MESSAGE / 2]; /* text of the last fallback */
    int device,
        device_id; /* device asked for: NB_DEVICE_CPU, NB_DEVICE_CUDA or NB_DEVICE_AUTO */
    const struct gpu_driver *driver; /* driver of the devices; NULL: CUDA */
    const char *nvrtc; /* file name of the NVRTC library; NULL: CUDA's */
    struct gpu *gpu; /* the device; NULL until it is first needed */
    void (*close_gpu)(struct gpu *gpu); /* closes it */
    char no_gpu[CONTEXT_MESSAGE / 2]; /* why the device cannot be opened; "": not tried */
    struct plan_cache *plans; /* plans made so far (compile/cache.c); NULL: none */
    char message[CONTEXT_MESSAGE];
};

/* Returns the status of a call that failed; that call has set the message. */
#define NB_TRY(call)                                                                       \
    do {                                                                                   \
        const nb_status s_ = (call);                                                       \
        if (s_ != NB_OK) return s_;                                                        \
    } while (0)

/* Stores the message of a failure and returns its status, which must not be NB_OK. */
nb_status fail(nb_context *ctx, nb_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the option `compile`, or NB_COMPILE_OFF if the environment turns it off. */
int context_compile(const nb_context *ctx);

/*
 * Counts and logs a fallback: a feature is not available and the call continues without it.
 * Returns NB_OK, or NB_ERR_UNSUPPORTED with NANOBRAG_STRICT=1.
 */
nb_status context_fall_back(nb_context *ctx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns NB_ERR_MEMORY with the message that there is no memory for `what`. */
nb_status fail_memory(nb_context *ctx, const char *what);

#endif
