/*
 * tile_block.h - the samples of a tile: the positions of its pixels, and the pairs of
 * source and orientation, a chunk at a time. A tile has one or four parts. In each part the
 * indices of a pair are counted from an anchor in the middle of the part, computed in
 * double (physics/tile/anchor.h). A slot holds one pair as seen from one part.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_TILE_BLOCK_H
#define NB_GPU_TEXT_TILE_BLOCK_H

#include "gpu/text/block.h"
#include "gpu/text/frame_flags.h"
#include "gpu/text/parameters.h"
#include "physics/pixel.h"
#include "physics/tile/patch.h"

enum { MOST_PARTS = 4, CHUNK_WORDS = BLOCK_THREADS / 32 };

/* A part of a tile. Its samples are measured from its middle. */
struct part {
    struct phys_patch patch;
    double fast, slow; /* middle, in sub-pixels from the detector's corner */
    /* largest difference of a sample's direction from the direction of the middle */
    real radius;
    /* a limit just below 1/2 (phys_anchor_halfway()): if an index is further than this from
     * its nearest whole number, float cannot tell which whole number is nearest */
    real halfway;
    int small; /* phys_patch_is_small() */
};

/* A pair as seen from a part: four groups of four numbers, each loaded by one
 * instruction. */
struct __attribute__((aligned(16))) slot {
    struct phys_vec3 a;
    real h;
    struct phys_vec3 b;
    real k;
    struct phys_vec3 c;
    real l;
    struct phys_vec3 whole;
    real weight;
};

/* The memory that the threads of a block share. */
struct tile_shared {
    struct phys_view view; /* shared, because a copy in each thread takes forty registers */
    struct part part[MOST_PARTS];
    /* a chunk of pairs: slot [part][pair], BLOCK_THREADS slots in all */
    struct slot slot[BLOCK_THREADS];
    struct phys_square square[BLOCK_THREADS]; /* used if phys_differs_by_source() */
    int source[BLOCK_THREADS];
    real weight[BLOCK_THREADS]; /* common factors of a slot's samples */
    int place[BLOCK_THREADS]; /* place of F at the anchor's whole indices, if near[t] */
    /* the slots that can contribute: flags `live`, the same as bits `word`, and lists
     * `order` of their numbers, one list after another for each part */
    unsigned char live[BLOCK_THREADS], near[BLOCK_THREADS];
    unsigned word[CHUNK_WORDS];
    unsigned far[CHUNK_WORDS]; /* slots whose look-ups may leave the box of reflections */
    short order[BLOCK_THREADS];
    /* for each slot, the end of the run of slots with the same factors */
    short until[BLOCK_THREADS];
    int count[MOST_PARTS];
    int near_all[MOST_PARTS]; /* 1: no look-up of a part leaves the box */
};

/* The pixel of a thread. */
struct pixel {
    int f, s, part;
    int on; /* 1: the pixel is rendered */
    real fast, slow; /* corner of the pixel, in sub-pixels from the middle of its part */
};

/* The tile that a block computes. */
struct tile_at {
    int fast, slow; /* its first pixel */
    int parts, pairs; /* parts of the tile; pairs in a chunk */
    unsigned known; /* bits of enum gpu_frame_flags */
};

/* Returns the number of tiles of an image in a launch. If images differ in size, each has
 * as many blocks as the largest image needs; blocks beyond the image's own tiles do
 * nothing. */
PHYS_FN int tiles_of(const struct gpu_parameters *p)
{
    return p->across * p->down;
}

PHYS_FN struct tile_at tile_at(const struct gpu_parameters *p, int number)
{
    struct tile_at at;

    at.fast = p->first_fast + GPU_FAST * (number % p->across);
    at.slow = p->first_slow + GPU_SLOW * (number / p->across);
    at.parts = p->parts * p->parts;
    at.pairs = BLOCK_THREADS / at.parts;
    at.known = 0;
    return at;
}

/* Returns the tile with the flags on which a kernel may rely. */
PHYS_FN struct tile_at tile_known(struct tile_at at, unsigned known)
{
    at.known = known;
    if (known & FLAG_ONE_PART) {
        at.parts = 1;
        at.pairs = BLOCK_THREADS;
    }
    return at;
}

/* Returns the index of a pixel in the mask and in images that are compared with photons. */
PHYS_FN long long pixel_number(const struct gpu_parameters *p, int s, int f)
{
    return (long long)s * p->stride + f;
}

/* Returns the pixel of thread t. The threads of a part are consecutive, row after row. */
PHYS_FN struct pixel pixel_of(const struct gpu_parameters *p, const struct tile_at *at,
                              int t)
{
    const int width = GPU_FAST / p->parts, height = GPU_SLOW / p->parts;
    const int part = t / at->pairs, i = t - part * at->pairs;
    const int column = i % width, row = i / width, n = p->frame.oversample;
    struct pixel x;

    x.part = part;
    x.f = at->fast + part % p->parts * width + column;
    x.s = at->slow + part / p->parts * height + row;
    x.fast = (real)n * ((real)column - (real)0.5 * (real)width);
    x.slow = (real)n * ((real)row - (real)0.5 * (real)height);
    x.on = x.f >= p->roi[0] && x.f < p->roi[1] && x.s >= p->roi[2] && x.s < p->roi[3];
    if (x.on && p->mask) x.on = p->mask[pixel_number(p, x.s, x.f)] != 0;
    return x;
}

/* Returns a bound on the difference between the direction of any sample and the direction
 * of the middle, in a part of width x height sub-pixels. Let a sample lie beside the middle
 * by s times the distance of the middle. The directions then differ by at most the arc sine
 * of s, which is below 1.04 s for s <= 1/2. On nanoBragg's curved detector pixels can lie
 * anywhere, so the bound is 2. */
PHYS_FN real part_radius(const struct phys_frame *frame, const struct phys_patch *patch,
                         int width, int height)
{
    const struct phys_vec3 fast = phys_scale((real)0.5 * (real)width, patch->fast);
    const struct phys_vec3 slow = phys_scale((real)0.5 * (real)height, patch->slow);
    const real along = fabs(phys_dot(fast, slow));
    const real s = sqrt(phys_dot(fast, fast) + phys_dot(slow, slow) + 2 * along);

    return frame->surface == PHYS_CURVED_QUIRK || s > (real)0.5 ? 2 : (real)1.04 * s;
}

/* Returns part t at the depth of a layer. */
PHYS_FN struct part part_at(const struct gpu_parameters *p, const struct tile_at *at, int t,
                            double depth)
{
    const struct phys_frame *frame = &p->frame;
    const int width = GPU_FAST / p->parts, height = GPU_SLOW / p->parts;
    const int n = frame->oversample;
    struct part part;

    part.fast = n * (at->fast + width * (t % p->parts + 0.5));
    part.slow = n * (at->slow + height * (t / p->parts + 0.5));
    part.patch = phys_patch_at(frame, part.fast, part.slow, depth);
    part.radius = part_radius(frame, &part.patch, n * width, n * height);
    part.halfway = phys_anchor_halfway(12 + part.radius * (real)p->edges);
    part.small =
        phys_patch_is_small(&part.patch, (real)(n * width) / 2, (real)(n * height) / 2);
    return part;
}

/* Sets shared->view, the numbers of the frame converted to `real`, and shared->part, the
 * parts of the tile at the depth of a layer. All threads have finished on return: the
 * function is one step of gpu/text/block.h. */
PHYS_FN void layer_take(const struct gpu_parameters *p, const struct tile_at *at, int layer,
                        struct tile_shared *shared)
{
    EACH_THREAD(t)
    {
        if (t == MOST_PARTS) shared->view = phys_view(&p->frame);
        if (t < at->parts)
            shared->part[t] = part_at(p, at, t, phys_layer_depth(&p->frame, layer));
    }
}

/* ---- a sample ---- */

/* The position of a sample from the middle of its part, in sub-pixels. */
struct sample_place {
    real fast, slow;
};

/* Returns the position of sub-pixel `sub` of a pixel with n x n sub-pixels; -1: of its
 * centre. */
PHYS_FN struct sample_place place_of(int n, const struct pixel *x, int sub)
{
    const int row = sub / n, column = sub - n * row;
    const real half = (real)0.5;
    struct sample_place at;

    at.fast = x->fast + (sub < 0 ? half * (real)n : (real)column + half);
    at.slow = x->slow + (sub < 0 ? half * (real)n : (real)row + half);
    return at;
}

/* The direction of a sample minus the direction of the middle, and the distance of the
 * sample over the distance of the middle. */
struct sample {
    struct phys_vec3 step;
    real ratio;
};

PHYS_FN struct sample sample_at(const struct gpu_parameters *p,
                                const struct tile_shared *shared, const struct part *part,
                                struct sample_place at, int layer)
{
    struct phys_place place;
    struct sample sample;

#ifndef PHYS_SINGLE /* nanoBragg's curved detector needs double */
    if (p->frame.surface == PHYS_CURVED_QUIRK) {
        const struct phys_point point =
            phys_point(&shared->view.detector, (real)part->fast + at.fast,
                       (real)part->slow + at.slow,
                       (real)phys_layer_depth(&p->frame, layer));

        sample.step = phys_axpy(-1, part->patch.d, point.d);
        sample.ratio = point.r / (real)part->patch.distance;
        return sample;
    }
#else
    (void)p;
    (void)shared;
    (void)layer;
#endif
    place = phys_patch_place(part->small, &part->patch, at.fast, at.slow);
    sample.step = place.step;
    sample.ratio = place.ratio;
    return sample;
}

PHYS_FN struct phys_vec3 sample_step(const struct gpu_parameters *p,
                                     const struct tile_shared *shared,
                                     const struct part *part, struct sample_place at,
                                     int layer)
{
    return sample_at(p, shared, part, at, layer).step;
}

PHYS_FN struct phys_point sample_point(const struct tile_shared *shared,
                                       const struct part *part, struct sample at)
{
    return phys_patch_point(&part->patch, &shared->view.detector, at.step, at.ratio);
}

/* ---- pairs of source and orientation ---- */

PHYS_FN int knows_per_source(unsigned known, const struct phys_frame *frame)
{
    return known & FLAG_SAME_SOURCES ? 0 : phys_differs_by_source(frame);
}

/* Stores pair `number`, as seen from a part, in slot t. */
PHYS_FN void pair_take(unsigned known, const struct gpu_parameters *p,
                       const struct part *part, int number, int t,
                       struct tile_shared *shared)
{
    const struct phys_frame *frame = &p->frame;
    const int index = known & FLAG_ONE_SOURCE ? 0 : number / frame->norientation;
    const struct phys_source *source = frame->source + index;
    const struct phys_orientation *o =
        frame->orientation + (number - index * frame->norientation);
    struct slot *slot = shared->slot + t;
    const struct phys_anchor anchor = phys_patch_anchor(&part->patch, source, o->axes);

    slot->a = anchor.axes.a;
    slot->b = anchor.axes.b;
    slot->c = anchor.axes.c;
    slot->h = anchor.fraction.x;
    slot->k = anchor.fraction.y;
    slot->l = anchor.fraction.z;
    slot->whole = anchor.whole;
    slot->weight = (real)o->weight;
    shared->source[t] = index;
    shared->weight[t] = slot->weight;
    if (knows_per_source(known, frame))
        shared->square[t] = phys_patch_square(&part->patch, source, frame->dmin);
    else
        shared->weight[t] *= (real)source->weight;
}

/* Returns 1 if no look-up of slot t leaves the box of reflections, and all are so near the
 * anchor that the number of places between them is exact in `real`. */
PHYS_FN int pair_is_near(const struct phys_box *box, const struct part *part, int t,
                         struct tile_shared *shared)
{
    const struct slot *slot = shared->slot + t;
    /* covers the fraction, half an index to the nearest point, and two more nodes */
    const real margin = (real)3.1;
    const real h = margin + part->radius * sqrt(phys_dot(slot->a, slot->a));
    const real k = margin + part->radius * sqrt(phys_dot(slot->b, slot->b));
    const real l = margin + part->radius * sqrt(phys_dot(slot->c, slot->c));
    const struct phys_vec3 at = slot->whole;
    const int near = phys_box_surrounds(box, at, phys_vec3(h, k, l));

    shared->place[t] = near ? phys_f_place(0, box, at) : 0;
    return near;
}

/* Returns rho^2 at a distance d from a lattice point (docs/theory.md, 5). */
PHYS_FN real rho2(const struct phys_crystal *c, struct phys_vec3 d)
{
    return c->hh * d.x * d.x + c->kk * d.y * d.y + c->ll * d.z * d.z + c->hk * d.x * d.y
           + c->hl * d.x * d.z + c->kl * d.y * d.z;
}

/* Returns the least rho^2 of the anchor over the lattice points up to one index away. For a
 * diagonal metric the lattice point nearest to the anchor is enough. */
PHYS_FN real least_rho2(const struct phys_crystal *c, const struct slot *slot)
{
    real least = rho2(c, phys_vec3(slot->h, slot->k, slot->l));

    if (c->hk == 0 && c->hl == 0 && c->kl == 0) return least;
    BLOCK_ROLLED
    for (int i = 0; i < 27; i++) {
        const real at =
            rho2(c, phys_vec3(slot->h - (real)(i % 3 - 1), slot->k - (real)(i / 3 % 3 - 1),
                              slot->l - (real)(i / 9 - 1)));

        least = at < least ? at : least;
    }
    return least;
}

/* Returns 0 if no sample of the part is near enough to a lattice point for the pair to
 * contribute. The samples lie up to part->radius from the anchor; if this is more than one
 * index, the result is 1. */
PHYS_FN int pair_reaches(const struct gpu_parameters *p, const struct phys_crystal *crystal,
                         const struct part *part, const struct slot *slot, double unit)
{
    const real reach = (real)p->cut + (real)(p->stretch * unit) * part->radius;
    const real a2 = phys_dot(slot->a, slot->a), b2 = phys_dot(slot->b, slot->b),
               c2 = phys_dot(slot->c, slot->c);
    const real ab2 = a2 > b2 ? a2 : b2, most2 = ab2 > c2 ? ab2 : c2;

    if (p->cut < 0 || most2 * part->radius * part->radius > (real)0.999) return 1;
    return least_rho2(crystal, slot) <= reach * reach * (real)1.001;
}

PHYS_FN int bits_set(unsigned x)
{
    x = x - ((x >> 1) & 0x55555555u);
    x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
    return (int)((((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24);
}

/* Returns how many of the bits `begin` to `end` - 1 are set; `begin` is a multiple of
 * 32. */
PHYS_FN int bits_between(const unsigned *word, int begin, int end)
{
    int n = 0;

    BLOCK_ROLLED
    for (int i = begin / 32; i < end / 32; i++) n += bits_set(word[i]);
    return end % 32 ? n + bits_set(word[end / 32] & ((1u << end % 32) - 1)) : n;
}

/* Adds slot t to the list of its part. The slots of the part begin at `begin`, the chunk
 * with pair `first`. */
PHYS_FN void slot_list(const struct gpu_parameters *p, const struct tile_at *at, int first,
                       int begin, int t, struct tile_shared *shared)
{
    const int behind = (shared->source[t] + 1) * p->frame.norientation - first;
    const int all = !knows_per_source(at->known, &p->frame) || behind > at->pairs;
    const int end = begin + (all ? at->pairs : behind);

    shared->order[begin + bits_between(shared->word, begin, t)] = (short)t;
    shared->until[t] = (short)bits_between(shared->word, begin, end);
}

/* Prepares the chunk of pairs from number `first` to `end`, at most at->pairs of them, and
 * lists the slots that can contribute, in their order. The function takes three steps of
 * gpu/text/block.h. */
PHYS_FN void chunk_take(const struct gpu_parameters *p, const struct tile_at *at, int first,
                        int end, struct tile_shared *shared)
{
    EACH_THREAD(t)
    {
        const int in = t / at->pairs, number = first + t - in * at->pairs;
        const struct part *part = shared->part + in;

        shared->live[t] = 0;
        shared->near[t] = 1;
        if (number < end) {
            pair_take(at->known, p, part, number, t, shared);
            shared->live[t] = (unsigned char)
                pair_reaches(p, &shared->view.crystal, part, shared->slot + t,
                             p->frame.source[shared->source[t]].inverse_wavelength);
            if (shared->view.box.f)
                shared->near[t] =
                    (unsigned char)pair_is_near(&shared->view.box, part, t, shared);
        }
    }
    EACH_THREAD(t)
    {
        if (t < CHUNK_WORDS) {
            unsigned word = 0, far = 0;

            for (int i = 32 * t; i < 32 * t + 32; i++) {
                word |= (unsigned)shared->live[i] << i % 32;
                far |= !shared->near[i];
            }
            shared->word[t] = word;
            shared->far[t] = far;
        }
    }
    EACH_THREAD(t)
    {
        const int part = t / at->pairs, begin = part * at->pairs;

        if (shared->live[t]) slot_list(p, at, first, begin, t, shared);
        if (t == begin) {
            unsigned far = 0;

            for (int i = begin / 32; i < (begin + at->pairs) / 32; i++)
                far |= shared->far[i];
            shared->near_all[part] = !far;
            shared->count[part] = bits_between(shared->word, begin, begin + at->pairs);
        }
    }
}

PHYS_FN struct phys_anchor slot_anchor(const struct slot *slot)
{
    struct phys_anchor anchor;

    anchor.axes.a = slot->a;
    anchor.axes.b = slot->b;
    anchor.axes.c = slot->c;
    anchor.fraction = phys_vec3(slot->h, slot->k, slot->l);
    anchor.whole = slot->whole;
    return anchor;
}

#endif
