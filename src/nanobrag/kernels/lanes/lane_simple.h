/*
 * lane_simple.h - the factors of simple pixels: on a flat detector without a sensor, with
 * one solid angle and one polarization for all samples of a pixel, and with an amorphous
 * material of constant F. The photons of such a pixel are
 *
 *     bragg x omega x polarization at its first sample
 *         + amorphous x omega x polarization at its centre.
 *
 * It is compiled with lanes.c and lanes_vjp.c, once per instruction set and precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_SIMPLE_H
#define NB_KERNELS_LANES_LANE_SIMPLE_H

#include "kernels/lanes/lane_sums.h"

/* Sets product[i] to solid angle times polarization at an offset from the corner of pixel
 * i, in sub-pixels. The solid angle is phys_solid_angle() without a division for each lane:
 * it follows from the distance of the middle over the distance of the sample. */
PHYS_FN void products_at(int small, const struct launch *a, real fast, real slow,
                         const struct lanes *l, real *restrict product)
{
    const struct phys_frame *frame = a->frame;
    const struct phys_source *source = frame->source;
    const struct phys_vec3 incident = phys_load(source->direction);
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const real kahn = (real)frame->kahn;
    const real polarised = frame->polarised && !frame->each_polar ? 1 : 0;
    const struct phys_patch patch = l->patch;
    const real tilted = a->view.detector.point_pixel ? 0 : 1,
               close = 1 / (real)patch.distance;
    const real at_middle = a->view.detector.area * close * close
                           * (tilted != 0 ? a->view.detector.close_distance * close : 1);

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_place at =
            phys_patch_place(small, &patch, fast + l->fast[i], slow + l->slow[i]);
        const real near = at.per_ratio, oblique = (1 - tilted) + tilted * near;
        const real polar =
            phys_polarization(kahn, incident, e, b, phys_axpy(1, patch.d, at.step));

        product[i] =
            at_middle * near * near * oblique * ((1 - polarised) + polarised * polar);
    }
}

/* Sets `product` to solid angle times polarization at sub-pixel `sub` of every pixel, or at
 * the pixel's centre (sub = -1), in the patch of l. */
PHYS_FN void lane_products(const struct launch *a, int sub, const struct lanes *l,
                           real *product)
{
    real fast, slow;

    lane_sample_offset(a->frame->oversample, sub, &fast, &slow);
    if (l->small)
        products_at(1, a, fast, slow, l, product);
    else
        products_at(0, a, fast, slow, l, product);
}

#endif
