/*
 * weights_block.h - the weights of the samples of a sub-pixel: solid angle, capture,
 * polarization, displacement and dmin, as far as the frame requires them at every sample.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_WEIGHTS_BLOCK_H
#define NB_GPU_TEXT_WEIGHTS_BLOCK_H

#include "gpu/text/tile_block.h"

/* Returns the product of the factors that the frame requires at every sample and that all
 * sources share. Unless capture is required at every sample, all samples of a layer have
 * the capture of its first sub-pixel. */
PHYS_FN real weight_at(const struct gpu_parameters *p, const struct tile_shared *shared,
                       const struct pixel *x, int sub, int layer)
{
    const struct phys_frame *frame = &p->frame;
    const struct phys_detector *det = &shared->view.detector;
    const struct part *part = shared->part + x->part;
    const int n = frame->oversample;
    struct sample at = sample_at(p, shared, part, place_of(n, x, sub), layer);
    real weight = 1;

    if (frame->each_omega) weight = phys_solid_angle(det, sample_point(shared, part, at));
    if (frame->layer_mu == 0 || frame->last_capture) return weight;
    if (!frame->each_capture) at = sample_at(p, shared, part, place_of(n, x, 0), layer);
    return weight * phys_capture(det, sample_point(shared, part, at), (real)layer);
}

PHYS_FN real polarization_at(const struct phys_frame *frame, int source,
                             const struct part *part, struct phys_vec3 step)
{
    return phys_source_polarization(frame, source, phys_axpy(1, part->patch.d, step));
}

/* Returns the other factors of a sample, for the source of slot t: the weight of the source
 * and, if the frame requires them, polarization, displacement and dmin. Used if
 * phys_differs_by_source(). */
PHYS_FN real source_share(const struct phys_frame *frame, const struct tile_shared *shared,
                          int part, int t, struct phys_vec3 step)
{
    const struct phys_square *square = shared->square + t;
    const int source = shared->source[t];
    const real change = phys_square_change(square, step);
    real share = (real)frame->source[source].weight;

    if (frame->dmin > 0 && square->beyond + change > 0) return 0;
    if (frame->each_polar && frame->polarised)
        share *= polarization_at(frame, source, shared->part + part, step);
    return share
           * phys_displacement(phys_displacement_b(frame), square->at_middle + change);
}

#endif
