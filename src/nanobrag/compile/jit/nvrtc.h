/*
 * nvrtc.h - NVRTC, NVIDIA's compiler at run time, opened where it is installed. It compiles
 * the texts of kernels to code that a device can load, and needs no GPU, no source tree and
 * no headers of CUDA.
 *
 * No function here touches a context, so that any thread may build. The thread that has the
 * context reports the line in `why` to the user.
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
    NVRTC_TARGETS = 256 /* largest number of targets that a library may list */
};

/* The functions of the library, which stays open until the process ends. */
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
    const struct source *text; /* text of the kernel; it can include all of sources[] */
    char options[NVRTC_OPTIONS][NVRTC_OPTION]; /* options and definitions, "-DNAME=VALUE" */
    int option_count;
    int truncated; /* 1: an option did not fit */
    double timeout; /* time limit, s */
    /* the compiler stops when this becomes nonzero; NULL: it is never stopped */
    const atomic_int *stop;
};

struct cubin {
    unsigned char *bytes; /* NULL: there is no code */
    size_t size;
    int ptx; /* 1: PTX, a text with its NUL; 0: machine code */
};

/* Open the library of this name or, for NULL, one of the libraries that CUDA installs. A
 * library is refused if a driver of version `driver` (13000 for CUDA 13.0; 0: not known)
 * cannot load its code. nvrtc_open_first() opens the first usable library of several.
 * Errors: NB_ERR_UNSUPPORTED. */
nb_status nvrtc_open(const char *name, int driver, struct nvrtc *out, char why[NVRTC_WHY]);
nb_status nvrtc_open_first(const char *const *names, size_t n, int driver,
                           struct nvrtc *out, char why[NVRTC_WHY]);

/* Choose the target for a device of this compute capability. Errors: NB_ERR_UNSUPPORTED if
 * the device is older than all targets of the library. */
nb_status nvrtc_aim(const struct nvrtc *nvrtc, int major, int minor,
                    struct nvrtc_target *out, char why[NVRTC_WHY]);

/* Set *out to just this target. Returns 0 if the library does not have it. */
int nvrtc_aim_at(const struct nvrtc *nvrtc, const struct gpu_code *wanted,
                 struct nvrtc_target *out);

/* Choose the target from a list of at most NVRTC_TARGETS numbers (90 for sm_90), for a
 * device whose compute capability times 10 is `compute`. Returns 0 if the device is older
 * than all targets. */
int nvrtc_choose(const int *numbers, int n, int compute, struct nvrtc_target *out);

/* Add an option to a request, formatted as by printf(). */
void nvrtc_option(struct nvrtc_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Compile; the caller releases *out by cubin_free(). Errors: NB_ERR_CANCELLED (stopped at
 * its time limit or on request, which a library without nvrtcSetFlowCallback() does not
 * support), NB_ERR_UNSUPPORTED (the text does not compile; `why` has NVRTC's message),
 * NB_ERR_MEMORY. */
nb_status nvrtc_build(const struct nvrtc *nvrtc, const struct nvrtc_request *request,
                      const struct nvrtc_target *target, struct cubin *out,
                      char why[NVRTC_WHY]);

void cubin_free(struct cubin *cubin);

/* Returns the time of a monotonic clock, s. */
double nvrtc_seconds(void);

#endif
