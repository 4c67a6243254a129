/*
 * loss_at.h - what the photons of a pixel are compared with, and what that says: the
 * formulas of image/target.h as text of the kernels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_LOSS_AT_H
#define NB_GPU_TEXT_LOSS_AT_H

#include "gpu/text/derivatives/derivatives_parameters.h"

/* the loss of a pixel, and its first and second derivative, as in image/target.h */
struct pixel_loss {
    double value, slope, curvature;
};

PHYS_FN double image_at(const struct gpu_image *image, long long at, double none)
{
    if (image->wide) return image->wide[at];
    return image->single ? (double)image->single[at] : none;
}

PHYS_FN struct pixel_loss poisson_loss(double photons, double observed)
{
    struct pixel_loss r = {photons, 1, 0};

    if (observed != 0) {
        r.value -= observed * log(photons > 0 ? photons : 0.0);
        r.slope -= observed / photons;
    }
    r.curvature = photons > 0 ? 1 / photons : 0;
    return r;
}

/* a normal distribution of variance photons/gain + sigma^2 */
PHYS_FN struct pixel_loss readout_loss(const struct gpu_target *target, double photons,
                                       double off)
{
    const double gain = target->gain;
    const double v = photons / gain + target->sigma_readout * target->sigma_readout;
    struct pixel_loss r;

    r.value = v > 0 ? (off * off / v + log(v)) / 2 : -log(0.0);
    r.slope = off / v + (1 - off * off / v) / (2 * v * gain);
    r.curvature = 1 / v;
    return r;
}

PHYS_FN struct pixel_loss huber_loss(double delta, double off)
{
    struct pixel_loss r = {off * off / 2, off, 1};

    if (fabs(off) < delta) return r;
    r.value = delta * fabs(off) - delta * delta / 2;
    r.slope = off < 0 ? -delta : delta;
    r.curvature = 0;
    return r;
}

/* of a pixel that is rendered */
PHYS_FN struct pixel_loss loss_at(const struct gpu_target *target, double photons,
                                  long long at)
{
    const double observed = image_at(&target->observed, at, 0);
    const double weight = image_at(&target->weight, at, 1), off = photons - observed;
    struct pixel_loss r = {off * off / 2, off, 1};

    if (weight == 0) {
        r.value = r.slope = r.curvature = 0;
        return r;
    }
    if (target->kind == LOSS_POISSON) r = poisson_loss(photons, observed);
    if (target->kind == LOSS_POISSON_READOUT) r = readout_loss(target, photons, off);
    if (target->kind == LOSS_HUBER) r = huber_loss(target->delta, off);
    r.value *= weight;
    r.slope *= weight;
    r.curvature *= weight;
    return r;
}

#endif
