/* api/loss.c - see target.h. SPDX-License-Identifier: MIT */
#include "image/target.h"

#include <math.h>

#include "base/context.h"

nb_status loss_check(nb_context *ctx, const nb_target *target)
{
    if (!target || !target->observed)
        return fail(ctx, NB_ERR_ARGUMENT, "a loss needs observed photons to compare with");
    if (target->kind < NB_GAUSSIAN || target->kind > NB_HUBER)
        return fail(ctx, NB_ERR_ARGUMENT, "target.kind %d is none of enum nb_loss_kind",
                    target->kind);
    if (!(target->sigma_readout >= 0) || !(target->gain >= 0) || !(target->delta >= 0))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "sigma_readout %g, gain %g and delta %g of a target must not be "
                    "negative",
                    target->sigma_readout, target->gain, target->delta);
    return NB_OK;
}

static struct loss poisson(double photons, double observed)
{
    struct loss r = {photons, 1, 0};

    if (observed != 0) {
        r.value -= photons > 0 ? observed * log(photons) : -INFINITY;
        r.slope -= observed / photons;
    }
    r.curvature = photons > 0 ? 1 / photons : 0;
    return r;
}

/* a normal distribution of variance photons/gain + sigma^2 */
static struct loss readout(const nb_target *target, double photons, double observed)
{
    const double gain = target->gain > 0 ? target->gain : 1;
    const double v = photons / gain + target->sigma_readout * target->sigma_readout;
    const double off = photons - observed;
    struct loss r;

    r.value = v > 0 ? (off * off / v + log(v)) / 2 : INFINITY;
    r.slope = off / v + (1 - off * off / v) / (2 * v * gain);
    r.curvature = 1 / v;
    return r;
}

static struct loss huber(const nb_target *target, double off)
{
    const double delta = target->delta > 0 ? target->delta : 1;
    struct loss r = {off * off / 2, off, 1};

    if (fabs(off) < delta) return r;
    r.value = delta * fabs(off) - delta * delta / 2;
    r.slope = off < 0 ? -delta : delta;
    r.curvature = 0;
    return r;
}

struct loss loss_pixel(const nb_target *target, double photons, double observed,
                       double weight)
{
    const double off = photons - observed;
    struct loss r = {off * off / 2, off, 1};

    if (weight == 0) {
        r.value = r.slope = r.curvature = 0;
        return r;
    }
    if (target->kind == NB_POISSON) r = poisson(photons, observed);
    if (target->kind == NB_POISSON_READOUT) r = readout(target, photons, observed);
    if (target->kind == NB_HUBER) r = huber(target, off);
    r.value *= weight;
    r.slope *= weight;
    r.curvature *= weight;
    return r;
}
