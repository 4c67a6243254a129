/*
 * store.h - a folder of the user's cache, which many threads and processes share. Each
 * cache on disk (kernels built at run time) is one store; only the cache knows the meaning
 * of its files. A file is whole or absent: it is written under another name and renamed. A
 * file is refused if any user but this one and root could have written it.
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
    char folder[STORE_PATH]; /* created, for this user alone, with the first file */
    const char *ending; /* of all file names, as ".cubin"; other files are left alone */
    uint64_t file_limit; /* bytes of one file */
    uint64_t limit; /* bytes of all files; the least recently used are removed */
};

struct store_bytes {
    unsigned char *bytes; /* free() them; a NUL follows the last one */
    size_t size;
};

enum store_state {
    STORE_FOUND,
    STORE_ABSENT,
    STORE_DAMAGED, /* the file cannot be used, and was removed if that is possible */
    STORE_REFUSED /* folder or file cannot be read, or is not trusted */
};

/* Returns NULL, or describes the fault of a file's contents, such as "it is damaged". */
typedef const char *store_verify(const void *user, const struct store_bytes *file);

/* Returns the store in the folder `name` of the cache. */
struct store store_in(const char *cache, const char *name, const char *ending,
                      uint64_t file_limit, uint64_t limit);

/* Read a file, which counts as a use of it. `verify` may be NULL. For a file that is
 * damaged or refused there are no bytes, and one line in `why` explains it. */
enum store_state store_load(const struct store *store, const char *name,
                            store_verify *verify, const void *user, struct store_bytes *out,
                            char why[STORE_WHY]);

/* Write a file or replace it, after files were removed to stay below the limit; `removed`,
 * which may be NULL, counts them. Returns 0, with one line in `why`, if the file could not
 * be written and is as it was. */
int store_save(const struct store *store, const char *name, const void *bytes, size_t size,
               uint64_t *removed, char why[STORE_WHY]);

#endif
