/*
 * files.h - helps test programs that work on files: it gives each a folder that is removed
 * at the end, reads whole files, and checks how a call is refused.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_FILES_H
#define NB_TESTS_FILES_H

#include <stddef.h>

#include <nanobrag/context.h>

#include "support/tap.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

extern nb_context *ctx;

/* Run tap_main() with a context and a folder, which is removed afterwards. */
int files_main(int argc, char **argv, const struct tap_case *cases, size_t n);

/* Returns a path in the folder ("" is the folder itself), valid until the fourth call after
 * this one. */
const char *in_folder(const char *name);

/* Remove the contents of the folder. */
void empty_folder(void);

int count_files(const char *path);
void put(const char *path, const void *bytes, size_t n);

/* Returns all bytes of a file and a NUL; free() them. If there is no file, n is 0. */
char *slurp(const char *path, size_t *n);

/* Returns 1 if a file consists of just these bytes. */
int holds(const char *path, const void *bytes, size_t n);

/* Check that the status is NB_OK. */
void check_ok(nb_status status, const char *what);

/* Check that the status is the expected one, and that its message is one line that contains
 * both parts. */
void check_refused(nb_status status, nb_status expected, const char *part,
                   const char *other);

/* A file that a reader refuses. */
struct refused_file {
    const char *text;
    size_t n; /* 0: up to the NUL */
    const char *part; /* of the message, beside the name of the file */
};

/* Write its bytes. */
void put_refused(const char *path, const struct refused_file *file);

#endif
