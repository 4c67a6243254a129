/*
 * emulated_kernels.c - the source of the kernels as C functions for one block each, where
 * kernels.cu has them for a grid. It is compiled in double and, under PHYS_SINGLE, in
 * float; KERNELS is the name of the symbol. The memory that the threads of a block share is
 * filled with NaN before they write it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "emulation/emulated.h"
#include "gpu/text/derivatives/sum_block.h"
#include "gpu/text/finish_block.h"
#include "gpu/text/image_block.h"
#include "gpu/text/loss_block.h"

#define VARIANT(shape, lookup)                                                             \
    static void image_##shape##_##lookup(const void *parameters, int number)               \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
        struct tile_shared shared;                                                         \
                                                                                           \
        memset(&shared, 0xff, sizeof shared);                                              \
        image_block(spec, emulated_known, parameters, number, &shared);                    \
    }
#include "kernels/variants.def"
#undef VARIANT

static void finish(const void *parameters, int number)
{
    struct tile_shared shared;
    double photons[BLOCK_THREADS];

    memset(&shared, 0xff, sizeof shared);
    memset(photons, 0xff, sizeof photons);
    finish_block(parameters, number, &shared, photons);
}

static void loss(const void *parameters, int number)
{
    struct tile_shared shared;
    struct loss_shared sums;

    memset(&shared, 0xff, sizeof shared);
    memset(&sums, 0xff, sizeof sums);
    loss_block(parameters, number, &shared, &sums);
}

static void sum(const void *parameters, int number)
{
    sum_block(parameters, number);
}

const struct emulated_kernels KERNELS = {
    {
#define VARIANT(shape, lookup) [PHYS_##shape][PHYS_##lookup] = image_##shape##_##lookup,
#include "kernels/variants.def"
#undef VARIANT
    },
    finish,
    loss,
    sum,
};
