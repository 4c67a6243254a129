/*
 * worst.h - the one comparator of numbers: the largest difference of those that were added,
 * over what each is measured by. What is not finite differs by an infinity, and stays so.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_WORST_H
#define NB_TESTS_WORST_H

#include <stddef.h>

/* begins as {0} */
struct worst {
    double
        error; /* largest |found - truth| / scale; infinite once a number was not finite */
    double found, truth; /* the pair that is so far apart */
    size_t at; /* which of those that were added it is, from 0 */
    size_t count; /* how many were added */
};

/* A NaN or an infinity in any of the three is an infinite error. A scale of 0 (or below)
 * asks for equal numbers. */
void worst_add(struct worst *w, double found, double truth, double scale);

/* the same of n pairs with one scale */
void worst_add_all(struct worst *w, const double *found, const double *truth, size_t n,
                   double scale);

/* what `other` saw belongs to `w` too */
void worst_join(struct worst *w, const struct worst *other);

/* nothing could be compared, as a call failed: an infinite error */
void worst_fail(struct worst *w);

/* Prints the error and `allowed`, and checks that it is not larger and that something was
 * compared. The sentence says what was. Returns whether it passed. */
int worst_check(const struct worst *w, double allowed, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* largest modulus of n numbers; NaN where one is not finite */
double worst_largest(const double *a, size_t n);

/* 1 when n numbers have the same bits, are finite, and are not all zeros; prints what is
 * wrong. */
int bits_same(const double *a, const double *b, size_t n);

/* the same where all n may be zeros */
int bits_same_or_zeros(const double *a, const double *b, size_t n);

/* how many of n numbers differ in their bits */
size_t bits_differ(const double *a, const double *b, size_t n);

#endif
