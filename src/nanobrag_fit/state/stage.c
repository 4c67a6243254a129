/*
 * stage.c - finds the stage that a track has reached, and which of its two attempts is
 * better.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_fit/fit.h"

/* Mosaic spreads of broadened spots, degree. Each stage brings the spots near enough for
 * the next stage. */
static const double coarse[] = {1, 1. / 3, 1. / 9};
enum { NCOARSE = sizeof coarse / sizeof *coarse };

/* Returns 1 if a track (fit.h) begins with broadened spots. */
static int is_coarse(const nb_fit *fit, const struct fit_track *track)
{
    const int may = fit->can_broaden && (fit->alone || !fit->was_alone);

    return may && (fit->options.coarse == NB_COARSE_ON || track->attempt == 1);
}

size_t track_scale(const nb_fit *fit, const struct fit_track *track)
{
    if (fit->alone)
        return fit->own_scale == SIZE_MAX
                   ? SIZE_MAX
                   : fit_index(&fit->layout, (size_t)(track - fit->track), fit->own_scale);
    if (fit->was_alone) return SIZE_MAX;
    if (fit->shared_scale != SIZE_MAX || fit->layout.nshot > 1) return fit->shared_scale;
    return fit->own_scale;
}

struct fit_stage track_stage(const nb_fit *fit, const struct fit_track *track)
{
    const int first = is_coarse(fit, track) ? NCOARSE : 0;
    const int has_scale = track_scale(fit, track) != SIZE_MAX;
    const int stage = track->stage - has_scale;

    if (stage < 0) return (struct fit_stage){first ? coarse[0] : 0, NB_FIT_WIDTHS_HELD, 1};
    if (stage < first) return (struct fit_stage){coarse[stage], NB_FIT_COARSE, 0};
    return (struct fit_stage){0, stage == first ? NB_FIT_WIDTHS_HELD : NB_FIT_ALL_FREE, 0};
}

int track_is_prelude(const nb_fit *fit)
{
    return fit_begins_alone(fit) && !fit->alone && !fit->was_alone;
}

int track_ended_prelude(const nb_fit *fit)
{
    return track_is_prelude(fit) && fit->track->stage > 0;
}

/* Returns 1 if the kept end of attempt 0 is better than attempt 1. Attempt 0 counts while
 * attempt 1 has only a loss of broadened spots, which cannot be compared; a fresh track
 * still has such a loss. */
int track_kept_is_better(const nb_fit *fit, const struct fit_track *track)
{
    if (track->attempt != 1) return 0;
    return track->fresh || track_stage(fit, track).kind == NB_FIT_COARSE
           || fit->kept_track[track - fit->track].loss < track->loss;
}

double track_loss(const nb_fit *fit, const struct fit_track *track)
{
    return track_kept_is_better(fit, track) ? fit->kept_track[track - fit->track].loss
                                            : track->loss;
}
