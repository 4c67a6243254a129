/*
 * sha256.h - the digest SHA-256 of FIPS 180-4, which names and checks files in the cache.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_SHA256_H
#define NB_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_DIGEST = 32, SHA256_BLOCK = 64 }; /* bytes */

struct sha256 {
    uint32_t state[8];
    uint64_t length; /* number of bytes added so far */
    /* the bytes of the last block, while it is not full */
    unsigned char block[SHA256_BLOCK];
};

/* A digest is computed in three steps: sha256_begin(), then sha256_add() for the bytes in
 * any number of pieces, then sha256_end(). */
void sha256_begin(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, size_t n);
void sha256_end(struct sha256 *sha, unsigned char digest[SHA256_DIGEST]);

/* sha256_hex() writes a digest as hexadecimal digits. sha256_end_hex() calls sha256_end(),
 * then writes its digest in this form. */
void sha256_hex(const unsigned char digest[SHA256_DIGEST], char hex[2 * SHA256_DIGEST + 1]);
void sha256_end_hex(struct sha256 *sha, char hex[2 * SHA256_DIGEST + 1]);

#endif
