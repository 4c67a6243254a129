/*
 * build.h - builds one variant of a kernel on a new thread. derivative_kernels.c waits for
 * that thread, hot.c does not.
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
    struct cubin_job job; /* only the thread may touch it until `done` is 1 */
    pthread_t thread;
    atomic_int done, stop;
};

/* Return the names of a variant in the texts of kernels, such as SQUARE and NEAREST, and
 * the name of a precision. */
const char *build_shape_name(int shape, int lookup);
const char *build_lookup_name(int shape, int lookup);
const char *build_precision_name(int single);

/* Prepare a job that builds kernels of `text` in the variant of `kernel`. The job has the
 * same options as the kernels that are compiled with the library; the caller may add
 * more. */
void build_begin(const nb_context *ctx, const struct gpu_properties *properties,
                 const char *text, const struct gpu_kernel *kernel, struct build *build);

/* Start the thread. Returns 0, or an error number when no thread can be started. */
int build_start(struct build *build);

/* Wait for the thread; `stop` asks it to end early. */
void build_join(struct build *build, int stop);

#endif
