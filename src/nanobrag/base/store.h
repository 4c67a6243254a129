/*
 * store.h - folders and files of the users' cache, which many processes share: made for
 * their owner alone, and a file is whole or as it was.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_STORE_H
#define NB_BASE_STORE_H

#include <stddef.h>
#include <sys/types.h>

enum { STORE_WHY = 512 }; /* of a line that says what is wrong */

/* The line about a call of the system that failed, "PATH: cannot VERB: ..."; returns 0. */
int store_messages(char why[STORE_WHY], const char *path, const char *verb, int error);

/* Make a folder and those it lies in, where they are missing. 0: it cannot be made. */
int store_make_folder(const char *folder, char why[STORE_WHY]);

/* All there is, at most `most` bytes; -1 with errno. */
ssize_t store_read(int fd, void *bytes, size_t most);

/* Put a file of these bytes in the place of `name`, by way of `temporary`, which must not
 * exist; both below the folder `at`, as with openat(). 0, or errno: all is as it was. */
int store_replace(int at, const char *name, const char *temporary, const void *bytes,
                  size_t n);

#endif
