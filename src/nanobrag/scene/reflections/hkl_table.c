/*
 * hkl_table.c - stores reflections in a dense box, so that a look-up only computes an
 * address. NaN marks a place without a reflection, so amplitudes must be finite.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/reflections/hkl_table.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/context.h"
#include "base/floats.h"

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
/* small, because a fuzzer would spend its time on filling large boxes */
enum { CELLS_MAX = 1 << 18 };
#else
enum { CELLS_MAX = 1 << 28 }; /* 2 GiB of doubles */
#endif

nb_status hkl_box_create(nb_context *ctx, const int min[3], const int max[3], nb_hkl **out)
{
    size_t cells = 1;
    nb_hkl *hkl;

    *out = NULL;
    for (int i = 0; i < 3; i++) {
        const int64_t size = (int64_t)max[i] - min[i] + 1;

        assert(size > 0);
        if ((uint64_t)size > CELLS_MAX / cells)
            return fail(ctx, NB_ERR_FORMAT,
                        "the indices %d..%d, %d..%d, %d..%d span a box of more than %d "
                        "cells; remove reflections with wrong indices, or split the list",
                        min[0], max[0], min[1], max[1], min[2], max[2], (int)CELLS_MAX);
        cells *= (size_t)size;
    }
    hkl = calloc(1, sizeof *hkl);
    if (hkl) hkl->box = huge_pages_alloc(cells * sizeof *hkl->box);
    if (!hkl || !hkl->box) {
        free(hkl);
        return fail_memory(ctx, "a box of reflections");
    }
    for (int i = 0; i < 3; i++) {
        hkl->min[i] = min[i];
        hkl->size[i] = max[i] - min[i] + 1;
    }
    for (size_t i = 0; i < cells; i++) hkl->box[i] = NAN;
    *out = hkl;
    return NB_OK;
}

size_t hkl_box_size(const nb_hkl *hkl)
{
    return (size_t)hkl->size[0] * (size_t)hkl->size[1] * (size_t)hkl->size[2];
}

double *hkl_box_at(const nb_hkl *hkl, int h, int k, int l)
{
    const size_t row =
        (size_t)(h - hkl->min[0]) * (size_t)hkl->size[1] + (size_t)(k - hkl->min[1]);

    return hkl->box + row * (size_t)hkl->size[2] + (size_t)(l - hkl->min[2]);
}

void hkl_box_indices(const nb_hkl *hkl, size_t place, int out[3])
{
    for (int i = 2; i >= 0; i--) {
        const size_t size = (size_t)hkl->size[i];

        out[i] = hkl->min[i] + (int)(place % size);
        place /= size;
    }
}

/* Finds the smallest and largest index of each axis. Returns NB_ERR_ARGUMENT for an index
 * out of range or an F that is not finite. */
static nb_status bounds(nb_context *ctx, size_t n, const int *hkl, const double *f,
                        int min[3], int max[3])
{
    for (int axis = 0; axis < 3; axis++) min[axis] = max[axis] = hkl[axis];
    for (size_t i = 0; i < n; i++) {
        const int *at = hkl + 3 * i;

        if (!isfinite(f[i]))
            return fail(ctx, NB_ERR_ARGUMENT,
                        "reflection %zu (%d %d %d): F is %g, expected a finite amplitude; "
                        "leave out reflections without one",
                        i, at[0], at[1], at[2], f[i]);
        for (int axis = 0; axis < 3; axis++) {
            if (at[axis] < -HKL_INDEX_MAX || at[axis] > HKL_INDEX_MAX)
                return fail(ctx, NB_ERR_ARGUMENT,
                            "reflection %zu (%d %d %d): an index is beyond +-%d; correct "
                            "or remove it",
                            i, at[0], at[1], at[2], (int)HKL_INDEX_MAX);
            if (at[axis] < min[axis]) min[axis] = at[axis];
            if (at[axis] > max[axis]) max[axis] = at[axis];
        }
    }
    return NB_OK;
}

nb_status nb_hkl_create(nb_context *ctx, size_t n, const int *hkl, const double *f,
                        nb_hkl **out)
{
    STANDARD_FLOATS;
    int min[3], max[3];
    nb_hkl *made;
    nb_status status;

    if (!ctx || !out) return NB_ERR_ARGUMENT;
    *out = NULL;
    if (!hkl || !f)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "reflections: hkl or f is NULL; pass n indices and n amplitudes");
    if (n < 1)
        return fail(ctx, NB_ERR_ARGUMENT, "reflections: n is 0, expected at least 1");
    NB_TRY(bounds(ctx, n, hkl, f, min, max));
    status = hkl_box_create(ctx, min, max, &made);
    if (!made) return status;
    for (size_t i = 0; i < n; i++)
        *hkl_box_at(made, hkl[3 * i], hkl[3 * i + 1], hkl[3 * i + 2]) = f[i];
    made->count = n;
    *out = made;
    return NB_OK;
}

void nb_hkl_info_get(const nb_hkl *hkl, nb_hkl_info *out)
{
    if (!hkl || !out) return;
    out->count = hkl->count;
    for (int i = 0; i < 3; i++) {
        out->min[i] = hkl->min[i];
        out->max[i] = hkl->min[i] + hkl->size[i] - 1;
    }
}

int nb_hkl_get(const nb_hkl *hkl, int h, int k, int l, double *f)
{
    const int at[3] = {h, k, l};
    double value;

    if (!hkl) return 0;
    for (int i = 0; i < 3; i++)
        if (at[i] < hkl->min[i] || at[i] > hkl->min[i] + hkl->size[i] - 1) return 0;
    value = *hkl_box_at(hkl, h, k, l);
    if (isnan(value)) return 0;
    if (f) *f = value;
    return 1;
}

size_t nb_hkl_reflections(const nb_hkl *list, int *hkl, double *f)
{
    const size_t places = list ? hkl_box_size(list) : 0;
    size_t n = 0;

    for (size_t i = 0; i < places; i++) {
        if (isnan(list->box[i])) continue;
        if (hkl) hkl_box_indices(list, i, hkl + 3 * n);
        if (f) f[n] = list->box[i];
        n++;
    }
    return n;
}

void nb_hkl_free(nb_hkl *hkl)
{
    if (!hkl) return;
    free(hkl->factor);
    free(hkl->box);
    free(hkl);
}
