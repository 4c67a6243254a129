/*
 * cubin_cache.h - saves kernels that NVRTC built in files KEY.cubin, in the folder `cubins`
 * of the user's cache (base/store/store.h). A file is a header of 64 bytes and the code. A
 * digest in the header tells whether the file is whole and was made under this key.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_CUBIN_CACHE_H
#define NB_COMPILE_JIT_CUBIN_CACHE_H

#include <stdint.h>

#include "base/store/sha256.h"
#include "base/store/store.h"
#include "compile/jit/nvrtc.h"

enum {
    CUBIN_KEY = SHA256_DIGEST, /* bytes */
    CUBIN_HEADER = 64, /* bytes of the header before the code */
    CUBIN_MOST = 1 << 26 /* largest size of a file, bytes; larger files are not saved */
};

/* Largest size of all files, bytes; the least recently used files are removed. */
#define CUBIN_CACHE_LIMIT ((uint64_t)256 << 20)

/* Write the key of a kernel: a digest of all that its code depends on, namely the texts,
 * the options, the donated arrays, NVRTC's version, and the target. */
void cubin_key(const struct nvrtc *nvrtc, const struct nvrtc_request *request,
               unsigned donated, const struct nvrtc_target *target,
               unsigned char key[CUBIN_KEY]);

/* Load the code that was saved under a key; `cache` is the folder of the user's cache. */
enum store_state cubin_load(const char *cache, const unsigned char key[CUBIN_KEY],
                            struct cubin *out, char why[STORE_WHY]);

/* Save code under a key. Before that, files are removed until all files together have at
 * most `limit` bytes; *removed becomes their number. Returns 0, with one line in `why`, if
 * the code was not saved. */
int cubin_save(const char *cache, uint64_t limit, const unsigned char key[CUBIN_KEY],
               const struct cubin *cubin, uint64_t *removed, char why[STORE_WHY]);

#endif
