/*
 * file.c - reads whole files. Writes a file so that others find either the whole new file
 * or, after a failure, the old one.
 *
 * There is no fsync(): the last image before a power cut may be lost. Pipes and devices
 * cannot be replaced by rename(), and are written directly.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE // NOLINT(readability-identifier-naming): fallocate

#include "nanobrag_io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nanobrag/io.h>

#include "base/arena.h"
#include "base/context.h"

enum {
    READ_STEP = 1 << 16, /* first size of the buffer if the size of the file is unknown */
    CALL_MAX = 1 << 30, /* bytes for one call of read() or write(); Linux stops at 2 GiB */
    NAME_TRIES = 10000
};

static const char *remedy(int error)
{
    static const struct {
        int error;
        const char *text;
    } remedies[] = {
        {ENOENT, "check the name and that the folder exists"},
        {ENOTDIR, "a part of the path is no folder; check the name"},
        {EISDIR, "give the name of a file"},
        {EACCES, "change its permissions or choose another place"},
        {EPERM, "change its permissions or choose another place"},
        {EROFS, "choose a place that can be written"},
        {ENOSPC, "free some space or choose another place"},
        {EDQUOT, "free some space or choose another place"},
        {EFBIG, "raise the limit on file sizes (ulimit -f) or choose another place"},
        {ENOMEM, "free some memory"},
        {EBUSY, "the links in the path change; write to a folder of your own"},
        {EMFILE, "close some files or raise the limit (ulimit -n)"},
        {ENAMETOOLONG, "choose a shorter name"},
        {ELOOP, "the symbolic links lead in a circle; choose another name"},
    };

    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (remedies[i].error == error) return remedies[i].text;
    return "check the path and the disk";
}

static nb_status fail_system(nb_context *ctx, const char *verb, const char *path, int error)
{
    const nb_status status = error == ENOMEM ? NB_ERR_MEMORY : NB_ERR_FILE;

    return fail(ctx, status, "%s: cannot %s: %s; %s", path, verb, strerror(error),
                remedy(error));
}

nb_status file_fail(nb_context *ctx, nb_status status, const char *name)
{
    char message[CONTEXT_MESSAGE];

    memcpy(message, ctx->message, sizeof message);
    return fail(ctx, status, "%s: %s", name, message);
}

long long file_size(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return -1;
    return (long long)st.st_size;
}

/* ---- reading ---- */

static nb_status fail_size(nb_context *ctx, const char *path, size_t limit)
{
    return fail(ctx, NB_ERR_FORMAT,
                "%s: the file is larger than %zu bytes, the limit for such a file; check "
                "that it is the right file",
                path, limit);
}

/* Called when a signal interrupts a system call. Returns NB_ERR_CANCELLED if the caller's
 * function of progress asks to stop, else NB_OK. */
static nb_status ask_to_go_on(nb_context *ctx, const char *path)
{
    if (!ctx->options.progress || !ctx->options.progress(ctx->options.user, 0))
        return NB_OK;
    return fail(ctx, NB_ERR_CANCELLED, "%s: stopped on request", path);
}

/* Opens a file. Opening a pipe waits until another process opens it, too. */
static nb_status open_file(nb_context *ctx, const char *path, int flags, const char *verb,
                           int *fd)
{
    while ((*fd = open(path, flags | O_CLOEXEC, 0666)) < 0) {
        if (errno != EINTR) return fail_system(ctx, verb, path, errno);
        NB_TRY(ask_to_go_on(ctx, path));
    }
    return NB_OK;
}

/* a file that is being read */
struct reading {
    nb_context *ctx;
    const char *path;
    int fd;
    unsigned long long size; /* size of a regular file; 0 for others */
    unsigned char *block;
    size_t used, capacity;
};

/* Reads on until `end` bytes of the file are in the block, or the file ends. The block
 * grows as needed. */
static nb_status read_up_to(struct reading *in, size_t end)
{
    while (in->used < end) {
        size_t rest = (in->capacity < end ? in->capacity : end) - in->used;
        ssize_t got;

        if (rest == 0) {
            unsigned char *larger = realloc(in->block, 2 * in->capacity);

            if (!larger) return fail_memory(in->ctx, in->path);
            in->block = larger;
            in->capacity *= 2;
            continue;
        }
        got = read(in->fd, in->block + in->used, rest < CALL_MAX ? rest : CALL_MAX);
        if (got == 0) return NB_OK;
        if (got > 0)
            in->used += (size_t)got;
        else if (errno != EINTR)
            return fail_system(in->ctx, "read", in->path, errno);
        else
            NB_TRY(ask_to_go_on(in->ctx, in->path));
    }
    return NB_OK;
}

/* Reads as many bytes as `header` asks for, or the whole file without it. Fails if the file
 * has more than `limit`. */
static nb_status read_all(struct reading *in, size_t limit, file_header *header)
{
    size_t wanted = SIZE_MAX;

    if (header) {
        NB_TRY(read_up_to(in, limit < FILE_HEAD ? limit + 1 : FILE_HEAD));
        NB_TRY(header(in->ctx, in->path, in->block, in->used, &wanted));
    }
    if (wanted > limit && in->size > limit) return fail_size(in->ctx, in->path, limit);
    NB_TRY(read_up_to(in, wanted < limit ? wanted : limit + 1));
    return in->used > limit ? fail_size(in->ctx, in->path, limit) : NB_OK;
}

nb_status file_read(nb_context *ctx, const char *path, size_t limit, file_header *header,
                    unsigned char **bytes, size_t *n)
{
    struct reading in = {.ctx = ctx, .path = path, .capacity = READ_STEP};
    nb_status status = NB_OK;
    struct stat st;

    *bytes = NULL;
    *n = 0;
    NB_TRY(open_file(ctx, path, O_RDONLY, "read", &in.fd));
    if (fstat(in.fd, &st) != 0)
        status = fail_system(ctx, "read", path, errno);
    else if (S_ISREG(st.st_mode))
        in.size = (unsigned long long)st.st_size;
    if (in.size >= READ_STEP && in.size <= limit) in.capacity = (size_t)in.size + 1;
    if (status == NB_OK) {
        in.block = huge_pages_alloc(in.capacity);
        status = in.block ? read_all(&in, limit, header) : fail_memory(ctx, path);
    }
    (void)close(in.fd);
    if (status == NB_OK) {
        *bytes = in.block;
        *n = in.used;
    } else {
        free(in.block);
    }
    return status;
}

nb_status file_parse(nb_context *ctx, const char *path, const struct file_format *format,
                     void *to)
{
    unsigned char *bytes;
    size_t n;
    nb_status status;

    if (!ctx || !to) return NB_ERR_ARGUMENT;
    if (!path) return fail(ctx, NB_ERR_ARGUMENT, "%s: path is NULL", format->name);
    NB_TRY(file_read(ctx, path, format->limit, format->header, &bytes, &n));
    status = format->parse(ctx, path, bytes, n, to);
    free(bytes);
    return status;
}

/* ---- writing ---- */

char *file_sibling(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    const size_t folder = slash && name[0] != '/' ? (size_t)(slash - path) + 1 : 0;
    const size_t length = strlen(name);
    char *joined = malloc(folder + length + 1);

    if (!joined) return NULL;
    memcpy(joined, path, folder);
    memcpy(joined + folder, name, length + 1);
    return joined;
}

/* Creates a file of a new name in the folder of `target`. Returns its descriptor, or -1
 * with errno set. The caller frees *temporary. */
static int make_temporary(const char *target, char **temporary)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        char name[64];
        int fd, error;

        (void)snprintf(name, sizeof name, ".nanobrag-%ld-%d.tmp", (long)getpid(), i);
        *temporary = file_sibling(target, name);
        if (!*temporary) return -1;
        fd = open(*temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) return fd;
        error = errno;
        free(*temporary);
        *temporary = NULL;
        errno = error;
        if (error != EEXIST && error != EINTR) return -1;
    }
    errno = EEXIST;
    return -1;
}

static void release(struct file_out *out)
{
    free(out->target);
    free(out->temporary);
    out->target = out->temporary = NULL;
    out->fd = -1;
}

/* Opens the file that out->path leads to, possibly by links, and finds its real name and
 * mode. A link that leads nowhere creates its file. The system has to decide whether the
 * link may be followed (fs.protected_symlinks) and the file written, because the rename()
 * at the end would replace any file. Returns 0 or an errno. */
static int ask_system(struct file_out *out, mode_t *mode)
{
    struct stat opened = {0}, named = {0};
    int error = 0, fd;

    out->made = stat(out->path, &named) != 0;
    fd = open(out->path, O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC, 0666);
    if (fd < 0) return errno;
    out->target = realpath(out->path, NULL);
    if (!out->target || stat(out->target, &named) != 0 || fstat(fd, &opened) != 0)
        error = errno != 0 ? errno : EIO;
    else if (opened.st_ino != named.st_ino || opened.st_dev != named.st_dev)
        error = EBUSY; /* somebody has changed the links since */
    *mode = error == 0 ? opened.st_mode : 0;
    (void)close(fd);
    return error;
}

/* Opens a temporary file in the target's folder, with the target's mode. Returns 0 or an
 * errno. */
static int open_temporary(struct file_out *out)
{
    char *temporary = NULL;
    mode_t mode = 0;
    struct stat st;
    int error = 0;

    if (lstat(out->path, &st) == 0)
        error = ask_system(out, &mode);
    else if (errno == ENOENT)
        out->target = strdup(out->path);
    else
        error = errno;
    if (error == 0 && !out->target) error = ENOMEM;
    if (error == 0) {
        out->fd = make_temporary(out->target, &temporary);
        if (out->fd < 0) error = errno;
        out->temporary = temporary;
    }
    if (error == 0 && mode != 0 && fchmod(out->fd, mode & 0777) != 0) error = errno;
    return error;
}

/* Removes the temporary file, and an empty target that ask_system() created. */
static void discard(struct file_out *out)
{
    if (out->temporary) (void)unlink(out->temporary);
    if (out->made && out->target) (void)unlink(out->target);
}

nb_status file_begin(nb_context *ctx, const char *path, struct file_out *out)
{
    struct stat st;
    int error = 0;

    memset(out, 0, sizeof *out);
    out->ctx = ctx;
    out->path = path;
    out->status = NB_OK;
    out->fd = -1;
    if (stat(path, &st) != 0)
        error = errno == ENOENT ? 0 : errno;
    else if (!S_ISREG(st.st_mode))
        return open_file(ctx, path, O_WRONLY | O_CREAT, "write", &out->fd);
    if (error == 0) error = open_temporary(out);
    if (error == 0) return NB_OK;
    if (out->fd >= 0) (void)close(out->fd);
    discard(out);
    release(out);
    return fail_system(ctx, "write", path, error);
}

/* Preallocates, because one allocation is faster than many, and because ext4 then does not
 * wait for the disk at the rename(). The size of the file stays the number of bytes
 * written: a file damaged by a power cut is short, and not filled with 0. */
void file_preallocate(const struct file_out *out, size_t n)
{
#ifdef FALLOC_FL_KEEP_SIZE
    if (out->temporary && n <= INT64_MAX)
        (void)fallocate(out->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)n);
#else
    (void)out, (void)n;
#endif
}

void file_put(struct file_out *out, const void *bytes, size_t n)
{
    const char *at = bytes;

    while (n > 0 && out->status == NB_OK) {
        const ssize_t done = write(out->fd, at, n < CALL_MAX ? n : CALL_MAX);

        if (done > 0) {
            at += done;
            n -= (size_t)done;
        } else if (done == 0 || errno != EINTR) {
            out->status =
                fail_system(out->ctx, "write", out->path, done == 0 ? EIO : errno);
        } else {
            out->status = ask_to_go_on(out->ctx, out->path);
        }
    }
}

/* Writes n bytes at an offset. Returns 0 or an errno. */
static int put_at(const struct file_out *out, const void *bytes, size_t n, long long offset)
{
    const char *at = bytes;

    while (n > 0) {
        const ssize_t done = pwrite(out->fd, at, n < CALL_MAX ? n : CALL_MAX, offset);

        if (done > 0) {
            at += done;
            offset += done;
            n -= (size_t)done;
        } else if (done == 0 || errno != EINTR) {
            return done == 0 ? EIO : errno;
        }
    }
    return 0;
}

void file_put_at(struct file_out *out, const void *bytes, size_t n, long long offset)
{
    const int error = out->status == NB_OK ? put_at(out, bytes, n, offset) : 0;

    if (error) out->status = fail_system(out->ctx, "write", out->path, error);
}

static int has_no_room(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

int file_try_put_at(struct file_out *out, const void *bytes, size_t n, long long offset)
{
    const int error = out->status == NB_OK ? put_at(out, bytes, n, offset) : 0;

    if (has_no_room(error)) return error;
    if (error) out->status = fail_system(out->ctx, "write", out->path, error);
    return 0;
}

nb_status file_fail_room(const struct file_out *out, int error, const char *kept)
{
    if (!kept) return fail_system(out->ctx, "write", out->path, error);
    return fail(out->ctx, NB_ERR_FILE, "%s: cannot write: %s; %s; %s", out->path,
                strerror(error), kept, remedy(error));
}

/* Reserves disk space by a file without a name. Blocks reserved behind the end of the file
 * itself would be used up by its next write. */
int file_reserve(const struct file_out *out, size_t n, int *reserve)
{
    char *name = NULL;

    if (!out->target) return 0;
    if (*reserve < 0) {
        *reserve = make_temporary(out->target, &name);
        if (*reserve < 0) return has_no_room(errno) ? errno : 0;
        (void)unlink(name);
        free(name);
    }
#ifdef FALLOC_FL_KEEP_SIZE
    if (fallocate(*reserve, FALLOC_FL_KEEP_SIZE, 0, (off_t)n) != 0 && has_no_room(errno))
        return errno;
#else
    (void)n;
#endif
    return 0;
}

long long file_most(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY
        || limit.rlim_cur > INT64_MAX)
        return 0;
    return (long long)limit.rlim_cur;
}

void file_reserve_end(int *reserve)
{
    if (*reserve >= 0) (void)close(*reserve);
    *reserve = -1;
}

void file_get_at(struct file_out *out, void *bytes, size_t n, long long offset)
{
    char *to = bytes;

    while (n > 0) {
        const ssize_t got = pread(out->fd, to, n < CALL_MAX ? n : CALL_MAX, offset);

        if (got > 0) {
            to += got;
            offset += got;
            n -= (size_t)got;
        } else if (got == 0) {
            memset(to, 0, n);
            return;
        } else if (errno != EINTR) {
            if (out->status == NB_OK)
                out->status = fail_system(out->ctx, "read", out->path, errno);
            memset(to, 0, n);
            return;
        }
    }
}

void file_resize(struct file_out *out, long long n)
{
    while (out->status == NB_OK && ftruncate(out->fd, (off_t)n) != 0)
        if (errno != EINTR) out->status = fail_system(out->ctx, "write", out->path, errno);
}

nb_status file_end(struct file_out *out)
{
    if (close(out->fd) != 0 && errno != EINTR && out->status == NB_OK)
        out->status = fail_system(out->ctx, "write", out->path, errno);
    if (out->temporary) {
        if (out->status == NB_OK && rename(out->temporary, out->target) != 0)
            out->status = fail_system(out->ctx, "write", out->path, errno);
        if (out->status != NB_OK) discard(out);
    }
    release(out);
    return out->status;
}

nb_status nb_file_write(nb_context *ctx, const char *path, const void *bytes, size_t n)
{
    struct file_out out;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!path || (!bytes && n > 0))
        return fail(ctx, NB_ERR_ARGUMENT, "file: %s is NULL", path ? "bytes" : "path");
    NB_TRY(file_begin(ctx, path, &out));
    file_put(&out, bytes, n);
    return file_end(&out);
}
