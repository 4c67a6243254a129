/*
 * jacobian_kernels.h - the source of the GPU's kernels of derivatives as C functions for
 * one block each, in double and in float.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_JACOBIAN_KERNELS_H
#define NB_TESTS_JACOBIAN_KERNELS_H

#include "gpu/text/derivatives/derivatives_parameters.h"
#include "physics/spec.h"

/* What a kernel is specialised for: the JACOBIAN_CLASSES of
 * gpu/text/derivatives/jacobian_block.h. */
enum jacobian_class {
    JACOBIAN_OF_FRAME,
    JACOBIAN_OF_TURNED,
    JACOBIAN_OF_FEW,
    JACOBIAN_OF_MANY,
    JACOBIAN_KINDS
};

struct derivative_kernel {
    void (*block)(const struct gpu_derivatives_parameters *p, int number); /* NULL: none */
    int strain, crystal, turns;
};

struct jacobian_kernels {
    struct derivative_kernel jacobian[PHYS_SHAPES][PHYS_LOOKUPS][JACOBIAN_KINDS];
    /* kernels of structure factors; they read a struct gpu_f_parameters; NULL: none */
    void (*f[PHYS_SHAPES][PHYS_LOOKUPS])(const void *p, int number);
    void (*sum)(const struct gpu_sum_parameters *p, int number);
    int (*serve)(const struct phys_frame *frame);
};

extern const struct jacobian_kernels derivative_kernels_double, derivative_kernels_single;

#endif
