/*
 * steady_file.h - a file that is opened more than once: the content of a pipe is copied
 * first.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_FIT_STEADY_FILE_H
#define NB_CLI_FIT_STEADY_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "nanobrag_command/message.h"

struct steady_file {
    const char *name; /* as the user wrote it */
    char path[32]; /* of the copy; "": the file is opened by its name */
    FILE *copy;
};

/* Begins with a file, which need not exist. Up to `most` bytes of a pipe are copied, and
 * one byte more if it is longer. Returns 0 or the exit status. */
int steady_file_begin(struct messages *messages, const char *name, size_t most,
                      struct steady_file *out);
void steady_file_end(struct steady_file *file);

/* The path to open. */
const char *steady_file_path(const struct steady_file *file);

/* Writes a message of the library about that path, with the name in its place. */
void steady_file_message(const struct steady_file *file, const char *message, char *out,
                         size_t size);

#endif
