/*
 * env.h - every environment variable of the library, read once per context.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_ENV_H
#define NB_BASE_ENV_H

#include <nanobrag/context.h>

struct env {
    int threads; /* NANOBRAG_THREADS; 0: not set */
    int disable_compile; /* NANOBRAGG_DISABLE_COMPILE or NANOBRAG_DISABLE_COMPILE */
    char isa[16]; /* NANOBRAG_ISA; "": the best the machine has */
};

/* Warns through the context about values it does not understand. */
struct env env_read(const nb_context *ctx);

#endif
