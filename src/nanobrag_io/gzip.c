/*
 * gzip.c - expands gzip in memory by zlib, which builds with gemmi have. The size that a
 * file states is not trusted, so memory grows as bytes come.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/gzip.h"

#include <stdlib.h>

#include "base/context.h"
#include "nanobrag_io/file.h"

static int is_gzip(const unsigned char *bytes, size_t n)
{
    return n >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

#ifdef NANOBRAG_GEMMI

#include <limits.h>
#include <zlib.h>

/* A text or table shrinks to about a tenth. A file is refused as a mistake or an attack if
 * it expands to more than EXPANSION times its size and to more than EXPANDED bytes. */
enum { EXPANSION = 50, EXPANDED = 1 << 24 };

/* Doubles the memory, at most to `limit`. Returns 1; 0 if it is at the limit; -1 without
 * memory. */
static int grow(unsigned char **bytes, size_t *size, size_t limit)
{
    const size_t more = *size < limit / 2 ? 2 * *size : limit;
    unsigned char *grown;

    if (*size == limit) return 0;
    grown = realloc(*bytes, more);
    if (!grown) return -1;
    *bytes = grown;
    *size = more;
    return 1;
}

/* Expands all members of a gzip file. Returns a status of zlib: Z_STREAM_END at the end,
 * Z_BUF_ERROR at the limit. */
static int expand(z_stream *z, size_t limit, unsigned char **bytes, size_t *n)
{
    size_t size = 1 << 16;
    int status = Z_OK;

    *n = 0;
    if (size > limit) size = limit;
    *bytes = malloc(size);
    if (!*bytes) return Z_MEM_ERROR;
    while (status == Z_OK) {
        const size_t room = size - *n;
        const unsigned offered = room < UINT_MAX ? (unsigned)room : UINT_MAX;
        int grew;

        z->next_out = *bytes + *n;
        z->avail_out = offered;
        status = inflate(z, Z_NO_FLUSH);
        *n += offered - z->avail_out;
        if (status == Z_STREAM_END && is_gzip(z->next_in, z->avail_in))
            status = inflateReset(z);
        if (status == Z_BUF_ERROR && z->avail_in == 0) return Z_DATA_ERROR;
        if ((status != Z_OK && status != Z_BUF_ERROR) || z->avail_out > 0) continue;
        grew = grow(bytes, &size, limit);
        if (grew <= 0) return grew < 0 ? Z_MEM_ERROR : Z_BUF_ERROR;
        status = Z_OK;
    }
    return status;
}

nb_status gzip_expand(nb_context *ctx, const char *name, const unsigned char *bytes,
                      size_t n, size_t limit, unsigned char **out, size_t *nout)
{
    enum { GZIP_ONLY = 16 + MAX_WBITS };
    const size_t most = n < EXPANDED / EXPANSION ? EXPANDED : EXPANSION * n;
    z_stream z = {0};
    int status;

    *out = NULL;
    *nout = 0;
    if (!is_gzip(bytes, n)) return NB_OK;
    if (n > UINT_MAX)
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the compressed file is too large; expand it with gunzip", name);
    z.next_in = (unsigned char *)bytes;
    z.avail_in = (unsigned)n;
    if (inflateInit2(&z, GZIP_ONLY) != Z_OK) return fail_memory(ctx, name);
    status = expand(&z, most < limit ? most : limit, out, nout);
    (void)inflateEnd(&z);
    if (status == Z_STREAM_END) return NB_OK;
    free(*out);
    *out = NULL;
    if (status == Z_MEM_ERROR) return fail_memory(ctx, name);
    if (status == Z_BUF_ERROR && most < limit)
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the file of %zu bytes expands to more than %zu bytes, which is "
                    "unusual; if the file is right, expand it with gunzip",
                    name, n, most);
    if (status == Z_BUF_ERROR)
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the file expands to more than %zu bytes; check that it is the "
                    "right file",
                    name, limit);
    return fail(ctx, NB_ERR_FORMAT,
                "%s: the gzip file is damaged or cut off; fetch the file again, or test it "
                "with gzip -t",
                name);
}

#else

nb_status gzip_expand(nb_context *ctx, const char *name, const unsigned char *bytes,
                      size_t n, size_t limit, unsigned char **out, size_t *nout)
{
    (void)limit;
    *out = NULL;
    *nout = 0;
    if (!is_gzip(bytes, n)) return NB_OK;
    return fail(ctx, NB_ERR_UNSUPPORTED,
                "%s: the file is compressed, but this build has no zlib; expand it with "
                "gunzip",
                name);
}

#endif

nb_status gzip_read(nb_context *ctx, const char *path, size_t limit, unsigned char **bytes,
                    size_t *n)
{
    unsigned char *expanded;
    size_t nexpanded;
    nb_status status = file_read(ctx, path, limit, NULL, bytes, n);

    if (status != NB_OK) return status;
    status = gzip_expand(ctx, path, *bytes, *n, limit, &expanded, &nexpanded);
    if (status == NB_OK && !expanded) return NB_OK;
    free(*bytes);
    *bytes = expanded;
    *n = nexpanded;
    return status;
}
