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
    int disable_compile; /* 1: NANOBRAGG_DISABLE_COMPILE or NANOBRAG_DISABLE_COMPILE is 1 */
    /* name of the variable that disabled compiled mode; NULL: none */
    const char *disabled_by;
    /* NANOBRAG_COMPILE_TIMEOUT or 10: seconds that NVRTC may take in the background */
    double compile_timeout;
    /* NANOBRAG_COMPILE_TIMEOUT or 120: seconds that a call waits for NVRTC */
    double wait_timeout;
    int strict; /* NANOBRAG_STRICT; 1: a fallback is an error */
    int graphs; /* NANOBRAG_GRAPHS; 0: no CUDA graphs are recorded */
    int hot_threshold; /* NANOBRAG_HOT_THRESHOLD; 0: no kernel is built at run time */
    /* NANOBRAG_RECOMPILE_LIMIT: largest number of kernels of a kind built at run time */
    int recompile_limit;
    unsigned topics; /* NANOBRAG_LOGS: bits of enum topic (base/log.h) */
    char isa[16]; /* NANOBRAG_ISA, an instruction set; "": the best that the machine has */
    /* NANOBRAG_CACHE_DIR, or a folder in the user's cache; "": no cache */
    char cache_dir[ENV_PATH];
};

/* Reads the variables. Logs a warning for each value that is not valid. */
struct env env_read(const nb_context *ctx);

#endif
