/*
 * progress_line.h - shows the progress of a run, and tells whether the user has stopped it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_PROGRESS_LINE_H
#define NB_CLI_PROGRESS_LINE_H

struct progress_line {
    enum { PROGRESS_NONE, PROGRESS_TERMINAL, PROGRESS_LINES } kind;
    const char *what; /* what is computed: image, gradient, ... */
    int image, images; /* number of the present image; of all images */
    int percent; /* percentage shown last */
    double start; /* time of the start, s */
    int shown; /* 1: the line on the terminal is not empty */
};

/* From this call on, the first SIGINT or SIGTERM only makes progress_line_interrupted()
 * return 1. A second one ends the program. */
void progress_line_catch_interrupt(void);
int progress_line_interrupted(void);

/* Returns the exit status for the signal that interrupted, 130 or 143. */
int progress_line_status(void);

void progress_line_start(struct progress_line *progress, int kind, int images);
void progress_line_image(struct progress_line *progress, int image);

/* Begin part i of n of something that is not an image, such as "gradient". */
void progress_line_part(struct progress_line *progress, const char *what, int i, int n);

/* Show that `fraction`, 0 to 1, of the present image is done. Returns 1 if the user has
 * stopped the run. */
int progress_line_show(struct progress_line *progress, double fraction);

/* Clear the line on the terminal. */
void progress_line_end(struct progress_line *progress);

#endif
