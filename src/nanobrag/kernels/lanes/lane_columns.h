/*
 * lane_columns.h - the derivatives of a tile's photons by the structure factors. The
 * adjoint sums them over the lanes (scatter_f()); this file stores them for a Jacobian, in
 * one column for each structure factor that the tile uses. It is compiled with lanes_vjp.c,
 * once per instruction set and precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_COLUMNS_H
#define NB_KERNELS_LANES_LANE_COLUMNS_H

#include "kernels/derivatives/tile_jacobian.h"
#include "kernels/lanes/lane_slopes.h"

/* Adds the derivatives by F_cell, 2 F_cell F_latt^2, to the columns if F_cell is taken from
 * the nearest reflection. The factor 2 is in `scale`. */
static void columns_nearest(const struct sites *sites, double scale, const struct lanes *l,
                            const struct cotangent *p, struct columns *c)
{
    double *column = NULL;
    int last = -1;

    for (int i = 0; i < l->n; i++) {
        if (sites->place[i] != last) column = columns_take(c, sites->place[i], l->n);
        last = sites->place[i];
        if (column) column[i] += scale * (double)(p->w[i] * p->per_f[i]);
    }
}

static void columns_tricubic(const struct phys_box *box, const struct phys_anchor *anchor,
                             double scale, const struct lanes *l, const struct cotangent *p,
                             struct columns *c)
{
    struct nodes nodes;

    find_nodes(box, anchor, l, &nodes);
    for (int i = 0; i < l->n; i++) {
        const double f_bar = scale * (double)(p->w[i] * p->per_f[i]);
        const struct phys_vec3 x = phys_anchor_indices(anchor, step_of(l, i));
        const struct phys_spec spec = {0, PHYS_TRICUBIC, 0, 0};

        if (nodes.corner[i] < 0) {
            const int place = phys_f_place(0, box, phys_lattice_point(spec, x));
            double *column = columns_take(c, place, l->n);

            if (column) column[i] += f_bar;
            continue;
        }
        for (int node = 0; node < 64; node++) {
            const int h = node / 16, k = node / 4 % 4, m = node % 4;
            const int place = nodes.corner[i] + h * box->stride_h + k * box->stride_k + m;
            double *column = columns_take(c, place, l->n);

            if (column)
                column[i] += f_bar * (double)nodes.h[h][i] * (double)nodes.k[k][i]
                             * (double)nodes.l[m][i];
        }
    }
}

static void add_columns(struct phys_spec spec, const struct launch *a, int k,
                        const struct phys_anchor *anchor, const struct sites *sites,
                        const struct lanes *l, const struct cotangent *p, struct columns *c)
{
    const double scale = 2 * a->frame->orientation[k].weight;

    if (spec.lookup == PHYS_NEAREST)
        columns_nearest(sites, scale, l, p, c);
    else if (spec.lookup == PHYS_TRICUBIC) {
        const struct phys_box box = phys_box_from(0, a->view.box, anchor->whole);

        columns_tricubic(&box, anchor, scale, l, p, c);
    }
}

#endif
