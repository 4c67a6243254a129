/* sha256.c - SHA-256 by sections 4 to 6 of FIPS 180-4. SPDX-License-Identifier: MIT */
#include "base/store/sha256.h"

#include <string.h>

static const uint32_t constants[64] =
    {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
     0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
     0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
     0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
     0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
     0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
     0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
     0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
     0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
     0xc67178f2};

static uint32_t rotate_right(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void process_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64], v[8];

    for (int t = 0; t < 16; t++, block += 4)
        w[t] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8
               | block[3];
    for (int t = 16; t < 64; t++)
        w[t] = w[t - 16] + w[t - 7]
               + (rotate_right(w[t - 15], 7) ^ rotate_right(w[t - 15], 18) ^ w[t - 15] >> 3)
               + (rotate_right(w[t - 2], 17) ^ rotate_right(w[t - 2], 19) ^ w[t - 2] >> 10);
    memcpy(v, state, sizeof v);
    for (int t = 0; t < 64; t++) {
        const uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        const uint32_t first =
            v[7] + (rotate_right(v[4], 6) ^ rotate_right(v[4], 11) ^ rotate_right(v[4], 25))
            + choice + constants[t] + w[t];
        const uint32_t second =
            (rotate_right(v[0], 2) ^ rotate_right(v[0], 13) ^ rotate_right(v[0], 22))
            + majority;

        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += first;
        v[0] = first + second;
    }
    for (int i = 0; i < 8; i++) state[i] += v[i];
}

void sha256_begin(struct sha256 *sha)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    memcpy(sha->state, start, sizeof start);
    sha->length = 0;
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t n)
{
    const unsigned char *from = bytes;
    size_t used = (size_t)(sha->length % SHA256_BLOCK);

    sha->length += n;
    while (n > 0) {
        const size_t part = n < SHA256_BLOCK - used ? n : SHA256_BLOCK - used;

        memcpy(sha->block + used, from, part);
        used += part;
        from += part;
        n -= part;
        if (used < SHA256_BLOCK) break;
        process_block(sha->state, sha->block);
        used = 0;
    }
}

void sha256_end(struct sha256 *sha, unsigned char digest[SHA256_DIGEST])
{
    static const unsigned char padding[SHA256_BLOCK] = {0x80};
    const uint64_t bits = 8 * sha->length;
    const size_t used = (size_t)(sha->length % SHA256_BLOCK);
    unsigned char length[8];

    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(sha, padding, 1 + (SHA256_BLOCK + 55 - used) % SHA256_BLOCK);
    sha256_add(sha, length, sizeof length);
    for (int i = 0; i < SHA256_DIGEST; i++)
        digest[i] = (unsigned char)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_hex(const unsigned char digest[SHA256_DIGEST], char hex[2 * SHA256_DIGEST + 1])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < SHA256_DIGEST; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[2 * (size_t)SHA256_DIGEST] = '\0';
}

void sha256_end_hex(struct sha256 *sha, char hex[2 * SHA256_DIGEST + 1])
{
    unsigned char digest[SHA256_DIGEST];

    sha256_end(sha, digest);
    sha256_hex(digest, hex);
}
