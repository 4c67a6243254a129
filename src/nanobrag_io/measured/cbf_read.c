/*
 * cbf_read.c - reads CBF: the text, then binary sections, each behind a header of MIME. The
 * sections of a file, and the images of one section, are the panels of one frame.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE // NOLINT(readability-identifier-naming): memmem

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <nanobrag/array.h>

#include "base/context.h"
#include "nanobrag_io/measured/cbf_pixels.h"
#include "nanobrag_io/measured/md5.h"
#include "nanobrag_io/measured/measured.h"

#define BOUNDARY "--CIF-BINARY-FORMAT-SECTION--"

enum {
    TEXT_MOST = 1 << 20, /* bytes before the first section that are read as text */
    HEADER_MOST = 1 << 13, /* bytes of a header of MIME */
    PADDING_MOST = 1 << 16,
    SECTIONS_MOST = 1 << 12
};

/* A file that is being read. */
struct reading {
    nb_context *ctx;
    const char *name;
    const unsigned char *begin, *at, *end;
    struct cbf_section *section; /* (n) */
    size_t n;
};

static nb_status wrong(const struct reading *r, const char *expected)
{
    return fail(r->ctx, NB_ERR_FORMAT,
                "%s, section %zu: expected %s; the file is damaged or cut off, copy it "
                "again",
                r->name, r->n + 1, expected);
}

static const unsigned char *find(const unsigned char *at, const unsigned char *end,
                                 size_t most, const char *text, size_t length)
{
    const size_t n = (size_t)(end - at);

    if (!at) return NULL;
    return memmem(at, n < most ? n : most, text, length);
}

/* ---- the header of a section ---- */

/* Finds the text behind a word, in any case, to the end of its line; n = 0 if there is
 * none. */
static struct span value_of(struct span header, const char *word)
{
    const size_t length = strlen(word);

    for (size_t i = 0; i + length < header.n; i++)
        if (strncasecmp(header.at + i, word, length) == 0) {
            struct span value = {header.at + i + length, header.n - i - length};
            const char *const end = memchr(value.at, '\n', value.n);

            if (end) value.n = (size_t)(end - value.at);
            while (value.n > 0 && strchr(" \t\"", *value.at)) value.at++, value.n--;
            while (value.n > 0 && strchr(" \t\r\"", value.at[value.n - 1])) value.n--;
            return value;
        }
    return (struct span){header.at, 0};
}

static int begins(struct span value, const char *word)
{
    return value.n >= strlen(word) && strncasecmp(value.at, word, strlen(word)) == 0;
}

static int contains(struct span value, const char *word)
{
    while (value.n > 0 && !begins(value, word)) value.at++, value.n--;
    return value.n > 0;
}

/* Reads a whole number from 1 to `most`; without such an item `otherwise`, if it is not 0.
 */
static int whole(struct span header, const char *word, uint64_t otherwise, uint64_t most,
                 uint64_t *out)
{
    const struct span value = value_of(header, word);
    double number;

    *out = otherwise;
    if (value.n == 0) return otherwise > 0;
    if (text_number_prefix(value, &number) == 0 || !(number >= 1 && number <= (double)most)
        || number != floor(number))
        return 0;
    *out = (uint64_t)number;
    return 1;
}

/* Reads the type of the pixels, such as "signed 32-bit integer". Returns 0 for others. */
static int read_type(struct span header, struct cbf_section *s)
{
    struct span value = value_of(header, "X-Binary-Element-Type:");
    const int is_real = contains(value, "real"), is_signed = begins(value, "signed");
    double bits = 32;

    s->type = is_real ? NB_TYPE_FLOAT : is_signed ? NB_TYPE_INT : NB_TYPE_UINT;
    if (value.n > 0) {
        while (value.n > 0 && *value.at != ' ') value.at++, value.n--;
        while (value.n > 0 && *value.at == ' ') value.at++, value.n--;
        if (text_number_prefix(value, &bits) == 0
            || !contains(value, is_real ? "real" : "integer"))
            return 0;
    }
    if (contains(value, "complex")) return 0;
    if (!(bits == 8 || bits == 16 || bits == 32 || bits == 64) || (is_real && bits < 32))
        return 0;
    s->bits = (int)bits;
    if (is_real || s->compression == CBF_NONE) return 1;
    return bits == 32 || bits == 16 || (bits == 8 && s->compression == CBF_BYTE_OFFSET);
}

static nb_status read_compression(const struct reading *r, struct span header,
                                  struct cbf_section *s)
{
    static const struct {
        const char *name;
        enum cbf_compression compression;
    } kinds[] = {{"x-CBF_BYTE_OFFSET", CBF_BYTE_OFFSET},
                 {"x-CBF_PACKED_V2", CBF_PACKED_V2},
                 {"x-CBF_PACKED", CBF_PACKED},
                 {"x-CBF_NONE", CBF_NONE}};
    const struct span kind = value_of(header, "conversions=");
    const struct span encoding = value_of(header, "Content-Transfer-Encoding:");
    size_t i = 0;

    while (i < sizeof kinds / sizeof *kinds && !begins(kind, kinds[i].name)) i++;
    if (encoding.n > 0 && !begins(encoding, "BINARY"))
        return fail(r->ctx, NB_ERR_UNSUPPORTED,
                    "%s: the pixels are text (%.20s), expected BINARY; convert it with "
                    "cif2cbf",
                    r->name, text_show(encoding).s);
    if (kind.n > 0 && i == sizeof kinds / sizeof *kinds)
        return fail(r->ctx, NB_ERR_UNSUPPORTED,
                    "%s: the pixels are compressed by %s, expected x-CBF_BYTE_OFFSET, "
                    "x-CBF_PACKED, x-CBF_PACKED_V2 or none; convert it with cif2cbf",
                    r->name, text_show(kind).s);
    s->compression = kind.n > 0 ? kinds[i].compression : CBF_NONE;
    s->is_flat = contains(kind, "flat");
    s->is_alone = contains(kind, "uncorrelated");
    return NB_OK;
}

static nb_status read_sizes(const struct reading *r, struct span header,
                            struct cbf_section *s)
{
    uint64_t number, most = measured_most;

    if (!whole(header, "X-Binary-Size-Fastest-Dimension:", 0, most, &s->nfast)
        || !whole(header, "X-Binary-Size-Second-Dimension:", 0, most /= s->nfast, &s->nslow)
        || !whole(header, "X-Binary-Size-Third-Dimension:", 1, most / s->nslow, &s->nimage))
        return wrong(r, "X-Binary-Size-Fastest-Dimension and -Second-Dimension, of at most "
                        "2^31 pixels");
    number = s->nfast * s->nslow * s->nimage;
    if (!whole(header, "X-Binary-Number-of-Elements:", number, measured_most, &number)
        || number != s->nfast * s->nslow * s->nimage)
        return wrong(r, "X-Binary-Number-of-Elements, the product of the dimensions");
    if (!read_type(header, s))
        return wrong(r, "X-Binary-Element-Type of reals, or of whole numbers: 16 or 32 "
                        "bits if "
                        "they are packed, 8 too as byte offsets, 64 too if not compressed");
    if (s->compression >= CBF_PACKED && !s->is_flat && s->nfast < 2)
        return wrong(r, "packed pixels in rows of at least 2");
    s->is_big_endian = begins(value_of(header, "X-Binary-Element-Byte-Order:"), "BIG");
    if (s->nfast * s->nslow * s->nimage > cbf_pixels_most(s))
        return wrong(r, "more bytes for as many pixels");
    return NB_OK;
}

/* Reads the next section up to its end. */
static nb_status read_section(struct reading *r, struct cbf_section *s)
{
    static const char mark[] = "\x0c\x1a\x04\xd5", end[] = BOUNDARY "--";
    const unsigned char *const begin = r->at;
    struct span header, sum;
    uint64_t size, padding;
    char found[MD5_TEXT];

    r->at = find(begin, r->end, HEADER_MOST, mark, sizeof mark - 1);
    if (!r->at) return wrong(r, "the mark of binary pixels behind their header");
    header = (struct span){(const char *)begin, (size_t)(r->at - begin)};
    r->at += sizeof mark - 1;
    NB_TRY(read_compression(r, header, s));
    if (!whole(header, "X-Binary-Size:", 0, (uint64_t)(r->end - r->at), &size))
        return wrong(r, "X-Binary-Size, at most the bytes that follow");
    s->bytes = r->at;
    s->n = (size_t)size;
    NB_TRY(read_sizes(r, header, s));
    (void)whole(header, "X-Binary-Size-Padding:", 1, PADDING_MOST, &padding);
    r->at = find(r->at + size, r->end, padding + sizeof end + 3, end, sizeof end - 1);
    if (!r->at) return wrong(r, "the end of the section behind X-Binary-Size bytes");
    sum = value_of(header, "Content-MD5:");
    md5_text(s->bytes, s->n, found);
    if (sum.n > 0 && (sum.n != sizeof found - 1 || memcmp(sum.at, found, sum.n) != 0))
        return wrong(r, "pixels with the checksum Content-MD5 of their header");
    return NB_OK;
}

/* ---- the file ---- */

static nb_status read_sections(struct reading *r)
{
    r->at = find(r->begin, r->end, SIZE_MAX, BOUNDARY, sizeof BOUNDARY - 1);
    if (!r->at) return wrong(r, "pixels behind " BOUNDARY);
    while (r->at) {
        struct cbf_section *more;

        if (r->n == SECTIONS_MOST) return wrong(r, "at most 4096 sections");
        more = realloc(r->section, (r->n + 1) * sizeof *more);
        if (!more) return fail_memory(r->ctx, r->name);
        r->section = more;
        more += r->n;
        *more = (struct cbf_section){0};
        r->at += sizeof BOUNDARY - 1;
        NB_TRY(read_section(r, more));
        if (more->nfast != r->section->nfast)
            return wrong(r, "panels as wide as the first one");
        r->n++;
        r->at += sizeof BOUNDARY + 1;
        r->at = find(r->at, r->end, SIZE_MAX, BOUNDARY, sizeof BOUNDARY - 1);
    }
    return NB_OK;
}

static nb_status read_image(struct reading *r, nb_measured **out)
{
    const unsigned char *const first =
        find(r->begin, r->end, TEXT_MOST, BOUNDARY, sizeof BOUNDARY - 1);
    const struct span text = {(const char *)r->begin,
                              first ? (size_t)(first - r->begin) : 0};
    uint64_t nslow = 0, nimage = 0;
    double *to;

    if (!r->section) return wrong(r, "a binary section");
    for (size_t i = 0; i < r->n; i++) {
        nslow += r->section[i].nslow * r->section[i].nimage;
        nimage += r->section[i].nimage;
    }
    NB_TRY(measured_new(r->ctx, r->name, r->section->nfast, nslow, out));
    (*out)->npanel = nimage < INT32_MAX ? (int)nimage : INT32_MAX;
    (*out)->overload = INFINITY;
    to = measured_pixels(*out);
    for (r->n = 0; to < (*out)->pixels + nslow * r->section->nfast; r->n++) {
        const struct cbf_section *const s = r->section + r->n;

        if (!cbf_pixels(s, to)) return wrong(r, "as many pixels as its header states");
        (*out)->overload = fmin((*out)->overload, measured_largest(s->type, s->bits));
        to += s->nfast * s->nslow * s->nimage;
    }
    return cbf_header(r->ctx, r->name, text, *out);
}

nb_status cbf_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                    void *to)
{
    nb_measured **const out = to;
    struct reading r = {.ctx = ctx, .name = name, .begin = bytes};
    nb_status status;

    *out = NULL;
    r.end = r.begin + n;
    status = read_sections(&r);
    if (status == NB_OK) status = read_image(&r, out);
    free(r.section);
    if (status == NB_OK) return NB_OK;
    nb_measured_free(*out);
    *out = NULL;
    return status;
}
