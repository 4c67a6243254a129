/*
 * cuda.h - a device of CUDA's driver, with the library and the kernels named: for tests,
 * which bring their own. All else goes by gpu_cuda in driver.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DRIVER_CUDA_H
#define NB_GPU_DRIVER_CUDA_H

#include "gpu/driver/driver.h"
#include "gpu/driver/fatbin.h"

struct cuda_source {
    const char *library; /* of the driver: a file's name, as for dlopen() */
    const struct gpu_fatbin *fatbin;
};

/* gpu_cuda.open() with libcuda.so.1 and the kernels of this build as the source. */
nb_status cuda_open(nb_context *ctx, const struct cuda_source *source, int id,
                    void **device, struct gpu_properties *properties);

#endif
