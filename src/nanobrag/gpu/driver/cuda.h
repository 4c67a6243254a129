/*
 * cuda.h - opens a CUDA device with a given driver library and given kernels. Tests bring
 * their own; all other code uses gpu_cuda of driver.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DRIVER_CUDA_H
#define NB_GPU_DRIVER_CUDA_H

#include "gpu/driver/driver.h"
#include "gpu/driver/fatbin.h"

struct cuda_source {
    const char *library; /* file name of the driver, as for dlopen() */
    const struct gpu_fatbin *fatbin;
    int stays; /* 1: the device's primary context is kept until the process ends */
};

/* Does the work of gpu_cuda.open(), which uses libcuda.so.1 and the kernels compiled with
 * the library. */
nb_status cuda_open(nb_context *ctx, const struct cuda_source *source, int id,
                    void **device, struct gpu_properties *properties);

#endif
