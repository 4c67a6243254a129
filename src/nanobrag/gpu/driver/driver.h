/*
 * driver.h - what the backend asks of a machine that runs kernels. cuda.c is the one of
 * CUDA's driver; tests bring one that runs the kernels' text on the CPU.
 *
 * Work is done in the order in which it was asked for. Every failure is NB_ERR_DEVICE (for
 * memory NB_ERR_MEMORY) with the driver's own words in the context's message, and none ends
 * the process.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DRIVER_DRIVER_H
#define NB_GPU_DRIVER_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"

typedef uint64_t gpu_address; /* of the device; 0: none */

/* what a kernel does */
enum gpu_work {
    GPU_IMAGE, /* Bragg sums: image_SQUARE_NEAREST and so on */
    GPU_FINISH, /* photons of them: finish */
    GPU_LOSS, /* the same, to the sums of a loss over tiles: finish_loss */
    GPU_SUM, /* sums of tiles: sum */
    GPU_ROWS, /* derivatives: jacobian_SQUARE_NEAREST_FEW and so on, built at run time alone
               */
    GPU_F, /* cotangents of structure factors: f_SQUARE_NEAREST and so on, likewise */
    GPU_BRIGHTEST, /* largest pixel: brightest; this and the next have their own module */
    GPU_COUNT, /* photons to counts: count */
    GPU_WORKS
};

struct gpu_kernel {
    enum gpu_work work;
    int shape, lookup; /* enum phys_shape, enum phys_lookup; others have none */
    int single; /* 1: in float, 0: in double */
    void *own; /* of load(), instead of the one built ahead of time; or NULL */
};

/* a kernel on so many blocks, each of BLOCK_THREADS threads; its one argument is the
 * address of parameters, from which its own lie so many bytes on. GPU_IMAGE and GPU_FINISH
 * may have so many blocks for each of several images, whose parameters lie there one behind
 * the other (struct gpu_parameters) */
struct gpu_launch {
    struct gpu_kernel kernel;
    unsigned blocks;
    size_t offset;
    unsigned images; /* at most GPU_MOST_IMAGES; 0: 1 */
};

enum { GPU_MOST_IMAGES = 65535 };

/* what a device is */
struct gpu_properties {
    char name[128];
    int major, minor; /* compute capability */
    int processors; /* streaming multiprocessors */
    uint64_t memory; /* bytes */
    char driver[64]; /* its version, for messages */
};

struct gpu_driver {
    const char *name;
    /* Device `id`, its kernels ready to launch. NB_ERR_UNSUPPORTED where there is none. */
    nb_status (*open)(nb_context *ctx, int id, void **device,
                      struct gpu_properties *properties);
    void (*close)(void *device); /* accepts NULL */
    /* All that follows is ordered in this stream of the caller's (a CUstream) until the
     * next use(); NULL: in one of the device's own. NB_ERR_ARGUMENT, and nothing changed:
     * it is not of the device. */
    nb_status (*use)(nb_context *ctx, void *device, void *stream);
    nb_status (*allocate)(nb_context *ctx, void *device, size_t bytes, gpu_address *out);
    void (*release)(void *device, gpu_address address); /* accepts 0 */
    /* 1 unless an address of the caller's is known to be none of the device's memory */
    int (*owns)(void *device, gpu_address address);
    /* both may return before it is done; `from` is read first, `to` is filled after
     * wait()
     */
    nb_status (*upload)(nb_context *ctx, void *device, gpu_address to, const void *from,
                        size_t bytes);
    nb_status (*download)(nb_context *ctx, void *device, void *to, gpu_address from,
                          size_t bytes);
    nb_status (*launch)(nb_context *ctx, void *device, const struct gpu_launch *launch,
                        gpu_address parameters);
    nb_status (*wait)(nb_context *ctx, void *device);
    /* the kernel `name` of code that was built at run time (compile/jit/cubin.h) */
    nb_status (*load)(nb_context *ctx, void *device, const void *code, size_t bytes,
                      const char *name, void **own);
    void (*unload)(void *device, void *own); /* when nothing that launches it is left */
    /* n launches, none of them done, kept for replay() to do all of them at once, as often
     * as it is called. NB_ERR_UNSUPPORTED where the driver keeps none. */
    nb_status (*record)(nb_context *ctx, void *device, const struct gpu_launch *launches,
                        int n, gpu_address parameters, void **recording);
    nb_status (*replay)(nb_context *ctx, void *device, void *recording);
    void (*forget)(void *device, void *recording); /* accepts NULL */
};

/* A kernel as kernels.cu has it: of GPU_IMAGE, GPU_FINISH and GPU_SUM. */
const char *gpu_kernel_name(const struct gpu_kernel *kernel);

/* CUDA's driver, found when a device is opened: cuda.c. */
extern const struct gpu_driver gpu_cuda;

#endif
