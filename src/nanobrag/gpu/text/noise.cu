/*
 * noise.cu - the entry points of the counting kernels for nvcc. They are compiled without
 * contraction, so that the draws have the same bits as on the CPU.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/text/count_block.h"

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    count(const struct gpu_count_parameters *parameters)
{
    __shared__ struct count_shared shared;

    count_block(parameters, (int)blockIdx.x, &shared);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    brightest(const struct gpu_count_parameters *parameters)
{
    __shared__ struct count_shared shared;

    brightest_block(parameters, (int)blockIdx.x, &shared);
}
