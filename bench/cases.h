/*
 * cases.h - what is timed: scenes that are written as words. A word is KEY=VALUES, values
 * of several numbers are separated by commas:
 *
 *   cell n (cells along a, b, c) shape misset mosaic ndomains model list f
 *   wavelength fluence dispersion (fraction) nsource phi osc nphi water
 *   side (pixels of a square) nfast nslow pixel distance roi oversample
 *
 * list=nearest, tricubic or 2erl: F is listed by cases_hkl(), or the file of examples/data.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BENCH_CASES_H
#define NB_BENCH_CASES_H

#include <stddef.h>

#include <nanobrag/nanobrag.h>

enum { NAME = 160 }; /* room for a message */

enum cases_list { CASES_NO_LIST, CASES_NEAREST, CASES_TRICUBIC, CASES_2ERL };

/* A scene without its list of structure factors. */
struct cases_scene {
    nb_scene scene;
    int list; /* enum cases_list */
};

struct bench_case {
    char letter;
    const char *what;
    struct cases_scene is;
};

/* Returns 1 if a word names a number of the scene, which is set. */
int cases_word(const char *word, struct cases_scene *to);

/* Read words that are separated by spaces; those that name no case or scene are left out.
 */
void cases_words(const char *words, struct cases_scene *to);

/* Write the case of a letter, or number i of A to I; return 0 if there is none. */
int cases_of(char letter, struct bench_case *out);
int cases_at(size_t i, struct bench_case *out);

/* Read the list of a scene, and let the scene look it up; *hkl stays NULL if it has none.
 */
nb_status cases_hkl(nb_context *ctx, struct cases_scene *of, nb_hkl **hkl);

/* Return the words of the precision and of the strategy. */
const char *precision_word(int precision);
const char *strategy_word(int strategy);

/* Return the place of a word in a list, whose words are separated by '|'; -1: nowhere. */
int cases_place(const char *list, const char *word);

#endif
