/*
 * test_constraints.c - every term of constraints.def names an option or a fact, and every
 * value of an option of words is one of its words: a term that is misspelt never holds.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "nanobrag_command/options/options.h"
#include "support/tap.h"

enum { TERM = 64 };

#define RULE(kind, terms, others, text) terms, others,
static const char *const lists[] = {
#include "nanobrag_command/options/constraints.def"
};

static const char facts[] =
    "alone fit table list experiments tables several panels nxmx reflections scan mosaic "
    "sensor noboxes cjson png hdf5 (";

/* 1 when each word of a|b is one of an option's; options of other kinds take any text. */
static int are_values(const struct option *option, const char *words)
{
    if (option->kind != KIND_WORD) return 1;
    while (*words) {
        const size_t n = strcspn(words, "|");
        if (option_choice(option->values, words, n) < 0) return 0;
        words += n + (words[n] != 0);
    }
    return 1;
}

static int is_term(const char *term)
{
    char name[TERM];
    const size_t n = strcspn(term, "=>*");
    if (*term != '-') return option_listed(facts, term);
    memcpy(name, term, n);
    name[n] = 0;
    const int id = option_named(name);
    if (id < 0 || strcmp(option_at(id)->name, name) != 0) return 0;
    return term[n] != '=' || are_values(option_at(id), term + n + 1);
}

static int terms(void)
{
    int n = 0, wrong = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const char *list = lists[i];
        char term[TERM];
        for (; option_word(&list, term, sizeof term); n++) {
            if (is_term(term)) continue;
            tap_note("%s is no term", term);
            wrong++;
        }
    }
    tap_check(n > 0 && wrong == 0, "%d of %d terms name nothing, allowed 0", wrong, n);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"terms", terms}};
    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
