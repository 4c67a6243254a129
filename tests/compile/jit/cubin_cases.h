/*
 * cubin_cases.h - what tests of stored machine code share: a job of which the code is made
 * by gpu/fake_nvrtc.c, a folder "cache", a context whose lines are counted.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_CUBIN_CASES_H
#define NB_TESTS_CUBIN_CASES_H

#include "compile/jit/cubin.h"

extern struct cubin_job job;
extern struct cubin_counts total; /* since begin_anew() */

enum { SIZE = 3000 }; /* bytes of code, where a case says nothing else */

/* no folder, nothing said so far */
void begin_anew(void);

/* a job like number `number`, not run */
void prepare(int number, int size);

/* run and end the job that was prepared */
nb_status run(void);

/* Both; the code is let go. 1: it came, as it must be, and from the disk if `found`. */
int obtains(int number, int size, int found);

/* how often the context fell back, with this in the last line of it */
void check_fallbacks(int expected, const char *part);

/* the one file in the folder of cubins, "cache/cubins/..."; "": none or several */
const char *only_file(void);

/* how many files there are */
int count_cubins(void);

/* ---- compile/jit/cubin_disk.c ---- */

int damaged_anywhere(void);
int under_another_key(void);
int folder_refused(void);
int limit_of_the_folder(void);
int too_large(void);
int second_process(void);
int threads_at_once(void);
int background_thread(void);
int get_only(int argc, char **argv); /* the second process of the case of that name */

#endif
