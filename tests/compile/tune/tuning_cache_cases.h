/*
 * tuning_cache_cases.h - what the cases of test_tuning_cache share. All of them run in the
 * folder "cache" of the test's own, with one context whose lines are counted.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_TUNING_CACHE_CASES_H
#define NB_TESTS_TUNING_CACHE_CASES_H

#include "compile/tune/tuning_text.h"

/* ---- test_tuning_cache.c ---- */

/* an empty table, no folder, nothing said so far */
void begin_anew(void);

/* as another process would: the table is forgotten, nothing said */
void next_process(void);

/* an entry that tells its number, and the one saved under "key NUMBER" */
struct tuning_entry entry_of(int number);
nb_status save(int number);
int finds(int number);

/* how often the context fell back, with this in the last line of it */
void check_fallbacks(int expected, const char *part);

/* the file of entries, and what is in it: -1 if it is not good, else how many entries */
const char *path_of_entries(void);
int count_entries(void);

/* Whether the file holds the entry of this number; of this machine and build. */
int file_holds(int number);

/* ---- compile/tune/tuning_cache_damage.c ---- */

int damaged_anywhere(void);
int damaged_bytes(void);
int wrong_lines(void);
int wrong_files(void);
int saved_twice(void);
int other_format(void);
int damaged_is_replaced(void);
int limit_of_the_file(void);

/* ---- compile/tune/tuning_cache_processes.c ---- */

int second_process(void);
int processes_at_once(void);
int threads_at_once(void);
int find_only(int argc, char **argv); /* the second process of the first case */

#endif
