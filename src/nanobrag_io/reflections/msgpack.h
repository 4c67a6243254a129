/*
 * msgpack.h - reads MessagePack (github.com/msgpack/msgpack, spec.md) item by item, without
 * copies: strings and bytes lie in the file. No claim of a file is believed: an item is
 * longer than the bytes that are left, or it is read.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_REFLECTIONS_MSGPACK_H
#define NB_IO_REFLECTIONS_MSGPACK_H

#include <stddef.h>
#include <stdint.h>

enum msgpack_kind {
    MSGPACK_NIL,
    MSGPACK_BOOL,
    MSGPACK_INT,
    MSGPACK_FLOAT,
    MSGPACK_TEXT,
    MSGPACK_BYTES,
    MSGPACK_EXTENSION,
    MSGPACK_ARRAY,
    MSGPACK_MAP
};

struct msgpack_item {
    enum msgpack_kind kind;
    int64_t number; /* of MSGPACK_INT; those above 2^63 - 1 are clamped to it */
    size_t n; /* bytes of text, bytes and extensions; items of an array; pairs of a map */
    const unsigned char *bytes;
};

struct msgpack {
    const unsigned char *at, *end;
};

/* Reads the next item; the items of an array or a map follow it. Returns 0 at a byte that
 * begins none, and where the file ends too early. */
int msgpack_next(struct msgpack *m, struct msgpack_item *out);

/* Skips the next item with all that it holds. Returns 0 as msgpack_next() does. */
int msgpack_skip(struct msgpack *m);

/* Reads the next item if it is of a kind; returns 0 otherwise. */
int msgpack_take(struct msgpack *m, enum msgpack_kind kind, struct msgpack_item *out);

/* 1 when an item is this text. */
int msgpack_is(const struct msgpack_item *item, const char *text);

/* Writes the head of an item, at most MSGPACK_HEAD bytes; returns their number. An integer
 * has its number in n. */
enum { MSGPACK_HEAD = 9 };
size_t msgpack_head(enum msgpack_kind kind, uint64_t n, unsigned char out[MSGPACK_HEAD]);

#endif
