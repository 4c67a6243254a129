/*
 * smv.c - reads and writes SMV images: a text header, padded with blanks, then the pixels.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/smv/smv.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/context.h"
#include "base/floats.h"
#include "base/log.h"
#include "nanobrag_io/file.h"
#include "nanobrag_io/parse.h"

enum {
    BLOCK = 512, /* the length of a header is a multiple of this, bytes */
    HEADER_MIN = 16,
    HEADER_MAX = FILE_HEAD, /* so that the first bytes read hold it */
    SIDE_MAX = 1 << 20,
    BUFFER = 1 << 12 /* pixels */
};

static const char start[] = "{\nHEADER_BYT";

static int host_is_big_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 0;
}

/* ---- values of the header ---- */

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Returns the text after the '=' of a keyword and blanks; n = 0 if there is none. The '='
 * is found as in nanoBragg: the first one after the last occurrence of the keyword, even
 * inside another word. */
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
        while (value.at < end && is_blank(*value.at));
        value.n = (size_t)(end - value.at);
        return value;
    }
    return none;
}

/* Returns 1 if a record may begin at place i of the header. */
static int begins_record(struct span header, size_t i)
{
    while (i > 0 && is_blank(header.at[i - 1])) i--;
    return i == 0 || strchr("\n\r;{", header.at[i - 1]) != NULL;
}

/* Returns the value that begins at `at`, without blanks behind it. The value ends at a
 * semicolon, or before the last line break in front of another '='. */
static struct span value_from(const char *at, const char *end)
{
    struct span value = {at, 0};

    for (; at < end && *at != ';' && *at != '}' && *at != '\0'; at++) {
        if (*at == '=') break;
        if (*at == '\n') value.n = (size_t)(at - value.at);
    }
    if (at == end || *at != '=') value.n = (size_t)(at - value.at);
    while (value.n > 0 && strchr(" \t\r\n", value.at[value.n - 1])) value.n--;
    return value;
}

struct span smv_value(struct span header, const char *key)
{
    const struct span none = {NULL, 0};
    const size_t length = strlen(key);
    const char *end = header.at + header.n;

    if (length == 0 || length > header.n) return none;
    for (size_t i = header.n - length + 1; i-- > 0;) {
        const char *at = header.at + i + length;

        if (memcmp(header.at + i, key, length) != 0 || !begins_record(header, i)) continue;
        while (at < end && is_blank(*at)) at++;
        if (at == end || *at != '=') continue;
        do at++;
        while (at < end && is_blank(*at));
        return value_from(at, end);
    }
    return none;
}

int smv_numbers(struct span header, const char *key, int most, double *out)
{
    struct span value = smv_value(header, key);
    int n = 0;

    while (n < most) {
        size_t length;
        double number;

        while (value.n > 0 && strchr(" \t\r\n,", *value.at)) value.at++, value.n--;
        length = text_number_prefix(value, &number);
        if (length == 0 || !isfinite(number)) break;
        out[n++] = number;
        value.at += length;
        value.n -= length;
    }
    return n;
}

/* Warns if a key occurs twice with different numbers. */
static void check_twice(nb_context *ctx, const char *name, struct span header)
{
    static const char *const keys[] = {
        "SIZE1",         "SIZE2",         "PIXEL_SIZE",    "DISTANCE",  "WAVELENGTH",
        "BEAM_CENTER_X", "BEAM_CENTER_Y", "OSC_START",     "OSC_RANGE", "TWOTHETA",
        "PHI",           "ROTATION",      "SCAN_ROTATION",
    };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct span value = smv_value(header, keys[i]);
        struct span before = {header.at, 0};
        double last, first;

        if (value.n == 0) continue;
        before.n = (size_t)(value.at - header.at);
        while (before.at[before.n - 1] != '=') before.n--;
        before.n--; /* the text in front of the last record */
        if (smv_numbers(header, keys[i], 1, &last) == 1
            && smv_numbers(before, keys[i], 1, &first) == 1 && first != last)
            log_line(ctx, NB_LOG_WARNING, "smv",
                     "%s: the header has %s=%g and %s=%g; the last one is taken", name,
                     keys[i], first, keys[i], last);
    }
}

/* Returns 1 if BYTE_ORDER is big_endian. Without the key, pixels are little-endian. */
static int is_big_endian(struct span header)
{
    const struct span order = smv_value(header, "BYTE_ORDER");

    return order.n >= 3 && (order.at[0] | 0x20) == 'b';
}

/* ---- reading ---- */

/* Returns HEADER_BYTES, or 0 after setting an error. */
static size_t read_length(nb_context *ctx, const char *name, const char *bytes, size_t n)
{
    const size_t length = sizeof start - 1;
    struct span line = {bytes, n};
    const char *end;
    double value;

    if (n < length || memcmp(bytes, start, length) != 0) {
        (void)fail(ctx, NB_ERR_FORMAT,
                   "%s: the file is not an SMV image; expected '{' and HEADER_BYTES at the "
                   "start; check that it is the right file",
                   name);
        return 0;
    }
    end = memchr(bytes + length, '\n', n - length);
    if (end) line.n = (size_t)(end - bytes);
    if (text_number_prefix(look_up(line, "HEADER_BYT"), &value) == 0 || !isfinite(value)
        || value != floor(value) || value < HEADER_MIN || value > HEADER_MAX) {
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

static nb_status check_side(nb_context *ctx, const char *name, const char *key,
                            double value, int *side)
{
    if (value < 0 || value > SIDE_MAX || value != floor(value))
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: %s=%g in the header, expected a whole number of pixels up to %d; "
                    "repair the header",
                    name, key, value, (int)SIDE_MAX);
    *side = (int)value;
    return NB_OK;
}

/* Reads the number of pixels. Refuses a file of several images. */
static nb_status read_sides(nb_context *ctx, const char *name, nb_smv *smv)
{
    double side[3] = {0, 0, 1}, both[2];
    int n;

    (void)smv_numbers(smv->header, "SIZE1", 1, &side[0]);
    (void)smv_numbers(smv->header, "SIZE2", 1, &side[1]);
    (void)smv_numbers(smv->header, "SIZE3", 1, &side[2]);
    NB_TRY(check_side(ctx, name, "SIZE1", side[0], &smv->nfast));
    NB_TRY(check_side(ctx, name, "SIZE2", side[1], &smv->nslow));
    if (side[2] > 1)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "%s: SIZE3=%g in the header, expected one image per file", name,
                    side[2]);
    if (smv->nfast > 0) return NB_OK;
    n = smv_numbers(smv->header, "DETECTOR_DIMENSIONS", 2, both);
    if (n == 0) return NB_OK;
    NB_TRY(check_side(ctx, name, "DETECTOR_DIMENSIONS", both[0], &smv->nfast));
    return check_side(ctx, name, "DETECTOR_DIMENSIONS", both[n - 1], &smv->nslow);
}

/* Reads size, byte order and type of the pixels from the header. */
static nb_status read_layout(nb_context *ctx, const char *name, nb_smv *smv)
{
    NB_TRY(read_sides(ctx, name, smv));
    smv->is_big_endian = is_big_endian(smv->header);
    return smv_read_type(ctx, name, smv);
}

static int states_type(struct span header)
{
    return smv_value(header, "TYPE").n > 0 || smv_value(header, "Data_type").n > 0;
}

/* Warns if the header lacks TYPE or BYTE_ORDER and defaults are used. Refuses a file whose
 * length contradicts the default of TYPE. */
static nb_status check_assumptions(nb_context *ctx, const char *name, size_t n,
                                   uint64_t pixels, const nb_smv *smv)
{
    const int has_type = states_type(smv->header);
    const int has_order = smv_value(smv->header, "BYTE_ORDER").n > 0 || smv->bits == 8;

    if (!has_type && n / 4 == pixels && n % 4 == 0)
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the header has no TYPE, and the file has 4 bytes for each pixel; "
                    "add TYPE=unsigned_int;, TYPE=signed_int; or TYPE=float;",
                    name);
    if (!has_type || !has_order)
        log_line(ctx, NB_LOG_WARNING, "smv",
                 "%s: the header has no %s, so the pixels are read as %s%s%s", name,
                 has_type    ? "BYTE_ORDER"
                 : has_order ? "TYPE"
                             : "TYPE and no BYTE_ORDER",
                 has_type ? "" : "unsigned 16-bit numbers",
                 has_type || has_order ? "" : ", ", has_order ? "" : "little endian");
    return NB_OK;
}

static nb_status read_pixels(nb_context *ctx, const char *name, const unsigned char *bytes,
                             size_t n, nb_smv *smv)
{
    const uint64_t pixels = (uint64_t)smv->nfast * (uint64_t)smv->nslow;
    const size_t each = (size_t)smv->bits / 8;

    if (pixels == 0 || pixels > n / each) return NB_OK;
    NB_TRY(check_assumptions(ctx, name, n, pixels, smv));
    smv->bytes = malloc((size_t)pixels * each);
    if (!smv->bytes) return fail_memory(ctx, name);
    memcpy(smv->bytes, bytes, (size_t)pixels * each);
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
    check_twice(ctx, name, smv->header);
    status = read_layout(ctx, name, smv);
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

/* Asks for the header and the pixels, with 4 bytes a pixel if the header does not state
 * their type. */
static nb_status smv_header(nb_context *ctx, const char *name, const void *bytes, size_t n,
                            size_t *wanted)
{
    const size_t length = read_length(ctx, name, bytes, n);
    nb_smv smv = {.header = {bytes, length}};

    if (length == 0) return NB_ERR_FORMAT;
    NB_TRY(read_layout(ctx, name, &smv));
    *wanted = length
              + (states_type(smv.header) ? (size_t)smv.bits / 8 : 4) * (size_t)smv.nfast
                    * (size_t)smv.nslow;
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
    free(smv->bytes);
    free(smv);
}

int nb_smv_number(const nb_smv *smv, const char *keyword, double *value)
{
    STANDARD_FLOATS;
    return smv && keyword && value && smv_numbers(smv->header, keyword, 1, value) == 1;
}

int nb_smv_search(const nb_smv *smv, const char *keyword, double *value)
{
    STANDARD_FLOATS;
    double number;

    if (!smv || !keyword || !value) return 0;
    if (text_number_prefix(look_up(smv->header, keyword), &number) == 0) return 0;
    if (!isfinite(number)) return 0;
    *value = number;
    return 1;
}

void nb_smv_image(const nb_smv *smv, int *nfast, int *nslow, int *type, int *bits)
{
    if (nfast) *nfast = smv ? smv->nfast : 0;
    if (nslow) *nslow = smv ? smv->nslow : 0;
    if (type) *type = smv ? smv->type : NB_TYPE_UINT;
    if (bits) *bits = smv && smv->bytes ? smv->bits : 0;
}

/* Returns the `each` bytes of a pixel as an unsigned number. */
static uint64_t bits_of(const unsigned char *at, size_t each, int is_big)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < each; i++) bits = bits << 8 | at[is_big ? i : each - 1 - i];
    return bits;
}

double smv_element(const unsigned char *at, int type, int bits, int is_big)
{
    const uint64_t half = (uint64_t)1 << (bits - 1);
    const uint64_t value = bits_of(at, (size_t)bits / 8, is_big);
    const uint32_t low = (uint32_t)value;
    float single;
    double wide;

    if (type == NB_TYPE_FLOAT && bits == 32) {
        memcpy(&single, &low, sizeof single);
        return single;
    }
    if (type == NB_TYPE_FLOAT) {
        memcpy(&wide, &value, sizeof wide);
        return wide;
    }
    return type == NB_TYPE_INT ? (double)(int64_t)((value ^ half) - half) : (double)value;
}

/* Returns a number of 16 bits by the rule of R-AXIS. */
static double coded(double value, double ratio)
{
    static const double half = 1 << 15;

    return ratio > 0 && value >= half ? (value - half) * ratio : value;
}

int nb_smv_pixels(const nb_smv *smv, double *pixels)
{
    size_t n, each;
    int type;

    if (!smv || !smv->bytes || !pixels) return 0;
    n = (size_t)smv->nfast * (size_t)smv->nslow;
    each = (size_t)smv->bits / 8;
    type = smv->ratio > 0 ? NB_TYPE_UINT : smv->type;
    for (size_t i = 0; i < n; i++)
        pixels[i] =
            coded(smv_element(smv->bytes + i * each, type, smv->bits, smv->is_big_endian),
                  smv->ratio);
    return 1;
}

/* ---- writing ---- */

/* Returns the header with its padding, *length bytes, which the caller frees; NULL: no
 * memory. */
static char *compose_header(const char *lines, size_t *length)
{
    const size_t capacity = strlen(lines) + 64;
    size_t total = BLOCK, used;
    char *text = malloc(capacity + BLOCK);

    if (!text) return NULL;
    /* Loops because a longer text needs a larger length, whose digits make the text
     * longer. */
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

/* Writes the pixels; `swap` is 1 if the byte order of the header is not the host's. */
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
                       array_extent(counts, 1), NB_TYPE_UINT, 16, 16));
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
