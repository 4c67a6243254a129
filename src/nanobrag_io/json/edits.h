/*
 * edits.h - replaces values in a text of JSON, and keeps all other bytes. The text has been
 * parsed before; words for numbers that JSON lacks, such as NaN, may stand in it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_JSON_EDITS_H
#define NB_IO_JSON_EDITS_H

#include <stddef.h>

#include "nanobrag_io/text.h"

/* Returns the first value of a text. */
struct span edits_value(struct span text);

/* Returns what stands between the brackets of an object or list; empty for another value.
 */
struct span edits_inside(struct span value);

/* Removes the next value, of an object with its key, from what edits_inside() returned.
 * Returns 0 at the end. */
int edits_next(struct span *inside, struct span *value);

/* Finds the first value with a key. Returns 0 if there is none. */
int edits_member(struct span object, const char *key, struct span *value);

/* The edits of a text. Bytes that could not be added for want of memory set `lost`. */
struct edit;
struct edits {
    struct edit *at;
    size_t n, room;
    int lost;
};

/* Puts text in place of a span, which may be empty. The spans of edits do not overlap. */
void edits_replace(struct edits *edits, struct span old, const char *text, size_t n);

/* Replaces a value by a list of n numbers, of which edits_real() is one without a list. */
void edits_reals(struct edits *edits, struct span old, const double *values, int n);
void edits_real(struct edits *edits, struct span old, double value);

/* Sets a member of an object to three numbers or one, in place of its value, if it has
 * one. */
void edits_set_vector(struct edits *edits, struct span object, const char *key,
                      const double v[3]);
void edits_set_real(struct edits *edits, struct span object, const char *key, double value);

/* Returns a copy of a text with its edits, to be released with free(), and frees the edits.
 * NULL without memory. */
char *edits_apply(struct edits *edits, struct span text, size_t *length);

#endif
