/*
 * track.c - runs the loop of Levenberg and Marquardt on the parameters of one track,
 * through its stages. Each trial step is evaluated with gradient and matrix at once,
 * because most trials are accepted.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "nanobrag_fit/fit.h"

/* Damping as a fraction of the diagonal: first, least, most. Of 20 starts of gaussian
 * spots, turned by up to 0.15 degree, a first damping of 1e-3 led 3 into minima far above
 * the best; a first damping of 1 led none there. damping_most makes a step 1e-10 of an
 * error long. */
static const double damping_first = 1, damping_least = 1e-9, damping_most = 1e10;

/* A stage with held widths or broadened spots ends when it would gain less than this share
 * of the loss: the next stage finds the rest. */
static const double settled = 0.01;

/* The last stage of a shot that is fitted alone ends at this share of the loss: shared
 * parameters are held there, at values that may be wrong. */
static const double settled_alone = 1e-4;

/* Most passes with spots of one broadened width, and in any other stage of a shot that is
 * fitted alone. These stages need not settle. */
enum { COARSE_PASSES = 6, ALONE_PASSES = 20 };

/* If the scale is off by more than a factor too_low or too_high, it is fitted first. Spots
 * that miss the observed ones make a right scale seem too high; but then the missed spots
 * make up much of the loss, and a lower scale would gain little. If the scale really is too
 * high, the parabola at the start predicts at least half of the gain, and a gain of at
 * least share_too_high of the loss. */
static const double too_low = 2, too_high = 5, share_too_high = 0.48;
enum { SCALE_PASSES = 16 };

/* The misfit is measured once the predicted gain is below this share of the loss, or below
 * normal_units(). */
static const double nearly = 1e-4;

/* Loss per pixel above which a model is taken as wrong: half a deviance of 3/2, where a
 * right model has about 1. */
static const double bad_loss = 0.75;

/* ---- stages ---- */

int track_wants_misfit(const nb_fit *fit, const struct fit_track *track)
{
    if (fit->is_expected || fit->alone || track->fresh || track->misfit > 0) return 0;
    if (track->end != NB_FIT_NOT_RUN || fit->options.enough > 0) return 0;
    if (track_stage(fit, track).kind != NB_FIT_ALL_FREE) return 0;
    return track->gain < fmax(normal_units(fit), nearly * track->loss);
}

void track_begin(struct fit_track *track)
{
    *track = (struct fit_track){.fresh = 1,
                                .damping = damping_first,
                                .loss = INFINITY,
                                .gain = INFINITY};
}

/* ---- the end of a stage ---- */

/* Returns 1 if all shots together ended at the loss of a wrong model, so that another
 * attempt with broadened spots is worth its passes. */
static int is_bad(const nb_fit *fit, const struct fit_track *track)
{
    double pixels = 0;

    if (fit->alone || fit->was_alone || !fit->is_likelihood) return 0;
    for (size_t shot = 0; shot < fit->layout.nshot; shot++)
        if (!fit->left_out[shot]) pixels += (double)fit->pixels[shot];
    return track->loss > bad_loss * pixels;
}

int track_again(nb_fit *fit, struct fit_track *track)
{
    const struct fit_values s = fit_values_of(fit, track);

    if (fit->options.coarse != NB_COARSE_AUTO || track->attempt > 0 || !fit->can_broaden)
        return 0;
    choices_tell_again(fit, track->loss);
    fit->kept_track[track - fit->track] = *track;
    fit_copy_point(fit, track, &fit->best, &fit->kept);
    memcpy(fit->best.x + s.first, fit->start + s.first, s.n * sizeof *fit->start);
    track_begin(track);
    track->attempt = 1;
    return 1;
}

/* Ends the second attempt of a minimisation, and keeps the better end of its two
 * attempts. */
static void choose(nb_fit *fit, struct fit_track *track)
{
    if (track->attempt != 1) return;
    if (track_kept_is_better(fit, track)) fit_swap(fit, track);
    fit->kept_track[track - fit->track].attempt = 0;
    track->attempt = 2;
}

/* Ends a track, or begins its second attempt. Returns 1 if the track goes on. */
static int finish(nb_fit *fit, struct fit_track *track, int end)
{
    track->end = end;
    if (is_bad(fit, track) && track_again(fit, track)) return 1;
    choose(fit, track);
    return 0;
}

/* Returns the predicted gain below which a stage ends. */
static double enough_of(const nb_fit *fit, const struct fit_track *track)
{
    const int is_last = track_stage(fit, track).kind == NB_FIT_ALL_FREE;
    const double share = !is_last ? settled : fit->alone ? settled_alone : 0;

    return fmax(normal_enough(fit), share * track->loss);
}

/* Returns 1 if a stage has had its number of passes, settled or not. */
static int is_over(const nb_fit *fit, const struct fit_track *track)
{
    const int is_coarse_stage = track_stage(fit, track).kind == NB_FIT_COARSE;

    return (is_coarse_stage && track->passes >= COARSE_PASSES)
           || (fit->alone && track->passes >= ALONE_PASSES);
}

void track_check_end(nb_fit *fit, struct fit_track *track)
{
    if (track->fresh) return;
    track->gain = fit_step(fit, track, 0, 0, fit->step);
    if (track->end != NB_FIT_CONVERGED || track->gain < enough_of(fit, track)
        || is_over(fit, track))
        return;
    track->end = NB_FIT_NOT_RUN;
    track->damping = fmin(track->damping, damping_first);
}

/* ---- the scale ---- */

/* Returns 1 if the scale is still off by more than too_low or too_high. */
static int scale_is_far(nb_fit *fit, struct fit_track *track)
{
    const size_t i = track_scale(fit, track);
    const double now = fit->best.x[i];
    double to;

    track->gain = fit_step(fit, track, 0, 1, fit->step);
    to = now + fit->step[i];
    if (!(track->gain > normal_enough(fit))) return 0;
    return to > too_low * now
           || (to < now / too_high && track->gain > share_too_high * track->loss);
}

/* Warns, once in a fit, that a scale starts elsewhere than asked. */
static void tell_scale(nb_fit *fit, const struct fit_track *track)
{
    const size_t i = track_scale(fit, track);
    const int64_t shot = fit->value[i].shot;

    if (fit->told_scale || fit->best.x[i] == fit->start[i]) return;
    fit->told_scale = 1;
    log_line(fit->ctx, NB_LOG_WARNING, "fit",
             "the scale%s%s is far off: the fit starts it at %.4g, not at %.4g, as this "
             "gives the least loss with all other values fixed%s",
             shot < 0 ? "" : " of ", shot < 0 ? "" : fit->name[shot], fit->best.x[i],
             fit->start[i], fit->alone ? "; other shots may start likewise" : "");
}

/* Ends the stage that fits the scale once the scale is near. Returns 0 if it goes on. */
static int end_scale(nb_fit *fit, struct fit_track *track)
{
    const double broad = track_stage(fit, track).broad;

    if (scale_is_far(fit, track) && track->passes <= SCALE_PASSES
        && !(track->damping > damping_most))
        return 0;
    tell_scale(fit, track);
    if (track->passes > 1) { /* else the scale was never off, and nothing has changed */
        track->passes = 0;
        track->damping = damping_first;
    }
    track->stage++;
    track->fresh =
        !track_is_prelude(fit) && broad > 0 && track_stage(fit, track).broad != broad;
    return 1;
}

/* Ends the stages of a track that are over, and the track after its last stage. */
void track_advance(nb_fit *fit, struct fit_track *track)
{
    if (track->end == NB_FIT_NOT_RUN && !track->fresh && track_stage(fit, track).is_scale
        && !end_scale(fit, track))
        return;
    while (track->end == NB_FIT_NOT_RUN && !track->fresh && !track_ended_prelude(fit)) {
        const struct fit_stage stage = track_stage(fit, track);
        const int is_last = stage.kind == NB_FIT_ALL_FREE;
        const double enough = enough_of(fit, track);
        const int is_stuck = track->damping > damping_most;
        const int ends = is_over(fit, track);

        track->gain = fit_step(fit, track, 0, 0, fit->step);
        if (!(track->gain < enough) && !is_stuck && !ends) return;
        if (is_last) {
            if (!finish(fit, track,
                        track->gain < enough || ends ? NB_FIT_CONVERGED : NB_FIT_STUCK))
                return;
            continue;
        }
        track->stage++;
        track->passes = 0;
        track->damping = fmin(track->damping, damping_first);
        track->fresh = stage.broad > 0;
    }
}

/* ---- steps ---- */

int track_propose(nb_fit *fit, struct fit_track *track)
{
    if (track->fresh) return 1;
    for (;;) {
        /* the scale's step needs no damping until a step was refused */
        const double spare = track_stage(fit, track).is_scale ? damping_first : 0;
        const double damping = fmax(track->damping - spare, 0);

        track->predicted = fit_step(fit, track, damping, 1, fit->step);
        if (track->predicted > 0) return 1;
        /* a step that stopped at a bound may lead uphill; a shorter one does not */
        track->damping *= 10;
        track_advance(fit, track);
        if (track->end != NB_FIT_NOT_RUN) return 0;
        if (track->fresh) return 1;
    }
}

int track_judge(struct fit_track *track, double loss)
{
    const double ratio = (track->loss - loss) / track->predicted;
    const int is_lower = loss < track->loss;

    track->passes++;
    if (track->fresh) {
        track->fresh = 0;
        track->loss = loss;
        return 1;
    }
    if (isinf(loss))
        track->damping *= 10;
    else if (!(ratio > 0.25))
        track->damping *= 4;
    if (ratio > 0.75) track->damping = fmax(track->damping / 10, damping_least);
    if (is_lower) track->loss = loss;
    return is_lower;
}
