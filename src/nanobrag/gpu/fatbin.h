/*
 * fatbin.h - the kernels as nvcc made them, inside the library.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_FATBIN_H
#define NB_GPU_FATBIN_H

struct gpu_fatbin {
    const void *modules[2]; /* in double, in float; NULL: made without nvcc */
    const char *targets; /* what they hold: architecture_read() */
    int toolkit; /* that made them: 1000 major + 10 minor, as drivers count */
};

extern const struct gpu_fatbin gpu_fatbin;

#endif
