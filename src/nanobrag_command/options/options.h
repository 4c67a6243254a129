/*
 * options.h - the table of options.def, and look-ups in it.
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
    KIND_ADDED /* a file that is read, and a real */
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

/* The option of an id, 0 <= id < OPT_COUNT. */
const struct option *option_at(int id);

/* The title of a group of options. */
const char *option_group_title(int group);

/* The id of the option with exactly this name or alias, where `--x` is `-x`; -1: none. */
int option_named(const char *argument);

/* Find the name or alias of an option that is most like a word, as nb_nearest_name(). */
int option_nearest(const char *word, char out[NB_NAME_BYTES]);

/* 1 when an argument is option `id`, by one of its names. */
int option_is(int id, const char *argument);

/* 1 when `word` is among the blank-separated words of `list`. */
int option_listed(const char *list, const char *word);

/* The number of a word of n bytes among the choices of `values`, separated by |, from 0 on;
 * -1: it is none of them. */
int option_choice(const char *values, const char *word, size_t n);

/* Copy the next blank-separated word of *list to `word`, cut at `size`; returns 0 at the
 * end. */
int option_word(const char **list, char *word, size_t size);

#endif
