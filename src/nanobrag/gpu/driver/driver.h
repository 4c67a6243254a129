/*
 * driver.h - the interface to a machine that runs kernels. cuda.c implements it for CUDA's
 * driver; tests have one before it that counts calls and makes them fail.
 *
 * Work is done in the order of the requests. Every failure is NB_ERR_DEVICE (for memory
 * NB_ERR_MEMORY) with the driver's words in the context's message; none ends the process.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DRIVER_DRIVER_H
#define NB_GPU_DRIVER_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "gpu/driver/architecture.h"

typedef uint64_t gpu_address; /* of the device; 0: none */

/* the work of a kernel */
enum gpu_work {
    GPU_IMAGE, /* Bragg sums; named image_SQUARE_NEAREST and so on */
    GPU_FINISH, /* photons from those sums; named finish */
    GPU_LOSS, /* photons from those sums, and the loss of each tile; named finish_loss */
    GPU_SUM, /* sums of tiles; named sum */
    /* derivatives, made by load(); named jacobian_SQUARE_NEAREST_FEW and so on */
    GPU_DERIVATIVES,
    /* cotangents of structure factors, made by load(); named f_SQUARE_NEAREST and
     * so on */
    GPU_F,
    GPU_BRIGHTEST, /* largest pixel; named brightest, in another module, with count */
    GPU_COUNT, /* photons to counts; named count */
    GPU_WORKS
};

struct gpu_kernel {
    enum gpu_work work;
    int shape, lookup; /* enum phys_shape, enum phys_lookup; others have none */
    int single; /* 1: in float, 0: in double */
    void *runtime; /* made by load(), used instead of the kernel of the build; or NULL */
};

/* A kernel on `blocks` blocks of BLOCK_THREADS threads each. Its one argument is the
 * address of the parameters; the kernel's own parameters begin at `offset`. GPU_IMAGE and
 * GPU_FINISH may run this number of blocks for each of several images; the parameters of
 * the images follow each other (struct gpu_parameters). */
struct gpu_launch {
    struct gpu_kernel kernel;
    unsigned blocks;
    size_t offset;
    unsigned images; /* at most GPU_MOST_IMAGES; 0: 1 */
};

enum { GPU_MOST_IMAGES = 65535 };

enum { GPU_FETCHES = 2 }; /* slots of copies that run beside kernels */

/* the properties of a device */
struct gpu_properties {
    char name[128];
    int major, minor; /* compute capability */
    int processors; /* streaming multiprocessors */
    uint64_t memory; /* bytes */
    char driver[64]; /* its version, for messages */
    int version; /* the same as a number: 13000 is CUDA 13.0; 0: not known */
    struct gpu_code code; /* of the kernels of the build; compute 0: not known */
};

struct gpu_driver {
    const char *name;
    /* Open device `id` with its kernels ready to launch. NB_ERR_UNSUPPORTED: there is none.
     */
    nb_status (*open)(nb_context *ctx, int id, void **device,
                      struct gpu_properties *properties);
    void (*close)(void *device); /* accepts NULL */
    /* Put all work that follows, until the next use(), in this stream of the caller's (a
     * CUstream); NULL: in the device's own stream. NB_ERR_ARGUMENT, with nothing changed:
     * the stream belongs to another device, or is being captured. */
    nb_status (*use)(nb_context *ctx, void *device, void *stream);
    nb_status (*allocate)(nb_context *ctx, void *device, size_t bytes, gpu_address *out);
    void (*release)(void *device, gpu_address address); /* accepts 0 */
    /* 0 if an address of the caller's cannot be memory of the device. */
    int (*owns)(void *device, gpu_address address);
    /* These may return before the copy is done. upload() has read `from` on return;
     * download() has filled `to` after wait(). Nothing is copied for 0 bytes. */
    nb_status (*upload)(nb_context *ctx, void *device, gpu_address to, const void *from,
                        size_t bytes);
    nb_status (*download)(nb_context *ctx, void *device, void *to, gpu_address from,
                          size_t bytes);
    /* Memory of the host that the device reads and writes by itself, so that copies need
     * not be waited for and run beside kernels. */
    nb_status (*pin)(nb_context *ctx, void *device, size_t bytes, void **out);
    void (*unpin)(void *device, void *memory); /* accepts NULL */
    /* As upload(), from pinned memory. The memory may be read after the return, but before
     * the next request runs. */
    nb_status (*send)(nb_context *ctx, void *device, gpu_address to, const void *from,
                      size_t bytes);
    /* As download(), into pinned memory, while the next requests run. fetched() waits for
     * the copy of that slot, wait() for all. A slot that was not waited for may not be used
     * again. */
    nb_status (*fetch)(nb_context *ctx, void *device, int slot, void *to, gpu_address from,
                       size_t bytes);
    nb_status (*fetched)(nb_context *ctx, void *device, int slot);
    nb_status (*zero)(nb_context *ctx, void *device, gpu_address to, size_t bytes);
    nb_status (*launch)(nb_context *ctx, void *device, const struct gpu_launch *launch,
                        gpu_address parameters);
    nb_status (*wait)(nb_context *ctx, void *device);
    /* Load the kernel `name` of code that was built at run time (compile/jit/cubin.h). */
    nb_status (*load)(nb_context *ctx, void *device, const void *code, size_t bytes,
                      const char *name, void **runtime);
    /* The code for load() of a derivative kernel of class FEW that the build has; NULL: it
     * has none. */
    const void *(*built)(void *device, int shape, int lookup, int single);
    void (*unload)(void *device, void *runtime); /* when no launch uses it any more */
    /* Record n launches without doing them; each replay() does all of them.
     * NB_ERR_UNSUPPORTED: the driver cannot record. */
    nb_status (*record)(nb_context *ctx, void *device, const struct gpu_launch *launches,
                        int n, gpu_address parameters, void **recording);
    nb_status (*replay)(nb_context *ctx, void *device, void *recording);
    void (*forget)(void *device, void *recording); /* accepts NULL */
    /* Bytes that the driver reserves for the kernels in use: local memory of all threads
     * that can reside on the device at a time. */
    size_t (*reserved)(void *device);
};

/* The samples that a device computes in a second, estimated (rate.c). */
double gpu_rate(const struct gpu_properties *properties, int single);

/* The name of a kernel in kernels.cu. */
const char *gpu_kernel_name(const struct gpu_kernel *kernel);

/* CUDA's driver, found when a device is opened (cuda.c). */
extern const struct gpu_driver gpu_cuda;

#endif
