/* policy.c - strategy and instruction set of a simulator. SPDX-License-Identifier: MIT */
#include "base/context.h"
#include "compile/compile.h"

nb_status policy_kernels(nb_context *ctx, const nb_options *options, struct policy *out)
{
    static const nb_options defaults = {0};

    if (!options) options = &defaults;
    if (options->precision != NB_DOUBLE && options->precision != NB_SINGLE)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "options.precision %d is none of enum nb_precision",
                    options->precision);
    if (ctx->options.compile == NB_COMPILE_REQUIRE)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "the context requires compiled mode, which this version has not got");
    if (!(options->tolerance >= 0 && options->tolerance < 1))
        return fail(ctx, NB_ERR_ARGUMENT, "options.tolerance is %g, expected 0 to 1",
                    options->tolerance);
    out->precision = options->precision;
    out->tolerance = options->tolerance > 0            ? options->tolerance
                     : options->precision == NB_SINGLE ? 1e-5
                                                       : 1e-10;
    out->kernels = kernels_lanes(ctx->env.isa);
    if (!out->kernels.precise)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "NANOBRAG_ISA=%s is not among what this machine can run: %s",
                    ctx->env.isa, kernels_lanes_names());
    if (out->precision == NB_DOUBLE) out->kernels.single = NULL;
    switch (options->strategy) {
    case NB_REFERENCE:
        if (options->precision == NB_SINGLE)
            return fail(ctx, NB_ERR_UNSUPPORTED,
                        "options.strategy NB_REFERENCE computes in double only");
        out->kernels.precise = &kernels_reference;
        out->strategy = NB_REFERENCE;
        out->why = "asked for";
        return NB_OK;
    case NB_STRATEGY_AUTO:
        out->strategy = NB_LANES;
        out->why = "every sample of this shape counts";
        return NB_OK;
    case NB_LANES:
        out->strategy = NB_LANES;
        out->why = "asked for";
        return NB_OK;
    case NB_SPOTS:
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "options.strategy NB_SPOTS is not in this version; use NB_LANES");
    default:
        return fail(ctx, NB_ERR_ARGUMENT, "options.strategy %d is none of enum nb_strategy",
                    options->strategy);
    }
}
