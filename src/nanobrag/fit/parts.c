/*
 * fit/parts.c - the shots of a request evaluated in parts, by several processes. A part is
 * a row of numbers:
 *
 *   request, seconds since the run began, first shot, shots, nodes; then of each node of
 * the tree of sums its level, its index and its sum; then of each shot its status and what
 * is its own
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "fit/fit.h"

enum { REQUEST, SECONDS, FIRST, NSHOT, NNODE, HEAD };

size_t part_most(const nb_fit *fit)
{
    size_t levels = 1;

    while (((size_t)1 << levels) < fit->layout.nshot) levels++;
    return HEAD + 2 * levels * (2 + fit->at.end)
           + fit->layout.nshot * (1 + fit->at.own_end);
}

static nb_status check_part(const nb_fit *fit, int64_t first, int64_t nshot)
{
    if (fit->request == 0)
        return fail(fit->ctx, NB_ERR_ARGUMENT,
                    "no request is open: call nb_fit_ask() before nb_fit_part()");
    if (first < 0 || nshot < 0 || first > (int64_t)fit->layout.nshot - nshot)
        return fail(fit->ctx, NB_ERR_ARGUMENT,
                    "%lld shots from %lld on are not within the fit's %zu",
                    (long long)nshot, (long long)first, fit->layout.nshot);
    return NB_OK;
}

/* Writes a part; what was evaluated lies in sums and trial. Returns its size. */
static size_t write_part(const nb_fit *fit, const struct fit_sums *sums, size_t first,
                         size_t nshot, double *part)
{
    const size_t end = fit->at.end, own_end = fit->at.own_end;
    double *to = part;

    *to++ = fit->request;
    *to++ = fit_seconds(fit);
    *to++ = (double)first;
    *to++ = (double)nshot;
    *to++ = (double)sums->nnode;
    for (size_t i = 0; i < sums->nnode; i++) {
        *to++ = sums->node[i].level;
        *to++ = (double)sums->node[i].index;
        memcpy(to, sums->node[i].sum, end * sizeof *to);
        to += end;
    }
    for (size_t shot = first; shot < first + nshot; shot++) {
        *to++ = fit->trial.status[shot];
        memcpy(to, fit->trial.own + shot * own_end, own_end * sizeof *to);
        to += own_end;
    }
    return (size_t)(to - part);
}

nb_status nb_fit_part(nb_fit *fit, int64_t first, int64_t nshot, double *part, size_t *size)
{
    STANDARD_FLOATS;

    if (!fit) return NB_ERR_ARGUMENT;
    if (!part || !size)
        return fail(fit->ctx, NB_ERR_ARGUMENT, "a part needs a place to go");
    NB_TRY(check_part(fit, first, nshot));
    sums_begin(&fit->sums, fit->layout.nshot, fit->at.end);
    NB_TRY(
        fit_stopped(fit, fit_evaluate_shots(fit, fit->trial.x, (size_t)first, (size_t)nshot,
                                            FIT_REQUESTED, &fit->sums, &fit->trial)));
    *size = write_part(fit, &fit->sums, (size_t)first, (size_t)nshot, part);
    return NB_OK;
}

/* ---- what comes back ---- */

static int is_count(double value, double most)
{
    return value >= 0 && value <= most && value == (double)(size_t)value;
}

/* Returns whether the head of a part belongs to this request and to its size. */
static int is_part(const nb_fit *fit, const double *part, size_t size)
{
    const size_t end = fit->at.end, own_end = fit->at.own_end, all = fit->layout.nshot;

    return part && size >= HEAD && part[REQUEST] == fit->request && part[SECONDS] >= 0
           && is_count(part[FIRST], (double)all)
           && is_count(part[NSHOT], (double)all - part[FIRST])
           && is_count(part[NNODE], (double)size)
           && size
                  == HEAD + (size_t)part[NNODE] * (2 + end)
                         + (size_t)part[NSHOT] * (1 + own_end);
}

/* Whether a node of this level and number is one of the tree. */
static int is_node(const struct fit_sums *sums, double level, double index)
{
    return is_count(level, sums->root)
           && is_count(index, (double)((sums->nshot - 1) >> (int)level));
}

/* fit_point.status of a shot that no part has held yet. */
enum { AWAITED = FIT_SKIPPED + 1 };

/* Takes the status of a shot, and what is its own. */
static nb_status read_shot(nb_fit *fit, size_t shot, const double *from)
{
    const size_t own_end = fit->at.own_end;
    unsigned char *status = fit->trial.status + shot;

    if (*status != AWAITED || !is_count(from[0], FIT_SKIPPED))
        return fail(fit->ctx, NB_ERR_ARGUMENT, "%s is in two parts, or has no status",
                    fit->name[shot]);
    *status = (unsigned char)from[0];
    memcpy(fit->trial.own + shot * own_end, from + 1, own_end * sizeof *from);
    if (fit_wants(fit, shot, FIT_REQUESTED) == (*status != FIT_SKIPPED)) return NB_OK;
    return fail(fit->ctx, NB_ERR_ARGUMENT,
                "%s is left out by one of the fits that share out the shots, and not by "
                "another: all of them need the same shots",
                fit->name[shot]);
}

static nb_status read_part(nb_fit *fit, int number, const double *part, size_t size)
{
    const double *from = part + HEAD;
    size_t first, nshot;

    if (!is_part(fit, part, size))
        return fail(fit->ctx, NB_ERR_ARGUMENT,
                    "part %d is not one of nb_fit_part() for this request", number);
    first = (size_t)part[FIRST], nshot = (size_t)part[NSHOT];
    fit->seconds = fmax(fit->seconds, part[SECONDS]);
    for (size_t i = 0; i < (size_t)part[NNODE]; i++, from += 2 + fit->at.end) {
        if (!is_node(&fit->sums, from[0], from[1]))
            return fail(fit->ctx, NB_ERR_ARGUMENT, "part %d holds sums of no shots",
                        number);
        if (!sums_add(&fit->sums, (int)from[0], (size_t)from[1], from + 2))
            return fail_memory(fit->ctx, "the sums of a fit");
    }
    for (size_t shot = first; shot < first + nshot; shot++, from += 1 + fit->at.own_end)
        NB_TRY(read_shot(fit, shot, from));
    return NB_OK;
}

nb_status nb_fit_tell(nb_fit *fit, int nparts, const double *const *part,
                      const size_t *size)
{
    STANDARD_FLOATS;

    if (!fit) return NB_ERR_ARGUMENT;
    if (fit->request == 0)
        return fail(fit->ctx, NB_ERR_ARGUMENT,
                    "no request is open: call nb_fit_ask() before nb_fit_tell()");
    if (nparts < 1 || !part || !size)
        return fail(fit->ctx, NB_ERR_ARGUMENT, "an answer needs parts");
    sums_begin(&fit->sums, fit->layout.nshot, fit->at.end);
    memset(fit->trial.status, AWAITED, fit->layout.nshot);
    for (int i = 0; i < nparts; i++) NB_TRY(read_part(fit, i, part[i], size[i]));
    if (!sums_total(&fit->sums) || memchr(fit->trial.status, AWAITED, fit->layout.nshot))
        return fail(fit->ctx, NB_ERR_ARGUMENT,
                    "the parts do not hold each of the %zu shots once", fit->layout.nshot);
    return fit_take(fit);
}

nb_status nb_fit_fail(nb_fit *fit, nb_status status, const char *message)
{
    char copy[CONTEXT_MESSAGE];

    if (!fit) return NB_ERR_ARGUMENT;
    if (status <= NB_OK || status >= NB_STATUS_COUNT || !message)
        return fail(fit->ctx, NB_ERR_ARGUMENT, "a failure needs a status and a message");
    (void)snprintf(copy, sizeof copy, "%s", message); /* it may be that of the context */
    if (status == NB_ERR_CANCELLED) atomic_store(&fit->cancelled, 0);
    return fit_stopped(fit, fail(fit->ctx, status, "%s", copy));
}

nb_context *nb_fit_context(const nb_fit *fit)
{
    return fit ? fit->ctx : NULL;
}
