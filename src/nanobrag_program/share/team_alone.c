/*
 * team_alone.c - the team of the program nanobrag, which is one process.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_program/share/team.h"

// NOLINTNEXTLINE(readability-non-const-parameter): with MPI it is changed
const struct team *team_begin(int *argc, char ***argv, struct messages *messages)
{
    (void)argc, (void)argv, (void)messages;
    return NULL;
}

void team_end(const struct team *team, int code)
{
    (void)team, (void)code;
}
