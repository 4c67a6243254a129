/*
 * evaluate.c - evaluates the shots of a request, shared out among threads. Each thread has
 * a context of its own, and creates the simulators of its shots there, one after the other.
 * A single shot has all threads of the fit's context instead.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/floats.h"
#include "base/threads.h"
#include "nanobrag_fit/fit.h"

/* state of one evaluation, which its threads share */
struct evaluation {
    nb_fit *fit;
    const double *x;
    size_t first, nshot;
    int wants; /* enum fit_wants */
    struct fit_sums *sums;
    struct fit_point *point;
    nb_context_options before; /* options of the fit's context */
    atomic_size_t next, done; /* numbers of shots that were begun, and finished */
    atomic_int stop, late; /* stop 1: no further shot is begun; late 1: the time is over */
    pthread_mutex_t lock; /* guards status and message, the sums and the log */
    nb_status status; /* the first error that ended the evaluation, and its message */
    char message[CONTEXT_MESSAGE];
};

/* ---- the handlers of a thread's context ---- */

static int is_late(struct evaluation *e)
{
    const double deadline = e->fit->deadline;

    if (!(deadline > 0) || clock_seconds(CLOCK_MONOTONIC) < deadline) return 0;
    atomic_store(&e->late, 1);
    atomic_store(&e->stop, 1);
    return 1;
}

static int ask_of(struct evaluation *e, double fraction)
{
    const double all = ((double)atomic_load(&e->done) + fraction) / (double)e->nshot;

    if (atomic_load(&e->fit->cancelled) || atomic_load(&e->stop) || is_late(e)) return 1;
    if (threads_index() > 0 || !e->before.progress) return 0;
    if (!e->before.progress(e->before.user, fmin(all, 1))) return 0;
    atomic_store(&e->stop, 1);
    return 1;
}

static int ask(void *user, double fraction)
{
    return ask_of(user, fraction);
}

static void pass_line_on(void *user, int level, const char *topic, const char *line)
{
    struct evaluation *e = user;

    (void)pthread_mutex_lock(&e->lock);
    e->before.log(e->before.user, level, topic, line);
    (void)pthread_mutex_unlock(&e->lock);
}

static nb_context_options handlers(struct evaluation *e, nb_context_options options)
{
    options.progress = ask;
    options.log = e->before.log ? pass_line_on : NULL;
    options.user = e;
    return options;
}

/* ---- one thread ---- */

/* Returns 1 for an error that ends the whole evaluation; any other error concerns its shot
 * only. */
static int is_final(nb_status status)
{
    return status == NB_ERR_CANCELLED || status == NB_ERR_MEMORY;
}

static void note_failure(struct evaluation *e, const struct fit_worker *w, size_t shot,
                         nb_status status)
{
    char **message = e->fit->failure + shot;

    free(*message);
    *message = strdup(w->ctx->message);
    if (!is_final(status)) return;
    (void)pthread_mutex_lock(&e->lock);
    if (e->status == NB_OK) { /* later errors only follow from this one */
        e->status = status;
        memcpy(e->message, w->ctx->message, sizeof e->message);
    }
    (void)pthread_mutex_unlock(&e->lock);
    atomic_store(&e->stop, 1);
}

/* Evaluates one shot and adds its sums; a shot that is skipped or fails adds zeros. */
static void evaluate_one(struct evaluation *e, struct fit_worker *w, size_t shot)
{
    nb_fit *fit = e->fit;
    const struct fit_layout *l = &fit->layout;
    const int is_wanted = fit_wants(fit, shot, e->wants);
    const int is_requested = e->wants == FIT_ASKED;
    const int wants = is_requested && fit->beside ? fit->beside : e->wants;
    const double broad = wants == FIT_ASKED ? fit_broad(fit, shot) : 0;
    nb_status status = NB_OK;
    int has_memory;

    if (is_wanted) {
        for (size_t i = 0; i < l->m; i++) w->x[i] = e->x[fit_index(l, shot, i)];
        status = fit_evaluate_shot(fit, w, shot, broad, wants);
    }
    if (status != NB_OK) note_failure(e, w, shot, status);
    if (!is_wanted || status != NB_OK) {
        memset(w->sum, 0, fit->at.end * sizeof *w->sum);
        memset(w->own, 0, fit->at.own_end * sizeof *w->own);
    }
    e->point->status[shot] = is_wanted ? (unsigned char)status : FIT_SKIPPED;
    memcpy(e->point->own + shot * fit->at.own_end, w->own,
           fit->at.own_end * sizeof *w->own);
    (void)pthread_mutex_lock(&e->lock);
    has_memory = sums_add(e->sums, 0, shot, w->sum);
    (void)pthread_mutex_unlock(&e->lock);
    if (!has_memory) note_failure(e, w, shot, fail_memory(w->ctx, "the sums of a fit"));
    atomic_fetch_add(&e->done, 1);
}

static void work(struct evaluation *e, struct fit_worker *w)
{
    STANDARD_FLOATS;
    size_t i;

    while (!atomic_load(&e->stop) && (i = atomic_fetch_add(&e->next, 1)) < e->nshot)
        evaluate_one(e, w, e->first + i);
}

static void work_on_all(struct evaluation *e)
{
    nb_fit *fit = e->fit;
    nb_context_options *own = &fit->ctx->options;

    for (int i = 1; i < fit->nworker; i++)
        fit->worker[i].ctx->options = handlers(e, fit->worker[i].ctx->options);
    if (fit->worker[0].ctx != fit->ctx)
        fit->worker[0].ctx->options = handlers(e, fit->worker[0].ctx->options);
    *own = handlers(e, *own);
#pragma omp parallel num_threads(fit->nworker) if (fit->nworker > 1)
    work(e, fit->worker + threads_index());
    *own = e->before;
    /* the handlers must not outlive the evaluation `e` that they use */
    for (int i = 0; i < fit->nworker; i++) {
        nb_context_options *options = &fit->worker[i].ctx->options;

        if (fit->worker[i].ctx == fit->ctx) continue;
        options->progress = NULL;
        options->log = NULL;
        options->user = NULL;
    }
}

nb_status fit_evaluate_shots(nb_fit *fit, const double *x, size_t first, size_t nshot,
                             int wants, struct fit_sums *sums, struct fit_point *point)
{
    struct evaluation e = {.fit = fit,
                           .x = x,
                           .first = first,
                           .nshot = nshot,
                           .wants = wants,
                           .sums = sums,
                           .point = point,
                           .before = fit->ctx->options};

    atomic_init(&e.next, 0);
    atomic_init(&e.done, 0);
    atomic_init(&e.stop, 0);
    atomic_init(&e.late, 0);
    (void)pthread_mutex_init(&e.lock, NULL);
    work_on_all(&e);
    (void)pthread_mutex_destroy(&e.lock);
    if (e.status == NB_OK && atomic_load(&fit->cancelled)) e.status = NB_ERR_CANCELLED;
    if (e.status == NB_ERR_CANCELLED && !atomic_load(&e.late)) {
        atomic_store(&fit->cancelled, 0);
        return fail(fit->ctx, NB_ERR_CANCELLED, "the fit was cancelled");
    }
    fit->is_late = atomic_load(&e.late);
    if (fit->is_late) return fail(fit->ctx, NB_ERR_CANCELLED, "the time is over");
    if (e.status != NB_OK) return fail(fit->ctx, e.status, "%s", e.message);
    return NB_OK;
}

/* ---- all shots ---- */

nb_status fit_shot_failed(nb_fit *fit, const struct fit_point *point)
{
    for (size_t shot = 0; shot < fit->layout.nshot; shot++) {
        const nb_status status = (nb_status)point->status[shot];

        if (point->status[shot] == FIT_SKIPPED || status == NB_OK) continue;
        return fail(fit->ctx, status, "%s: %s", fit->name[shot],
                    fit->failure[shot] ? fit->failure[shot] : nb_status_text(status));
    }
    return NB_OK;
}

nb_status fit_evaluate_all(nb_fit *fit, struct fit_point *point, int wants, double *loss)
{
    const double *total;

    sums_begin(&fit->sums, fit->layout.nshot, fit->at.end);
    *loss = INFINITY;
    NB_TRY(
        fit_evaluate_shots(fit, point->x, 0, fit->layout.nshot, wants, &fit->sums, point));
    total = sums_total(&fit->sums);
    NB_TRY(fit_shot_failed(fit, point));
    memcpy(point->sum, total, fit->at.end * sizeof *total);
    fit_restrain(fit, point);
    *loss = fit_total(fit, point);
    return NB_OK;
}

/* ---- for the caller ---- */

static nb_status check_evaluate(const nb_fit *fit, const double *value,
                                const nb_normal *out)
{
    const size_t ndense = fit->layout.n - fit->layout.nf;

    if (!value) return fail(fit->ctx, NB_ERR_ARGUMENT, "a loss needs a place to go");
    if (!out || (!out->matrix && !out->coupling)) return NB_OK;
    if (ndense <= FIT_DENSE_MOST && fit->layout.has_matrix) return NB_OK;
    return fail(fit->ctx, NB_ERR_UNSUPPORTED,
                "a matrix has at most %d parameters that are not structure factors, this "
                "fit has %zu",
                FIT_DENSE_MOST, ndense);
}

/* Adds gradient and diagonal of the trial to `out`, for all parameters. */
static void deliver_vectors(const nb_fit *fit, const nb_normal *out)
{
    for (size_t i = 0; i < fit->layout.n; i++) {
        if (out->gradient) out->gradient[i] += fit_gradient(fit, &fit->trial, i);
        if (out->diagonal) out->diagonal[i] += fit_diagonal(fit, &fit->trial, i);
    }
}

void fit_deliver_matrix(const nb_fit *fit, const nb_normal *out)
{
    const struct fit_layout *l = &fit->layout;
    const struct fit_offsets *at = &fit->at;
    const struct fit_point *p = &fit->trial;
    const size_t n = l->n - l->nf;

    for (size_t i = 0; out->matrix && i < l->nd * l->nd; i++)
        out->matrix[i / l->nd * n + i % l->nd] += p->sum[at->matrix + i];
    for (size_t i = 0; out->coupling && i < l->nd * l->nf; i++)
        out->coupling[i] += p->sum[at->coupling + i];
    for (size_t shot = 0; shot < l->nshot; shot++) {
        const double *own = p->own + shot * at->own_end;
        const size_t first = l->nd + shot * l->no;

        for (size_t i = 0; out->matrix && i < l->no * l->no; i++)
            out->matrix[(first + i / l->no) * n + first + i % l->no] +=
                own[at->own_matrix + i];
        for (size_t i = 0; out->matrix && i < l->no * l->nd; i++) {
            out->matrix[(first + i / l->nd) * n + i % l->nd] += own[at->own_shared + i];
            out->matrix[i % l->nd * n + first + i / l->nd] += own[at->own_shared + i];
        }
        for (size_t i = 0; out->coupling && i < l->no * l->nf; i++)
            out->coupling[first * l->nf + i] += own[at->own_f + i];
    }
}

nb_status nb_fit_evaluate(nb_fit *fit, const double *x, double *value, nb_normal *out)
{
    STANDARD_FLOATS;
    const int wants = out ? FIT_ALL : FIT_VALUE;

    if (!fit) return NB_ERR_ARGUMENT;
    NB_TRY(check_evaluate(fit, value, out));
    for (size_t i = 0; i < fit->layout.n; i++)
        fit->trial.x[i] = x ? x[i] : fit_value_now(fit, i);
    NB_TRY(fit_evaluate_all(fit, &fit->trial, wants, value));
    if (!out) return NB_OK;
    deliver_vectors(fit, out);
    fit_deliver_matrix(fit, out);
    return NB_OK;
}
