/*
 * panels.c - the places of panels: include/nanobrag/scene.h, nb_panel.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/truth.h"

/* a frame: its origin, mm, and its axes fast, slow and fast x slow, in another frame */
struct frame {
    struct dual_vec at, axis[3];
};

/* the numbers by which a panel or a group is moved */
struct moves {
    struct dual shift[3], rotation[3];
};

static struct frame frame_of(const double origin[3], const double fast[3],
                             const double slow[3])
{
    struct frame f = {vec_of(origin), {vec_of(fast), vec_of(slow), vec_of(origin)}};

    f.axis[2] = vec_cross(f.axis[0], f.axis[1]);
    return f;
}

/* a point, or a direction, of a frame in the frame around it */
static struct dual_vec outwards(const struct frame *f, struct dual_vec v, int is_point)
{
    static const double none[3] = {0, 0, 0};
    struct dual_vec out = is_point ? f->at : vec_of(none);

    for (int i = 0; i < 3; i++) out = vec_add(out, vec_times(v.at[i], f->axis[i]));
    return out;
}

/* a point, or a direction, of a frame that is moved about a middle, within that frame */
static struct dual_vec moved(const struct moves *m, struct dual_vec middle,
                             struct dual_vec v, int is_point)
{
    if (!is_point) return vec_turn_xyz(m->rotation, v);
    v = vec_add(vec_turn_xyz(m->rotation, vec_sub(v, middle)), middle);
    for (int i = 0; i < 3; i++) v.at[i] = dual_add(v.at[i], m->shift[i]);
    return v;
}

static struct moves moves_of(const struct truth *t, const char *what, int i,
                             const double shift[3], const double rotation[3])
{
    static const char *const axis[] = {"fast", "slow", "normal"};
    struct moves m;

    for (int k = 0; k < 3; k++) {
        char name[64];

        (void)snprintf(name, sizeof name, "%s_shift_%s[%d]", what, axis[k], i);
        m.shift[k] = truth_listed(t, name, shift[k]);
        (void)snprintf(name, sizeof name, "%s_rot_%s[%d]", what, axis[k], i);
        m.rotation[k] = truth_listed(t, name, rotation[k]);
    }
    return m;
}

struct dual truth_panel_pixel(const struct truth *t, int i)
{
    const double own = t->scene.detector.panel[i].pixel;

    return own != 0 ? dual_of(own) : t->x.pixel;
}

static struct dual_vec middle_of_panel(const struct truth *t, int i)
{
    static const double none[3] = {0, 0, 0};
    const nb_panel *p = t->scene.detector.panel + i;
    const struct dual pixel = truth_panel_pixel(t, i);
    struct dual_vec middle = vec_of(none);

    middle.at[0] = dual_times((quad)0.5 * p->nfast, pixel);
    middle.at[1] = dual_times((quad)0.5 * p->nslow, pixel);
    return middle;
}

/* the mean of the middles of its panels, without moves, in the frame of the group */
static struct dual_vec middle_of_group(const struct truth *t, int group)
{
    static const double none[3] = {0, 0, 0};
    const nb_detector *d = &t->scene.detector;
    struct dual_vec sum = vec_of(none);
    int n = 0;

    for (int i = 0; i < d->npanel; i++) {
        const nb_panel *p = d->panel + i;
        struct frame f = frame_of(p->origin, p->fast, p->slow);
        struct dual_vec v = middle_of_panel(t, i);
        int g = p->group;

        while (g > 0) {
            const nb_panel_group *of = d->group + g - 1;

            v = outwards(&f, v, 1);
            if (g - 1 == group) break;
            f = frame_of(of->origin, of->fast, of->slow);
            g = of->parent;
        }
        if (g == 0) continue;
        sum = vec_add(sum, v);
        n++;
    }
    return vec_times(dual_of((quad)1 / n), sum);
}

/* a point, or a direction, of panel i's own frame in the laboratory */
static struct dual_vec in_lab(const struct truth *t, int i, struct dual_vec v, int is_point)
{
    const nb_detector *d = &t->scene.detector;
    const nb_panel *p = d->panel + i;
    const struct moves own = moves_of(t, "panel", i, p->shift, p->rotation);
    struct frame f = frame_of(p->origin, p->fast, p->slow);

    v = outwards(&f, moved(&own, middle_of_panel(t, i), v, is_point), is_point);
    for (int g = p->group; g > 0; g = d->group[g - 1].parent) {
        const nb_panel_group *of = d->group + g - 1;
        const struct moves m = moves_of(t, "group", g - 1, of->shift, of->rotation);

        f = frame_of(of->origin, of->fast, of->slow);
        v = outwards(&f, moved(&m, middle_of_group(t, g - 1), v, is_point), is_point);
    }
    v = vec_turn_xyz(t->x.rotation, v);
    for (int k = 0; k < 3 && is_point; k++) v.at[k] = dual_add(v.at[k], t->x.origin[k]);
    return v;
}

void truth_panels(struct truth *t)
{
    static const double zero[3] = {0, 0, 0}, x[3] = {1, 0, 0}, y[3] = {0, 1, 0};
    const int n = t->scene.detector.npanel;
    const struct dual_vec beam = truth_vector(t, TRUTH_BEAM);

    t->panel = calloc((size_t)n, sizeof *t->panel);
    t->at_panel = malloc(sizeof *t->at_panel);
    if (!t->panel || !t->at_panel) abort();
    for (int i = 0; i < n; i++) {
        struct truth_detector *out = t->panel + i;

        out->corner = in_lab(t, i, vec_of(zero), 1);
        out->fast = in_lab(t, i, vec_of(x), 0);
        out->slow = in_lab(t, i, vec_of(y), 0);
        out->normal = vec_cross(out->fast, out->slow);
        if (vec_dot(out->corner, out->normal).v < 0) /* away from the crystal */
            out->normal = vec_times(dual_of(-1), out->normal);
        out->close = vec_dot(out->corner, out->normal);
        out->distance = dual_div(out->close, vec_dot(beam, out->normal));
    }
}
