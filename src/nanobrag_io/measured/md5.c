/*
 * md5.c - computes the checksum MD5 of a block of bytes. SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/measured/md5.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK = 64 };

static uint32_t turned(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

/* 2^32 |sin(i + 1)|, rounded down. */
static const uint32_t sines[BLOCK] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613,
    0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193,
    0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d,
    0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed,
    0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122,
    0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
    0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244,
    0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb,
    0xeb86d391,
};

/* Adds a block of the message to the state. */
static void add_block(uint32_t state[4], const unsigned char *at)
{
    static const unsigned char turns[4][4] = {{7, 12, 17, 22},
                                              {5, 9, 14, 20},
                                              {4, 11, 16, 23},
                                              {6, 10, 15, 21}};
    uint32_t word[16], a = state[0], b = state[1], c = state[2], d = state[3];

    for (size_t i = 0; i < 16; i++)
        word[i] = (uint32_t)at[4 * i] | (uint32_t)at[4 * i + 1] << 8
                  | (uint32_t)at[4 * i + 2] << 16 | (uint32_t)at[4 * i + 3] << 24;
    for (int i = 0; i < BLOCK; i++) {
        const int round = i / 16;
        const int k = (round == 0   ? i
                       : round == 1 ? 5 * i + 1
                       : round == 2 ? 3 * i + 5
                                    : 7 * i)
                      % 16;
        const uint32_t f = round == 0   ? (b & c) | (~b & d)
                           : round == 1 ? (d & b) | (~d & c)
                           : round == 2 ? b ^ c ^ d
                                        : c ^ (b | ~d);
        const uint32_t next = b + turned(a + f + sines[i] + word[k], turns[round][i % 4]);

        a = d;
        d = c;
        c = b;
        b = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

static void digest(const unsigned char *bytes, size_t n, unsigned char out[16])
{
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    unsigned char end[2 * BLOCK] = {0};
    const size_t rest = n % BLOCK, ends = rest < BLOCK - 8 ? BLOCK : 2 * BLOCK;

    for (size_t i = 0; i + BLOCK <= n; i += BLOCK) add_block(state, bytes + i);
    if (rest > 0) memcpy(end, bytes + n - rest, rest);
    end[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        end[ends - 8 + (size_t)i] = (unsigned char)((uint64_t)n * 8 >> 8 * i);
    for (size_t i = 0; i < ends; i += BLOCK) add_block(state, end + i);
    for (int i = 0; i < 16; i++) out[i] = (unsigned char)(state[i / 4] >> 8 * (i % 4));
}

void md5_text(const void *bytes, size_t n, char out[MD5_TEXT])
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char sum[18] = {0};

    digest(bytes, n, sum);
    for (size_t i = 0; i < 6; i++) {
        const unsigned three = (unsigned)sum[3 * i] << 16 | (unsigned)sum[3 * i + 1] << 8
                               | (unsigned)sum[3 * i + 2];

        for (size_t k = 0; k < 4; k++) out[4 * i + k] = letters[three >> (18 - 6 * k) & 63];
    }
    memcpy(out + 22, "==", 3);
}
