/*
 * arena.c - gives out memory from one block, from its start on, and asks Linux for huge
 * pages.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE // NOLINT(readability-identifier-naming): madvise

#include "base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { ARENA_ALIGN = 64, LARGE_PAGE = 1 << 21, SMALL_PAGE = 1 << 12 };

/* Returns the bytes of n items, rounded up to the alignment, or SIZE_MAX
 * on overflow. */
static size_t aligned_size(size_t n, size_t item)
{
    if (item && n > (SIZE_MAX - ARENA_ALIGN) / item) return SIZE_MAX;
    return (n * item + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

void *arena_take(struct arena *arena, size_t n, size_t item)
{
    const size_t bytes = aligned_size(n, item);
    void *at;

    if (!arena->block) {
        const int fits = arena->size <= SIZE_MAX / 2 && bytes <= SIZE_MAX / 2;

        arena->size = fits ? arena->size + bytes : SIZE_MAX;
        return NULL;
    }
    at = arena->base + arena->used;
    arena->used += bytes;
    assert(arena->used <= arena->size);
    return at;
}

void arena_take_parts(struct arena *arena, const struct arena_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct arena_part *part = parts + i;
        void *place = arena_take(arena, part->n, part->item);

        if (!arena->block) continue;
        if (part->n == 0) place = NULL;
        if (place && part->from) memcpy(place, part->from, part->n * part->item);
        /* memcpy(), because `to` points to a pointer of any type */
        memcpy(part->to, &place, sizeof place);
    }
}

int arena_build(struct arena *arena, void (*list)(struct arena *arena, void *user),
                void *user)
{
    assert(!arena->block && arena->size == 0);
    list(arena, user);
    /* calloc() instead of aligned_alloc() and memset(): pages that are never touched then
     * cost neither time nor memory. An example is the buffer for images, if the caller
     * passes images of its own. */
    if (arena->size <= SIZE_MAX / 2) arena->block = calloc(1, arena->size + ARENA_ALIGN);
    if (!arena->block) {
        arena->size = 0;
        return 0;
    }
    huge_pages_advise(arena->block, arena->size + ARENA_ALIGN);
    arena->base = (char *)arena->block + (-(uintptr_t)arena->block & (ARENA_ALIGN - 1));
    list(arena, user);
    return 1;
}

struct listed_parts {
    const struct arena_part *parts;
    size_t count;
};

static void take_listed(struct arena *arena, void *user)
{
    const struct listed_parts *listed = user;

    arena_take_parts(arena, listed->parts, listed->count);
}

int arena_build_parts(struct arena *arena, const struct arena_part *parts, size_t count)
{
    struct listed_parts listed = {parts, count};

    return arena_build(arena, take_listed, &listed);
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

#ifdef __SSE2__
/* Sets n bytes to 0 without reading them into the caches. `to` is the start of a cache
 * line, n a multiple of 64. */
static void clear_lines_past_caches(char *to, size_t n)
{
    const __m128i zero = _mm_setzero_si128();

    for (size_t i = 0; i < n; i += 64) {
        __m128i *line = (__m128i *)(void *)(to + i);

        _mm_stream_si128(line, zero);
        _mm_stream_si128(line + 1, zero);
        _mm_stream_si128(line + 2, zero);
        _mm_stream_si128(line + 3, zero);
    }
    _mm_sfence();
}
#endif

void arena_clear(void *memory, size_t n)
{
#ifdef __SSE2__
    const size_t before = -(uintptr_t)memory & 63, many = (size_t)1 << 24;

    if (n >= many) {
        const size_t lines = (n - before) / 64 * 64;

        memset(memory, 0, before);
        clear_lines_past_caches((char *)memory + before, lines);
        memory = (char *)memory + before + lines;
        n -= before + lines;
    }
#endif
    memset(memory, 0, n);
}
