/*
 * nanobrag_fit/exchange.c - the shots of a request evaluated in parts, by several
 * processes. A part is a row of numbers:
 *
 *   request, seconds since the run began, first shot, shots, nodes; then of each node of
 *   the tree of sums its level, its index and its sum; then of each shot its status, what
 *   is its own and, if it failed, why
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_fit/fit.h"

enum { REQUEST, SECONDS, FIRST, NSHOT, NNODE, HEAD };

/* The text of a failure, cut, with a few bytes in each number: as a whole one it passes
 * unchanged through anything that passes numbers on. */
enum { REASON = 288, BYTES = 6, REASON_NUMBERS = REASON / BYTES };

size_t part_most(const nb_fit *fit)
{
    size_t levels = 1;

    while (((size_t)1 << levels) < fit->layout.nshot) levels++;
    return HEAD + 2 * levels * (2 + fit->at.end)
           + fit->layout.nshot * (1 + fit->at.own_end + REASON_NUMBERS);
}

/* Whether a shot of this status has a reason. */
static int has_reason(double status)
{
    return status != NB_OK && status != FIT_SKIPPED;
}

static void write_reason(const char *reason, double *to)
{
    const size_t n = strlen(reason);

    for (size_t i = 0; i < REASON_NUMBERS; i++) {
        to[i] = 0;
        for (size_t k = BYTES; k-- > 0;) {
            const size_t at = i * BYTES + k;

            to[i] =
                256 * to[i] + (at < n && at + 1 < REASON ? (unsigned char)reason[at] : 0);
        }
    }
}

static void read_reason(const double *from, char reason[REASON])
{
    for (size_t i = 0; i < REASON_NUMBERS; i++) {
        uint64_t bytes = from[i] >= 0 && from[i] < 0x1p48 ? (uint64_t)from[i] : 0;

        for (size_t k = 0; k < BYTES; k++, bytes /= 256)
            reason[i * BYTES + k] = (char)(unsigned char)(bytes % 256);
    }
    reason[REASON - 1] = '\0';
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
        const int status = fit->trial.status[shot];

        *to++ = status;
        memcpy(to, fit->trial.own + shot * own_end, own_end * sizeof *to);
        to += own_end;
        if (!has_reason(status)) continue;
        write_reason(fit->failure[shot] ? fit->failure[shot]
                                        : nb_status_text((nb_status)status),
                     to);
        to += REASON_NUMBERS;
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
                                            FIT_ASKED, &fit->sums, &fit->trial)));
    *size = write_part(fit, &fit->sums, (size_t)first, (size_t)nshot, part);
    return NB_OK;
}

/* ---- what comes back ---- */

static int is_count(double value, double most)
{
    return value >= 0 && value <= most && value == (double)(size_t)value;
}

/* Returns whether a part is as long as its shots, which begin at `from`, demand. */
static int has_shots(const nb_fit *fit, const double *from, const double *end, size_t nshot)
{
    for (size_t i = 0; i < nshot; i++) {
        const size_t left = (size_t)(end - from);
        size_t length = 1 + fit->at.own_end;

        if (left > 0 && has_reason(from[0])) length += REASON_NUMBERS;
        if (left < length) return 0;
        from += length;
    }
    return from == end;
}

/* Returns whether the head of a part belongs to this request and to its size. */
static int is_part(const nb_fit *fit, const double *part, size_t size)
{
    const size_t node = 2 + fit->at.end, all = fit->layout.nshot;

    return part && size >= HEAD && part[REQUEST] == fit->request && part[SECONDS] >= 0
           && is_count(part[FIRST], (double)all)
           && is_count(part[NSHOT], (double)all - part[FIRST])
           && is_count(part[NNODE], floor((double)(size - HEAD) / (double)node))
           && has_shots(fit, part + HEAD + (size_t)part[NNODE] * node, part + size,
                        (size_t)part[NSHOT]);
}

/* Whether a node of this level and number is one of the tree. */
static int is_node(const struct fit_sums *sums, double level, double index)
{
    return is_count(level, sums->root)
           && is_count(index, (double)((sums->nshot - 1) >> (int)level));
}

/* fit_point.status of a shot that no part has held yet. */
enum { AWAITED = FIT_SKIPPED + 1 };

static nb_status take_reason(nb_fit *fit, size_t shot, const double *from)
{
    char reason[REASON];
    char *copy;

    read_reason(from, reason);
    copy = strdup(reason);
    if (!copy) return fail_memory(fit->ctx, "the failure of a shot");
    free(fit->failure[shot]);
    fit->failure[shot] = copy;
    return NB_OK;
}

/* Takes the status of a shot, what is its own, and why it failed. */
static nb_status read_shot(nb_fit *fit, size_t shot, const double *from)
{
    const size_t own_end = fit->at.own_end;
    unsigned char *status = fit->trial.status + shot;

    if (*status != AWAITED || !is_count(from[0], FIT_SKIPPED))
        return fail(fit->ctx, NB_ERR_ARGUMENT, "%s is in two parts, or has no status",
                    fit->name[shot]);
    *status = (unsigned char)from[0];
    memcpy(fit->trial.own + shot * own_end, from + 1, own_end * sizeof *from);
    if (has_reason(*status)) NB_TRY(take_reason(fit, shot, from + 1 + own_end));
    if (fit_wants(fit, shot, FIT_ASKED) == (*status != FIT_SKIPPED)) return NB_OK;
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
    for (size_t shot = first; shot < first + nshot; shot++) {
        NB_TRY(read_shot(fit, shot, from));
        from += 1 + fit->at.own_end + (has_reason(from[0]) ? REASON_NUMBERS : 0);
    }
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
