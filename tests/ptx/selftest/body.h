/*
 * body.h - arithmetic whose text is the same for the device and for the host.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_PTX_BODY_H
#define NB_TESTS_PTX_BODY_H

#ifndef __CUDACC__
#define __device__
#define __host__
#endif
struct in {
    float a, b;
    double c, d;
    int i, j;
    unsigned u;
    short s;
    unsigned char k;
    long long l;
};
struct out {
    float f[16];
    double g[16];
    int i[20];
    long long l[8];
    unsigned u[8];
};
static __host__ __device__ inline int chosen(int k, int i)
{
    switch (k & 7) {
    case 0:
        return i * 3;
    case 1:
        return i - 77;
    case 2:
        return i ^ 0x5555;
    case 3:
        return -i;
    case 4:
        return i >> 3;
    case 5:
        return i << 2;
    case 6:
        return i % 7;
    default:
        return ~i;
    }
}
static __host__ __device__ inline void body(const struct in *x, struct out *o)
{
    int table[8];
    for (int k = 0; k < 8; k++) table[k] = x->i * k + x->j;
    for (int k = 0; k < 16; k++) o->f[k] = 0, o->g[k] = 0;
    o->f[0] = x->a + x->b;
    o->f[1] = x->a - x->b;
    o->f[2] = fmaf(x->a, x->b, 3.0f);
    o->f[3] = fminf(x->a, x->b);
    o->f[4] = fmaxf(x->a, x->b);
    o->f[5] = floorf(x->a);
    o->f[6] = ceilf(x->b);
    o->f[7] = rintf(x->a);
    o->f[8] = truncf(x->a);
    o->f[9] = fabsf(x->a);
    o->f[10] = sqrtf(fabsf(x->b));
    o->f[11] = copysignf(x->a, x->b);
    o->f[12] = (float)x->c;
    o->f[13] = (float)x->i;
    o->f[14] = (float)x->u;
    o->f[15] = (float)x->l;
    o->g[0] = x->c + x->d;
    o->g[1] = x->c / x->d;
    o->g[2] = fma(x->c, x->d, 1.0);
    o->g[3] = fmin(x->c, x->d);
    o->g[4] = fmax(x->c, x->d);
    o->g[5] = floor(x->c);
    o->g[6] = rint(x->d);
    o->g[7] = sqrt(fabs(x->c));
    o->g[8] = copysign(x->c, x->d);
    o->g[9] = (double)x->a;
    o->g[10] = (double)x->l;
    o->g[11] = (double)x->u;
    o->g[12] = 1 / x->d;
    o->g[13] = ceil(x->d);
    o->g[14] = trunc(x->c);
    o->g[15] = x->a < x->b ? x->c : x->d;
    o->i[0] = x->i / (x->j | 1);
    o->i[1] = x->i % (x->j | 1);
    o->i[2] = x->i * 7919;
    o->i[3] = x->i << (x->k & 31);
    o->i[4] = x->i >> (x->k & 31);
    o->i[5] = x->s * x->s;
    o->i[6] = x->s >> 2;
    o->i[7] = x->k + x->s;
    o->i[8] = (int)(short)(x->i);
    o->i[9] = (signed char)x->i;
    o->i[10] = table[x->k & 7];
    o->i[11] = chosen(x->k, x->i);
    o->i[12] = x->i < x->j;
    o->i[13] = x->i < 0 ? -x->i : x->i;
    o->i[14] = x->i > x->j ? x->i : x->j;
    o->i[15] = (int)fminf(fmaxf(x->a, -1e9f), 1e9f);
    o->i[16] = (int)fmin(fmax(x->c, -1e9), 1e9);
    o->i[17] = x->a < x->b;
    o->i[18] = !(x->a >= x->b);
    o->i[19] = x->a != x->b;
    o->l[0] = x->l * 12345;
    o->l[1] = x->l / 77;
    o->l[2] = x->l >> (x->k & 63);
    o->l[3] = (long long)x->i * x->j;
    o->l[4] = x->l % 1001;
    o->l[5] = (long long)x->u << (x->k & 31);
    o->l[6] = (long long)fmin(fmax(rint(x->c), -1e18), 1e18);
    o->l[7] = x->l & ~(long long)x->u;
    o->u[0] = x->u / (x->k | 1u);
    o->u[1] = x->u % (x->k | 1u);
    o->u[2] = (unsigned)(((unsigned long long)x->u * 0x9e3779b9u) >> 32);
    o->u[3] = x->u >> (x->k & 31);
    o->u[4] = ((x->u ^ 0xdeadbeef) | 3) + (x->u >> 5 & 0x7f) * 3
              + (((unsigned)x->i >> 8) & 0xff) + (unsigned)(x->i << 20 >> 24);
    o->u[5] = (unsigned char)x->u;
    o->u[6] = (unsigned short)x->u;
    o->u[7] = x->u == 7u ? 1 : x->u < (unsigned)x->i;
}

#endif
