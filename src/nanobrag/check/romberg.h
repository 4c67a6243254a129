/*
 * romberg.h - a slope with an error bar, from values of a function on a ladder of steps.
 *
 * The steps are h0 2^-j, j = 0 to 11. Differences over them fill the first column of a
 * table; the columns that follow extrapolate them to step 0. The error bar of an entry is
 * at least its distance from its neighbours, and includes the rounding of the function. The
 * entry with the smallest bar is chosen. This code is independent of images.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CHECK_ROMBERG_H
#define NB_CHECK_ROMBERG_H

enum { ROMBERG_ROWS = 12, ROMBERG_COLUMNS = 8, ROMBERG_POINTS = 9 };

/* the points between which differences are taken */
enum romberg_side { ROMBERG_BELOW = -1, ROMBERG_CENTRAL = 0, ROMBERG_ABOVE = 1 };

struct romberg {
    int side; /* enum romberg_side: x + h and x - h, or one of them and x */
    double h[ROMBERG_ROWS];
    long double t[ROMBERG_ROWS][ROMBERG_COLUMNS];
};

struct romberg_slope {
    double slope, bar;
    double truncation; /* part of the bar that is not rounding */
    double h; /* step and column of the chosen entry */
    int column;
};

struct romberg_noise {
    long double level;
    int steps; /* how many neighbouring values are equal to the last bit */
};

/* The largest power of two not above x > 0. With it as a step, x + h and x - h are almost
 * always exact. */
double romberg_power_below(double x);

/* Returns the place of point i, 0 to 8, for measuring the rounding, in spacings from x. */
double romberg_point(int side, int i);
double romberg_spacing(double x, double length);

/* Estimate the rounding of the function from its values at the points of romberg_point().
 * Overwrites the values. */
struct romberg_noise romberg_noise(long double values[ROMBERG_POINTS]);

/* Extrapolate from the first column, which the caller has filled, and choose the best
 * entry. */
struct romberg_slope romberg_choose(struct romberg *table, long double noise);

#endif
