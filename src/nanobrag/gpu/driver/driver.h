/*
 * driver.h - the interface to a machine that runs kernels. cuda.c implements it for CUDA's
 * driver. Tests put their own driver in front of that one, which counts calls and makes
 * them fail.
 *
 * Work is done in the order of the requests. Every failure is NB_ERR_DEVICE (for memory
 * NB_ERR_MEMORY) with the driver's text in the context's message; none ends the process.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DRIVER_DRIVER_H
#define NB_GPU_DRIVER_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "gpu/driver/architecture.h"

typedef uint64_t gpu_address; /* address in the device's memory; 0: none */

/* The work of a kernel. */
enum gpu_work {
    GPU_IMAGE, /* Bragg sums; named image_SQUARE_NEAREST and so on */
    GPU_FINISH, /* photons from Bragg sums; named finish */
    GPU_LOSS, /* photons from Bragg sums, and the loss of each tile; named finish_loss */
    GPU_SUM, /* sums of tiles; named sum */
    /* derivatives; loaded by load(), named jacobian_SQUARE_NEAREST_FEW and so on */
    GPU_DERIVATIVES,
    /* cotangents of structure factors; loaded by load(), named f_SQUARE_NEAREST and so
     * on */
    GPU_F,
    GPU_BRIGHTEST, /* largest pixel; named brightest, in one module with count */
    GPU_COUNT, /* photons to counts; named count */
    GPU_WORKS
};

struct gpu_kernel {
    enum gpu_work work;
    /* enum phys_shape, enum phys_lookup; 0 if the kernel has no variants */
    int shape, lookup;
    int single; /* 1: in float, 0: in double */
    /* a kernel from load(), used instead of the one in the library; or NULL */
    void *runtime;
};

/* A launch of `blocks` blocks of BLOCK_THREADS threads each. The kernel's one argument is
 * an address: `offset` bytes behind the address of the parameters. GPU_IMAGE and GPU_FINISH
 * may run this number of blocks for each of several images, whose parameters (struct
 * gpu_parameters) follow each other. */
struct gpu_launch {
    struct gpu_kernel kernel;
    unsigned blocks;
    size_t offset;
    unsigned images; /* number of images, at most GPU_MOST_IMAGES; 0 stands for 1 */
};

enum { GPU_MOST_IMAGES = 65535 };

enum { GPU_FETCHES = 2 }; /* slots of copies that run beside kernels */

/* The properties of a device. */
struct gpu_properties {
    char name[128];
    int major, minor; /* compute capability */
    int processors; /* streaming multiprocessors */
    uint64_t memory; /* bytes */
    char driver[64]; /* version of the driver, for messages */
    int version; /* version of the driver as a number: 13000 is CUDA 13.0; 0: not known */
    /* form of the library's kernels that runs here; compute 0: not known */
    struct gpu_code code;
};

struct gpu_driver {
    const char *name;
    /* Open device `id` with its kernels ready to launch. Errors: NB_ERR_UNSUPPORTED if
     * there is no such device. */
    nb_status (*open)(nb_context *ctx, int id, void **device,
                      struct gpu_properties *properties);
    void (*close)(void *device); /* accepts NULL */
    /* Let all work until the next use() go to this stream of the caller (a CUstream) or,
     * for NULL, to the device's own stream. Errors: NB_ERR_ARGUMENT, with nothing changed,
     * if the stream belongs to another device or is being captured. */
    nb_status (*use)(nb_context *ctx, void *device, void *stream);
    nb_status (*allocate)(nb_context *ctx, void *device, size_t bytes, gpu_address *out);
    void (*release)(void *device, gpu_address address); /* accepts 0 */
    /* Returns 0 if an address from the caller cannot be memory of the device. */
    int (*owns)(void *device, gpu_address address);
    /* upload() and download() may return before the copy is done. upload() has read `from`
     * on return; download() has filled `to` after wait(). Nothing is copied for 0 bytes. */
    nb_status (*upload)(nb_context *ctx, void *device, gpu_address to, const void *from,
                        size_t bytes);
    nb_status (*download)(nb_context *ctx, void *device, void *to, gpu_address from,
                          size_t bytes);
    /* Allocate pinned memory of the host. The device reads and writes it by itself, so that
     * copies need not be waited for and run beside kernels. */
    nb_status (*pin)(nb_context *ctx, void *device, size_t bytes, void **out);
    void (*unpin)(void *device, void *memory); /* accepts NULL */
    /* Upload from pinned memory. `from` may be read after the return, but before the work
     * of the next request begins. */
    nb_status (*send)(nb_context *ctx, void *device, gpu_address to, const void *from,
                      size_t bytes);
    /* Download into pinned memory, while the work of the next requests runs. fetched()
     * waits for the copy of a slot (below GPU_FETCHES), wait() for all copies. A slot may
     * be used again once its copy was waited for. */
    nb_status (*fetch)(nb_context *ctx, void *device, int slot, void *to, gpu_address from,
                       size_t bytes);
    nb_status (*fetched)(nb_context *ctx, void *device, int slot);
    nb_status (*zero)(nb_context *ctx, void *device, gpu_address to, size_t bytes);
    nb_status (*launch)(nb_context *ctx, void *device, const struct gpu_launch *launch,
                        gpu_address parameters);
    nb_status (*wait)(nb_context *ctx, void *device);
    /* Load the kernel `name` from code that was built at run time (compile/jit/cubin.h). */
    nb_status (*load)(nb_context *ctx, void *device, const void *code, size_t bytes,
                      const char *name, void **runtime);
    /* Returns the code, for load(), of a derivative kernel of class FEW that was compiled
     * with the library; NULL: there is none. */
    const void *(*built)(void *device, int shape, int lookup, int single);
    void (*unload)(void *device, void *runtime); /* no launch may use the kernel any more */
    /* Record n launches without running them; each replay() runs all of them. Errors:
     * NB_ERR_UNSUPPORTED if the driver cannot record. */
    nb_status (*record)(nb_context *ctx, void *device, const struct gpu_launch *launches,
                        int n, gpu_address parameters, void **recording);
    nb_status (*replay)(nb_context *ctx, void *device, void *recording);
    void (*forget)(void *device, void *recording); /* accepts NULL */
    /* Returns the bytes that the driver reserves for the kernels in use: local memory for
     * all threads that can reside on the device at a time. */
    size_t (*reserved)(void *device);
};

/* Returns the number of samples that a device computes in a second, estimated (rate.c). */
double gpu_rate(const struct gpu_properties *properties, int single);

/* Returns the name of a kernel in kernels.cu. */
const char *gpu_kernel_name(const struct gpu_kernel *kernel);

/* CUDA's driver, found when a device is opened (cuda.c). */
extern const struct gpu_driver gpu_cuda;

#endif
