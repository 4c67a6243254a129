/*
 * file.h - reads a whole file up to a limit; writes a file completely or not at all.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_FILE_H
#define NB_IO_FILE_H

#include <stddef.h>

#include <nanobrag/context.h>

/* Looks at the first n bytes of the file `name` and refuses a file of another format. Sets
 * *wanted to the number of bytes to read, or to SIZE_MAX if the header does not tell. */
typedef nb_status file_header(nb_context *ctx, const char *name, const void *bytes,
                              size_t n, size_t *wanted);

/* FILE_HEAD bytes are read, or the whole file, before a file_header() is called. */
enum { FILE_HEAD = 1 << 20 };

/*
 * Reads the bytes of a file or pipe, to be released with free(); `header` may be NULL. An
 * empty file gives memory and n = 0. If a signal interrupts a wait, the handler of progress
 * decides whether to go on. Returns NB_ERR_FORMAT if the file has more than `limit` bytes,
 * the failures of `header`, NB_ERR_FILE, NB_ERR_MEMORY, NB_ERR_CANCELLED.
 */
nb_status file_read(nb_context *ctx, const char *path, size_t limit, file_header *header,
                    unsigned char **bytes, size_t *n);

/* Parses n bytes of the file `name`, and stores the result where `to` points. */
typedef nb_status file_parser(nb_context *ctx, const char *name, const void *bytes,
                              size_t n, void *to);

/* A format of files: its name in messages, the most bytes that a file may have, its header
 * or NULL, and its parser. */
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

/* Returns the path of the file `name`; a name that does not start with a slash is relative
 * to the folder of `path`. Release it with free(); NULL without memory. */
char *file_sibling(const char *path, const char *name);

/*
 * A file that is being written. The bytes go to a temporary file beside the target, which
 * file_end() renames to the target. After a failure file_put() does nothing, and file_end()
 * removes the temporary file and returns the failure.
 */
struct file_out {
    nb_context *ctx;
    const char *path; /* path given by the caller, for messages */
    char *target, *temporary; /* both NULL if the target is written directly */
    int made; /* 1: the target was made, empty, for a link that led nowhere */
    int fd;
    nb_status status;
};

/* Begins to write a file. Refuses a link or a file that the system does not open for
 * writing, and any name that it cannot look up for another reason than that it does not
 * exist. */
nb_status file_begin(nb_context *ctx, const char *path, struct file_out *out);

/* Allocates n bytes on the disk in advance. */
void file_preallocate(const struct file_out *out, size_t n);

/* Writes n bytes. */
void file_put(struct file_out *out, const void *bytes, size_t n);

/* For a file that is not written from its start to its end: write n bytes at an offset,
 * read some back, with 0 beyond the end of the file, and set its size. Each does nothing
 * after a failure, but reading then still fills its bytes. */
void file_put_at(struct file_out *out, const void *bytes, size_t n, long long offset);
void file_get_at(struct file_out *out, void *bytes, size_t n, long long offset);

/* As file_put_at(), but if there is no room, as on a full disk, returns an errno and does
 * not count it as a failure of the file; else 0. */
int file_try_put_at(struct file_out *out, const void *bytes, size_t n, long long offset);

/* Returns the failure to write for lack of room; `kept` describes the part that was kept,
 * or is NULL. */
nb_status file_fail_room(const struct file_out *out, int error, const char *kept);

/* Keeps n bytes of the file's disk free for its end. *reserve is a descriptor, -1 before
 * the first call. Returns 0, or an errno if there is no room. */
int file_reserve(const struct file_out *out, size_t n, int *reserve);

/* Returns the largest size that the system allows a file to have; 0: any. */
long long file_most(void);
void file_reserve_end(int *reserve);
void file_resize(struct file_out *out, long long n);

/* Ends the file; returns the first failure. */
nb_status file_end(struct file_out *out);

/* Puts "name: " before the message of a failure in a function that does not know
 * the file. */
nb_status file_fail(nb_context *ctx, nb_status status, const char *name);

#endif
