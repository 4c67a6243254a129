/*
 * arena.c - bump allocation from one block of memory, and huge pages of Linux, by
 * madvise(). SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE // NOLINT(readability-identifier-naming): madvise

#include "base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ARENA_ALIGN = 64, LARGE_PAGE = 1 << 21, SMALL_PAGE = 1 << 12 };

/* Returns the bytes of n items, rounded up to the alignment, or SIZE_MAX
 * on overflow. */
static size_t aligned_size(size_t n, size_t item)
{
    if (item && n > (SIZE_MAX - ARENA_ALIGN) / item) return SIZE_MAX;
    return (n * item + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

int arena_reserve(struct arena *arena, size_t n, size_t item)
{
    const size_t bytes = aligned_size(n, item);

    if (bytes > SIZE_MAX / 2 - arena->size) return 0;
    arena->size += bytes;
    return 1;
}

int arena_make(struct arena *arena)
{
    assert(!arena->base);
    /* calloc() and not aligned_alloc() with memset(): pages that are never touched, such as
     * a buffer for images when the caller passes his own, then cost no time or memory. */
    arena->block = calloc(1, arena->size + ARENA_ALIGN);
    if (!arena->block) return 0;
    huge_pages_advise(arena->block, arena->size + ARENA_ALIGN);
    arena->base = (char *)arena->block + (-(uintptr_t)arena->block & (ARENA_ALIGN - 1));
    arena->used = 0;
    return 1;
}

void *arena_take(struct arena *arena, size_t n, size_t item)
{
    void *at = arena->base + arena->used;

    arena->used += aligned_size(n, item);
    assert(arena->used <= arena->size);
    return at;
}

int arena_reserve_parts(struct arena *arena, const struct arena_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!arena_reserve(arena, parts[i].n, parts[i].item)) return 0;
    return 1;
}

void arena_take_parts(struct arena *arena, const struct arena_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct arena_part *part = parts + i;
        void *place = arena_take(arena, part->n, part->item);

        if (part->n == 0) place = NULL;
        if (place && part->from) memcpy(place, part->from, part->n * part->item);
        memcpy(part->to, &place, sizeof place); /* pointers of all types look alike */
    }
}

void arena_free(struct arena *arena)
{
    free(arena->block);
    memset(arena, 0, sizeof *arena);
}

void *huge_pages_alloc(size_t n)
{
    void *memory;

    if (n < LARGE_PAGE / 4 || n > SIZE_MAX - LARGE_PAGE) return malloc(n);
    n = (n + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    memory = aligned_alloc(LARGE_PAGE, n);
    if (memory) huge_pages_advise(memory, n);
    return memory;
}

void huge_pages_advise(void *memory, size_t n)
{
#ifdef MADV_HUGEPAGE
    const size_t before = -(uintptr_t)memory & (SMALL_PAGE - 1);

    if (n >= LARGE_PAGE) (void)madvise((char *)memory + before, n - before, MADV_HUGEPAGE);
#else
    (void)memory, (void)n;
#endif
}
