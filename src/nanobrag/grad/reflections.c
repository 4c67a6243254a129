/*
 * reflections.c - finds the places of the box that share a free structure factor: the
 * places of listed reflections that are equivalent by the point group.
 *
 * SPDX-License-Identifier: MIT
 */
#include "grad/reflections.h"

#include <math.h>
#include <stdlib.h>

#include "base/context.h"
#include "grad/grad.h"
#include "grad/registry.h"
#include "scene/reflections/hkl_table.h"

/* Inserts `place` into an ascending list of n, unless the list has it already. Returns the
 * new length. */
static int insert(size_t place, size_t *list, int n)
{
    int at = n;

    while (at > 0 && list[at - 1] >= place) at--;
    if (at < n && list[at] == place) return n;
    for (int i = n; i > at; i--) list[i] = list[i - 1];
    list[at] = place;
    return n + 1;
}

int reflections_equivalent(const nb_hkl *hkl, const struct symmetry *symmetry, size_t place,
                           size_t out[48])
{
    int n = 0, at[3];

    hkl_box_indices(hkl, place, at);
    for (int i = 0; i < symmetry->n; i++) {
        int image[3], inside = 1;
        size_t to;

        for (int k = 0; k < 3; k++) {
            const int *row = symmetry->matrix[i][k];

            image[k] = row[0] * at[0] + row[1] * at[1] + row[2] * at[2];
            inside &= image[k] >= hkl->min[k] && image[k] < hkl->min[k] + hkl->size[k];
        }
        if (!inside) continue;
        to = (size_t)(hkl_box_at(hkl, image[0], image[1], image[2]) - hkl->box);
        if (!isnan(hkl->box[to])) n = insert(to, out, n);
    }
    return n;
}

nb_status reflections_collect(nb_context *ctx, const nb_scene *scene,
                              const struct symmetry *symmetry, struct params *params)
{
    const nb_hkl *hkl = scene->crystal.hkl;
    struct params_f *f = &params->f;
    size_t n = 0, places = 0, list[48];

    for (size_t i = 0; i < params->n; i++)
        if (params_is_f(params, i)) {
            const size_t place = (size_t)params->at[i].index;

            places += (size_t)reflections_equivalent(hkl, symmetry, place, list);
            n++;
        }
    if (n == 0) return NB_OK;
    f->start = calloc(n + 1, sizeof *f->start);
    f->place = calloc(places + 1, sizeof *f->place);
    f->listed = calloc(places + 1, sizeof *f->listed);
    if (!f->start || !f->place || !f->listed)
        return fail_memory(ctx, "the free structure factors");
    for (size_t i = 0; i < params->n; i++) {
        size_t *at = f->place + f->start[f->n];
        int count;

        if (!params_is_f(params, i)) continue;
        count = reflections_equivalent(hkl, symmetry, (size_t)params->at[i].index, list);
        for (int k = 0; k < count; k++) at[k] = list[k];
        params->at[i].index = (int)f->n++;
        f->start[f->n] = f->start[f->n - 1] + (size_t)count;
    }
    for (size_t k = 0; k < places; k++) f->listed[k] = hkl->box[f->place[k]];
    return NB_OK;
}
