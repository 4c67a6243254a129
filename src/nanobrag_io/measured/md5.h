/*
 * md5.h - the checksum MD5 (RFC 1321), by which CBF protects its pixels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_MEASURED_MD5_H
#define NB_IO_MEASURED_MD5_H

#include <stddef.h>

/* Writes the checksum of n bytes in base 64, as headers of MIME state it. */
enum { MD5_TEXT = 25 };
void md5_text(const void *bytes, size_t n, char out[MD5_TEXT]);

#endif
