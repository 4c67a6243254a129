/*
 * image_block.h - the Bragg sums of a tile: the loops of physics/pixel.h, with one thread
 * for each pixel. The pairs of source and orientation come in chunks, which the block
 * shares. A block computes one segment of the pairs of a tile; finish_block.h adds up the
 * segments in their order. Within a segment at most FLUSH samples are added up in `real`
 * before their sum is added in double.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_IMAGE_BLOCK_H
#define NB_GPU_TEXT_IMAGE_BLOCK_H

#include "gpu/text/weights_block.h"

enum { FLUSH = 64 };

/* The state of a thread, saved from step to step. */
struct image_thread {
    struct pixel pixel;
    double sum;
    real waiting; /* sum of the samples since the last flush, in `real` */
};

/* ---- samples ---- */

/* The data that the samples of a thread at one sub-pixel share. */
struct aim {
    const struct gpu_parameters *p;
    const struct tile_shared *shared;
    const struct part *part;
    struct sample_place place;
    struct phys_vec3 step;
    int layer;
};

/* Returns F of the unit cell at the indices x, whose nearest whole numbers are n. Both are
 * counted from the whole indices of the anchor in slot t. */
PHYS_FN struct phys_f cell_at(struct phys_spec spec, const struct tile_shared *shared,
                              int t, struct phys_vec3 x, struct phys_vec3 n)
{
    struct phys_box box;
    struct phys_f cell;

    if (spec.lookup == PHYS_CONSTANT) { /* F is in phys_constant_factor() */
        cell.f = 1;
        cell.dh = cell.dk = cell.dl = 0;
        return cell;
    }
    box = shared->view.box;
    if (spec.lookup == PHYS_NEAREST && spec.inside)
        box.origin = shared->place[t];
    else
        box = phys_box_from(0, box, shared->slot[t].whole);
    return phys_structure_factor(spec, &box, x, n);
}

/* Returns the lattice point nearest to x. Where it matters how halves are rounded,
 * is_halfway() finds the samples. */
PHYS_FN struct phys_vec3 nearest_point(struct phys_spec spec, struct phys_vec3 x)
{
#if defined(PHYS_SINGLE) && defined(PHYS_BY_SUMS)
    if (spec.lookup != PHYS_TRICUBIC) return phys_vec3(RINT(x.x), RINT(x.y), RINT(x.z));
#endif
    return phys_lattice_point(spec, x);
}

/* Returns the site of a sample of slot t: its distance from the nearest lattice point
 * and F of the unit cell. */
PHYS_FN struct phys_site site_of(struct phys_spec spec, const struct aim *aim, int t)
{
    const struct phys_anchor anchor = slot_anchor(aim->shared->slot + t);
    const struct phys_vec3 x = phys_anchor_indices(&anchor, aim->step);
    const struct phys_vec3 n = nearest_point(spec, x);
    struct phys_site site;

    site.d = phys_axpy(-1, n, x);
    site.cell = cell_at(spec, aim->shared, t, x, n);
    return site;
}

/* Returns 1 if d is halfway between two reflections, within the accuracy of float, and F or
 * the profile jumps there. */
PHYS_FN int is_halfway(struct phys_spec spec, const struct aim *aim, struct phys_vec3 d)
{
    const real from = aim->part->halfway;

    return phys_jumps_halfway(spec)
           && ((int)(fabs(d.x) > from) | (int)(fabs(d.y) > from) | (int)(fabs(d.z) > from));
}

/* Returns the site of a sample halfway between two reflections, computed in double. The
 * sample belongs to pair `number`. */
PHYS_FN struct phys_site site_again(struct phys_spec spec, const struct aim *aim,
                                    int number, struct phys_site site)
{
    const struct phys_frame *frame = &aim->p->frame;
    const struct part *part = aim->part;
    const int index = number / frame->norientation;
    const struct phys_source *source = frame->source + index;
    const double *rows = frame->orientation[number - index * frame->norientation].axes;
    const struct phys_patch at = phys_patch_at(frame, part->fast + (double)aim->place.fast,
                                               part->slow + (double)aim->place.slow,
                                               phys_layer_depth(frame, aim->layer));
    const struct phys_box *box = &aim->shared->view.box;
    const struct phys_anchor exact = phys_patch_anchor(&at, source, rows);

    site.d = exact.fraction;
    if (spec.lookup == PHYS_NEAREST)
        site.cell.f = PHYS_READ(box->f[phys_f_place(0, box, exact.whole)]);
    return site;
}

/* Returns F^2 at a site. */
PHYS_FN real site_f2(struct phys_spec spec, const struct tile_shared *shared,
                     struct phys_site site)
{
    struct phys_crystal crystal = shared->view.crystal;
    real f;

    crystal.peak = 1; /* the peak is in phys_constant_factor() */
    f = site.cell.f * phys_lattice(spec, &crystal, site.d).f;
    return f * f;
}

/* Returns 1 for crystal shapes whose F^2 is nowhere 0. The list of slots then has all
 * slots. */
PHYS_FN int reaches_all(struct phys_spec spec)
{
    return spec.shape == PHYS_SQUARE || spec.shape == PHYS_ROUND;
}

/* Consecutive entries of a part's list of slots: number i to `end` - 1. */
struct run {
    int first; /* number of the first pair of the chunk */
    int begin; /* number of the first slot of the part */
    int i, end;
};

/* Returns the sum of the samples of a run, without samples whose nearest reflection float
 * cannot decide. *waiting becomes 1 if there are such samples. */
PHYS_FN real run_sum(struct phys_spec spec, const struct aim *aim, const struct run *run,
                     int *waiting)
{
    const struct tile_shared *shared = aim->shared;
    real sum = 0;

    BLOCK_BY_TWO
    for (int i = run->begin + run->i; i < run->begin + run->end; i++) {
        const int t = reaches_all(spec) ? i : shared->order[i];
        const struct phys_site site = site_of(spec, aim, t);
        const real f2 = site_f2(spec, shared, site);

        if (is_halfway(spec, aim, site.d))
            *waiting = 1;
        else
            sum += shared->weight[t] * f2;
    }
    return sum;
}

/* Returns the sum of the samples that run_sum() left out. Such samples are few. A loop of
 * their own keeps the registers for the loop over all samples. */
PHYS_FN real waiting_sum(struct phys_spec spec, const struct aim *aim,
                         const struct run *run)
{
    const struct tile_shared *shared = aim->shared;
    real sum = 0;

    BLOCK_ROLLED
    for (int i = run->begin + run->i; i < run->begin + run->end; i++) {
        const int t = shared->order[i];
        struct phys_site site = site_of(spec, aim, t);

        if (!is_halfway(spec, aim, site.d)) continue;
        BLOCK_READ_AGAIN;
        site = site_again(spec, aim, run->first + t - run->begin, site);
        sum += shared->weight[t] * site_f2(spec, shared, site);
    }
    return sum;
}

/* Returns the sum of all samples of a run. `near` is 1 if no look-up leaves the box of
 * reflections. */
PHYS_FN real run_samples(struct phys_spec spec, const struct aim *aim,
                         const struct run *run, int near)
{
    struct phys_spec inside = spec;
    int waiting = 0;
    real sum;

    inside.inside = spec.lookup == PHYS_NEAREST;
    sum = inside.inside && near ? run_sum(inside, aim, run, &waiting)
                                : run_sum(spec, aim, run, &waiting);
    return waiting ? sum + waiting_sum(spec, aim, run) : sum;
}

/* Returns the number of a pixel's samples along an axis. */
PHYS_FN int samples_across(unsigned known, const struct phys_frame *frame)
{
    return known & FLAG_ONE_SAMPLE ? 1 : frame->oversample;
}

/* Adds the samples of all pairs of a chunk at one sub-pixel. */
PHYS_FN void sub_pixel(struct phys_spec spec, unsigned known,
                       const struct gpu_parameters *p, int layer, int sub, struct run run,
                       const struct tile_shared *shared, struct image_thread *own)
{
    const struct phys_frame *frame = &p->frame;
    const int part = own->pixel.part, count = shared->count[part];
    struct aim aim;
    real weight;

    BLOCK_READ_AGAIN;
    aim.p = p;
    aim.shared = shared;
    aim.part = shared->part + part;
    aim.layer = layer;
    aim.place = place_of(samples_across(known, frame), &own->pixel, sub);
    aim.step = sample_step(p, shared, aim.part, aim.place, layer);
    weight = known & FLAG_NO_WEIGHTS ? 1 : weight_at(p, shared, &own->pixel, sub, layer);
    BLOCK_ROLLED
    for (run.i = 0; run.i < count; run.i = run.end) {
        const int t = shared->order[run.begin + run.i];
        real share = weight;

        run.end = shared->until[t];
        if (knows_per_source(known, frame))
            share *= source_share(frame, shared, part, t, aim.step);
        own->waiting += share * run_samples(spec, &aim, &run, shared->near_all[part]);
    }
}

/* Adds the samples at all sub-pixels of a thread's pixel, for a chunk of n pairs from
 * number `first` on. */
PHYS_FN void add_chunk(struct phys_spec spec, const struct gpu_parameters *p,
                       const struct tile_at *at, int first, int n, int layer,
                       const struct tile_shared *shared, struct image_thread *own)
{
    const int across = samples_across(at->known, &p->frame), subs = across * across;
    const int a_flush = n < FLUSH ? FLUSH / n : 1;
    struct run run;

    run.first = first;
    run.begin = own->pixel.part * at->pairs;
    run.i = run.end = 0;
    BLOCK_ROLLED
    for (int sub = 0; sub < subs; sub++) {
        sub_pixel(spec, at->known, p, layer, sub, run, shared, own);
        if ((sub + 1) % a_flush != 0 && sub + 1 < subs) continue;
        own->sum += (double)own->waiting;
        own->waiting = 0;
    }
}

/* Runs block `number` of a launch; `known` contains bits of enum gpu_frame_flags. */
PHYS_FN void image_block(struct phys_spec spec, unsigned known,
                         const struct gpu_parameters *p, int number,
                         struct tile_shared *shared)
{
    const struct phys_frame *frame = &p->frame;
    const struct tile_at at = tile_known(tile_at(p, number / p->segments), known);
    const int first = number % p->segments * SEGMENT;
    const int all = frame->nsource * frame->norientation;
    const int layers = known & FLAG_ONE_LAYER ? 1 : frame->nlayers;
    const int end = first + SEGMENT < all ? first + SEGMENT : all;
    struct image_thread own[BLOCK_OWN];

    if (number >= tiles_of(p) * p->segments) return;
    EACH_ALONE(t)
    {
        own[OWN(t)].pixel = pixel_of(p, &at, t);
        own[OWN(t)].sum = 0;
        own[OWN(t)].waiting = 0;
    }
    BLOCK_ROLLED
    for (int layer = 0; layer < layers; layer++) {
        layer_take(p, &at, layer, shared);
        BLOCK_ROLLED
        for (int from = first; from < end; from += at.pairs) {
            const int to = from + at.pairs < end ? from + at.pairs : end;

            chunk_take(p, &at, from, to, shared);
            EACH_THREAD(t)
            if (own[OWN(t)].pixel.on)
                add_chunk(spec, p, &at, from, to - from, layer, shared, own + OWN(t));
        }
    }
    EACH_ALONE(t) p->partial[(long long)number * BLOCK_THREADS + t] = own[OWN(t)].sum;
}

#endif
