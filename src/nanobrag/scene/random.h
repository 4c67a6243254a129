/*
 * random.h - the shuffled multiplicative generator that nanoBragg's orientations, mosaic
 * domains and noise come from.
 *
 * x <- 16807 x mod (2^31 - 1), through a table of 32 numbers. In nanoBragg all streams
 * share the table; here a stream owns one, and a copy of a stream is a fork.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_RANDOM_H
#define NB_SCENE_RANDOM_H

#include <stdint.h>

enum { RANDOM_TABLE = 32 };

struct random_stream {
    int64_t x; /* state; <= 0: to be initialised from -x at the next draw */
    int32_t table[RANDOM_TABLE], y;
    int filled; /* the table was initialised */
};

/* Start a stream as nanoBragg does: state -seed, table kept. */
void random_seed_quirk(struct random_stream *random, int64_t seed);

/* Start a stream from any 64-bit seed, independent of what the stream did before. Seeds
 * 1 .. 2^31 - 2 give the numbers of random_seed_quirk() on a fresh table, others are
 * mixed into that range. */
void random_seed(struct random_stream *random, int64_t seed);

/* The next uniform, 0 < u < 1, a float. */
float random_uniform(struct random_stream *random);

#endif
