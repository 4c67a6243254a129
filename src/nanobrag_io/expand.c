/*
 * expand.c - expands gzip by zlib, which is there in builds with gemmi, and bzip2, in
 * memory. The size that a file states is not trusted: memory grows as bytes come.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/expand.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#ifdef NANOBRAG_GEMMI
#include <zlib.h>
#endif
#ifdef NANOBRAG_BZIP2
#include <bzlib.h>
#endif

#include "base/context.h"
#include "nanobrag_io/file.h"

/* Texts and tables shrink to a tenth or so. A file that expands to more than EXPANSION
 * times its size and to more than some bytes is a mistake or an attack. */
enum { EXPANSION = 50, TABLE_ALWAYS = 1 << 24 };

/* Bytes that are being expanded. */
struct flow {
    unsigned char *in, *out;
    size_t nin, nout; /* bytes of `in` that are left; bytes that `out` still has room for */
};

enum step { MORE, END, DAMAGED, NO_MEMORY };

/* A format: how its files begin, the tool that expands them, and functions that begin,
 * expand some bytes, and end. All are NULL in a build without its library. */
struct codec {
    const char *name, *begin, *tool, *library;
    void *(*open)(void);
    enum step (*step)(void *state, struct flow *flow);
    void (*close)(void *state);
};

static const char gzip_begin[] = "\037\213", bzip2_begin[] = "BZh";

static int begins(const char *begin, const void *bytes, size_t n)
{
    return n >= strlen(begin) && memcmp(bytes, begin, strlen(begin)) == 0;
}

#if defined NANOBRAG_GEMMI || defined NANOBRAG_BZIP2
static unsigned some(size_t n)
{
    return n < UINT_MAX ? (unsigned)n : UINT_MAX;
}

/* Moves on by the bytes that a library has not left over of those offered. */
static void move(struct flow *flow, unsigned in, unsigned out)
{
    const size_t taken = some(flow->nin) - in, given = some(flow->nout) - out;

    flow->in += taken;
    flow->nin -= taken;
    flow->out += given;
    flow->nout -= given;
}
#endif

#ifdef NANOBRAG_GEMMI
static void *open_gzip(void)
{
    enum { GZIP_ONLY = 16 + MAX_WBITS };
    z_stream *const z = calloc(1, sizeof *z);

    if (z && inflateInit2(z, GZIP_ONLY) == Z_OK) return z;
    free(z);
    return NULL;
}

static enum step step_gzip(void *state, struct flow *flow)
{
    z_stream *const z = state;
    int status;

    z->next_in = flow->in;
    z->avail_in = some(flow->nin);
    z->next_out = flow->out;
    z->avail_out = some(flow->nout);
    status = inflate(z, Z_NO_FLUSH);
    move(flow, z->avail_in, z->avail_out);
    if (status == Z_STREAM_END && begins(gzip_begin, flow->in, flow->nin))
        status = inflateReset(z);
    if (status == Z_STREAM_END) return END;
    if (status == Z_MEM_ERROR) return NO_MEMORY;
    return status == Z_OK || status == Z_BUF_ERROR ? MORE : DAMAGED;
}

static void close_gzip(void *state)
{
    (void)inflateEnd(state);
    free(state);
}
#define GZIP open_gzip, step_gzip, close_gzip
#else
#define GZIP NULL, NULL, NULL
#endif

#ifdef NANOBRAG_BZIP2
static void *open_bzip2(void)
{
    bz_stream *const z = calloc(1, sizeof *z);

    if (z && BZ2_bzDecompressInit(z, 0, 0) == BZ_OK) return z;
    free(z);
    return NULL;
}

static enum step step_bzip2(void *state, struct flow *flow)
{
    bz_stream *const z = state;
    int status;

    z->next_in = (char *)flow->in;
    z->avail_in = some(flow->nin);
    z->next_out = (char *)flow->out;
    z->avail_out = some(flow->nout);
    status = BZ2_bzDecompress(z);
    move(flow, z->avail_in, z->avail_out);
    if (status == BZ_STREAM_END && begins(bzip2_begin, flow->in, flow->nin)) {
        (void)BZ2_bzDecompressEnd(z);
        *z = (bz_stream){0};
        status = BZ2_bzDecompressInit(z, 0, 0);
    }
    if (status == BZ_STREAM_END) return END;
    if (status == BZ_MEM_ERROR) return NO_MEMORY;
    return status == BZ_OK ? MORE : DAMAGED;
}

static void close_bzip2(void *state)
{
    (void)BZ2_bzDecompressEnd(state);
    free(state);
}
#define BZIP2 open_bzip2, step_bzip2, close_bzip2
#else
#define BZIP2 NULL, NULL, NULL
#endif

static const struct codec codecs[] = {
    {"gzip", gzip_begin, "gunzip", "zlib", GZIP},
    {"bzip2", bzip2_begin, "bunzip2", "libbz2", BZIP2},
};

/* Makes room for more bytes behind the n so far. Returns 0 without memory. */
static int grow(struct flow *flow, unsigned char **bytes, size_t n, size_t limit)
{
    const size_t size = n < 1 << 15 ? 1 << 16 : n < limit / 2 ? 2 * n : limit;
    unsigned char *const grown = realloc(*bytes, size < limit ? size : limit);

    if (!grown) return 0;
    *bytes = grown;
    flow->out = grown + n;
    flow->nout = (size < limit ? size : limit) - n;
    return 1;
}

/* Expands a whole file; MORE: it has more than `limit` bytes. */
static enum step expand(const struct codec *codec, struct flow flow, size_t limit,
                        unsigned char **bytes, size_t *n)
{
    void *const state = codec->open();
    enum step step = state ? MORE : NO_MEMORY;

    while (step == MORE) {
        if (flow.nout == 0 && *n == limit) break;
        if (flow.nout == 0 && !grow(&flow, bytes, *n, limit)) step = NO_MEMORY;
        if (step == MORE) step = codec->step(state, &flow);
        if (*bytes) *n = (size_t)(flow.out - *bytes);
        if (step == MORE && flow.nout > 0 && flow.nin == 0) step = DAMAGED; /* cut off */
    }
    if (state) codec->close(state);
    return step;
}

nb_status expand_bytes(nb_context *ctx, const char *name, const void *bytes, size_t n,
                       struct expand_limits limits, unsigned char **out, size_t *nout)
{
    const size_t most = n < limits.always / EXPANSION ? limits.always : EXPANSION * n;
    const struct codec *codec = codecs;
    enum step step;

    *out = NULL;
    *nout = 0;
    while (codec < codecs + sizeof codecs / sizeof *codecs
           && !begins(codec->begin, bytes, n))
        codec++;
    if (codec == codecs + sizeof codecs / sizeof *codecs) return NB_OK;
    if (!codec->open)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "%s: the file is compressed, but this build has no %s; expand it with "
                    "%s",
                    name, codec->library, codec->tool);
    step = expand(codec, (struct flow){.in = (unsigned char *)bytes, .nin = n},
                  most < limits.most ? most : limits.most, out, nout);
    if (step == END) return NB_OK;
    free(*out);
    *out = NULL;
    if (step == NO_MEMORY) return fail_memory(ctx, name);
    if (step == MORE && most < limits.most)
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the file of %zu bytes expands to more than %zu bytes, which is "
                    "unusual; if the file is right, expand it with %s",
                    name, n, most, codec->tool);
    if (step == MORE)
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the file expands to more than %zu bytes; check that it is the "
                    "right file",
                    name, limits.most);
    return fail(ctx, NB_ERR_FORMAT,
                "%s: the %s file is damaged or cut off; fetch the file again, or test it "
                "with %s -t",
                name, codec->name, codec->name);
}

nb_status expand_read(nb_context *ctx, const char *path, size_t limit,
                      unsigned char **bytes, size_t *n)
{
    const struct expand_limits limits = {limit, TABLE_ALWAYS};
    unsigned char *expanded;
    size_t nexpanded;
    nb_status status = file_read(ctx, path, limit, NULL, bytes, n);

    if (status != NB_OK) return status;
    status = expand_bytes(ctx, path, *bytes, *n, limits, &expanded, &nexpanded);
    if (status == NB_OK && !expanded) return NB_OK;
    free(*bytes);
    *bytes = expanded;
    *n = nexpanded;
    return status;
}
