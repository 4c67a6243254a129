/*
 * env.h - all environment variables of the library, read once for each context.
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
    int disable_compile; /* NANOBRAGG_DISABLE_COMPILE or NANOBRAG_DISABLE_COMPILE */
    const char *disabled_by; /* the name of the variable that was set; NULL: neither */
    double compile_timeout; /* NANOBRAG_COMPILE_TIMEOUT, s: NVRTC in the background;
                               else 10 */
    double wait_timeout; /* NANOBRAG_COMPILE_TIMEOUT, s: NVRTC in a call; else 120 */
    int strict; /* NANOBRAG_STRICT: a fallback is an error */
    int graphs; /* NANOBRAG_GRAPHS; 0: no CUDA graphs are recorded */
    int hot_threshold; /* NANOBRAG_HOT_THRESHOLD; 0: no kernel is built at run time */
    int recompile_limit; /* NANOBRAG_RECOMPILE_LIMIT: most kernels built at run time */
    unsigned topics; /* NANOBRAG_LOGS: bits of enum topic (base/log.h) */
    char isa[16]; /* NANOBRAG_ISA; "": the best one that the machine has */
    char cache_dir[ENV_PATH]; /* NANOBRAG_CACHE_DIR, or the user's cache; "": none */
};

/* Reads the variables; logs a warning for each value that it does not understand. */
struct env env_read(const nb_context *ctx);

#endif
