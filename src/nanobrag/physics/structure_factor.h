/*
 * structure_factor.h - F of the unit cell from a dense box of reflections, of the nearest
 * reflection or interpolated: its value and its derivatives by h, k and l (docs/theory.md,
 * 6).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_STRUCTURE_FACTOR_H
#define NB_PHYSICS_STRUCTURE_FACTOR_H

#include "frame.h"
#include "frame_tangent.h"
#include "spec.h"
#include "trig.h"
#include "vec3.h"

/* The box of reflections in `real`, converted once per kernel. */
struct phys_box {
    const real *f;
    struct phys_vec3 first, last; /* bounds of h, k, l, inclusive */
    int stride_h, stride_k; /* places in f between neighbours in h and in k */
    int origin; /* place in f of h = k = l = 0; used if all look-ups lie inside the box */
    int beyond; /* place in f of the default F, after the last reflection */
    real outside;
};

PHYS_FN struct phys_box phys_box(const struct phys_frame *frame)
{
    struct phys_box b;

#ifdef PHYS_SINGLE
    b.f = frame->f_single;
#else
    b.f = frame->f;
#endif
    b.first = phys_vec3((real)frame->hkl_min[0], (real)frame->hkl_min[1],
                        (real)frame->hkl_min[2]);
    b.last = phys_vec3((real)(frame->hkl_min[0] + frame->hkl_size[0] - 1),
                       (real)(frame->hkl_min[1] + frame->hkl_size[1] - 1),
                       (real)(frame->hkl_min[2] + frame->hkl_size[2] - 1));
    b.stride_k = frame->hkl_size[2];
    b.stride_h = frame->hkl_size[1] * frame->hkl_size[2];
    b.origin = 0;
    b.beyond = frame->hkl_size[0] * b.stride_h;
    b.outside = (real)frame->default_f;
    return b;
}

/* Returns the box with its indices counted from `whole`, a lattice point that must lie in
 * the box if `inside` is 1. */
PHYS_FN struct phys_box phys_box_from(int inside, struct phys_box box,
                                      struct phys_vec3 whole)
{
    box.first = phys_axpy(-1, whole, box.first);
    box.last = phys_axpy(-1, whole, box.last);
    if (inside)
        box.origin = -((int)box.first.x * box.stride_h + (int)box.first.y * box.stride_k
                       + (int)box.first.z);
    return box;
}

/* Returns 1 if no look-up at `at` +- `reach` leaves the box, and if all are so near to `at`
 * that the number of places in f between them is exact in `real`. */
PHYS_FN int phys_box_surrounds(const struct phys_box *box, struct phys_vec3 at,
                               struct phys_vec3 reach)
{
    const real most = (real)4e6; /* a float holds integers exactly up to four times this */
    const real farthest =
        reach.x * (real)box->stride_h + reach.y * (real)box->stride_k + reach.z;

    return at.x - reach.x >= box->first.x && at.x + reach.x <= box->last.x
           && at.y - reach.y >= box->first.y && at.y + reach.y <= box->last.y
           && at.z - reach.z >= box->first.z && at.z + reach.z <= box->last.z
           && farthest < most;
}

struct phys_f {
    real f, dh, dk, dl;
};

/* Returns x limited to [low, high]; NaN becomes `low`, so that no load leaves the box. */
PHYS_FN real phys_clamp(real x, real low, real high)
{
    const real y = x > low ? x : low;

    return y < high ? y : high;
}

/* Returns the place in f of the lattice point n; outside the box, the place of the default
 * F. `inside` is 1 if n surely lies in the box, and so near to h = k = l = 0 that the
 * number of places between them is exact in `real`. Then fewer conversions are needed. */
PHYS_FN int phys_f_place(int inside, const struct phys_box *box, struct phys_vec3 n)
{
    const real h = phys_clamp(n.x, box->first.x, box->last.x);
    const real k = phys_clamp(n.y, box->first.y, box->last.y);
    const real l = phys_clamp(n.z, box->first.z, box->last.z);
    int at;

    if (inside)
        return box->origin
               + PHYS_WHOLE(n.x * (real)box->stride_h + n.y * (real)box->stride_k + n.z);
    at = (int)(h - box->first.x) * box->stride_h + (int)(k - box->first.y) * box->stride_k
         + (int)(l - box->first.z);
    return ((h == n.x) & (k == n.y) & (l == n.z)) ? at : box->beyond;
}

/* Returns floor(x), but x rounded up if x is below a whole number only by rounding. At a
 * whole index the derivative of the interpolant jumps, and every way to compute x (from the
 * origin, from an anchor, in float) must choose the same side. The interpolant is
 * continuous, so its error is as small as the rounding. */
PHYS_FN real phys_node_below(real x)
{
#ifdef PHYS_SINGLE
    return floor(x + 2e-6f);
#else
    return floor(x + 1e-11);
#endif
}

PHYS_FN struct phys_vec3 phys_nodes_below(struct phys_vec3 x)
{
    return phys_vec3(phys_node_below(x.x), phys_node_below(x.y), phys_node_below(x.z));
}

/* The cubic Lagrange weights of the nodes -1, 0, 1, 2 at t in [0, 1), and their
 * derivatives. */
struct phys_cubic {
    real w0, w1, w2, w3, d0, d1, d2, d3;
};

PHYS_FN struct phys_cubic phys_cubic(real t)
{
    const real sixth = (real)1 / 6, half = (real)0.5;
    struct phys_cubic c;

    c.w0 = -t * (t - 1) * (t - 2) * sixth;
    c.w1 = (t + 1) * (t - 1) * (t - 2) * half;
    c.w2 = -(t + 1) * t * (t - 2) * half;
    c.w3 = (t + 1) * t * (t - 1) * sixth;
    c.d0 = -(3 * t * t - 6 * t + 2) * sixth;
    c.d1 = (3 * t * t - 4 * t - 1) * half;
    c.d2 = -(3 * t * t - 2 * t - 2) * half;
    c.d3 = (3 * t * t - 1) * sixth;
    return c;
}

/* phys_line() interpolates F along l, phys_plane() along k and phys_block() along h. They
 * have no loops: an inner loop would prevent the vectorisation of the loop over lanes. */
PHYS_FN struct phys_f phys_line(const struct phys_box *box, int at,
                                const struct phys_cubic *l)
{
    const real *f = box->f;
    const real f0 = PHYS_READ(f[at]), f1 = PHYS_READ(f[at + 1]);
    const real f2 = PHYS_READ(f[at + 2]), f3 = PHYS_READ(f[at + 3]);
    struct phys_f r;

    r.f = l->w0 * f0 + l->w1 * f1 + l->w2 * f2 + l->w3 * f3;
    r.dl = l->d0 * f0 + l->d1 * f1 + l->d2 * f2 + l->d3 * f3;
    r.dh = r.dk = 0;
    return r;
}

PHYS_FN struct phys_f phys_plane(const struct phys_box *box, int at,
                                 const struct phys_cubic *k, const struct phys_cubic *l)
{
    const struct phys_f a = phys_line(box, at, l);
    const struct phys_f b = phys_line(box, at + box->stride_k, l);
    const struct phys_f c = phys_line(box, at + 2 * box->stride_k, l);
    const struct phys_f d = phys_line(box, at + 3 * box->stride_k, l);
    struct phys_f r;

    r.f = k->w0 * a.f + k->w1 * b.f + k->w2 * c.f + k->w3 * d.f;
    r.dk = k->d0 * a.f + k->d1 * b.f + k->d2 * c.f + k->d3 * d.f;
    r.dl = k->w0 * a.dl + k->w1 * b.dl + k->w2 * c.dl + k->w3 * d.dl;
    r.dh = 0;
    return r;
}

PHYS_FN struct phys_f phys_block(const struct phys_box *box, int at,
                                 const struct phys_cubic *h, const struct phys_cubic *k,
                                 const struct phys_cubic *l)
{
    struct phys_f a, b, c, d, r;

    a = phys_plane(box, at, k, l);
    PHYS_READ_LATER;
    b = phys_plane(box, at + box->stride_h, k, l);
    PHYS_READ_LATER;
    c = phys_plane(box, at + 2 * box->stride_h, k, l);
    PHYS_READ_LATER;
    d = phys_plane(box, at + 3 * box->stride_h, k, l);
    r.f = h->w0 * a.f + h->w1 * b.f + h->w2 * c.f + h->w3 * d.f;
    r.dh = h->d0 * a.f + h->d1 * b.f + h->d2 * c.f + h->d3 * d.f;
    r.dk = h->w0 * a.dk + h->w1 * b.dk + h->w2 * c.dk + h->w3 * d.dk;
    r.dl = h->w0 * a.dl + h->w1 * b.dl + h->w2 * c.dl + h->w3 * d.dl;
    return r;
}

/* Returns 1 if x lies at least two indices inside first .. last, where its four nodes
 * fit. */
PHYS_FN int phys_interpolable(real x, real first, real last)
{
    return (x >= first + 2) & (x <= last - 2);
}

/* Returns F interpolated from the 4 x 4 x 4 nodes around x. If these do not fit into the
 * box, F of the nearest reflection is returned. The function has no branch: in this case it
 * sums over other nodes of the box, which is at least 5 indices wide, and discards the
 * sum. */
PHYS_FN struct phys_f phys_f_tricubic(int inside, const struct phys_box *box,
                                      struct phys_vec3 x, struct phys_vec3 nearest)
{
    const int fits = phys_interpolable(x.x, box->first.x, box->last.x)
                     & phys_interpolable(x.y, box->first.y, box->last.y)
                     & phys_interpolable(x.z, box->first.z, box->last.z);
    const struct phys_vec3 down = phys_nodes_below(x);
    const struct phys_vec3 i =
        inside ? down
               : phys_vec3(phys_clamp(down.x, box->first.x + 1, box->last.x - 2),
                           phys_clamp(down.y, box->first.y + 1, box->last.y - 2),
                           phys_clamp(down.z, box->first.z + 1, box->last.z - 2));
    const struct phys_cubic ch = phys_cubic(x.x - i.x), ck = phys_cubic(x.y - i.y),
                            cl = phys_cubic(x.z - i.z);
    const int corner = (int)(i.x - 1 - box->first.x) * box->stride_h
                       + (int)(i.y - 1 - box->first.y) * box->stride_k
                       + (int)(i.z - 1 - box->first.z);
    const real alone = inside ? 0 : PHYS_READ(box->f[phys_f_place(0, box, nearest)]);
    struct phys_f r = phys_block(box, corner, &ch, &ck, &cl);

    if (inside) return r;
    r.f = fits ? r.f : alone;
    r.dh = fits ? r.dh : 0;
    r.dk = fits ? r.dk : 0;
    r.dl = fits ? r.dl : 0;
    return r;
}

/* Returns F at x = (h, k, l); n is the lattice point nearest to x. */
PHYS_FN struct phys_f phys_structure_factor(struct phys_spec spec,
                                            const struct phys_box *box, struct phys_vec3 x,
                                            struct phys_vec3 n)
{
    struct phys_f r;

    if (spec.lookup == PHYS_TRICUBIC) return phys_f_tricubic(spec.inside, box, x, n);
    r.f = spec.lookup == PHYS_NEAREST ? PHYS_READ(box->f[phys_f_place(spec.inside, box, n)])
                                      : box->outside;
    r.dh = r.dk = r.dl = 0;
    return r;
}

/* The place in f of the first of the 4 x 4 x 4 nodes around x, or -1 if they do not fit
 * into the box, and the weights of the nodes along each index. */
struct phys_nodes {
    int corner;
    struct phys_cubic h, k, l;
};

PHYS_FN struct phys_nodes phys_nodes(const struct phys_box *box, struct phys_vec3 x)
{
    const int fits = phys_interpolable(x.x, box->first.x, box->last.x)
                     & phys_interpolable(x.y, box->first.y, box->last.y)
                     & phys_interpolable(x.z, box->first.z, box->last.z);
    const struct phys_vec3 i = phys_nodes_below(x);
    const int corner = (int)(i.x - 1 - box->first.x) * box->stride_h
                       + (int)(i.y - 1 - box->first.y) * box->stride_k
                       + (int)(i.z - 1 - box->first.z);
    struct phys_nodes nodes;

    nodes.corner = fits ? corner : -1;
    nodes.h = phys_cubic(x.x - i.x);
    nodes.k = phys_cubic(x.y - i.y);
    nodes.l = phys_cubic(x.z - i.z);
    return nodes;
}

/* Adds f_bar, the cotangent of F at x, to the cotangents of the structure factors from
 * which F was computed: to default_f if F is constant, else to bar->f unless it is NULL. */
PHYS_FN void phys_structure_factor_vjp(struct phys_spec spec, const struct phys_box *box,
                                       struct phys_vec3 x, struct phys_vec3 n, real f_bar,
                                       struct phys_frame_tangent *bar)
{
    const struct phys_nodes at = phys_nodes(box, x);
    const real wh[4] = {at.h.w0, at.h.w1, at.h.w2, at.h.w3};
    const real wk[4] = {at.k.w0, at.k.w1, at.k.w2, at.k.w3};
    const real wl[4] = {at.l.w0, at.l.w1, at.l.w2, at.l.w3};

    if (spec.lookup == PHYS_CONSTANT) {
        bar->default_f += (double)f_bar;
        return;
    }
    if (!bar->f) return;
    if (spec.lookup == PHYS_NEAREST || at.corner < 0) {
        phys_give_f(bar, phys_f_place(0, box, n), (double)f_bar);
        return;
    }
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            for (int c = 0; c < 4; c++)
                phys_give_f(bar, at.corner + a * box->stride_h + b * box->stride_k + c,
                            (double)(f_bar * wh[a] * wk[b] * wl[c]));
}

#endif
