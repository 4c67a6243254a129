/*
 * fatbin.h - the kernels as nvcc made them, inside the library.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DRIVER_FATBIN_H
#define NB_GPU_DRIVER_FATBIN_H

enum { FATBIN_DOUBLE_MODULE, FATBIN_SINGLE_MODULE, FATBIN_NOISE_MODULE, FATBIN_MODULES };

struct gpu_fatbin {
    /* in double, in float, without contraction; NULL: made without nvcc */
    const void *modules[FATBIN_MODULES];
    const char *targets; /* what they hold: architecture_read() */
    int toolkit; /* that made them: 1000 major + 10 minor, as drivers count */
};

extern const struct gpu_fatbin gpu_fatbin;

#endif
