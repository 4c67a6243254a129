/*
 * count_block.h - the conversion of photons to counts on a device, with the same functions
 * as image/digitize.c on the host. Each thread processes pixels one after the other. Only
 * whole numbers are summed, so the result does not depend on the division into blocks and
 * threads.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_COUNT_BLOCK_H
#define NB_GPU_TEXT_COUNT_BLOCK_H

#include "gpu/text/block.h"
#include "gpu/text/count_parameters.h"
#include "physics/noise/poisson.h"

/* The results of the threads of a block. */
struct count_shared {
    struct phys_tally tally[BLOCK_THREADS];
    float brightest[BLOCK_THREADS];
};

/* A pixel of the detector. */
struct count_pixel {
    int s, f;
    int inside; /* 1: in the ROI */
    int shown; /* 1: in the ROI and not hidden by the mask */
};

PHYS_FN struct count_pixel count_pixel(const struct gpu_count_parameters *p, long long i)
{
    struct count_pixel x;

    x.s = (int)(i / p->nfast);
    x.f = (int)(i - (long long)x.s * p->nfast);
    x.inside = x.f >= p->roi[0] && x.f < p->roi[1] && x.s >= p->roi[2] && x.s < p->roi[3];
    x.shown = x.inside && (!p->mask || p->mask[i] != 0);
    return x;
}

/* Returns the photons of a pixel, or 0 if it is not shown. */
PHYS_FN double count_photons(const struct gpu_count_parameters *p, struct count_pixel x)
{
    const long long at = x.s * p->image_stride[0] + x.f * p->image_stride[1];

    if (!x.shown) return 0;
    return p->image_bits == 64 ? ((const double *)p->image)[at]
                               : (double)((const float *)p->image)[at];
}

PHYS_FN int count_of(const struct gpu_count_parameters *p, long long i, double photons,
                     struct phys_tally *tally)
{
    const int wide = p->counts_bits == 32;
    struct phys_stream stream;

    if (!p->noise)
        return wide ? phys_rounded32(photons, p->scale, p->offset, tally)
                    : phys_rounded((float)photons, p->scale, p->offset, tally);
    stream.seed = p->seed;
    stream.pixel = (unsigned long long)i;
    stream.image = p->image_number;
    photons = phys_poisson(stream, photons);
    phys_tally_add(tally, photons);
    return phys_clamped(photons + p->offset, wide ? PHYS_COUNT32 : PHYS_COUNT16, tally);
}

PHYS_FN void count_store(const struct gpu_count_parameters *p, struct count_pixel x,
                         int count)
{
    const long long at = x.s * p->counts_stride[0] + x.f * p->counts_stride[1];

    if (p->counts_bits == 32)
        ((int *)p->counts)[at] = count;
    else
        ((unsigned short *)p->counts)[at] = (unsigned short)count;
}

/* Runs block `number` of p->blocks. The block writes the counts of its pixels, 0 outside
 * the ROI, and one tally of these counts. */
PHYS_FN void count_block(const struct gpu_count_parameters *p, int number,
                         struct count_shared *shared)
{
    const long long pixels = (long long)p->nslow * p->nfast;
    const long long step = (long long)p->blocks * BLOCK_THREADS;

    EACH_THREAD(t)
    {
        struct phys_tally tally = {0, 0, 0, 0};

        for (long long i = (long long)number * BLOCK_THREADS + t; i < pixels; i += step) {
            const struct count_pixel x = count_pixel(p, i);
            const double photons = count_photons(p, x);

            count_store(p, x, x.inside ? count_of(p, i, photons, &tally) : 0);
        }
        shared->tally[t] = tally;
    }
    EACH_ALONE(t)
    if (t == 0) {
        struct phys_tally sum = shared->tally[0];

        for (int k = 1; k < BLOCK_THREADS; k++) phys_tally_join(&sum, shared->tally + k);
        p->tally[number] = sum;
    }
}

/* Runs block `number` of p->blocks. The block writes the photons of its brightest shown
 * pixel as a float, at least 0. */
PHYS_FN void brightest_block(const struct gpu_count_parameters *p, int number,
                             struct count_shared *shared)
{
    const long long pixels = (long long)p->nslow * p->nfast;
    const long long step = (long long)p->blocks * BLOCK_THREADS;

    EACH_THREAD(t)
    {
        float most = 0;

        for (long long i = (long long)number * BLOCK_THREADS + t; i < pixels; i += step) {
            const float photons = (float)count_photons(p, count_pixel(p, i));

            most = photons > most ? photons : most;
        }
        shared->brightest[t] = most;
    }
    EACH_ALONE(t)
    if (t == 0) {
        float most = 0;

        for (int k = 0; k < BLOCK_THREADS; k++)
            most = shared->brightest[k] > most ? shared->brightest[k] : most;
        p->brightest[number] = most;
    }
}

#endif
