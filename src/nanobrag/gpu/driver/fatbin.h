/*
 * fatbin.h - the kernels compiled by nvcc, embedded in the library.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DRIVER_FATBIN_H
#define NB_GPU_DRIVER_FATBIN_H

#include "physics/spec.h"

enum { FATBIN_DOUBLE_MODULE, FATBIN_SINGLE_MODULE, FATBIN_NOISE_MODULE, FATBIN_MODULES };

struct gpu_fatbin {
    /* in double, in float, for noise; NULL: the library was compiled without nvcc */
    const void *modules[FATBIN_MODULES];
    const char *targets; /* targets that the modules contain, for architecture_read() */
    int toolkit; /* version of the CUDA toolkit, 1000 major + 10 minor, as drivers count */
    /* derivative kernels of class FEW, in double and in float: PTX, which drivers of the
     * toolkit's version and newer compile */
    const void *few[2][PHYS_SHAPES][PHYS_LOOKUPS];
};

extern const struct gpu_fatbin gpu_fatbin;

#endif
