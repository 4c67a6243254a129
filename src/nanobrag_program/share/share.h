/*
 * share.h - the images of a run that this process makes. With -resume, images that exist
 * are kept; several processes that run together share out the missing ones. Each process of
 * such a run writes NXmx data files of consecutive frames, and a master file shows them as
 * one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_SHARE_SHARE_H
#define NB_CLI_SHARE_SHARE_H

#include <stddef.h>

#include "nanobrag_program/run.h"
#include "nanobrag_program/share/team.h"

/* bits of the state of an image */
enum {
    SHARE_KEPT = 1, /* all of its files are there */
    SHARE_FRAMED = 2, /* it is a frame of a data file that is there */
    SHARE_MINE = 4 /* this process makes it */
};

struct share {
    unsigned char *state; /* (images of the run) */
    int mine; /* how many are */
    int in_parts; /* 1: NXmx in data files */
    int frames_most; /* of a data file */
};

/* Warn if a launcher has started several processes of the program without MPI: each makes
 * all images, with the same names. */
void share_warn(const struct run *run);

/* Find the images that exist, and divide the missing ones among the processes. `code` is
 * the exit status so far. Every process calls it. Returns 0 or the exit status. */
int share_begin(struct run *run, int code);

/* Wait for all processes, and collect their results of images at rank 0. Returns 0 or the
 * exit status. */
int share_end(struct run *run, int code);

int share_is_mine(const struct run *run, int i);
int share_is_kept(const struct run *run, int i);
int share_is_framed(const struct run *run, int i);

/* share_total() returns the number of rows of -shots, or of images of the sweep; the run
 * may make only some. share_is_whole() returns 1 if it makes all. */
int share_total(const struct run *run);
int share_is_whole(const struct run *run);

/* Returns the parameters of n images from number `row` of all on, (n x nparam), to be
 * freed; NULL: no memory. */
double *share_rows(const struct run *run, int row, int n);

void share_free(struct run *run);

/* ---- data files of NXmx (parts.c) ---- */

/* consecutive frames in a file */
struct part {
    int row, n; /* number of the first of all, from 0 on; frames */
};

struct parts {
    struct part *at;
    size_t n;
};

/* The name of the data file that begins with image i of the run, to be freed; NULL: no
 * memory. */
char *part_name(const struct settings *s, int i);

/* List the data files of the run in their order; a file whose first frame is in an earlier
 * file is left out. Where there are none, a file of -imagefile that an earlier run left
 * with some of the frames becomes the first, and one with all of them is the only part.
 * Returns 0 or the exit status. */
int parts_find(struct run *run, struct parts *out);
void parts_free(struct parts *parts);

/* Write the master if the data files have all frames. Returns 0 or the exit status. */
int parts_write_master(struct run *run);

#endif
