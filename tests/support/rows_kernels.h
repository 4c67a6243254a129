/*
 * rows_kernels.h - the text of the GPU's kernels of derivatives as C functions for one
 * block each, in double and in float.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_ROWS_KERNELS_H
#define NB_TESTS_ROWS_KERNELS_H

#include "gpu/rows_parameters.h"
#include "physics/spec.h"

/* what a kernel may be specialised on: ROWS_CLASSES of gpu/rows_block.h */
enum rows_class { ROWS_OF_FRAME, ROWS_OF_TURNED, ROWS_OF_FEW, ROWS_OF_MANY, ROWS_KINDS };

struct rows_kernel {
    void (*block)(const struct gpu_rows_parameters *p, int number); /* NULL: none */
    int strain, crystal, turns;
};

struct rows_kernels {
    struct rows_kernel rows[PHYS_SHAPES][PHYS_LOOKUPS][ROWS_KINDS];
    /* structure factors: parameters are a struct gpu_f_parameters. NULL: none */
    void (*f[PHYS_SHAPES][PHYS_LOOKUPS])(const void *p, int number);
    void (*sum)(const struct gpu_sum_parameters *p, int number);
    int (*serve)(const struct phys_frame *frame);
};

extern const struct rows_kernels rows_kernels_double, rows_kernels_single;

#endif
