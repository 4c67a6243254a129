/*
 * team.h - the processes that share a run. The program nanobrag is alone; nanobrag_mpi is
 * one of several processes that mpirun has started.
 *
 * All processes of a team make each of its calls, in the same order.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_SHARE_TEAM_H
#define NB_CLI_SHARE_TEAM_H

#include <stddef.h>
#include <stdint.h>

#include "nanobrag_command/message.h"

struct team {
    int rank, ranks; /* from 0 on */
    int threads; /* of each process, for all to have processors of their own */
    int64_t milliseconds; /* of the clock, at the start of rank 0 */

    /* Give n bytes of rank 0 to all. */
    void (*share)(void *bytes, size_t n);
    /* At rank 0, make each byte the bits that any process has set in it. */
    void (*merge)(void *bytes, size_t n);
    /* The smallest of the numbers of all. */
    int (*smallest)(int number);
};

/* Join the other processes; NULL: there are none. From then on the messages of all ranks
 * but 0 are held back, since an error mostly occurs in all ranks. */
const struct team *team_begin(int *argc, char ***argv, struct messages *messages);

/* Leave the other processes; `code` is the exit status. */
void team_end(const struct team *team, int code);

/* 1 where a run is shared out. */
static inline int team_several(const struct team *team)
{
    return team && team->ranks > 1;
}

/* Returns 1 for the one process that reports and writes the files for all images. */
static inline int team_speaks(const struct team *team)
{
    return !team || team->rank == 0;
}

/* Wait for all processes, and learn their exit status (share.c). Returns 0 if every status
 * is 0; else this process's status, or EXIT_RUN if that is 0. Prints the message of the
 * first process that failed. */
int team_agree(const struct team *team, struct messages *messages, int code);

#endif
