/*
 * fit/parts.c - the shots of a request evaluated in parts, by several processes. A part is
 * a row of numbers:
 *
 *   request, first shot, shots, nodes; then of each node of the tree of sums its level, its
 *   index and its sum; then of each shot its status and what is its own
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "fit/fit.h"

enum { HEAD = 4 };

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
    if (first < 0 || nshot < 1 || first > (int64_t)fit->layout.nshot - nshot)
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
    NB_TRY(fit_evaluate_shots(fit, fit->trial.x, (size_t)first, (size_t)nshot,
                              FIT_REQUESTED, &fit->sums, &fit->trial));
    *size = write_part(fit, &fit->sums, (size_t)first, (size_t)nshot, part);
    return NB_OK;
}

static int is_count(double value, double most)
{
    return value >= 0 && value <= most && value == (double)(size_t)value;
}

/* Checks the head of a part, and sets which shots and how many nodes it holds. */
static int read_head(const nb_fit *fit, const double *part, size_t size, size_t *first,
                     size_t *nshot, size_t *nnode)
{
    const size_t all = fit->layout.nshot;

    if (size < HEAD || part[0] != fit->request || !is_count(part[1], (double)all)
        || !is_count(part[2], (double)all) || !is_count(part[3], (double)part_most(fit)))
        return 0;
    *first = (size_t)part[1], *nshot = (size_t)part[2], *nnode = (size_t)part[3];
    return *first + *nshot <= all
           && size == HEAD + *nnode * (2 + fit->at.end) + *nshot * (1 + fit->at.own_end);
}

static nb_status refuse(const nb_fit *fit, int i)
{
    return fail(fit->ctx, NB_ERR_ARGUMENT,
                "part %d is not one of nb_fit_part() for this request", i);
}

static nb_status read_part(nb_fit *fit, int i, const double *part, size_t size)
{
    const size_t end = fit->at.end, own_end = fit->at.own_end;
    const double *from = part + HEAD, all = (double)fit->layout.nshot;
    size_t first, nshot, nnode;

    if (!read_head(fit, part, size, &first, &nshot, &nnode)) return refuse(fit, i);
    for (size_t node = 0; node < nnode; node++, from += 2 + end) {
        if (!is_count(from[0], fit->sums.root) || !is_count(from[1], all))
            return refuse(fit, i);
        if (!sums_add(&fit->sums, (int)from[0], (size_t)from[1], from + 2))
            return fail_memory(fit->ctx, "the sums of a fit");
    }
    for (size_t shot = first; shot < first + nshot; shot++, from += 1 + own_end) {
        if (!is_count(from[0], FIT_SKIPPED)) return refuse(fit, i);
        fit->trial.status[shot] = (unsigned char)from[0];
        memcpy(fit->trial.own + shot * own_end, from + 1, own_end * sizeof *from);
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
    for (int i = 0; i < nparts; i++) {
        if (!part[i]) return refuse(fit, i);
        NB_TRY(read_part(fit, i, part[i], size[i]));
    }
    if (!sums_total(&fit->sums))
        return fail(fit->ctx, NB_ERR_ARGUMENT,
                    "the parts do not hold each of the %zu shots once", fit->layout.nshot);
    return fit_take(fit);
}
