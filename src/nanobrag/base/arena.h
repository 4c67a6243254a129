/*
 * arena.h - one block of memory that is divided among many arrays, and large blocks on huge
 * pages.
 *
 * The caller first adds up all sizes (arena_reserve), allocates the block once
 * (arena_make), and then takes the arrays in the same order (arena_take). They are freed
 * together.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_ARENA_H
#define NB_BASE_ARENA_H

#include <stddef.h>

struct arena {
    void *block; /* as allocated */
    char *base; /* its first aligned address */
    size_t size, used; /* bytes reserved, and bytes taken */
};

/* Adds n items of `item` bytes to the size. Call it before arena_make(). Returns 0 if the
 * size overflows. */
int arena_reserve(struct arena *arena, size_t n, size_t item);

/* Allocates the reserved bytes, all 0. Returns 0 if there is no memory. */
int arena_make(struct arena *arena);

/* Returns the next n items of `item` bytes, aligned to a cache line. It cannot fail for
 * items that were reserved. */
void *arena_take(struct arena *arena, size_t n, size_t item);

/* One part of a block: n items of `item` bytes. arena_take_parts() stores their address,
 * NULL if n is 0, in the pointer that `to` points to, and copies them from `from`, if not
 * NULL. */
struct arena_part {
    void *to;
    size_t n, item;
    const void *from;
};

/* Reserves all parts of a list. Returns 0 if the size overflows. */
int arena_reserve_parts(struct arena *arena, const struct arena_part *parts, size_t count);

/* Takes all parts of the list, in its order. */
void arena_take_parts(struct arena *arena, const struct arena_part *parts, size_t count);

/* Frees the block and empties the arena. */
void arena_free(struct arena *arena);

/* ---- huge pages ---- */

/* Allocates n bytes, to be released with free(). A large block is on huge pages if the
 * system has them, because touching pages of 4 KiB takes longer than filling them. */
void *huge_pages_alloc(size_t n);

/* Asks for huge pages under memory that was allocated and not yet touched. */
void huge_pages_advise(void *memory, size_t n);

#endif
