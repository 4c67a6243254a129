/*
 * process.h - whole runs of a program, each in a fresh temporary folder.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BENCH_PROCESS_H
#define NB_BENCH_PROCESS_H

#include <stddef.h>

#include "cases.h"

enum { FOLDER = 512 }; /* room for the path of a temporary folder */

struct process {
    int ok; /* ended with status 0 and wrote a whole image */
    double seconds; /* of its processor, if it has one thread, else from start to end */
    double resident; /* largest resident size                                   byte */
    char said[NAME]; /* why it is not ok: the last line it wrote, or its end */
};

/*
 * Run a command to its end.
 *
 *   image  [out]  float32 pixels of the file o.bin it writes; NULL: only counted (n)
 *   limit  [in]   CPU seconds after which it is killed
 */
struct process process_run(const struct command *command, float *image, size_t n,
                           double limit);

/* threads (also for the seconds above) and profile that programs started from now on find
 * in their environment: the command lines stay those of nanoBragg */
void process_environment(int threads, int compat);

/* largest resident size of this program so far, which no child can be found to be smaller
 * than: it begins as a copy                                                     byte */
double process_own_resident(void);

/* path of a new temporary folder, and its end with all that is in it; 0 on failure */
int folder_make(char path[FOLDER]);
void folder_remove(const char *path);

#endif
