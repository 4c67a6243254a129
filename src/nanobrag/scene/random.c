/*
 * random.c - the generator of Park and Miller (CACM 31, 1988), shuffled by a table as Bays
 * and Durham proposed. Its numbers equal nanoBragg's, bit for bit.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/random.h"

enum { MODULUS = 2147483647, MULTIPLIER = 16807, DISCARDED = 8 };

static int32_t step(struct random_stream *random)
{
    random->x = random->x % MODULUS * MULTIPLIER % MODULUS;
    return (int32_t)random->x;
}

/* Fills the table from -x or, unless x is below 0, from 1, as in nanoBragg. */
static void fill_table(struct random_stream *random)
{
    random->x = random->x < 0 ? -random->x : 1;
    for (int i = 0; i < DISCARDED; i++) (void)step(random);
    for (int i = RANDOM_TABLE - 1; i >= 0; i--) random->table[i] = step(random);
    random->y = random->table[0];
    random->filled = 1;
}

void random_seed_quirk(struct random_stream *random, int64_t seed)
{
    /* INT64_MIN cannot be negated. */
    random->x = seed == INT64_MIN ? INT64_MAX : -seed;
}

int64_t random_mixed(int64_t seed)
{
    uint64_t z = (uint64_t)seed + 0x9e3779b97f4a7c15U;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return (int64_t)((z ^ z >> 31) % (MODULUS - 1)) + 1;
}

void random_seed(struct random_stream *random, int64_t seed)
{
    if (seed < 1 || seed >= MODULUS) seed = random_mixed(seed);
    random->x = -seed;
    random->filled = 0;
}

float random_uniform(struct random_stream *random)
{
    static const float largest = (float)(1 - 1.2e-7);
    float u;
    int j;

    if (random->x <= 0 || !random->filled) fill_table(random);
    (void)step(random);
    j = random->y >> 26;
    random->y = random->table[j];
    random->table[j] = (int32_t)random->x;
    u = (float)(random->y * (1.0 / MODULUS));
    return u < largest ? u : largest;
}
