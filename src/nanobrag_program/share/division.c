/*
 * division.c - which images of a run are whose.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_program/share/share.h"
#include "nanobrag_program/shots/shots.h"

int share_total(const struct run *run)
{
    return run->shots ? (int)nb_table_rows(run->shots->table) : run->s->images;
}

int share_is_whole(const struct run *run)
{
    return run->s->images == share_total(run);
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
