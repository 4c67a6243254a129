/*
 * fingerprint.h - the numbers that tell two scenes apart: all numbers of the resolved
 * scene, and a checksum of each of its lists.
 *
 * Numbers and checksums are compared to ten digits, because a computed number, such as a
 * cell from vectors, may be rounded differently on another machine. A checksum is a sum
 * with a weight between 1 and 2 for each place. Different rounding changes it little;
 * another number, or two numbers that change places, change it more.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_FINGERPRINT_H
#define NB_SCENE_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

#include <nanobrag/scene.h>

enum { FINGERPRINT_SUMS = 9 };

/* Returns how many numbers a scene has, without the checksums. */
size_t fingerprint_numbers(void);

/* Writes the numbers (fingerprint_numbers()) and the checksums (FINGERPRINT_SUMS) of a
 * resolved scene. Errors: NB_ERR_MEMORY. */
nb_status fingerprint_take(nb_context *ctx, const nb_scene *scene, double *numbers,
                           double *sums);

/* Writes the name of number i. The numbers are followed by the checksums. */
void fingerprint_name(size_t i, char *out, size_t size);

/* fingerprint_weight() returns the weight of a place in a checksum. fingerprint_sum()
 * returns the checksum of a list; NULL is an empty list. */
double fingerprint_weight(uint64_t place);
double fingerprint_sum(const double *list, size_t n);

/* Returns 1 if two numbers are equal to ten digits. */
int fingerprint_same(double a, double b);

#endif
