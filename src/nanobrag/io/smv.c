/*
 * smv.c - SMV images: a text header padded with blanks, then unsigned 16-bit pixels.
 *
 * A header value is found as in nanoBragg: after the first '=' that follows the last
 * occurrence of the keyword, even inside another word.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/context.h"
#include "base/floats.h"
#include "io/file.h"
#include "io/parse.h"
#include "io/text.h"

enum {
    BLOCK = 512, /* bytes; the length of a header is a multiple of it */
    HEADER_MIN = 16,
    HEADER_MAX = FILE_HEAD, /* so the first bytes of a file hold it */
    SIDE_MAX = 1 << 20,
    BUFFER = 1 << 12 /* pixels */
};

static const char start[] = "{\nHEADER_BYT";

struct nb_smv {
    struct span header; /* its characters are owned by the image */
    int nfast, nslow;
    uint16_t *pixels;
};

static int host_is_big_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 0;
}

/* Returns the text after the '=' of a keyword and blanks; n = 0 if there is none. */
static struct span look_up(struct span header, const char *keyword)
{
    const struct span none = {NULL, 0};
    const size_t length = strlen(keyword);
    const char *end = header.at + header.n;

    if (length == 0 || length > header.n) return none;
    for (size_t i = header.n - length + 1; i-- > 0;) {
        struct span value;

        if (memcmp(header.at + i, keyword, length) != 0) continue;
        value.at = memchr(header.at + i + length, '=', header.n - i - length);
        if (!value.at) return none;
        do value.at++;
        while (value.at < end && (*value.at == ' ' || *value.at == '\t'));
        value.n = (size_t)(end - value.at);
        return value;
    }
    return none;
}

static int header_number(struct span header, const char *keyword, double *value)
{
    double number;

    if (text_number_prefix(look_up(header, keyword), &number) == 0) return 0;
    if (!isfinite(number)) return 0;
    *value = number;
    return 1;
}

/* Returns 1 for BYTE_ORDER=big_endian; without it pixels are little endian. */
static int is_big_endian(struct span header)
{
    const struct span order = look_up(header, "BYTE_ORDER");

    return order.n >= 3 && memcmp(order.at, "big", 3) == 0;
}

/* ---- reading ---- */

/* Returns HEADER_BYTES; 0 after a failure, whose message is set. */
static size_t read_length(nb_context *ctx, const char *name, const char *bytes, size_t n)
{
    const size_t length = sizeof start - 1;
    struct span line = {bytes, n};
    const char *end;
    double value;

    if (n < length || memcmp(bytes, start, length) != 0) {
        (void)
            fail(ctx, NB_ERR_FORMAT,
                 "%s: no SMV image, expected '{' and HEADER_BYTES at its start; check that "
                 "it is the right file",
                 name);
        return 0;
    }
    end = memchr(bytes + length, '\n', n - length);
    if (end) line.n = (size_t)(end - bytes);
    if (!header_number(line, "HEADER_BYT", &value) || value != floor(value)
        || value < HEADER_MIN || value > HEADER_MAX) {
        (void)fail(ctx, NB_ERR_FORMAT,
                   "%s, line 2: HEADER_BYTES is missing or out of range, expected a whole "
                   "number from %d to %d; repair the header",
                   name, (int)HEADER_MIN, (int)HEADER_MAX);
        return 0;
    }
    if (value > (double)n) {
        (void)fail(ctx, NB_ERR_FORMAT,
                   "%s, line 2: HEADER_BYTES=%.0f but the file has %zu bytes, so it is cut "
                   "off; copy it again",
                   name, value, n);
        return 0;
    }
    return (size_t)value;
}

static nb_status read_side(nb_context *ctx, const char *name, struct span header,
                           const char *keyword, int *side)
{
    double value = 0;

    (void)header_number(header, keyword, &value);
    if (value < 0 || value > SIDE_MAX || value != floor(value))
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: %s=%g in the header, expected a whole number of pixels up to %d; "
                    "repair the header",
                    name, keyword, value, (int)SIDE_MAX);
    *side = (int)value;
    return NB_OK;
}

static nb_status read_sides(nb_context *ctx, const char *name, nb_smv *smv)
{
    NB_TRY(read_side(ctx, name, smv->header, "SIZE1", &smv->nfast));
    NB_TRY(read_side(ctx, name, smv->header, "SIZE2", &smv->nslow));
    if (smv->nfast > 0) return NB_OK;
    NB_TRY(read_side(ctx, name, smv->header, "DETECTOR_DIMENSIONS", &smv->nfast));
    smv->nslow = smv->nfast;
    return NB_OK;
}

static nb_status read_pixels(nb_context *ctx, const char *name, const unsigned char *bytes,
                             size_t n, nb_smv *smv)
{
    const uint64_t pixels = (uint64_t)smv->nfast * (uint64_t)smv->nslow;
    const int big = is_big_endian(smv->header);

    if (pixels == 0 || pixels > n / 2) return NB_OK;
    smv->pixels = malloc((size_t)pixels * sizeof *smv->pixels);
    if (!smv->pixels) return fail_memory(ctx, name);
    for (size_t i = 0; i < pixels; i++) {
        const unsigned low = bytes[2 * i + (big ? 1 : 0)];
        const unsigned high = bytes[2 * i + (big ? 0 : 1)];

        smv->pixels[i] = (uint16_t)(high << 8 | low);
    }
    return NB_OK;
}

nb_status smv_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                    void *to)
{
    nb_smv **const out = to;
    const size_t length = read_length(ctx, name, bytes, n);
    char *header;
    nb_smv *smv;
    nb_status status;

    *out = NULL;
    if (length == 0) return NB_ERR_FORMAT;
    smv = calloc(1, sizeof *smv);
    header = malloc(length);
    if (!smv || !header) {
        free(smv);
        free(header);
        return fail_memory(ctx, name);
    }
    memcpy(header, bytes, length);
    smv->header.at = header;
    smv->header.n = length;
    status = read_sides(ctx, name, smv);
    if (status == NB_OK)
        status =
            read_pixels(ctx, name, (const unsigned char *)bytes + length, n - length, smv);
    if (status != NB_OK) {
        nb_smv_free(smv);
        return status;
    }
    *out = smv;
    return NB_OK;
}

/* A file needs what its header announces: itself and two bytes for each pixel. */
static nb_status smv_header(nb_context *ctx, const char *name, const void *bytes, size_t n,
                            size_t *wanted)
{
    const size_t length = read_length(ctx, name, bytes, n);
    nb_smv smv = {.header = {bytes, length}};

    if (length == 0) return NB_ERR_FORMAT;
    NB_TRY(read_sides(ctx, name, &smv));
    *wanted = length + 2 * (size_t)smv.nfast * (size_t)smv.nslow;
    return NB_OK;
}

nb_status nb_smv_read(nb_context *ctx, const char *path, nb_smv **out)
{
    STANDARD_FLOATS;
    static const struct file_format format = {"SMV image", (size_t)3 << 30, smv_header,
                                              smv_parse};

    if (out) *out = NULL;
    return file_parse(ctx, path, &format, out);
}

void nb_smv_free(nb_smv *smv)
{
    if (!smv) return;
    free((void *)smv->header.at);
    free(smv->pixels);
    free(smv);
}

int nb_smv_number(const nb_smv *smv, const char *keyword, double *value)
{
    STANDARD_FLOATS;
    return smv && keyword && value && header_number(smv->header, keyword, value);
}

void nb_smv_image(const nb_smv *smv, int *nfast, int *nslow, const uint16_t **pixels)
{
    if (nfast) *nfast = smv ? smv->nfast : 0;
    if (nslow) *nslow = smv ? smv->nslow : 0;
    if (pixels) *pixels = smv ? smv->pixels : NULL;
}

/* ---- writing ---- */

/* Returns the whole header with its padding, to be released with free(); NULL without
 * memory. */
static char *compose_header(const char *lines, size_t *length)
{
    const size_t capacity = strlen(lines) + 64;
    size_t total = BLOCK, used;
    char *text = malloc(capacity + BLOCK);

    if (!text) return NULL;
    /* More digits of the length can make the text longer than that length. */
    for (;;) {
        used =
            (size_t)snprintf(text, capacity, "{\nHEADER_BYTES=%zu;\n%s}\f", total, lines);
        if (used <= total) break;
        total = (used + BLOCK - 1) / BLOCK * BLOCK;
    }
    memset(text + used, ' ', total - used);
    *length = total;
    return text;
}

/* Writes the pixels in the byte order of the header. */
static void put_pixels(struct file_out *file, const uint16_t *pixels, size_t n, int swap)
{
    uint16_t swapped[BUFFER];

    if (!swap) {
        file_put(file, pixels, n * sizeof *pixels);
        return;
    }
    for (size_t done = 0; done < n;) {
        const size_t part = n - done < BUFFER ? n - done : BUFFER;

        for (size_t i = 0; i < part; i++) {
            const unsigned pixel = pixels[done + i];

            swapped[i] = (uint16_t)(pixel << 8 | pixel >> 8);
        }
        file_put(file, swapped, part * sizeof *swapped);
        done += part;
    }
}

nb_status nb_smv_write(nb_context *ctx, const char *path, const char *header,
                       const nb_array *counts)
{
    STANDARD_FLOATS;
    struct file_out file;
    struct span span;
    nb_status status;
    char *text;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!path || !header || !counts)
        return fail(ctx, NB_ERR_ARGUMENT, "SMV image: %s is NULL",
                    !path     ? "path"
                    : !header ? "header"
                              : "counts");
    NB_TRY(array_check(ctx, counts, "counts", array_extent(counts, 0),
                       array_extent(counts, 1), NB_UINT, 16, 16));
    if (array_extent(counts, 0) < 1 || array_extent(counts, 1) < 1
        || !array_is_dense(counts))
        return fail(ctx, NB_ERR_SHAPE, "%s: not a dense image with pixels",
                    counts->name ? counts->name : "counts");
    if (strlen(header) > HEADER_MAX - BLOCK)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "SMV image: the header is longer than the %d bytes a reader takes",
                    (int)(HEADER_MAX - BLOCK));
    text = compose_header(header, &span.n);
    if (!text) return fail_memory(ctx, path);
    span.at = text;
    status = file_begin(ctx, path, &file);
    if (status == NB_OK) {
        file_preallocate(&file,
                         span.n
                             + (size_t)(array_extent(counts, 0) * array_extent(counts, 1))
                                   * 2);
        file_put(&file, text, span.n);
        put_pixels(&file, counts->data,
                   (size_t)(array_extent(counts, 0) * array_extent(counts, 1)),
                   is_big_endian(span) != host_is_big_endian());
        status = file_end(&file);
    }
    free(text);
    return status;
}
