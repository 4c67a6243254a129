/*
 * cases.h - what the cases of test_wisdom share. All of them run in the folder "cache" of
 * the test's own, with one context whose lines are counted.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_WISDOM_CASES_H
#define NB_TESTS_WISDOM_CASES_H

#include "compile/tune/wisdom_book.h"

/* ---- test_wisdom.c ---- */

/* an empty table, no folder, nothing said so far */
void begin_anew(void);

/* as another process would: the table is forgotten, nothing said */
void next_process(void);

/* a finding that tells its number, and the one kept under "key NUMBER" */
struct finding finding_of(int number);
nb_status keep(int number);
int recalls(int number);

/* how often the context fell back, with this in the last line of it */
void check_fallbacks(int expected, const char *part);

/* the file as it is now: good, and with so many findings and texts */
void check_file(int findings, int texts);

/* Whether it is good, and how much is in it. */
int file_is_good(int *findings, int *texts);

/* Whether the file holds the finding of this number; of this machine and build. */
int file_holds(int number);

/* ---- wisdom/damage.c ---- */

int damaged_anywhere(void);
int damaged_bytes(void);
int wrong_members(void);
int wrong_files(void);
int file_of_another_user(void);
int kept_twice(void);
int damaged_is_replaced(void);

/* ---- wisdom/disk.c ---- */

int folder_and_modes(void);
int recall_writes_nothing(void);
int folder_not_to_be_made(void);
int folder_not_to_be_written(void);
int disk_full(void);
int limit_of_the_file(void);

/* ---- wisdom/processes.c ---- */

int second_process(void);
int killed_while_writing(void);
int processes_at_once(void);
int locked_by_another(void);
int threads_at_once(void);
int recall_only(int argc, char **argv); /* the second process of the first case */

#endif
