/*
 * steady_file.h - a file that can be opened several times. A pipe can be read only once, so
 * its content is copied.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_FIT_STEADY_FILE_H
#define NB_CLI_FIT_STEADY_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "nanobrag_command/message.h"

struct steady_file {
    const char *name; /* as the user wrote it */
    char *path; /* of the copy, or of FILE where the name is FILE:FRAME; NULL: the name */
    long long frame; /* of FILE:FRAME; else 0 */
    FILE *copy;
};

/* Begins with a file, which need not exist. The name may be FILE:FRAME. Of a pipe up to
 * most + 1 bytes are copied; the last one shows that it is longer than `most`. Returns 0 or
 * the exit status. */
int steady_file_begin(struct messages *messages, const char *name, size_t most,
                      struct steady_file *out);
void steady_file_end(struct steady_file *file);

/* Returns the path to open: of the copy, or else of the file, without a frame. */
const char *steady_file_path(const struct steady_file *file);

/* Writes a message of the library to `out`, with the file's name in place of that
 * path. */
void steady_file_message(const struct steady_file *file, const char *message, char *out,
                         size_t size);

#endif
