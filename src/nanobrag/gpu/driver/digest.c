/*
 * digest.c - a digest of 128 bits, which tells whether memory of the host has changed since
 * it was sent to a device. It is as fast as reading memory; it does not resist deliberate
 * collisions.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "gpu/driver/gpu_scene.h"

enum { LANES = 4 };

/* Odd numbers without a pattern: digits of the golden ratio, and a prime of xxHash. */
static const uint64_t golden = 0x9e3779b97f4a7c15u, prime = 0xc2b2ae3d27d4eb4fu;

/* Each step is a one-to-one function of the state, so that a single changed word changes
 * all later states. */
static uint64_t step(uint64_t state, uint64_t word)
{
    state = (state ^ word) * prime;
    return (state << 31 | state >> 33) * golden;
}

void gpu_digest(const void *bytes, size_t n, uint64_t out[2])
{
    const unsigned char *at = bytes;
    uint64_t state[LANES] = {1, 2, 3, 4}, words[LANES];
    size_t left = n;

    for (; left >= sizeof words; left -= sizeof words, at += sizeof words) {
        memcpy(words, at, sizeof words);
        for (int i = 0; i < LANES; i++) state[i] = step(state[i], words[i]);
    }
    memset(words, 0, sizeof words);
    if (left > 0) memcpy(words, at, left);
    for (int i = 0; i < LANES; i++) state[i] = step(step(state[i], words[i]), n);
    out[0] = step(step(step(state[0], state[1]), state[2]), state[3]);
    out[1] = step(step(step(state[3], state[2] + 1), state[1]), state[0]);
}
