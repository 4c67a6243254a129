/* allocations.c - see allocations.h. SPDX-License-Identifier: MIT */
#include "support/allocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

#if defined(__GLIBC__) && !defined(SANITIZED)

static atomic_long made, held, refused;

int allocations_counted(void)
{
    return 1;
}

long allocations_made(void)
{
    return atomic_load(&made);
}

long allocations_held(void)
{
    return atomic_load(&held);
}

void allocations_refuse(long n)
{
    atomic_store(&refused, n);
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);
int posix_memalign(void **block, size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size);

static int is_refused(void)
{
    if (atomic_load(&refused) == 0 || atomic_fetch_sub(&refused, 1) != 1) return 0;
    errno = ENOMEM;
    return 1;
}

static void *counted(void *block)
{
    atomic_fetch_add(&made, 1);
    if (block) atomic_fetch_add(&held, 1);
    return block;
}

void *malloc(size_t size)
{
    return is_refused() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
    return is_refused() ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *block, size_t size)
{
    if (is_refused()) return NULL;
    if (!block) return counted(__libc_malloc(size));
    atomic_fetch_add(&made, 1);
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return is_refused() ? NULL : counted(__libc_memalign(alignment, size));
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    *block = is_refused() ? NULL : counted(__libc_memalign(alignment, size));
    return *block ? 0 : ENOMEM;
}

void *memalign(size_t alignment, size_t size)
{
    return is_refused() ? NULL : counted(__libc_memalign(alignment, size));
}

void free(void *block)
{
    if (block) atomic_fetch_sub(&held, 1);
    __libc_free(block);
}

#else

int allocations_counted(void)
{
    return 0;
}

long allocations_made(void)
{
    return 0;
}

long allocations_held(void)
{
    return 0;
}

void allocations_refuse(long n)
{
    (void)n;
}

#endif
