/*
 * update_panels.c - changes the detector of an .expt. The frame of a panel or group stays
 * relative to the frame of its group.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "nanobrag_io/experiment/expt_panels.h"
#include "nanobrag_io/experiment/update/update.h"
#include "nanobrag_io/laboratory.h"

/* a panel of the file */
struct place {
    const cJSON *model;
    struct span text;
    int is_done;
};

/* a detector while it is changed */
struct update {
    const struct update_state *s;
    struct edits *edits;
    struct laboratory laboratory; /* geometry of the scene, in the frame of the file */
    struct panel_middle *middle; /* (laboratory.ngroup + 1) */
    struct place *panel; /* (n) */
    int n, groups; /* number of panels; number of groups found so far */
};

/* ---- poses ---- */

/* Makes the axes exactly perpendicular unit vectors, as panels.c does for a scene. */
static void make_exact(struct panel_pose *pose)
{
    double *const fast = pose->axis[0], *const slow = pose->axis[1];

    linear_unit(fast, fast);
    linear_add(-linear_dot(fast, slow), fast, slow);
    linear_unit(slow, slow);
    linear_cross(fast, slow, pose->axis[2]);
}

/* Writes the vectors of a frame that have moved. `size` is the distance of the frame from
 * the crystal, mm, which decides what is rounding. */
static void put_frame(const struct update *u, struct span text,
                      const struct panel_pose *before, const struct panel_pose *after,
                      double size)
{
    static const char *const keys[] = {"fast_axis", "slow_axis"};

    for (int i = 0; i < 2; i++)
        if (update_differs(before->axis[i], after->axis[i], 3, 1))
            edits_set_vector(u->edits, text, keys[i], after->axis[i]);
    if (update_differs(before->at, after->at, 3, fmax(size, 1)))
        edits_set_vector(u->edits, text, "origin", after->at);
}

/* Returns the pose of the only panel, in the laboratory, as the file states it. */
static struct panel_pose rectangle_before(const struct update *u)
{
    const nb_detector *d = &u->s->before.detector;
    struct panel_pose pose =
        panels_pose((const double[3]){0}, d->vectors[0], d->vectors[1]);

    linear_add(-d->origin[0], d->vectors[0], pose.at);
    linear_add(-d->origin[1], d->vectors[1], pose.at);
    linear_add(d->close_distance, d->vectors[2], pose.at);
    return pose;
}

static nb_status put_panel(struct update *u, double number, const struct panel_pose *outer)
{
    const struct expt *e = &u->s->e;
    struct panel_pose before, after;
    struct laboratory_panel panel;
    int i;

    if (!(number >= 0 && number < u->n) || u->panel[(int)number].is_done)
        return fail(e->ctx, NB_ERR_FORMAT,
                    "%s: the hierarchy of the detector has panel %g of %d, or has it twice",
                    e->name, number, u->n);
    i = (int)number;
    u->panel[i].is_done = 1;
    NB_TRY(laboratory_panel(e->ctx, u->s->after, &u->laboratory, u->middle, i, &panel));
    after = panels_pose(panel.origin, panel.fast, panel.slow);
    if (u->n == 1) {
        before = rectangle_before(u);
        if (outer) panels_within(outer, &before);
    } else {
        NB_TRY(expt_read_frame(e, u->panel[i].model, "panel", &before));
        make_exact(&before);
    }
    if (outer) panels_within(outer, &after);
    put_frame(u, u->panel[i].text, &before, &after, linear_norm(panel.origin));
    return NB_OK;
}

/* ---- the tree ---- */

static nb_status fail_count(const struct update *u, const char *what, int n)
{
    return fail(u->s->e.ctx, NB_ERR_SCENE,
                "%s: the detector of experiment %d has %d %s, and that of the scene has "
                "not; make the scene from this experiment",
                u->s->e.name, u->s->e.i, n, what);
}

/* Writes the pose of a group, and sets *pose to its new pose in the laboratory. If the
 * detector has one panel, the group stays where the file puts it. */
static nb_status put_group(struct update *u, struct span text,
                           const struct panel_pose *outer, struct panel_pose *pose)
{
    struct panel_pose before = *pose, after;
    struct laboratory_group group;

    if (u->n == 1) {
        if (outer) panels_place(outer, pose);
        return NB_OK;
    }
    if (u->groups == u->laboratory.ngroup)
        return fail_count(u, "groups or more", u->groups);
    laboratory_group(u->s->after, &u->laboratory, u->middle, u->groups++, &group);
    after = group.pose;
    if (outer) panels_within(outer, &after);
    make_exact(&before);
    put_frame(u, text, &before, &after, linear_norm(group.pose.at));
    *pose = group.pose;
    return NB_OK;
}

/* Changes a group with all panels and groups inside it, in the order of expt_panels.c;
 * `outer` is the frame that contains the group. A root with the frame of the laboratory is
 * not counted as a group. */
static nb_status put_tree(struct update *u, const cJSON *from, struct span text,
                          int is_root, const struct panel_pose *outer)
{
    const cJSON *child =
        cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(from, "children"), 0);
    struct span children = {text.at, 0}, at;
    struct panel_pose pose;

    NB_TRY(expt_read_frame(&u->s->e, from, "group of panels", &pose));
    if (!is_root || !expt_is_laboratory(&pose)) {
        NB_TRY(put_group(u, text, outer, &pose));
        outer = &pose;
    }
    if (edits_member(text, "children", &children)) children = edits_inside(children);
    for (; child && edits_next(&children, &at); child = child->next) {
        const cJSON *panel = cJSON_GetObjectItemCaseSensitive(child, "panel");

        if (cJSON_IsNumber(panel))
            NB_TRY(put_panel(u, panel->valuedouble, outer));
        else if (cJSON_IsObject(child))
            NB_TRY(put_tree(u, child, at, 0, outer));
    }
    return NB_OK;
}

/* ---- the detector ---- */

/* Scales the attenuation of all sensors by the change of the first one with the
 * wavelength. */
static nb_status put_sensors(const struct update *u)
{
    const double *before = &u->s->before.beam.wavelength;
    const double *after = &u->s->after->beam.wavelength;
    double first = 0;

    if (u->s->mu == 0 || !update_differs(before, after, 1, *after)) return NB_OK;
    NB_TRY(expt_optional(&u->s->e, u->panel->model, "panel", "mu", &first, 1));
    for (int i = 0; i < u->n && first > 0; i++) {
        double mu = 0;

        NB_TRY(expt_optional(&u->s->e, u->panel[i].model, "panel", "mu", &mu, 1));
        if (mu > 0)
            edits_set_real(u->edits, u->panel[i].text, "mu", mu * (u->s->mu / first));
    }
    return NB_OK;
}

static nb_status put_detector(struct update *u, const cJSON *model, struct span text)
{
    const cJSON *hierarchy = cJSON_GetObjectItemCaseSensitive(model, "hierarchy");
    const int groups = u->laboratory.ngroup;
    struct span tree;

    if (groups > 0) NB_TRY(panels_middles(u->s->e.ctx, &u->s->after->detector, u->middle));
    NB_TRY(put_sensors(u));
    if (cJSON_IsObject(hierarchy) && edits_member(text, "hierarchy", &tree))
        NB_TRY(put_tree(u, hierarchy, tree, 1, NULL));
    else
        for (int i = 0; i < u->n; i++) NB_TRY(put_panel(u, i, NULL));
    return u->groups == groups ? NB_OK : fail_count(u, "groups", u->groups);
}

nb_status update_detector(const struct update_state *s, const cJSON *model,
                          struct span text, struct edits *edits)
{
    const nb_detector *d = &s->after->detector;
    const cJSON *panel = cJSON_GetObjectItemCaseSensitive(model, "panels");
    struct update u = {.s = s, .edits = edits, .n = cJSON_GetArraySize(panel)};
    struct span list = {text.at, 0}, at;
    nb_status status;
    int found = 0;

    memcpy(u.laboratory.turn, expt_turn, sizeof expt_turn);
    u.laboratory.npanel = d->npanel > 0 ? d->npanel : 1;
    u.laboratory.ngroup = d->npanel > 0 ? d->ngroup : 0;
    if (d->curved)
        return fail(s->e.ctx, NB_ERR_UNSUPPORTED,
                    "%s: an .expt cannot state a curved detector", s->e.name);
    if (u.n != u.laboratory.npanel) return fail_count(&u, "panels", u.n);
    u.panel = calloc((size_t)u.n + 1, sizeof *u.panel);
    u.middle = calloc((size_t)u.laboratory.ngroup + 1, sizeof *u.middle);
    panel = panel ? panel->child : NULL;
    if (edits_member(text, "panels", &list)) list = edits_inside(list);
    for (; u.panel && found < u.n && panel && edits_next(&list, &at); panel = panel->next)
        u.panel[found++] = (struct place){panel, at, 0};
    status = !u.panel || !u.middle ? fail_memory(s->e.ctx, s->e.name)
             : found == u.n        ? put_detector(&u, model, text)
                                   : fail_count(&u, "panels", u.n);
    free(u.panel);
    free(u.middle);
    return status;
}
