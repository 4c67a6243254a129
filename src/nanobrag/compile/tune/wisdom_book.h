/*
 * wisdom_book.h - a list of findings and texts, of any machine and build; as it lies in
 * memory, as JSON, and on disk.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_TUNE_WISDOM_BOOK_H
#define NB_COMPILE_TUNE_WISDOM_BOOK_H

#include <stddef.h>

#include "base/store.h"
#include "compile/tune/wisdom.h"

enum {
    WISDOM_FILE = 1 << 20, /* bytes of the file, at most */
    WISDOM_WHY = STORE_WHY /* of a line that says what is wrong */
};

struct wisdom_item {
    const char *machine, *build; /* where it applies */
    const char *name; /* the key of a finding, or the name of a text */
    const char *text; /* NULL: this is a finding */
    struct finding finding;
    struct wisdom_item *next; /* a later one */
    char *line; /* for wisdom_print() */
};

/* zero-initialised: empty */
struct wisdom_book {
    struct wisdom_item *first, *last;
};

/* ---- in memory ---- */

/* Where, of what kind and under what name two items are: the same? */
int wisdom_alike(const struct wisdom_item *a, const struct wisdom_item *b);

/* What there is for an item, of the most rigorous the first; NULL: nothing. */
struct wisdom_item *wisdom_find(const struct wisdom_book *book,
                                const struct wisdom_item *like);

/* A copy of an item, put at the end; 0: no memory. */
int wisdom_add(struct wisdom_book *book, const struct wisdom_item *item);

/* Put an item in the place of those alike, unless a finding as rigorous or the same text is
 * there already. 1: the book changed; 0: it did not; -1: no memory. */
int wisdom_merge(struct wisdom_book *book, const struct wisdom_item *item);

void wisdom_clear(struct wisdom_book *book);

/* Whether a file may hold it: lengths, characters, ranges. NULL, else what is wrong, as
 * "threads is no whole number from 0 to 1024". */
const char *wisdom_flaw(const struct wisdom_item *item);

/* ---- as JSON; not without NANOBRAG_CJSON ---- */

enum wisdom_state {
    WISDOM_GOOD,
    WISDOM_ABSENT, /* no file */
    WISDOM_DAMAGED, /* it is no good, or some of it; the rest is in the book */
    WISDOM_FAILED /* what it holds cannot be known now */
};

/* Add what a text, its NUL not counted in n, says. `why`: what is wrong, at least of the
 * first item that is no good; "" if nothing. */
enum wisdom_state wisdom_parse(const char *text, size_t n, struct wisdom_book *book,
                               char why[WISDOM_WHY]);

/* The text of a book, free() it; the oldest items are dropped until it is no longer than
 * WISDOM_FILE. NULL: no memory. */
char *wisdom_print(struct wisdom_book *book);

/* ---- on disk; not without NANOBRAG_CJSON ---- */

/* Lock the file of a folder, which is made when it is missing, against other processes;
 * gives up after so many milliseconds. Not against other threads: one at a time. Returns
 * what wisdom_unlock() takes, or -1. */
int wisdom_lock(const char *folder, int patience, char why[WISDOM_WHY]);
void wisdom_unlock(int lock);

/* Add what the file of a folder holds. */
enum wisdom_state wisdom_read(const char *folder, struct wisdom_book *book,
                              char why[WISDOM_WHY]);

/* Put a book in the place of the file, under its lock. 0: the file is as it was. */
int wisdom_write(const char *folder, struct wisdom_book *book, char why[WISDOM_WHY]);

#endif
