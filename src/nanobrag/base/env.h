/*
 * env.h - every environment variable of the library, read once per context.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_ENV_H
#define NB_BASE_ENV_H

#include <nanobrag/context.h>

enum { ENV_PATH = 1024 };

struct env {
    int threads; /* NANOBRAG_THREADS; 0: not set */
    int device, device_id; /* NANOBRAG_DEVICE; 0: not set */
    int disable_compile; /* NANOBRAGG_DISABLE_COMPILE or NANOBRAG_DISABLE_COMPILE, */
    const char *disabled_by; /* the one that says so; NULL */
    double compile_timeout; /* NANOBRAG_COMPILE_TIMEOUT, s: planner or NVRTC; else 10 */
    double wait_timeout; /* the same of NVRTC while a call waits; else 120 */
    int strict; /* NANOBRAG_STRICT: what would be done without is an error */
    int graphs; /* NANOBRAG_GRAPHS; 0: launches on a device are plain */
    int hot_threshold; /* NANOBRAG_HOT_THRESHOLD; 0: no kernel is built at run time */
    int recompile_limit; /* NANOBRAG_RECOMPILE_LIMIT, of such kernels */
    unsigned topics; /* NANOBRAG_LOGS: bits of enum topic (base/log.h) */
    char isa[16]; /* NANOBRAG_ISA; "": the best the machine has */
    char cache_dir[ENV_PATH]; /* NANOBRAG_CACHE_DIR, or where users' caches are; "": none */
};

/* Warns through the context about values it does not understand. */
struct env env_read(const nb_context *ctx);

#endif
