/*
 * wisdom_file.c - wisdom on disk, in a folder that many processes share: a lock, a file
 * that is whole or untouched, and trust in nothing that another user can have written.
 *
 * The lock is fcntl's, which works over NFS too and ends with its process, and lies on a
 * file of its own, since the other is replaced. The temporary file needs one name only: who
 * holds the lock may remove what a killed process left.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/tune/wisdom_book.h"

#ifdef NANOBRAG_CJSON

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/store.h"

enum { PATH = ENV_PATH + 32, NAP_MS = 2 };

static void path_of(char path[PATH], const char *folder, const char *name)
{
    (void)snprintf(path, PATH, "%s/%s", folder, name);
}

/* ---- the lock ---- */

static long long milliseconds(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int wisdom_lock(const char *folder, int patience, char why[WISDOM_WHY])
{
    static const struct timespec nap = {0, NAP_MS * 1000000L};
    const long long until = milliseconds() + patience;
    char path[PATH];

    if (!store_make_folder(folder, why)) return -1;
    path_of(path, folder, "wisdom.lock");
    for (;;) {
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        const int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        struct stat st;
        int error = EAGAIN;

        if (fd < 0) return store_messages(why, path, "open the lock", errno) - 1;
        if (fcntl(fd, F_SETLK, &whole) != 0 || fstat(fd, &st) != 0)
            error = errno;
        else if (st.st_nlink > 0) /* one that was removed locks nothing */
            return fd;
        (void)close(fd);
        if (error != EACCES && error != EAGAIN && error != EINTR)
            return store_messages(why, path, "lock", error) - 1;
        if (milliseconds() >= until) {
            (void)snprintf(why, WISDOM_WHY, "%.300s: locked by another process", path);
            return -1;
        }
        (void)nanosleep(&nap, NULL);
    }
}

void wisdom_unlock(int lock)
{
    (void)close(lock);
}

/* ---- reading ---- */

/* what tells against a file of ours; NULL: nothing */
static const char *distrust(const struct stat *st)
{
    if (!S_ISREG(st->st_mode)) return "is not a regular file";
    if (st->st_mode & (S_IWGRP | S_IWOTH)) return "can be written by other users";
    if (st->st_size > WISDOM_FILE) return "is larger than 1 MiB";
    return NULL;
}

static enum wisdom_state read_open(int fd, const char *path, struct wisdom_book *book,
                                   char why[WISDOM_WHY])
{
    enum wisdom_state state = WISDOM_FAILED;
    char flaw[WISDOM_WHY], *bytes;
    struct stat st;
    ssize_t n;

    if (fstat(fd, &st) != 0) {
        (void)store_messages(why, path, "read", errno);
        return WISDOM_FAILED;
    }
    /* nor is it replaced: it may be root who is using a user's folder now */
    if (st.st_uid != geteuid() && st.st_uid != 0) {
        (void)snprintf(why, WISDOM_WHY, "%.300s: ignored, for it belongs to another user",
                       path);
        return WISDOM_FAILED;
    }
    if (distrust(&st)) {
        (void)snprintf(why, WISDOM_WHY, "%.300s: ignored, for it %s", path, distrust(&st));
        return WISDOM_DAMAGED;
    }
    bytes = malloc((size_t)st.st_size + 1);
    n = bytes ? store_read(fd, bytes, (size_t)st.st_size) : -1;
    if (n < 0) {
        (void)store_messages(why, path, "read", bytes ? errno : ENOMEM);
    } else {
        bytes[n] = '\0';
        state = wisdom_parse(bytes, (size_t)n, book, flaw);
        if (state != WISDOM_GOOD)
            (void)snprintf(why, WISDOM_WHY, "%.300s: damaged, ignored: %.150s", path, flaw);
    }
    free(bytes);
    return state;
}

enum wisdom_state wisdom_read(const char *folder, struct wisdom_book *book,
                              char why[WISDOM_WHY])
{
    enum wisdom_state state;
    char path[PATH];
    int fd;

    path_of(path, folder, "wisdom.json");
    /* O_NONBLOCK: a pipe in its place does not stop us */
    do fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return WISDOM_ABSENT;
    if (fd < 0 && (errno == ELOOP || errno == ENXIO)) {
        (void)snprintf(why, WISDOM_WHY, "%.300s: ignored, for it is not a regular file",
                       path);
        return WISDOM_DAMAGED;
    }
    if (fd < 0) {
        (void)store_messages(why, path, "read", errno);
        return WISDOM_FAILED;
    }
    state = read_open(fd, path, book, why);
    (void)close(fd);
    return state;
}

/* ---- writing ---- */

int wisdom_write(const char *folder, struct wisdom_book *book, char why[WISDOM_WHY])
{
    char path[PATH], temporary[PATH];
    char *text = wisdom_print(book);
    int error = ENOMEM;

    path_of(path, folder, "wisdom.json");
    path_of(temporary, folder, "wisdom.json.tmp");
    if (text) {
        (void)unlink(temporary);
        error = store_replace(AT_FDCWD, path, temporary, text, strlen(text));
    }
    free(text);
    return error == 0 ? 1 : store_messages(why, path, "write", error);
}

#endif
