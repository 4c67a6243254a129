/*
 * cuda.h - a device of CUDA's driver, with the library and the kernels given by name: for
 * tests, which bring their own. All other code uses gpu_cuda of driver.h.
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
    int stays; /* 1: the device's primary context exists as long as the process */
};

/* As gpu_cuda.open(), whose source is libcuda.so.1 and the kernels of this build. */
nb_status cuda_open(nb_context *ctx, const struct cuda_source *source, int id,
                    void **device, struct gpu_properties *properties);

#endif
