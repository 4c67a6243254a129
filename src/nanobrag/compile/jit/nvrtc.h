/*
 * nvrtc.h - NVIDIA's compiler at run time, opened where it is installed: kernels' texts to
 * what a device can load. It needs no GPU, no source tree and no header of CUDA's.
 *
 * Nothing here touches a context, so that any thread may build; who has one tells its user
 * what `why` says, one line.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_NVRTC_H
#define NB_COMPILE_JIT_NVRTC_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/context.h"
#include "compile/jit/sources.h"

enum {
    NVRTC_WHY = 512, /* bytes of a line that says what is wrong */
    NVRTC_OPTIONS = 16,
    NVRTC_OPTION = 96, /* bytes of one, with the end */
    NVRTC_TARGET = 24, /* bytes of its name, with the end */
    NVRTC_TARGETS = 256 /* that it knows, at most */
};

/* the library; opened once, it stays with the process */
struct nvrtc {
    int (*version)(int *major, int *minor);
    int (*target_count)(int *n);
    int (*targets)(int *numbers);
    const char *(*error_text)(int result);
    int (*create)(void **program, const char *text, const char *name, int n,
                  const char *const *headers, const char *const *names);
    int (*destroy)(void **program);
    int (*compile)(void *program, int n, const char *const *options);
    int (*log_size)(void *program, size_t *n);
    int (*log)(void *program, char *text);
    int (*cubin_size)(void *program, size_t *n);
    int (*cubin)(void *program, char *bytes);
    int (*ptx_size)(void *program, size_t *n);
    int (*ptx)(void *program, char *text);
    int (*set_callback)(void *program, int (*callback)(void *, void *), void *payload);
    int major, minor; /* its version */
};

/* what code is made for: "sm_90" as a cubin; "compute_90" as PTX, which the driver of a
 * newer device finishes */
struct nvrtc_target {
    int ptx;
    char name[NVRTC_TARGET];
};

struct nvrtc_request {
    const struct source *text; /* it finds all of sources[] as headers */
    char options[NVRTC_OPTIONS][NVRTC_OPTION]; /* definitions too, "-DNAME=VALUE" */
    int option_count;
    int truncated; /* nvrtc_option() had no room */
    double timeout; /* s */
    const atomic_int *stop; /* NULL, or what stops it from another thread: not 0 */
};

struct cubin {
    unsigned char *bytes; /* NULL: there is none */
    size_t size;
    int ptx; /* it is PTX, a text with its NUL */
};

/* Open the library of this name, of NULL one of those that CUDA installs. Errors:
 * NB_ERR_UNSUPPORTED. */
nb_status nvrtc_open(const char *name, struct nvrtc *out, char why[NVRTC_WHY]);

/* What to make for a device of this compute capability. NB_ERR_UNSUPPORTED where it is
 * older than all that the library compiles for. */
nb_status nvrtc_aim(const struct nvrtc *nvrtc, int major, int minor,
                    struct nvrtc_target *out, char why[NVRTC_WHY]);

/* The same by a list of at most NVRTC_TARGETS numbers as 90 for sm_90, for a device of 10
 * major + minor `compute`; 0: it is older than all. */
int nvrtc_choose(const int *numbers, int n, int compute, struct nvrtc_target *out);

/* One more option for a request, as printf() makes it. */
void nvrtc_option(struct nvrtc_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Compile; cubin_free() what came. NB_ERR_CANCELLED: it was stopped, at its time limit or
 * on request; a library without nvrtcSetFlowCallback() knows neither (set_callback is
 * NULL). NB_ERR_UNSUPPORTED: it does not compile, with NVRTC's words. NB_ERR_MEMORY.
 */
nb_status nvrtc_build(const struct nvrtc *nvrtc, const struct nvrtc_request *request,
                      const struct nvrtc_target *target, struct cubin *out,
                      char why[NVRTC_WHY]);

void cubin_free(struct cubin *cubin);

/* Of a clock that is never set. */
double nvrtc_seconds(void);

#endif
