/*
 * arena.h - one block of memory that is divided among many arrays, and large blocks on huge
 * pages.
 *
 * A function lists the arrays by calls of arena_take(). arena_build() calls that function
 * twice: the first time the arena has no block, and sizes are added up; the second time the
 * arrays receive their memory. All arrays are freed together.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_ARENA_H
#define NB_BASE_ARENA_H

#include <stddef.h>

struct arena {
    void *block; /* the allocated block; NULL while sizes are added up */
    char *base; /* first address in the block on a cache line */
    /* size: bytes in all; used: bytes given out; SIZE_MAX: the sum was too large */
    size_t size, used;
};

/* Returns the next n items of `item` bytes, aligned to a cache line and all 0, or NULL
 * while sizes are added up. */
void *arena_take(struct arena *arena, size_t n, size_t item);

/* One array of a block, n items of `item` bytes. `to` is the address of the pointer that
 * arena_take_parts() sets to the array (to NULL if n is 0). The array is filled from `from`
 * unless that is NULL. While sizes are added up, neither happens. */
struct arena_part {
    void *to;
    size_t n, item;
    const void *from;
};
void arena_take_parts(struct arena *arena, const struct arena_part *parts, size_t count);

/* Allocate the block of an empty arena. The arrays are those that `list` takes, or those in
 * `parts`. Returns 0 if there is no memory; the arena is then empty. */
int arena_build(struct arena *arena, void (*list)(struct arena *arena, void *user),
                void *user);
int arena_build_parts(struct arena *arena, const struct arena_part *parts, size_t count);

/* Frees the block and empties the arena. */
void arena_free(struct arena *arena);

/* ---- huge pages ---- */

/* Allocates n bytes, to be released with free(). A large block lies on huge pages if the
 * system has them, because the first touch of a page of 4 KiB takes longer than filling
 * it. */
void *huge_pages_alloc(size_t n);

/* Asks the system for huge pages under memory that was allocated but not yet touched. */
void huge_pages_advise(void *memory, size_t n);

/* Sets n bytes to 0. From 16 MiB on, the zeros are written past the caches, which takes
 * half the time. */
void arena_clear(void *memory, size_t n);

#endif
