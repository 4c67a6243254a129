/* memory.cpp - see ptx.h. SPDX-License-Identifier: MIT */
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

#include "ptx.h"

namespace ptx {

static void *lazily(size_t bytes)
{
    void *at = mmap(nullptr, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? nullptr : at;
}

uint64_t Memory::allocate(size_t bytes, size_t most)
{
    Allocation a;
    if (used + bytes > most) return 0;
    /* aligned as CUDA's, to 256 bytes; what lies between allocations is nobody's */
    a.size = bytes;
    a.base = (uint64_t)(uintptr_t)aligned_alloc(256, (bytes + 511) / 256 * 256);
    if (!a.base) return 0;
    memset((void *)a.base, 0xcb, bytes);
    a.valid = (uint8_t *)lazily(bytes);
    a.cells = (Cell *)lazily(bytes * sizeof(Cell));
    if (!a.valid || !a.cells) return 0;
    used += bytes;
    all[a.base] = a;
    return a.base;
}

bool Memory::release(uint64_t base)
{
    auto at = all.find(base);
    if (at == all.end()) return false;
    used -= at->second.size;
    munmap(at->second.valid, at->second.size);
    munmap(at->second.cells, at->second.size * sizeof(Cell));
    free((void *)base);
    all.erase(at);
    return true;
}

Allocation *Memory::find(uint64_t address)
{
    auto at = all.upper_bound(address);
    if (at == all.begin()) return nullptr;
    --at;
    return address - at->second.base < at->second.size ? &at->second : nullptr;
}

} // namespace ptx
