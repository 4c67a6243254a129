/*
 * progress_line.h - shows the progress of a run, and tells whether the user stopped it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_PROGRESS_LINE_H
#define NB_CLI_PROGRESS_LINE_H

struct progress_line {
    enum { PROGRESS_NONE, PROGRESS_TERMINAL, PROGRESS_LINES } kind;
    const char *what; /* image, gradient, ... */
    int image, images; /* number of the present image, and of all */
    int percent; /* last one shown */
    double start;
    int shown; /* 1: the terminal's line is not empty */
};

/* Make the first SIGINT or SIGTERM set a flag, for progress_line_interrupted(). The second
 * one ends the program. */
void progress_line_catch_interrupt(void);
int progress_line_interrupted(void);

/* The exit status after that signal, 130 or 143. */
int progress_line_status(void);

void progress_line_start(struct progress_line *progress, int kind, int images);
void progress_line_image(struct progress_line *progress, int image);

/* Begin part i of n of something other than an image. */
void progress_line_part(struct progress_line *progress, const char *what, int i, int n);

/* Show that `fraction` of the present image is done; returns 1 when the run is to stop. */
int progress_line_show(struct progress_line *progress, double fraction);

/* Clear the terminal's line. */
void progress_line_end(struct progress_line *progress);

#endif
