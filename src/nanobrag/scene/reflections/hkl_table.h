/*
 * hkl_table.h - the members of nb_hkl: structure factors in a dense box of indices.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_REFLECTIONS_HKL_TABLE_H
#define NB_SCENE_REFLECTIONS_HKL_TABLE_H

#include <nanobrag/io.h>

enum { HKL_INDEX_MAX = 100000 }; /* largest |h|, |k|, |l|, far above any crystal */

struct nb_hkl {
    size_t count; /* number of reflections in the list, repeats included */
    int min[3], size[3]; /* first index and number of indices of h, k, l */
    double *box; /* F of [h][k][l], electron; NaN where none is listed */
    size_t nfactor; /* length of `factor`; 0 if only |F| is known */
    double (*factor)[2]; /* complex F of the listed reflections, in the order of the box */
};

/* Makes an empty box, all NaN, for the indices min .. max. Returns NB_ERR_FORMAT if it
 * would have too many places, or NB_ERR_MEMORY. */
nb_status hkl_box_create(nb_context *ctx, const int min[3], const int max[3], nb_hkl **out);

/* Returns the number of places of the box. */
size_t hkl_box_size(const nb_hkl *hkl);

/* Returns the address of the F of a reflection, which must lie inside the box. */
double *hkl_box_at(const nb_hkl *hkl, int h, int k, int l);

/* Computes h, k, l from the index of a place in the box. */
void hkl_box_indices(const nb_hkl *hkl, size_t place, int out[3]);

#endif
