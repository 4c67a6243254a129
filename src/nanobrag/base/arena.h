/*
 * arena.h - one block of memory per simulator, handed out from the bottom.
 *
 * Sizes are added up first (arena_reserve), then the block is made once and parts are
 * taken in the same order. Nothing is freed before the whole.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_ARENA_H
#define NB_BASE_ARENA_H

#include <stddef.h>

struct arena {
    void *block; /* as allocated */
    char *base; /* the first aligned place in it */
    size_t size, used;
};

/* Count n items of `item` bytes; 0 when the sum overflows. Before arena_make(). */
int arena_reserve(struct arena *arena, size_t n, size_t item);

/* Allocate what was reserved, zeroed; 0 without memory. */
int arena_make(struct arena *arena);

/* n items of `item` bytes, aligned to a cache line; what was reserved always fits. */
void *arena_take(struct arena *arena, size_t n, size_t item);

/* One part of a block: n items of `item` bytes, whose address goes into the pointer at `to`
 * (NULL where n is 0), and what they begin as; from NULL: as zeros. */
struct arena_part {
    void *to;
    size_t n, item;
    const void *from;
};

/* A list of parts, counted and then taken in the list's order; 0 when the sum overflows. */
int arena_reserve_parts(struct arena *arena, const struct arena_part *parts, size_t count);
void arena_take_parts(struct arena *arena, const struct arena_part *parts, size_t count);

void arena_free(struct arena *arena);

#endif
