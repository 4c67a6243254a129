/*
 * f_block.h - the cotangents of the structure factors from the pixels of a tile: the
 * loops of image_block.h, in which each sample adds a number at the index of its F.
 *
 * Samples of many blocks add to the same place, in an order that changes from run to run.
 * The sum has the same bits in any order because numbers are added as whole multiples of
 * a unit.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_DERIVATIVES_F_BLOCK_H
#define NB_GPU_TEXT_DERIVATIVES_F_BLOCK_H

#include "gpu/text/derivatives/derivatives_parameters.h"
#include "gpu/text/image_block.h"

#if defined(__CUDACC__)
#define BLOCK_ADD(to, n)                                                                   \
    (void)atomicAdd((unsigned long long *)(to), (unsigned long long)(n))
#else
#define BLOCK_ADD(to, n) (void)__atomic_fetch_add(to, n, __ATOMIC_RELAXED)
#endif

/* The state of a thread. It sums what belongs to one place before adding it, because
 * neighbours in the list of pairs often use the same reflection. */
struct f_thread {
    struct pixel pixel;
    double bar; /* cotangent of the pixel's sum */
    int place;
    double sum;
};

PHYS_FN void give_f(const struct gpu_f_parameters *p, int place, double value)
{
    if (value != 0) BLOCK_ADD(p->count + place, (long long)rint(value / p->unit));
}

PHYS_FN void give_waiting(const struct gpu_f_parameters *p, struct f_thread *own)
{
    give_f(p, own->place, own->sum);
    own->sum = 0;
}

PHYS_FN void give_place(const struct gpu_f_parameters *p, int place, double value,
                        struct f_thread *own)
{
    if (place != own->place) give_waiting(p, own);
    own->place = place;
    own->sum += value;
}

/* Returns the weight of node i, 0 to 3. */
PHYS_FN real cubic_weight(const struct phys_cubic *c, int i)
{
    return i == 0 ? c->w0 : i == 1 ? c->w1 : i == 2 ? c->w2 : c->w3;
}

/* Adds `value` to the nodes from which F is interpolated. Returns 0 where F is not
 * interpolated. */
PHYS_FN int give_nodes(const struct gpu_f_parameters *p, const struct phys_box *box,
                       struct phys_vec3 x, double value)
{
    const struct phys_nodes at = phys_nodes(box, x);

    if (at.corner < 0) return 0;
    BLOCK_ROLLED
    for (int i = 0; i < 64; i++) {
        const int h = i / 16, k = i / 4 % 4, l = i % 4;

        give_f(p, at.corner + h * box->stride_h + k * box->stride_k + l,
               value * (double)cubic_weight(&at.h, h) * (double)cubic_weight(&at.k, k)
                   * (double)cubic_weight(&at.l, l));
    }
    return 1;
}

/* Adds the cotangent of F of the sample of pair `number`, which is in slot t: dF^2/dF =
 * 2 F^2/F. */
PHYS_FN void give_pair(struct phys_spec spec, const struct gpu_f_parameters *p,
                       const struct aim *aim, int t, int number, double share,
                       struct f_thread *own)
{
    const struct slot *slot = aim->shared->slot + t;
    const struct phys_anchor anchor = slot_anchor(slot);
    const struct phys_vec3 x = phys_anchor_indices(&anchor, aim->step);
    const struct phys_box box = phys_box_from(0, aim->shared->view.box, slot->whole);
    struct phys_vec3 n = nearest_point(spec, x);
    struct phys_site site = site_of(spec, aim, t);
    double value;
    real f;

    if (is_halfway(spec, aim, site.d)) {
        site = site_again(spec, aim, number, site);
        n = phys_axpy(-1, site.d, x);
        n = phys_vec3(rint(n.x), rint(n.y), rint(n.z));
    }
    f = site.cell.f;
    site.cell.f = 1;
    value = share * 2 * (double)(slot->weight * f * site_f2(spec, aim->shared, site));
    if (value == 0) return;
    if (spec.lookup == PHYS_TRICUBIC && give_nodes(p, &box, x, value)) return;
    give_place(p, phys_f_place(0, &box, n), value, own);
}

/* Adds all pairs of a chunk at one sub-pixel; `first` is the chunk's first pair. */
PHYS_FN void sub_pixel_f(struct phys_spec spec, const struct gpu_f_parameters *p,
                         const struct tile_at *tile, int first, struct aim *aim, int sub,
                         struct f_thread *own)
{
    const struct phys_frame *frame = &p->image.frame;
    const struct tile_shared *shared = aim->shared;
    const int part = own->pixel.part;
    double weight;

    aim->place = place_of(frame->oversample, &own->pixel, sub);
    aim->step = sample_step(&p->image, shared, aim->part, aim->place, aim->layer);
    weight = own->bar * (double)weight_at(&p->image, shared, &own->pixel, sub, aim->layer);
    BLOCK_ROLLED
    for (int i = 0; i < shared->count[part]; i++) {
        const int t = shared->order[part * tile->pairs + i];
        const real own_weight = (real)frame->source[shared->source[t]].weight;
        const double share =
            weight
            * (double)(phys_differs_by_source(frame)
                           ? source_share(frame, shared, part, t, aim->step)
                           : own_weight);

        give_pair(spec, p, aim, t, first + t - part * tile->pairs, share, own);
    }
    give_waiting(p, own);
}

/* Runs block `number` of a launch, which computes one segment of the pairs of a tile. */
PHYS_FN void f_block(struct phys_spec spec, const struct gpu_f_parameters *p, int number,
                     struct tile_shared *shared)
{
    const struct phys_frame *frame = &p->image.frame;
    const struct tile_at at = tile_at(&p->image, number / p->image.segments);
    const int first = number % p->image.segments * SEGMENT;
    const int all = frame->nsource * frame->norientation;
    const int end = first + SEGMENT < all ? first + SEGMENT : all;
    struct f_thread own[BLOCK_OWN];

    EACH_THREAD(t)
    {
        struct f_thread *x = own + OWN(t);

        x->pixel = pixel_of(&p->image, &at, t);
        x->bar = 0;
        if (x->pixel.on)
            x->bar = p->sum_bar[(long long)(x->pixel.s - p->image.first_slow) * frame->nfast
                                + x->pixel.f];
        x->place = 0;
        x->sum = 0;
    }
    BLOCK_ROLLED
    for (int layer = 0; layer < frame->nlayers; layer++) {
        layer_take(&p->image, &at, layer, shared);
        BLOCK_ROLLED
        for (int from = first; from < end; from += at.pairs) {
            const int to = from + at.pairs < end ? from + at.pairs : end;

            chunk_take(&p->image, &at, from, to, shared);
            EACH_THREAD(t)
            if (own[OWN(t)].bar != 0) {
                struct aim aim;

                aim.p = &p->image;
                aim.shared = shared;
                aim.part = shared->part + own[OWN(t)].pixel.part;
                aim.layer = layer;
                BLOCK_ROLLED
                for (int sub = 0; sub < frame->oversample * frame->oversample; sub++)
                    sub_pixel_f(spec, p, &at, from, &aim, sub, own + OWN(t));
            }
        }
    }
}

#endif
