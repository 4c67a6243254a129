/*
 * fdump.c - reads and writes binary dumps of reflections: the bounds of h, k and l as text,
 * the bytes LF FF, then F for all indices in the bounds, as little-endian doubles.
 *
 * A dump of nanoBragg has one more plane of zeros at the end of each axis. A dump of this
 * library has a tag and a checksum after the doubles instead. Its length is no whole number
 * of doubles, which tells it from nanoBragg's.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/scene.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_io/file.h"
#include "nanobrag_io/parse.h"
#include "scene/reflections/hkl_table.h"

enum { WORD = 8, TAG = 6, CHECK = 4, TRAILER = TAG + CHECK, BUFFER = 1 << 16 };

static const char tag[] = "NBSUM1";

/* Continues a CRC-32 (as in zlib and PNG) over n bytes, four bits at a time; crc is 0 at
 * first. */
static uint32_t checksum(uint32_t crc, const unsigned char *bytes, size_t n)
{
    static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                       0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                       0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};

    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        crc = table[crc & 15] ^ (crc >> 4);
        crc = table[crc & 15] ^ (crc >> 4);
    }
    return ~crc;
}

static uint64_t load_word(const unsigned char *bytes, int n)
{
    uint64_t word = 0;

    for (int i = n - 1; i >= 0; i--) word = word << 8 | bytes[i];
    return word;
}

static void store_word(unsigned char *bytes, int n, uint64_t word)
{
    for (int i = 0; i < n; i++) bytes[i] = (unsigned char)(word >> 8 * i);
}

/* ---- reading ---- */

/* a dump in memory */
struct dump {
    const unsigned char *doubles;
    int min[3], max[3];
    int planes; /* planes of zeros at the end of an axis: 1 in nanoBragg's, else 0 */
};

/* Reads a whole number with an optional minus. Returns its length in bytes, or 0 if there
 * is none or it is too large. */
static size_t read_bound(const unsigned char *at, size_t n, int *bound)
{
    size_t i = n > 0 && at[0] == '-' ? 1 : 0;
    const size_t first = i;
    int value = 0;

    for (; i < n && at[i] >= '0' && at[i] <= '9'; i++) {
        value = 10 * value + (at[i] - '0');
        if (value > HKL_INDEX_MAX) return 0;
    }
    *bound = first ? -value : value;
    return i > first ? i : 0;
}

/* Reads the header "hmin hmax kmin kmax lmin lmax" LF FF. Returns its length in bytes, or 0
 * if the text is something else. */
static size_t read_header(const unsigned char *at, size_t n, struct dump *dump)
{
    size_t used = 0;

    for (int i = 0; i < 6; i++) {
        int *bound = i % 2 ? dump->max + i / 2 : dump->min + i / 2;
        const size_t length = read_bound(at + used, n - used, bound);

        used += length;
        if (length == 0 || used == n || at[used] != (i < 5 ? ' ' : '\n')) return 0;
        used++;
    }
    if (used == n || at[used] != '\f') return 0;
    for (int axis = 0; axis < 3; axis++)
        if (dump->min[axis] > dump->max[axis]) return 0;
    return used + 1;
}

/* Returns the number of doubles. The number is at most 200002^3, so that the number of
 * bytes fits 64 bits. */
static uint64_t count_cells(const struct dump *dump, int planes)
{
    uint64_t cells = 1;

    for (int i = 0; i < 3; i++)
        cells *= (uint64_t)(dump->max[i] - dump->min[i] + 1 + planes);
    return cells;
}

/* Finds from n, the number of bytes after the header, who wrote the dump, and verifies the
 * checksum of this library's. */
static nb_status check_layout(nb_context *ctx, const char *name, size_t n,
                              struct dump *dump)
{
    const uint64_t length = count_cells(dump, 0) * WORD;
    const uint64_t quirk_length = count_cells(dump, 1) * WORD;
    const unsigned char *trailer;

    if (n == quirk_length) {
        dump->planes = 1;
        return NB_OK;
    }
    dump->planes = 0;
    if (n != length + TRAILER) /* of a longer file only one byte more is read */
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the file has %s%llu bytes after the header, expected %llu, or "
                    "%llu in a dump of nanoBragg; write the dump again from the reflection "
                    "list",
                    name, n > quirk_length ? "more than " : "",
                    (unsigned long long)(n > quirk_length ? quirk_length : n),
                    (unsigned long long)length + TRAILER, (unsigned long long)quirk_length);
    trailer = dump->doubles + length;
    if (memcmp(trailer, tag, TAG) != 0
        || load_word(trailer + TAG, CHECK) != checksum(0, dump->doubles, (size_t)length))
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the checksum does not fit the amplitudes, so the file is damaged; "
                    "write the dump again from the reflection list",
                    name);
    return NB_OK;
}

/* Copies F, without planes of zeros, to hkl->box. */
static nb_status fill_box(nb_context *ctx, const char *name, const struct dump *dump,
                          nb_hkl *hkl)
{
    const size_t row = (size_t)(hkl->size[2] + dump->planes) * WORD;
    const unsigned char *at = dump->doubles;
    double *box = hkl->box;

    for (int h = dump->min[0]; h <= dump->max[0]; h++) {
        for (int k = dump->min[1]; k <= dump->max[1]; k++, at += row) {
            for (int l = 0; l < hkl->size[2]; l++, box++) {
                const uint64_t word = load_word(at + (size_t)l * WORD, WORD);

                memcpy(box, &word, sizeof word);
                if (!isfinite(*box))
                    return fail(ctx, NB_ERR_FORMAT,
                                "%s: F of %d %d %d is %g, expected a finite number; write "
                                "the dump again from the reflection list",
                                name, h, k, l + dump->min[2], *box);
            }
        }
        if (dump->planes) at += row;
    }
    return NB_OK;
}

static nb_status fail_start(nb_context *ctx, const char *name)
{
    return fail(ctx, NB_ERR_FORMAT,
                "%s: the file is not a binary dump of reflections; expected 'hmin hmax "
                "kmin kmax lmin lmax' LF FF at the start; check that it is the right file",
                name);
}

nb_status fdump_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                      void *to)
{
    nb_hkl **const out = to;
    struct dump dump;
    const size_t header = read_header(bytes, n, &dump);
    nb_hkl *hkl;
    nb_status status;

    *out = NULL;
    if (header == 0) return fail_start(ctx, name);
    dump.doubles = (const unsigned char *)bytes + header;
    status = check_layout(ctx, name, n - header, &dump);
    if (status != NB_OK) return status;
    status = hkl_box_create(ctx, dump.min, dump.max, &hkl);
    if (status != NB_OK) return file_fail(ctx, status, name);
    status = fill_box(ctx, name, &dump, hkl);
    if (status != NB_OK) {
        nb_hkl_free(hkl);
        return status;
    }
    hkl->count = (size_t)count_cells(&dump, 0);
    *out = hkl;
    return NB_OK;
}

/* Asks for the length of nanoBragg's layout, the longer one, plus one byte, which shows
 * whether the file is too long. */
static nb_status fdump_header(nb_context *ctx, const char *name, const void *bytes,
                              size_t n, size_t *wanted)
{
    struct dump dump;
    const size_t header = read_header(bytes, n, &dump);

    if (header == 0) return fail_start(ctx, name);
    *wanted = header + (size_t)count_cells(&dump, 1) * WORD + TRAILER + 1;
    return NB_OK;
}

nb_status nb_fdump_read(nb_context *ctx, const char *path, nb_hkl **out)
{
    STANDARD_FLOATS;
    static const struct file_format format = {"dump", (size_t)3 << 30, fdump_header,
                                              fdump_parse};

    if (out) *out = NULL;
    return file_parse(ctx, path, &format, out);
}

/* ---- writing ---- */

/* doubles that wait to be written to a file */
struct stream {
    struct file_out *file;
    int checked; /* 1: crc is kept up to date */
    uint32_t crc;
    size_t used;
    unsigned char buffer[BUFFER];
};

static void flush(struct stream *stream)
{
    if (stream->checked) stream->crc = checksum(stream->crc, stream->buffer, stream->used);
    file_put(stream->file, stream->buffer, stream->used);
    stream->used = 0;
}

static void put_double(struct stream *stream, double value)
{
    uint64_t word;

    if (stream->used == BUFFER) flush(stream);
    memcpy(&word, &value, sizeof word);
    store_word(stream->buffer + stream->used, WORD, word);
    stream->used += WORD;
}

static void put_cells(struct stream *stream, const nb_hkl *hkl, double default_f,
                      int planes)
{
    for (int h = 0; h < hkl->size[0] + planes; h++) {
        for (int k = 0; k < hkl->size[1] + planes; k++) {
            const int inside = h < hkl->size[0] && k < hkl->size[1];
            const double *row =
                inside ? hkl_box_at(hkl, hkl->min[0] + h, hkl->min[1] + k, hkl->min[2])
                       : NULL;

            for (int l = 0; l < hkl->size[2]; l++)
                put_double(stream, !row ? 0 : isnan(row[l]) ? default_f : row[l]);
            if (planes) put_double(stream, 0);
        }
    }
    flush(stream);
}

nb_status nb_fdump_write(nb_context *ctx, const char *path, const nb_hkl *hkl,
                         double default_f, int profile)
{
    STANDARD_FLOATS;
    const int planes = profile == NB_PROFILE_NANOBRAGG;
    struct file_out file;
    struct stream stream;
    nb_hkl_info info;
    char header[64];
    unsigned char trailer[TRAILER];
    size_t cells = 1;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!path || !hkl)
        return fail(ctx, NB_ERR_ARGUMENT, "dump: %s is NULL", path ? "hkl" : "path");
    if (!isfinite(default_f))
        return fail(ctx, NB_ERR_ARGUMENT, "dump: default_f is %g, expected a finite number",
                    default_f);
    if (profile != NB_PROFILE_NANOBRAG && profile != NB_PROFILE_NANOBRAGG)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "dump: profile %d, expected NB_PROFILE_NANOBRAG or _NANOBRAGG",
                    profile);
    nb_hkl_info_get(hkl, &info);
    (void)snprintf(header, sizeof header, "%d %d %d %d %d %d\n\f", info.min[0], info.max[0],
                   info.min[1], info.max[1], info.min[2], info.max[2]);
    for (int i = 0; i < 3; i++) cells *= (size_t)(hkl->size[i] + planes);
    NB_TRY(file_begin(ctx, path, &file));
    file_preallocate(&file, strlen(header) + cells * WORD + (planes ? 0 : TRAILER));
    file_put(&file, header, strlen(header));
    stream.file = &file;
    stream.checked = !planes;
    stream.crc = 0;
    stream.used = 0;
    put_cells(&stream, hkl, default_f, planes);
    if (stream.checked) {
        memcpy(trailer, tag, TAG);
        store_word(trailer + TAG, CHECK, stream.crc);
        file_put(&file, trailer, sizeof trailer);
    }
    return file_end(&file);
}
