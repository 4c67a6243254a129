/*
 * loss.h - the loss of a pixel and its first and second derivative by the photons, for
 * the host and the kernels of a device. The formulas are documented in
 * <nanobrag/simulator.h>. They are computed in double, because a loss is summed over all
 * pixels. log() is that of the compiler's own library; it is called once a pixel, outside
 * of every vector loop.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_LOSS_H
#define NB_PHYSICS_LOSS_H

#include "phys.h"

enum phys_loss_kind {
    PHYS_LOSS_GAUSSIAN,
    PHYS_LOSS_POISSON,
    PHYS_LOSS_POISSON_READOUT,
    PHYS_LOSS_HUBER
};

/* How photons are compared with observed ones: the members of struct nb_target, with
 * defaults filled in. */
struct phys_loss_model {
    int kind; /* enum phys_loss_kind */
    double sigma_readout, gain, delta;
};

struct phys_loss {
    double value, slope, curvature;
};

/* Returns the Poisson loss. Its value is infinite where photons were observed but none
 * are computed. */
PHYS_FN struct phys_loss phys_loss_poisson(double photons, double observed)
{
    struct phys_loss r = {photons, 1, 0};

    if (observed != 0) {
        r.value -= photons > 0 ? observed * log(photons) : log(0.0);
        r.slope -= observed / photons;
    }
    r.curvature = photons > 0 ? 1 / photons : 0;
    return r;
}

/* Returns the loss of a normal distribution of variance photons/gain + sigma^2. */
PHYS_FN struct phys_loss phys_loss_readout(double sigma, double gain, double photons,
                                           double observed)
{
    const double v = photons / gain + sigma * sigma, off = photons - observed;
    struct phys_loss r;

    r.value = v > 0 ? (off * off / v + log(v)) / 2 : -log(0.0);
    r.slope = off / v + (1 - off * off / v) / (2 * v * gain);
    r.curvature = 1 / v;
    return r;
}

PHYS_FN struct phys_loss phys_loss_huber(double delta, double off)
{
    struct phys_loss r = {off * off / 2, off, 1};

    if (fabs(off) < delta) return r;
    r.value = delta * fabs(off) - delta * delta / 2;
    r.slope = off < 0 ? -delta : delta;
    r.curvature = 0;
    return r;
}

/* Returns the loss of a pixel. A weight of 0 makes all three members 0, whatever was
 * observed. */
PHYS_FN struct phys_loss phys_loss(struct phys_loss_model model, double photons,
                                   double observed, double weight)
{
    const double off = photons - observed;
    struct phys_loss r = {off * off / 2, off, 1};

    if (weight == 0) {
        r.value = r.slope = r.curvature = 0;
        return r;
    }
    if (model.kind == PHYS_LOSS_POISSON) r = phys_loss_poisson(photons, observed);
    if (model.kind == PHYS_LOSS_POISSON_READOUT)
        r = phys_loss_readout(model.sigma_readout, model.gain, photons, observed);
    if (model.kind == PHYS_LOSS_HUBER) r = phys_loss_huber(model.delta, off);
    r.value *= weight;
    r.slope *= weight;
    r.curvature *= weight;
    return r;
}

#endif
