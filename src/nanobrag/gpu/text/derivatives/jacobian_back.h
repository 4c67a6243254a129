/*
 * jacobian_back.h - the backward steps from the derivatives of a pixel's samples to the
 * derivatives by the frame's numbers: source, sample and layer in turn, as in
 * kernels/lanes/lanes_vjp.c.
 *
 * Up to JACOBIAN_FLUSH samples are summed in `real` (the member `waiting`); these sums
 * are then added to totals in double. Both are in the thread's local memory, because the
 * loop over pairs needs the registers.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_DERIVATIVES_JACOBIAN_BACK_H
#define NB_GPU_TEXT_DERIVATIVES_JACOBIAN_BACK_H

#include "gpu/text/derivatives/jacobian_pairs.h"

/* The totals of a pixel: first JACOBIAN_TOTALS, then sums that wait until the pixel
 * (SUM_BRAGG: F^2) or the layer is done. The sums of a layer are the cotangents of its
 * samples' places (SUM_PLACE), these times the offsets from the part's middle (SUM_BY_FAST,
 * SUM_BY_SLOW), and the cotangent of its capture. */
enum {
    SUM_BRAGG = JACOBIAN_TOTALS,
    SUM_PLACE,
    SUM_BY_FAST = SUM_PLACE + 3,
    SUM_BY_SLOW = SUM_BY_FAST + 3,
    SUM_CAPTURE = SUM_BY_SLOW + 3,
    JACOBIAN_SUMS,
    /* From here on: values, not sums, that keep() saves for one sample. */
    KEPT_WEIGHT = JACOBIAN_SUMS, /* weight of the sub-pixel */
    KEPT_FALL, /* displacement and dmin of the current source */
    KEPT_POLAR, /* polarization of the current source */
    KEPT_D, /* cotangent of the direction, without the weight of the sub-pixel */
    KEPT_SUM = KEPT_D + 3, /* sum of F^2, without the weight of the sub-pixel */
    KEPT_RATIO, /* distance of the sample over the distance of the middle */
    JACOBIAN_WAITING,
    JACOBIAN_FLUSH = 256 /* largest number of samples summed in `real` */
};

/* The state of a thread, saved from step to step. */
struct jacobian_thread {
    struct pixel pixel;
    double photons, factor; /* photons = factor times the sum of weighted F^2 */
    double total[JACOBIAN_SUMS];
    real waiting[JACOBIAN_WAITING];
};

PHYS_FN void jacobian_thread_start(struct jacobian_thread *own, struct pixel pixel)
{
    own->pixel = pixel;
    own->photons = own->factor = 0;
    BLOCK_ROLLED
    for (int i = 0; i < JACOBIAN_SUMS; i++) {
        own->total[i] = 0;
        own->waiting[i] = 0;
    }
}

/* Saves a number (KEPT_WEIGHT and so on) that a thread needs again after a loop over pairs.
 * The number is in memory, so that it takes no register in the loop. */
PHYS_FN void keep(struct jacobian_thread *own, int i, real value)
{
    *(volatile real *)(own->waiting + i) = value;
}

PHYS_FN real kept(const struct jacobian_thread *own, int i)
{
    return *(const volatile real *)(own->waiting + i);
}

PHYS_FN void join(struct jacobian_thread *own, int first, int n)
{
    BLOCK_ROLLED
    for (int i = first; i < first + n; i++) {
        own->total[i] += (double)own->waiting[i];
        own->waiting[i] = 0;
    }
}

/* Adds the pending sums of numbers of the given kinds to the totals. */
PHYS_FN void join_numbers(struct jacobian_thread *own, int kinds)
{
    const unsigned long long which = phys_numbers_of(kinds);

    BLOCK_ROLLED
    for (int i = 0; i < PHYS_NUMBERS; i++)
        if (which >> i & 1) join(own, SUM_NUMBERS + i, 1);
}

/* Returns the pending sums of the cotangents of the frame's numbers. */
PHYS_FN real *waiting_numbers(struct jacobian_thread *own)
{
    return own->waiting + SUM_NUMBERS;
}

/* Adds the pending sums to the totals. Numbers of the kinds PHYS_PLACE and PHYS_SCALE are
 * never pending: they are added to the totals at once. */
PHYS_FN void flush(struct jacobian_spec spec, const struct gpu_derivatives_parameters *p,
                   struct jacobian_thread *own)
{
    const int lattice = spec.spec.shape == PHYS_SQUARE ? PHYS_CELLS : PHYS_WIDTH;

    join(own, SUM_BRAGG, JACOBIAN_SUMS - SUM_BRAGG);
    join(own, SUM_LIST, p->moving ? p->n : p->turning);
    join_numbers(own, PHYS_FACTOR | (spec.strain ? PHYS_STRAIN : 0)
                          | (spec.crystal ? lattice : 0));
}

/* Adds the part of the derivative along each tangent that comes from source `index`. */
PHYS_FN void add_source(const struct gpu_derivatives_parameters *p, int index,
                        const struct phys_source_bar *bar, struct jacobian_thread *own)
{
    if (!p->moving) return;
    for (int i = 0; i < p->n; i++)
        if (p->moving >> i & 1)
            own->waiting[SUM_LIST + i] +=
                phys_source_bar_inner(bar, p->dot[i].source + index);
}

/* ---- a sample ---- */

/* The position of a sample. */
struct jacobian_place {
    const struct part *part;
    struct sample_place at;
    struct sample sample;
};

PHYS_FN struct jacobian_place jacobian_place(const struct gpu_derivatives_parameters *p,
                                             const struct jacobian_shared *shared,
                                             const struct pixel *x, int sub, int layer)
{
    struct jacobian_place place;

    place.part = shared->tile.part + x->part;
    place.at = place_of(p->image.frame.oversample, x, sub);
    place.sample = sample_at(&p->image, &shared->tile, place.part, place.at, layer);
    return place;
}

PHYS_FN struct phys_vec3 direction_of(const struct jacobian_place *place)
{
    return phys_axpy(1, place->part->patch.d, place->sample.step);
}

/* Returns the distance of the sample from the crystal, as struct phys_point holds it. */
PHYS_FN real distance_of(const struct phys_frame *frame, const struct jacobian_place *place)
{
    return frame->surface == PHYS_CURVED
               ? (real)frame->distance
               : (real)place->part->patch.distance * place->sample.ratio;
}

/* Propagates the cotangent of a sample's solid angle; solid_angle_bar is as in
 * phys_solid_angle_vjp(). */
PHYS_FN void solid_angle_vjp(const struct phys_frame *frame,
                             const struct jacobian_shared *shared,
                             const struct jacobian_place *place, real solid_angle_bar,
                             struct phys_point_bar *bar, struct jacobian_thread *own)
{
    phys_solid_angle_vjp(frame, &shared->tile.view.detector, distance_of(frame, place),
                         solid_angle_bar, bar, waiting_numbers(own));
}

PHYS_FN void capture_vjp(const struct jacobian_shared *shared,
                         const struct jacobian_place *place, int layer, real capture_bar,
                         struct phys_point_bar *bar, struct jacobian_thread *own)
{
    phys_capture_vjp(&shared->tile.view.detector,
                     sample_point(&shared->tile, place->part, place->sample), (real)layer,
                     capture_bar, bar, waiting_numbers(own));
}

/* Propagates the cotangent of a source's polarization, if the whole pixel has the
 * polarization of one sample. */
PHYS_FN void polarization_vjp(const struct gpu_derivatives_parameters *p, int index,
                              struct phys_vec3 d, real polar_bar,
                              struct phys_point_bar *bar, struct jacobian_thread *own)
{
    struct phys_source_bar source_bar = phys_source_bar_zero();

    phys_polarization_vjp(&p->image.frame, index, d, polar_bar, 1, &bar->d,
                          waiting_numbers(own), &source_bar);
    add_source(p, index, &source_bar, own);
}

/* Propagates the cotangents of a sample's direction and distance to its place, and adds the
 * result to the sums of the layer. */
PHYS_FN void place_vjp(const struct phys_frame *frame, const struct jacobian_place *place,
                       struct phys_point_bar bar, struct jacobian_thread *own)
{
    const real per = 1 / ((real)place->part->patch.distance * place->sample.ratio);
    const struct phys_vec3 v =
        phys_place_vjp(frame->surface == PHYS_CURVED, direction_of(place), per, bar,
                       waiting_numbers(own));

    phys_add_vec3(own->waiting + SUM_PLACE, v);
    phys_add_vec3(own->waiting + SUM_BY_FAST, phys_scale(place->at.fast, v));
    phys_add_vec3(own->waiting + SUM_BY_SLOW, phys_scale(place->at.slow, v));
}

/* ---- a source ---- */

/* Saves the factors of a source for a sample. Returns their product with the source's
 * weight. */
PHYS_FN real keep_factors(const struct phys_frame *frame, const struct tile_shared *shared,
                          int t, struct phys_vec3 step, struct jacobian_thread *own)
{
    const struct phys_square *square = shared->square + t;
    real fall = 1, polar = 1;

    if (phys_differs_by_source(frame)) {
        const real change = phys_square_change(square, step);

        fall =
            frame->dmin > 0 && square->beyond + change > 0
                ? 0
                : phys_displacement(phys_displacement_b(frame), square->at_middle + change);
        if (frame->each_polar && frame->polarised)
            polar = polarization_at(frame, shared->source[t],
                                    shared->part + own->pixel.part, step);
    }
    keep(own, KEPT_FALL, fall);
    keep(own, KEPT_POLAR, polar);
    return (real)frame->source[shared->source[t]].weight * fall * polar;
}

/* Completes source `index`, whose pairs in a chunk have all been processed; d is the
 * direction of the sample. */
PHYS_FN void close_source(const struct jacobian_aim *aim,
                          const struct gpu_derivatives_parameters *p, int index,
                          struct phys_vec3 d, struct jacobian_sums *sums,
                          struct jacobian_thread *own)
{
    struct phys_source_bar source_bar = phys_source_bar_zero();
    struct phys_source_sums of_source;
    struct phys_vec3 d_bar = phys_vec3(0, 0, 0);
    real weight_bar;

    of_source.f2 = sums->f2;
    of_source.slope = sums->slope;
    of_source.fall = kept(own, KEPT_FALL);
    of_source.polar = kept(own, KEPT_POLAR);
    of_source.weight = kept(own, KEPT_WEIGHT);
    weight_bar = phys_source_vjp(&p->image.frame, index, d, aim->way, &of_source, &d_bar,
                                 waiting_numbers(own), &source_bar);
    add_source(p, index, &source_bar, own);
    keep(own, KEPT_D, kept(own, KEPT_D) + d_bar.x);
    keep(own, KEPT_D + 1, kept(own, KEPT_D + 1) + d_bar.y);
    keep(own, KEPT_D + 2, kept(own, KEPT_D + 2) + d_bar.z);
    keep(own, KEPT_SUM, kept(own, KEPT_SUM) + weight_bar);
    sums->f2 = 0;
    sums->slope = phys_vec3(0, 0, 0);
}

PHYS_ASSERT(PHYS_LAST_ncells - PHYS_AT_ncells + 1 == PHYS_CELLS_NUMBERS
                && PHYS_LAST_metric - PHYS_AT_metric + 1 == JACOBIAN_CRYSTAL
                && PHYS_LAST_fudge == PHYS_AT_fudge,
            "lattice_slopes() computes the derivatives of close_sums() in this order");

/* Adds the derivatives of F^2 by the metric (hh kk ll hk hl kl) and by the fudge factor.
 * The array `by` holds the derivatives by the metric, divided by the fudge factor. The
 * array serves both, because F^2 depends on metric and fudge only through fudge rho^2, and
 * rho^2 is linear in the metric. */
PHYS_FN void close_width(const struct phys_crystal *c, real weight,
                         const real by[JACOBIAN_CRYSTAL], real *number)
{
    JACOBIAN_UNROLLED
    for (int i = 0; i < 6; i++) number[PHYS_AT_metric + i] += weight * c->fudge * by[i];
    number[PHYS_AT_fudge] += weight
                             * (c->hh * by[0] + c->kk * by[1] + c->ll * by[2]
                                + c->hk * by[3] + c->hl * by[4] + c->kl * by[5]);
}

/* Adds the sums over all sources of a sub-pixel to the pending sums. */
PHYS_FN void close_sums(struct jacobian_spec spec, const struct jacobian_shared *shared,
                        const struct jacobian_sums *sums, struct jacobian_thread *own)
{
    const real weight = kept(own, KEPT_WEIGHT);
    real *number = waiting_numbers(own);

    if (spec.strain) {
        JACOBIAN_UNROLLED
        for (int i = 0; i < 9; i++) number[PHYS_AT_strain + i] += weight * sums->strain[i];
    }
    if (spec.crystal && spec.spec.shape == PHYS_SQUARE) {
        JACOBIAN_UNROLLED
        for (int i = 0; i < PHYS_CELLS_NUMBERS; i++)
            number[PHYS_AT_ncells + i] += weight * sums->crystal[i];
    } else if (spec.crystal)
        close_width(&shared->tile.view.crystal, weight, sums->crystal, number);
    JACOBIAN_UNROLLED
    for (int d = 0; d < spec.turns; d++)
        own->waiting[SUM_LIST + d] += weight * sums->rotation[d];
}

/* The position of a sample and its layer. */
struct jacobian_site {
    const struct gpu_derivatives_parameters *p;
    const struct jacobian_shared *shared;
    struct jacobian_place place;
    int layer;
};

/* Completes a sample: propagates the cotangents of its factors and of its place. */
PHYS_FN void close_sample(const struct jacobian_site *site, struct jacobian_thread *own)
{
    const struct phys_frame *frame = &site->p->image.frame;
    const struct tile_shared *tile = &site->shared->tile;
    const real weight = kept(own, KEPT_WEIGHT);
    const real all = kept(own, KEPT_SUM); /* cotangent of the sub-pixel's weight */
    struct phys_point_bar bar = {{0, 0, 0}, 0};

    own->waiting[SUM_BRAGG] += weight * all;
    bar.d = phys_vec3(weight * kept(own, KEPT_D), weight * kept(own, KEPT_D + 1),
                      weight * kept(own, KEPT_D + 2));
    if (frame->each_omega)
        solid_angle_vjp(frame, site->shared, &site->place, weight * all, &bar, own);
    if (frame->layer_mu != 0) {
        const real omega =
            frame->each_omega
                ? phys_solid_angle(&tile->view.detector,
                                   sample_point(tile, site->place.part, site->place.sample))
                : 1;

        if (frame->each_capture)
            capture_vjp(site->shared, &site->place, site->layer, omega * all, &bar, own);
        else /* the layer has the capture of its first sub-pixel */
            own->waiting[SUM_CAPTURE] += omega * all;
    }
    place_vjp(frame, &site->place, bar, own);
}

/* ---- a layer ---- */

/* Propagates the sums of a layer's places to the numbers of the detector. */
PHYS_FN void close_places(const struct phys_frame *frame, const struct part *part,
                          int layer, struct jacobian_thread *own)
{
    double *total = own->total;
    struct phys_place_sums sums;

    for (int k = 0; k < 3; k++) {
        sums.place[k] = total[SUM_PLACE + k];
        sums.fast[k] = total[SUM_BY_FAST + k] + part->fast * sums.place[k];
        sums.slow[k] = total[SUM_BY_SLOW + k] + part->slow * sums.place[k];
        total[SUM_PLACE + k] = total[SUM_BY_FAST + k] = total[SUM_BY_SLOW + k] = 0;
    }
    phys_places_vjp(frame, layer, phys_layer_depth(frame, layer), &sums,
                    total + SUM_NUMBERS, 1);
}

/* Completes a layer whose samples have all been processed. */
PHYS_FN void close_layer(struct jacobian_spec spec,
                         const struct gpu_derivatives_parameters *p,
                         const struct jacobian_shared *shared, int layer,
                         struct jacobian_thread *own)
{
    const struct phys_frame *frame = &p->image.frame;

    flush(spec, p, own);
    if (frame->layer_mu != 0 && !frame->each_capture) {
        const struct jacobian_place place =
            jacobian_place(p, shared, &own->pixel, 0, layer);
        struct phys_point_bar bar = {{0, 0, 0}, 0};

        capture_vjp(shared, &place, layer, (real)own->total[SUM_CAPTURE], &bar, own);
        place_vjp(frame, &place, bar, own);
        own->total[SUM_CAPTURE] = 0;
        flush(spec, p, own);
    }
    close_places(frame, shared->tile.part + own->pixel.part, layer, own);
}

#endif
