/*
 * progress_line.c - shows the progress of a run: on a terminal one line that is rewritten,
 * with -compat nanobragg nanoBragg's lines on stdout.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_program/progress_line.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "nanobrag_program/timing.h"

/* The number of the first SIGINT or SIGTERM, or 0. The number is one for the whole process,
 * because a signal handler gets no other data. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    if (!interrupted) interrupted = number;
}

void progress_line_catch_interrupt(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    /* without SA_RESTART, because a signal has to end a wait for a pipe */
    action.sa_flags = (int)SA_RESETHAND;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* then a closed pipe or a full file makes a write fail, which is reported */
    action.sa_handler = SIG_IGN;
    action.sa_flags = 0;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}

int progress_line_interrupted(void)
{
    return interrupted != 0;
}

int progress_line_status(void)
{
    return 128 + (int)interrupted;
}

void progress_line_start(struct progress_line *progress, int kind, int images)
{
    *progress = (struct progress_line){.what = "image", .images = images, .percent = -1};
    progress->kind = kind == PROGRESS_TERMINAL ? PROGRESS_TERMINAL
                     : kind == PROGRESS_LINES  ? PROGRESS_LINES
                                               : PROGRESS_NONE;
    progress->start = timing_seconds();
}

void progress_line_image(struct progress_line *progress, int image)
{
    progress->image = image;
    progress->percent = -1;
}

void progress_line_part(struct progress_line *progress, const char *what, int i, int n)
{
    /* nanoBragg prints progress lines only for images */
    if (progress->kind == PROGRESS_LINES) progress->kind = PROGRESS_NONE;
    if (i == 0) progress->start = timing_seconds();
    progress->what = what;
    progress->images = n;
    progress_line_image(progress, i);
}

static void show_time(double seconds)
{
    if (seconds < 120)
        fprintf(stderr, "%.0f s", seconds);
    else if (seconds < 7200)
        fprintf(stderr, "%.0f min", seconds / 60);
    else
        fprintf(stderr, "%.1f h", seconds / 3600);
}

static void show_terminal(struct progress_line *progress, int percent, double fraction)
{
    const double all = (progress->image + fraction) / progress->images;
    const double passed = timing_seconds() - progress->start;
    fprintf(stderr, "\r\033[K%3d %%", percent);
    if (progress->images > 1)
        fprintf(stderr, " of %s %d of %d", progress->what, progress->image + 1,
                progress->images);
    else if (strcmp(progress->what, "image") != 0)
        fprintf(stderr, " of the %s", progress->what);
    if (all > 0.001 && passed > 1) {
        fprintf(stderr, ", ");
        show_time(passed * (1 - all) / all);
        fprintf(stderr, " left");
    }
    fflush(stderr);
    progress->shown = 1;
}

int progress_line_show(struct progress_line *progress, double fraction)
{
    const int percent = (int)(100 * fraction);
    if (progress_line_interrupted()) return 1;
    if (percent != progress->percent && progress->kind == PROGRESS_TERMINAL)
        show_terminal(progress, percent, fraction);
    if (progress->kind == PROGRESS_LINES)
        for (int p = progress->percent + 1; p <= percent; p++)
            if (p % 5 == 0 || p < 10 || p > 90) printf("%d%% done\n", p);
    progress->percent = percent;
    return 0;
}

void progress_line_end(struct progress_line *progress)
{
    if (progress->shown) fprintf(stderr, "\r\033[K");
    progress->shown = 0;
}
