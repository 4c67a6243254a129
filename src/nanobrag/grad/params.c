/*
 * params.c - writes the vector x into the resolved scene, its lists and the box of
 * structure factors, and adds up cotangents of the box. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "grad/grad.h"
#include "grad/registry.h"
#include "scene/lattices/lattices.h"
#include "scene/reflections/symmetry.h"

int params_is_f(const struct params *params, size_t i)
{
    return registry_row(params->at[i].row)->list == REFLECTIONS;
}

/* Returns the index that registry_name() and registry_value() take; for a structure factor,
 * this is its first place in the box. */
static size_t registry_index(const struct params *params, const struct param *at)
{
    const size_t index = (size_t)at->index;

    if (registry_row(at->row)->list == REFLECTIONS)
        return params->f.place[params->f.start[index]];
    return index;
}

/* Returns the mean of the listed values of structure factor p. */
static double listed_f(const struct params_f *f, size_t p)
{
    const double first = f->listed[f->start[p]];
    double above = 0; /* equal values add exactly 0, so their mean is exact */

    for (size_t i = f->start[p]; i < f->start[p + 1]; i++) above += f->listed[i] - first;
    return first + above / (double)(f->start[p + 1] - f->start[p]);
}

void params_describe(const struct params *params, const nb_scene *scene, size_t i,
                     nb_param *out)
{
    const struct param *at = params->at + i;
    const struct registry_row *row = registry_row(at->row);

    registry_describe(scene, row, out);
    registry_name(scene, row, registry_index(params, at), out->name, sizeof out->name);
    if (row->list == REFLECTIONS) {
        out->value = listed_f(&params->f, (size_t)at->index);
        out->scale = fmax(1, fabs(out->value));
    } else
        out->value = registry_value(scene, row, (size_t)at->index);
}

nb_status params_check(nb_context *ctx, const struct params *params, const nb_scene *scene,
                       const double *x)
{
    for (size_t i = 0; i < params->n; i++) {
        const struct registry_row *row = registry_row(params->at[i].row);
        char name[sizeof(((nb_param *)0)->name)];

        if (x[i] >= row->lower && x[i] <= row->upper) continue;
        registry_name(scene, row, registry_index(params, params->at + i), name,
                      sizeof name);
        return fail(ctx, NB_ERR_ARGUMENT, "x[%zu] (%s) is %g, expected %g to %g", i, name,
                    x[i], row->lower, row->upper);
    }
    return NB_OK;
}

/* Writes n numbers x to the scene, or to the lists in `lists`. Structure factors are
 * skipped. */
static void write_numbers(const struct param *at, size_t n, const double *x,
                          const struct params_lists *lists, nb_scene *scene)
{
    for (size_t i = 0; i < n; i++, at++) {
        const struct registry_row *row = registry_row(at->row);
        void *to = scene;

        if (row->list == REFLECTIONS) continue;
        if (row->list == SOURCES && lists->source) to = lists->source + at->index;
        if (row->list == DOMAINS && lists->domain_weight)
            to = lists->domain_weight + at->index;
        if (row->list == PANELS) to = lists->panel + at->index;
        if (row->list == GROUPS) to = lists->group + at->index;
        if (row->list == LATTICES && lists->lattice) to = lists->lattice + at->index;
        *(double *)(void *)((char *)to + row->offset) = x[i];
    }
}

/* Sets the constants of the unit cells that the crystal system ties to others (b = a, ...),
 * in a scene or in a tangent of it. `own` is the crystal of the scene. Of its further
 * lattices those are included that have a cell of their own. */
static void tie_cells(const struct params *params, const nb_crystal *own,
                      const struct params_lists *lists, nb_scene *scene)
{
    symmetry_tie_cell(params->system, scene->crystal.cell);
    for (int i = 0; lists->lattice && i < own->nlattice; i++)
        if (lattices_has_cell(own->lattice + i))
            symmetry_tie_cell(params->system, lists->lattice[i].cell);
}

void params_unpack(const struct params *params, const double *x,
                   const struct params_lists *lists, nb_scene *scene)
{
    if (lists->source) {
        memcpy(lists->source, scene->beam.source,
               (size_t)scene->beam.nsource * sizeof *lists->source);
        scene->beam.source = lists->source;
    }
    if (lists->domain_weight) {
        const double *from = scene->crystal.domain_weight;

        for (int i = 0; i < scene->crystal.ndomains; i++)
            lists->domain_weight[i] = from ? from[i] : 1;
        scene->crystal.domain_weight = lists->domain_weight;
    }
    if (lists->panel) {
        nb_detector *d = &scene->detector;

        memcpy(lists->panel, d->panel, (size_t)d->npanel * sizeof *lists->panel);
        if (d->ngroup > 0)
            memcpy(lists->group, d->group, (size_t)d->ngroup * sizeof *lists->group);
        d->panel = lists->panel;
        d->group = lists->group;
    }
    if (lists->lattice) {
        nb_crystal *c = &scene->crystal;

        memcpy(lists->lattice, c->lattice, (size_t)c->nlattice * sizeof *lists->lattice);
        c->lattice = lists->lattice;
    }
    write_numbers(params->at, params->n, x, lists, scene);
    tie_cells(params, &scene->crystal, lists, scene);
}

int params_have_lattices(const struct params *params)
{
    for (size_t i = 0; i < params->n; i++)
        if (registry_row(params->at[i].row)->list == LATTICES) return 1;
    return 0;
}

/* Returns 1 if one of n parameters is a move of a panel or of a group. */
static int are_moves(const struct param *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const int list = registry_row(at[i].row)->list;

        if (list == PANELS || list == GROUPS) return 1;
    }
    return 0;
}

int params_have_moves(const struct params *params)
{
    return are_moves(params->at, params->n);
}

int params_move_panel(const struct params *params, const nb_scene *scene, size_t i,
                      int panel)
{
    const nb_detector *d = &scene->detector;
    const int list = registry_row(params->at[i].row)->list, index = params->at[i].index;

    if (list == PANELS) return index == panel;
    if (list != GROUPS) return 1;
    for (int g = d->panel[panel].group - 1; g >= 0; g = d->group[g].parent - 1)
        if (g == index) return 1;
    return 0;
}

void params_unpack_change(const struct params *params, size_t first, size_t n,
                          const double *dx, const nb_scene *scene,
                          const struct params_lists *lists, nb_scene *dot)
{
    memset(dot, 0, sizeof *dot);
    if (lists->source)
        memset(lists->source, 0, (size_t)scene->beam.nsource * sizeof *lists->source);
    dot->beam.source = lists->source;
    for (int i = 0; lists->domain_weight && i < scene->crystal.ndomains; i++)
        lists->domain_weight[i] = 0;
    dot->crystal.domain_weight = lists->domain_weight;
    if (are_moves(params->at + first, n)) {
        const nb_detector *d = &scene->detector;

        memset(lists->panel, 0, (size_t)d->npanel * sizeof *lists->panel);
        if (d->ngroup > 0)
            memset(lists->group, 0, (size_t)d->ngroup * sizeof *lists->group);
        dot->detector.panel = lists->panel;
        dot->detector.group = lists->group;
    }
    if (lists->lattice) {
        memset(lists->lattice, 0, (size_t)scene->crystal.nlattice * sizeof *lists->lattice);
        dot->crystal.lattice = lists->lattice;
    }
    write_numbers(params->at + first, n, dx, lists, dot);
    tie_cells(params, &scene->crystal, lists, dot);
}

double params_write_f(const struct params *params, const double *x, double *box,
                      float *single)
{
    const struct params_f *f = &params->f;
    double largest = 0;

    for (size_t i = 0; f->n > 0 && i < params->n; i++) {
        const size_t p = (size_t)params->at[i].index;

        if (!params_is_f(params, i)) continue;
        for (size_t k = f->start[p]; k < f->start[p + 1]; k++) {
            const double value = x ? x[i] : f->listed[k];

            box[f->place[k]] = value;
            if (single) single[f->place[k]] = (float)value;
            largest = fmax(largest, fabs(value));
        }
    }
    return largest;
}

void params_gather_f(const struct params *params, const double *f_bar, double *bar_x)
{
    const struct params_f *f = &params->f;

    for (size_t i = 0; f->n > 0 && i < params->n; i++) {
        const size_t p = (size_t)params->at[i].index;

        if (!params_is_f(params, i)) continue;
        for (size_t k = f->start[p]; k < f->start[p + 1]; k++)
            bar_x[i] += f_bar[f->place[k]];
    }
}

int params_has(const struct params *params, const char *name)
{
    for (size_t i = 0; i < params->n; i++)
        if (strcmp(registry_row(params->at[i].row)->name, name) == 0) return 1;
    return 0;
}
