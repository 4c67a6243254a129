/*
 * kernels.cu - sound kernels whose results selftest.cpp knows, and one for each kind of
 * fault.
 *
 * SPDX-License-Identifier: MIT
 */
#include "body.h"
extern "C" __global__ void arithmetic(const struct in *in, struct out *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) body(in + i, out + i);
}
extern "C" __global__ void reduce(const double *x, double *sums, unsigned long long *all)
{
    __shared__ double part[128];
    const int t = threadIdx.x;
    part[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (int half = 64; half >= 1; half /= 2) {
        if (t < half) part[t] += part[t + half];
        if (half > 32)
            __syncthreads();
        else
            __syncwarp();
    }
    if (t == 0) {
        sums[blockIdx.x] = part[0];
        atomicAdd(all, (unsigned long long)part[0]);
        atomicMax(all + 1, (unsigned long long)blockIdx.x);
    }
}
/* ---- faults ---- */
extern "C" __global__ void race_block(const double *x, double *sums, unsigned long long *)
{
    __shared__ double part[128];
    part[threadIdx.x] = x[threadIdx.x];
    sums[threadIdx.x] = part[127 - threadIdx.x];
}
extern "C" __global__ void race_warp(const double *x, double *sums, unsigned long long *)
{
    __shared__ double part[128];
    part[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    sums[threadIdx.x] = part[(threadIdx.x + 32) % 128]; /* of another warp */
}
extern "C" __global__ void race_read(const double *x, double *sums, unsigned long long *)
{
    __shared__ double part[128];
    part[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    const double other = part[threadIdx.x ^ 1];
    part[threadIdx.x] = other + 1; /* a neighbour may not have read it yet */
    __syncthreads();
    sums[threadIdx.x] = part[threadIdx.x];
}
extern "C" __global__ void race_blocks(const double *, double *sums, unsigned long long *)
{
    if (threadIdx.x == 0) sums[0] += 1;
}
extern "C" __global__ void outside(const double *x, double *sums, unsigned long long *)
{
    sums[threadIdx.x] = x[1 << 20];
}
extern "C" __global__ void before(const double *x, double *sums, unsigned long long *)
{
    __shared__ double part[128];
    part[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    sums[threadIdx.x] = part[(int)threadIdx.x - (int)x[1]]; /* x[1] is 1 */
}
extern "C" __global__ void misaligned(const double *x, double *sums, unsigned long long *)
{
    const double2 v = *(const double2 *)(x + 1);
    sums[threadIdx.x] = v.x + v.y;
}
extern "C" __global__ void uninitialised(const double *, double *sums, unsigned long long *)
{
    __shared__ double part[128];
    if (threadIdx.x) part[threadIdx.x] = 1;
    __syncthreads();
    sums[threadIdx.x] = part[threadIdx.x] > 0.5 ? 1 : sqrt(part[threadIdx.x]) > 3 ? 5 : 2;
    if (part[threadIdx.x] > 0.25) sums[0] = 3;
}
extern "C" __global__ void copied(const double *, double *sums, unsigned long long *)
{
    __shared__ double part[128];
    if (threadIdx.x) part[threadIdx.x] = 1;
    __syncthreads();
    sums[threadIdx.x] = part[threadIdx.x]; /* the host will see it */
}
extern "C" __global__ void waits(const double *x, double *sums, unsigned long long *)
{
    if (x[threadIdx.x] > 5)
        __syncwarp();
    else
        __syncthreads();
    sums[threadIdx.x] = 1;
}
extern "C" __global__ void apart(const double *x, double *sums, unsigned long long *)
{
    if (x[threadIdx.x] > 5) {
        sums[threadIdx.x] = 2;
        __syncthreads();
        sums[threadIdx.x] += 3;
    } else {
        sums[threadIdx.x] = 7;
        __syncthreads();
        sums[threadIdx.x] *= 3;
    }
}
