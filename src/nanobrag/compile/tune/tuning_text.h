/*
 * tuning_text.h - a list of tuning entries, of any machine and build, and its text: a line
 * for the format, a line for each entry, and a last line "end", without which the file was
 * cut off.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_TUNE_TUNING_TEXT_H
#define NB_COMPILE_TUNE_TUNING_TEXT_H

#include "base/store.h"
#include "compile/identity.h"
#include "compile/tune/tuning_cache.h"

enum {
    TUNING_TEXT = 1 << 20, /* bytes of the text, at most */
    TUNING_NAME = TUNING_KEY + 2 * IDENTITY
};

/* An entry under its name: key, machine and build with tabs between them. */
struct tuning_record {
    struct tuning_record *next; /* a later one */
    struct tuning_entry entry;
    char name[];
};

/* zero-initialised: empty */
struct tuning_list {
    struct tuning_record *first, *last;
};

/* Under a name the entry of greatest effort, of these the first; NULL: none. */
const struct tuning_entry *tuning_find(const struct tuning_list *list, const char *name);

/* Append a copy. Returns 0 if there is no memory. */
int tuning_add(struct tuning_list *list, const char *name,
               const struct tuning_entry *entry);

/* Put an entry in the place of all under its name, unless one of no less effort is among
 * them. Returns 1 if the list changed, 0 if it did not, -1 if there is no memory. */
int tuning_merge(struct tuning_list *list, const char *name,
                 const struct tuning_entry *entry);

void tuning_clear(struct tuning_list *list);

/* Add the entries of a text of n bytes before its NUL, which is overwritten; lines that are
 * no entry are left out. `why` says what is wrong first, "" if nothing is. Returns 0 if
 * there is no memory. */
int tuning_parse(char *text, size_t n, struct tuning_list *list, char why[STORE_WHY]);

/* The text, to be freed, with the newest entries if not all of them fit. NULL: no memory.
 */
char *tuning_print(const struct tuning_list *list);

#endif
