/*
 * philox.h - Philox4x32-10 of Salmon, Moraes, Dror and Shaw (SC 2011): 128 random bits
 * from a counter and a key, without a state. In the dialect of physics/, for the GPU too.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IMAGE_PHILOX_H
#define NB_IMAGE_PHILOX_H

#include <stdint.h>

#include "physics/phys.h"

struct philox_block {
    uint32_t word[4];
};

PHYS_FN struct philox_block philox(struct philox_block counter, uint64_t key)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    struct philox_block b = counter;

    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xd2511f53U * b.word[0];
        const uint64_t p1 = (uint64_t)0xcd9e8d57U * b.word[2];

        b.word[0] = (uint32_t)(p1 >> 32) ^ b.word[1] ^ k0;
        b.word[1] = (uint32_t)p1;
        b.word[2] = (uint32_t)(p0 >> 32) ^ b.word[3] ^ k1;
        b.word[3] = (uint32_t)p0;
        k0 += 0x9e3779b9U;
        k1 += 0xbb67ae85U;
    }
    return b;
}

#endif
