/*
 * count_parameters.h - the parameters of the kernels `count` and `brightest`.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_COUNT_PARAMETERS_H
#define NB_GPU_TEXT_COUNT_PARAMETERS_H

#include "physics/noise/counts.h"

struct gpu_count_parameters {
    int nslow, nfast;
    int roi[4]; /* fast0 fast1 slow0 slow1, ends excluded */
    const unsigned char *mask; /* (nslow x nfast), 0: not shown; or NULL */
    const void *image; /* float32 or float64 */
    int image_bits;
    long long image_stride[2]; /* elements: slow, fast */
    void *counts; /* uint16 or int32 */
    int counts_bits;
    long long counts_stride[2];
    int noise;
    double scale, offset;
    unsigned long long seed;
    unsigned image_number;
    int blocks; /* number of blocks of the launch */
    struct phys_tally *tally; /* (blocks), output of `count` */
    float *brightest; /* (blocks), output of `brightest` */
};

#endif
