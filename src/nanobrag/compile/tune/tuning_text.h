/*
 * tuning_text.h - a list of tuning entries, of any machine and build, and its text: a line
 * for the format, a line for each entry, and a last line "end", whose absence shows that
 * the file was cut off.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_TUNE_TUNING_TEXT_H
#define NB_COMPILE_TUNE_TUNING_TEXT_H

#include "base/store/store.h"
#include "compile/identity.h"
#include "compile/tune/tuning_cache.h"

enum {
    TUNING_TEXT = 1 << 20, /* bytes of the text, at most */
    TUNING_NAME = TUNING_KEY + 2 * IDENTITY
};

/* An entry and its name: key, machine and build, separated by tabs. */
struct tuning_record {
    struct tuning_record *next; /* the next entry, which is newer */
    struct tuning_entry entry;
    int unsaved; /* the entry is still to be written to the file */
    char name[];
};

/* A list is empty when it is zeroed. */
struct tuning_list {
    struct tuning_record *first, *last;
};

/* Returns the first entry under a name, or NULL if there is none. */
const struct tuning_entry *tuning_find(const struct tuning_list *list, const char *name);

/* Append a copy of an entry, which is not unsaved. Returns 0 if there is no memory. */
int tuning_add(struct tuning_list *list, const char *name,
               const struct tuning_entry *entry);

/* Append all entries of another list, which is empty afterwards. */
void tuning_move(struct tuning_list *to, struct tuning_list *from);

void tuning_clear(struct tuning_list *list);

/* Add the entries of a text of n bytes before its NUL, which is overwritten; lines that are
 * not an entry are left out. A text of another version of the format has no entries and no
 * flaw. `why` describes the first flaw, or is "". Returns 0 if there is no memory. */
int tuning_parse(char *text, size_t n, struct tuning_list *list, char why[STORE_WHY]);

/* Returns the text of a list, to be freed, with the newest entries if not all of them fit,
 * or NULL if there is no memory. */
char *tuning_print(const struct tuning_list *list);

#endif
