/*
 * f_block.h - computes the cotangents of the structure factors from the pixels of a tile,
 * by the loops of image_block.h. Each sample gives a number to the place of its F
 * (f_sums.h). The threads of a warp take their samples together.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_DERIVATIVES_F_BLOCK_H
#define NB_GPU_TEXT_DERIVATIVES_F_BLOCK_H

#include "gpu/text/derivatives/f_sums.h"
#include "gpu/text/image_block.h"

/* The state of a thread, saved from step to step. */
struct f_thread {
    struct pixel pixel;
    double bar; /* cotangent of the pixel's sum */
    double weight; /* weight of the sub-pixel times `bar` */
    struct sample_place place;
    struct phys_vec3 step;
    struct f_waiting waiting;
};

/* A chunk of pairs. */
struct f_chunk {
    int first; /* number of its first pair */
    int pairs; /* number of slots of a part */
    int layer;
};

/* Adds the contribution of one sample of thread own->t to dL/dF_cell of its reflection. The
 * sample belongs to pair `number`, which is in slot `slot`. The derivative of (F_cell
 * F_latt)^2 by F_cell is 2 F_cell F_latt^2. */
PHYS_FN void give_pair(struct phys_spec spec, const struct gpu_f_parameters *p,
                       const struct aim *aim, int slot, int number, double share,
                       struct f_waiting *own, struct f_memory memory)
{
    const struct phys_vec3 whole = aim->shared->slot[slot].whole;
    const struct phys_anchor anchor = slot_anchor(aim->shared->slot + slot);
    const struct phys_vec3 x = phys_anchor_indices(&anchor, aim->step);
    const struct phys_box box = phys_box_from(0, aim->shared->view.box, whole);
    struct phys_vec3 n = nearest_point(spec, x);
    struct phys_site site = site_of(spec, aim, slot);
    double value;
    real f;

    if (is_halfway(spec, aim, site.d)) {
        site = site_again(spec, aim, number, site);
        n = phys_axpy(-1, site.d, x);
        n = phys_vec3(rint(n.x), rint(n.y), rint(n.z));
    }
    f = site.cell.f;
    site.cell.f = 1;
    value =
        share * 2
        * (double)(aim->shared->slot[slot].weight * f * site_f2(spec, aim->shared, site));
    if (value == 0) return;
    if (spec.lookup == PHYS_TRICUBIC && give_nodes(&box, x, value, own->t, memory)) return;
    give_place(p, phys_f_place(0, &box, n), value, own, memory.shared);
}

/* Begins sub-pixel `sub` of a thread's pixel. */
PHYS_FN void begin_sub_pixel(const struct gpu_f_parameters *p,
                             const struct tile_shared *shared, int layer, int sub,
                             struct f_thread *own)
{
    const struct part *part = shared->part + own->pixel.part;

    own->place = place_of(p->image.frame.oversample, &own->pixel, sub);
    own->step = sample_step(&p->image, shared, part, own->place, layer);
    own->weight = own->bar * (double)weight_at(&p->image, shared, &own->pixel, sub, layer);
}

/* Gives the sample of a thread that belongs to entry i in the list of its part. */
PHYS_FN void give_sample(struct phys_spec spec, const struct gpu_f_parameters *p,
                         const struct f_chunk *chunk, int i, struct f_thread *own,
                         struct f_memory memory)
{
    const struct phys_frame *frame = &p->image.frame;
    const struct tile_shared *shared = &memory.shared->tile;
    const int part = own->pixel.part, begin = part * chunk->pairs;
    const int slot = shared->order[begin + i];
    const double share = own->weight
                         * (double)(phys_differs_by_source(frame)
                                        ? source_share(frame, shared, part, slot, own->step)
                                        : (real)frame->source[shared->source[slot]].weight);
    struct aim aim;

    aim.p = &p->image;
    aim.shared = shared;
    aim.part = shared->part + part;
    aim.place = own->place;
    aim.step = own->step;
    aim.layer = chunk->layer;
    give_pair(spec, p, &aim, slot, chunk->first + slot - begin, share, &own->waiting,
              memory);
}

/* Adds all samples of a chunk at one sub-pixel. The lists of the parts differ in length, so
 * the loop goes to the longest. */
PHYS_FN void sub_pixel_f(struct phys_spec spec, const struct gpu_f_parameters *p,
                         const struct f_chunk *chunk, int sub, struct f_thread *own,
                         struct f_memory memory)
{
    const struct tile_shared *shared = &memory.shared->tile;
    int most = 0;

    for (int part = 0; part * chunk->pairs < BLOCK_THREADS; part++)
        most = shared->count[part] > most ? shared->count[part] : most;
    EACH_ALONE(t)
    if (own[OWN(t)].bar != 0) begin_sub_pixel(p, shared, chunk->layer, sub, own + OWN(t));
    BLOCK_ROLLED
    for (int i = 0; i < most; i++) {
        EACH_IN_WARP(t)
        if (own[OWN(t)].bar != 0 && i < shared->count[own[OWN(t)].pixel.part])
            give_sample(spec, p, chunk, i, own + OWN(t), memory);
        if (spec.lookup == PHYS_TRICUBIC) add_nodes(p, memory);
        add_gifts(p, memory.shared);
    }
}

/* Initialises the state of thread t. */
PHYS_FN void begin_f(const struct gpu_f_parameters *p, const struct tile_at *at, int t,
                     struct f_thread *own, struct f_shared *shared)
{
    own->pixel = pixel_of(&p->image, at, t);
    own->bar = 0;
    if (own->pixel.on)
        own->bar = p->sum_bar[(long long)(own->pixel.s - p->image.first_slow)
                                  * p->image.frame.nfast
                              + own->pixel.f];
    own->waiting.t = t;
    own->waiting.place = 0;
    own->waiting.sum = 0;
    shared->gift[t].count = 0;
    if (t < BLOCK_WARPS) shared->to_places[t] = shared->to_nodes[t] = 0;
}

/* Runs block `number` of a launch, which computes one segment of the pairs of a tile. */
PHYS_FN void f_block(struct phys_spec spec, const struct gpu_f_parameters *p, int number,
                     struct f_memory memory)
{
    const struct phys_frame *frame = &p->image.frame;
    const struct tile_at at = tile_at(&p->image, number / p->image.segments);
    const int first = number % p->image.segments * SEGMENT;
    const int all = frame->nsource * frame->norientation;
    const int end = first + SEGMENT < all ? first + SEGMENT : all;
    struct tile_shared *shared = &memory.shared->tile;
    struct f_thread own[BLOCK_OWN];

    EACH_ALONE(t) begin_f(p, &at, t, own + OWN(t), memory.shared);
    BLOCK_ROLLED
    for (int layer = 0; layer < frame->nlayers; layer++) {
        layer_take(&p->image, &at, layer, shared);
        BLOCK_ROLLED
        for (int from = first; from < end; from += at.pairs) {
            const int to = from + at.pairs < end ? from + at.pairs : end;
            const struct f_chunk chunk = {from, at.pairs, layer};

            chunk_take(&p->image, &at, from, to, shared);
            BLOCK_ROLLED
            for (int sub = 0; sub < frame->oversample * frame->oversample; sub++)
                sub_pixel_f(spec, p, &chunk, sub, own, memory);
            EACH_THREAD(t)(void) t; /* no warp reads the chunk any more */
        }
    }
    EACH_IN_WARP(t) give_waiting(p, 0, &own[OWN(t)].waiting, memory.shared);
    pair_gifts(memory.shared);
    EACH_ALONE(t) add_gift(p, t, memory.shared);
}

#endif
