/*
 * pixel.h - the sum over all samples of one pixel: layers x sub-pixels x sources x
 * orientations, in the order of docs/theory.md (1). A layer is one of the slices of the
 * sensor; a sub-pixel is one of the oversample x oversample squares of a pixel; a sample is
 * one sub-pixel in one layer, seen by one source and orientation.
 *
 * Solid angle, polarization and capture vary slowly between samples. Unless the frame
 * asks for every sample, they are evaluated once, as in nanoBragg: the solid angle at the
 * first sub-pixel of the first layer, the capture at the first sub-pixel of each layer,
 * the polarization at the first sample that dmin lets through.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_PIXEL_H
#define NB_PHYSICS_PIXEL_H

#include "amorphous.h"
#include "displacement.h"
#include "pixel_position.h"
#include "polarization.h"
#include "step.h"

/* The frame in `real`, converted once per kernel. */
struct phys_view {
    struct phys_detector detector;
    struct phys_crystal crystal;
    struct phys_box box;
};

PHYS_FN struct phys_view phys_view(const struct phys_frame *frame)
{
    struct phys_view v;

    v.detector = phys_detector(frame);
    v.crystal = phys_crystal(frame);
    v.box = phys_box(frame);
    return v;
}

/* Returns 1 when some factor of F^2 differs between sources and samples. */
PHYS_FN int phys_differs_by_source(const struct phys_frame *frame)
{
    return frame->dmin > 0 || phys_is_displaced(frame)
           || (frame->each_polar && frame->polarised);
}

/* Returns 1 when some factor of F^2 differs between samples but not between sources. */
PHYS_FN int phys_differs_by_sample(const struct phys_frame *frame)
{
    return frame->each_omega || (frame->layer_mu != 0 && !frame->last_capture);
}

/* Returns 1 for a flat detector without a sensor, one solid angle and one polarization for
 * all samples of a pixel, and an amorphous material of constant F. */
PHYS_FN int phys_pixels_are_simple(const struct phys_frame *f)
{
    return f->surface == PHYS_FLAT && f->layer_mu == 0 && f->nlayers == 1 && f->dmin == 0
           && !f->each_omega && (!f->each_polar || !f->polarised)
           && (f->amorphous_scale == 0 || (!f->amorphous_in_samples && f->nstol == 0));
}

/* The sums of a pixel, and the factors that are evaluated once per pixel. */
struct phys_sums {
    real bragg;
    real amorphous; /* sum of amorphous scattering, if computed at every sample */
    real centre; /* photons of amorphous scattering, if computed at the pixel's centre */
    real omega, polarization, capture;
    int lit; /* 1 once a sample that dmin lets through has fixed the polarization */
};

PHYS_FN struct phys_sums phys_sums_start(void)
{
    struct phys_sums s;

    s.bragg = s.amorphous = s.centre = 0;
    s.omega = s.polarization = s.capture = 1;
    s.lit = 0;
    return s;
}

/* Returns 1 when dmin lets a scattering vector of squared length q2 through. */
PHYS_FN int phys_passes_dmin(real dmin, real q2)
{
    return !(dmin > 0 && dmin * dmin * q2 > 1);
}

/* Adds the samples of source `index` at one sub-pixel in direction d, multiplied by
 * `weight`, to the sums of the pixel. */
PHYS_FN void phys_pixel_source(struct phys_spec spec, const struct phys_frame *frame,
                               const struct phys_view *view, struct phys_vec3 d, int index,
                               real weight, struct phys_sums *sums)
{
    const struct phys_source *source = frame->source + index;
    const struct phys_vec3 incident = phys_load(source->direction);
    const struct phys_vec3 q =
        phys_scattering(d, incident, (real)source->inverse_wavelength);
    const real q2 = phys_dot(q, q);
    const int passes = phys_passes_dmin((real)frame->dmin, q2);
    real polar = 1, sum = 0;

    if (frame->polarised)
        polar = phys_polarization((real)frame->kahn, incident, phys_load(source->e),
                                  phys_load(source->b), d);
    if (frame->each_polar)
        weight *= polar;
    else if (passes && !sums->lit) {
        sums->polarization = polar;
        sums->lit = 1;
    }
    weight *= (real)source->weight;
    if (frame->amorphous_in_samples) {
        const real f = phys_amorphous(frame, sqrt(q2) / 2);

        sums->amorphous += weight * f * f;
    }
    if (!passes) return;
    for (int i = 0; i < frame->norientation; i++) {
        const struct phys_anchor anchor = phys_anchor_none(frame->orientation[i].axes);

        sum += (real)frame->orientation[i].weight
               * phys_step(spec, &view->crystal, &view->box, &anchor, q).f2;
    }
    sums->bragg += weight * phys_displacement(phys_displacement_b(frame), q2) * sum;
}

/* Returns the polarization of source `index` in direction d. */
PHYS_FN real phys_source_polarization(const struct phys_frame *frame, int index,
                                      struct phys_vec3 d)
{
    const struct phys_source *source = frame->source + index;

    if (!frame->polarised) return 1;
    return phys_polarization((real)frame->kahn, phys_load(source->direction),
                             phys_load(source->e), phys_load(source->b), d);
}

/* Returns the photons of the amorphous material in pixel (f, s) (docs/theory.md, 7). Solid
 * angle, polarization and capture are taken at the centre of the pixel, so that they do not
 * change with the number of sub-pixels; the frame's each_omega and each_polar still
 * hold. */
PHYS_FN real phys_pixel_amorphous(const struct phys_frame *frame,
                                  const struct phys_detector *det, int s, int f)
{
    const struct phys_point front =
        phys_sub_pixel(det, frame->oversample, s, f, -1, det->layer_offset);
    const real omega = phys_solid_angle(det, front);
    const real polar = phys_source_polarization(frame, 0, front.d);
    real sum = 0;

    for (int layer = 0; layer < frame->nlayers; layer++) {
        const struct phys_point point =
            phys_sub_pixel(det, frame->oversample, s, f, -1,
                           det->layer_offset + (real)layer * det->layer_step);
        const real weight = phys_capture(det, point, (real)layer)
                            * (frame->each_omega ? phys_solid_angle(det, point) : omega);

        for (int i = 0; i < frame->nsource; i++) {
            const struct phys_source *source = frame->source + i;
            const struct phys_vec3 q =
                phys_scattering(point.d, phys_load(source->direction),
                                (real)source->inverse_wavelength);
            const real amplitude = phys_amorphous(frame, sqrt(phys_dot(q, q)) / 2);

            sum +=
                weight * (real)source->weight * amplitude * amplitude
                * (frame->each_polar ? phys_source_polarization(frame, i, point.d) : polar);
        }
    }
    return (real)frame->amorphous_scale * sum;
}

/* Returns the photons of a pixel from its sums. */
PHYS_FN real phys_finish(const struct phys_frame *frame, struct phys_sums s)
{
    return ((real)frame->bragg_scale * s.bragg + (real)frame->amorphous_scale * s.amorphous)
               * s.omega * s.polarization * s.capture
           + s.centre;
}

/* Returns the sums of pixel (f, s) over all its samples. */
PHYS_FN struct phys_sums phys_pixel(struct phys_spec spec, const struct phys_frame *frame,
                                    const struct phys_view *view, int s, int f)
{
    const int n = frame->oversample;
    const struct phys_detector *det = &view->detector;
    struct phys_sums sums = phys_sums_start();
    real first_polar = 1;

    for (int layer = 0; layer < frame->nlayers; layer++) {
        const real depth = det->layer_offset + (real)layer * det->layer_step;
        real capture = 1;

        for (int sub = 0; sub < n * n; sub++) {
            const struct phys_point point = phys_sub_pixel(det, n, s, f, sub, depth);
            real weight = 1;

            if (layer == 0 && sub == 0) {
                first_polar = phys_source_polarization(frame, 0, point.d);
                if (!frame->each_omega) sums.omega = phys_solid_angle(det, point);
            }
            if (frame->each_omega) weight *= phys_solid_angle(det, point);
            if (sub == 0 || frame->each_capture)
                capture = phys_capture(det, point, (real)layer);
            if (frame->last_capture)
                sums.capture = capture;
            else
                weight *= capture;
            for (int i = 0; i < frame->nsource; i++)
                phys_pixel_source(spec, frame, view, point.d, i, weight, &sums);
        }
    }
    if (!frame->each_polar && !sums.lit)
        sums.polarization = frame->dark_polar ? 0 : first_polar;
    if (frame->amorphous_scale != 0 && !frame->amorphous_in_samples)
        sums.centre = phys_pixel_amorphous(frame, det, s, f);
    return sums;
}

#endif
