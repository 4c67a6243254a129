/*
 * arena.h - one block of memory that is divided among many arrays, and large blocks on huge
 * pages.
 *
 * A function lists the arrays by arena_take(). arena_build() calls it twice: the first time
 * the arena has no block and adds up the sizes, the second time it gives the arrays out.
 * They are freed together.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_ARENA_H
#define NB_BASE_ARENA_H

#include <stddef.h>

struct arena {
    void *block; /* as allocated; NULL: sizes are added up */
    char *base; /* its first aligned address */
    size_t size, used; /* bytes in all, and bytes given out; SIZE_MAX: too many */
};

/* Returns the next n items of `item` bytes, aligned to a cache line and all 0, or NULL
 * while sizes are added up. */
void *arena_take(struct arena *arena, size_t n, size_t item);

/* One array of a block: n items of `item` bytes. arena_take_parts() stores the array's
 * address (NULL if n is 0) in the pointer that `to` points to, and fills the array from
 * `from` unless that is NULL. While sizes are added up it does neither. */
struct arena_part {
    void *to;
    size_t n, item;
    const void *from;
};
void arena_take_parts(struct arena *arena, const struct arena_part *parts, size_t count);

/* Allocates the block of an empty arena for all arrays that `list` takes, or that are
 * listed. Returns 0 if there is no memory; the arena then is empty. */
int arena_build(struct arena *arena, void (*list)(struct arena *arena, void *user),
                void *user);
int arena_build_parts(struct arena *arena, const struct arena_part *parts, size_t count);

/* Frees the block and empties the arena. */
void arena_free(struct arena *arena);

/* ---- huge pages ---- */

/* Allocates n bytes, to be released with free(). A large block is on huge pages if the
 * system has them, because touching pages of 4 KiB takes longer than filling them. */
void *huge_pages_alloc(size_t n);

/* Asks for huge pages under memory that was allocated and not yet touched. */
void huge_pages_advise(void *memory, size_t n);

/* Sets n bytes to 0. More than caches hold go past them, in half the time. */
void arena_clear(void *memory, size_t n);

#endif
