/*
 * file.h - whole files: read within a limit, written complete or not at all.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_FILE_H
#define NB_IO_FILE_H

#include <stddef.h>

#include <nanobrag/context.h>

/*
 * All bytes of a file (or pipe) of at most `limit` bytes; free() them. An empty file gives
 * memory and n = 0. NB_ERR_FORMAT when it holds more.
 */
nb_status file_read(nb_context *ctx, const char *path, size_t limit, unsigned char **bytes,
                    size_t *n);

/* Size of a regular file; -1 for anything else. */
long long file_size(const char *path);

/*
 * A file that is being written. Pieces go to a temporary file beside the target;
 * file_end() puts it in the target's place. The first failure sticks: later pieces are
 * dropped, file_end() removes the temporary file and returns that failure.
 */
struct file_out {
    nb_context *ctx;
    const char *path; /* as the caller gave it, for messages */
    char *target, *temporary; /* both NULL when the target is written directly */
    int fd;
    nb_status status;
};

nb_status file_begin(nb_context *ctx, const char *path, struct file_out *out);

/* `n` bytes are about to be put: let the file system look for room once. */
void file_expect(const struct file_out *out, size_t n);
void file_put(struct file_out *out, const void *bytes, size_t n);
nb_status file_end(struct file_out *out);

/* Put "name: " before the message of a failure that could not know the file. */
nb_status file_fail(nb_context *ctx, nb_status status, const char *name);

#endif
