/*
 * cbf_pixels.h - the pixels of a binary section of a CBF.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_MEASURED_CBF_PIXELS_H
#define NB_IO_MEASURED_CBF_PIXELS_H

#include <stddef.h>
#include <stdint.h>

enum cbf_compression { CBF_NONE, CBF_BYTE_OFFSET, CBF_PACKED, CBF_PACKED_V2 };

struct cbf_section {
    enum cbf_compression compression;
    int is_flat; /* packed as one long row */
    int is_alone; /* packed without a look at the image before it */
    int type, bits; /* of a pixel, as in nb_array */
    int is_big_endian; /* not compressed, with the highest byte first */
    uint64_t nfast, nslow, nimage; /* its images lie one behind the other */
    const unsigned char *bytes; /* (n) */
    size_t n;
};

/* Returns the most pixels that its bytes may hold. */
uint64_t cbf_pixels_most(const struct cbf_section *section);

/* Expands the pixels. Returns 0 if the bytes do not give as many, or give more. */
int cbf_pixels(const struct cbf_section *section, double *out);

#endif
