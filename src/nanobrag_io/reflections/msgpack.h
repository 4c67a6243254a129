/*
 * msgpack.h - reads MessagePack (github.com/msgpack/msgpack, spec.md) item by item. Texts
 * and bytes are not copied but point into the file. A stated length is checked against the
 * bytes that are left before it is used.
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
    int64_t number; /* of MSGPACK_INT, at most 2^63 - 1 */
    size_t n; /* bytes of text, bytes or extension; items of an array; pairs of a map */
    const unsigned char *bytes;
};

struct msgpack {
    const unsigned char *at, *end;
};

/* Reads the next item; the items of an array or map come after it. Returns 0 if the bytes
 * are no item, or end too early. */
int msgpack_next(struct msgpack *m, struct msgpack_item *out);

/* Skips the next item with all items inside it. Returns 0 like msgpack_next(). */
int msgpack_skip(struct msgpack *m);

/* Reads the next item. Returns 1 if it is of the given kind, else 0. */
int msgpack_take(struct msgpack *m, enum msgpack_kind kind, struct msgpack_item *out);

/* Returns 1 if an item is this text. */
int msgpack_is(const struct msgpack_item *item, const char *text);

/* Writes the head of an item, at most MSGPACK_HEAD bytes, and returns its length. n is the
 * length of the item; for MSGPACK_INT it is the number itself. */
enum { MSGPACK_HEAD = 9 };
size_t msgpack_head(enum msgpack_kind kind, uint64_t n, unsigned char out[MSGPACK_HEAD]);

#endif
