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
#include "compile/wisdom_book.h"

#ifdef NANOBRAG_CJSON

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH = ENV_PATH + 32, NAP_MS = 2 };

static void path_of(char path[PATH], const char *folder, const char *name)
{
    (void)snprintf(path, PATH, "%s/%s", folder, name);
}

/* the line about a call of the system that failed; returns 0 */
static int say(char why[WISDOM_WHY], const char *path, const char *verb, int error)
{
    (void)snprintf(why, WISDOM_WHY, "%.300s: cannot %s: %s", path, verb, strerror(error));
    return 0;
}

/* ---- the lock ---- */

/* make a folder and those it lies in, for their owner alone */
static int make_folder(const char *folder, char why[WISDOM_WHY])
{
    char path[PATH];
    struct stat st;

    if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode)) return 1;
    (void)snprintf(path, sizeof path, "%s", folder);
    for (char *at = path + 1;; at++) {
        const char rest = *at;

        if (rest != '/' && rest != '\0') continue;
        *at = '\0';
        if (stat(path, &st) != 0 && mkdir(path, 0700) != 0 && errno != EEXIST)
            return say(why, path, "make this folder", errno);
        if (rest == '\0') return 1;
        *at = rest;
    }
}

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

    if (!make_folder(folder, why)) return -1;
    path_of(path, folder, "wisdom.lock");
    for (;;) {
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        const int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        struct stat st;
        int error = EAGAIN;

        if (fd < 0) return say(why, path, "open the lock", errno) - 1;
        if (fcntl(fd, F_SETLK, &whole) != 0 || fstat(fd, &st) != 0)
            error = errno;
        else if (st.st_nlink > 0) /* one that was removed locks nothing */
            return fd;
        (void)close(fd);
        if (error != EACCES && error != EAGAIN && error != EINTR)
            return say(why, path, "lock", error) - 1;
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

/* all there is, at most `most` bytes; -1 with errno */
static ssize_t read_all(int fd, char *bytes, size_t most)
{
    size_t used = 0;

    while (used < most) {
        const ssize_t got = read(fd, bytes + used, most - used);

        if (got == 0) break;
        if (got > 0)
            used += (size_t)got;
        else if (errno != EINTR)
            return -1;
    }
    return (ssize_t)used;
}

static enum wisdom_state read_open(int fd, const char *path, struct wisdom_book *book,
                                   char why[WISDOM_WHY])
{
    enum wisdom_state state = WISDOM_FAILED;
    char flaw[WISDOM_WHY], *bytes;
    struct stat st;
    ssize_t n;

    if (fstat(fd, &st) != 0) {
        (void)say(why, path, "read", errno);
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
    n = bytes ? read_all(fd, bytes, (size_t)st.st_size) : -1;
    if (n < 0) {
        (void)say(why, path, "read", bytes ? errno : ENOMEM);
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
        (void)say(why, path, "read", errno);
        return WISDOM_FAILED;
    }
    state = read_open(fd, path, book, why);
    (void)close(fd);
    return state;
}

/* ---- writing ---- */

/* 0: with errno */
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
    /* not every file system knows how */
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
}

int wisdom_write(const char *folder, struct wisdom_book *book, char why[WISDOM_WHY])
{
    char path[PATH], temporary[PATH];
    char *text = wisdom_print(book);
    int fd, error = 0;

    path_of(path, folder, "wisdom.json");
    path_of(temporary, folder, "wisdom.json.tmp");
    if (!text) return say(why, path, "write", ENOMEM);
    (void)unlink(temporary);
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) error = errno;
    if (error == 0 && !write_all(fd, text, strlen(text))) error = errno;
    if (fd >= 0 && close(fd) != 0 && errno != EINTR && error == 0) error = errno;
    if (error == 0 && rename(temporary, path) != 0) error = errno;
    if (error != 0 && fd >= 0) (void)unlink(temporary);
    free(text);
    return error == 0 ? 1 : say(why, path, "write", error);
}

#endif
