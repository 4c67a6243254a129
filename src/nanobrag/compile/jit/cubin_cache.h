/*
 * cubin_cache.h - what NVRTC made, kept on disk: files KEY.cubin in the folder `cubins` of
 * the user's cache. Many threads and processes may use it at once.
 *
 * A file is 64 bytes of header and the code. It is believed when the digest says that it is
 * whole and made under just this key, and folder and file are their user's own, which no
 * other user can write.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_CUBIN_CACHE_H
#define NB_COMPILE_JIT_CUBIN_CACHE_H

#include <stdint.h>

#include "base/sha256.h"
#include "base/store.h"
#include "compile/jit/nvrtc.h"

enum {
    CUBIN_KEY = SHA256_DIGEST, /* bytes */
    CUBIN_HEADER = 64, /* before the code */
    CUBIN_MOST = 1 << 26 /* of one file; larger ones are not kept */
};

/* bytes of all files; past it those used least recently are removed */
#define CUBIN_CACHE_LIMIT ((uint64_t)256 << 20)

/* what kept code depends on: the texts, the options, which arrays are donated, NVRTC's
 * version, and the target */
void cubin_key(const struct nvrtc *nvrtc, const struct nvrtc_request *request,
               unsigned donated, const struct nvrtc_target *target,
               unsigned char key[CUBIN_KEY]);

enum cubin_state {
    CUBIN_FOUND,
    CUBIN_ABSENT,
    CUBIN_DAMAGED, /* and removed */
    CUBIN_REFUSED /* folder or file cannot be used now */
};

/* Look up; `cache` is the folder of the user's cache. `why` tells of the last two. */
enum cubin_state cubin_load(const char *cache, const unsigned char key[CUBIN_KEY],
                            struct cubin *out, char why[STORE_WHY]);

/* Keep, in at most `limit` bytes for all; `removed` counts those that had to go. 0: it is
 * not kept, `why` says so. */
int cubin_store(const char *cache, uint64_t limit, const unsigned char key[CUBIN_KEY],
                const struct cubin *cubin, uint64_t *removed, char why[STORE_WHY]);

#endif
