/*
 * point.c - reads, copies and swaps the points of a fit: the best, the trial and the kept
 * one, with the results of their evaluations.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/context.h"
#include "nanobrag_fit/fit.h"

/* ---- the numbers of a parameter ---- */

size_t normal_at_x(const struct fit_layout *l, size_t i)
{
    return i < l->nd ? l->dense[i] : i - l->nd + l->ns;
}

double fit_diagonal(const nb_fit *fit, const struct fit_point *p, size_t i)
{
    const struct fit_layout *l = &fit->layout;
    const struct fit_offsets *at = &fit->at;
    const size_t row = i < l->ns ? l->row[i] : (i - l->ns) % l->no;
    const double *own = i < l->ns ? NULL : p->own + (i - l->ns) / l->no * at->own_end;

    if (!l->has_matrix) return own ? own[at->own_matrix + row] : p->sum[at->diagonal + i];
    if (own) return own[at->own_matrix + row * (l->no + 1)];
    return l->is_f[i] ? p->sum[at->diagonal + row] : p->sum[at->matrix + row * (l->nd + 1)];
}

double fit_gradient(const nb_fit *fit, const struct fit_point *p, size_t i)
{
    const struct fit_layout *l = &fit->layout;
    const struct fit_offsets *at = &fit->at;
    const size_t j = i - l->ns;

    if (i < l->ns) return p->sum[at->gradient + i];
    return p->own[j / l->no * at->own_end + at->own_gradient + j % l->no];
}

double normal_f_size(const nb_fit *fit, size_t f)
{
    return fmax(fabs(fit->start[fit->layout.f[f]]), fit->f_rms / 2);
}

/* Returns 1 if F^2 has an error, 2 F/sqrt(D), of more than twice the largest F^2 expected:
 * a step of F would be wild. D is the diagonal element of F. */
int normal_f_is_held(const nb_fit *fit, size_t f)
{
    const size_t i = fit->layout.f[f];
    const double diagonal = fit_diagonal(fit, &fit->best, i);
    const double size = normal_f_size(fit, f), now = fit->best.x[i];

    return !(diagonal * pow(size, 4) > now * now);
}

int normal_is_held(const nb_fit *fit, size_t i)
{
    const struct fit_layout *l = &fit->layout;

    if (!(fit_diagonal(fit, &fit->best, i) > 0)) return 1;
    return i < l->ns && l->is_f[i] && normal_f_is_held(fit, l->row[i]);
}

int covariance_bound(const nb_fit *fit, size_t i)
{
    return (fit->best.x[i] == fit->upper[i]) - (fit->best.x[i] == fit->lower[i]);
}

double normal_units(const nb_fit *fit)
{
    double units = 1;

    for (size_t f = 0; !fit->alone && f < fit->layout.nf; f++)
        units += !normal_f_is_held(fit, f);
    return units;
}

/* Compares the loss of a track in a file with the loss computed here, at the same values
 * and stage. Rounding of another machine changes a loss by less than the gain that ends a
 * fit. */
nb_status fit_check_loss(nb_fit *fit, double there, double here, const char *of)
{
    const double allowed = 1e-6 * fabs(here) + 1e-4 * normal_units(fit);

    if (fabs(there - here) <= allowed) return NB_OK;
    return fail(fit->ctx, NB_ERR_FORMAT,
                "%s: the file was changed, or is of other data: %s%sthe loss at its values "
                "is %.10g, not %.10g; run the fit again",
                fit->path, of, *of ? ": " : "", here, there);
}

/* ---- which shots and parameters a track has ---- */

int fit_begins_alone(const nb_fit *fit)
{
    return fit->method == NB_FIT_LM && fit->layout.nshot > 1 && fit->layout.no > 0;
}

int fit_knows_own_only(const nb_fit *fit)
{
    return fit->alone || (fit->was_alone && fit->joint == 0);
}

static struct fit_track *track_of(const nb_fit *fit, size_t shot)
{
    return fit->track + (fit->alone ? shot : 0);
}

int fit_wants(const nb_fit *fit, size_t shot, int wants)
{
    if (fit->left_out[shot]) return 0;
    if (fit->beside) return 1;
    if (wants != FIT_ASKED || !fit->alone || fit->reload == RELOAD_BEST) return 1;
    if (fit->reload == RELOAD_KEPT) return fit_shows_kept(fit, shot);
    return track_of(fit, shot)->end == NB_FIT_NOT_RUN;
}

double fit_broad(const nb_fit *fit, size_t shot)
{
    if (fit->method == NB_FIT_LBFGS) return 0;
    return track_stage(fit, track_of(fit, shot)).broad;
}

/* ---- moving points ---- */

size_t fit_ntrack(const nb_fit *fit)
{
    return fit->alone ? fit->layout.nshot : 1;
}

struct fit_values fit_values_of(const nb_fit *fit, const struct fit_track *track)
{
    const struct fit_layout *l = &fit->layout;
    const size_t shot = (size_t)(track - fit->track);

    if (!fit->alone) return (struct fit_values){0, l->n, 0, l->nshot};
    return (struct fit_values){l->ns + shot * l->no, l->no, shot, 1};
}

double fit_total(const nb_fit *fit, const struct fit_point *point)
{
    const struct fit_layout *l = &fit->layout;
    double loss = point->sum[0] + fit_restraints(fit, point->x, 0, l->ns);

    for (size_t shot = 0; shot < l->nshot; shot++)
        if (!fit->left_out[shot])
            loss += fit_restraints(fit, point->x, l->ns + shot * l->no, l->no);
    return loss;
}

double fit_loss_at(const nb_fit *fit, const struct fit_track *track,
                   const struct fit_point *point)
{
    const struct fit_values s = fit_values_of(fit, track);

    return fit->alone ? point->own[s.shot * fit->at.own_end]
                            + fit_restraints(fit, point->x, s.first, s.n)
                      : fit_total(fit, point);
}

void fit_copy_point(const nb_fit *fit, const struct fit_track *track,
                    const struct fit_point *from, struct fit_point *to)
{
    const struct fit_values s = fit_values_of(fit, track);
    const size_t end = fit->at.own_end;

    memcpy(to->x + s.first, from->x + s.first, s.n * sizeof *to->x);
    memcpy(to->own + s.shot * end, from->own + s.shot * end,
           s.nshot * end * sizeof *to->own);
    memcpy(to->status + s.shot, from->status + s.shot, s.nshot);
    if (!fit->alone) memcpy(to->sum, from->sum, fit->at.end * sizeof *to->sum);
}

static void swap_memory(void *a, void *b, size_t n)
{
    unsigned char *p = a, *q = b;

    for (size_t i = 0; i < n; i++) {
        const unsigned char was = p[i];

        p[i] = q[i];
        q[i] = was;
    }
}

void fit_swap(nb_fit *fit, struct fit_track *track)
{
    const struct fit_values s = fit_values_of(fit, track);
    const size_t end = fit->at.own_end;
    struct fit_point *a = &fit->best, *b = &fit->kept;

    swap_memory(a->x + s.first, b->x + s.first, s.n * sizeof *a->x);
    swap_memory(a->own + s.shot * end, b->own + s.shot * end,
                s.nshot * end * sizeof *a->own);
    swap_memory(a->status + s.shot, b->status + s.shot, s.nshot);
    if (!fit->alone) swap_memory(a->sum, b->sum, fit->at.end * sizeof *a->sum);
    swap_memory(track, fit->kept_track + (track - fit->track), sizeof *track);
}

void fit_show_kept(nb_fit *fit, int all)
{
    for (size_t i = 0; i < fit_ntrack(fit); i++) {
        struct fit_track *track = fit->track + i;

        if (all ? track->attempt == 1 : track_kept_is_better(fit, track))
            fit_swap(fit, track);
    }
}

int fit_shows_kept(const nb_fit *fit, size_t shot)
{
    return fit->kept_track[fit->alone ? shot : 0].attempt == 1;
}

void fit_hide_kept(nb_fit *fit)
{
    for (size_t i = 0; i < fit_ntrack(fit); i++)
        if (fit_shows_kept(fit, i)) fit_swap(fit, fit->track + i);
}

double fit_value_now(const nb_fit *fit, size_t i)
{
    const struct fit_layout *l = &fit->layout;
    const struct fit_track *track =
        fit->alone ? i < l->ns ? NULL : fit->track + (i - l->ns) / l->no : fit->track;

    return track && track_kept_is_better(fit, track) ? fit->kept.x[i] : fit->best.x[i];
}

/* ---- the run ---- */

nb_status fit_note_history(nb_fit *fit)
{
    if ((size_t)fit->joint >= fit->history_room) {
        const size_t room = 2 * fit->history_room + 64;
        double *history = realloc(fit->history, room * sizeof *history);

        if (!history) return fail_memory(fit->ctx, "the history of a fit");
        fit->history = history;
        fit->history_room = room;
    }
    fit->history[fit->joint++] = track_loss(fit, fit->track);
    return NB_OK;
}

double fit_seconds(const nb_fit *fit)
{
    return clock_seconds(CLOCK_MONOTONIC) - fit->restart;
}

double fit_deadline(const nb_fit *fit)
{
    return fit->options.seconds > 0 ? fit->restart + fit->options.seconds : 0;
}

nb_status fit_stopped(nb_fit *fit, nb_status status)
{
    if (status == NB_OK) return NB_OK;
    fit->end = status == NB_ERR_CANCELLED ? NB_FIT_CANCELLED : NB_FIT_FAILED;
    fit->beside = 0;
    return status;
}
