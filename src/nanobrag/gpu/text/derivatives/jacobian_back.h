/*
 * jacobian_back.h - from the slopes of a pixel's samples to those in the numbers of the
 * frame: source, sample and layer in turn, as kernels/lanes/lane_jacobian.h.
 *
 * What samples add to is small, so that it waits in `real` for a while; then it joins a
 * total in double. Both lie in memory that each thread has for itself, since the loop over
 * pairs needs the registers.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_DERIVATIVES_JACOBIAN_BACK_H
#define NB_GPU_TEXT_DERIVATIVES_JACOBIAN_BACK_H

#include "gpu/text/derivatives/jacobian_pairs.h"

/* totals of a pixel: those of JACOBIAN_TOTALS, then what waits until the pixel (F^2) or the
 * layer is done: cotangents of the places of its samples, also times their offsets from the
 * part's middle, and of its capture */
enum {
    SUM_BRAGG = JACOBIAN_TOTALS,
    SUM_PLACE,
    SUM_BY_FAST = SUM_PLACE + 3,
    SUM_BY_SLOW = SUM_BY_FAST + 3,
    SUM_CAPTURE = SUM_BY_SLOW + 3,
    JACOBIAN_SUMS,
    /* not sums, but kept of a sample: see keep() */
    KEPT_WEIGHT = JACOBIAN_SUMS, /* of the sub-pixel */
    KEPT_FALL, /* factors of the source at hand: displacement and dmin, polarization */
    KEPT_POLAR,
    KEPT_D, /* what the direction gets, without the weight of the sub-pixel */
    KEPT_SUM = KEPT_D + 3, /* F^2 without that */
    KEPT_RATIO, /* of its distance to that of the middle */
    JACOBIAN_WAITING,
    JACOBIAN_FLUSH = 256 /* samples that wait */
};

/* what a thread keeps from step to step */
struct jacobian_thread {
    struct pixel pixel;
    double photons, factor; /* that is, factor times the sum of weighted F^2 */
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

/* a number that a thread needs again behind a loop over pairs, which it shall not take a
 * register from: KEPT_WEIGHT and so on */
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

/* what waits joins the totals */
PHYS_FN void flush(struct jacobian_spec spec, const struct gpu_derivatives_parameters *p,
                   struct jacobian_thread *own)
{
    const struct phys_frame *frame = &p->image.frame;

    join(own, SUM_BRAGG, JACOBIAN_SUMS - SUM_BRAGG);
    join(own, SUM_LIST, p->moving ? p->n : p->turning);
    join(own, SUM_B_FACTOR, 1);
    if (spec.strain) join(own, SUM_STRAIN, 9);
    if (spec.crystal && spec.spec.shape == PHYS_SQUARE) join(own, SUM_NCELLS, 3);
    if (spec.crystal && spec.spec.shape != PHYS_SQUARE) {
        join(own, SUM_METRIC, 6);
        join(own, SUM_FUDGE, 1);
    }
    if (frame->each_omega || frame->each_polar || frame->layer_mu != 0 || frame->surface)
        join(own, SUM_NORMAL, SUM_KAHN - SUM_NORMAL + 1);
}

/* a member of three */
PHYS_FN void give(struct jacobian_thread *own, int at, struct phys_vec3 v)
{
    own->waiting[at] += v.x;
    own->waiting[at + 1] += v.y;
    own->waiting[at + 2] += v.z;
}

/* ---- a sample ---- */

/* what a sample's direction and distance get */
struct jacobian_sample {
    struct phys_vec3 d;
    real r;
};

/* where it lies */
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

/* cotangents of the solid angle, times it */
PHYS_FN void omega_rows(const struct phys_frame *frame, const struct jacobian_place *place,
                        real omega_bar, struct jacobian_sample *bar,
                        struct jacobian_thread *own)
{
    const int curved = frame->surface == PHYS_CURVED;
    const int square = curved || frame->point_pixel; /* 1/r^2, else 1/r^3 */
    const real r = curved ? (real)frame->distance
                          : (real)place->part->patch.distance * place->sample.ratio;

    bar->r += (square ? -2 : -3) * omega_bar / r;
    if (!square)
        own->waiting[SUM_CLOSE_DISTANCE] += omega_bar / (real)frame->close_distance;
    if (!frame->point_pixel) own->waiting[SUM_PIXEL] += 2 * omega_bar / (real)frame->pixel;
}

PHYS_FN void capture_rows(const struct jacobian_shared *shared,
                          const struct jacobian_place *place, int layer, real capture_bar,
                          struct jacobian_sample *bar, struct jacobian_thread *own)
{
    const struct phys_detector *det = &shared->tile.view.detector;
    const struct phys_point point = sample_point(&shared->tile, place->part, place->sample);
    const struct phys_capture_slopes s = phys_capture_slopes(det, point, (real)layer);
    const real cosine_bar = capture_bar * s.dcosine;

    bar->d = phys_axpy(cosine_bar, det->normal, bar->d);
    give(own, SUM_NORMAL, phys_scale(cosine_bar, point.d));
    own->waiting[SUM_LAYER_MU] += capture_bar * s.dmu;
}

/* cotangents of the polarization of a source; what the sources' own changes add is weighted
 * with `weight` */
PHYS_FN void polarization_rows(const struct gpu_derivatives_parameters *p, int index,
                               struct phys_vec3 d, real polar_bar, real weight,
                               struct jacobian_sample *bar, struct jacobian_thread *own)
{
    const struct phys_frame *frame = &p->image.frame;
    const struct phys_source *source = frame->source + index;
    const struct phys_polarization_slopes s =
        phys_polarization_slopes((real)frame->kahn, phys_load(source->direction),
                                 phys_load(source->e), phys_load(source->b), d);
    const real weighted = weight * polar_bar;

    if (!frame->polarised) return;
    bar->d = phys_axpy(polar_bar, s.dd, bar->d);
    own->waiting[SUM_KAHN] += weighted * s.dkahn;
    for (int i = 0; i < p->n; i++) {
        const struct phys_source *dot = p->dot[i].source + index;

        if (p->moving >> i & 1)
            own->waiting[SUM_LIST + i] +=
                weighted
                * (phys_dot(s.dincident, phys_load(dot->direction))
                   + phys_dot(s.de, phys_load(dot->e)) + phys_dot(s.db, phys_load(dot->b)));
    }
}

/* direction and distance to the places of the layer */
PHYS_FN void place_rows(const struct phys_frame *frame, const struct jacobian_place *place,
                        struct jacobian_sample bar, struct jacobian_thread *own)
{
    const int curved = frame->surface == PHYS_CURVED;
    const struct phys_vec3 d = direction_of(place);
    const real per = 1 / ((real)place->part->patch.distance * place->sample.ratio);
    const real along = (curved ? 0 : bar.r) - per * phys_dot(d, bar.d);
    const struct phys_vec3 v = phys_axpy(along, d, phys_scale(per, bar.d));

    give(own, SUM_PLACE, v);
    give(own, SUM_BY_FAST, phys_scale(place->at.fast, v));
    give(own, SUM_BY_SLOW, phys_scale(place->at.slow, v));
    if (curved) own->waiting[SUM_DISTANCE] += bar.r;
}

/* ---- a source ---- */

/* factors of a source and a sample, kept; returns their product with its weight */
PHYS_FN real keep_factors(const struct phys_frame *frame, const struct tile_shared *shared,
                          int t, struct phys_vec3 step, struct jacobian_thread *own)
{
    const struct phys_square *square = shared->square + t;
    real fall = 1, polar = 1;

    if (per_source(frame)) {
        const real change = phys_square_change(square, step);

        fall = frame->dmin > 0 && square->beyond + change > 0
                   ? 0
                   : phys_displacement((real)frame->b_factor, square->at_middle + change);
        if (frame->each_polar && frame->polarised)
            polar = polarization_at(frame, shared->source[t],
                                    shared->part + own->pixel.part, step);
    }
    keep(own, KEPT_FALL, fall);
    keep(own, KEPT_POLAR, polar);
    return (real)frame->source[shared->source[t]].weight * fall * polar;
}

/* what a source's own change along each tangent adds. `share`: its factors but its weight
 */
PHYS_FN void along_source(const struct gpu_derivatives_parameters *p, int index,
                          struct phys_vec3 way, real share,
                          const struct jacobian_sums *sums, struct jacobian_thread *own)
{
    const struct phys_source *source = p->image.frame.source + index;
    const real weight = (real)source->weight;
    const real along_way = phys_dot(sums->slope, way);

    for (int i = 0; i < p->n; i++) {
        const struct phys_source *dot = p->dot[i].source + index;
        const real stretch = (real)(dot->inverse_wavelength / source->inverse_wavelength);

        if (p->moving >> i & 1)
            own->waiting[SUM_LIST + i] +=
                share
                * (weight
                       * (stretch * along_way
                          - phys_dot(sums->slope, phys_load(dot->direction)))
                   + (real)dot->weight * sums->f2);
    }
}

/* all pairs of source `index` in a chunk are done; d: direction of the sample */
PHYS_FN void close_source(const struct jacobian_aim *aim,
                          const struct gpu_derivatives_parameters *p, int index, real unit,
                          struct phys_vec3 d, struct jacobian_sums *sums,
                          struct jacobian_thread *own)
{
    const struct phys_frame *frame = &p->image.frame;
    const struct phys_vec3 way = aim->way;
    const real unit2 = unit * unit, f2 = sums->f2, weighted = aim->share * f2;
    const real weight = kept(own, KEPT_WEIGHT), fall = kept(own, KEPT_FALL);
    struct jacobian_sample bar = {{0, 0, 0}, 0};

    own->waiting[SUM_B_FACTOR] -= weight * weighted * (unit2 / 2) * phys_dot(way, way);
    sums->slope = phys_axpy(-(real)frame->b_factor * unit2 * f2, way, sums->slope);
    if (p->moving)
        along_source(p, index, way, weight * fall * kept(own, KEPT_POLAR), sums, own);
    bar.d = phys_scale(aim->share, sums->slope);
    if (frame->each_polar)
        polarization_rows(p, index, d, fall * f2 * (real)frame->source[index].weight,
                          weight, &bar, own);
    keep(own, KEPT_D, kept(own, KEPT_D) + bar.d.x);
    keep(own, KEPT_D + 1, kept(own, KEPT_D + 1) + bar.d.y);
    keep(own, KEPT_D + 2, kept(own, KEPT_D + 2) + bar.d.z);
    keep(own, KEPT_SUM, kept(own, KEPT_SUM) + weighted);
    sums->f2 = 0;
    sums->slope = phys_vec3(0, 0, 0);
}

/* the sums over all sources of a sub-pixel */
PHYS_FN void close_sums(struct jacobian_spec spec, const struct jacobian_sums *sums,
                        struct jacobian_thread *own)
{
    const real weight = kept(own, KEPT_WEIGHT);
    const int crystal = spec.spec.shape == PHYS_SQUARE ? SUM_NCELLS : SUM_METRIC;

    if (spec.strain) {
        JACOBIAN_UNROLLED
        for (int i = 0; i < 9; i++)
            own->waiting[SUM_STRAIN + i] += weight * sums->strain[i];
    }
    JACOBIAN_UNROLLED
    for (int i = 0; i < crystal_slopes(spec); i++)
        own->waiting[crystal + i] += weight * sums->crystal[i];
    JACOBIAN_UNROLLED
    for (int d = 0; d < spec.turns; d++)
        own->waiting[SUM_LIST + d] += weight * sums->rotation[d];
}

/* where a sample lies, in which layer */
struct jacobian_site {
    const struct gpu_derivatives_parameters *p;
    const struct jacobian_shared *shared;
    struct jacobian_place place;
    int layer;
};

/* the factors of a sample and its place */
PHYS_FN void close_sample(const struct jacobian_site *site, struct jacobian_thread *own)
{
    const struct phys_frame *frame = &site->p->image.frame;
    const struct tile_shared *tile = &site->shared->tile;
    const real weight = kept(own, KEPT_WEIGHT);
    const real all = kept(own, KEPT_SUM); /* cotangent of the weight */
    struct jacobian_sample bar = {{0, 0, 0}, 0};

    own->waiting[SUM_BRAGG] += weight * all;
    bar.d = phys_vec3(weight * kept(own, KEPT_D), weight * kept(own, KEPT_D + 1),
                      weight * kept(own, KEPT_D + 2));
    if (frame->each_omega) omega_rows(frame, &site->place, weight * all, &bar, own);
    if (frame->layer_mu != 0) {
        const real omega =
            frame->each_omega
                ? phys_solid_angle(&tile->view.detector,
                                   sample_point(tile, site->place.part, site->place.sample))
                : 1;

        if (frame->each_capture)
            capture_rows(site->shared, &site->place, site->layer, omega * all, &bar, own);
        else /* taken at the first sub-pixel of the layer */
            own->waiting[SUM_CAPTURE] += omega * all;
    }
    place_rows(frame, &site->place, bar, own);
}

/* ---- a layer ---- */

/* the places of a layer to the numbers of the detector, as frame_adjoint_places() */
PHYS_FN void close_places(const struct phys_frame *frame, const struct part *part,
                          int layer, struct jacobian_thread *own)
{
    const double over = frame->oversample, sub = frame->pixel / over;
    double *total = own->total;

    BLOCK_ROLLED
    for (int k = 0; k < 3; k++) {
        const double at = total[SUM_PLACE + k], normal = frame->normal[k];
        const double along = total[SUM_BY_FAST + k] + part->fast * at;
        const double down = total[SUM_BY_SLOW + k] + part->slow * at;

        total[SUM_PIX0 + k] += at;
        total[SUM_FAST + k] += sub * along;
        total[SUM_SLOW + k] += sub * down;
        total[SUM_NORMAL + k] += depth_of(frame, layer) * at;
        total[SUM_PIXEL] += (frame->fast[k] * along + frame->slow[k] * down) / over;
        total[SUM_LAYER_OFFSET] += normal * at;
        total[SUM_LAYER_STEP] += layer * (normal * at);
        total[SUM_PLACE + k] = total[SUM_BY_FAST + k] = total[SUM_BY_SLOW + k] = 0;
    }
}

/* all samples of a layer are done */
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
        struct jacobian_sample bar = {{0, 0, 0}, 0};

        capture_rows(shared, &place, layer, (real)own->total[SUM_CAPTURE], &bar, own);
        place_rows(frame, &place, bar, own);
        own->total[SUM_CAPTURE] = 0;
        flush(spec, p, own);
    }
    close_places(frame, shared->tile.part + own->pixel.part, layer, own);
}

#endif
