/*
 * noise.cu - photons to counts as entry points for nvcc. Compiled without contraction: the
 * draws have the bits that the CPU gives them.
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
