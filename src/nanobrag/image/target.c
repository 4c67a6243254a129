/* target.c - checks a target and fills its defaults. SPDX-License-Identifier: MIT */
#include "image/target.h"

#include <math.h>

#include "base/context.h"

/* Checks that the loss has a minimum with respect to the planes of background. */
static nb_status check_planes(nb_context *ctx, const nb_target *target)
{
    if (target->background != NB_BACKGROUND_PLANES)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "target.background %d is neither 0 nor NB_BACKGROUND_PLANES",
                    target->background);
    if (target->kind == NB_LOSS_READOUT && !(target->sigma_readout > 0))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "planes and read-out noise need a -readout above 0, since a plane of 0 "
                    "leaves pixels without variance (target.sigma_readout)");
    return NB_OK;
}

nb_status target_check(nb_context *ctx, const nb_target *target)
{
    if (!target || !target->observed)
        return fail(ctx, NB_ERR_ARGUMENT, "a loss needs observed photons to compare with");
    if (target->kind < NB_LOSS_GAUSS || target->kind > NB_LOSS_CAUCHY)
        return fail(ctx, NB_ERR_ARGUMENT, "target.kind %d is none of enum nb_loss_kind",
                    target->kind);
    if (!(target->sigma_readout >= 0) || !(target->gain >= 0) || !(target->delta >= 0)
        || !(target->saturation >= 0))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "sigma_readout %g, gain %g, delta %g and saturation %g of a target "
                    "must not be negative",
                    target->sigma_readout, target->gain, target->delta, target->saturation);
    return target->background ? check_planes(ctx, target) : NB_OK;
}

struct phys_loss_model target_model(const nb_target *target)
{
    static const int kinds[] = {[NB_LOSS_GAUSS] = PHYS_LOSS_GAUSSIAN,
                                [NB_LOSS_POISSON] = PHYS_LOSS_POISSON,
                                [NB_LOSS_READOUT] = PHYS_LOSS_POISSON_READOUT,
                                [NB_LOSS_HUBER] = PHYS_LOSS_HUBER,
                                [NB_LOSS_CAUCHY] = PHYS_LOSS_CAUCHY};
    const struct phys_loss_model model = {kinds[target->kind], target->sigma_readout,
                                          target->gain > 0 ? target->gain : 1,
                                          target->delta > 0 ? target->delta : 1,
                                          target->saturation > 0 ? target->saturation
                                                                 : INFINITY};

    return model;
}
