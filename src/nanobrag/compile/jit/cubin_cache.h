/*
 * cubin_cache.h - kernels that NVRTC built, saved in files KEY.cubin in the folder `cubins`
 * of the user's cache (base/store/store.h). A file is a header of 64 bytes and the code.
 * The digest in the header tells whether the file is whole and was made under just this
 * key.
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
    CUBIN_HEADER = 64, /* before the code */
    CUBIN_MOST = 1 << 26 /* bytes of one file; larger files are not saved */
};

/* bytes of all files; above it the least recently used files are removed */
#define CUBIN_CACHE_LIMIT ((uint64_t)256 << 20)

/* Write the key of code: a digest of all that the code depends on, namely the texts, the
 * options, the donated arrays, NVRTC's version, and the target. */
void cubin_key(const struct nvrtc *nvrtc, const struct nvrtc_request *request,
               unsigned donated, const struct nvrtc_target *target,
               unsigned char key[CUBIN_KEY]);

/* Load the code that was saved under a key; `cache` is the folder of the user's cache. */
enum store_state cubin_load(const char *cache, const unsigned char key[CUBIN_KEY],
                            struct cubin *out, char why[STORE_WHY]);

/* Save code under a key, in at most `limit` bytes for all files; `removed` counts the files
 * removed to make space. Returns 0, with one line in `why`, if it is not saved. */
int cubin_save(const char *cache, uint64_t limit, const unsigned char key[CUBIN_KEY],
               const struct cubin *cubin, uint64_t *removed, char why[STORE_WHY]);

#endif
