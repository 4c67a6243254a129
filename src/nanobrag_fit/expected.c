/*
 * expected.c - finds the errors that a fit would have, before the experiment.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_fit/fit.h"

static nb_status evaluate(nb_fit *fit)
{
    struct fit_track *track = fit->track;

    fit->alone = 0;
    memcpy(fit->trial.x, fit->best.x, fit->layout.n * sizeof *fit->best.x);
    NB_TRY(fit_evaluate_all(fit, &fit->trial, FIT_ALL, &track->loss));
    fit_copy_point(fit, track, &fit->trial, &fit->best);
    track->fresh = 0;
    track->gain = 0;
    fit->passes = 1;
    fit->end = NB_FIT_CONVERGED;
    return fit_note_history(fit);
}

nb_status nb_fit_create_expected(nb_context *ctx, int64_t nshot, const nb_shot *shot,
                                 const nb_fit_options *options, nb_fit **out)
{
    STANDARD_FLOATS;
    nb_fit *fit;
    nb_status status;

    NB_TRY(fit_create(ctx, nshot, shot, options, 1, out));
    fit = *out;
    status = evaluate(fit);
    if (status == NB_OK) return NB_OK;
    nb_fit_free(fit);
    *out = NULL;
    return status;
}
