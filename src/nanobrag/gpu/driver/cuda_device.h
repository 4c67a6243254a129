/*
 * cuda_device.h - the state of a CUDA device, which three files share: cuda.c opens it and
 * runs kernels, cuda_memory.c copies, cuda_graph.c records launches.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DRIVER_CUDA_DEVICE_H
#define NB_GPU_DRIVER_CUDA_DEVICE_H

#include "gpu/driver/architecture.h"
#include "gpu/driver/cuda_library.h"
#include "gpu/driver/driver.h"
#include "gpu/driver/fatbin.h"
#include "physics/spec.h"

struct device {
    struct cuda_library library;
    const struct gpu_fatbin *fatbin;
    cuda_device id;
    int ordinal;
    int resident; /* largest number of threads on all multiprocessors together */
    cuda_context context;
    cuda_stream own_stream; /* our own stream; launches are captured here */
    cuda_stream stream; /* the stream in use: ours or the caller's */
    /* stream for copies from the device that run beside kernels; made with the first such
     * copy */
    cuda_stream copies;
    cuda_event computed, fetched[GPU_FETCHES];
    int fetching; /* 1: some copies in `copies` were not waited for */
    unsigned capture_mode; /* capture mode of the caller's thread, saved during our calls */
    int local; /* largest local memory of a kernel in use, bytes per thread */
    cuda_module modules[FATBIN_MODULES]; /* each is loaded when first used */
    cuda_function functions[FATBIN_MODULES][GPU_WORKS][PHYS_SHAPES][PHYS_LOOKUPS];
    struct gpu_code target; /* form of the kernels that the device runs */
};

/* Enter the device's context. Stream captures by other threads, also in PyTorch's default
 * mode, then neither make our calls fail nor are spoilt by them. cuda_pop() restores the
 * caller's context and capture mode, and returns `status`. */
nb_status cuda_push(nb_context *ctx, struct device *d);
/* does the work of cuda_push(), without a message */
cuda_result cuda_enter(struct device *d);
nb_status cuda_pop(struct device *d, nb_status status);

/* Call these between cuda_push() and cuda_pop(). */
nb_status cuda_function_of(nb_context *ctx, struct device *d,
                           const struct gpu_kernel *kernel, cuda_function *out);
nb_status cuda_launch_in(nb_context *ctx, struct device *d, cuda_stream stream,
                         const struct gpu_launch *launch, gpu_address parameters);

/* ---- cuda_memory.c ---- */

nb_status cuda_allocate(nb_context *ctx, void *device, size_t bytes, gpu_address *out);
void cuda_release(void *device, gpu_address address);
int cuda_owns(void *device, gpu_address address);
nb_status cuda_upload(nb_context *ctx, void *device, gpu_address to, const void *from,
                      size_t bytes);
nb_status cuda_download(nb_context *ctx, void *device, void *to, gpu_address from,
                        size_t bytes);
nb_status cuda_zero(nb_context *ctx, void *device, gpu_address to, size_t bytes);
nb_status cuda_pin(nb_context *ctx, void *device, size_t bytes, void **out);
void cuda_unpin(void *device, void *memory);
nb_status cuda_send(nb_context *ctx, void *device, gpu_address to, const void *from,
                    size_t bytes);
nb_status cuda_fetch(nb_context *ctx, void *device, int slot, void *to, gpu_address from,
                     size_t bytes);
nb_status cuda_fetched(nb_context *ctx, void *device, int slot);
void cuda_close_copies(struct device *d); /* call it between cuda_push() and cuda_pop() */

/* ---- cuda_graph.c ---- */

nb_status cuda_record(nb_context *ctx, void *device, const struct gpu_launch *launches,
                      int n, gpu_address parameters, void **recording);
nb_status cuda_replay(nb_context *ctx, void *device, void *recording);
void cuda_forget(void *device, void *recording);

#endif
