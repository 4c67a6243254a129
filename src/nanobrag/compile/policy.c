/*
 * policy.c - chooses kernels by the options and the machine, and the strategy by estimates.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/policy.h"

#include <math.h>

#include "base/context.h"
#include "kernels/spots/spots.h"

static nb_status use_reference(nb_context *ctx, struct policy *out)
{
    static const struct kernel_set reference = {.precise = &kernels_reference,
                                                .adjoint_precise =
                                                    &adjoint_kernels_reference};

    if (out->precision == NB_PRECISION_SINGLE)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "options.strategy NB_STRATEGY_REFERENCE computes in double, not with "
                    "options.precision NB_PRECISION_SINGLE");
    if (ctx->options.compile == NB_COMPILE_REQUIRE)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "compiled mode is required, but options.strategy NB_STRATEGY_REFERENCE "
                    "never "
                    "runs compiled");
    out->kernels = out->all = reference;
    return NB_OK;
}

static nb_status use_lanes(nb_context *ctx, struct policy *out)
{
    out->kernels = kernels_lanes(ctx->env.isa);
    if (!out->kernels.precise)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "NANOBRAG_ISA=%s is no instruction set of this machine, which has: %s",
                    ctx->env.isa, kernels_lanes_names());
    if (out->precision == NB_PRECISION_DOUBLE) out->kernels.single = NULL;
    out->all = out->kernels;
    return NB_OK;
}

nb_status policy_kernels(nb_context *ctx, const nb_options *options, struct policy *out)
{
    static const nb_options defaults = {0};

    if (!options) options = &defaults;
    if (options->precision != NB_PRECISION_DOUBLE
        && options->precision != NB_PRECISION_SINGLE)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "options.precision %d is none of enum nb_precision",
                    options->precision);
    if (ctx->options.compile == NB_COMPILE_REQUIRE && ctx->env.disable_compile)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "the context requires compiled mode, which %s=1 turns off",
                    ctx->env.disabled_by);
    if (!(options->tolerance >= 0 && options->tolerance < 1))
        return fail(ctx, NB_ERR_ARGUMENT, "options.tolerance is %g, expected 0 to 1",
                    options->tolerance);
    out->precision = options->precision;
    out->tolerance = options->tolerance > 0                      ? options->tolerance
                     : options->precision == NB_PRECISION_SINGLE ? 1e-5
                                                                 : 1e-10;
    out->tolerance_given = options->tolerance > 0;
    out->strategy = options->strategy;
    out->why = "asked for";
    switch (options->strategy) {
    case NB_STRATEGY_REFERENCE:
        return use_reference(ctx, out);
    case NB_STRATEGY_AUTO:
    case NB_STRATEGY_LANES:
    case NB_STRATEGY_SPOTS:
        return use_lanes(ctx, out);
    default:
        return fail(ctx, NB_ERR_ARGUMENT, "options.strategy %d is none of enum nb_strategy",
                    options->strategy);
    }
}

/* If the spots fill a larger fraction of reciprocal space, finding them costs more than
 * summing every sample. */
static const double full = 1.0 / 3;

/* Nanoseconds per sample in lanes, on the core for which kernels/spots/spots.c states
 * costs. */
static const double per_sample = 4, per_sample_single = 2;

static void choose_strategy(struct policy *policy, const struct phys_frame *frame,
                            int panels, struct phys_spec spec, double samples,
                            double around)
{
    const double pairs = (double)frame->nsource * frame->norientation;
    const double share = spots_share(frame, spec, policy->tolerance);
    const double lanes =
        samples * pairs * (policy->kernels.single ? per_sample_single : per_sample);

    policy->lanes_work = lanes;
    policy->spots_work = INFINITY;
    policy->strategy = NB_STRATEGY_LANES;
    if (spec.shape == PHYS_SQUARE || spec.shape == PHYS_ROUND)
        policy->why = "spots of this crystal shape extend over all of reciprocal space";
    else if (share > full)
        policy->why =
            "at this tolerance the spots fill more than a third of reciprocal space";
    else {
        policy->spots_work = spots_cost(frame, panels, spec, policy->tolerance,
                                        fmin(samples, around * share), 10 * lanes);
        policy->why = "to find the spots would cost more than to sum every sample";
        if (policy->spots_work > lanes) return;
        policy->strategy = NB_STRATEGY_SPOTS;
        policy->why = "the spots are few and fill less than a third of reciprocal space";
    }
}

/* A continuous crystal has only the strategy spots: its spots have closed forms, and there
 * are no domains to sum over. */
static void use_continuous(struct policy *policy)
{
    policy->automatic = 0;
    if (!policy->tolerance_given)
        policy->tolerance = policy->precision == NB_PRECISION_SINGLE ? 1e-5 : 1e-6;
    if (policy->strategy == NB_STRATEGY_REFERENCE) policy->all = kernels_lanes("scalar");
    if (policy->precision == NB_PRECISION_DOUBLE) policy->all.single = NULL;
    policy->kernels = policy->all;
    policy->strategy = NB_STRATEGY_SPOTS;
    policy->why = "the mosaic model gauss is computed spot by spot";
}

void policy_strategy(struct policy *policy, const struct phys_frame *frame, int panels,
                     struct phys_spec spec, double samples, double around)
{
    if (frame->continuous) {
        use_continuous(policy);
        return;
    }
    policy->automatic = policy->strategy == NB_STRATEGY_AUTO;
    if (policy->automatic) choose_strategy(policy, frame, panels, spec, samples, around);
    if (!policy->automatic && policy->strategy == NB_STRATEGY_SPOTS
        && (spec.shape == PHYS_SQUARE || spec.shape == PHYS_ROUND))
        policy->why = "requested, though spots of this crystal shape extend over all of "
                      "reciprocal space";
    if (policy->strategy == NB_STRATEGY_SPOTS && frame->surface == PHYS_CURVED_QUIRK) {
        policy->strategy = NB_STRATEGY_LANES;
        policy->why = "spots need a detector that is flat, or curved about the crystal";
        policy->spots_work = INFINITY;
    }
    policy_set_strategy(policy, policy->strategy, policy->why, frame, spec);
}

void policy_set_strategy(struct policy *policy, int strategy, const char *why,
                         const struct phys_frame *frame, struct phys_spec spec)
{
    policy->strategy = strategy;
    policy->why = why;
    policy->kernels = policy->all;
    if (policy->strategy == NB_STRATEGY_SPOTS && policy->kernels.single
        && spots_rounding(frame, spec, policy->tolerance) > policy->tolerance)
        policy->kernels.single = NULL;
}
