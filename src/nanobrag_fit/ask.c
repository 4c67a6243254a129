/*
 * ask.c - runs a fit as a sequence of requests: chooses the x that is evaluated next, and
 * takes the results. One process evaluates the requests here; exchange.c shares them out
 * among several processes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_fit/chart/cone.h"
#include "nanobrag_fit/fit.h"
#include "nanobrag_fit/outliers/outliers.h"

/* ---- the next request ---- */

/* Where the scale and all structure factors F are free, a factor common to all F can be
 * exchanged with the scales and changes no image. A step leaves one scale as it is. Here
 * the mean of F returns to its value at the start, and each scale is divided by the square
 * of the factor; nothing changes if a scale would leave its bounds. */
static void fix_gauge(nb_fit *fit)
{
    const struct fit_layout *l = &fit->layout;
    double before = 0, now = 0, factor;

    if (!fit->has_gauge) return;
    for (size_t f = 0; f < l->nf; f++) {
        before += fit->start[l->f[f]];
        now += fit->trial.x[l->f[f]];
    }
    factor = before / now;
    if (!(factor > 0) || isinf(factor)) return;
    for (size_t i = 0; i < l->n; i++) {
        const double scale = fit->trial.x[i] / (factor * factor);

        if (fit->is_scale[i] && !(scale >= fit->lower[i] && scale <= fit->upper[i])) return;
    }
    for (size_t f = 0; f < l->nf; f++) fit->trial.x[l->f[f]] *= factor;
    for (size_t i = 0; i < l->n; i++)
        if (fit->is_scale[i]) fit->trial.x[i] /= factor * factor;
}

/* Returns 1 if a track has not ended and its shot was not left out. */
static int goes_on(const nb_fit *fit, const struct fit_track *track)
{
    return track->end == NB_FIT_NOT_RUN
           && !(fit->alone && fit->left_out[track - fit->track]);
}

/* Sets the trial of each track that goes on. Returns the number of these tracks. */
static size_t propose(nb_fit *fit)
{
    size_t live = 0;

    for (size_t i = 0; i < fit_ntrack(fit); i++) {
        struct fit_track *track = fit->track + i;
        const struct fit_values s = fit_values_of(fit, track);

        if (!goes_on(fit, track) || !track_propose(fit, track)) continue;
        live++;
        /* only now, because track_propose() may have sent the track back to its start */
        memcpy(fit->trial.x + s.first, fit->best.x + s.first, s.n * sizeof *fit->best.x);
        if (track->fresh) continue;
        chart_trial(fit, s.first, s.n);
        if (!fit->alone) fix_gauge(fit);
    }
    return live;
}

static void end_at_limits(nb_fit *fit)
{
    if (fit->passes == 0) return;
    if (fit->run_passes >= fit->options.passes)
        fit->end = NB_FIT_PASSES;
    else if (fit->options.seconds > 0 && fit->seconds > fit->options.seconds)
        fit->end = NB_FIT_SECONDS;
}

/* Ends the stage that fits shots alone, unless some shots are to be fitted again. */
static nb_status begin_joint(nb_fit *fit)
{
    size_t again;

    NB_TRY(fit_judge_outliers(fit, &again));
    if (again > 0) {
        if (fit->rounds == OUTLIERS_ROUNDS) fit->rounds--;
        return NB_OK;
    }
    fit->alone = 0;
    fit->rounds = 0;
    fit->was_alone = 1;
    track_begin(fit->track);
    return NB_OK;
}

static nb_status check_left(nb_fit *fit)
{
    for (size_t shot = 0; shot < fit->layout.nshot; shot++)
        if (!fit->left_out[shot]) return NB_OK;
    return fail(fit->ctx, NB_ERR_ARGUMENT, "every shot failed, the first because %s",
                fit->left_out[0]);
}

/* Begins to fit each shot alone; the scale that all shots share is known by now. */
static void begin_alone(nb_fit *fit)
{
    fit->alone = 1;
    for (size_t shot = 0; shot < fit->layout.nshot; shot++) track_begin(fit->track + shot);
}

/* Requests the misfit (FIT_WEIGH) or the outliers (FIT_JUDGE) at the values found so
 * far. */
static nb_status look(nb_fit *fit, int beside)
{
    for (size_t i = 0; i < fit->layout.n; i++) fit->trial.x[i] = fit_value_now(fit, i);
    fit->beside = beside;
    return NB_OK;
}

/* Requests, one by one, the evaluations that errors need after the run has ended: the
 * misfit, then other draws of the mosaic domains. */
static void ask_at_end(nb_fit *fit)
{
    if (fit->end == NB_FIT_NOT_RUN || fit->is_expected || fit_knows_own_only(fit)) return;
    (void)look(fit, FIT_WEIGH);
    if (!misfit_is_known(fit, fit->trial.x)) return;
    fit->beside = draws_next(fit) ? FIT_DRAW : 0;
}

/* Sets the trial of the next request, or fit->end. */
static nb_status next(nb_fit *fit)
{
    NB_TRY(check_left(fit));
    fit->beside = 0;
    if (fit->reload == RELOAD_KEPT) fit_show_kept(fit, 1);
    memcpy(fit->trial.x, fit->best.x, fit->layout.n * sizeof *fit->best.x);
    if (fit->reload) return NB_OK;
    if (track_ended_prelude(fit)) begin_alone(fit);
    while (fit->alone) {
        if (outliers_are_due(fit)) return look(fit, FIT_JUDGE);
        if (propose(fit) > 0) {
            end_at_limits(fit);
            return NB_OK;
        }
        if (outliers_are_due(fit)) return look(fit, FIT_JUDGE);
        NB_TRY(begin_joint(fit));
    }
    if (outliers_are_due(fit)) return look(fit, FIT_JUDGE);
    if (track_wants_misfit(fit, fit->track)) return look(fit, FIT_WEIGH);
    if (propose(fit) > 0)
        end_at_limits(fit);
    else if (outliers_are_due(fit))
        return look(fit, FIT_JUDGE);
    else
        fit->end = fit->track->end;
    ask_at_end(fit);
    return NB_OK;
}

void fit_begin_run(nb_fit *fit)
{
    struct fit_track *track = fit->track;

    fit->run_passes = 0;
    fit->restart = clock_seconds(CLOCK_MONOTONIC);
    fit->seconds = 0;
    fit->end = NB_FIT_NOT_RUN;
    if (fit->alone || track->end == NB_FIT_NOT_RUN) return;
    if (track->end == NB_FIT_CONVERGED
        && (fit->options.enough == 0 || track->gain < fit->options.enough))
        return;
    track->end = NB_FIT_NOT_RUN;
    track->damping = fmin(track->damping, 1);
}

nb_status fit_ask(nb_fit *fit, int *is_done)
{
    choices_tell(fit);
    NB_TRY(fit_stopped(fit, next(fit)));
    *is_done = fit->end != NB_FIT_NOT_RUN && !fit->beside;
    if (*is_done && !fit_knows_own_only(fit)) fit_warn_of_held(fit);
    return NB_OK;
}

/* ---- the results of a request ---- */

static nb_status leave_out(nb_fit *fit, size_t shot, nb_status status)
{
    return fit_leave_out(fit, shot,
                         fit->failure[shot] ? fit->failure[shot] : nb_status_text(status));
}

/* Returns 1 if a trial failed because of where its step led: the loss is infinite or no
 * number there, or the scene is impossible. A fresh trial has no step. */
static int is_refused_step(const struct fit_track *track, nb_status status)
{
    return !track->fresh && (status == NB_ERR_DOMAIN || status == NB_ERR_ARGUMENT);
}

/* Judges the trial of a track, which becomes its best point if the loss is lower. */
static void take_track(nb_fit *fit, struct fit_track *track, int is_refused)
{
    const double loss = is_refused ? INFINITY : fit_loss_at(fit, track, &fit->trial);

    if (track_judge(track, loss)) fit_copy_point(fit, track, &fit->trial, &fit->best);
    track_advance(fit, track);
}

static nb_status take_alone(nb_fit *fit)
{
    for (size_t shot = 0; shot < fit->layout.nshot; shot++) {
        struct fit_track *track = fit->track + shot;
        const nb_status status = (nb_status)fit->trial.status[shot];

        if (!fit_wants(fit, shot, FIT_ASKED)) continue;
        if (status != NB_OK && !is_refused_step(track, status)) {
            NB_TRY(leave_out(fit, shot, status));
            continue;
        }
        take_track(fit, track, status != NB_OK);
    }
    return check_left(fit);
}

/* Leaves out shots that fail in the very first evaluation. In a later one, a failure caused
 * by the step refuses the step (*is_refused = 1), and any other failure ends the run. */
static nb_status check_joint(nb_fit *fit, int *is_refused)
{
    const int is_first = fit->passes == 0 && fit->layout.nshot > 1;

    *is_refused = 0;
    for (size_t shot = 0; shot < fit->layout.nshot; shot++) {
        const nb_status status = (nb_status)fit->trial.status[shot];

        if (fit->left_out[shot] || status == NB_OK) continue;
        if (is_first)
            NB_TRY(leave_out(fit, shot, status));
        else if (is_refused_step(fit->track, status))
            *is_refused = 1;
        else
            return fit_shot_failed(fit, &fit->trial);
    }
    return check_left(fit);
}

static nb_status take_joint(nb_fit *fit)
{
    int is_refused;

    NB_TRY(check_joint(fit, &is_refused));
    take_track(fit, fit->track, is_refused);
    return track_is_prelude(fit) ? NB_OK : fit_note_history(fit);
}

/* Takes a measured misfit. The gain that ends a fit is in units of the misfit; so if the
 * misfit was not known before, the track is judged anew. */
static void take_weighed(nb_fit *fit)
{
    struct fit_track *track = fit->track;
    struct fit_verdict verdict;

    misfit_take(fit);
    if (fit->end != NB_FIT_NOT_RUN || track->misfit > 0) return;
    verdict = misfit_judge(fit);
    track->misfit = verdict.factor;
    track_advance(fit, track);
}

/* Takes the loss of a track at the values of a file, and judges whether the track has
 * ended. */
static nb_status take_reloaded_track(nb_fit *fit, struct fit_track *track)
{
    const size_t shot = fit_values_of(fit, track).shot;
    const double here = fit_loss_at(fit, track, &fit->trial);

    if (fit->alone && fit->trial.status[shot] == FIT_SKIPPED) return NB_OK;
    if (!track->fresh) {
        NB_TRY(fit_check_loss(fit, track->loss, here, fit->alone ? fit->name[shot] : ""));
        track->loss = here;
    }
    fit_copy_point(fit, track, &fit->trial, &fit->best);
    if (fit->reload == RELOAD_BEST && fit->method == NB_FIT_LM) track_check_end(fit, track);
    return NB_OK;
}

/* Drops the misfit that a file states if it is off by more than 10 % at the values of the
 * file; then the track is judged anew. */
static nb_status check_misfit(nb_fit *fit)
{
    struct fit_track *track = fit->track;
    double here;

    if (fit->alone || !(track->misfit > 1)) return NB_OK;
    NB_TRY(misfit_find(fit));
    here = misfit_judge(fit).factor;
    if (fabs(track->misfit - here) < 0.1 * here) return NB_OK;
    track->misfit = 0;
    track_check_end(fit, track);
    return NB_OK;
}

/* After nb_fit_read(): takes loss and derivatives at the values of the file, first at the
 * kept ends of first attempts (RELOAD_KEPT), then at the best point. */
static nb_status take_reloaded(nb_fit *fit)
{
    NB_TRY(fit_shot_failed(fit, &fit->trial));
    for (size_t i = 0; i < fit_ntrack(fit); i++)
        NB_TRY(take_reloaded_track(fit, fit->track + i));
    fit_hide_kept(fit);
    fit->reload--;
    if (fit->reload || fit->method != NB_FIT_LM) return NB_OK;
    NB_TRY(check_misfit(fit));
    if (fit->end == NB_FIT_CONVERGED && fit->track->end != NB_FIT_CONVERGED)
        fit->end = NB_FIT_NOT_RUN;
    return NB_OK;
}

static nb_status report(nb_fit *fit)
{
    nb_fit_state state = {.passes = fit->passes, .stage = NB_FIT_ALL_FREE};

    for (size_t i = 0; i < fit_ntrack(fit); i++) {
        const struct fit_track *track = fit->track + i;
        const int stage = track_stage(fit, track).kind;

        if (fit->alone && fit->left_out[i]) continue;
        state.loss += track_loss(fit, track);
        if (track->end != NB_FIT_NOT_RUN) continue;
        state.gain += track->gain;
        state.alone += fit->alone;
        if (stage < state.stage) state.stage = stage;
    }
    if (!fit->options.progress || !fit->options.progress(fit->options.user, &state))
        return NB_OK;
    return fail(fit->ctx, NB_ERR_CANCELLED, "the progress handler stopped the fit");
}

nb_status fit_take(nb_fit *fit)
{
    memcpy(fit->trial.sum, sums_total(&fit->sums), fit->at.end * sizeof *fit->trial.sum);
    if (fit->beside != FIT_WEIGH) fit_restrain(fit, &fit->trial);
    if (!fit->beside) cone_hold(fit, &fit->trial);
    if (fit->reload) return fit_stopped(fit, take_reloaded(fit));
    if (fit->beside == FIT_WEIGH) take_weighed(fit);
    if (fit->beside == FIT_DRAW) draws_take(fit);
    if (fit->beside) {
        const int is_judged = fit->beside == FIT_JUDGE;

        fit->beside = 0;
        return is_judged ? fit_stopped(fit, outliers_judge(fit)) : NB_OK;
    }
    NB_TRY(fit_stopped(fit, fit->alone ? take_alone(fit) : take_joint(fit)));
    fit->passes++;
    fit->run_passes += !fit->alone && !track_is_prelude(fit);
    return fit_stopped(fit, report(fit));
}

/* Evaluates a request and takes its results. If the limit of seconds cuts the evaluation
 * short, its results are dropped, and the next request ends the run. */
static nb_status answer(nb_fit *fit)
{
    const int is_pass = fit->passes > 0 && !fit->beside && !fit->reload;
    nb_status status;

    sums_begin(&fit->sums, fit->layout.nshot, fit->at.end);
    fit->deadline = is_pass ? fit_deadline(fit) : 0;
    status = fit_evaluate_shots(fit, fit->trial.x, 0, fit->layout.nshot, FIT_ASKED,
                                &fit->sums, &fit->trial);
    fit->deadline = 0;
    fit->seconds = fit_seconds(fit);
    if (fit->is_late) {
        fit->is_late = 0;
        return NB_OK;
    }
    NB_TRY(fit_stopped(fit, status));
    return fit_take(fit);
}

static nb_status run_lm(nb_fit *fit)
{
    int is_done;

    fit_begin_run(fit);
    for (;;) {
        NB_TRY(fit_ask(fit, &is_done));
        if (is_done) return NB_OK;
        NB_TRY(answer(fit));
    }
}

nb_status fit_reload(nb_fit *fit)
{
    while (fit->reload) {
        NB_TRY(next(fit));
        NB_TRY(answer(fit));
    }
    return NB_OK;
}

nb_status nb_fit_run(nb_fit *fit)
{
    STANDARD_FLOATS;

    if (!fit) return NB_ERR_ARGUMENT;
    return fit->method == NB_FIT_LBFGS ? fit_run_lbfgs(fit) : run_lm(fit);
}

void nb_fit_cancel(nb_fit *fit)
{
    if (fit) atomic_store(&fit->cancelled, 1);
}
