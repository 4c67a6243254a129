/*
 * options.h - the table of options.def, and functions that search it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OPTIONS_OPTIONS_H
#define NB_CLI_OPTIONS_OPTIONS_H

#include <stddef.h>

#include <nanobrag/params.h>

#define OPTION(id, ...) OPT_##id,
enum option_id {
#include "nanobrag_command/options/options.def"
    OPT_COUNT
};
#undef OPTION

enum option_kind {
    KIND_NONE,
    KIND_REAL,
    KIND_INT,
    KIND_SEED,
    KIND_WORD,
    KIND_INPUT,
    KIND_OUTPUT,
    KIND_TEXT, /* any text that is not empty */
    KIND_CELL, /* one to six reals */
    KIND_MISSET, /* three reals or the word random */
    KIND_DEPTH, /* a real or inf */
    KIND_ANOMALOUS, /* on, off, or an element and two reals */
    KIND_ADDED /* the name of an input file and a real */
};

enum option_range {
    RANGE_ANY,
    RANGE_NONNEG,
    RANGE_POSITIVE,
    RANGE_FRACTION,
    RANGE_AT_LEAST_1
};

enum option_group {
    GROUP_CRYSTAL,
    GROUP_FACTORS,
    GROUP_BEAM,
    GROUP_DETECTOR,
    GROUP_SENSOR,
    GROUP_SCAN,
    GROUP_SAMPLING,
    GROUP_BACKGROUND,
    GROUP_FILES,
    GROUP_DERIVATIVES,
    GROUP_FITS,
    GROUP_PROGRAM,
    GROUP_COUNT
};

enum { OPTION_OURS = 1, OPTION_HIDDEN = 2, OPTION_LAST = 4 };

struct option {
    const char *name, *aliases, *patterns;
    int min, max;
    enum option_kind kind;
    enum option_range range;
    const char *values, *unit, *preset;
    enum option_group group;
    int flags;
    const char *help;
};

/* Returns the option of an id, 0 <= id < OPT_COUNT. */
const struct option *option_at(int id);

/* Returns the title of a group of options, as -help prints it. */
const char *option_group_title(int group);

/* Returns the id of the option that has exactly this name or alias; `--x` counts as `-x`.
 * Returns -1 if there is none. */
int option_named(const char *argument);

/* Finds the name or alias of an option that is most like a word. Returns 1 if there is one
 * that is similar enough (nb_nearest_name()). */
int option_nearest(const char *word, char out[NB_NAME_BYTES]);

/* Returns 1 if an argument is a name or an alias of option `id`. */
int option_is(int id, const char *argument);

/* Returns 1 if `word` is one of the words of `list`, which are separated by blanks. */
int option_listed(const char *list, const char *word);

/* Returns which of the choices in `values`, separated by |, equals the first n bytes of
 * `word`: 0 for the first choice, -1 for none. */
int option_choice(const char *values, const char *word, size_t n);

/* Copies the next word of *list, at most size - 1 bytes of it, to `word` and moves *list
 * behind it. Words are separated by blanks. Returns 0 at the end of the list, else 1. */
int option_word(const char **list, char *word, size_t size);

#endif
