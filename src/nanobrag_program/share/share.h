/*
 * share.h - which images of a run this process makes. -resume keeps images that exist, and
 * several processes share out the missing ones. Each of them writes NXmx data files of
 * consecutive frames, which a master file shows as one.
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
    SHARE_KEPT = 1, /* all its files exist */
    SHARE_FRAMED = 2, /* its frame is in a data file that exists */
    SHARE_MINE = 4 /* this process makes it */
};

struct share {
    unsigned char *state; /* (images of the run) bits above */
    int mine; /* number of images with SHARE_MINE */
    int in_parts; /* 1: NXmx in data files */
    int frames_most; /* most frames in a data file */
};

/* Warn if a launcher has started several processes of the program without MPI, because each
 * makes all images under the same names. */
void share_warn(const struct run *run);

/* Find the images that exist, and divide the missing ones among the processes. `code` is
 * the exit status so far. All processes call this. Returns 0 or the exit status. */
int share_begin(struct run *run, int code);

/* Wait for all processes, and collect their results at rank 0. Returns 0 or the exit
 * status. */
int share_end(struct run *run, int code);

int share_is_mine(const struct run *run, int i);
int share_is_kept(const struct run *run, int i);
int share_is_framed(const struct run *run, int i);

/* share_total() returns the number of rows of -shots or of images of the sweep; the run may
 * make only some of them. share_is_whole() returns 1 if it makes all. */
int share_total(const struct run *run);
int share_is_whole(const struct run *run);

/* Returns the parameters (n x nparam) of images `row` to row + n - 1, counted among all.
 * The caller frees them; NULL: no memory. */
double *share_rows(const struct run *run, int row, int n);

void share_free(struct run *run);

/* ---- data files of NXmx (parts.c) ---- */

/* a data file */
struct part {
    int row, n; /* number of its first image, counted from 0; number of its frames */
};

struct parts {
    struct part *at;
    size_t n;
};

/* Returns the name of the data file whose first frame is image i of the run. The caller
 * frees it; NULL: no memory. */
char *part_name(const struct settings *s, int i);

/* List the data files in the order of their frames, without files whose first frame is also
 * in an earlier one. If an earlier run wrote -imagefile without data files, that file
 * becomes the only part if it has all frames, or else, if there are no data files, the
 * first of them. Returns 0 or the exit status. */
int parts_find(struct run *run, struct parts *out);
void parts_free(struct parts *parts);

/* Write the master if the data files have all frames. Returns 0 or the exit status. */
int parts_write_master(struct run *run);

#endif
