/*
 * store.h - a folder of the user's cache, which many threads and processes share. Each
 * cache on disk is one store; kernels built at run time have one. Only the cache knows the
 * meaning of its files. A file is written under a temporary name and renamed, so that it is
 * whole or absent. A file is refused if any user but this one and root could have written
 * it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_STORE_H
#define NB_BASE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/env.h"

enum { STORE_WHY = 512, STORE_PATH = ENV_PATH + 32, STORE_NAME = 128 };

struct store {
    char folder[STORE_PATH]; /* made by the first store_save(), for this user alone */
    const char *ending; /* ending of all file names of the store, such as ".cubin" */
    uint64_t file_limit; /* largest size of one file, bytes */
    /* largest sum of all file sizes, bytes; least recently used files are removed */
    uint64_t limit;
};

struct store_bytes {
    unsigned char *bytes; /* free() this pointer; a NUL follows the last byte */
    size_t size;
};

enum store_state {
    STORE_FOUND,
    STORE_ABSENT,
    STORE_DAMAGED, /* the file cannot be used; it was removed if possible */
    STORE_REFUSED /* the folder or file cannot be read, or is not trusted */
};

/* Checks the contents of a file. Returns NULL, or the fault, such as "it is damaged". */
typedef const char *store_verify(const void *user, const struct store_bytes *file);

/* Returns the store in the folder `name` of the cache. */
struct store store_in(const char *cache, const char *name, const char *ending,
                      uint64_t file_limit, uint64_t limit);

/* Read a file, and mark it as the most recently used one. `verify` may be NULL. Only
 * STORE_FOUND fills *out. For STORE_DAMAGED and STORE_REFUSED, `why` receives one line of
 * explanation. */
enum store_state store_load(const struct store *store, const char *name,
                            store_verify *verify, const void *user, struct store_bytes *out,
                            char why[STORE_WHY]);

/* Write a file or replace it. Before that, the least recently used files are removed until
 * the new file fits below store->limit; *removed receives their number unless it is NULL.
 * Returns 0, with one line in `why`, if the file could not be written; an old file is then
 * unchanged. */
int store_save(const struct store *store, const char *name, const void *bytes, size_t size,
               uint64_t *removed, char why[STORE_WHY]);

#endif
