/*
 * reflection_boxes.c - the boxes of an image, around the reflections of -refl.
 *
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_command/command.h"

/* The columns of a table that say where its reflections are; NULL: it lacks the column. */
struct columns {
    const int32_t *id, *bbox, *hkl;
    const uint64_t *panel;
    const double *place;
};

/* An image, and the experiments whose crystals it shows. */
struct shown {
    int array; /* its number along the scan, as in a bbox; -1: a still */
    size_t n;
    int *experiment; /* (n) */
    const char **identifier; /* (n) */
    const struct expt_entry *entry; /* of the file that has them */
    int own; /* the experiment whose crystal is no further lattice */
    int all; /* 1: every reflection is taken for one on this image */
    int id, lattice; /* the last id that lattice_of() saw, and its result */
};

/* A panel as pixels of the image: fast0, fast1, slow0, slow1, ends excluded. Returns 0 if
 * there is no such panel. */
static int place_panel(const nb_detector *d, const int count[2], uint64_t i, int out[4])
{
    if (d->npanel == 0) {
        memcpy(out, (int[]){0, count[0], 0, count[1]}, 4 * sizeof *out);
        return i == 0;
    }
    if (i >= (uint64_t)d->npanel) return 0;
    const nb_panel *const p = d->panel + i;
    memcpy(out, (int[]){p->fast0, p->fast0 + p->nfast, p->slow0, p->slow0 + p->nslow},
           4 * sizeof *out);
    return 1;
}

/* Widen an interval to `edge` pixels about its middle. */
static void widen(double from, double to, int edge, double out[2])
{
    const double middle = floor((from + to) / 2);
    const int is_narrow = to - from < edge;
    out[0] = is_narrow ? middle - floor(edge / 2.) : from;
    out[1] = is_narrow ? out[0] + edge : to;
}

/* Find the box of row i, cut to its panel. Returns 0 if nothing of it is left. */
static int box_of(const struct columns *c, size_t i, int edge, const int panel[4],
                  int box[4])
{
    for (size_t k = 0; k < 2; k++) {
        const double middle = c->place ? floor(c->place[3 * i + k]) : 0;
        const double from = c->bbox ? c->bbox[6 * i + 2 * k] : middle;
        const double to = c->bbox ? c->bbox[6 * i + 2 * k + 1] : middle + 1;
        double ends[2];
        if (!(from >= -1e6 && to <= 1e6 && from < to)) return 0;
        widen(from, to, edge, ends);
        const int first = panel[2 * k], end = panel[2 * k + 1];
        box[2 * k] = (int)fmax(first, first + ends[0]);
        box[2 * k + 1] = (int)fmin(end, first + ends[1]);
        if (box[2 * k] >= box[2 * k + 1]) return 0;
    }
    return 1;
}

/* Returns the number of the lattice that the crystal `id` of the table is in the image: 0
 * for the crystal of the scene, -1 if the image does not show it. */
static int lattice_of(const nb_reflections *table, int id, struct shown *on)
{
    int further = 0;
    if (id == on->id) return on->lattice;
    const char *const text = nb_reflections_identifier(table, id);
    on->id = id;
    on->lattice = -1;
    for (size_t k = 0; k < on->n; k++) {
        const int is_own = on->experiment[k] == on->own;
        further += !is_own;
        if (text && *on->identifier[k] ? strcmp(text, on->identifier[k]) == 0
                                       : id == on->experiment[k] - on->entry->first)
            on->lattice = is_own ? 0 : further;
    }
    return on->lattice;
}

/* Returns 1 if row i is an indexed reflection of this image. */
static int is_shown(const nb_reflections *table, const struct columns *c, size_t i,
                    struct shown *on)
{
    if (!on->all && lattice_of(table, c->id ? c->id[i] : 0, on) < 0) return 0;
    if (c->hkl && c->hkl[3 * i] == 0 && c->hkl[3 * i + 1] == 0 && c->hkl[3 * i + 2] == 0)
        return 0;
    if (on->all) return 1;
    if (c->bbox && on->array >= 0
        && !(c->bbox[6 * i + 4] <= on->array && on->array < c->bbox[6 * i + 5]))
        return 0;
    return c->bbox || on->array < 0 || floor(c->place[3 * i + 2]) == on->array;
}

/* Find the experiments that share an image. Returns 0 without memory. */
static int find_shown(const struct inputs *in, int alone, int experiment, int image,
                      struct shown *out)
{
    size_t n;
    const nb_expt_image *const list = nb_expt_images(in->expt, &n);
    int first = experiment;
    out->own = experiment;
    out->all = image == ANY_IMAGE;
    out->array = in->experiment.images > 0 ? image : -1;
    out->experiment = calloc(n + 1, sizeof *out->experiment);
    out->identifier = calloc(n + 1, sizeof *out->identifier);
    if (!out->experiment || !out->identifier) return 0;
    for (size_t i = 0; i < n; i++)
        if (list[i].experiment == experiment && list[i].image == image) {
            first = list[i].first;
            if (out->array >= 0) out->array = list[i].array;
        }
    for (size_t i = 0; i < n; i++) {
        if (list[i].image != image
            || (alone ? list[i].experiment != experiment : list[i].first != first))
            continue;
        out->experiment[out->n] = list[i].experiment;
        out->identifier[out->n++] = list[i].identifier;
    }
    return 1;
}

static int find_columns(struct messages *messages, const struct expt_entry *from,
                        struct columns *c)
{
    const nb_reflections *const table = from->table;
    c->id = nb_reflections_find(table, "id", NB_COLUMN_INT);
    c->hkl = nb_reflections_find(table, "miller_index", NB_COLUMN_MILLER);
    c->bbox = nb_reflections_find(table, "bbox", NB_COLUMN_INT6);
    c->panel = nb_reflections_find(table, "panel", NB_COLUMN_SIZE);
    c->place = nb_reflections_find(table, "xyzobs.px.value", NB_COLUMN_VEC3);
    if (!c->place) c->place = nb_reflections_find(table, "xyzcal.px", NB_COLUMN_VEC3);
    if (c->bbox || c->place) return 0;
    return message_usage(messages,
                         "%s: no column bbox, xyzobs.px.value or xyzcal.px says where the "
                         "reflections are",
                         from->refl);
}

void reflection_boxes_free(struct reflection_boxes *boxes)
{
    free(boxes->box);
    free(boxes->row);
    free(boxes->lattice);
    *boxes = (struct reflection_boxes){0};
}

/* Find the boxes of all rows; there is memory for them. */
static int find_boxes(const struct settings *s, struct messages *messages,
                      const struct columns *c, struct shown *on,
                      struct reflection_boxes *out)
{
    const nb_reflections *const table = on->entry->table;
    const size_t rows = nb_reflections_rows(table);
    int count[2], panel[4];
    settings_pixels(s, count);
    for (size_t i = 0; i < rows; i++) {
        if (!is_shown(table, c, i, on)) continue;
        const uint64_t which = c->panel ? c->panel[i] : 0;
        if (!place_panel(&s->scene.detector, count, which, panel))
            return message_usage(messages,
                                 "%s: row %zu is on panel %llu, but the number of panels "
                                 "is %d; give the .expt of these reflections",
                                 on->entry->refl, i, (unsigned long long)which,
                                 s->scene.detector.npanel > 0 ? s->scene.detector.npanel
                                                              : 1);
        if (!box_of(c, i, s->boxes_edge, panel, out->box + 4 * out->n)) continue;
        out->row[out->n] = i;
        out->lattice[out->n++] = on->lattice;
    }
    return 0;
}

int reflection_boxes(const struct inputs *in, const struct settings *s,
                     struct messages *messages, int experiment, int image,
                     struct reflection_boxes *out)
{
    const struct expt_entry *const from = experiment_entry(in, experiment);
    const size_t rows = nb_reflections_rows(from->table);
    struct columns c;
    struct shown on = {.id = INT_MIN, .entry = from};
    *out = (struct reflection_boxes){0};
    int code = find_columns(messages, from, &c);
    if (code) return code;
    out->box = calloc(rows + 1, 4 * sizeof *out->box);
    out->row = calloc(rows + 1, sizeof *out->row);
    out->lattice = calloc(rows + 1, sizeof *out->lattice);
    if (!out->box || !out->row || !out->lattice
        || !find_shown(in, s->nolattices, experiment, image, &on))
        code = message_failure(messages, "out of memory for the boxes of %s", from->refl);
    if (!code) code = find_boxes(s, messages, &c, &on, out);
    out->array = on.array;
    free(on.experiment);
    free(on.identifier);
    if (code || out->n == rows) return code;
    int *const box = realloc(out->box, (out->n + 1) * 4 * sizeof *box);
    size_t *const row = realloc(out->row, (out->n + 1) * sizeof *row);
    int *const lattice = realloc(out->lattice, (out->n + 1) * sizeof *lattice);
    if (box) out->box = box;
    if (row) out->row = row;
    if (lattice) out->lattice = lattice;
    return 0;
}
