/*
 * worst.h - the one comparator of numbers: it finds the largest difference among the pairs
 * that are added, in units of a scale. A number that is not finite is an infinite error.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_WORST_H
#define NB_TESTS_WORST_H

#include <stddef.h>

/* The worst pair so far. It has to begin as {0}. */
struct worst {
    double error; /* largest |found - truth| / scale; infinite if one was not finite */
    double found, truth; /* the pair of the largest error */
    size_t at; /* its index among the pairs that were added */
    size_t count; /* how many were added */
};

/* Add a pair. A NaN or an infinity in any of the three is an infinite error. If the scale
 * is 0 or negative, the numbers have to be equal. */
void worst_add(struct worst *w, double found, double truth, double scale);

/* Add n pairs with one scale. */
void worst_add_all(struct worst *w, const double *found, const double *truth, size_t n,
                   double scale);

/* Add all pairs that were added to `other`. */
void worst_join(struct worst *w, const struct worst *other);

/* Add an infinite error, because a call failed and there is nothing to compare. */
void worst_fail(struct worst *w);

/* Print the error and `allowed` behind the sentence, and where the check stands, and check
 * that the error is not larger and that something was compared. Returns 1 if it passed. */
#define worst_check(...) worst_check_at(__FILE__, __LINE__, "allowed", __VA_ARGS__)
int worst_check_at(const char *file, int line, const char *kind, const struct worst *w,
                   double allowed, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* Do the same with a bound that the documentation promises (tap.h). */
#define worst_promised(...) worst_check_at(__FILE__, __LINE__, "promised", __VA_ARGS__)

/* Returns the largest modulus of n numbers, or NaN if one is not finite. */
double worst_largest(const double *a, size_t n);

/* Returns 1 if n numbers have the same bits, are finite and are not all zeros; else prints
 * what is wrong. */
int bits_same(const double *a, const double *b, size_t n);

/* Does the same, but all n may be zeros. */
int bits_same_or_zeros(const double *a, const double *b, size_t n);

/* Returns how many of n numbers differ in their bits. */
size_t bits_differ(const double *a, const double *b, size_t n);

#endif
