/* policy.c - strategy and instruction set of a simulator. SPDX-License-Identifier: MIT */
#include "base/context.h"
#include "compile/compile.h"

nb_status policy_kernels(nb_context *ctx, const nb_options *options,
                         const struct kernels **kernels, int *strategy)
{
    static const nb_options defaults = {0};

    if (!options) options = &defaults;
    if (options->precision != NB_DOUBLE)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "options.precision is %d; this version computes in double (%d)",
                    options->precision, NB_DOUBLE);
    if (ctx->options.compile == NB_COMPILE_REQUIRE)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "the context requires compiled mode, which this version has not got");
    if (!(options->tolerance >= 0 && options->tolerance < 1))
        return fail(ctx, NB_ERR_ARGUMENT, "options.tolerance is %g, expected 0 to 1",
                    options->tolerance);
    switch (options->strategy) {
    case NB_REFERENCE:
        *kernels = &kernels_reference;
        *strategy = NB_REFERENCE;
        return NB_OK;
    case NB_STRATEGY_AUTO:
    case NB_LANES:
        *kernels = kernels_lanes(ctx->env.isa);
        *strategy = NB_LANES;
        if (*kernels) return NB_OK;
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "NANOBRAG_ISA=%s is not among what this machine can run: %s",
                    ctx->env.isa, kernels_lanes_names());
    case NB_SPOTS:
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "options.strategy NB_SPOTS is not in this version; use NB_LANES");
    default:
        return fail(ctx, NB_ERR_ARGUMENT, "options.strategy %d is none of enum nb_strategy",
                    options->strategy);
    }
}
