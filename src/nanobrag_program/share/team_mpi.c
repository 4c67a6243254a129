/*
 * team_mpi.c - the team of the program nanobrag_mpi: the processes of MPI. An error of MPI
 * ends all of them, which is MPI's default.
 *
 * SPDX-License-Identifier: MIT
 */
#include <mpi.h>
#define _GNU_SOURCE // NOLINT(readability-identifier-naming): sched_getaffinity

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nanobrag_program/share/team.h"

/* most bytes for one call of MPI, whose counts are ints */
enum { PIECE = 1 << 28 };

static void share_bytes(void *bytes, size_t n)
{
    char *const at = bytes;
    for (size_t i = 0; i < n; i += PIECE)
        (void)MPI_Bcast(at + i, (int)(n - i < PIECE ? n - i : PIECE), MPI_BYTE, 0,
                        MPI_COMM_WORLD);
}

static void merge_bytes(void *bytes, size_t n)
{
    char *const at = bytes;
    int rank;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < n; i += PIECE)
        (void)MPI_Reduce(rank == 0 ? MPI_IN_PLACE : at + i, rank == 0 ? at + i : NULL,
                         (int)(n - i < PIECE ? n - i : PIECE), MPI_BYTE, MPI_BOR, 0,
                         MPI_COMM_WORLD);
}

static int smallest(int number)
{
    int all = number;
    (void)MPI_Allreduce(&number, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

static struct team world = {.share = share_bytes,
                            .merge = merge_bytes,
                            .smallest = smallest};

/* The last line that is neither warning nor note, until team_agree() prints it. */
static char held[2048];

static void hold_line(void *user, const char *line)
{
    (void)user;
    if (strncmp(line, "warning: ", 9) != 0 && strncmp(line, "note: ", 6) != 0)
        (void)snprintf(held, sizeof held, "%s", line);
}

/* Returns how many processors each process of this machine may use: an equal share of all,
 * but no more than the system allows this process. */
static int share_of_processors(void)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    MPI_Comm machine;
    cpu_set_t set;
    int here = 1;
    (void)MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                              &machine);
    (void)MPI_Comm_size(machine, &here);
    (void)MPI_Comm_free(&machine);
    const int may = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    const int share = (int)(online / here);
    return share < 1 ? 1 : share < may ? share : may;
}

const struct team *team_begin(int *argc, char ***argv, struct messages *messages)
{
    struct timespec now = {0, 0};
    int provided;
    (void)MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &world.ranks);
    world.threads = share_of_processors();
    (void)timespec_get(&now, TIME_UTC);
    world.milliseconds = (int64_t)now.tv_sec * 1000 + (int64_t)now.tv_nsec / 1000000;
    share_bytes(&world.milliseconds, sizeof world.milliseconds);
    if (world.rank > 0) {
        messages->take = hold_line;
        messages->user = held;
    }
    return &world;
}

void team_end(const struct team *team, int code)
{
    (void)team;
    /* After an interrupt other processes may wait for images; mpirun ends them. */
    if (code < EXIT_INTERRUPTED) (void)MPI_Finalize();
}
