/*
 * expt_panels.c - reads the detector of an .expt. Its tree of groups is read from the root
 * down, so that in the list each group stands before the groups inside it.
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/experiment/expt_panels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "nanobrag_io/experiment/expt_places.h"
#include "nanobrag_io/geometry/geometry.h"
#include "nanobrag_io/geometry/pixel_mask.h"
#include "scene/detector/attenuation.h"
#include "scene/detector/panels.h"
#include "scene/linear.h"

/* Thinner layers are taken for no sensor: such files state 1e-6 mm, because readers refuse
 * 0. */
static const double thinnest_mm = 1e-3;

/* the largest cosine between two axes that are taken for perpendicular, as in scene.h */
static const double square_within = 1e-6;

enum { DEPTH_MOST = 32 };

/* ---- frames ---- */

/* A group of panels. `pose` is relative to the parent group, mm. */
struct group {
    struct panel_pose pose;
    int parent; /* number of the parent from 1 on, or 0, as in nb_panel_group */
    const char *name;
};

/* The groups of a detector while they are read. of[i] is the group of panel i, as in
 * nb_panel; -1 while it is not known. */
struct tree {
    int n, room, npanel;
    struct group *group;
    int *of;
};

nb_status expt_read_frame(const struct expt *e, const cJSON *from, const char *what,
                          struct panel_pose *out)
{
    double fast[3] = {1, 0, 0}, slow[3] = {0, 1, 0}, origin[3] = {0};

    NB_TRY(expt_optional(e, from, what, "fast_axis", fast, 3));
    NB_TRY(expt_optional(e, from, what, "slow_axis", slow, 3));
    NB_TRY(expt_optional(e, from, what, "origin", origin, 3));
    for (int i = 0; i < 2; i++) {
        double *axis = i ? slow : fast;

        if (!(linear_norm(axis) > 0) || !isfinite(linear_norm(axis)))
            return expt_wrong(e, what, i ? "slow_axis" : "fast_axis",
                              "a vector with a direction");
        linear_unit(axis, axis);
    }
    *out = panels_pose(origin, fast, slow);
    return NB_OK;
}

static const char *text_of(const cJSON *model, const char *key)
{
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(model, key);

    return cJSON_IsString(text) ? text->valuestring : "";
}

int expt_is_laboratory(const struct panel_pose *pose)
{
    return linear_is_zero(pose->at) && pose->axis[0][0] == 1 && pose->axis[1][1] == 1;
}

static nb_status add_group(const struct expt *e, struct tree *t, const struct group *group)
{
    if (t->n == PANELS_MOST)
        return fail(e->ctx, NB_ERR_UNSUPPORTED,
                    "%s: the detector has more than %d groups of panels", e->name,
                    PANELS_MOST);
    if (t->n == t->room) {
        const int room = 2 * t->room + 8;
        struct group *longer = realloc(t->group, (size_t)room * sizeof *longer);

        if (!longer) return fail_memory(e->ctx, e->name);
        t->group = longer;
        t->room = room;
    }
    t->group[t->n++] = *group;
    return NB_OK;
}

static nb_status add_panel(const struct expt *e, struct tree *t, double number, int group)
{
    if (!(number >= 0 && number < t->npanel) || number != floor(number))
        return fail(e->ctx, NB_ERR_FORMAT,
                    "%s: the hierarchy of the detector names panel %g, but the number of "
                    "panels is %d",
                    e->name, number, t->npanel);
    if (t->of[(int)number] >= 0)
        return fail(e->ctx, NB_ERR_FORMAT,
                    "%s: the hierarchy of the detector names panel %g twice", e->name,
                    number);
    t->of[(int)number] = group;
    return NB_OK;
}

/* Reads a group inside group `parent`, with its panels and the groups inside it. A root
 * with the frame of the laboratory is left out: its children have no parent. */
static nb_status read_group(const struct expt *e, const cJSON *from, int parent, int depth,
                            struct tree *t)
{
    const cJSON *children = cJSON_GetObjectItemCaseSensitive(from, "children"), *child;
    struct group group = {.parent = parent, .name = text_of(from, "name")};
    int own = 0;

    if (depth > DEPTH_MOST)
        return fail(e->ctx, NB_ERR_FORMAT,
                    "%s: the groups of the detector are nested more than %d deep", e->name,
                    DEPTH_MOST);
    NB_TRY(expt_read_frame(e, from, "group of panels", &group.pose));
    if (depth > 0 || !expt_is_laboratory(&group.pose)) {
        NB_TRY(add_group(e, t, &group));
        own = t->n;
    }
    cJSON_ArrayForEach(child, children)
    {
        const cJSON *panel = cJSON_GetObjectItemCaseSensitive(child, "panel");

        if (cJSON_IsNumber(panel))
            NB_TRY(add_panel(e, t, panel->valuedouble, own));
        else if (cJSON_IsObject(child))
            NB_TRY(read_group(e, child, own, depth + 1, t));
    }
    return NB_OK;
}

static nb_status read_tree(const struct expt *e, const cJSON *detector, struct tree *t)
{
    const cJSON *hierarchy = cJSON_GetObjectItemCaseSensitive(detector, "hierarchy");

    t->of = calloc((size_t)t->npanel, sizeof *t->of);
    if (!t->of) return fail_memory(e->ctx, e->name);
    if (!cJSON_IsObject(hierarchy)) return NB_OK;
    for (int i = 0; i < t->npanel; i++) t->of[i] = -1;
    NB_TRY(read_group(e, hierarchy, 0, 0, t));
    for (int i = 0; i < t->npanel; i++)
        if (t->of[i] < 0)
            return fail(e->ctx, NB_ERR_FORMAT,
                        "%s: panel %d is in no group of the detector's hierarchy", e->name,
                        i);
    return NB_OK;
}

/* ---- panels ---- */

/* the numbers of a panel in the file */
struct expt_panel {
    struct panel_pose pose; /* relative to its group */
    int nfast, nslow;
    double pixel; /* mm */
    double place[2]; /* first pixel in the image: fast, slow */
};

static nb_status read_sensor(const struct expt *e, const cJSON *panel, struct models *m)
{
    const cJSON *strategy = cJSON_GetObjectItemCaseSensitive(panel, "px_mm_strategy");
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(strategy, "type");
    const cJSON *material = cJSON_GetObjectItemCaseSensitive(panel, "material");
    double thickness = 0, mu = 0;

    NB_TRY(expt_optional(e, panel, "panel", "thickness", &thickness, 1));
    NB_TRY(expt_optional(e, panel, "panel", "mu", &mu, 1));
    if (!cJSON_IsString(type) || strncmp(type->valuestring, "Parallax", 8) != 0)
        return NB_OK;
    if (!(thickness >= thinnest_mm && thickness < 1e3) || !(mu > 0 && mu < 1e9))
        return NB_OK;
    m->thickness = 1000 * thickness;
    m->attenuation = 1000 / mu;
    if (cJSON_IsString(material)) m->material = attenuation_named(material->valuestring);
    m->found |= NB_FOUND_SENSOR;
    return NB_OK;
}

static nb_status read_panel(const struct expt *e, const cJSON *panel,
                            struct expt_panel *out)
{
    double size[2], pixel[2];

    if (!cJSON_IsObject(panel))
        return expt_wrong(e, "detector", "panels", "a list with a panel");
    NB_TRY(expt_reals(e, panel, "panel", "image_size", size, 2));
    NB_TRY(expt_reals(e, panel, "panel", "pixel_size", pixel, 2));
    if (!(size[0] >= 1 && size[0] <= 1e6 && size[1] >= 1 && size[1] <= 1e6)
        || size[0] != floor(size[0]) || size[1] != floor(size[1]))
        return expt_wrong(e, "panel", "image_size",
                          "two whole numbers of pixels from 1 to 1000000");
    if (!(pixel[0] > 0 && pixel[1] > 0))
        return expt_wrong(e, "panel", "pixel_size", "two lengths above 0");
    if (!(fabs(pixel[0] - pixel[1]) <= 1e-9 * pixel[0]))
        return fail(e->ctx, NB_ERR_UNSUPPORTED,
                    "%s: the pixels are %g x %g mm; expected square pixels", e->name,
                    pixel[0], pixel[1]);
    out->place[0] = out->place[1] = 0;
    NB_TRY(expt_optional(e, panel, "panel", "raw_image_offset", out->place, 2));
    for (int i = 0; i < 2; i++)
        if (!(out->place[i] >= 0 && out->place[i] < 1e9)
            || out->place[i] != floor(out->place[i]))
            return expt_wrong(e, "panel", "raw_image_offset",
                              "two whole numbers of pixels, 0 or more");
    out->nfast = (int)size[0];
    out->nslow = (int)size[1];
    out->pixel = pixel[0];
    return expt_read_frame(e, panel, "panel", &out->pose);
}

/* ---- untrusted rectangles ---- */

/* Masks the untrusted rectangles of a panel. The file states each as first and end fast,
 * first and end slow, where the end is the pixel after the last. */
static nb_status mask_panel(const struct expt *e, const cJSON *panel,
                            const struct pixel_rectangle *area, struct pixel_mask *mask)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(panel, "mask"), *item;

    cJSON_ArrayForEach(item, list)
    {
        double r[4];

        NB_TRY(expt_numbers(e, item, "panel", "mask", r, 4, 4));
        (void)pixel_mask_part(mask, area, ceil(r[1]), ceil(r[3]) - 1, ceil(r[0]),
                              ceil(r[2]) - 1);
    }
    return NB_OK;
}

static int has_mask(const cJSON *panels)
{
    const cJSON *panel;

    cJSON_ArrayForEach(panel, panels)
    {
        const cJSON *list = cJSON_GetObjectItemCaseSensitive(panel, "mask");

        if (cJSON_IsArray(list) && cJSON_GetArraySize(list) > 0) return 1;
    }
    return 0;
}

/* Makes the mask of an image of panels. If no panel states a place in the image, the
 * panels are stacked along slow. *masked is the number of masked pixels; if it is 0, *out
 * is NULL. */
static nb_status read_mask(const struct expt *e, const cJSON *panels, int nslow, int nfast,
                           const nb_panel *at, uint8_t **out, size_t *masked)
{
    const int n = cJSON_GetArraySize(panels);
    const cJSON *panel = panels->child;
    struct pixel_mask mask;
    nb_status status;
    int placed = 0, stacked = 0;

    if (!has_mask(panels)) return NB_OK;
    NB_TRY(pixel_mask_begin(e->ctx, e->name, nslow, nfast, &mask));
    for (int i = 0; i < n; i++) placed |= at[i].fast0 != 0 || at[i].slow0 != 0;
    status = NB_OK;
    for (int i = 0; i < n && status == NB_OK; i++, panel = panel->next) {
        const struct pixel_rectangle area = {placed ? at[i].slow0 : stacked, at[i].fast0,
                                             at[i].nslow, at[i].nfast};

        status = mask_panel(e, panel, &area, &mask);
        stacked += at[i].nslow;
    }
    if (status != NB_OK) {
        free(mask.pixel);
        return status;
    }
    *masked = mask.masked;
    *out = pixel_mask_end(&mask);
    return NB_OK;
}

/* ---- counts ---- */

static nb_status read_counts(const struct expt *e, const cJSON *panel, nb_panel_counts *out)
{
    const cJSON *limits = cJSON_GetObjectItemCaseSensitive(panel, "trusted_range");
    double *const to[2] = {&out->low, &out->high};

    *out = (nb_panel_counts){1, 0, -INFINITY, INFINITY};
    NB_TRY(expt_optional(e, panel, "panel", "gain", &out->gain, 1));
    NB_TRY(expt_optional(e, panel, "panel", "pedestal", &out->pedestal, 1));
    if (!(out->gain > 0)) out->gain = 1;
    for (int k = 0; k < 2; k++) {
        const cJSON *limit = cJSON_GetArrayItem(limits, k);

        if (cJSON_IsNumber(limit)) *to[k] = limit->valuedouble;
    }
    if (!(out->low < out->high)) out->low = -INFINITY, out->high = INFINITY;
    return NB_OK;
}

static nb_status read_all_counts(const struct expt *e, const cJSON *panels, int n,
                                 nb_experiment *out)
{
    const cJSON *panel;
    int i = 0;

    out->counts = calloc((size_t)n, sizeof *out->counts);
    if (!out->counts) return fail_memory(e->ctx, e->name);
    cJSON_ArrayForEach(panel, panels) NB_TRY(read_counts(e, panel, out->counts + i++));
    return NB_OK;
}

/* ---- one panel ---- */

static nb_status read_rectangle(const struct expt *e, const cJSON *panels,
                                const struct tree *t, struct models *m, uint8_t **mask)
{
    const cJSON *panel = panels->child;
    struct expt_panel p = {.nfast = 0};
    nb_panel whole = {.nfast = 0};
    size_t masked;

    NB_TRY(read_panel(e, panel, &p));
    for (int g = t->of[0] - 1; g >= 0; g = t->group[g].parent - 1)
        panels_place(&t->group[g].pose, &p.pose);
    linear_copy(p.pose.axis[0], m->fast);
    linear_copy(p.pose.axis[1], m->slow);
    linear_copy(p.pose.at, m->origin);
    m->nfast = p.nfast;
    m->nslow = p.nslow;
    m->pixel = p.pixel;
    whole.nfast = p.nfast;
    whole.nslow = p.nslow;
    return read_mask(e, panels, p.nslow, p.nfast, &whole, mask, &masked);
}

/* ---- several panels ---- */

/* Sets origin and axes of panel or group i from its pose. If `turn` is not NULL, the pose
 * is in the frame of the file, and is rotated to the frame of the scene. `what` is for
 * messages. Returns NB_ERR_FORMAT if the axes are not perpendicular. */
static nb_status set_frame(const struct expt *e, const char *what, int i,
                           const struct panel_pose *pose, const double (*turn)[3],
                           double origin[3], double fast[3], double slow[3])
{
    const double cosine = linear_dot(pose->axis[0], pose->axis[1]);

    if (!(fabs(cosine) < square_within))
        return fail(e->ctx, NB_ERR_FORMAT,
                    "%s: the fast and slow axes of %s %d are not at right angles (the "
                    "cosine is %g); correct one of them",
                    e->name, what, i, cosine);
    linear_copy(pose->at, origin);
    linear_copy(pose->axis[0], fast);
    linear_copy(pose->axis[1], slow);
    if (!turn) return NB_OK;
    linear_apply(turn, origin, origin);
    linear_apply(turn, fast, fast);
    linear_apply(turn, slow, slow);
    return NB_OK;
}

/* Copies as much of a name as fits. If the name is a path, as dxtbx writes for NXmx, only
 * its last part is copied. */
static void set_name(const char *name, char out[32])
{
    const char *const slash = strrchr(name, '/');

    (void)snprintf(out, 32, "%.31s", slash && slash[1] ? slash + 1 : name);
}

static nb_status set_panels(const struct expt *e, const cJSON *panels, const struct tree *t,
                            const double turn[3][3], nb_geometry *out)
{
    const cJSON *panel;
    int i = 0, stacked = 1;
    double nslow = 0, end[2] = {0, 0}; /* rows of stacked panels; end of the image, fast and
                                          slow */

    cJSON_ArrayForEach(panel, panels)
    {
        nb_panel *to = out->panel[ALONG_Z] + i;
        struct expt_panel p = {.nfast = 0};

        NB_TRY(read_panel(e, panel, &p));
        NB_TRY(set_frame(e, "panel", i, &p.pose, t->of[i] == 0 ? turn : NULL, to->origin,
                         to->fast, to->slow));
        set_name(text_of(panel, "name"), to->name);
        if (i == 0) out->info.pixel = p.pixel;
        to->pixel = p.pixel == out->info.pixel ? 0 : p.pixel;
        to->nfast = p.nfast;
        to->nslow = p.nslow;
        to->fast0 = (int)p.place[0];
        to->slow0 = (int)p.place[1];
        to->group = t->of[i++];
        stacked &= to->fast0 == 0 && to->slow0 == 0;
        nslow += p.nslow;
        end[0] = fmax(end[0], p.place[0] + p.nfast);
        end[1] = fmax(end[1], p.place[1] + p.nslow);
    }
    if (stacked) end[1] = nslow;
    if (!(end[0] * end[1] < 2147483648.0))
        return fail(e->ctx, NB_ERR_UNSUPPORTED,
                    "%s: the panels need an image of %g x %g pixels, which is too large",
                    e->name, end[0], end[1]);
    out->info.nfast = (int)end[0];
    out->info.nslow = (int)end[1];
    return stacked ? expt_place_panels(e, panels, out) : NB_OK;
}

static nb_status set_groups(const struct expt *e, const struct tree *t,
                            const double turn[3][3], nb_geometry *out)
{
    for (int g = 0; g < t->n; g++) {
        const struct group *from = t->group + g;
        nb_panel_group *to = out->group[ALONG_Z] + g;

        NB_TRY(set_frame(e, "group", g, &from->pose, from->parent == 0 ? turn : NULL,
                         to->origin, to->fast, to->slow));
        set_name(from->name, to->name);
        to->parent = from->parent;
    }
    return NB_OK;
}

static nb_status read_several(const struct expt *e, const cJSON *panels,
                              const struct tree *t, const double turn[3][3],
                              nb_geometry **geometry)
{
    nb_geometry *out = calloc(1, sizeof *out);
    nb_status status;

    if (!out) return fail_memory(e->ctx, e->name);
    status = geometry_reserve(e->ctx, e->name, t->npanel, t->n, out);
    if (status == NB_OK) status = set_panels(e, panels, t, turn, out);
    if (status == NB_OK) status = set_groups(e, t, turn, out);
    if (status == NB_OK)
        status = read_mask(e, panels, out->info.nslow, out->info.nfast, out->panel[ALONG_Z],
                           &out->mask, &out->info.masked);
    if (status != NB_OK) {
        nb_geometry_free(out);
        return status;
    }
    geometry_finish(out);
    out->is_placed = 1;
    *geometry = out;
    return NB_OK;
}

/* Warns if the sensors of the panels differ, because all get the sensor of the first
 * panel. */
static void warn_of_sensors(const struct expt *e, const cJSON *panels,
                            const struct models *m)
{
    const cJSON *panel;

    cJSON_ArrayForEach(panel, panels)
    {
        struct models other = {0};

        if (read_sensor(e, panel, &other) != NB_OK) return;
        if (other.thickness == m->thickness && other.attenuation == m->attenuation)
            continue;
        log_line(e->ctx, NB_LOG_WARNING, "expt",
                 "%s: the sensors of the panels differ; the sensor of the first panel is "
                 "taken",
                 e->name);
        return;
    }
}

nb_status expt_read_detector(const struct expt *e, const cJSON *detector,
                             const double turn[3][3], struct models *m, nb_experiment *out)
{
    const cJSON *panels = cJSON_GetObjectItemCaseSensitive(detector, "panels");
    const int n = cJSON_IsArray(panels) ? cJSON_GetArraySize(panels) : 0;
    const cJSON *first = cJSON_GetArrayItem(panels, 0);
    struct tree tree = {.npanel = n};
    nb_status status;

    if (n < 1) return expt_wrong(e, "detector", "panels", "a list with a panel");
    if (n > PANELS_MOST)
        return fail(e->ctx, NB_ERR_UNSUPPORTED,
                    "%s: the detector has %d panels, expected at most %d", e->name, n,
                    PANELS_MOST);
    status = read_tree(e, detector, &tree);
    if (status == NB_OK)
        status = n == 1 ? read_rectangle(e, panels, &tree, m, &out->mask)
                        : read_several(e, panels, &tree, turn, &out->geometry);
    free(tree.group);
    free(tree.of);
    NB_TRY(status);
    m->found |= NB_FOUND_DETECTOR;
    NB_TRY(read_all_counts(e, panels, n, out));
    NB_TRY(read_sensor(e, first, m));
    if (n > 1) warn_of_sensors(e, panels, m);
    return NB_OK;
}
