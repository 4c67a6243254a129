/* steady_file.c - copies pipes for reading them again. SPDX-License-Identifier: MIT */
#include "nanobrag_program/fit/steady_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nanobrag_program/progress_line.h"
#include "nanobrag_program/run.h"

enum { BLOCK = 1 << 16 };

/* Copies up to `most` bytes. Returns 0 or an errno; EINTR if the user interrupts. */
static int copy_bytes(int from, FILE *to, size_t most)
{
    char *const block = malloc(BLOCK);
    int error = block ? 0 : ENOMEM;
    while (!error && most > 0) {
        const ssize_t got = read(from, block, most < BLOCK ? most : BLOCK);
        if (got == 0) break;
        if (got < 0 && (errno != EINTR || progress_line_interrupted())) error = errno;
        if (got > 0 && fwrite(block, 1, (size_t)got, to) != (size_t)got) error = errno;
        if (got > 0) most -= (size_t)got;
    }
    free(block);
    return !error && fflush(to) != 0 ? errno : error;
}

static int copy_pipe(struct steady_file *out, size_t most)
{
    int from, error;
    while ((from = open(out->name, O_RDONLY | O_CLOEXEC)) < 0)
        if (errno != EINTR || progress_line_interrupted()) return errno;
    out->copy = tmpfile();
    error = out->copy ? copy_bytes(from, out->copy, most + 1) : errno;
    (void)close(from);
    if (error) return error;
    out->path = malloc(32);
    if (!out->path) return ENOMEM;
    (void)snprintf(out->path, 32, "/dev/fd/%d", fileno(out->copy));
    return 0;
}

/* Divides a name FILE:FRAME; leaves other names alone. Returns an errno. */
static int divide_name(struct steady_file *out)
{
    const char *const colon = strrchr(out->name, ':');
    char *end = NULL;
    struct stat st;
    if (!colon || !isdigit((unsigned char)colon[1])) return 0;
    errno = 0;
    out->frame = strtoll(colon + 1, &end, 10);
    out->path = *end || errno ? NULL : strdup(out->name);
    if (out->path) out->path[colon - out->name] = '\0';
    if (out->path && stat(out->path, &st) == 0) return 0;
    const int error = *end || errno == ERANGE || out->path ? 0 : ENOMEM;
    free(out->path);
    out->path = NULL;
    out->frame = 0;
    return error;
}

int steady_file_begin(struct messages *messages, const char *name, size_t most,
                      struct steady_file *out)
{
    struct stat st;
    *out = (struct steady_file){.name = name};
    const int is_there = stat(name, &st) == 0;
    if (is_there && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) return 0;
    const int error = is_there ? copy_pipe(out, most) : divide_name(out);
    if (!error) return 0;
    if (error == EINTR) return EXIT_INTERRUPTED;
    return message_usage(messages, "%s: cannot be read: %s", name, strerror(error));
}

void steady_file_end(struct steady_file *file)
{
    if (file->copy) (void)fclose(file->copy);
    free(file->path);
    file->copy = NULL;
    file->path = NULL;
}

const char *steady_file_path(const struct steady_file *file)
{
    return file->path ? file->path : file->name;
}

void steady_file_message(const struct steady_file *file, const char *message, char *out,
                         size_t size)
{
    const size_t n = file->path ? strlen(file->path) : 0;
    const int names_it = n > 0 && strncmp(message, file->path, n) == 0;
    (void)snprintf(out, size, "%s%s", names_it ? file->name : "",
                   names_it ? message + n : message);
}
