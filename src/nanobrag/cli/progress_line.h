/*
 * progress_line.h - shows the progress of a run, and tells whether the user stopped it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_PROGRESS_LINE_H
#define NB_CLI_PROGRESS_LINE_H

struct progress {
    enum { PROGRESS_NONE, PROGRESS_TERMINAL, PROGRESS_LINES } kind;
    const char *what; /* image, gradient, ... */
    int image, images; /* number of the present image, and of all */
    int percent; /* last one shown */
    double start;
    int shown; /* 1: the terminal's line is not empty */
};

/* The time of a monotonic clock, s. */
double progress_clock(void);

/* Make the first SIGINT set a flag, for progress_interrupted(). The second one ends the
 * program. */
void progress_catch_interrupt(void);
int progress_interrupted(void);

void progress_start(struct progress *progress, int kind, int images);
void progress_image(struct progress *progress, int image);

/* Begin part i of n of something other than an image. */
void progress_part(struct progress *progress, const char *what, int i, int n);

/* Show that `fraction` of the present image is done; returns 1 when the run is to stop. */
int progress_show(struct progress *progress, double fraction);

/* Clear the terminal's line. */
void progress_end(struct progress *progress);

#endif
