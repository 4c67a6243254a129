/* allocations.c - see allocations.h. SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200112L
#include "api/allocations.h"

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

#if defined(__GLIBC__) && (!defined(SANITIZED) || defined(ALLOCATIONS_OF_ASAN))

/* what malloc() and its kin of this file call */
#ifdef ALLOCATIONS_OF_ASAN
#define BELOW(name) __interceptor_##name
#else
#define BELOW(name) __libc_##name
#endif

static atomic_long made, elsewhere, held, refused;

/* set by the linker: the ends of the program's own code */
// NOLINTBEGIN(readability-identifier-naming)
extern const char __executable_start[], etext[];
void *BELOW(malloc)(size_t size);
void *BELOW(calloc)(size_t n, size_t size);
void *BELOW(realloc)(void *block, size_t size);
void *BELOW(memalign)(size_t alignment, size_t size);
void BELOW(free)(void *block);
// NOLINTEND(readability-identifier-naming)

int allocations_counted(void)
{
    return 1;
}

long allocations_made(void)
{
    return atomic_load(&made);
}

long allocations_elsewhere(void)
{
    return atomic_load(&elsewhere);
}

long allocations_held(void)
{
    return atomic_load(&held);
}

void allocations_refuse(long n)
{
    atomic_store(&refused, n);
}

void *memalign(size_t alignment, size_t size);

static int is_ours(const char *caller)
{
    return caller >= __executable_start && caller < etext;
}

/* whether a call from here gets memory; counts it */
static int is_granted(const char *caller)
{
    if (!is_ours(caller)) {
        atomic_fetch_add(&elsewhere, 1);
        return 1;
    }
    if (atomic_load(&refused) > 0 && atomic_fetch_sub(&refused, 1) == 1) {
        errno = ENOMEM;
        return 0;
    }
    atomic_fetch_add(&made, 1);
    return 1;
}

static void *kept(void *block)
{
    if (block) atomic_fetch_add(&held, 1);
    return block;
}

#define CALLER ((const char *)__builtin_return_address(0))

void *malloc(size_t size)
{
    return is_granted(CALLER) ? kept(BELOW(malloc)(size)) : NULL;
}

void *calloc(size_t nmemb, size_t size)
{
    return is_granted(CALLER) ? kept(BELOW(calloc)(nmemb, size)) : NULL;
}

void *realloc(void *ptr, size_t size)
{
    if (!is_granted(CALLER)) return NULL;
    return ptr ? BELOW(realloc)(ptr, size) : kept(BELOW(malloc)(size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return is_granted(CALLER) ? kept(BELOW(memalign)(alignment, size)) : NULL;
}

int posix_memalign(void **memptr, size_t alignment, size_t size)
{
    *memptr = is_granted(CALLER) ? kept(BELOW(memalign)(alignment, size)) : NULL;
    return *memptr ? 0 : ENOMEM;
}

void *memalign(size_t alignment, size_t size)
{
    return is_granted(CALLER) ? kept(BELOW(memalign)(alignment, size)) : NULL;
}

void free(void *ptr)
{
    if (ptr) atomic_fetch_sub(&held, 1);
    BELOW(free)(ptr);
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

long allocations_elsewhere(void)
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
