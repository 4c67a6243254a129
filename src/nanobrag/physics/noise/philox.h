/*
 * philox.h - the generator Philox4x32-10 of Salmon, Moraes, Dror and Shaw (SC 2011;
 * docs/theory.md, 9). It returns 128 random bits for a counter and a key and has no
 * state.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_NOISE_PHILOX_H
#define NB_PHYSICS_NOISE_PHILOX_H

#include "physics/phys.h"

struct philox_block {
    unsigned word[4]; /* 32 bits in each */
};

PHYS_FN struct philox_block philox(struct philox_block counter, unsigned long long key)
{
    unsigned k0 = (unsigned)key, k1 = (unsigned)(key >> 32);
    struct philox_block b = counter;

    for (int round = 0; round < 10; round++) {
        const unsigned long long p0 = 0xd2511f53ULL * b.word[0];
        const unsigned long long p1 = 0xcd9e8d57ULL * b.word[2];

        b.word[0] = (unsigned)(p1 >> 32) ^ b.word[1] ^ k0;
        b.word[1] = (unsigned)p1;
        b.word[2] = (unsigned)(p0 >> 32) ^ b.word[3] ^ k1;
        b.word[3] = (unsigned)p0;
        k0 += 0x9e3779b9U;
        k1 += 0xbb67ae85U;
    }
    return b;
}

#endif
