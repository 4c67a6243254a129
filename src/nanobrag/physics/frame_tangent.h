/*
 * frame_tangent.h - a small change of the frame, member for member: as a tangent, what the
 * frame changes by along a direction; as a cotangent, what a number changes by per unit of
 * each member. The inner product of the two is a derivative.
 *
 * Orientations change in two ways. All of them share the cell: rows a, b, c become
 * (1 + strain) times themselves, so that a cotangent of it is the sum over samples of
 * slope times index, whatever the orientation. And each may turn about the crystal.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_FRAME_TANGENT_H
#define NB_PHYSICS_FRAME_TANGENT_H

#include "frame.h"
#include "phys.h"

/* of one orientation */
struct phys_rotation {
    double by[3]; /* axes += by x axes, radian */
    double weight;
};

struct phys_touched;

struct phys_frame_tangent {
    /* detector, metres */
    double pix0[3], fast[3], slow[3], normal[3];
    double pixel, distance, close_distance;
    double layer_step, layer_offset, layer_mu;
    /* beam */
    double kahn;
    /* crystal */
    double strain[9]; /* axes_i += sum over j of strain[3 i + j] axes_j */
    double ncells[3], peak, metric[6], fudge, b_factor, default_f;
    /* photons */
    double bragg_scale, amorphous_scale;
    /* behind the numbers, the lists */
    struct phys_source *source; /* members in the sense of the above  (nsource)      */
    struct phys_rotation *rotation; /*                                (norientation) */
    double *f; /* the box as in the frame, its default behind the last; either may do
                  without (NULL) */
    struct phys_touched *touched; /* of a cotangent: which places are in use; or NULL */
};

/* places of a box that are not 0, in the order in which they became so */
struct phys_touched {
    int n, *place; /* (n) */
    unsigned char *mark; /* 1 for each of them (box) */
};

/* f[place] += value */
PHYS_FN void phys_give_f(struct phys_frame_tangent *bar, int place, double value)
{
    struct phys_touched *t = bar->touched;

    bar->f[place] += value;
    if (!t || t->mark[place]) return;
    t->mark[place] = 1;
    t->place[t->n++] = place;
}

/* the inner product of a source's cotangent and its tangent */
PHYS_FN double phys_source_inner(const struct phys_source *bar,
                                 const struct phys_source *dot)
{
    double sum =
        bar->inverse_wavelength * dot->inverse_wavelength + bar->weight * dot->weight;

    for (int k = 0; k < 3; k++)
        sum += bar->direction[k] * dot->direction[k] + bar->e[k] * dot->e[k]
               + bar->b[k] * dot->b[k];
    return sum;
}

/* the inner product of a cotangent and a tangent, their boxes left out */
PHYS_FN double phys_frame_inner(int nsource, int norientation,
                                const struct phys_frame_tangent *bar,
                                const struct phys_frame_tangent *dot)
{
    const struct phys_frame_tangent *a = bar, *b = dot;
    double sum = a->pixel * b->pixel + a->distance * b->distance
                 + a->close_distance * b->close_distance + a->layer_step * b->layer_step
                 + a->layer_offset * b->layer_offset + a->layer_mu * b->layer_mu
                 + a->kahn * b->kahn + a->peak * b->peak + a->fudge * b->fudge
                 + a->b_factor * b->b_factor + a->default_f * b->default_f
                 + a->bragg_scale * b->bragg_scale
                 + a->amorphous_scale * b->amorphous_scale;

    for (int i = 0; i < 3; i++)
        sum += a->pix0[i] * b->pix0[i] + a->fast[i] * b->fast[i] + a->slow[i] * b->slow[i]
               + a->normal[i] * b->normal[i] + a->ncells[i] * b->ncells[i];
    for (int i = 0; i < 9; i++) sum += a->strain[i] * b->strain[i];
    for (int i = 0; i < 6; i++) sum += a->metric[i] * b->metric[i];
    for (int i = 0; i < nsource; i++)
        sum += phys_source_inner(a->source + i, b->source + i);
    for (int i = 0; i < norientation; i++) {
        const struct phys_rotation *s = a->rotation + i, *t = b->rotation + i;

        sum += s->weight * t->weight + s->by[0] * t->by[0] + s->by[1] * t->by[1]
               + s->by[2] * t->by[2];
    }
    return sum;
}

#endif
