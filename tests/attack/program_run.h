/*
 * program_run.h - runs the program in an empty folder of its own, with a time limit, and
 * reads what it left: its exit status, its messages, its files.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_PROGRAM_RUN_H
#define NB_TESTS_PROGRAM_RUN_H

#include <sys/types.h>

enum { PROGRAM_ARGUMENTS = 64, PROGRAM_ERRORS = 4000 };

struct program_run {
    char *argument[PROGRAM_ARGUMENTS]; /* the first is the program; NULL ends them */
    int count;
    long file_limit; /* bytes of the largest file it may write; 0: no limit */
    /* ---- results ---- */
    int status; /* exit status; 128 + the number of the signal that ended it */
    int late; /* 1: it was killed at the time limit */
    char errors[PROGRAM_ERRORS]; /* the beginning of stderr */
};

/* Begin an empty command line; append an argument of printf()'s form; free them all. */
void program_clear(struct program_run *run);
void program_add(struct program_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void program_free(struct program_run *run);

/* Write the command line to `out`, as a shell reads it. */
void program_line(const struct program_run *run, char *out, size_t size);

/* Make the folder and change into it; remove it, and go back. */
void program_enter(void);
void program_leave(void);

/* Remove all files of the folder. */
void program_clean(void);

/* Run the program to its end, or for so many seconds. */
void program_run(struct program_run *run, double seconds);

/* Start the program; wait for it and fill in the results. */
pid_t program_start(const struct program_run *run);
void program_wait(struct program_run *run, pid_t child, double seconds);

/* Returns how many lines of the last run are errors: of stderr those that are neither
 * warnings nor notes, of stdout those that begin with "ERROR: ", as under -compat. */
int program_complaints(const struct program_run *run);

#endif
