/* store.c - what needs the system's calls for files. SPDX-License-Identifier: MIT */
#include "base/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"

int store_messages(char why[STORE_WHY], const char *path, const char *verb, int error)
{
    (void)snprintf(why, STORE_WHY, "%.300s: cannot %s: %s", path, verb, strerror(error));
    return 0;
}

int store_make_folder(const char *folder, char why[STORE_WHY])
{
    char path[ENV_PATH + 32];
    struct stat st;

    if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode)) return 1;
    if ((size_t)snprintf(path, sizeof path, "%s", folder) >= sizeof path)
        return store_messages(why, folder, "make this folder", ENAMETOOLONG);
    for (char *at = path + 1;; at++) {
        const char rest = *at;

        if (rest != '/' && rest != '\0') continue;
        *at = '\0';
        if (stat(path, &st) != 0 && mkdir(path, 0700) != 0 && errno != EEXIST)
            return store_messages(why, path, "make this folder", errno);
        if (rest == '\0') return 1;
        *at = rest;
    }
}

ssize_t store_read(int fd, void *bytes, size_t most)
{
    size_t used = 0;

    while (used < most) {
        const ssize_t got = read(fd, (char *)bytes + used, most - used);

        if (got == 0) break;
        if (got > 0)
            used += (size_t)got;
        else if (errno != EINTR)
            return -1;
    }
    return (ssize_t)used;
}

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

int store_replace(int at, const char *name, const char *temporary, const void *bytes,
                  size_t n)
{
    const int fd =
        openat(at, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = 0;

    if (fd < 0) return errno;
    if (!write_all(fd, bytes, n)) error = errno;
    if (close(fd) != 0 && errno != EINTR && error == 0) error = errno;
    if (error == 0 && renameat(at, temporary, at, name) != 0) error = errno;
    if (error != 0) (void)unlinkat(at, temporary, 0);
    return error;
}
