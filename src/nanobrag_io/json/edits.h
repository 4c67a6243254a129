/*
 * edits.h - replaces values in a text of JSON, and keeps all other bytes. The text has been
 * parsed before, but may contain NaN and Infinity, which JSON does not have.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_JSON_EDITS_H
#define NB_IO_JSON_EDITS_H

#include <stddef.h>

#include "nanobrag_io/text.h"

/* Returns the first value of a text. */
struct span edits_value(struct span text);

/* Returns the text between the brackets of an object or list; an empty one for any other
 * value. */
struct span edits_inside(struct span value);

/* Takes the next value, in an object with its key, off the text that edits_inside()
 * returned. Returns 0 at the end. */
int edits_next(struct span *inside, struct span *value);

/* Finds the first value with a key. Returns 0 if there is none. */
int edits_member(struct span object, const char *key, struct span *value);

/* the edits of a text; lost 1: there was no memory for an edit */
struct edit;
struct edits {
    struct edit *at;
    size_t n, room;
    int lost;
};

/* Replaces a span, which may be empty, by a text. The spans of all edits must not
 * overlap. */
void edits_replace(struct edits *edits, struct span old, const char *text, size_t n);

/* edits_reals() replaces a value by a list of n numbers, edits_real() by a single
 * number. */
void edits_reals(struct edits *edits, struct span old, const double *values, int n);
void edits_real(struct edits *edits, struct span old, double value);

/* Each sets a member of an object, to three numbers or to one. The member is added if the
 * object lacks it. */
void edits_set_vector(struct edits *edits, struct span object, const char *key,
                      const double v[3]);
void edits_set_real(struct edits *edits, struct span object, const char *key, double value);

/* Returns a copy of the text with all edits, and frees the edits. The caller frees the
 * copy; NULL: no memory. */
char *edits_apply(struct edits *edits, struct span text, size_t *length);

#endif
