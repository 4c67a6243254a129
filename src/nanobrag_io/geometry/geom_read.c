/*
 * geom_read.c - makes an nb_geometry from the parts of a geometry file of CrystFEL.
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "base/log.h"
#include "nanobrag_io/geometry/geom.h"
#include "nanobrag_io/geometry/geometry.h"
#include "scene/linear.h"

/* How far axes may be from perpendicular unit vectors: beyond `most_off` they are refused,
 * up to `as_given` they stay unchanged, and between the two they are corrected. */
static const double most_off = 1e-2, as_given = 1e-12;

static nb_status wrong_panel(const struct geom *g, const struct geom_panel *p, long line,
                             const char *what)
{
    return fail(g->ctx, NB_ERR_FORMAT, "%s, line %ld: panel %s %s", g->text.name, line,
                text_show(p->name).s, what);
}

/* ---- axes ---- */

/* Returns how far two axes are from perpendicular unit vectors. */
static double off(double axis[2][3])
{
    return fmax(fabs(linear_dot(axis[0], axis[1])),
                fmax(fabs(linear_norm(axis[0]) - 1), fabs(linear_norm(axis[1]) - 1)));
}

/* Makes two axes perpendicular unit vectors by turning both through the same angle. */
static void make_square(double axis[2][3])
{
    double sum[3], difference[3];

    for (int i = 0; i < 2; i++) linear_unit(axis[i], axis[i]);
    linear_copy(axis[0], sum);
    linear_add(1, axis[1], sum);
    linear_copy(axis[0], difference);
    linear_add(-1, axis[1], difference);
    linear_unit(sum, sum);
    linear_unit(difference, difference);
    for (int i = 0; i < 2; i++) {
        linear_copy(sum, axis[i]);
        linear_add(i == 0 ? 1 : -1, difference, axis[i]);
        linear_scale(sqrt(0.5), axis[i], axis[i]);
    }
}

/* Corrects the axes of all panels. */
static nb_status square_axes(struct geom *g)
{
    int n = 0, worst = 0;
    double most = 0;

    for (int i = 0; i < g->npanel; i++) {
        struct geom_panel *p = g->panel + i;
        const double by = off(p->axis);

        if (!(by <= most_off))
            return fail(g->ctx, NB_ERR_FORMAT,
                        "%s, line %ld: fs and ss of panel %s have lengths %.6g and %.6g "
                        "and the inner product %.3g, expected unit vectors at right angles "
                        "within %g",
                        g->text.name,
                        p->axis_line[0] > p->axis_line[1] ? p->axis_line[0]
                                                          : p->axis_line[1],
                        text_show(p->name).s, linear_norm(p->axis[0]),
                        linear_norm(p->axis[1]), linear_dot(p->axis[0], p->axis[1]),
                        most_off);
        if (by <= as_given) continue;
        make_square(p->axis);
        if (by > most) most = by, worst = i;
        n++;
    }
    if (most > 1e-6)
        log_line(g->ctx, NB_LOG_NOTE, "geom",
                 "%s: fs and ss of %d of %d panels are corrected to unit vectors at right "
                 "angles; the vectors of %s were %.2g off",
                 g->text.name, n, g->npanel, text_show(g->panel[worst].name).s, most);
    return NB_OK;
}

/* ---- numbers of panels ---- */

static nb_status check_ranges(const struct geom *g, const struct geom_panel *p)
{
    static const char *const lacks[] = {"has no min_fs", "has no max_fs", "has no min_ss",
                                        "has no max_ss"};

    for (int i = 0; i < GEOM_RANGES; i++)
        if (p->range[i] < 0) return wrong_panel(g, p, p->line, lacks[i]);
    if (p->range[GEOM_MAX_FS] < p->range[GEOM_MIN_FS])
        return wrong_panel(g, p, p->line, "has a max_fs below its min_fs");
    if (p->range[GEOM_MAX_SS] < p->range[GEOM_MIN_SS])
        return wrong_panel(g, p, p->line, "has a max_ss below its min_ss");
    return NB_OK;
}

/* Checks dim0, dim1, ... of a panel, which describe the axes of its data. One axis must be
 * ss and a later one fs, at most one is the frame (%), and no number may be left out.
 * Without any dimN, dim0 is ss and dim1 is fs. */
static nb_status complete_dims(const struct geom *g, struct geom_panel *p)
{
    int n = 0, at[2] = {-1, -1}, frames = 0;

    for (int i = 0; i < GEOM_DIMS; i++)
        if (p->dim[i] != GEOM_NONE) n = i + 1;
    if (n == 0) {
        p->dim[0] = GEOM_SS, p->dim[1] = GEOM_FS;
        return NB_OK;
    }
    for (int i = 0; i < n; i++) {
        const int is_fs = p->dim[i] == GEOM_FS;

        if (p->dim[i] == GEOM_NONE)
            return wrong_panel(g, p, p->line, "has a dimN with no lower one before it");
        frames += p->dim[i] == GEOM_FRAME;
        if (p->dim[i] != GEOM_FS && p->dim[i] != GEOM_SS) continue;
        if (at[is_fs] >= 0)
            return wrong_panel(g, p, p->line, "has two dimN that are fs, or ss");
        at[is_fs] = i;
    }
    if (at[0] < 0 || at[1] < at[0])
        return wrong_panel(g, p, p->line,
                           "needs one dimN that is ss and a later dimN that is fs");
    if (frames > 1) return wrong_panel(g, p, p->line, "has two dimN that are %");
    return NB_OK;
}

static nb_status check_panel(const struct geom *g, struct geom_panel *p)
{
    NB_TRY(check_ranges(g, p));
    NB_TRY(complete_dims(g, p));
    if (p->axis_line[0] == 0) return wrong_panel(g, p, p->line, "has no fs");
    if (p->axis_line[1] == 0) return wrong_panel(g, p, p->line, "has no ss");
    if (isnan(p->corner[0])) return wrong_panel(g, p, p->line, "has no corner_x");
    if (isnan(p->corner[1])) return wrong_panel(g, p, p->line, "has no corner_y");
    if (isnan(p->res)) return wrong_panel(g, p, p->line, "has no res");
    if (p->clen_from.n == 0 && isnan(p->clen)) {
        p->clen = g->defaults.clen; /* the default for all panels may stand behind them in
                                       the file */
        p->clen_from = g->defaults.clen_from;
    }
    if ((p->clen_from.n > 0) != (g->panel->clen_from.n > 0)
        || isnan(p->clen) != isnan(g->panel->clen))
        return wrong_panel(g, p, p->line,
                           "states clen in another way than the first panel; give all "
                           "panels a number, or a place in a data file, or no clen");
    if (!geom_same(p->clen_from, g->panel->clen_from))
        return wrong_panel(g, p, p->line,
                           "has clen at another place in the data than the first panel; "
                           "write both numbers into the file");
    return NB_OK;
}

/* ---- places in the image ---- */

/* Panels with one place in a data file, and the number of values of each fixed axis there.
 * A slab is one two-dimensional array of ss and fs. */
struct block {
    struct span data;
    int size[GEOM_DIMS]; /* values of each fixed axis; 1 for the other axes */
    double slab0; /* number of slabs in the blocks before */
};

static int find_block(const struct block *block, int n, struct span data)
{
    for (int i = n; i > 0; i--)
        if (geom_same(block[i - 1].data, data)) return i - 1;
    return -1;
}

static int fixed(const struct geom_panel *p, int dim)
{
    return p->dim[dim] > 0 ? p->dim[dim] : 0;
}

/* Returns the number of the slab that a panel lies in, over all blocks. */
static double slab_of(const struct block *b, const struct geom_panel *p)
{
    double slab = 0;

    for (int i = 0; i < GEOM_DIMS; i++) slab = slab * b->size[i] + fixed(p, i);
    return b->slab0 + slab;
}

/* Stacks the slabs of all blocks along slow in one image, and places the panels in it. */
static nb_status stack(struct geom *g, struct block *block, int *count, double *nslow,
                       double *nfast)
{
    double slabs = 0, rows = 0, columns = 0;
    int n = 0;

    for (int i = 0; i < g->npanel; i++) {
        const struct geom_panel *p = g->panel + i;
        int b = find_block(block, n, p->data);

        if (b < 0) {
            b = n++;
            block[b].data = p->data;
            for (int k = 0; k < GEOM_DIMS; k++) block[b].size[k] = 1;
        }
        for (int k = 0; k < GEOM_DIMS; k++)
            if (block[b].size[k] <= fixed(p, k)) block[b].size[k] = fixed(p, k) + 1;
        rows = fmax(rows, p->range[GEOM_MAX_SS] + 1.0);
        columns = fmax(columns, p->range[GEOM_MAX_FS] + 1.0);
    }
    for (int b = 0; b < n; b++) {
        double product = 1;

        for (int k = 0; k < GEOM_DIMS; k++) product *= block[b].size[k];
        block[b].slab0 = slabs;
        slabs += product;
    }
    *count = n;
    *nslow = slabs * rows;
    *nfast = columns;
    if (*nslow > 1000000 || *nfast > 1000000 || *nslow * *nfast > 2147483647.0)
        return fail(g->ctx, NB_ERR_FORMAT,
                    "%s: the data need an image of %.0f x %.0f pixels (%g slabs of %.0f "
                    "rows), expected at most 1000000 along an edge and 2^31 in all; "
                    "correct min_fs to max_ss, dimN or data",
                    g->text.name, *nfast, *nslow, slabs, rows);
    for (int i = 0; i < g->npanel; i++) {
        struct geom_panel *p = g->panel + i;
        const struct block *b = block + find_block(block, n, p->data);

        p->slow0 = (int)(slab_of(b, p) * rows) + p->range[GEOM_MIN_SS];
        p->fast0 = p->range[GEOM_MIN_FS];
    }
    return NB_OK;
}

/* Checks that no two panels share a pixel of the image. */
static nb_status check_overlaps(const struct geom *g, const nb_panel *panel)
{
    int pair[2] = {0, 0};
    const int found = panels_overlap(panel, g->npanel, pair);
    const struct geom_panel *p = g->panel + pair[0], *q = g->panel + pair[1];

    if (found < 0) return fail_memory(g->ctx, g->text.name);
    if (!found) return NB_OK;
    return fail(g->ctx, NB_ERR_FORMAT,
                "%s, line %ld: panel %s overlaps panel %s (line %ld) in min_fs to max_ss, "
                "which include both ends, and dimN; correct one of them",
                g->text.name, q->line, text_show(q->name).s, text_show(p->name).s, p->line);
}

static nb_status place_panels(struct geom *g, nb_geometry_info *info)
{
    const size_t npanel = g->npanel > 0 ? (size_t)g->npanel : 1;
    struct block *block = calloc(npanel, sizeof *block);
    double nslow = 0, nfast = 0;
    nb_status status;
    int n = 0;

    if (!block) return fail_memory(g->ctx, g->text.name);
    status = stack(g, block, &n, &nslow, &nfast);
    free(block);
    NB_TRY(status);
    info->nslow = (int)nslow;
    info->nfast = (int)nfast;
    return NB_OK;
}

/* ---- panels and groups ---- */

/* Finds the origin of a panel, mm, x and y from the beam. z counts from the plane at clen
 * of the first panel. */
static void origin_of(const struct geom *g, const struct geom_panel *p, double out[3])
{
    const double first = g->panel->clen;

    for (int i = 0; i < 2; i++) out[i] = 1000 * p->corner[i] / p->res;
    out[2] = 1000 * (p->coffset + (isnan(first) || p->clen == first ? 0 : p->clen - first));
}

static void set_middles(const struct geom *g, struct geom_tree *t)
{
    for (int i = 0; i < t->n; i++) {
        struct geom_set *set = t->set + i;

        for (int k = 0; k < set->n; k++) {
            const struct geom_panel *p = g->panel + set->member[k];
            const int *r = p->range;
            double middle[3];

            origin_of(g, p, middle);
            linear_add(500 * (r[1] - r[0] + 1) / p->res, p->axis[0], middle);
            linear_add(500 * (r[3] - r[2] + 1) / p->res, p->axis[1], middle);
            linear_add(1.0 / set->n, middle, set->middle);
        }
    }
}

static void copy_name(struct span name, char out[GEOM_NAME])
{
    memcpy(out, name.at, name.n); /* shorter than GEOM_NAME; the rest is 0 */
}

static void set_panel(const struct geom *g, const struct geom_tree *t, int i, nb_panel *out)
{
    const struct geom_panel *p = g->panel + i;

    copy_name(p->name, out->name);
    out->nfast = p->range[GEOM_MAX_FS] - p->range[GEOM_MIN_FS] + 1;
    out->nslow = p->range[GEOM_MAX_SS] - p->range[GEOM_MIN_SS] + 1;
    out->fast0 = p->fast0;
    out->slow0 = p->slow0;
    out->pixel = p->res == g->panel->res ? 0 : 1000 / p->res;
    out->group = t->group[i];
    origin_of(g, p, out->origin);
    if (out->group > 0) linear_add(-1, t->set[out->group - 1].middle, out->origin);
    linear_copy(p->axis[0], out->fast);
    linear_copy(p->axis[1], out->slow);
}

static void set_group(const struct geom_tree *t, int i, nb_panel_group *out)
{
    const struct geom_set *set = t->set + i;

    copy_name(set->name, out->name);
    out->parent = set->parent;
    linear_copy(set->middle, out->origin);
    if (set->parent > 0) linear_add(-1, t->set[set->parent - 1].middle, out->origin);
    out->fast[0] = out->slow[1] = 1;
}

/* ---- the geometry ---- */

static nb_status copy_text(const struct geom *g, struct span from, char **out)
{
    *out = malloc(from.n + 1);
    if (!*out) return fail_memory(g->ctx, g->text.name);
    if (from.n > 0) memcpy(*out, from.at, from.n);
    (*out)[from.n] = '\0';
    return NB_OK;
}

static nb_status set_lists(const struct geom *g, const struct geom_tree *t,
                           nb_geometry *out)
{
    NB_TRY(geometry_reserve(g->ctx, g->text.name, g->npanel, t->n, out));
    for (int i = 0; i < g->npanel; i++) set_panel(g, t, i, out->panel[ALONG_Z] + i);
    for (int i = 0; i < t->n; i++) set_group(t, i, out->group[ALONG_Z] + i);
    geometry_finish(out);
    return NB_OK;
}

static nb_status set_rest(const struct geom *g, nb_geometry *out)
{
    nb_geometry_info *info = &out->info;

    info->pixel = 1000 / g->panel->res;
    info->wavelength = g->wavelength;
    for (int i = 0; i < 2; i++) out->shift[i] = 1000 * g->shift[i];
    if (g->wavelength_from.n > 0)
        NB_TRY(copy_text(g, g->wavelength_from, &out->wavelength_from));
    info->wavelength_from = out->wavelength_from;
    if (isnan(g->panel->clen))
        NB_TRY(copy_text(g, g->panel->clen_from, &out->distance_from));
    else
        info->distance = 1000 * g->panel->clen;
    info->distance_from = out->distance_from;
    return NB_OK;
}

static nb_status make(struct geom *g, struct geom_tree *t, nb_geometry *out)
{
    if (g->npanel == 0)
        return fail(g->ctx, NB_ERR_FORMAT,
                    "%s: the file has no panel: no line has the form 'p0/min_fs = 0' of a "
                    "geometry file of CrystFEL",
                    g->text.name);
    for (int i = 0; i < g->npanel; i++) NB_TRY(check_panel(g, g->panel + i));
    NB_TRY(place_panels(g, &out->info));
    NB_TRY(
        geom_make_mask(g, out->info.nslow, out->info.nfast, &out->mask, &out->info.masked));
    NB_TRY(square_axes(g));
    NB_TRY(geom_make_tree(g, t));
    set_middles(g, t);
    NB_TRY(set_lists(g, t, out));
    NB_TRY(check_overlaps(g, out->panel[ALONG_Z]));
    return set_rest(g, out);
}

nb_status geom_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                     void *to)
{
    nb_geometry **out = to, *made = calloc(1, sizeof *made);
    struct geom geom = {0};
    struct geom_tree tree = {0};
    nb_status status;

    *out = NULL;
    if (!made) return fail_memory(ctx, name);
    status = geom_read_lines(ctx, name, bytes, n, &geom);
    if (status == NB_OK) status = make(&geom, &tree, made);
    geom_tree_free(&tree);
    geom_free(&geom);
    if (status == NB_OK)
        *out = made;
    else
        nb_geometry_free(made);
    return status;
}

nb_status nb_geom_read(nb_context *ctx, const char *path, nb_geometry **out)
{
    STANDARD_FLOATS;
    static const struct file_format format = {".geom", (size_t)1 << 26, NULL, geom_parse};

    if (!ctx || !out) return NB_ERR_ARGUMENT;
    *out = NULL;
    return file_parse(ctx, path, &format, out);
}
