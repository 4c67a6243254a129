/*
 * store_cases.h - what the cases of test_store share: a store in the folder "cache/store"
 * of the test's own, and files whose name tells their contents.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_STORE_CASES_H
#define NB_TESTS_STORE_CASES_H

#include "base/store/store.h"

enum { SIZE = 300, LARGE = 200000 }; /* bytes of a file, of one that takes a while */

extern struct store store;
extern char why[STORE_WHY]; /* of the last load or save that did not succeed; else "" */

/* ---- test_store.c ---- */

/* no folder, no file, and large limits */
void begin_anew(void);

/* "NUMBER.bin", and where it lies */
const char *name_of(int number);
const char *path_of(int number);

/* The bytes of a file, to be freed; file_sound() is a store_verify for a struct file. */
struct file {
    int number;
    size_t size;
};
unsigned char *contents_of(const struct file *file);
const char *file_sound(const void *user, const struct store_bytes *file);

/* Save and load a file; what is found is held against its contents, -1 if it differs. */
int saves(int number, size_t size);
int loads(int number, size_t size); /* enum store_state */

/* a state and the line that goes with it */
void check_state(int state, int expected, const char *part);

int count_stored(void);

/* Whether a file that was there is found to be no good, said to be removed for it, gone,
 * and can be saved again. */
int is_replaced(int number, size_t size, const char *part);

/* ---- base/store/store_damage.c ---- */

int damaged_anywhere(void);
int truncated(void);
int under_another_name(void);
int wrong_files(void);
int file_of_another_user(void);
int file_of_root(void);
int replaced_meanwhile(void);

/* ---- base/store/store_disk.c ---- */

int folder_and_modes(void);
int load_writes_nothing(void);
int folder_refused(void);
int folder_not_to_be_made(void);
int folder_not_to_be_written(void);
int disk_full(void);
int limit_removes_oldest(void);
int too_large(void);
int left_unfinished(void);

/* ---- base/store/store_processes.c ---- */

int killed_while_writing(void);
int processes_at_once(void);
int threads_at_once(void);

#endif
