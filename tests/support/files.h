/*
 * files.h - what test programs need that work on files: a folder of their own, removed at
 * the end, whole files, and the checks on a refusal.
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

/* tap_main() with a context and a folder; the folder is removed afterwards. */
int files_main(int argc, char **argv, const struct tap_case *cases, size_t n);

/* A path in the folder ("" is the folder); valid until the fourth call after. */
const char *in_folder(const char *name);

/* Remove what is in the folder. */
void empty_folder(void);

int count_files(const char *path);
void put(const char *path, const void *bytes, size_t n);

/* All bytes, NUL added; free() them. No file: n = 0. */
char *slurp(const char *path, size_t *n);

/* Whether a file is just these bytes. */
int holds(const char *path, const void *bytes, size_t n);

/* NB_OK is expected. */
void check_ok(nb_status status, const char *what);

/* This status is expected, and a message of one line that has both parts. */
void check_refused(nb_status status, nb_status expected, const char *part,
                   const char *other);

#endif
