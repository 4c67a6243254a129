/*
 * file.h - reads a whole file up to a limit; writes a file whole or not at all.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_FILE_H
#define NB_IO_FILE_H

#include <stddef.h>

#include <nanobrag/context.h>

/* Looks at the first n bytes of the file `name`, and fails if they are of another
 * format. Sets *wanted to the number of bytes to read, or to SIZE_MAX if these bytes do
 * not tell. */
typedef nb_status file_header(nb_context *ctx, const char *name, const void *bytes,
                              size_t n, size_t *wanted);

/* number of bytes (or the whole file) that are read before a file_header is called */
enum { FILE_HEAD = 1 << 20 };

/*
 * Reads the bytes of a file or pipe; the caller frees *bytes. `header` may be NULL. An
 * empty file gives memory and n = 0. If a signal interrupts a wait, the function of
 * progress in the context decides whether to go on. Returns NB_ERR_FORMAT if the file has
 * more than `limit` bytes, the failures of `header`, NB_ERR_FILE, NB_ERR_MEMORY,
 * NB_ERR_CANCELLED.
 */
nb_status file_read(nb_context *ctx, const char *path, size_t limit, file_header *header,
                    unsigned char **bytes, size_t *n);

/* Parses n bytes of the file `name`, and stores the result where `to` points. */
typedef nb_status file_parser(nb_context *ctx, const char *name, const void *bytes,
                              size_t n, void *to);

/* A format: its name for messages, the most bytes that a file may have, a function for its
 * header or NULL, and its parser. */
struct file_format {
    const char *name;
    size_t limit;
    file_header *header;
    file_parser *parse;
};

/* Reads and parses a file. Returns NB_ERR_ARGUMENT if ctx, path or `to` is NULL, and the
 * errors of file_read() and of the parser. */
nb_status file_parse(nb_context *ctx, const char *path, const struct file_format *format,
                     void *to);

/* Returns the size of a regular file in bytes; -1 for anything else. */
long long file_size(const char *path);

/* Returns the path of the file `name`. If the name does not begin with a slash, the file is
 * in the folder of `path`. The caller frees the result; NULL: no memory. */
char *file_sibling(const char *path, const char *name);

/*
 * A file that is being written. The bytes go to a temporary file beside the target, and
 * file_end() renames it to the target. After a failure file_put() does nothing, and
 * file_end() removes the temporary file and returns the failure.
 */
struct file_out {
    nb_context *ctx;
    const char *path; /* as the caller gave it, for messages */
    char *target, *temporary; /* both NULL if the target is written directly */
    int made; /* 1: a link led nowhere, and an empty target was made for it */
    int fd;
    nb_status status;
};

/* Begins to write a file. Fails if the system does not allow to open a link or file for
 * writing, or if it fails to look up the name for another reason than that the file does
 * not exist. */
nb_status file_begin(nb_context *ctx, const char *path, struct file_out *out);

/* Allocates n bytes on the disk, because the file will be so long. */
void file_preallocate(const struct file_out *out, size_t n);

/* Writes n bytes. */
void file_put(struct file_out *out, const void *bytes, size_t n);

/* For files that are not written from start to end: write n bytes at an offset, read n
 * bytes back (0 beyond the end of the file), and set the size of the file. After a failure
 * none of them does anything, except that reading still fills its bytes. */
void file_put_at(struct file_out *out, const void *bytes, size_t n, long long offset);
void file_get_at(struct file_out *out, void *bytes, size_t n, long long offset);

/* Does the same as file_put_at(), but returns an errno if there is no room, as on a full
 * disk. That is then no failure of the file. Returns 0 otherwise. */
int file_try_put_at(struct file_out *out, const void *bytes, size_t n, long long offset);

/* Fails because there is no room to write. `kept` says in a message what was kept, or is
 * NULL. */
nb_status file_fail_room(const struct file_out *out, int error, const char *kept);

/* Reserves n bytes of the disk, so that the end of the file can be written later even if
 * the disk is full. *reserve is -1 before the first call, then a descriptor. Returns 0, or
 * an errno if there is no room. */
int file_reserve(const struct file_out *out, size_t n, int *reserve);

/* Returns the largest size that a file may have, bytes; 0: no limit. */
long long file_most(void);
void file_reserve_end(int *reserve);
void file_resize(struct file_out *out, long long n);

/* Closes the file and puts it in place. Returns the first failure of the file. */
nb_status file_end(struct file_out *out);

/* Puts "name: " before the message of a failure, which came from a function that does not
 * know the file. */
nb_status file_fail(nb_context *ctx, nb_status status, const char *name);

#endif
