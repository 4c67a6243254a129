/*
 * loss.h - the loss of a pixel and its first and second derivative by the photons, for the
 * host and for the kernels of a device. <nanobrag/simulator.h> documents the formulas. The
 * loss is computed in double, because a loss is summed over all pixels, and without a call
 * of the mathematical library, so that loops over pixels can be vectorised.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_LOSS_H
#define NB_PHYSICS_LOSS_H

#include "physics/noise/precise.h"

enum phys_loss_kind {
    PHYS_LOSS_GAUSSIAN,
    PHYS_LOSS_POISSON,
    PHYS_LOSS_POISSON_READOUT,
    PHYS_LOSS_HUBER,
    PHYS_LOSS_CAUCHY
};

/* How photons are compared with observed ones: the members of struct nb_target, with
 * defaults filled in. */
struct phys_loss_model {
    int kind; /* enum phys_loss_kind */
    double sigma_readout, gain, delta;
    double saturation; /* photons; infinite if the target gives none */
};

struct phys_loss {
    double value, slope, curvature;
};

/* Computed photons below this count as 0. So one over the photons, and its products with
 * photons and derivatives, stay in the range of double. */
#define PHYS_FAINTEST 0x1p-900
#define PHYS_LN2      0.69314718055994530942
#define PHYS_INFINITY phys_from_bits(0x7ff0000000000000ULL)

/* Returns ln x, or -infinity if x is not greater than 0. A subnormal x is scaled up
 * first, because phys_precise_log() needs a normal number. */
PHYS_FN double phys_loss_log(double x)
{
    const int small = x < 0x1p-1000;
    const double scaled = small ? x * 0x1p64 : x;
    const double r = phys_precise_log(x > 0 ? scaled : 1) - (small ? 64 * PHYS_LN2 : 0);

    return x > 0 ? r : -PHYS_INFINITY;
}

/* Returns the Poisson loss, half a deviance. Near the observed photons it is a small
 * difference of large terms. To keep its digits there, the logarithm is computed as ln(1 +
 * t) of the relative difference t, and corrected for the part of t that the sum 1 + t
 * loses. The loss is infinite if photons were observed but none are computed. The curvature
 * 1/I is then set to 0: a normal matrix multiplies it by the square of a derivative of I,
 * which goes to 0 faster than I. */
PHYS_FN struct phys_loss phys_loss_poisson(double photons, double observed)
{
    const int some = fabs(photons) >= PHYS_FAINTEST;
    const double per_photon = some ? 1 / photons : 0, off = photons - observed;
    const int near = fabs(off) < 0.5 * observed;
    const double t = (near ? off : some ? photons : 0) / observed, sum = 1 + t;
    const double ratio = near ? sum : fabs(t), lost = near ? (sum - 1) - t : 0;
    struct phys_loss r;

    r.value = off - (observed != 0 ? observed * (phys_loss_log(ratio) - lost) : 0);
    r.slope = 1 - (observed != 0 ? observed * per_photon : 0);
    r.curvature = photons > 0 ? per_photon : 0;
    return r;
}

/* Returns minus the log-likelihood of a normal distribution of variance photons/gain +
 * sigma^2, less its value at the observed photons if their variance is not 0. */
PHYS_FN struct phys_loss phys_loss_readout(double sigma, double gain, double photons,
                                           double observed)
{
    const double v = photons / gain + sigma * sigma, off = photons - observed;
    const double counted = (observed > 0 ? observed : 0) / gain + sigma * sigma;
    const double ratio = v / (counted > 0 ? counted : 1);
    struct phys_loss r;

    r.value =
        v >= PHYS_FAINTEST ? (off * off / v + phys_loss_log(ratio)) / 2 : PHYS_INFINITY;
    r.slope = off / v + (1 - off * off / v) / (2 * v * gain);
    r.curvature = 1 / v;
    return r;
}

/* Returns Huber's loss of off = photons - observed. The curvature is not the second
 * derivative, which is 0 beyond delta and would give a fit from far away no step. With this
 * curvature as its weight, least squares would have the same slope. */
PHYS_FN struct phys_loss phys_loss_huber(double delta, double off)
{
    const int inside = fabs(off) < delta;
    struct phys_loss r;

    r.value = inside ? off * off / 2 : delta * fabs(off) - delta * delta / 2;
    r.slope = inside ? off : copysign(delta, off);
    r.curvature = inside ? 1 : delta / fabs(off);
    return r;
}

/* Returns Cauchy's loss of off = photons - observed; the curvature is chosen as in
 * phys_loss_huber(). */
PHYS_FN struct phys_loss phys_loss_cauchy(double delta, double off)
{
    const double t = off / delta, u = t * t, sum = 1 + u;
    struct phys_loss r;

    /* ln(1 + u), corrected for the part of a small u that the sum 1 + u loses */
    r.value = delta * delta / 2 * (phys_loss_log(sum) - ((sum - 1) - u) / sum);
    r.slope = off / sum;
    r.curvature = 1 / sum;
    return r;
}

/* Returns the loss of a pixel, times `weight`. All three members are 0 if the weight is 0,
 * or if the pixel was observed saturated and the photons exceed the saturation. */
PHYS_FN struct phys_loss phys_loss(struct phys_loss_model model, double photons,
                                   double observed, double weight)
{
    const int is_full = observed >= model.saturation;
    const double y = is_full ? model.saturation : observed, off = photons - y;
    const int counts = weight != 0 && !(is_full && off > 0);
    struct phys_loss r = {off * off / 2, off, 1};

    if (model.kind == PHYS_LOSS_POISSON) r = phys_loss_poisson(photons, y);
    if (model.kind == PHYS_LOSS_POISSON_READOUT)
        r = phys_loss_readout(model.sigma_readout, model.gain, photons, y);
    if (model.kind == PHYS_LOSS_HUBER) r = phys_loss_huber(model.delta, off);
    if (model.kind == PHYS_LOSS_CAUCHY) r = phys_loss_cauchy(model.delta, off);
    r.value = counts ? weight * r.value : 0;
    r.slope = counts ? weight * r.slope : 0;
    r.curvature = counts ? weight * r.curvature : 0;
    return r;
}

#endif
