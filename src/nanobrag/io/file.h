/*
 * file.h - reads a whole file up to a limit; writes a file completely or not at all.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_FILE_H
#define NB_IO_FILE_H

#include <stddef.h>

#include <nanobrag/context.h>

/*
 * Reads all bytes of a file or pipe, to be released with free(). An empty file gives memory
 * and n = 0. Returns NB_ERR_FORMAT if it has more than `limit` bytes, NB_ERR_FILE,
 * NB_ERR_MEMORY.
 */
nb_status file_read(nb_context *ctx, const char *path, size_t limit, unsigned char **bytes,
                    size_t *n);

/* Parses n bytes of the file `name`, and writes the result to what `to` points to. */
typedef nb_status file_parser(nb_context *ctx, const char *name, const void *bytes,
                              size_t n, void *to);

/* A format of files: its name in messages, the most bytes that a file may have, and its
 * parser. */
struct file_format {
    const char *name;
    size_t limit;
    file_parser *parse;
};

/* Reads and parses a file. Returns NB_ERR_ARGUMENT if ctx, path or `to` is NULL, and the
 * errors of file_read() and of the parser. */
nb_status file_parse(nb_context *ctx, const char *path, const struct file_format *format,
                     void *to);

/* Returns the size of a regular file in bytes; -1 for anything else. */
long long file_size(const char *path);

/*
 * A file that is being written. The bytes go to a temporary file beside the target, which
 * file_end() renames to the target. After a failure file_put() does nothing, and file_end()
 * removes the temporary file and returns the failure.
 */
struct file_out {
    nb_context *ctx;
    const char *path; /* path given by the caller, for messages */
    char *target, *temporary; /* both NULL if the target is written directly */
    int fd;
    nb_status status;
};

/* Begins to write a file. */
nb_status file_begin(nb_context *ctx, const char *path, struct file_out *out);

/* Allocates n bytes on the disk in advance. */
void file_preallocate(const struct file_out *out, size_t n);

/* Writes n bytes. */
void file_put(struct file_out *out, const void *bytes, size_t n);

/* Ends the file; returns the first failure. */
nb_status file_end(struct file_out *out);

/* Puts "name: " before the message of a failure in a function that does not know
 * the file. */
nb_status file_fail(nb_context *ctx, nb_status status, const char *name);

#endif
