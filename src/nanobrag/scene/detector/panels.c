/*
 * panels.c - checks panels and groups, and computes their places in the laboratory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/detector/panels.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "scene/detector/detector.h"
#include "scene/linear.h"

/* Largest error allowed in the length 1 of an axis, and in the inner product 0 of two
 * axes. */
static const double most_off = 1e-6;

/* Largest coordinate allowed, mm, and largest rotation, degree. */
static const double largest_length = 1e9, largest_angle = 1e6;

/* ---- poses ---- */

double panels_pixel(const nb_detector *d, int i)
{
    return d->npanel > 0 && d->panel[i].pixel != 0 ? d->panel[i].pixel : d->pixel;
}

struct panel_middle panels_middle(const nb_panel *panel)
{
    const double half[2] = {0.5 * panel->nfast, 0.5 * panel->nslow};
    struct panel_middle middle = {{0, 0, 0}, {0, 0, 0}};

    for (int i = 0; i < 2; i++)
        if (panel->pixel != 0)
            middle.at[i] = half[i] * panel->pixel;
        else
            middle.per_pixel[i] = half[i];
    return middle;
}

void panels_middle_at(const nb_detector *detector, const struct panel_middle *middle,
                      double out[3])
{
    linear_copy(middle->at, out);
    linear_add(detector->pixel, middle->per_pixel, out);
}

struct panel_pose panels_pose(const double origin[3], const double fast[3],
                              const double slow[3])
{
    struct panel_pose pose;

    linear_copy(origin, pose.at);
    linear_copy(fast, pose.axis[0]);
    linear_copy(slow, pose.axis[1]);
    linear_cross(fast, slow, pose.axis[2]);
    return pose;
}

/* Converts a vector from a pose's own frame to the frame that states the pose. */
static void outwards(const struct panel_pose *pose, const double own[3], double out[3])
{
    double v[3] = {0, 0, 0};

    for (int i = 0; i < 3; i++) linear_add(own[i], pose->axis[i], v);
    linear_copy(v, out);
}

void panels_move(const double middle[3], const double shift[3], const double rotation[3],
                 struct panel_pose *pose)
{
    const int still = linear_is_zero(rotation);
    struct panel_pose moved = *pose;
    double way[3] = {0, 0, 0}, turned[3];

    if (still && linear_is_zero(shift)) return;
    if (!still) {
        linear_rotate_xyz(rotation, middle, turned);
        linear_copy(middle, way);
        linear_add(-1, turned, way);
    }
    linear_add(1, shift, way);
    outwards(pose, way, turned);
    linear_add(1, turned, moved.at);
    for (int i = 0; i < 3 && !still; i++) {
        double unit[3] = {i == 0, i == 1, i == 2};

        linear_rotate_xyz(rotation, unit, unit);
        outwards(pose, unit, moved.axis[i]);
    }
    *pose = moved;
}

void panels_place(const struct panel_pose *outer, struct panel_pose *pose)
{
    double at[3];

    outwards(outer, pose->at, at);
    linear_add(1, outer->at, at);
    linear_copy(at, pose->at);
    for (int i = 0; i < 3; i++) outwards(outer, pose->axis[i], pose->axis[i]);
}

/* Returns the pose of a group, after its moves, in the frame of its parent group. */
static struct panel_pose pose_of_group(const nb_detector *d,
                                       const struct panel_middle *middle, int g)
{
    const nb_panel_group *group = d->group + g;
    struct panel_pose pose = panels_pose(group->origin, group->fast, group->slow);
    double about[3];

    panels_middle_at(d, middle + g, about);
    panels_move(about, group->shift, group->rotation, &pose);
    return pose;
}

/* Converts a pose that is stated in the frame of group g (-1: no group) to the
 * laboratory. */
static void place_in_lab(const nb_detector *d, const struct panel_middle *middle, int g,
                         struct panel_pose *out)
{
    for (; g >= 0; g = d->group[g].parent - 1) {
        const struct panel_pose pose = pose_of_group(d, middle, g);

        panels_place(&pose, out);
    }
    linear_rotate_xyz(d->rotation, out->at, out->at);
    linear_add(1, d->origin, out->at);
    for (int j = 0; j < 3; j++) linear_rotate_xyz(d->rotation, out->axis[j], out->axis[j]);
}

void panels_in_lab(const nb_detector *d, const struct panel_middle *middle, int i,
                   struct panel_pose *out)
{
    const nb_panel *panel = d->panel + i;
    const struct panel_middle own = panels_middle(panel);
    double about[3];

    *out = panels_pose(panel->origin, panel->fast, panel->slow);
    panels_middle_at(d, &own, about);
    panels_move(about, panel->shift, panel->rotation, out);
    place_in_lab(d, middle, panel->group - 1, out);
}

void panels_group_in_lab(const nb_detector *d, const struct panel_middle *middle, int g,
                         struct panel_pose *out)
{
    *out = pose_of_group(d, middle, g);
    place_in_lab(d, middle, d->group[g].parent - 1, out);
}

void panels_within(const struct panel_pose *outer, struct panel_pose *pose)
{
    double way[3];

    linear_copy(pose->at, way);
    linear_add(-1, outer->at, way);
    linear_apply(outer->axis, way, pose->at);
    for (int i = 0; i < 3; i++) linear_apply(outer->axis, pose->axis[i], pose->axis[i]);
}

/* ---- the place of a panel ---- */

/* Computes axes and pix0 of panel i. Returns 1 if fast x slow points away from the crystal,
 * else -1. Panels that face the crystal and are read out in the same order of axes have the
 * same sign. */
static int place_panel(const nb_scene *scene, const struct panel_middle *middle, int i,
                       struct detector_place *out)
{
    const nb_detector *d = &scene->detector;
    struct panel_pose pose;
    int sign;

    panels_in_lab(d, middle, i, &pose);
    linear_unit(scene->beam.direction, out->beam);
    linear_copy(pose.axis[0], out->fast);
    linear_copy(pose.axis[1], out->slow);
    linear_scale(1e-3, pose.at, out->pix0);
    sign = linear_dot(out->pix0, pose.axis[2]) < 0 ? -1 : 1;
    linear_scale(sign, pose.axis[2], out->normal); /* points away from the crystal */
    return sign;
}

/* Returns the largest coordinate along the beam of a panel's corners, m. */
static double downstream(const struct detector_place *place)
{
    double most = -INFINITY, p[3];

    for (int corner = 0; corner < 4; corner++) {
        detector_corner(place, corner, p);
        most = fmax(most, linear_dot(p, place->beam));
    }
    return most;
}

/* Returns 1 if there are panels downstream of the crystal and none of them has the sign
 * `sign`, as place_panel() returns it. */
static int faces_away(const nb_scene *scene, const struct panel_middle *middle, int sign)
{
    int others = 0;

    for (int i = 0; i < scene->detector.npanel; i++) {
        const nb_panel *panel = scene->detector.panel + i;
        struct detector_place place = {.nfast = panel->nfast, .nslow = panel->nslow};
        const int other = place_panel(scene, middle, i, &place);

        place.pixel = panels_pixel(&scene->detector, i) / 1000;
        if (!(downstream(&place) > 0)) continue;
        if (other == sign) return 0;
        others = 1;
    }
    return others;
}

/* Checks that the crystal illuminates panel i. A panel upstream of the crystal is allowed,
 * as at the ends of a barrel. Such a panel is refused if its axes are mirrored against the
 * axes of all panels downstream, because then some number has the wrong sign. */
static nb_status check_panel(nb_context *ctx, const nb_scene *scene,
                             const struct panel_middle *middle, int i, int sign,
                             const struct detector_place *place)
{
    const nb_panel *panel = scene->detector.panel + i;
    const char *open = *panel->name ? " (" : "", *shut = *panel->name ? ")" : "";

    if (!isfinite(place->close) || !isfinite(linear_norm(place->pix0)))
        return fail(ctx, NB_ERR_SCENE, "the place of panel %d%s%s%s is not finite", i, open,
                    panel->name, shut);
    if (!(place->close > 1e-9 * linear_norm(place->pix0)))
        return fail(ctx, NB_ERR_SCENE,
                    "panel %d%s%s%s is edge-on to the crystal: its plane passes %g mm from "
                    "it",
                    i, open, panel->name, shut, place->close * 1000);
    if (downstream(place) > 0 || !faces_away(scene, middle, sign)) return NB_OK;
    return fail(ctx, NB_ERR_SCENE,
                "panel %d%s%s%s lies behind the crystal and faces away from it: its fast "
                "and slow axes are mirrored against those of the panels downstream; turn "
                "its axes, origin or groups, or the beam (%g %g %g)",
                i, open, panel->name, shut, place->beam[0], place->beam[1], place->beam[2]);
}

nb_status panels_derive(nb_context *ctx, const nb_scene *scene,
                        const struct panel_middle *middle, int i,
                        struct detector_place *out)
{
    const nb_detector *d = &scene->detector;
    const int sign = place_panel(scene, middle, i, out);

    linear_unit(d->vectors[3], out->twotheta_axis);
    out->pivot = d->pivot;
    detector_complete(linear_dot(out->beam, out->normal), out);
    out->xbeam = out->beam_fast;
    out->ybeam = out->beam_slow;
    return check_panel(ctx, scene, middle, i, sign, out);
}

/* ---- checks ---- */

/* Returns "panel 3 (name)" in `text`; panels count from 0, as in lists of parameters. */
static const char *name_of(const char *what, int i, const char *name, char text[64])
{
    (void)snprintf(text, 64, *name ? "%s %d (%.31s)" : "%s %d", what, i, name);
    return text;
}

static int within(const double *v, int n, double limit)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(v[i]) <= limit)) return 0;
    return 1;
}

/* Checks the axes of a panel or group, and makes them exact unit vectors at right
 * angles. */
static nb_status resolve_axes(nb_context *ctx, const char *name, double fast[3],
                              double slow[3])
{
    if (linear_is_zero(fast)) fast[0] = 1;
    if (linear_is_zero(slow)) slow[1] = 1;
    if (!(fabs(linear_norm(fast) - 1) <= most_off)
        || !(fabs(linear_norm(slow) - 1) <= most_off)
        || !(fabs(linear_dot(fast, slow)) <= most_off))
        return fail(ctx, NB_ERR_SCENE,
                    "%s: the fast and slow axes have lengths %.9g and %.9g and the inner "
                    "product %.3g, expected unit vectors at right angles within %g",
                    name, linear_norm(fast), linear_norm(slow), linear_dot(fast, slow),
                    most_off);
    linear_unit(fast, fast);
    linear_add(-linear_dot(fast, slow), fast, slow);
    linear_unit(slow, slow);
    return NB_OK;
}

static nb_status check_moves(nb_context *ctx, const char *name, const double origin[3],
                             const double shift[3], const double rotation[3])
{
    if (!within(origin, 3, largest_length) || !within(shift, 3, largest_length)
        || !within(rotation, 3, largest_angle))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "%s: origin, shift or rotation holds a number beyond +-%g mm or +-%g "
                    "degree",
                    name, largest_length, largest_angle);
    return NB_OK;
}

static nb_status resolve_panel(nb_context *ctx, const nb_detector *d, int i, nb_panel *p)
{
    char name[64];

    p->name[sizeof p->name - 1] = '\0';
    (void)name_of("panel", i, p->name, name);
    if (p->nslow < 1 || p->nfast < 1)
        return fail(ctx, NB_ERR_ARGUMENT, "%s has %d x %d pixels, expected 1 or more", name,
                    p->nfast, p->nslow);
    if (!(p->pixel == 0 || (p->pixel >= 1e-6 && p->pixel <= 1e6)))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "%s has pixels of %g mm, expected 1e-6 to 1e6, or 0 for those of the "
                    "detector",
                    name, p->pixel);
    if (p->group < 0 || p->group > d->ngroup)
        return fail(ctx, NB_ERR_ARGUMENT, "%s is in group %d, expected 0 to %d", name,
                    p->group, d->ngroup);
    NB_TRY(check_moves(ctx, name, p->origin, p->shift, p->rotation));
    return resolve_axes(ctx, name, p->fast, p->slow);
}

static nb_status resolve_group(nb_context *ctx, int i, nb_panel_group *g)
{
    char name[64];

    g->name[sizeof g->name - 1] = '\0';
    (void)name_of("group", i, g->name, name);
    if (g->parent < 0 || g->parent > i)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "%s has the parent %d, expected 0 or the number, from 1, of a group "
                    "before it",
                    name, g->parent);
    NB_TRY(check_moves(ctx, name, g->origin, g->shift, g->rotation));
    return resolve_axes(ctx, name, g->fast, g->slow);
}

/* ---- places in the image ---- */

/* Stacks the panels along slow if none of them has a place in the image. Completes the size
 * of the image. */
static nb_status resolve_places(nb_context *ctx, nb_detector *d, nb_panel *panel)
{
    int64_t nslow = 0, nfast = 0, stacked = 0;
    int placed = 0;

    for (int i = 0; i < d->npanel; i++)
        placed |= panel[i].slow0 != 0 || panel[i].fast0 != 0;
    for (int i = 0; i < d->npanel; i++) {
        nb_panel *p = panel + i;
        char name[64];

        if (!placed && stacked > 1000000)
            return fail(ctx, NB_ERR_SCENE,
                        "the stacked panels have more than 1000000 rows");
        if (!placed) p->slow0 = (int)stacked;
        stacked += p->nslow;
        if (p->slow0 < 0 || p->fast0 < 0
            || (d->nslow > 0 && (int64_t)p->slow0 + p->nslow > d->nslow)
            || (d->nfast > 0 && (int64_t)p->fast0 + p->nfast > d->nfast))
            return fail(ctx, NB_ERR_SCENE,
                        "%s leaves the image of %d x %d pixels: the panel has %d x %d "
                        "pixels from %d %d on (fast slow)",
                        name_of("panel", i, p->name, name), d->nfast, d->nslow, p->nfast,
                        p->nslow, p->fast0, p->slow0);
        nslow = nslow > (int64_t)p->slow0 + p->nslow ? nslow : (int64_t)p->slow0 + p->nslow;
        nfast = nfast > (int64_t)p->fast0 + p->nfast ? nfast : (int64_t)p->fast0 + p->nfast;
    }
    if (nslow > 1000000 || nfast > 1000000)
        return fail(ctx, NB_ERR_SCENE,
                    "the panels need an image of %lld x %lld pixels, at most 1000000 along "
                    "an edge",
                    (long long)nfast, (long long)nslow);
    if (d->nslow == 0) d->nslow = (int)nslow;
    if (d->nfast == 0) d->nfast = (int)nfast;
    return NB_OK;
}

/* The first row of a panel and its index, for sorting by rows. */
struct ordered {
    int slow0, index;
};

static int by_first_row(const void *a, const void *b)
{
    const struct ordered *p = a, *q = b;

    if (p->slow0 != q->slow0) return p->slow0 < q->slow0 ? -1 : 1;
    return (p->index > q->index) - (p->index < q->index);
}

int panels_overlap(const nb_panel *panel, int n, int pair[2])
{
    struct ordered *order = n > 0 ? malloc((size_t)n * sizeof *order) : NULL;
    int found = 0;

    if (!order) return n > 0 ? -1 : 0;
    for (int i = 0; i < n; i++) order[i] = (struct ordered){panel[i].slow0, i};
    qsort(order, (size_t)n, sizeof *order, by_first_row);
    for (int i = 0; i < n && !found; i++) {
        const nb_panel *p = panel + order[i].index;

        for (int j = i + 1; j < n && !found && order[j].slow0 < p->slow0 + p->nslow; j++) {
            const nb_panel *q = panel + order[j].index;

            found = q->fast0 < p->fast0 + p->nfast && p->fast0 < q->fast0 + q->nfast;
            pair[0] = order[i].index;
            pair[1] = order[j].index;
        }
    }
    free(order);
    return found;
}

/* Checks that no two panels share a pixel. */
static nb_status check_overlaps(nb_context *ctx, const nb_detector *d)
{
    char one[64], other[64];
    int pair[2] = {0, 0};
    const int found = panels_overlap(d->panel, d->npanel, pair);

    if (found < 0) return fail_memory(ctx, "a list of panels");
    if (!found) return NB_OK;
    return fail(ctx, NB_ERR_SCENE, "%s and %s overlap in the image",
                name_of("panel", pair[0], d->panel[pair[0]].name, one),
                name_of("panel", pair[1], d->panel[pair[1]].name, other));
}

/* ---- middles of groups ---- */

/* Adds the middle of panel i to the sums of all groups that hold the panel. Shifts and
 * rotations are left out. */
static void add_middle(const nb_detector *d, int i, struct panel_middle *sum, int *count)
{
    const nb_panel *p = d->panel + i;
    struct panel_pose pose = panels_pose(p->origin, p->fast, p->slow);
    struct panel_middle middle = panels_middle(p);

    for (int g = p->group - 1; g >= 0; g = d->group[g].parent - 1) {
        const nb_panel_group *group = d->group + g;

        outwards(&pose, middle.at, middle.at);
        linear_add(1, pose.at, middle.at);
        outwards(&pose, middle.per_pixel, middle.per_pixel);
        linear_add(1, middle.at, sum[g].at);
        linear_add(1, middle.per_pixel, sum[g].per_pixel);
        count[g]++;
        pose = panels_pose(group->origin, group->fast, group->slow);
    }
}

nb_status panels_middles(nb_context *ctx, const nb_detector *d, struct panel_middle *middle)
{
    int *count = calloc((size_t)d->ngroup + 1, sizeof *count);

    if (!count) return fail_memory(ctx, "a list of panels");
    for (int g = 0; g < d->ngroup; g++) memset(middle + g, 0, sizeof *middle);
    for (int i = 0; i < d->npanel; i++) add_middle(d, i, middle, count);
    for (int g = 0; g < d->ngroup; g++)
        if (count[g] > 0) {
            linear_scale(1.0 / count[g], middle[g].at, middle[g].at);
            linear_scale(1.0 / count[g], middle[g].per_pixel, middle[g].per_pixel);
        }
    free(count);
    return NB_OK;
}

/* ---- the detector ---- */

/* Checks that nothing but origin and rotation places a detector that has panels. */
static nb_status check_placement(nb_context *ctx, const nb_detector *d)
{
    const struct {
        int given;
        const char *name;
    } other[] = {
        {d->distance != 0, "distance"},
        {d->close_distance != 0, "close_distance"},
        {d->twotheta != 0, "twotheta"},
        {d->size[0] != 0 || d->size[1] != 0, "size"},
        {d->curved != 0, "curved"},
        {d->also_kind != NB_ORIGIN_DEFAULT, "also_kind"},
        {d->origin_kind != NB_ORIGIN_DEFAULT && d->origin_kind != NB_ORIGIN_PIX0,
         "origin_kind (a beam centre)"},
        {!linear_is_zero(d->vectors[0]) || !linear_is_zero(d->vectors[1])
             || !linear_is_zero(d->vectors[2]),
         "vectors"},
    };

    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (other[i].given)
            return fail(ctx, NB_ERR_SCENE,
                        "a detector of panels has no %s: its panels have places of their "
                        "own, which detector.rotation and detector.origin move as a whole",
                        other[i].name);
    return NB_OK;
}

nb_status panels_resolve(nb_context *ctx, nb_scene *scene, struct panel_middle *middle)
{
    nb_detector *d = &scene->detector;
    /* The lists of panels and of groups are copies that belong to the simulator, so they
     * may be written. */
    nb_panel *panel = (nb_panel *)(uintptr_t)d->panel;
    nb_panel_group *group = (nb_panel_group *)(uintptr_t)d->group;

    NB_TRY(check_placement(ctx, d));
    if (d->origin_kind == NB_ORIGIN_DEFAULT && !linear_is_zero(d->origin))
        return fail(ctx, NB_ERR_SCENE,
                    "detector.origin moves a detector of panels, so that its kind must be "
                    "NB_ORIGIN_PIX0");
    d->origin_kind = NB_ORIGIN_PIX0;
    if (d->pixel == 0) d->pixel = 0.1;
    for (int i = 0; i < d->ngroup; i++) NB_TRY(resolve_group(ctx, i, group + i));
    for (int i = 0; i < d->npanel; i++) NB_TRY(resolve_panel(ctx, d, i, panel + i));
    NB_TRY(resolve_places(ctx, d, panel));
    NB_TRY(check_overlaps(ctx, d));
    return panels_middles(ctx, d, middle);
}
