/*
 * build.h - a kernel of one variant built on a thread of its own, for whoever waits for it
 * (jacobian_kernels.h) and whoever does not (hot.h).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_BUILD_H
#define NB_COMPILE_JIT_BUILD_H

#include <pthread.h>
#include <stdatomic.h>

#include "compile/jit/cubin.h"
#include "gpu/driver/driver.h"

struct build {
    struct cubin_job job; /* the thread's until `done` */
    pthread_t thread;
    atomic_int done, stop;
};

/* as the kernels' texts have them: SQUARE, NEAREST */
const char *build_shape_name(int shape, int lookup);
const char *build_lookup_name(int shape, int lookup);
const char *build_precision_name(int single);

/* A job for kernels of `text` in the variant of `kernel`; it has the options of the
 * kernels of the build, and takes more of them. */
void build_begin(const nb_context *ctx, const struct gpu_properties *properties,
                 const char *text, const struct gpu_kernel *kernel, struct build *build);

/* Run it. 0, or there is no thread to be had. */
int build_start(struct build *build);

/* Wait for its end, asked to stop before if `stop`. */
void build_join(struct build *build, int stop);

#endif
