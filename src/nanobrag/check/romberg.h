/*
 * romberg.h - a slope with an error bar, from values of a function on a ladder of steps,
 * each half as long as the step before.
 *
 * The steps are h0 2^-j, j = 0 to 11. Difference quotients over these steps fill the first
 * column of a table, and each further column extrapolates to step 0. The error bar of an
 * entry is at least its distance from its neighbours, plus the rounding of the function.
 * The entry with the smallest error bar is chosen. This code knows nothing of images.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CHECK_ROMBERG_H
#define NB_CHECK_ROMBERG_H

enum { ROMBERG_ROWS = 12, ROMBERG_COLUMNS = 8, ROMBERG_POINTS = 9 };

/* Differences are taken from x - h to x, from x - h to x + h, or from x to x + h. */
enum romberg_side { ROMBERG_BELOW = -1, ROMBERG_CENTRAL = 0, ROMBERG_ABOVE = 1 };

struct romberg {
    int side; /* enum romberg_side */
    double h[ROMBERG_ROWS];
    long double t[ROMBERG_ROWS][ROMBERG_COLUMNS];
};

struct romberg_slope {
    double slope, bar;
    double truncation; /* part of the bar that is not rounding */
    double h; /* step of the chosen entry's row; column: its column */
    int column;
};

struct romberg_noise {
    long double level;
    int steps; /* number of neighbouring values that are equal to the last bit */
};

/* Returns the largest power of two not above x > 0. With such a step h, x + h and x - h are
 * almost always exact. */
double romberg_power_below(double x);

/* romberg_point() returns the place of point i, 0 to 8, at which the rounding is measured,
 * in spacings from x. romberg_spacing() returns the spacing. */
double romberg_point(int side, int i);
double romberg_spacing(double x, double length);

/* Estimate the rounding of the function from its values at the points of romberg_point().
 * Overwrites the values. */
struct romberg_noise romberg_noise(long double values[ROMBERG_POINTS]);

/* Extrapolate from the first column, which the caller has filled. Returns the entry with
 * the smallest error bar. */
struct romberg_slope romberg_choose(struct romberg *table, long double noise);

#endif
