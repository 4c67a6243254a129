/*
 * fit_mpi.c - nb_fit_ask(), nb_fit_part() and nb_fit_tell() for the processes of MPI. Every
 * process runs the same minimiser on the same parts; that they stay together is checked
 * before each evaluation, since libraries of linear algebra that round differently would
 * drive them apart. All processes make the same calls of MPI in the same order: an error of
 * one becomes known to all in agree().
 *
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/mpi.h>

enum { MESSAGE = 1024 };

/* One process of several. */
struct team {
    nb_fit *fit;
    MPI_Comm comm;
    int rank, ranks;
    nb_fit_request request;
    double *x; /* of rank 0                                                 (nvalue) */
    double *part; /* of this rank                                             (most) */
    double *all; /* of all ranks, one after the other                         (room) */
    size_t room;
    size_t *size; /* of the part of each rank                                (ranks) */
    uint64_t *sizes; /* the same as MPI has it                               (ranks) */
    int *count, *offset; /* size, and sum of those before                    (ranks) */
    const double **each; /* where it lies in all                             (ranks) */
};

/* ---- errors ---- */

static nb_status failed(const struct team *team, nb_status status, const char *message)
{
    return team->fit ? nb_fit_fail(team->fit, status, message) : status;
}

/* Returns the failure of a call of MPI. */
static nb_status check(const struct team *team, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (code == MPI_SUCCESS) return NB_OK;
    (void)MPI_Error_string(code, text, &length);
    return failed(team, NB_ERR_DEVICE, text);
}

#define TRY(call)                                                                          \
    do {                                                                                   \
        const nb_status s_ = (call);                                                       \
        if (s_ != NB_OK) return s_;                                                        \
    } while (0)
#define TRY_MPI(call) TRY(check(team, call))

/* Returns the status of the first rank on which it is not NB_OK, and its message. */
static nb_status agree(const struct team *team, nb_status status)
{
    const nb_context *ctx = nb_fit_context(team->fit);
    int first = status == NB_OK ? team->ranks : team->rank, code = (int)status;
    char text[MESSAGE] = "";

    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, team->comm));
    if (first == team->ranks) return NB_OK;
    if (team->rank == first)
        (void)snprintf(text, sizeof text, "rank %d: %.990s", first,
                       ctx ? nb_context_message(ctx) : "there is no fit");
    TRY_MPI(MPI_Bcast(&code, 1, MPI_INT, first, team->comm));
    TRY_MPI(MPI_Bcast(text, MESSAGE, MPI_CHAR, first, team->comm));
    return failed(team, (nb_status)code, text);
}

static nb_status fail_memory(const struct team *team)
{
    return failed(team, NB_ERR_MEMORY, "there is no memory for the parts of a fit");
}

/* ---- one request ---- */

static nb_status make_room(struct team *team)
{
    if (team->x) return NB_OK;
    if (team->request.nvalue > INT_MAX)
        return failed(team, NB_ERR_UNSUPPORTED, "a fit by MPI has up to 2^31 parameters");
    team->x = malloc((team->request.nvalue + 1) * sizeof *team->x);
    team->part = malloc(team->request.most * sizeof *team->part);
    return team->x && team->part ? NB_OK : fail_memory(team);
}

/* Asks for the next request, which is the same in all ranks. */
static nb_status ask(struct team *team)
{
    const nb_fit_request *r = &team->request;
    nb_status status = team->fit ? nb_fit_ask(team->fit, &team->request) : NB_ERR_ARGUMENT;
    int64_t first[3] = {r->done, r->nshot, (int64_t)r->nvalue};
    const int64_t own[3] = {first[0], first[1], first[2]};

    if (status == NB_OK && !r->done) status = make_room(team);
    TRY(agree(team, status));
    TRY_MPI(MPI_Bcast(first, 3, MPI_INT64_T, 0, team->comm));
    if (memcmp(first, own, sizeof own) != 0)
        status = failed(team, NB_ERR_ARGUMENT,
                        "the fit is not that of rank 0: it has another number of shots or "
                        "parameters, or has ended");
    return agree(team, status);
}

static nb_status compare_x(const struct team *team)
{
    const nb_fit_request *r = &team->request;

    if (team->rank == 0) memcpy(team->x, r->x, r->nvalue * sizeof *r->x);
    TRY_MPI(MPI_Bcast(team->x, (int)r->nvalue, MPI_DOUBLE, 0, team->comm));
    if (memcmp(team->x, r->x, r->nvalue * sizeof *r->x) == 0) return NB_OK;
    return failed(team, NB_ERR_ARGUMENT,
                  "the fit goes another way than that of rank 0: make both from the same "
                  "shots and options, with the same build of LAPACK");
}

/* Evaluates this rank's shots, if x is that of rank 0. */
static nb_status evaluate(struct team *team)
{
    const int64_t n = team->request.nshot, rank = team->rank, ranks = team->ranks;
    const int64_t first = n / ranks * rank + n % ranks * rank / ranks;
    const int64_t end = n / ranks * (rank + 1) + n % ranks * (rank + 1) / ranks;

    TRY(compare_x(team));
    return nb_fit_part(team->fit, first, end - first, team->part, team->size + team->rank);
}

/* Makes room for the parts of all ranks, whose sizes are known. */
static nb_status place_parts(struct team *team)
{
    size_t sum = 0;

    for (int i = 0; i < team->ranks; i++) {
        if (team->size[i] > INT_MAX - sum)
            return failed(team, NB_ERR_UNSUPPORTED,
                          "the parts of a fit are more than 2^31 numbers; fit fewer shots");
        team->offset[i] = (int)sum;
        team->count[i] = (int)team->size[i];
        sum += team->size[i];
    }
    if (sum > team->room) {
        free(team->all);
        team->all = malloc(sum * sizeof *team->all);
        team->room = team->all ? sum : 0;
    }
    if (!team->all) return fail_memory(team);
    for (int i = 0; i < team->ranks; i++) team->each[i] = team->all + team->offset[i];
    return NB_OK;
}

/* Brings the parts of all ranks to all ranks. */
static nb_status gather(struct team *team)
{
    const uint64_t size = team->size[team->rank];

    TRY_MPI(
        MPI_Allgather(&size, 1, MPI_UINT64_T, team->sizes, 1, MPI_UINT64_T, team->comm));
    for (int i = 0; i < team->ranks; i++) team->size[i] = (size_t)team->sizes[i];
    TRY(agree(team, place_parts(team)));
    return check(team,
                 MPI_Allgatherv(team->part, team->count[team->rank], MPI_DOUBLE, team->all,
                                team->count, team->offset, MPI_DOUBLE, team->comm));
}

static nb_status run(struct team *team)
{
    for (;;) {
        TRY(ask(team));
        if (team->request.done) return NB_OK;
        TRY(agree(team, evaluate(team)));
        TRY(gather(team));
        TRY(agree(team, nb_fit_tell(team->fit, team->ranks, team->each, team->size)));
    }
}

/* ---- the team ---- */

static nb_status make(struct team *team)
{
    const size_t n = (size_t)team->ranks;

    team->size = malloc(n * sizeof *team->size);
    team->sizes = malloc(n * sizeof *team->sizes);
    team->count = malloc(n * sizeof *team->count);
    team->offset = malloc(n * sizeof *team->offset);
    team->each = malloc(n * sizeof *team->each);
    return team->size && team->sizes && team->count && team->offset && team->each
               ? NB_OK
               : fail_memory(team);
}

static void put_away(struct team *team)
{
    free(team->x);
    free(team->part);
    free(team->all);
    free(team->size);
    free(team->sizes);
    free(team->count);
    free(team->offset);
    free(team->each);
    (void)MPI_Comm_free(&team->comm);
}

nb_status nb_fit_mpi(nb_fit *fit, MPI_Comm comm)
{
    struct team own = {.fit = fit}, *team = &own;
    nb_status status;

    TRY_MPI(MPI_Comm_dup(comm, &own.comm));
    (void)MPI_Comm_rank(own.comm, &own.rank);
    (void)MPI_Comm_size(own.comm, &own.ranks);
    status = agree(team, make(team));
    if (status == NB_OK) status = run(team);
    put_away(team);
    return status;
}
