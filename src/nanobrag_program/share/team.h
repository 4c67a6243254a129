/*
 * team.h - the processes that share a run. The program nanobrag is alone; nanobrag_mpi is
 * one of the processes that mpirun starts.
 *
 * All processes of a team call its functions in the same order.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_SHARE_TEAM_H
#define NB_CLI_SHARE_TEAM_H

#include <stddef.h>
#include <stdint.h>

#include "nanobrag_command/message.h"

struct team {
    int rank, ranks; /* number of this process, from 0 on; number of all processes */
    int threads; /* threads for each, so that none share a processor */
    int64_t milliseconds; /* time at the start of rank 0, ms since 1970 */

    /* Copies n bytes from rank 0 to all others. */
    void (*share)(void *bytes, size_t n);
    /* Combines n bytes of all processes by bitwise or; rank 0 gets the result. */
    void (*merge)(void *bytes, size_t n);
    /* Returns the smallest of the numbers that the processes pass. */
    int (*smallest)(int number);
};

/* Joins the other processes; NULL: there are none. From then on all ranks except 0 hold
 * back their messages, because an error mostly occurs in all. */
const struct team *team_begin(int *argc, char ***argv, struct messages *messages);

/* Leaves the other processes; `code` is the exit status. */
void team_end(const struct team *team, int code);

/* Returns 1 if several processes share the run. */
static inline int team_several(const struct team *team)
{
    return team && team->ranks > 1;
}

/* Returns 1 in the one process that reports and writes files for all images. */
static inline int team_speaks(const struct team *team)
{
    return !team || team->rank == 0;
}

/* Waits for all processes and compares their exit statuses (share.c). Returns 0 if all are
 * 0; else this process's, or EXIT_RUN if that is 0. Prints the message of the first process
 * that failed. */
int team_agree(const struct team *team, struct messages *messages, int code);

#endif
