/*
 * nvrtc.h - NVIDIA's compiler at run time, opened where it is installed. It compiles the
 * kernels' texts to code that a device can load, and needs no GPU, no source tree and no
 * header of CUDA's.
 *
 * Nothing here touches a context, so that any thread may build; the thread that has the
 * context reports the one line in `why` to the user.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_NVRTC_H
#define NB_COMPILE_JIT_NVRTC_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/context.h"
#include "compile/jit/sources.h"
#include "gpu/driver/architecture.h"

enum {
    NVRTC_WHY = 512, /* bytes of a line that describes a failure */
    NVRTC_OPTIONS = 16,
    NVRTC_OPTION = 96, /* bytes of one option, with its NUL */
    NVRTC_TARGET = 24, /* bytes of a target's name, with its NUL */
    NVRTC_TARGETS = 256 /* most targets that a library may list */
};

/* The library. Once opened it stays open as long as the process. */
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
    int major, minor; /* version of the library */
};

/* A target of the compiler: "sm_90" gives a cubin; "compute_90" gives PTX, which the driver
 * of a newer device compiles. */
struct nvrtc_target {
    int ptx;
    char name[NVRTC_TARGET];
};

struct nvrtc_request {
    const struct source *text; /* it can include all of sources[] */
    char options[NVRTC_OPTIONS][NVRTC_OPTION]; /* options and definitions, "-DNAME=VALUE" */
    int option_count;
    int truncated; /* 1: nvrtc_option() did not fit */
    double timeout; /* s */
    /* a value other than 0 stops the compiler; NULL: nothing does */
    const atomic_int *stop;
};

struct cubin {
    unsigned char *bytes; /* NULL: there is none */
    size_t size;
    int ptx; /* 1: it is PTX, a text with its NUL */
};

/* Open the library of this name; with NULL, one of the libraries that CUDA installs. A
 * driver of version `driver` (13000 for CUDA 13.0; 0: not known) must be able to load its
 * code. nvrtc_open_first() opens the first usable library of several. Errors:
 * NB_ERR_UNSUPPORTED. */
nb_status nvrtc_open(const char *name, int driver, struct nvrtc *out, char why[NVRTC_WHY]);
nb_status nvrtc_open_first(const char *const *names, size_t n, int driver,
                           struct nvrtc *out, char why[NVRTC_WHY]);

/* Choose the target for a device of this compute capability. NB_ERR_UNSUPPORTED: the device
 * is older than all targets of the library. */
nb_status nvrtc_aim(const struct nvrtc *nvrtc, int major, int minor,
                    struct nvrtc_target *out, char why[NVRTC_WHY]);

/* Aim at just this target; 0: the library does not have it. */
int nvrtc_aim_at(const struct nvrtc *nvrtc, const struct gpu_code *wanted,
                 struct nvrtc_target *out);

/* Choose the target from a list of at most NVRTC_TARGETS numbers (90 for sm_90), for a
 * device of 10 major + minor `compute`; 0: the device is older than all. */
int nvrtc_choose(const int *numbers, int n, int compute, struct nvrtc_target *out);

/* Add an option to a request, formatted as by printf(). */
void nvrtc_option(struct nvrtc_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Compile; the caller releases *out by cubin_free(). NB_ERR_CANCELLED: stopped at its time
 * limit or on request; a library without nvrtcSetFlowCallback() (set_callback is NULL)
 * cannot be stopped. NB_ERR_UNSUPPORTED: the text does not compile; `why` has NVRTC's
 * words. NB_ERR_MEMORY.
 */
nb_status nvrtc_build(const struct nvrtc *nvrtc, const struct nvrtc_request *request,
                      const struct nvrtc_target *target, struct cubin *out,
                      char why[NVRTC_WHY]);

void cubin_free(struct cubin *cubin);

/* The time of a monotonic clock, s. */
double nvrtc_seconds(void);

#endif
