/*
 * cbf_pixels.c - expands the pixels of a binary section of a CBF. The compressions are
 * those of International Tables for Crystallography G, 5.6.3; "packed" in its second
 * version, and the guesses of both, were found from files of CBFlib.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/measured/cbf_pixels.h"

#include <string.h>

#include <nanobrag/array.h>

#include "nanobrag_io/smv/smv.h"

/* Returns the number that the low bits of x mean. */
static int64_t wrapped(int type, int bits, uint64_t x)
{
    const uint64_t half = (uint64_t)1 << (bits - 1), low = x & (half - 1 + half);

    if (type == NB_TYPE_INT && low >= half)
        return (int64_t)(low - half) - (int64_t)(half - 1) - 1;
    return (int64_t)low;
}

/* Replaces whole numbers of a section by the pixels that they mean: of reals they are the
 * bits. */
static void to_pixels(const struct cbf_section *s, const int64_t *value, uint64_t n,
                      double *out)
{
    for (uint64_t i = 0; i < n; i++) {
        const int64_t bits = value[i];
        const int32_t low = (int32_t)bits;
        float single;

        if (s->type != NB_TYPE_FLOAT) {
            out[i] = s->bits == 64 && s->type == NB_TYPE_UINT ? (double)(uint64_t)bits
                                                              : (double)bits;
        } else if (s->bits == 64) {
            memcpy(out + i, &bits, sizeof *out);
        } else {
            memcpy(&single, &low, sizeof single);
            out[i] = single;
        }
    }
}

static uint64_t count(const struct cbf_section *s)
{
    return s->nfast * s->nslow * s->nimage;
}

/* ---- byte offset: differences of neighbours in as few bytes as they need ---- */

static int expand_offsets(const struct cbf_section *s, int64_t *out)
{
    const unsigned char *at = s->bytes;
    const unsigned char *const end = at + s->n;
    const uint64_t n = count(s);
    uint64_t value = 0;

    for (uint64_t i = 0; i < n; i++) {
        for (int bytes = 1; bytes <= 8; bytes *= 2) {
            const uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
            uint64_t d = 0;

            if (end - at < bytes) return 0;
            for (int k = 0; k < bytes; k++) d |= (uint64_t)at[k] << 8 * k;
            at += bytes;
            if (d == sign && bytes < 8) continue;
            value += (d ^ sign) - sign;
            break;
        }
        out[i] = wrapped(s->type, s->bits, value);
    }
    return at == end;
}

/* ---- packed: errors of a guess, in blocks of equal numbers of bits ---- */

/* CBFlib leaves 65 bits for an error of unlimited size in a flat array, where the lowest
 * ones count */
enum { PACKED_HEAD = 32, PACKED_SPARE = 8, FLAT_BITS = 65 };

struct bits {
    const unsigned char *at, *end;
    uint64_t held;
    int n; /* bits held */
};

/* Takes up to 64 bits, the lowest first. Returns 0 if there are not as many. */
static int take(struct bits *b, int n, uint64_t *out)
{
    uint64_t low;

    if (n > 32) {
        if (!take(b, 32, &low) || !take(b, n - 32, out)) return 0;
        *out = *out << 32 | low;
        return 1;
    }
    while (b->n < n) {
        if (b->at == b->end) return 0;
        b->held |= (uint64_t)*b->at++ << b->n;
        b->n += 8;
    }
    *out = b->held & (((uint64_t)1 << n) - 1);
    b->held >>= n;
    b->n -= n;
    return 1;
}

/* Guesses pixel i, at x, y of image z: the mean of its neighbours before it, in its own
 * image and the one before. The sum wraps around as a pixel with a sign does. */
static int64_t guess(const struct cbf_section *s, const int64_t *out, uint64_t i,
                     uint64_t x, uint64_t y, uint64_t z)
{
    const int64_t f = (int64_t)s->nfast;
    const int64_t inside[] = {-f - 1, -f, -f + 1, -1}, first[] = {-f, -f + 1},
                  last[] = {-f, -1};
    const int64_t *const beside = x == 0 ? first : x + 1 == s->nfast ? last : inside;
    const int64_t image = f * (int64_t)s->nslow;
    const int nbeside = beside == inside ? 4 : 2, two = z > 0 && !s->is_alone;
    const int n = two ? 2 * nbeside : nbeside;
    const int64_t *const at = out + i;
    uint64_t sum = (uint64_t)n / 2;
    int64_t mean;

    if (i == 0) return 0;
    if (s->is_flat || (y == 0 && x > 0)) return at[-1];
    if (y == 0) return at[-image];
    for (int k = 0; k < nbeside; k++) {
        sum += (uint64_t)at[beside[k]];
        /* of the image before, the pixel itself stands for its neighbour at the left */
        if (two) sum += (uint64_t)at[(beside[k] == -1 ? 0 : beside[k]) - image];
    }
    mean = wrapped(NB_TYPE_INT, s->bits, sum);
    return mean / n - (mean % n < 0);
}

static int expand_packed(const struct cbf_section *s, int64_t *out)
{
    static const unsigned char one[8] = {0, 4, 5, 6, 7, 8, 16, 0};
    static const unsigned char two[16] = {0,  3,  4,  5,  6,  7,  8,  9,
                                          10, 11, 12, 13, 14, 15, 16, 0};
    const int is_two = s->compression == CBF_PACKED_V2, code_bits = is_two ? 4 : 3;
    struct bits b = {s->bytes + PACKED_HEAD, s->bytes + s->n, 0, 0};
    uint64_t stated = 0, x = 0, y = 0, z = 0, block = 0, code, error = 0, unused;
    const uint64_t n = count(s);
    int width = 0, rest = 0;

    for (int i = 0; i < 8; i++) stated |= (uint64_t)s->bytes[i] << 8 * i;
    if (stated != n) return 0;
    for (uint64_t i = 0; i < n; i++) {
        if (block == 0) {
            if (!take(&b, 3, &block) || !take(&b, code_bits, &code)) return 0;
            block = (uint64_t)1 << block;
            width = is_two ? two[code] : one[code];
            rest = 0;
            if (code == (is_two ? 15 : 7)) {
                width = s->bits;
                rest = s->is_flat ? FLAT_BITS - width : 0;
            }
        }
        if (!take(&b, width, &error) || !take(&b, rest, &unused)) return 0;
        if (width > 0 && width < 64 && error >> (width - 1)) error -= (uint64_t)1 << width;
        error += (uint64_t)guess(s, out, i, x, y, z);
        out[i] = wrapped(s->type, s->bits, error);
        block--;
        if (++x < s->nfast) continue;
        x = 0;
        if (++y < s->nslow) continue;
        y = 0;
        z++;
    }
    return b.end - b.at < PACKED_SPARE;
}

/* ---- any of them ---- */

uint64_t cbf_pixels_most(const struct cbf_section *s)
{
    enum { BLOCK = 128, CODE = 6 }; /* pixels of a block without errors, and its bits */

    switch (s->compression) {
    case CBF_NONE:
        return s->n / ((unsigned)s->bits / 8);
    case CBF_BYTE_OFFSET:
        return s->n;
    default:
        return s->n < PACKED_HEAD ? 0 : (s->n - PACKED_HEAD) * 8 / CODE * BLOCK;
    }
}

int cbf_pixels(const struct cbf_section *s, double *out)
{
    const size_t each = (size_t)s->bits / 8;
    const uint64_t n = count(s);

    if (s->compression != CBF_NONE) {
        int64_t *const whole =
            (int64_t *)(void *)out; /* each becomes a pixel in its place */
        const int done = s->compression == CBF_BYTE_OFFSET ? expand_offsets(s, whole)
                                                           : expand_packed(s, whole);

        if (done) to_pixels(s, whole, n, out);
        return done;
    }
    if (n * each != s->n) return 0;
    for (uint64_t i = 0; i < n; i++)
        out[i] = smv_element(s->bytes + i * each, s->type, s->bits, s->is_big_endian);
    return 1;
}
