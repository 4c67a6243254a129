/*
 * counts.h - the conversion of a pixel's photons to a count, and sums over pixels. These
 * sums do not depend on the order, because whole numbers are added as integers.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_NOISE_COUNTS_H
#define NB_PHYSICS_NOISE_COUNTS_H

#include "physics/phys.h"

/* The sum of the photons is 2^32 high + low, exact for 2^31 pixels. A pixel of 2^63 photons
 * or more is not in the sum; `beyond` counts such pixels, `overloads` the clipped ones. */
struct phys_tally {
    unsigned long long low, high, beyond, overloads;
};

/* Adds the photons of a pixel: a whole number, infinity or NaN. */
PHYS_FN void phys_tally_add(struct phys_tally *tally, double photons)
{
    const int fits = photons < 0x1p63;
    const unsigned long long n = fits ? (unsigned long long)(long long)photons : 0;

    tally->low += n & 0xffffffffU;
    tally->high += n >> 32;
    tally->beyond += !fits;
}

PHYS_FN void phys_tally_join(struct phys_tally *tally, const struct phys_tally *other)
{
    tally->low += other->low;
    tally->high += other->high;
    tally->beyond += other->beyond;
    tally->overloads += other->overloads;
}

/* The largest counts: of 16 bits without a sign, and of 32 bits with a sign. */
enum { PHYS_COUNT16 = 65535, PHYS_COUNT32 = 2147483647 };

/* Returns the integer part of v, but 0 for NaN and negative v. If v is larger than `most`,
 * it returns `most` and counts an overload. */
PHYS_FN int phys_clamped(double v, int most, struct phys_tally *tally)
{
    const int over = v > most;

    tally->overloads += (unsigned)over;
    return v > 0 ? over ? most : (int)v : 0;
}

/* Returns photons scale + offset as a count of 16 bits, rounded as nanoBragg does: 1/2 is
 * added, the sum is rounded to a float, and its fraction is cut off. */
PHYS_FN int phys_rounded(float photons, double scale, double offset,
                         struct phys_tally *tally)
{
    const double value = (double)photons * scale + offset;
    const float v = (float)(value + 0.5), positive = v > 0 ? v : 0;

    tally->overloads += value > 65535;
    return positive < 65535 ? (int)positive : 65535;
}

/* Returns photons scale + offset as a count of 32 bits, rounded in double, because a float
 * would lose units above 2^24. */
PHYS_FN int phys_rounded32(double photons, double scale, double offset,
                           struct phys_tally *tally)
{
    const double value = photons * scale + offset, v = value + 0.5;

    tally->overloads += value > PHYS_COUNT32;
    return v > 0 ? v < PHYS_COUNT32 ? (int)v : PHYS_COUNT32 : 0;
}

#endif
