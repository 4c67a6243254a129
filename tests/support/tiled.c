/* tiled.c - see tiled.h. SPDX-License-Identifier: MIT */
#include "support/tiled.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "support/tap.h"

/* Axes turned about z by `turn`, then about x by `tilt`, degree. */
static void turned(double turn, double tilt, double fast[3], double slow[3])
{
    const double degree = 3.14159265358979323846 / 180;
    const double c = cos(turn * degree), s = sin(turn * degree);
    const double ct = cos(tilt * degree), st = sin(tilt * degree);
    const double f[3] = {c, s * ct, s * st}, l[3] = {-s, c * ct, c * st};

    memcpy(fast, f, sizeof f);
    memcpy(slow, l, sizeof l);
}

void tiled_detector(struct tiled *t, int moved, nb_scene *scene)
{
    static const struct {
        const char *name;
        int nslow, nfast, slow0, fast0, group;
        double pixel, origin[3], turn, tilt;
    } at[TILED_PANELS] = {
        {"p0", 50, 70, 0, 0, 0, 0, {-21, -17, 68}, 2, 3},
        {"p1", 45, 64, 3, 80, 1, 0, {2, -1, 1}, -1, 0},
        {"", 60, 33, 55, 1, 2, 0, {-1, 0.5, 0}, 4, -2},
        {"fine", 41, 70, 70, 40, 2, 0.2, {10, 1, -2}, 0, 5},
        {"p4", 72, 30, 48, 120, 3, 0, {0, 0, 0}, 91, 0},
    };
    nb_detector *d = &scene->detector;

    memset(t, 0, sizeof *t);
    for (int i = 0; i < TILED_PANELS; i++) {
        nb_panel *p = t->panel + i;

        (void)snprintf(p->name, sizeof p->name, "%s", at[i].name);
        p->nslow = at[i].nslow, p->nfast = at[i].nfast;
        p->slow0 = at[i].slow0, p->fast0 = at[i].fast0;
        p->group = at[i].group;
        p->pixel = at[i].pixel;
        memcpy(p->origin, at[i].origin, sizeof p->origin);
        turned(at[i].turn, at[i].tilt, p->fast, p->slow);
    }
    (void)snprintf(t->group[0].name, sizeof t->group[0].name, "q0");
    t->group[0].origin[0] = 1, t->group[0].origin[1] = -16, t->group[0].origin[2] = 70;
    turned(-3, 1, t->group[0].fast, t->group[0].slow);
    t->group[1].parent = 1; /* below the first */
    t->group[1].origin[0] = -22, t->group[1].origin[1] = 17;
    turned(0, -4, t->group[1].fast, t->group[1].slow);
    t->group[2].origin[0] = 24, t->group[2].origin[1] = 1, t->group[2].origin[2] = 66;
    if (moved) {
        const double turn[3] = {0.5, -0.7, 0.3};

        memcpy(t->panel[3].rotation, turn, sizeof turn);
        memcpy(t->group[0].rotation, turn, sizeof turn);
        memcpy(t->panel[0].shift, turn, sizeof turn);
        memcpy(t->group[1].shift, turn, sizeof turn);
        t->group[2].rotation[1] = 1;
        d->rotation[0] = 1, d->rotation[1] = -2, d->rotation[2] = 0.4;
        d->origin_kind = NB_ORIGIN_PIX0;
        d->origin[0] = 0.2, d->origin[1] = -0.3, d->origin[2] = 1.5;
    }
    d->convention = NB_CONVENTION_DIALS;
    d->npanel = TILED_PANELS;
    d->panel = t->panel;
    d->ngroup = TILED_GROUPS;
    d->group = t->group;
    d->nslow = TILED_NSLOW;
    d->nfast = TILED_NFAST;
    d->pixel = 0.3;
}

nb_scene tiled_scene(void)
{
    const nb_scene s = {
        .crystal = {.cell = {50, 60, 70, 85, 95, 100},
                    .misset = {10, 20, 30},
                    .ncells = {10, 9, 8},
                    .mosaic = {0.5},
                    .ndomains = 5,
                    .shape = NB_SHAPE_GAUSS,
                    .default_f = 100},
        .beam = {.fluence = 1e28},
        .background = {.water = 0.02},
        .oversample = 1,
    };

    return s;
}

int tiled_panel_of(const struct tiled *t, int slow, int fast)
{
    for (int i = 0; i < TILED_PANELS; i++) {
        const nb_panel *p = t->panel + i;

        if (slow >= p->slow0 && slow < p->slow0 + p->nslow && fast >= p->fast0
            && fast < p->fast0 + p->nfast)
            return i;
    }
    return -1;
}

nb_scene tiled_alone(nb_simulator *sim, const double *x, const nb_scene *scene, int i,
                     nb_panel *panel)
{
    nb_scene alone = *scene;
    nb_detector *d = &alone.detector;

    if (nb_simulator_panel(sim, x, i, panel) != NB_OK) {
        tap_check(0, "panel %d", i);
        exit(1);
    }
    panel->slow0 = panel->fast0 = 0;
    d->npanel = 1;
    d->panel = panel;
    d->ngroup = 0;
    d->nslow = d->nfast = 0;
    d->nbox = 0;
    d->mask = NULL;
    memset(d->roi, 0, sizeof d->roi);
    memset(d->rotation, 0, sizeof d->rotation);
    memset(d->origin, 0, sizeof d->origin);
    return alone;
}
