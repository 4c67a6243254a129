/*
 * progress.h - how far a run is, and whether it is to stop.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_PROGRESS_H
#define NB_CLI_PROGRESS_H

struct progress {
    enum { PROGRESS_NONE, PROGRESS_TERMINAL, PROGRESS_LINES } kind;
    const char *what; /* image, gradient, ... */
    int image, images; /* number of it, and how many there are */
    int percent; /* last one shown */
    double start;
    int shown; /* something stands on the terminal's line */
};

/* Seconds since some moment. */
double progress_clock(void);

/* Let SIGINT ask for a stop; a second one kills. */
void progress_catch_interrupt(void);
int progress_interrupted(void);

void progress_start(struct progress *progress, int kind, int images);
void progress_image(struct progress *progress, int image);

/* What follows is not an image but part i of n of something else. */
void progress_part(struct progress *progress, const char *what, int i, int n);

/* `fraction` of the present image is done; returns 1 when the run is to stop. */
int progress_show(struct progress *progress, double fraction);

/* Clear the terminal's line. */
void progress_end(struct progress *progress);

#endif
