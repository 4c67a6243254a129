/*
 * mtz.h - reads reflections with a space group from memory, so that the reader can be
 * tested and fuzzed without files.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_MTZ_H
#define NB_IO_MTZ_H

#include <nanobrag/structure.h>

struct mtz_bytes {
    const char *at;
    size_t n;
    const char *label; /* column of F; NULL: the only column of amplitudes */
    int merge; /* enum nb_merge */
};

/* Does as nb_mtz_read() for the bytes of the file `name`, which are not compressed. */
nb_status mtz_parse(nb_context *ctx, const char *name, const struct mtz_bytes *bytes,
                    nb_crystal_info *crystal, nb_hkl **out);

#endif
