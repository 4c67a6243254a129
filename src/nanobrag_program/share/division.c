/*
 * division.c - tells which images of a run this process makes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_command/shots/shots.h"
#include "nanobrag_program/share/share.h"

int share_total(const struct run *run)
{
    return run->command.shots ? (int)nb_table_rows(run->command.shots->table)
                              : run->command.s->images;
}

int share_is_whole(const struct run *run)
{
    return run->command.s->images == share_total(run);
}

int share_is_mine(const struct run *run, int i)
{
    return run->share->state[i] & SHARE_MINE;
}

int share_is_kept(const struct run *run, int i)
{
    return run->share->state[i] & SHARE_KEPT;
}

int share_is_framed(const struct run *run, int i)
{
    return run->share->state[i] & SHARE_FRAMED;
}
