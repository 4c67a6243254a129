/*
 * geom_write.c - writes the panels of a detector as a geometry file of CrystFEL.
 *
 * DIALS (xfel.euxfel.read_geom) wants rigid groups before the panels, all panels in a
 * collection, no units, and one blank between the terms of a vector. CrystFEL from 0.11 on
 * wants groups behind the panels and ignores rigid groups, so both are written. Neither
 * reads exponents in a vector.
 *
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "nanobrag_io/geometry/geom.h"
#include "nanobrag_io/images/exposure.h"
#include "scene/linear.h"

enum { DECIMALS = 15, NUMBERED = 16 };

struct geom_out {
    struct file_out file;
    const struct exposure *exposure;
    const nb_detector *d;
    int npanel, ngroup, depth; /* depth: number of levels of groups */
    int *group; /* group of each panel, as in nb_panel */
    int *level, *count; /* level of each group, 0 at the top; number of its panels */
    const char **name; /* of the panels, then of the groups */
    char (*number)[NUMBERED];
    int lost; /* 1: out of memory while a number was written */
};

/* ---- names ---- */

static int begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* Returns 1 if CrystFEL and DIALS accept a name. */
static int is_allowed(const char *name)
{
    if (!*name || begins(name, "bad") || begins(name, "group") || strcmp(name, "all") == 0
        || strstr(name, "rigid_group") || strstr(name, "collection"))
        return 0;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("_-.", *name)) return 0;
    return 1;
}

static int by_text(const void *a, const void *b)
{
    const char *const *p = a, *const *q = b;

    return strcmp(*p, *q);
}

/* Returns 1 if each of the n names behind the first `before` is allowed and differs from
 * all other names. */
static int all_fit(const char **name, int before, int n, const char **sorted)
{
    int fit = 1;

    memcpy(sorted, name, ((size_t)before + (size_t)n) * sizeof *sorted);
    qsort(sorted, (size_t)before + (size_t)n, sizeof *sorted, by_text);
    for (int i = 1; i < before + n; i++) fit &= strcmp(sorted[i - 1], sorted[i]) != 0;
    for (int i = before; i < before + n; i++) fit &= is_allowed(name[i]);
    return fit;
}

/* Replaces n names by a letter with a number. Returns 1 if one of them was not empty. */
static int number_names(struct geom_out *o, int from, int n, char letter)
{
    int any = 0;

    for (int i = from; i < from + n; i++) {
        any |= *o->name[i] != '\0';
        (void)snprintf(o->number[i], NUMBERED, "%c%d", letter, i - from);
        o->name[i] = o->number[i];
    }
    return any;
}

/* Gives panels names p0, p1, ... unless all have allowed names that differ; groups likewise
 * g0, g1, ... */
static nb_status choose_names(nb_context *ctx, struct geom_out *o)
{
    const int n = o->npanel, m = o->ngroup;
    const char **sorted = malloc(((size_t)n + (size_t)m) * sizeof *sorted);
    int numbered = 0;

    if (!sorted) return fail_memory(ctx, o->file.path);
    for (int i = 0; i < n; i++)
        o->name[i] = o->exposure->panel[i].name ? o->exposure->panel[i].name : "";
    for (int g = 0; g < m; g++) o->name[n + g] = o->d->group[g].name;
    if (!all_fit(o->name, 0, n, sorted)) numbered |= number_names(o, 0, n, 'p');
    if (!all_fit(o->name, n, m, sorted)) {
        numbered |= number_names(o, n, m, 'g');
        /* a panel that is called g0 in the scene gets a number, too */
        if (!all_fit(o->name, n, m, sorted)) numbered |= number_names(o, 0, n, 'p');
    }
    free(sorted);
    if (numbered)
        log_line(ctx, NB_LOG_NOTE, "geom",
                 "%s: panels are called p0, p1, ... or groups g0, g1, ..., since a name is "
                 "missing, not unique or not allowed in a .geom",
                 o->file.path);
    return NB_OK;
}

/* ---- text ---- */

static void put_text(struct geom_out *o, const char *text)
{
    file_put(&o->file, text, strlen(text));
}

/* Writes "owner/key = ", or "key = " without an owner. */
static void put_key(struct geom_out *o, const char *owner, const char *key)
{
    if (owner) put_text(o, owner);
    if (owner) put_text(o, "/");
    put_text(o, key);
    put_text(o, " = ");
}

static void put_real(struct geom_out *o, const char *owner, const char *key, double value)
{
    char text[TEXT_REAL];

    put_key(o, owner, key);
    o->lost |= !text_fixed(text, DECIMALS, value);
    put_text(o, text);
    put_text(o, "\n");
}

/* Writes a real with so many digits that reading gives the same number. */
static void put_exact(struct geom_out *o, const char *owner, const char *key, double value)
{
    char text[TEXT_REAL];

    put_key(o, owner, key);
    o->lost |= !text_real(text, 16, value);
    put_text(o, text);
    put_text(o, "\n");
}

static void put_whole(struct geom_out *o, const char *owner, const char *key, int value)
{
    char text[NUMBERED];

    (void)snprintf(text, sizeof text, "%d\n", value);
    put_key(o, owner, key);
    put_text(o, text);
}

static void put_vector(struct geom_out *o, const char *owner, const char *key,
                       const double v[3])
{
    char text[TEXT_REAL];

    put_key(o, owner, key);
    for (int i = 0; i < 3; i++) {
        if (i == 2 && v[2] == 0) break;
        o->lost |= !text_fixed(text, DECIMALS, v[i]);
        put_text(o, i > 0 ? " " : "");
        put_text(o, *text == '-' ? "" : "+");
        put_text(o, text);
        put_text(o, i == 0 ? "x" : i == 1 ? "y" : "z");
    }
    put_text(o, "\n");
}

/* ---- groups ---- */

/* Returns 1 if a panel is in group g or in a group inside it. */
static int is_in(const struct geom_out *o, int panel, int g)
{
    for (int i = o->group[panel] - 1; i >= 0; i = o->d->group[i].parent - 1)
        if (i == g) return 1;
    return 0;
}

static void find_levels(struct geom_out *o)
{
    for (int g = 0; g < o->ngroup; g++) {
        const int parent = o->d->group[g].parent;

        o->level[g] = parent > 0 ? o->level[parent - 1] + 1 : 0;
        for (int i = 0; i < o->npanel; i++) o->count[g] += is_in(o, i, g);
        if (o->count[g] > 0 && o->depth <= o->level[g]) o->depth = o->level[g] + 1;
    }
}

static void put_member(struct geom_out *o, int i, int *any)
{
    put_text(o, (*any)++ ? "," : "");
    put_text(o, o->name[i]);
}

/* Writes the rigid groups, each with all panels inside it, and a collection for each level.
 * A panel without a group is a rigid group of its own at the first level. */
static void put_rigid_groups(struct geom_out *o)
{
    char key[48];

    for (int g = 0; g < o->ngroup; g++) {
        int any = 0;

        if (o->count[g] == 0) continue;
        put_text(o, "rigid_group_");
        put_key(o, NULL, o->name[o->npanel + g]);
        for (int i = 0; i < o->npanel; i++)
            if (is_in(o, i, g)) put_member(o, i, &any);
        put_text(o, "\n");
    }
    for (int i = 0; i < o->npanel; i++)
        if (o->group[i] == 0) {
            put_text(o, "rigid_group_");
            put_key(o, NULL, o->name[i]);
            put_text(o, o->name[i]);
            put_text(o, "\n");
        }
    for (int level = 0; level == 0 || level < o->depth; level++) {
        int any = 0;

        (void)snprintf(key, sizeof key, "rigid_group_collection_level%d", level);
        put_key(o, NULL, key);
        for (int g = 0; g < o->ngroup; g++)
            if (o->level[g] == level && o->count[g] > 0) put_member(o, o->npanel + g, &any);
        for (int i = 0; i < o->npanel && level == 0; i++)
            if (o->group[i] == 0) put_member(o, i, &any);
        put_text(o, "\n");
    }
}

/* Writes a group as a list of its panels and groups; g = -1 stands for the whole
 * detector. */
static void put_group(struct geom_out *o, int g)
{
    int any = 0;

    put_text(o, "group_");
    put_key(o, NULL, g < 0 ? "all" : o->name[o->npanel + g]);
    for (int i = 0; i < o->npanel; i++)
        if (o->group[i] == g + 1) put_member(o, i, &any);
    for (int k = 0; k < o->ngroup; k++)
        if (o->d->group[k].parent == g + 1 && o->count[k] > 0)
            put_member(o, o->npanel + k, &any);
    put_text(o, "\n");
}

static void put_groups(struct geom_out *o)
{
    for (int level = o->depth; level-- > 0;)
        for (int g = 0; g < o->ngroup; g++)
            if (o->level[g] == level && o->count[g] > 0) put_group(o, g);
    put_group(o, -1);
}

/* ---- panels ---- */

/* Returns the distance of the detector along the beam, mm: by its own origin if that lies
 * downstream, else by the first panel that does, else by the first panel. */
static double distance_of(const struct geom_out *o)
{
    double origin[3];

    laboratory_turn(&o->exposure->laboratory, o->d->origin, origin);
    laboratory_nexus(origin, origin);
    if (o->d->npanel > 0 && origin[2] > 0) return origin[2];
    for (int i = 0; i < o->npanel; i++) {
        laboratory_nexus(o->exposure->panel[i].origin, origin);
        if (origin[2] > 0) return origin[2];
    }
    laboratory_nexus(o->exposure->panel[0].origin, origin);
    return origin[2];
}

static void put_panel(struct geom_out *o, int i, double distance)
{
    const struct laboratory_panel *p = o->exposure->panel + i;
    const char *const name = o->name[i];
    double v[3];

    put_text(o, "\n");
    laboratory_nexus(p->fast, v);
    put_vector(o, name, "fs", v);
    laboratory_nexus(p->slow, v);
    put_vector(o, name, "ss", v);
    laboratory_nexus(p->origin, v);
    put_real(o, name, "corner_x", v[0] / p->pixel);
    put_real(o, name, "corner_y", v[1] / p->pixel);
    put_real(o, name, "coffset", (v[2] - distance) / 1000);
    put_whole(o, name, "min_fs", p->fast0);
    put_whole(o, name, "max_fs", p->fast0 + p->nfast - 1);
    put_whole(o, name, "min_ss", p->slow0);
    put_whole(o, name, "max_ss", p->slow0 + p->nslow - 1);
    if (p->pixel != o->exposure->panel[0].pixel) put_exact(o, name, "res", 1000 / p->pixel);
}

static void put_all(struct geom_out *o)
{
    const double distance = distance_of(o);

    put_text(o, "; written by nanobrag\n");
    put_exact(o, NULL, "photon_energy", GEOM_EV_ANGSTROM / o->exposure->wavelength);
    put_real(o, NULL, "clen", distance / 1000);
    put_exact(o, NULL, "res", 1000 / o->exposure->panel[0].pixel);
    put_text(o, "adu_per_photon = 1\ndata = /entry/data/data\ndim0 = %\ndim1 = ss\n"
                "dim2 = fs\n\n");
    put_rigid_groups(o);
    for (int i = 0; i < o->npanel; i++) put_panel(o, i, distance);
    put_text(o, "\n");
    put_groups(o);
}

static void release(struct geom_out *o)
{
    free(o->group);
    free(o->level);
    free(o->count);
    free(o->name);
    free(o->number);
}

/* Allocates the arrays, and finds groups, levels and names. */
static nb_status prepare(nb_context *ctx, struct geom_out *o)
{
    const size_t n = (size_t)o->npanel, m = (size_t)o->ngroup;

    o->group = calloc(n, sizeof *o->group);
    o->level = calloc(m + 1, sizeof *o->level);
    o->count = calloc(m + 1, sizeof *o->count);
    o->name = calloc(n + m, sizeof *o->name);
    o->number = calloc(n + m, sizeof *o->number);
    if (!o->group || !o->level || !o->count || !o->name || !o->number)
        return fail_memory(ctx, o->file.path);
    for (int i = 0; i < o->npanel && o->d->npanel > 0; i++)
        o->group[i] = o->d->panel[i].group;
    find_levels(o);
    return choose_names(ctx, o);
}

nb_status geom_write(nb_context *ctx, const char *path, const struct exposure *exposure,
                     const nb_scene *scene)
{
    struct geom_out o = {.exposure = exposure,
                         .d = &scene->detector,
                         .npanel = exposure->laboratory.npanel,
                         .ngroup = scene->detector.npanel > 0 ? scene->detector.ngroup : 0};
    nb_status status;

    NB_TRY(exposure_check_flat(ctx, exposure, "a .geom"));
    o.file.path = path;
    status = prepare(ctx, &o);
    if (status == NB_OK) status = file_begin(ctx, path, &o.file);
    if (status == NB_OK) {
        put_all(&o);
        if (o.lost && o.file.status == NB_OK) o.file.status = fail_memory(ctx, path);
        status = file_end(&o.file);
    }
    release(&o);
    return status;
}
