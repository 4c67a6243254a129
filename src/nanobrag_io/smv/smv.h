/*
 * smv.h - an SMV image in memory: its header, and its pixels as the file has them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_SMV_H
#define NB_IO_SMV_H

#include <nanobrag/io.h>

#include "nanobrag_io/text.h"

struct nb_smv {
    struct span header; /* the image owns its characters */
    int nfast, nslow;
    int type, bits; /* type of the pixels, as in nb_array */
    int is_big_endian;
    double ratio; /* R-AXIS: 16-bit pixels with the highest bit set are multiplied by this
                     after clearing the bit; 0: no such rule */
    unsigned char *bytes; /* the pixels; NULL: the file has too few */
};

/* Returns the value of a key; n = 0 if there is no such key. A key stands at the start of a
 * line or after a semicolon. If it occurs several times, the last one counts. */
struct span smv_value(struct span header, const char *key);

/* Reads up to `most` numbers from the value of a key. Returns how many there are. */
int smv_numbers(struct span header, const char *key, int most, double *out);

/* Finds type and bits of the pixels by smv->header. Returns NB_ERR_FORMAT,
 * NB_ERR_UNSUPPORTED. */
nb_status smv_read_type(nb_context *ctx, const char *name, nb_smv *smv);

/* Returns the pixel at a place, of a type of nb_array. */
double smv_element(const unsigned char *at, int type, int bits, int is_big);

#endif
