/*
 * random.h - the random generator of nanoBragg, for missets, mosaic domains and nanoBragg's
 * noise: x <- 16807 x mod (2^31 - 1), shuffled by a table of 32 numbers.
 *
 * In nanoBragg all streams share one table. Here each stream has a table of its own, and a
 * copy of a stream continues independently.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_RANDOM_H
#define NB_SCENE_RANDOM_H

#include <stdint.h>

enum { RANDOM_TABLE = 32 };

struct random_stream {
    int64_t x; /* state; 0 or less: the next draw fills the table from -x */
    int32_t table[RANDOM_TABLE], y;
    int filled; /* 1 once the table is filled */
};

/* Starts a stream as nanoBragg does: the state becomes -seed, and the table is not
 * cleared. */
void random_seed_quirk(struct random_stream *random, int64_t seed);

/* Starts a stream from any 64-bit seed, whatever the stream did before. Seeds 1 .. 2^31 - 2
 * give the numbers of random_seed_quirk() with a new table; any other seed is hashed into
 * that range. */
void random_seed(struct random_stream *random, int64_t seed);

/* Returns a hash of a seed, from 1 to 2^31 - 2, by the finaliser of SplitMix64 (Steele, Lea
 * and Flood, 2014). */
int64_t random_mixed(int64_t seed);

/* Returns the next uniform number, 0 < u < 1. */
float random_uniform(struct random_stream *random);

#endif
