/*
 * exchange.c - runs a fit whose shots are shared out among processes. Each process runs the
 * same minimiser on the same numbers. Processes whose LAPACK rounds differently would drift
 * apart, so before each evaluation they check that all request the same.
 *
 * Processes meet only in add_up(), all in the same order. agree() makes an error of one
 * process known to all. To hand out a number of one process, every other process adds -0,
 * which leaves each bit as it is.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_fit/fit.h"
#include "nanobrag_fit/outliers/outliers.h"

/* one of several processes that run a fit together */
struct team {
    nb_fit *fit; /* NULL: this process could not make the fit */
    int rank, ranks;
    int (*exchange)(void *user, double *numbers, size_t n);
    void *user;
};

/* Most numbers that are handed to exchange() at once. */
enum { NUMBERS_MOST = 1 << 20 };

/* ---- numbers and texts ---- */

static nb_status failed(const struct team *team, nb_status status, const char *message)
{
    if (!team->fit) return status;
    if (status == NB_ERR_CANCELLED) atomic_store(&team->fit->cancelled, 0);
    return fit_stopped(team->fit, fail(team->fit->ctx, status, "%s", message));
}

static nb_status add_up(const struct team *team, double *numbers, size_t n)
{
    for (size_t at = 0; at < n; at += NUMBERS_MOST)
        if (team->exchange(team->user, numbers + at,
                           n - at < NUMBERS_MOST ? n - at : NUMBERS_MOST))
            return failed(team, NB_ERR_DEVICE,
                          "the processes of a fit could not exchange their numbers");
    return NB_OK;
}

static void leave_to_others(double *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) numbers[i] = -0.0;
}

/* Copies a text from one process to all, one byte in each number. `own` is the text, or
 * NULL in every other process. */
static nb_status bring_text(const struct team *team, const char *own,
                            char text[CONTEXT_MESSAGE])
{
    double numbers[CONTEXT_MESSAGE];

    memset(text, 0, CONTEXT_MESSAGE);
    if (own) (void)snprintf(text, CONTEXT_MESSAGE, "%s", own);
    for (int i = 0; i < CONTEXT_MESSAGE; i++)
        numbers[i] = own ? (unsigned char)text[i] : -0.0;
    NB_TRY(add_up(team, numbers, CONTEXT_MESSAGE));
    for (int i = 0; i < CONTEXT_MESSAGE; i++) text[i] = (char)(unsigned char)numbers[i];
    text[CONTEXT_MESSAGE - 1] = '\0';
    return NB_OK;
}

/* Returns the first status of any process that is not NB_OK, in order of rank, and sets its
 * message. Returns NB_OK if there is none. */
static nb_status agree(const struct team *team, nb_status status)
{
    const nb_fit *fit = team->fit;
    double count = status != NB_OK;

    NB_TRY(add_up(team, &count, 1));
    for (int rank = 0; count > 0 && rank < team->ranks; rank++) {
        const int is_own = rank == team->rank;
        double code = is_own ? status : -0.0;
        char own[CONTEXT_MESSAGE], text[CONTEXT_MESSAGE];

        NB_TRY(add_up(team, &code, 1));
        if (code == NB_OK) continue;
        if (is_own)
            (void)snprintf(own, sizeof own, "rank %d: %.*s", rank, CONTEXT_MESSAGE - 30,
                           fit ? fit->ctx->message : "there is no fit");
        NB_TRY(bring_text(team, is_own ? own : NULL, text));
        return failed(team, (nb_status)code, text);
    }
    return NB_OK;
}

/* ---- the same request in all processes ---- */

enum { IS_DONE, HASH_LOW, HASH_HIGH, KEY };

static uint64_t hashed(uint64_t hash, const void *from, size_t n)
{
    const unsigned char *p = from;

    for (size_t i = 0; i < n; i++) hash = (hash ^ p[i]) * 0x100000001b3U;
    return hash;
}

/* Sets the key of a request: whether the run is done, and a hash of x and of the shots to
 * evaluate. Processes that request the same have equal keys. */
static void make_key(const nb_fit *fit, int is_done, double key[KEY])
{
    const struct fit_layout *l = &fit->layout;
    uint64_t hash = hashed(0xcbf29ce484222325U, &l->nshot, sizeof l->nshot);

    hash = hashed(hash, &fit->at, sizeof fit->at);
    hash = hashed(hash, fit->trial.x, l->n * sizeof *fit->trial.x);
    for (size_t shot = 0; shot < l->nshot; shot++) {
        const int is_wanted = fit_wants(fit, shot, FIT_ASKED);

        hash = hashed(hash, &is_wanted, sizeof is_wanted);
    }
    key[IS_DONE] = is_done;
    key[HASH_LOW] = (double)(hash & 0xffffffff);
    key[HASH_HIGH] = (double)(hash >> 32);
}

/* Returns an error in all processes if one requests something else than process 0. */
static nb_status compare(const struct team *team, int is_done)
{
    double own[KEY], first[KEY];
    nb_status status = NB_OK;
    int is_same = 1;

    make_key(team->fit, is_done, own);
    memcpy(first, own, sizeof own);
    if (team->rank > 0) leave_to_others(first, KEY);
    NB_TRY(add_up(team, first, KEY));
    for (int i = 0; i < KEY; i++) is_same &= own[i] == first[i];
    if (!is_same)
        status = fail(team->fit->ctx, NB_ERR_ARGUMENT,
                      "the fit goes another way than that of rank 0: make both from the "
                      "same shots and options, with the same build of LAPACK");
    return agree(team, status);
}

/* ---- the results of shots ---- */

/* Returns the first shot that a process evaluates. */
static size_t first_of(const struct team *team, int rank)
{
    const size_t n = team->fit->layout.nshot, ranks = (size_t)team->ranks;

    return n / ranks * (size_t)rank + n % ranks * (size_t)rank / ranks;
}

/* Lists the nodes of the tree of sums (sums.c) that a process computes. Returns their
 * number. */
static size_t nodes_of(const struct team *team, int rank, struct fit_node *out)
{
    return sums_nodes(team->fit->layout.nshot, first_of(team, rank),
                      first_of(team, rank + 1), out);
}

/* Returns where the sums of a process begin among the numbers of an evaluation; for rank =
 * ranks, how many numbers there are. The numbers are the seconds since the run began, by
 * process 0; status and own part of each shot; the sums of the nodes of each process. */
static size_t place_of(const struct team *team, int rank)
{
    const nb_fit *fit = team->fit;
    struct fit_node node[SUMS_NODES];
    size_t n = 1 + fit->layout.nshot * (1 + fit->at.own_end);

    for (int i = 0; i < rank; i++) n += nodes_of(team, i, node) * fit->at.end;
    return n;
}

/* Evaluates the shots of this process. */
static nb_status evaluate(const struct team *team, double **numbers, size_t *n)
{
    nb_fit *fit = team->fit;
    const size_t first = first_of(team, team->rank);
    const size_t end = first_of(team, team->rank + 1);

    *n = place_of(team, team->ranks);
    *numbers = malloc(*n * sizeof **numbers);
    if (!*numbers) return fail_memory(fit->ctx, "the numbers of a fit");
    sums_begin(&fit->sums, fit->layout.nshot, fit->at.end);
    return fit_evaluate_shots(fit, fit->trial.x, first, end - first, FIT_ASKED, &fit->sums,
                              &fit->trial);
}

/* Writes the numbers of this process, and -0 in place of all other numbers. */
static void write_numbers(const struct team *team, double *numbers, size_t n)
{
    const nb_fit *fit = team->fit;
    const size_t own_end = fit->at.own_end, end = fit->at.end;
    const size_t first = first_of(team, team->rank);
    struct fit_node node[SUMS_NODES];
    double *to = numbers + place_of(team, team->rank);

    leave_to_others(numbers, n);
    if (team->rank == 0) *numbers = fit_seconds(fit);
    for (size_t shot = first; shot < first_of(team, team->rank + 1); shot++) {
        double *at = numbers + 1 + shot * (1 + own_end);

        *at = fit->trial.status[shot];
        memcpy(at + 1, fit->trial.own + shot * own_end, own_end * sizeof *at);
    }
    n = nodes_of(team, team->rank, node);
    for (size_t i = 0; i < n; i++, to += end)
        memcpy(to, sums_find(&fit->sums, node[i].level, node[i].index)->sum,
               end * sizeof *to);
}

static nb_status read_numbers(const struct team *team, const double *from)
{
    nb_fit *fit = team->fit;
    const size_t own_end = fit->at.own_end, end = fit->at.end;
    struct fit_node node[SUMS_NODES];

    fit->seconds = *from++;
    for (size_t shot = 0; shot < fit->layout.nshot; shot++, from += 1 + own_end) {
        fit->trial.status[shot] = (unsigned char)*from;
        memcpy(fit->trial.own + shot * own_end, from + 1, own_end * sizeof *from);
    }
    sums_begin(&fit->sums, fit->layout.nshot, end);
    for (int rank = 0; rank < team->ranks; rank++) {
        const size_t n = nodes_of(team, rank, node);

        for (size_t i = 0; i < n; i++, from += end)
            if (!sums_add(&fit->sums, node[i].level, node[i].index, from))
                return fail_memory(fit->ctx, "the sums of a fit");
    }
    return NB_OK;
}

/* Copies the message of each shot that failed to all processes. */
static nb_status bring_failures(const struct team *team)
{
    nb_fit *fit = team->fit;
    nb_status status = NB_OK;
    int rank = 0;

    for (size_t shot = 0; shot < fit->layout.nshot; shot++) {
        const int code = fit->trial.status[shot];
        char text[CONTEXT_MESSAGE];
        const char *own = fit->failure[shot];

        while (first_of(team, rank + 1) <= shot) rank++;
        if (code == NB_OK || code == FIT_SKIPPED) continue;
        if (rank == team->rank && !own) own = nb_status_text((nb_status)code);
        NB_TRY(bring_text(team, rank == team->rank ? own : NULL, text));
        if (rank == team->rank) continue;
        free(fit->failure[shot]);
        fit->failure[shot] = strdup(text);
        if (!fit->failure[shot]) status = fail_memory(fit->ctx, "the failure of a shot");
    }
    return agree(team, status);
}

/* Writes what was found of the outliers of each shot of this process; count[shot] numbers
 * of each shot follow one another. */
static void place_found(const struct team *team, const double *count, double *at)
{
    const nb_fit *fit = team->fit;

    for (size_t shot = 0; shot < fit->layout.nshot; at += (size_t)count[shot++])
        if (shot >= first_of(team, team->rank) && shot < first_of(team, team->rank + 1)
            && count[shot] > 0)
            memcpy(at, fit->outliers[shot].found, (size_t)count[shot] * sizeof *at);
}

static nb_status take_found(const struct team *team, const double *count, const double *at)
{
    nb_fit *fit = team->fit;

    for (size_t shot = 0; shot < fit->layout.nshot; at += (size_t)count[shot++])
        if (!outliers_take_found(fit->outliers + shot, at, (size_t)count[shot]))
            return fail_memory(fit->ctx, "the outliers of a fit");
    return NB_OK;
}

/* Copies what was found to all processes; `count` has the numbers of this process. */
static nb_status bring_counted(const struct team *team, double *count)
{
    nb_fit *fit = team->fit;
    double *numbers;
    size_t n = 0;
    nb_status status;

    NB_TRY(add_up(team, count, fit->layout.nshot));
    for (size_t i = 0; i < fit->layout.nshot; i++) n += (size_t)count[i];
    numbers = malloc((n + 1) * sizeof *numbers);
    status = agree(team, numbers ? NB_OK : fail_memory(fit->ctx, "the outliers of a fit"));
    if (!numbers) return status;
    if (status == NB_OK) {
        leave_to_others(numbers, n);
        place_found(team, count, numbers);
        status = add_up(team, numbers, n);
    }
    if (status == NB_OK) status = agree(team, take_found(team, count, numbers));
    free(numbers);
    return status;
}

/* Copies what was found of the outliers of each shot to all processes. */
static nb_status bring_found(const struct team *team)
{
    nb_fit *fit = team->fit;
    double *count = calloc(fit->layout.nshot + 1, sizeof *count);
    nb_status status =
        agree(team, count ? NB_OK : fail_memory(fit->ctx, "the outliers of a fit"));

    if (!count) return status;
    leave_to_others(count, fit->layout.nshot);
    for (size_t i = first_of(team, team->rank); i < first_of(team, team->rank + 1); i++)
        count[i] = (double)fit->outliers[i].nfound;
    if (status == NB_OK) status = bring_counted(team, count);
    free(count);
    return status;
}

static nb_status bring_numbers(const struct team *team, double *numbers, size_t n)
{
    write_numbers(team, numbers, n);
    NB_TRY(add_up(team, numbers, n));
    NB_TRY(agree(team, read_numbers(team, numbers)));
    return bring_failures(team);
}

static nb_status answer(const struct team *team)
{
    double *numbers = NULL;
    size_t n = 0;
    nb_status status = agree(team, evaluate(team, &numbers, &n));

    if (status == NB_OK) status = bring_numbers(team, numbers, n);
    if (status == NB_OK && team->fit->beside == FIT_JUDGE) status = bring_found(team);
    free(numbers);
    return status == NB_OK ? agree(team, fit_take(team->fit)) : status;
}

/* ---- the run ---- */

static nb_status check(const struct team *team)
{
    nb_fit *fit = team->fit;

    if (!fit) return NB_ERR_ARGUMENT;
    if (fit->method == NB_FIT_LBFGS)
        return fail(fit->ctx, NB_ERR_UNSUPPORTED,
                    "a fit by L-BFGS cannot be shared out; use nb_fit_run()");
    fit_begin_run(fit);
    return NB_OK;
}

nb_status nb_fit_run_among(nb_fit *fit, int rank, int ranks,
                           int (*exchange)(void *user, double *numbers, size_t n),
                           void *user)
{
    STANDARD_FLOATS;
    const struct team team = {fit, rank, ranks, exchange, user};
    int is_done = 0;

    if (!exchange || rank < 0 || rank >= ranks)
        return fit ? fail(fit->ctx, NB_ERR_ARGUMENT,
                          "process %d of %d, or no way to exchange numbers", rank, ranks)
                   : NB_ERR_ARGUMENT;
    NB_TRY(agree(&team, check(&team)));
    for (;;) {
        NB_TRY(agree(&team, fit_ask(fit, &is_done)));
        NB_TRY(compare(&team, is_done));
        if (is_done) return NB_OK;
        NB_TRY(answer(&team));
    }
}
