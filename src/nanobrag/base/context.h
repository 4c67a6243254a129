/*
 * context.h - the inside of a context, and the two ways of leaving a function early.
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
    struct env env; /* as it was when the context was made */
    int threads;
    uint64_t launches, compiled_launches; /* of kernels */
    uint64_t fallbacks; /* what compiled mode could not have, and the last of it */
    char fallback[CONTEXT_MESSAGE / 2];
    int device, device_id; /* asked for: NB_CPU, NB_CUDA or NB_DEVICE_AUTO */
    const struct gpu_driver *driver; /* whose devices; NULL: CUDA's */
    const char *nvrtc; /* name of the library; NULL: where CUDA installs it */
    struct gpu *gpu; /* opened when first asked for (backend/choose.c), */
    void (*close_gpu)(struct gpu *gpu); /* and closed so */
    char no_gpu[CONTEXT_MESSAGE / 2]; /* why there is none; "": nobody asked */
    struct plan_cache *plans; /* compile/cache.c, one block; NULL: none was made */
    char message[CONTEXT_MESSAGE];
};

/* leave with the status of a call that failed; the message is already set */
#define NB_TRY(call)                                                                       \
    do {                                                                                   \
        const nb_status s_ = (call);                                                       \
        if (s_ != NB_OK) return s_;                                                        \
    } while (0)

/* Keep the message of a failure and return its status. Never called with NB_OK. */
nb_status fail(nb_context *ctx, nb_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* NB_COMPILE_..., by the environment, else by the options. */
int context_compile(const nb_context *ctx);

/*
 * Something of compiled mode could not be had, and the call goes on without: counted, and
 * one line under the topic fallback. NB_OK, or with NANOBRAG_STRICT=1 NB_ERR_UNSUPPORTED.
 */
nb_status context_fall_back(nb_context *ctx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* NB_ERR_MEMORY for an allocation of `what` that did not succeed. */
nb_status fail_memory(nb_context *ctx, const char *what);

#endif
