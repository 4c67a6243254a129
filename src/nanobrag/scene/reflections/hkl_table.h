/*
 * hkl_table.h - reflections in a dense box: the inside of nb_hkl.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_REFLECTIONS_HKL_TABLE_H
#define NB_SCENE_REFLECTIONS_HKL_TABLE_H

#include <nanobrag/io.h>

enum { HKL_INDEX_MAX = 100000 }; /* of |h|, |k|, |l|; no crystal comes near */

struct nb_hkl {
    size_t count; /* reflections listed, repeats included */
    int min[3], size[3]; /* first index and number of indices of h, k, l */
    double *box; /* [h][k][l]; NaN where no reflection is listed */
};

/* An empty box (all NaN) for indices min .. max, both inside. NB_ERR_MEMORY, or
 * NB_ERR_FORMAT when the box would be absurdly large. */
nb_status hkl_box_create(nb_context *ctx, const int min[3], const int max[3], nb_hkl **out);

/* Places of the box. */
size_t hkl_box_size(const nb_hkl *hkl);

/* Address of a reflection inside the box. */
double *hkl_box_at(const nb_hkl *hkl, int h, int k, int l);

/* h, k, l of a place of the box. */
void hkl_box_indices(const nb_hkl *hkl, size_t place, int out[3]);

#endif
