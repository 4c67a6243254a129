/* copies.cpp - see driver.h: memory and copies. SPDX-License-Identifier: MIT */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver.h"

using namespace ptx;

/* memory of the device that a copy names; null: some of it is not */
static Allocation *device_memory(const char *what, uint64_t at, size_t bytes)
{
    Allocation *a = machine().memory.find(at);
    if (a && at - a->base + bytes <= a->size) return a;
    char text[100];
    snprintf(text, sizeof text, "%zu bytes at %#llx are not the device's", bytes,
             (unsigned long long)at);
    misuse(what, text);
    return nullptr;
}

static Result upload(uint64_t to, const void *from, size_t bytes)
{
    Allocation *a = device_memory("cuMemcpyHtoDAsync_v2", to, bytes);
    if (!a) return INVALID_VALUE;
    memcpy((void *)to, from, bytes);
    memset(a->valid + (to - a->base), 1, bytes);
    return 0;
}

static Result download(void *to, uint64_t from, size_t bytes)
{
    Allocation *a = device_memory("cuMemcpyDtoHAsync_v2", from, bytes);
    if (!a) return INVALID_VALUE;
    if (machine().options.init) {
        size_t bad = 0, first = 0;
        for (size_t k = 0; k < bytes; k++)
            if (!a->valid[from - a->base + k] && bad++ == 0) first = k;
        if (bad) {
            char text[120];
            snprintf(text, sizeof text,
                     "%zu of %zu bytes were never written, the first is byte %zu of the "
                     "copy",
                     bad, bytes, first);
            machine().report("UNINITIALISED copy to the host", "cuMemcpyDtoHAsync_v2",
                             text);
        }
    }
    memcpy(to, (const void *)from, bytes);
    return 0;
}

extern "C" {

Result cuMemHostAlloc(void **out, size_t bytes, unsigned)
{
    const Lock lock;
    Result r = inside("cuMemHostAlloc");
    *out = nullptr;
    if (r) return r;
    if (bytes == 0) return INVALID_VALUE;
    *out = malloc(bytes);
    memset(*out, 0xcb, bytes);
    return 0;
}

Result cuMemFreeHost(void *p)
{
    const Lock lock;
    finish_all();
    free(p);
    return inside("cuMemFreeHost");
}

Result cuMemAlloc_v2(uint64_t *out, size_t bytes)
{
    const Lock lock;
    Result r = inside("cuMemAlloc_v2");
    *out = 0;
    if (r) return r;
    if (bytes == 0) {
        misuse("cuMemAlloc_v2", "no bytes");
        return INVALID_VALUE;
    }
    *out = machine().memory.allocate(bytes, device_bytes());
    return *out ? 0u : OUT_OF_MEMORY;
}

Result cuMemFree_v2(uint64_t p)
{
    const Lock lock;
    finish_all();
    if (!machine().memory.release(p)) {
        misuse("cuMemFree_v2", "not allocated");
        return INVALID_VALUE;
    }
    return inside("cuMemFree_v2");
}

Result cuPointerGetAttribute(void *out, unsigned which, uint64_t p)
{
    const Lock lock;
    if (!machine().memory.find(p)) return INVALID_VALUE;
    const unsigned value = which == 2 ? 2 : 0;
    memcpy(out, &value, sizeof value);
    return 0;
}

Result cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, Stream *s)
{
    const Lock lock;
    Result r = inside("cuMemcpyHtoDAsync_v2");
    if (r) return r;
    return ask(s, [=] { return upload(to, from, bytes); });
}

Result cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, Stream *s)
{
    const Lock lock;
    Result r = inside("cuMemcpyDtoHAsync_v2");
    if (r) return r;
    return ask(s, [=] { return download(to, from, bytes); });
}

Result cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, Stream *s)
{
    const Lock lock;
    Result r = inside("cuMemsetD8Async");
    if (r) return r;
    return ask(s, [=]() -> Result {
        Allocation *a = device_memory("cuMemsetD8Async", to, bytes);
        if (!a) return INVALID_VALUE;
        memset((void *)to, value, bytes);
        memset(a->valid + (to - a->base), 1, bytes);
        return 0u;
    });
}

} // extern "C"
