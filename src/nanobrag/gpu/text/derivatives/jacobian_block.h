/*
 * jacobian_block.h - the derivatives of the photons of a tile, with one thread for each
 * pixel. The derivatives of all samples by the numbers and lists of the frame are computed
 * and added up, and then used as reductions.h describes. nanoBragg's variants of amorphous
 * material, capture and curved detector are not supported.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_DERIVATIVES_JACOBIAN_BLOCK_H
#define NB_GPU_TEXT_DERIVATIVES_JACOBIAN_BLOCK_H

#include "gpu/text/derivatives/jacobian_amorphous.h"
#include "gpu/text/derivatives/reductions.h"
#include "gpu/text/finish_block.h"

/* The kernels of a variant: KERNEL(shape, lookup, name, strain, crystal, turns), where
 * the last three are members of struct jacobian_spec. In double there is no kernel for
 * many rotations, because it would need more shared memory than a block has. */
#define JACOBIAN_FRAME(KERNEL, shape, lookup)  KERNEL(shape, lookup, FRAME, 0, 0, 0)
#define JACOBIAN_TURNED(KERNEL, shape, lookup) KERNEL(shape, lookup, TURNED, 0, 0, 4)
#define JACOBIAN_FEW(KERNEL, shape, lookup)    KERNEL(shape, lookup, FEW, 1, 1, 4)
#if defined(PHYS_SINGLE)
#define JACOBIAN_MANY(KERNEL, shape, lookup) KERNEL(shape, lookup, MANY, 1, 1, 8)
#else
#define JACOBIAN_MANY(KERNEL, shape, lookup)
#endif
#define JACOBIAN_CLASSES(KERNEL, shape, lookup)                                            \
    JACOBIAN_FRAME(KERNEL, shape, lookup)                                                  \
    JACOBIAN_TURNED(KERNEL, shape, lookup)                                                 \
    JACOBIAN_FEW(KERNEL, shape, lookup)                                                    \
    JACOBIAN_MANY(KERNEL, shape, lookup)

/* Adds the derivatives of all pairs of a chunk at one sub-pixel; `first` is the number of
 * the chunk's first pair. */
PHYS_FN void sub_pixel_jacobian(struct jacobian_spec spec, struct jacobian_site *site,
                                const struct tile_at *tile, int first, int sub,
                                struct jacobian_memory memory, struct jacobian_thread *own)
{
    const struct gpu_derivatives_parameters *p = site->p;
    const struct jacobian_shared *shared = memory.shared;
    const int part = own->pixel.part;
    struct jacobian_sums sums;
    struct jacobian_aim aim;

    aim.sample.p = &p->image;
    aim.sample.shared = &shared->tile;
    aim.sample.part = shared->tile.part + part;
    aim.sample.layer = site->layer;
    aim.sample.place = site->place.at;
    aim.sample.step = site->place.sample.step;
    aim.rotation = memory.rotation;
    keep(own, KEPT_RATIO, site->place.sample.ratio);
    keep(own, KEPT_WEIGHT,
         weight_at(&p->image, &shared->tile, &own->pixel, sub, site->layer));
    for (int i = KEPT_D; i <= KEPT_SUM; i++) keep(own, i, 0);
    clear_sums(spec, &sums);
    BLOCK_ROLLED
    for (int i = 0; i < shared->tile.count[part];) {
        const int t = shared->tile.order[part * tile->pairs + i];

        aim.way = phys_axpy(1, shared->middle[t].way, aim.sample.step);
        aim.share = keep_factors(&p->image.frame, &shared->tile, t, aim.sample.step, own);
        add_source_samples(spec, &aim, tile, part, first, &i, &sums);
        close_source(&aim, p, shared->tile.source[t], direction_of(&site->place), &sums,
                     own);
    }
    close_sums(spec, shared, &sums, own);
    site->place.sample.ratio = kept(own, KEPT_RATIO);
    close_sample(site, own);
}

/* Adds the derivatives at all sub-pixels of a thread's pixel, for a chunk of n pairs from
 * number `first` on. */
PHYS_FN void chunk_jacobian(struct jacobian_spec spec,
                            const struct gpu_derivatives_parameters *p,
                            const struct tile_at *at, int first, int n, int layer,
                            struct jacobian_memory memory, struct jacobian_thread *own)
{
    const int subs = p->image.frame.oversample * p->image.frame.oversample;
    const int a_flush = n < JACOBIAN_FLUSH ? JACOBIAN_FLUSH / n : 1;
    struct jacobian_site site;

    site.p = p;
    site.shared = memory.shared;
    site.layer = layer;
    BLOCK_ROLLED
    for (int sub = 0; sub < subs; sub++) {
        site.place = jacobian_place(p, memory.shared, &own->pixel, sub, layer);
        sub_pixel_jacobian(spec, &site, at, first, sub, memory, own);
        if ((sub + 1) % a_flush == 0 || sub + 1 == subs) flush(spec, p, own);
    }
}

/* Adds up the derivatives of all samples, without the factors that are evaluated once
 * per pixel. */
PHYS_FN void samples_jacobian(struct jacobian_spec spec,
                              const struct gpu_derivatives_parameters *p,
                              const struct tile_at *at, struct jacobian_memory memory,
                              struct jacobian_thread *own)
{
    const struct phys_frame *frame = &p->image.frame;
    const int all = frame->nsource * frame->norientation;
    struct tile_shared *shared = &memory.shared->tile;

    BLOCK_ROLLED
    for (int layer = 0; layer < frame->nlayers; layer++) {
        layer_take(&p->image, at, layer, shared);
        BLOCK_ROLLED
        for (int from = 0; from < all; from += at->pairs) {
            const int to = from + at->pairs < all ? from + at->pairs : all;

            jacobian_chunk_take(spec, p, at, from, to, memory);
            chunk_take(&p->image, at, from, to, shared);
            EACH_THREAD(t)
            if (own[OWN(t)].pixel.on)
                chunk_jacobian(spec, p, at, from, to - from, layer, memory, own + OWN(t));
        }
        EACH_THREAD(t)
        if (own[OWN(t)].pixel.on) close_layer(spec, p, memory.shared, layer, own + OWN(t));
    }
}

/* ---- the factors that are evaluated once per pixel ---- */

PHYS_FN void scale_totals(double factor, struct jacobian_thread *own)
{
    BLOCK_ROLLED
    for (int i = 0; i < JACOBIAN_TOTALS; i++) own->total[i] *= factor;
}

/* Propagates the cotangent of the pixel's polarization if the sample that decides it, the
 * first one that dmin lets through, lies in this layer. */
PHYS_FN void first_polarization_vjp(const struct gpu_derivatives_parameters *p,
                                    const struct jacobian_shared *shared, int layer,
                                    struct finish_thread *factors,
                                    struct jacobian_thread *own)
{
    const struct phys_frame *frame = &p->image.frame;
    const int subs = frame->dmin > 0 ? frame->oversample * frame->oversample : 1;
    const int sources = frame->dmin > 0 ? frame->nsource : 1;

    BLOCK_ROLLED
    for (int i = 0; i < subs * sources && !factors->lit; i++) {
        const int sub = i / sources, index = i - sub * sources;
        const struct jacobian_place place =
            jacobian_place(p, shared, &own->pixel, sub, layer);
        const struct phys_square square =
            phys_patch_square(&place.part->patch, frame->source + index, frame->dmin);
        struct phys_point_bar bar = {{0, 0, 0}, 0};

        if (square.beyond + phys_square_change(&square, place.sample.step) > 0
            && frame->dmin > 0)
            continue;
        factors->lit = 1;
        polarization_vjp(p, index, direction_of(&place), (real)own->total[SUM_BRAGG], &bar,
                         own);
        place_vjp(frame, &place, bar, own);
    }
}

/* Adds the derivatives by the factors that are evaluated once per pixel, from one layer.
 * The totals do not yet contain the scale factors. */
PHYS_FN void layer_factors_vjp(struct jacobian_spec spec,
                               const struct gpu_derivatives_parameters *p,
                               const struct jacobian_shared *shared, int layer,
                               struct finish_thread *factors, struct jacobian_thread *own)
{
    const struct phys_frame *frame = &p->image.frame;
    const struct part *part = shared->tile.part + own->pixel.part;

    if (!frame->each_polar && frame->polarised)
        first_polarization_vjp(p, shared, layer, factors, own);
    if (!frame->each_omega && layer == 0) {
        const struct jacobian_place place = jacobian_place(p, shared, &own->pixel, 0, 0);
        struct phys_point_bar bar = {{0, 0, 0}, 0};

        solid_angle_vjp(frame, shared, &place,
                        (real)own->total[SUM_BRAGG] * factors->polarization, &bar, own);
        place_vjp(frame, &place, bar, own);
    }
    flush(spec, p, own);
    close_places(frame, part, layer, own);
}

/* Adds the derivatives by the scale factors of the sums, and multiplies the totals by these
 * factors. */
PHYS_FN void scale_factors_vjp(struct jacobian_spec spec,
                               const struct gpu_derivatives_parameters *p,
                               const struct finish_thread *factors, double bragg,
                               struct jacobian_thread *own)
{
    const struct phys_frame *frame = &p->image.frame;
    const double omega = (double)factors->omega;
    const double sum = p->image.factor * bragg * omega * (double)factors->polarization;

    scale_totals(p->image.factor * frame->bragg_scale * omega, own);
    own->photons = sum * frame->bragg_scale;
    own->factor =
        p->image.factor * frame->bragg_scale * omega * (double)factors->polarization;
    phys_scales_vjp(spec.spec, frame, sum, own->total + SUM_NUMBERS, 1);
}

PHYS_FN void factors_vjp(struct jacobian_spec spec,
                         const struct gpu_derivatives_parameters *p,
                         const struct tile_at *at, struct jacobian_memory memory,
                         struct jacobian_thread *own)
{
    const struct phys_frame *frame = &p->image.frame;
    struct tile_shared *shared = &memory.shared->tile;
    const int all = frame->dmin > 0 && !frame->each_polar && frame->polarised;
    struct finish_thread factors[BLOCK_OWN];

    EACH_ALONE(t)
    {
        struct finish_thread *x = factors + OWN(t);

        x->pixel = own[OWN(t)].pixel;
        x->omega = x->polarization = x->capture = 1;
        x->lit = 0;
        x->amorphous = x->centre = 0;
    }
    find_factors(&p->image, at, shared, factors);
    EACH_ALONE(t)
    {
        factors[OWN(t)].lit = 0;
        scale_totals((double)factors[OWN(t)].polarization, own + OWN(t));
    }
    BLOCK_ROLLED
    for (int layer = 0; layer < (all ? frame->nlayers : 1); layer++) {
        layer_take(&p->image, at, layer, shared);
        EACH_THREAD(t)
        if (own[OWN(t)].pixel.on)
            layer_factors_vjp(spec, p, memory.shared, layer, factors + OWN(t),
                              own + OWN(t));
    }
    EACH_ALONE(t)
    if (own[OWN(t)].pixel.on)
        scale_factors_vjp(spec, p, factors + OWN(t), own[OWN(t)].total[SUM_BRAGG],
                          own + OWN(t));
}

/* Runs block `number` of a launch, which computes one tile. */
PHYS_FN void derivatives_block(struct jacobian_spec spec,
                               const struct gpu_derivatives_parameters *p, int number,
                               struct jacobian_memory memory)
{
    const struct tile_at at = tile_at(&p->image, number);
    struct jacobian_thread own[BLOCK_OWN];

    EACH_ALONE(t) jacobian_thread_start(own + OWN(t), pixel_of(&p->image, &at, t));
    samples_jacobian(spec, p, &at, memory, own);
    factors_vjp(spec, p, &at, memory, own);
    if (p->image.frame.amorphous_scale != 0) amorphous_vjp(spec, p, &at, memory, own);
    jacobian_end(p, number, memory.stage, own);
}

#endif
