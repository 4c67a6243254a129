/* msgpack.c - reads MessagePack. SPDX-License-Identifier: MIT */
#include "nanobrag_io/reflections/msgpack.h"

#include <string.h>

/* Reads a number of `width` bytes, the highest first. Returns 0 if the text ends before. */
static int take_number(struct msgpack *m, int width, uint64_t *out)
{
    if (m->end - m->at < width) return 0;
    *out = 0;
    for (int i = 0; i < width; i++) *out = *out << 8 | *m->at++;
    return 1;
}

/* Sets kind and length of an item whose n bytes or items follow. Returns 0 if fewer bytes
 * are left. An item inside an array takes at least one byte, so this limits arrays, too. */
static int set_length(struct msgpack *m, enum msgpack_kind kind, uint64_t n,
                      struct msgpack_item *out)
{
    const uint64_t left = (uint64_t)(m->end - m->at);
    const uint64_t bytes = kind == MSGPACK_MAP ? 2 * n : n + (kind == MSGPACK_EXTENSION);

    if (n > left || bytes > left) return 0;
    out->kind = kind;
    out->n = (size_t)n;
    out->bytes = m->at;
    if (kind < MSGPACK_ARRAY) m->at += bytes;
    return 1;
}

/* items whose first byte is 0xc0 + index */
static const struct {
    /* width: bytes of the number behind the first byte; fixed: length of an item without
     * such a number, or 1 for an integer with a sign */
    unsigned char kind, width, fixed;
} heads[0x40] = {
    [0x00] = {MSGPACK_NIL, 0, 0},       [0x02] = {MSGPACK_BOOL, 0, 0},
    [0x03] = {MSGPACK_BOOL, 0, 0},      [0x04] = {MSGPACK_BYTES, 1, 0},
    [0x05] = {MSGPACK_BYTES, 2, 0},     [0x06] = {MSGPACK_BYTES, 4, 0},
    [0x07] = {MSGPACK_EXTENSION, 1, 0}, [0x08] = {MSGPACK_EXTENSION, 2, 0},
    [0x09] = {MSGPACK_EXTENSION, 4, 0}, [0x0a] = {MSGPACK_FLOAT, 0, 4},
    [0x0b] = {MSGPACK_FLOAT, 0, 8},     [0x0c] = {MSGPACK_INT, 1, 0},
    [0x0d] = {MSGPACK_INT, 2, 0},       [0x0e] = {MSGPACK_INT, 4, 0},
    [0x0f] = {MSGPACK_INT, 8, 0},       [0x10] = {MSGPACK_INT, 1, 1},
    [0x11] = {MSGPACK_INT, 2, 1},       [0x12] = {MSGPACK_INT, 4, 1},
    [0x13] = {MSGPACK_INT, 8, 1},       [0x14] = {MSGPACK_EXTENSION, 0, 1},
    [0x15] = {MSGPACK_EXTENSION, 0, 2}, [0x16] = {MSGPACK_EXTENSION, 0, 4},
    [0x17] = {MSGPACK_EXTENSION, 0, 8}, [0x18] = {MSGPACK_EXTENSION, 0, 16},
    [0x19] = {MSGPACK_TEXT, 1, 0},      [0x1a] = {MSGPACK_TEXT, 2, 0},
    [0x1b] = {MSGPACK_TEXT, 4, 0},      [0x1c] = {MSGPACK_ARRAY, 2, 0},
    [0x1d] = {MSGPACK_ARRAY, 4, 0},     [0x1e] = {MSGPACK_MAP, 2, 0},
    [0x1f] = {MSGPACK_MAP, 4, 0},
};

/* Sets an integer of `width` bytes. If it is `with_sign` and its highest bit is set, it is
 * negative. */
static int set_integer(uint64_t number, int width, int with_sign, struct msgpack_item *out)
{
    const uint64_t sign = with_sign && width > 0 ? (uint64_t)1 << (8 * width - 1) : 0;

    out->kind = MSGPACK_INT;
    if (with_sign)
        out->number = (int64_t)((number ^ sign) - sign);
    else
        out->number = number > INT64_MAX ? INT64_MAX : (int64_t)number;
    return 1;
}

int msgpack_next(struct msgpack *m, struct msgpack_item *out)
{
    uint64_t number = 0;
    int first;

    *out = (struct msgpack_item){0};
    if (m->at == m->end) return 0;
    first = *m->at++;
    if (first < 0x80) return set_integer((uint64_t)first, 1, 0, out);
    if (first >= 0xe0) return set_integer((uint64_t)first, 1, 1, out);
    if (first < 0x90) return set_length(m, MSGPACK_MAP, (uint64_t)first & 15, out);
    if (first < 0xa0) return set_length(m, MSGPACK_ARRAY, (uint64_t)first & 15, out);
    if (first < 0xc0) return set_length(m, MSGPACK_TEXT, (uint64_t)first & 31, out);
    if (first == 0xc1) return 0; /* not used by MessagePack */
    first -= 0xc0;
    if (!take_number(m, heads[first].width, &number)) return 0;
    if (heads[first].kind == MSGPACK_INT)
        return set_integer(number, heads[first].width, heads[first].fixed, out);
    return set_length(m, (enum msgpack_kind)heads[first].kind,
                      heads[first].width ? number : heads[first].fixed, out);
}

int msgpack_skip(struct msgpack *m)
{
    struct msgpack_item item;

    /* every item that is still open takes at least a byte, so `open` stays below the size
     * of the file */
    for (size_t open = 1; open > 0; open--) {
        if (!msgpack_next(m, &item)) return 0;
        if (item.kind == MSGPACK_ARRAY) open += item.n;
        if (item.kind == MSGPACK_MAP) open += 2 * item.n;
        if (open > (size_t)(m->end - m->at) + 1) return 0;
    }
    return 1;
}

int msgpack_take(struct msgpack *m, enum msgpack_kind kind, struct msgpack_item *out)
{
    return msgpack_next(m, out) && out->kind == kind;
}

int msgpack_is(const struct msgpack_item *item, const char *text)
{
    const size_t n = strlen(text);

    return (item->kind == MSGPACK_TEXT || item->kind == MSGPACK_BYTES) && item->n == n
           && memcmp(item->bytes, text, n) == 0;
}

size_t msgpack_head(enum msgpack_kind kind, uint64_t n, unsigned char out[MSGPACK_HEAD])
{
    /* the longest form of each head; readers accept any form */
    static const unsigned char first[] = {[MSGPACK_INT] = 0xcf,
                                          [MSGPACK_TEXT] = 0xdb,
                                          [MSGPACK_BYTES] = 0xc6,
                                          [MSGPACK_ARRAY] = 0xdd,
                                          [MSGPACK_MAP] = 0xdf};
    const int width = kind == MSGPACK_INT ? 8 : 4;

    out[0] = first[kind];
    for (int i = 0; i < width; i++) out[1 + i] = (unsigned char)(n >> 8 * (width - 1 - i));
    return (size_t)width + 1;
}
