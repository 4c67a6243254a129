/*
 * smv.h - an SMV image in memory: its header, and its pixels as they stand in the file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_SMV_H
#define NB_IO_SMV_H

#include <nanobrag/io.h>

#include "nanobrag_io/text.h"

struct nb_smv {
    struct span header; /* its characters are owned by the image */
    int nfast, nslow;
    int type, bits; /* as in nb_array, of the pixels */
    int is_big_endian;
    double ratio; /* of R-AXIS: factor for 16 bits with the highest one set; 0: no such
                     code */
    unsigned char *bytes; /* of the pixels; NULL: the file has too few */
};

/* Returns the text from the value of a key on, to the end of its record; n = 0 if there is
 * no such key. A record begins a line or follows a semicolon, and the last one counts. */
struct span smv_value(struct span header, const char *key);

/* Reads up to `most` numbers of a value. Returns how many there are. */
int smv_numbers(struct span header, const char *key, int most, double *out);

/* Reads the type of the pixels into an image whose header is known. Returns NB_ERR_FORMAT,
 * NB_ERR_UNSUPPORTED. */
nb_status smv_read_type(nb_context *ctx, const char *name, nb_smv *smv);

#endif
