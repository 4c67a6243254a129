/*
 * cubin_cache.c - keys, the header of a file, and a folder that stays below its limit.
 *
 * There is no lock. Files come whole by a rename; two processes that make the same one
 * write the same. Who needs room removes the oldest files, whoever wrote them; who is
 * reading one of them goes on to its end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/jit/cubin_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"

enum { PATH = ENV_PATH + 32, NAME = 2 * CUBIN_KEY + 64, STALE_S = 600 };

static const char magic[8] = "NBCUBIN1";
static const char ending[] = ".cubin", unfinished[] = ".tmp";

/* ---- the key ---- */

/* a field and its length, so that no two lists of fields look alike */
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

static void name_of(const unsigned char key[CUBIN_KEY], char name[NAME])
{
    for (int i = 0; i < CUBIN_KEY; i++) (void)snprintf(name + 2L * i, 3, "%02x", key[i]);
    (void)snprintf(name + 2L * CUBIN_KEY, NAME - 2 * CUBIN_KEY, "%s", ending);
}

/* ---- the header: magic, PTX or not, seven zeros, length of the code, zeros, digest ----
 */

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

/* ---- the folder ---- */

static void path_of(char path[PATH], const char *cache)
{
    (void)snprintf(path, PATH, "%s/cubins", cache);
}

/* Open the folder if it is only ours. -1, with `absent` or why. */
static int open_folder(const char *path, int *absent, char why[STORE_WHY])
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const char *flaw = NULL;
    struct stat st;

    *absent = fd < 0 && errno == ENOENT;
    if (*absent) return -1;
    if (fd < 0) return store_messages(why, path, "open this folder", errno) - 1;
    if (fstat(fd, &st) != 0)
        flaw = strerror(errno);
    else if (st.st_uid != geteuid())
        flaw = "it belongs to another user";
    else if (st.st_mode & (S_IWGRP | S_IWOTH))
        flaw = "other users can write there";
    if (!flaw) return fd;
    (void)close(fd);
    (void)snprintf(why, STORE_WHY, "%.300s: not used: %s", path, flaw);
    return -1;
}

/* ---- reading ---- */

/* what tells against a file of ours; NULL: nothing */
static const char *distrust(const struct stat *st)
{
    if (!S_ISREG(st->st_mode)) return "it is not a regular file";
    if (st->st_uid != geteuid()) return "it belongs to another user";
    if (st->st_mode & (S_IWGRP | S_IWOTH)) return "other users can write it";
    if (st->st_size <= CUBIN_HEADER || st->st_size > CUBIN_MOST)
        return "it has not the size of such a file";
    return NULL;
}

/* NULL: out holds the code; else what is wrong with the file, or errno for it */
static const char *read_file(int fd, const unsigned char key[CUBIN_KEY], struct cubin *out,
                             int *error)
{
    unsigned char header[CUBIN_HEADER] = {0}, expected[CUBIN_HEADER];
    const char *flaw;
    struct stat st;
    size_t n;

    *error = 0;
    if (fstat(fd, &st) != 0) {
        *error = errno;
        return "";
    }
    flaw = distrust(&st);
    if (flaw) return flaw;
    n = (size_t)st.st_size - CUBIN_HEADER;
    out->bytes = malloc(n);
    if (!out->bytes) *error = ENOMEM;
    if (*error == 0) {
        errno = 0;
        if (store_read(fd, header, sizeof header) != (ssize_t)sizeof header
            || store_read(fd, out->bytes, n) != (ssize_t)n)
            *error = errno;
        out->size = n;
        out->ptx = header[AT_PTX];
    }
    if (*error != 0) return "";
    make_header(key, out, expected);
    return memcmp(header, expected, sizeof header) == 0 ? NULL : "it is damaged";
}

enum cubin_state cubin_load(const char *cache, const unsigned char key[CUBIN_KEY],
                            struct cubin *out, char why[STORE_WHY])
{
    enum cubin_state state = CUBIN_FOUND;
    const char *flaw = NULL;
    char path[PATH], name[NAME];
    int absent, error = 0, fd, folder;

    memset(out, 0, sizeof *out);
    path_of(path, cache);
    folder = open_folder(path, &absent, why);
    if (folder < 0) return absent ? CUBIN_ABSENT : CUBIN_REFUSED;
    name_of(key, name);
    /* O_NONBLOCK: a pipe in its place does not stop us */
    fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0)
        flaw = read_file(fd, key, out, &error);
    else if (errno == ELOOP || errno == ENXIO)
        flaw = "it is not a regular file";
    else if (errno == ENOENT)
        state = CUBIN_ABSENT;
    else
        error = errno;
    if (error != 0) {
        state = CUBIN_REFUSED;
        (void)store_messages(why, path, "read a file of this folder", error);
    } else if (flaw) {
        state = CUBIN_DAMAGED;
        (void)snprintf(why, STORE_WHY, "%.300s/%.12s...%s: %s, for %s", path, name, ending,
                       unlinkat(folder, name, 0) == 0 ? "removed" : "ignored", flaw);
    } else if (fd >= 0) {
        (void)futimens(fd, NULL); /* now the last to be removed */
    }
    if (state != CUBIN_FOUND) cubin_free(out);
    if (fd >= 0) (void)close(fd);
    (void)close(folder);
    return state;
}

/* ---- writing ---- */

struct entry {
    char name[NAME];
    uint64_t size;
    struct timespec used;
};

struct listing {
    struct entry *entries;
    size_t n, room;
};

static int ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);

    return n >= m && strcmp(name + n - m, end) == 0;
}

/* whether it is one of the names that this file makes */
static int is_ours(const char *name)
{
    return strspn(name, "0123456789abcdef") == (size_t)2 * CUBIN_KEY
           && strlen(name) < (size_t)NAME
           && (strcmp(name + 2L * CUBIN_KEY, ending) == 0 || ends_with(name, unfinished));
}

/* 0: no memory */
static int add_entry(struct listing *list, const char *name, const struct stat *st)
{
    struct entry *entry;

    if (list->n == list->room) {
        const size_t room = 2 * list->room + 64;

        entry = realloc(list->entries, room * sizeof *entry);
        if (!entry) return 0;
        list->entries = entry;
        list->room = room;
    }
    entry = &list->entries[list->n++];
    (void)snprintf(entry->name, sizeof entry->name, "%s", name);
    entry->size = (uint64_t)st->st_size;
    entry->used = st->st_mtim;
    return 1;
}

/* the files that count; what killed processes left unfinished is removed on the way */
static void list_files(int folder, struct listing *list)
{
    const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *found;
    int more = 1;

    if (fd >= 0 && !dir) (void)close(fd);
    while (dir && more && (found = readdir(dir))) {
        const char *name = found->d_name;
        struct stat st;

        if (!is_ours(name) || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (!ends_with(name, unfinished))
            more = add_entry(list, name, &st);
        else if (st.st_mtim.tv_sec + STALE_S < time(NULL))
            (void)unlinkat(folder, name, 0);
    }
    if (dir) (void)closedir(dir);
}

static int by_age(const void *one, const void *other)
{
    const struct timespec *a = &((const struct entry *)one)->used;
    const struct timespec *b = &((const struct entry *)other)->used;

    if (a->tv_sec != b->tv_sec) return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* Remove the oldest until what is left is no more than `most` bytes; how many. */
static uint64_t make_room(int folder, uint64_t most)
{
    struct listing list = {0};
    uint64_t sum = 0, removed = 0;

    list_files(folder, &list);
    if (list.n > 0) qsort(list.entries, list.n, sizeof *list.entries, by_age);
    for (size_t i = 0; i < list.n; i++) sum += list.entries[i].size;
    for (size_t i = 0; i < list.n && sum > most; i++) {
        if (unlinkat(folder, list.entries[i].name, 0) == 0) removed++;
        sum -= list.entries[i].size;
    }
    free(list.entries);
    return removed;
}

/* 0, or errno */
static int write_file(int folder, const unsigned char key[CUBIN_KEY],
                      const struct cubin *cubin)
{
    const size_t n = CUBIN_HEADER + cubin->size;
    unsigned char *bytes = malloc(n);
    char name[NAME], temporary[NAME];
    struct timespec now = {0};
    int error = ENOMEM;

    name_of(key, name);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)snprintf(temporary, sizeof temporary, "%.64s.%ld-%ld%s", name, (long)getpid(),
                   now.tv_nsec, unfinished);
    if (bytes) {
        make_header(key, cubin, bytes);
        memcpy(bytes + CUBIN_HEADER, cubin->bytes, cubin->size);
        error = store_replace(folder, name, temporary, bytes, n);
    }
    free(bytes);
    return error;
}

int cubin_store(const char *cache, uint64_t limit, const unsigned char key[CUBIN_KEY],
                const struct cubin *cubin, uint64_t *removed, char why[STORE_WHY])
{
    const uint64_t n = CUBIN_HEADER + (uint64_t)cubin->size;
    char path[PATH];
    int absent, error, folder;

    *removed = 0;
    path_of(path, cache);
    if (n > CUBIN_MOST || n > limit) return store_messages(why, path, "keep a file", EFBIG);
    if (!store_make_folder(path, why)) return 0;
    folder = open_folder(path, &absent, why);
    if (absent) return store_messages(why, path, "open this folder", ENOENT);
    if (folder < 0) return 0;
    *removed = make_room(folder, limit - n);
    error = write_file(folder, key, cubin);
    (void)close(folder);
    return error == 0 ? 1 : store_messages(why, path, "write a file of this folder", error);
}
