/*
 * reflections.c - the places of the box that a free structure factor stands for.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "base/context.h"
#include "grad/grad.h"
#include "grad/registry.h"
#include "scene/hkl_table.h"

nb_status reflections_collect(nb_context *ctx, const nb_scene *scene, struct params *params)
{
    struct params_f *f = &params->f;
    size_t n = 0;

    for (size_t i = 0; i < params->n; i++)
        n += registry_row(params->at[i].row)->list == REFLECTIONS;
    if (n == 0) return NB_OK;
    f->start = calloc(n + 1, sizeof *f->start);
    f->place = calloc(n, sizeof *f->place);
    f->listed = calloc(n, sizeof *f->listed);
    if (!f->start || !f->place || !f->listed)
        return fail_memory(ctx, "the free structure factors");
    for (size_t i = 0; i < params->n; i++) {
        struct param *at = params->at + i;

        if (registry_row(at->row)->list != REFLECTIONS) continue;
        f->place[f->n] = (size_t)at->index;
        f->listed[f->n] = scene->crystal.hkl->box[at->index];
        at->index = (int)f->n++;
        f->start[f->n] = f->n;
    }
    return NB_OK;
}
