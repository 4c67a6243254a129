/* huge_pages.c - huge pages of Linux, by madvise(). SPDX-License-Identifier: MIT */
#define _GNU_SOURCE // NOLINT(readability-identifier-naming): madvise

#include "base/huge_pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LARGE_PAGE = 1 << 21, SMALL_PAGE = 1 << 12 };

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
