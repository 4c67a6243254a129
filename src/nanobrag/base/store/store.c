/*
 * store.c - reads, replaces and removes the files of a cache, and checks who may have
 * written them. Nothing is locked: a file is complete before it gets its name, and a
 * process that reads a file while another one removes it can read to the end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

/* A file is named NAME + ending. While it is written, ".", two numbers and ".tmp" follow.
 * Files that a killed process left unfinished are removed after STALE_S seconds. */
enum { UNFINISHED_NAME = STORE_NAME + 64, STALE_S = 600, ATTEMPTS = 100 };

static const char unfinished[] = ".tmp";

struct store store_in(const char *cache, const char *name, const char *ending,
                      uint64_t file_limit, uint64_t limit)
{
    struct store store = {"", ending, file_limit, limit};

    (void)snprintf(store.folder, sizeof store.folder, "%s/%s", cache, name);
    return store;
}

/* Write "PATH: cannot VERB: ERROR" to `why`, with "PATH/NAME" if there is a name. */
static void explain(char why[STORE_WHY], const struct store *store, const char *name,
                    const char *verb, int error)
{
    (void)snprintf(why, STORE_WHY, "%.250s%s%.90s: cannot %s: %.90s", store->folder,
                   name ? "/" : "", name ? name : "", verb, strerror(error));
}

/* ---- the folder ---- */

/* Create the folder and its parents. Returns 0, with the reason in `why`, if that
 * failed. */
static int make_folder(const struct store *store, char why[STORE_WHY])
{
    char path[STORE_PATH];
    struct stat st;

    if (stat(store->folder, &st) == 0) return 1;
    (void)snprintf(path, sizeof path, "%s", store->folder);
    for (char *at = path + 1;; at++) {
        const char rest = *at;

        if (rest != '/' && rest != '\0') continue;
        *at = '\0';
        if (stat(path, &st) != 0 && mkdir(path, 0700) != 0 && errno != EEXIST) {
            explain(why, store, NULL, "make this folder", errno);
            return 0;
        }
        if (rest == '\0') return 1;
        *at = rest;
    }
}

static const char *distrust(const struct stat *st)
{
    if (st->st_uid != geteuid() && st->st_uid != 0) return "it belongs to another user";
    if (st->st_mode & (S_IWGRP | S_IWOTH)) return "other users can write it";
    return NULL;
}

/* Open the folder. Returns -1 if that failed: either *absent is 1, or `why` has the
 * reason. */
static int open_folder(const struct store *store, int *absent, char why[STORE_WHY])
{
    const int fd = open(store->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int error = fd < 0 ? errno : 0;
    const char *flaw;
    struct stat st;

    *absent = error == ENOENT || (error == ENOTDIR && lstat(store->folder, &st) != 0);
    if (fd < 0) {
        if (!*absent) explain(why, store, NULL, "open this folder", error);
        return -1;
    }
    flaw = fstat(fd, &st) == 0 ? distrust(&st) : strerror(errno);
    if (!flaw) return fd;
    (void)close(fd);
    (void)snprintf(why, STORE_WHY, "%.300s: not used: %.90s", store->folder, flaw);
    return -1;
}

static int make_and_open_folder(const struct store *store, char why[STORE_WHY])
{
    int absent = 0, fd = -1;

    if (make_folder(store, why)) fd = open_folder(store, &absent, why);
    if (absent) explain(why, store, NULL, "open this folder", ENOENT);
    return fd;
}

/* ---- reading ---- */

/* Read n bytes. Returns 0 if there were fewer: at the end of the file errno is 0, else it
 * is the error. */
static int read_all(int fd, unsigned char *bytes, size_t n)
{
    errno = 0;
    while (n > 0) {
        const ssize_t got = read(fd, bytes, n);

        if (got > 0) {
            bytes += got;
            n -= (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            return 0;
        }
    }
    return 1;
}

/* Read a file. Returns NULL or the fault of the file. *error is set if reading failed for a
 * reason outside the file. */
static const char *read_file(const struct store *store, int fd, struct store_bytes *out,
                             int *error)
{
    const char *flaw;
    struct stat st;

    if (fstat(fd, &st) != 0) {
        *error = errno;
        return NULL;
    }
    if (!S_ISREG(st.st_mode)) return "it is not a regular file";
    flaw = distrust(&st);
    if (flaw) return flaw;
    if ((uint64_t)st.st_size > store->file_limit) return "it is too large";
    out->size = (size_t)st.st_size;
    out->bytes = malloc(out->size + 1);
    if (!out->bytes) {
        *error = ENOMEM;
        return NULL;
    }
    out->bytes[out->size] = '\0';
    if (read_all(fd, out->bytes, out->size)) return NULL;
    *error = errno;
    return *error ? NULL : "it became shorter while it was read";
}

/* Remove a file by its name, unless the name belongs to another file than the opened `fd`
 * by now. Returns 1 if it was removed. */
static int remove_same(int folder, const char *name, int fd)
{
    struct stat opened, named;

    if (fd >= 0
        && (fstat(fd, &opened) != 0
            || fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) != 0
            || opened.st_ino != named.st_ino || opened.st_dev != named.st_dev))
        return 0;
    return unlinkat(folder, name, 0) == 0;
}

enum store_state store_load(const struct store *store, const char *name,
                            store_verify *verify, const void *user, struct store_bytes *out,
                            char why[STORE_WHY])
{
    enum store_state state = STORE_FOUND;
    const char *flaw = NULL;
    int absent, error = 0, fd, folder = open_folder(store, &absent, why);

    *out = (struct store_bytes){0};
    if (folder < 0) return absent ? STORE_ABSENT : STORE_REFUSED;
    /* O_NONBLOCK: if a pipe has this name, opening it does not wait */
    fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0)
        flaw = read_file(store, fd, out, &error);
    else if (errno == ELOOP || errno == ENXIO)
        flaw = "it is not a regular file";
    else
        error = errno;
    if (fd >= 0 && !flaw && error == 0 && verify) flaw = verify(user, out);
    if (error == ENOENT) {
        state = STORE_ABSENT;
    } else if (error != 0) {
        state = STORE_REFUSED;
        explain(why, store, name, "read", error);
    } else if (flaw) {
        state = STORE_DAMAGED;
        (void)snprintf(why, STORE_WHY, "%.250s/%.90s: %s, for %.90s", store->folder, name,
                       remove_same(folder, name, fd) ? "removed" : "ignored", flaw);
    } else {
        (void)futimens(fd, NULL); /* now the most recently used file */
    }
    if (state != STORE_FOUND) free(out->bytes);
    if (state != STORE_FOUND) *out = (struct store_bytes){0};
    if (fd >= 0) (void)close(fd);
    (void)close(folder);
    return state;
}

/* ---- removing ---- */

struct listed {
    char name[UNFINISHED_NAME];
    uint64_t size;
    struct timespec used;
};

struct stored {
    struct listed *files;
    size_t n, capacity;
};

static int ends_with(const char *name, const char *ending)
{
    const size_t n = strlen(name), m = strlen(ending);

    return n > m && strcmp(name + n - m, ending) == 0;
}

/* Returns 1 if a name ends like ENDING.123-456.tmp, the name of an unfinished file. */
static int is_unfinished(const struct store *store, const char *name)
{
    const char *at = strstr(name, store->ending);

    if (!at || !ends_with(name, unfinished)) return 0;
    at += strlen(store->ending);
    return *at == '.' && at[1 + strspn(at + 1, "0123456789-")] == '.';
}

/* Append a file to a list. Returns 0 if there is no memory. */
static int add_listed(struct stored *list, const char *name, const struct stat *st)
{
    const size_t length = strlen(name);
    struct listed *file;

    /* the store itself never writes such a long name */
    if (length >= sizeof file->name) return 1;
    if (list->n == list->capacity) {
        const size_t capacity = 2 * list->capacity + 64;

        file = realloc(list->files, capacity * sizeof *file);
        if (!file) return 0;
        list->files = file;
        list->capacity = capacity;
    }
    file = &list->files[list->n++];
    memcpy(file->name, name, length + 1);
    file->size = (uint64_t)st->st_size;
    file->used = st->st_mtim;
    return 1;
}

/* List the files of the store except `but`, and remove files that killed processes left
 * unfinished more than STALE_S seconds ago. */
static void list_files(const struct store *store, int folder, const char *but,
                       struct stored *list)
{
    const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *found;
    int more = 1;

    if (fd >= 0 && !dir) (void)close(fd);
    while (dir && more && (found = readdir(dir))) {
        const char *name = found->d_name;
        struct stat st;

        if (strlen(name) >= UNFINISHED_NAME || strcmp(name, but) == 0
            || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (ends_with(name, store->ending))
            more = add_listed(list, name, &st);
        else if (is_unfinished(store, name) && st.st_mtim.tv_sec + STALE_S < time(NULL))
            (void)unlinkat(folder, name, 0);
    }
    if (dir) (void)closedir(dir);
}

static int by_age(const void *one, const void *other)
{
    const struct timespec *a = &((const struct listed *)one)->used;
    const struct timespec *b = &((const struct listed *)other)->used;

    if (a->tv_sec != b->tv_sec) return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* Remove the least recently used files, but not `but`, until the remaining files have at
 * most `most` bytes. Returns how many were removed. */
static uint64_t trim(const struct store *store, int folder, const char *but, uint64_t most)
{
    struct stored list = {0};
    uint64_t sum = 0, removed = 0;

    list_files(store, folder, but, &list);
    if (list.n > 0) qsort(list.files, list.n, sizeof *list.files, by_age);
    for (size_t i = 0; i < list.n; i++) sum += list.files[i].size;
    for (size_t i = 0; i < list.n && sum > most; i++) {
        if (unlinkat(folder, list.files[i].name, 0) == 0) removed++;
        sum -= list.files[i].size;
    }
    free(list.files);
    return removed;
}

/* ---- writing ---- */

/* Write n bytes and flush them to the disk. Returns 0, with errno, if that failed. */
static int write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t done = write(fd, bytes, n);

        if (done > 0) {
            bytes += done;
            n -= (size_t)done;
        } else if (done == 0 || errno != EINTR) {
            if (done == 0) errno = EIO;
            return 0;
        }
    }
    /* some file systems do not have fsync() */
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
}

/* Create a file with a temporary name that no other file has. Returns its descriptor, or -1
 * with errno. */
static int create_unfinished(int folder, const char *name, char temporary[UNFINISHED_NAME])
{
    struct timespec now = {0};
    int fd = -1;

    for (int i = 0; i < ATTEMPTS && fd < 0; i++) {
        (void)clock_gettime(CLOCK_REALTIME, &now);
        (void)snprintf(temporary, UNFINISHED_NAME, "%.*s.%ld-%ld%s", STORE_NAME, name,
                       (long)getpid(), now.tv_nsec, unfinished);
        fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0600);
        if (fd < 0 && errno != EEXIST) break;
    }
    return fd;
}

/* Replace a file. Returns 0, or errno if that failed; the old file is then unchanged. */
static int replace(int folder, const char *name, const void *bytes, size_t n)
{
    char temporary[UNFINISHED_NAME];
    const int fd = create_unfinished(folder, name, temporary);
    int error = 0;

    if (fd < 0) return errno;
    if (!write_all(fd, bytes, n)) error = errno;
    if (close(fd) != 0 && errno != EINTR && error == 0) error = errno;
    if (error == 0 && renameat(folder, temporary, folder, name) != 0) error = errno;
    if (error != 0) (void)unlinkat(folder, temporary, 0);
    return error;
}

int store_save(const struct store *store, const char *name, const void *bytes, size_t size,
               uint64_t *removed, char why[STORE_WHY])
{
    uint64_t trimmed;
    int error = EFBIG, folder;

    if (!removed) removed = &trimmed;
    *removed = 0;
    if (size <= store->file_limit && size <= store->limit) {
        folder = make_and_open_folder(store, why);
        if (folder < 0) return 0;
        *removed = trim(store, folder, name, store->limit - size);
        error = replace(folder, name, bytes, size);
        (void)close(folder);
    }
    if (error != 0) explain(why, store, name, "write", error);
    return error == 0;
}
