/*
 * lane_pixels.h - the last step of the adjoint by spots where pixels are simple
 * (lane_simple.h). The photons are then bragg x first + amorphous x centre, where `first`
 * and `centre` are solid angle times polarization at two places. The cotangents of these
 * two products are enough for all cotangents of the detector and of the polarization.
 * lanes_vjp.c has the general case. The functions are compiled with lanes_vjp.c in double
 * only, and the lanes in float call them, for the reason that lane_amorphous.h gives.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_PIXELS_H
#define NB_KERNELS_LANES_LANE_PIXELS_H

#include "kernels/lanes/lane_back.h"

#define CLOSE_PIXELS_JOINED(kernels) kernels##_close_pixels
#define CLOSE_PIXELS_OF(kernels)     CLOSE_PIXELS_JOINED(kernels)
#define CLOSE_PIXELS                 CLOSE_PIXELS_OF(KERNELS_IN_DOUBLE)
extern tile_close CLOSE_PIXELS;

#ifndef PHYS_SINGLE

/* Places sub-pixel `sub` of every pixel, or the pixel's centre (sub = -1). Computes solid
 * angle and polarization there, and sets `product` to their product. */
static void place_pixels(const struct launch *a, int sub, struct lanes *l, double *product)
{
    const double depth = phys_layer_depth(a->frame, 0);

    place_patch(a, depth, l);
    lane_place_samples(a, sub, depth, l);
    first_polarization(a->frame, l);
    lane_fill(l->n, l->omega, 1);
    times_omega(a, l, l->omega);
    lane_multiply_to(l->n, l->omega, l->polarization, product);
}

/* Propagates `bright`, the cotangents of the product of solid angle and polarization, to
 * the detector and to the first source. */
static void pixels_back(const struct launch *a, const struct lanes *l, const double *bright,
                        struct phys_frame_tangent *bar)
{
    const struct phys_frame *frame = a->frame;
    const struct phys_source *source = frame->source;
    const struct pixel_frame of = {frame->polarised ? 1 : 0,
                                   frame->kahn,
                                   omega_is_square(frame) ? -2 : -3,
                                   phys_load(source->direction),
                                   phys_load(source->e),
                                   phys_load(source->b)};
    struct pixel_sums sums;
    struct phys_place_sums at;

    MOMENTS.pixels(l, &of, bright, &sums);
    lane_place_sums(a, l, sums.place, sums.fast, sums.slow, &at);
    frame_adjoint_places(frame, 0, l->depth, 1, &at, bar);
    if (!omega_is_square(frame)) bar->close_distance += sums.omega / frame->close_distance;
    if (!frame->point_pixel) bar->pixel += 2 * sums.omega / frame->pixel;
    if (!frame->polarised) return;
    bar->kahn += sums.kahn;
    for (int k = 0; k < 3; k++) {
        bar->source->direction[k] += sums.incident[k];
        bar->source->e[k] += sums.e[k];
        bar->source->b[k] += sums.b[k];
    }
}

/* Adds the cotangents of amorphous_scale and of the sources' weights. `sum` is the sum over
 * pixels of the photons' cotangents times solid angle and polarization. */
static void amorphous_scales(const struct job *job, double sum,
                             struct phys_frame_tangent *bar)
{
    const struct phys_frame *frame = job->frame;
    const double each = frame->amorphous_scale * frame->amorphous_f * frame->amorphous_f;

    bar->amorphous_scale += amorphous_of_sources(frame) * sum;
    if (job->fixed & PHYS_FIXED_PIXELS) return;
    for (int i = 0; i < frame->nsource; i++) bar->source[i].weight += each * sum;
}

/* The state of a tile in CLOSE_PIXELS(). */
struct pixels_scratch {
    struct lanes l, at_centre;
    struct cotangent p;
    _Alignas(64) wide first, centre, bright, f2;
};
_Static_assert(sizeof(struct pixels_scratch) <= TILE_SCRATCH, "scratch memory of a tile");

double CLOSE_PIXELS(const struct job *job, const struct tile *tile, double factor,
                    const struct objective *objective, const double *sums,
                    struct phys_frame_tangent *bar, double *weight, double *photons)
{
    const struct phys_frame *frame = job->frame;
    const struct launch a = launch_of(frame, tile);
    const struct accumulator to = {bar, NULL};
    const int apart = frame->amorphous_scale != 0 && frame->oversample > 1;
    const int moved = frame->amorphous_scale != 0 && !(job->fixed & PHYS_FIXED_PIXELS);
    const double bragg = factor * frame->bragg_scale;
    const double amorphous = frame->amorphous_scale * amorphous_of_sources(frame);
    struct pixels_scratch *const scratch = job->scratch;
    struct lanes *const l = &scratch->l, *const at_centre = &scratch->at_centre;
    double *const first = scratch->first, *const centre = scratch->centre;
    double *const bright = scratch->bright, *const f2 = scratch->f2;
    struct cotangent *const p = &scratch->p;
    double value;

    memset(f2, 0, sizeof scratch->f2);
    memcpy(f2, sums, sizeof *sums * (size_t)a.shown.n);
    take_tile(&a, l);
    place_pixels(&a, 0, l, first);
    if (apart) {
        take_tile(&a, at_centre);
        place_pixels(&a, -1, at_centre, centre);
    } else {
        memcpy(centre, first, sizeof *centre * (size_t)l->n);
    }
#pragma omp simd
    for (int i = 0; i < l->n; i++)
        photons[i] = bragg * f2[i] * first[i] + amorphous * centre[i];
    value = objective_tile(objective, job, tile, photons, p->photons_bar, NULL);
    for (int i = 0; weight && i < l->n; i++)
        weight[i] = p->photons_bar[i] * bragg * first[i];
    if (!(job->fixed & PHYS_FIXED_PIXELS)) {
#pragma omp simd
        for (int i = 0; i < l->n; i++)
            bright[i] = p->photons_bar[i] * (bragg * f2[i] + (apart ? 0 : amorphous));
        pixels_back(&a, l, bright, bar);
    }
    if (moved && apart) {
#pragma omp simd
        for (int i = 0; i < l->n; i++) bright[i] = p->photons_bar[i] * amorphous;
        pixels_back(&a, at_centre, bright, bar);
    }
    if (frame->amorphous_scale != 0 && job->fixed != (PHYS_FIXED_PIXELS | PHYS_FIXED_SCALE))
        amorphous_scales(job, MOMENTS.product(l->n, p->photons_bar, centre), bar);
    lane_multiply_to(l->n, f2, first, bright);
    lane_scales(job->spec, frame, factor, l->n, p, bright, &to);
    return objective->linear ? MOMENTS.product(l->n, p->photons_bar, photons) : value;
}

#endif

#endif
