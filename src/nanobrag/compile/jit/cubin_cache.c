/*
 * cubin_cache.c - computes the key of a kernel, and writes and checks the header of its
 * file.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/jit/cubin_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = "NBCUBIN1";
static const char ending[] = ".cubin";

/* ---- the key ---- */

/* Add a field after its length, so that different lists of fields never give the same
 * bytes. */
static void add_field(struct sha256 *sha, const void *bytes, size_t n)
{
    const uint64_t length = n;
    unsigned char size[8];

    for (int i = 0; i < 8; i++) size[i] = (unsigned char)(length >> (8 * i));
    sha256_add(sha, size, sizeof size);
    sha256_add(sha, bytes, n);
}

static void add_text(struct sha256 *sha, const char *text)
{
    add_field(sha, text, strlen(text));
}

void cubin_key(const struct nvrtc *nvrtc, const struct nvrtc_request *request,
               unsigned donated, const struct nvrtc_target *target,
               unsigned char key[CUBIN_KEY])
{
    struct sha256 sha;
    char numbers[96];

    sha256_begin(&sha);
    (void)snprintf(numbers, sizeof numbers, "NVRTC %d.%d, donated %x, options %d",
                   nvrtc->major, nvrtc->minor, donated, request->option_count);
    add_field(&sha, magic, sizeof magic);
    add_text(&sha, numbers);
    add_text(&sha, target->name);
    for (int i = 0; i < request->option_count; i++) add_text(&sha, request->options[i]);
    add_text(&sha, request->text->name);
    add_field(&sha, request->text->text, request->text->size);
    for (size_t i = 0; i < sources_count; i++) {
        add_text(&sha, sources[i].name);
        add_field(&sha, sources[i].text, sources[i].size);
    }
    sha256_end(&sha, key);
}

static struct store store_of(const char *cache, uint64_t limit)
{
    return store_in(cache, "cubins", ending, CUBIN_MOST, limit);
}

static void name_of(const unsigned char key[CUBIN_KEY], char name[STORE_NAME])
{
    char hex[2 * CUBIN_KEY + 1];

    sha256_hex(key, hex);
    (void)snprintf(name, STORE_NAME, "%s%s", hex, ending);
}

/* ---- the header ---- */

/* Offsets in the header, which begins with `magic`; its other bytes are 0. */

enum { AT_PTX = 8, AT_LENGTH = 16, AT_DIGEST = CUBIN_HEADER - SHA256_DIGEST };

static void make_header(const unsigned char key[CUBIN_KEY], const struct cubin *cubin,
                        unsigned char header[CUBIN_HEADER])
{
    const uint64_t length = cubin->size;
    struct sha256 sha;

    memset(header, 0, CUBIN_HEADER);
    memcpy(header, magic, sizeof magic);
    header[AT_PTX] = cubin->ptx != 0;
    for (int i = 0; i < 8; i++) header[AT_LENGTH + i] = (unsigned char)(length >> (8 * i));
    sha256_begin(&sha);
    sha256_add(&sha, key, CUBIN_KEY);
    sha256_add(&sha, header, AT_DIGEST);
    sha256_add(&sha, cubin->bytes, cubin->size);
    sha256_end(&sha, header + AT_DIGEST);
}

/* Returns the code in a file that is long enough. The bytes belong to the file. */
static struct cubin cubin_in(const struct store_bytes *file)
{
    const struct cubin cubin = {file->bytes + CUBIN_HEADER, file->size - CUBIN_HEADER,
                                file->bytes[AT_PTX]};

    return cubin;
}

static const char *verify(const void *key, const struct store_bytes *file)
{
    unsigned char expected[CUBIN_HEADER];
    struct cubin cubin;

    if (file->size <= CUBIN_HEADER) return "it is too short";
    cubin = cubin_in(file);
    make_header(key, &cubin, expected);
    return memcmp(file->bytes, expected, sizeof expected) == 0 ? NULL : "it is damaged";
}

/* ---- files ---- */

enum store_state cubin_load(const char *cache, const unsigned char key[CUBIN_KEY],
                            struct cubin *out, char why[STORE_WHY])
{
    const struct store store = store_of(cache, CUBIN_CACHE_LIMIT);
    struct store_bytes file;
    enum store_state state;
    char name[STORE_NAME];

    memset(out, 0, sizeof *out);
    name_of(key, name);
    state = store_load(&store, name, verify, key, &file, why);
    if (state != STORE_FOUND) return state;
    *out = cubin_in(&file);
    /* cubin_free() frees this address */
    out->bytes = memmove(file.bytes, out->bytes, out->size);
    return STORE_FOUND;
}

int cubin_save(const char *cache, uint64_t limit, const unsigned char key[CUBIN_KEY],
               const struct cubin *cubin, uint64_t *removed, char why[STORE_WHY])
{
    const struct store store = store_of(cache, limit);
    const size_t n = CUBIN_HEADER + cubin->size;
    unsigned char *bytes = malloc(n);
    char name[STORE_NAME];
    int saved;

    *removed = 0;
    if (!bytes) {
        (void)snprintf(why, STORE_WHY,
                       "out of memory: a kernel that was built is not saved");
        return 0;
    }
    make_header(key, cubin, bytes);
    memcpy(bytes + CUBIN_HEADER, cubin->bytes, cubin->size);
    name_of(key, name);
    saved = store_save(&store, name, bytes, n, removed, why);
    free(bytes);
    return saved;
}
